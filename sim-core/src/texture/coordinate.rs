//! Coordinates: to fixed point, into the image, and to texels with weights.

/// What coordinates outside an image mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressMode {
    /// The image repeats; normalised coordinates only.
    Wrap,
    /// The nearest texel.
    Clamp,
    /// The image repeats, every other time mirrored; normalised coordinates only.
    Mirror,
    /// The border's colour.
    Border,
}

impl AddressMode {
    /// All of them, with their names in launch files.
    pub const ALL: [(AddressMode, &'static str); 4] = [
        (AddressMode::Wrap, "wrap"),
        (AddressMode::Clamp, "clamp"),
        (AddressMode::Mirror, "mirror"),
        (AddressMode::Border, "border"),
    ];
}

/// Fraction bits of a weight.
pub(super) const WEIGHT_BITS: u32 = 8;
/// The weight of a texel that is alone.
pub(super) const WHOLE: u32 = 1 << WEIGHT_BITS;
/// Fraction bits of a normalised coordinate, for images of up to `WIDE` texels and for others.
const NORMALIZED_BITS: u32 = 21;
const WIDE: u32 = 8192;
/// Fraction bits of other coordinates: more than a float of their magnitude tells apart.
const TEXEL_BITS: u32 = 21;
/// Where coordinates end: far outside every image.
pub(super) const FAR: i64 = 1 << 40;

/// The largest integer not above `x` times 2 to the `bits`. NaN and what is too small for a normal float are zero.
fn fixed(x: f32, bits: u32) -> i64 {
    if x.is_nan() || !x.is_normal() && !x.is_infinite() {
        return 0;
    }
    let scaled = (f64::from(x) * f64::from(1u32 << bits)).floor();
    // Wrapped coordinates are periodic, so the low bits of large ones matter: they are exact in an f64.
    if scaled.abs() < 2f64.powi(62) {
        return scaled as i64;
    }
    if x > 0.0 { FAR << bits.min(21) } else { -(FAR << bits.min(21)) }
}

/// A coordinate in texels, with so many fraction bits, inside the image as far as the mode brings it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    value: i64,
    bits: u32,
}

impl Position {
    /// The texel that holds it.
    pub(super) const fn texel(self) -> i64 {
        self.value >> self.bits
    }

    /// With a number of texels added.
    pub(super) const fn moved(self, texels: i64) -> Self {
        Self { value: self.value + (texels << self.bits), bits: self.bits }
    }

    /// With a number of steps added, of which a texel has 256.
    const fn stepped(self, steps: i64) -> Self {
        Self { value: self.value + (steps << (self.bits - WEIGHT_BITS)), bits: self.bits }
    }

    /// The first of the two texels around it and the weight of the second.
    const fn between(self) -> (i64, u32) {
        let half = 1 << (self.bits - WEIGHT_BITS - 1);
        let nearest = (self.value + half) >> (self.bits - WEIGHT_BITS);
        let from_centre = nearest - (WHOLE as i64) / 2;
        (from_centre >> WEIGHT_BITS, (from_centre & (WHOLE as i64 - 1)) as u32)
    }
}

/// How far from a coordinate is read, in one dimension.
#[derive(Clone, Copy)]
pub(super) struct Offset {
    /// In texels: an instruction's.
    pub texels: i32,
    /// In 256ths of a texel: a tap's of an anisotropic filter.
    pub steps: i64,
}

/// One dimension of a level.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    /// Texels.
    pub size: u32,
    /// What outside means.
    pub mode: AddressMode,
    /// Whether coordinates run from 0 to 1.
    pub normalized: bool,
}

impl Axis {
    /// The nearest texel; `None` is the border's colour.
    pub(super) fn nearest(self, x: f32, offset: Offset) -> Option<u32> {
        self.inside(self.position(x, offset).texel())
    }

    /// The two texels around a coordinate and the weight of the second, which is none where both are an edge's.
    pub(super) fn around(self, x: f32, offset: Offset) -> ([Option<u32>; 2], u32) {
        let (first, fraction) = self.position(x, offset).between();
        let texels = [first, first + 1].map(|texel| self.inside(texel));
        let clamps = !matches!(self.mode, AddressMode::Border) && !self.repeats();
        let beyond = first < 0 || first + 1 >= i64::from(self.size);
        (texels, if clamps && beyond { 0 } else { fraction })
    }

    /// The first of the two texels around a coordinate, which may lie outside the image, and the weight of the second.
    pub(super) fn between(self, x: f32, offset: Offset) -> (i64, u32) {
        self.position(x, offset).between()
    }

    /// Fraction bits of its coordinates.
    pub(super) const fn bits(self) -> u32 {
        match self.normalized {
            true if self.size > WIDE => NORMALIZED_BITS + 1,
            true => NORMALIZED_BITS,
            false => TEXEL_BITS,
        }
    }

    /// Only normalised coordinates do.
    pub(super) const fn repeats(self) -> bool {
        self.normalized && matches!(self.mode, AddressMode::Wrap | AddressMode::Mirror)
    }

    /// Where a coordinate lies.
    fn position(self, x: f32, Offset { texels, steps }: Offset) -> Position {
        if !self.normalized {
            return Position { value: fixed(x, self.bits()), bits: self.bits() }
                .moved(i64::from(texels))
                .stepped(steps);
        }
        let bits = self.bits();
        let one = 1i64 << bits;
        let coordinate = match self.mode {
            AddressMode::Wrap => fixed(x, bits) & (one - 1),
            AddressMode::Mirror => fixed(x, bits) & (2 * one - 1),
            AddressMode::Clamp | AddressMode::Border => fixed(x, bits).clamp(-FAR, FAR),
        };
        Position { value: coordinate * i64::from(self.size), bits }.moved(i64::from(texels)).stepped(steps)
    }

    /// The texel that the mode makes of one that may be outside; `None` is the border's colour.
    fn inside(self, texel: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let texel = match self.mode {
            AddressMode::Border if !(0..size).contains(&texel) => return None,
            AddressMode::Wrap if self.normalized => texel.rem_euclid(size),
            AddressMode::Mirror if self.normalized => {
                let texel = texel.rem_euclid(2 * size);
                if texel < size { texel } else { 2 * size - 1 - texel }
            }
            _ => texel.clamp(0, size - 1),
        };
        Some(texel as u32)
    }
}
