//! Grids, blocks, lanes.

/// One component of a vector: of a register, or of a special register such as `%tid.x`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "x, y, z, w")]
pub enum Component {
    X,
    Y,
    Z,
    W,
}

impl std::fmt::Display for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Component::X => "x",
            Component::Y => "y",
            Component::Z => "z",
            Component::W => "w",
        })
    }
}

/// Lanes of a warp, one bit each.
pub type LaneMask = u32;

/// Extent or position in a grid, a cluster or a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dim3 {
    /// Fastest varying.
    pub x: u32,
    /// Middle.
    pub y: u32,
    /// Slowest varying.
    pub z: u32,
}

impl Dim3 {
    /// A single element.
    pub const ONE: Self = Self::new(1, 1, 1);

    /// All three at once.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// Number of elements; 96 bits suffice, so it cannot overflow.
    pub const fn count(self) -> u128 {
        self.x as u128 * self.y as u128 * self.z as u128
    }

    /// The position with linear index `at`, x fastest.
    pub const fn position(self, at: u64) -> Dim3 {
        let (x, y) = (self.x as u64, self.y as u64);
        // Divisions take long, and mostly there is nothing to divide.
        if at < x {
            return Dim3::new(at as u32, 0, 0);
        }
        let (column, row) = ((at % x) as u32, at / x);
        if row < y {
            Dim3::new(column, row as u32, 0)
        } else {
            Dim3::new(column, (row % y) as u32, (row / y) as u32)
        }
    }

    /// One component; `.w` is always zero.
    pub const fn component(self, component: Component) -> u32 {
        match component {
            Component::X => self.x,
            Component::Y => self.y,
            Component::Z => self.z,
            Component::W => 0,
        }
    }

    /// The linear index of a position.
    pub const fn index(self, at: Dim3) -> u64 {
        (at.z as u64 * self.y as u64 + at.y as u64) * self.x as u64 + at.x as u64
    }
}

impl Default for Dim3 {
    fn default() -> Self {
        Dim3::ONE
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::new(x, y, z)
    }
}

impl std::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}
