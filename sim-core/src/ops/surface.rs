//! `suld`, `sust`, `sured`: addresses come from the surface, the rest is a load, a store or an atomic.

use super::at::{Addresses, At, Checked, Direction};
use super::texture::{missing, texel_access};
use super::view::View;
use super::weak::WeakView;
use crate::code::{Access, Clamping, SlotList, TextureOp, TextureOpKind, Units};
use crate::event::{Memory, Shape as AccessShape};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::warp::Group;
use crate::observer::Observer;
use crate::texture::{Channel, Format, Found, Image, Object, Shape, place, stored_fraction, stored_half};
use semantics::lanes::{LaneMask, Registers, WARP_SIZE};

impl<O: Observer> Machine<'_, '_, O> {
    pub(super) fn surface(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        active: LaneMask,
        op: &TextureOp,
    ) -> Checked {
        let at = |access, direction, lanes| At {
            access,
            direction,
            lanes,
            position: group.position,
            frame: group.frame,
            peer: None,
        };
        match &op.kind {
            TextureOpKind::SurfaceLoad(access, clamping) => {
                let (lanes, mut addresses) =
                    self.surface_addresses(registers, active, op, access.bytes(), *clamping, Units::Bytes)?;
                let outside = active & !lanes;
                if outside != 0 {
                    self.put_zeros(registers, access, outside);
                }
                if lanes == 0 {
                    Ok(())
                } else {
                    self.move_at(registers, at(access, Direction::Load, lanes), &mut addresses)
                }
            }
            TextureOpKind::SurfaceStore(access, clamping) => {
                let (lanes, mut addresses) =
                    self.surface_addresses(registers, active, op, access.bytes(), *clamping, Units::Bytes)?;
                if lanes == 0 {
                    Ok(())
                } else {
                    self.move_at(registers, at(access, Direction::Store, lanes), &mut addresses)
                }
            }
            TextureOpKind::SurfaceReduce(atomic, clamping, units) => {
                let bytes = atomic.access.bytes();
                let (lanes, mut addresses) =
                    self.surface_addresses(registers, active, op, bytes, *clamping, *units)?;
                if lanes == 0 {
                    return Ok(());
                }
                let at = at(&atomic.access, Direction::Atomic, lanes);
                self.atomic_at(registers, at, atomic, &mut addresses)
            }
            TextureOpKind::SurfaceStoreFormatted(values, clamping) => {
                self.store_formatted(registers, group, active, op, *values, *clamping)
            }
            _ => Ok(()),
        }
    }

    /// The surface that a lane's handle is.
    fn image(&self, handle: u64, lanes: LaneMask) -> Checked<&Image> {
        match self.worker.grid.objects.find(handle) {
            Found::Object(Object::Surface(image)) => Ok(image),
            found => {
                let (kind, text) = missing("a surface", handle, &found);
                Err(Box::new(Fault::new(kind, lanes, text)))
            }
        }
    }

    /// The lanes that access memory and where.
    fn surface_addresses(
        &self,
        registers: &Registers,
        active: LaneMask,
        op: &TextureOp,
        bytes: u32,
        clamping: Clamping,
        units: Units,
    ) -> Checked<(LaneMask, Addresses)> {
        let handles = registers.read::<u64>(op.handle);
        let at = op.coordinates.map(|slot| registers.read::<i32>(slot));
        let layers = op.layer.map(|slot| registers.read::<u32>(slot));
        let mut addresses = [0; WARP_SIZE];
        let mut inside = 0;
        let mut rest = active;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let same = (0..WARP_SIZE)
                .fold(0, |mask, other| mask | u32::from(handles[other] == handles[lane]) << other);
            let image = self.image(handles[lane], same & active)?;
            let mut coordinates = at.map(|row| row[lane]);
            if units == Units::Elements {
                coordinates[0] = coordinates[0].saturating_mul(image.format.bytes() as i32);
            }
            let layer = layers.map_or(0, |row| row[lane]);
            if units == Units::Bytes && !coordinates[0].unsigned_abs().is_multiple_of(bytes) {
                let text = format!(
                    "{} of {bytes} bytes at byte {} of a surface's row, which is not a multiple of {bytes}",
                    verb(op),
                    coordinates[0]
                );
                return Err(Box::new(Fault::new(FindingKind::Misaligned, 1 << lane, text)));
            }
            let clamps = clamping == Clamping::Clamp;
            match place(image, coordinates, layer, bytes, clamps)
                .filter(|_| shapes_agree(op.shape, image.shape))
            {
                Some(address) => {
                    addresses[lane] = address;
                    inside |= 1 << lane;
                }
                None if clamping == Clamping::Trap => {
                    let text = outside(op, image, coordinates, layer, bytes);
                    let fault = Fault::new(FindingKind::OutOfBounds, 1 << lane, text);
                    return Err(Box::new(fault.note(trapped(units))));
                }
                None => {}
            }
        }
        Ok((inside, addresses))
    }

    fn put_zeros(&self, registers: &mut Registers, access: &Access, lanes: LaneMask) {
        let SlotList { start, len } = access.elements;
        for slot in &self.worker.grid.code.slots[start as usize..][..len as usize] {
            super::write_uniform(registers, *slot, lanes, 0);
        }
    }

    /// `sust.p`: channels are converted to the surface's format.
    fn store_formatted(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        active: LaneMask,
        op: &TextureOp,
        values: SlotList,
        clamping: Clamping,
    ) -> Checked {
        self.tell_of_texels(group, active);
        let slots = &self.worker.grid.code.slots[values.start as usize..][..values.len as usize];
        let mut channels = [[0u32; WARP_SIZE]; 4];
        for (row, slot) in channels.iter_mut().zip(slots) {
            match slot.rows {
                1 => *row = registers.read::<u32>(slot.slot),
                2 => *row = registers.read::<u64>(slot.slot).map(|value| value as u32),
                _ => {}
            }
        }
        let handles = registers.read::<u64>(op.handle);
        let mut rest = active;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let format = self.image(handles[lane], 1 << lane)?.format;
            let bytes = format.bytes();
            let (lanes, addresses) =
                self.surface_addresses(registers, 1 << lane, op, bytes, clamping, Units::Elements)?;
            if lanes != 0 {
                let texel = packed(format, channels.map(|row| row[lane]));
                self.store_texel(group, lane, &addresses, format, &texel)?;
            }
        }
        Ok(())
    }

    /// Writes a texel.
    fn store_texel(
        &mut self,
        group: &Group,
        lane: usize,
        addresses: &Addresses,
        format: Format,
        texel: &[u32; 4],
    ) -> Checked {
        let access = texel_access(format.channel.bytes() as u8, format.channels.into());
        let at = At {
            access: &access,
            direction: Direction::Store,
            peer: None,
            lanes: 1 << lane,
            position: group.position,
            frame: group.frame,
        };
        let (index, _) = self.locate(at, addresses)?;
        self.observe(Memory::Global, at, addresses, AccessShape::Any);
        let grid = self.worker.grid;
        let allocation = &self.worker.snapshot.table.list[index];
        let offset = addresses[lane] - allocation.base;
        let bytes = format.bytes();
        let store = |view: &mut dyn FnMut(u64, u32, u64)| match bytes {
            1 | 2 => view(offset, bytes, texel[0].into()),
            _ => (0..bytes / 4)
                .for_each(|word| view(offset + 4 * u64::from(word), 4, texel[word as usize].into())),
        };
        if let Some(weak) = self.weak() {
            let cells = (&*allocation.cells, allocation.base);
            let mut view = WeakView::new(weak, grid, self.cta, self.index, &access, false, cells);
            store(&mut |at, bytes, value| view.store(lane, at, bytes, value));
        } else {
            store(&mut |at, bytes, value| allocation.cells.store(at, bytes, value, grid.exclusive));
        }
        Ok(())
    }
}

fn shapes_agree(instruction: Shape, image: Shape) -> bool {
    instruction == image
        || matches!((instruction, image), (Shape::TwoDLayered, Shape::Cube | Shape::CubeLayered))
}

/// What an instruction does to a surface.
fn verb(op: &TextureOp) -> &'static str {
    match op.kind {
        TextureOpKind::SurfaceLoad(..) => Direction::Load.verb(),
        TextureOpKind::SurfaceReduce(..) => Direction::Atomic.verb(),
        _ => Direction::Store.verb(),
    }
}

fn trapped(units: Units) -> String {
    let counts = match units {
        Units::Bytes => "the first coordinate counts bytes; ",
        Units::Elements => "",
    };
    format!(
        "{counts}outside, `.trap` stops the kernel, which is CUDA's `cudaBoundaryModeTrap` and its default"
    )
}

/// What to say of an access that is not inside its surface, or not of its shape.
fn outside(op: &TextureOp, image: &Image, at: [i32; 3], layer: u32, bytes: u32) -> String {
    let access = format!("{} of {bytes} bytes", verb(op));
    if !shapes_agree(op.shape, image.shape) {
        let [is, wants] = [image.shape, op.shape].map(Shape::name);
        return format!("{access} of a surface of shape `{is}` by an instruction for `{wants}`");
    }
    let [width, height, depth] = image.levels.first().map_or([0; 3], |level| level.extent);
    let row = u64::from(width) * u64::from(image.format.bytes());
    // From the inside out: a number and a count of each dimension that the shape has.
    let (mut place, mut whole) = (format!("byte {}", at[0]), format!("{row} bytes"));
    if !matches!(image.shape, Shape::Linear | Shape::OneD | Shape::OneDLayered) {
        place += &format!(" of row {}", at[1]);
        whole = format!("{height} rows of {whole}");
    }
    if image.shape.is_layered() {
        place += &format!(" of layer {layer}");
        whole = format!("{depth} layers of {whole}");
    } else if image.shape == Shape::ThreeD {
        place += &format!(" of slice {}", at[2]);
        whole = format!("{depth} slices of {whole}");
    }
    format!("{access} at {place}, outside a surface of {whole}")
}

/// A texel of channels that are converted: integers are cut to what the format holds, floats are rounded, also those that are
/// stored as fractions.
fn packed(format: Format, channels: [u32; 4]) -> [u32; 4] {
    let bytes = format.channel.bytes();
    let mut words = [0; 4];
    for (number, &value) in channels.iter().enumerate().take(usize::from(format.channels)) {
        let bits = match format.channel {
            channel if format.fractions => stored_fraction(channel, number, value),
            Channel::Float(2) => stored_half(value),
            Channel::Unsigned(1) => value.min(0xff),
            Channel::Unsigned(2) => value.min(0xffff),
            Channel::Signed(1) => (value as i32).clamp(-128, 127) as u32 & 0xff,
            Channel::Signed(2) => (value as i32).clamp(-32768, 32767) as u32 & 0xffff,
            _ => value,
        };
        match bytes {
            _ if format.channel == Channel::Packed => words[0] |= bits << (10 * number),
            1 => words[0] |= bits << (8 * number),
            2 => words[number / 2] |= bits << (16 * (number & 1)),
            _ => words[number] = bits,
        }
    }
    words
}
