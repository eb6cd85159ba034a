//! `tex`, `tld4` and questions about textures and surfaces.

use std::sync::Arc;

use super::at::{At, Checked, Direction};
use super::flow::Flow;
use super::masks::each_lane;
use crate::code::{
    Access, AccessSpace, HandleType, Query, RegisterSlot, ResultType, Sample, SampleLod, SlotList, TextureOp,
    TextureOpKind,
};
use crate::event::{Memory, Shape as AccessShape};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::FrameId;
use crate::machine::warp::Group;
use crate::observer::Observer;
use crate::texture::{
    AddressMode, Channel, Coordinates, Detail, Faces, Fetch, Filter, Found, Image, Lod,
    Memory as LevelMemory, Object, Objects, Reads, Results, Shape, Texels, Texture, Together, fetch, gather,
    integer, major_axis, plan,
};
use crate::tools::{Event, Wants};
use numerics::{Rounding, approx, cvt};
use semantics::lanes::{LaneMask, Registers, Slot, WARP_SIZE};

/// Offsets have four bits in `tex`, and six in `tld4`.
const OFFSET_BITS: u32 = 4;
const GATHER_OFFSET_BITS: u32 = 6;
/// The most layers that an instruction tells apart.
const LAST_LAYER: u32 = 0xffff;

/// Who reads, and where.
#[derive(Clone, Copy)]
struct Reader {
    position: u32,
    frame: FrameId,
    lane: usize,
    /// Bytes of a channel and channels of a texel.
    channel: u8,
    channels: u32,
}

/// Where a thread's texels come from.
struct Memories<'m, 'a, 'g, O> {
    machine: &'m mut Machine<'a, 'g, O>,
    reader: Reader,
}

impl<O: Observer> Texels for Memories<'_, '_, '_, O> {
    type Error = Box<Fault>;

    fn read(&mut self, address: u64, bytes: u32) -> Checked<[u32; 4]> {
        self.machine.texel(self.reader, address, bytes)
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    pub(crate) fn operate_texture(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        active: LaneMask,
        index: u32,
    ) -> Flow {
        let op = self.worker.grid.code.textures[index as usize];
        let done = match &op.kind {
            TextureOpKind::Sample(sample)
            | TextureOpKind::Fetch(sample)
            | TextureOpKind::Gather(sample, _) => self.sample(registers, group, active, &op, sample),
            TextureOpKind::Query(query, to, level) => {
                self.query(registers, active, op.handle, *query, *to, *level)
            }
            TextureOpKind::IsType(asked, to) => {
                let handles = registers.read::<u64>(op.handle);
                let mut yes = 0;
                each_lane(active, |lane| {
                    let found = self.worker.grid.objects.find(handles[lane]);
                    let is = matches!(
                        (asked, found),
                        (HandleType::Texture | HandleType::Sampler, Found::Object(Object::Texture(_)))
                            | (HandleType::Surface, Found::Object(Object::Surface(_)))
                    );
                    yes |= u32::from(is) << lane;
                });
                registers.set_predicate(*to, active, yes);
                Ok(())
            }
            _ => self.surface(registers, group, active, &op),
        };
        match done {
            Ok(()) => Flow::Next,
            Err(fault) => Flow::Fault(fault),
        }
    }

    fn sample(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        active: LaneMask,
        op: &TextureOp,
        sample: &Sample,
    ) -> Checked {
        self.tell_of_texels(group, active);
        let handles = registers.read::<u64>(op.handle);
        let objects: &Objects = &self.worker.grid.objects;
        let at = op.coordinates.map(|slot| registers.read::<u32>(slot));
        let layers = op.layer.map(|slot| registers.read::<u32>(slot));
        let numbers = sample.number.map(|slot| registers.read::<u32>(slot));
        let offsets = sample.offset.map(|slots| slots.map(|slot| registers.read::<u32>(slot)));
        let lod = match sample.lod {
            SampleLod::Finest => None,
            SampleLod::Level(slot) => Some([[registers.read::<u32>(slot); 3]; 2]),
            SampleLod::Gradients(x, y) => {
                Some([x, y].map(|step| step.map(|slot| registers.read::<u32>(slot))))
            }
        };
        let bits =
            if matches!(op.kind, TextureOpKind::Gather(..)) { GATHER_OFFSET_BITS } else { OFFSET_BITS };
        let layers = layers.map(|row| row.map(|layer| layer.min(LAST_LAYER)));
        let offsets =
            offsets.map(|rows| rows.map(|row| row.map(|word| (word << (32 - bits)) as i32 >> (32 - bits))));
        let mut results: Results = [[0; WARP_SIZE]; 4];
        let mut rest = active;
        if let Some(coordinates) = coordinates(op, sample).filter(|_| numbers.is_none()) {
            let detail = match (sample.lod, &lod) {
                (SampleLod::Level(_), Some([[levels, ..], _])) => Detail::Levels(levels),
                (SampleLod::Gradients(..), _) => Detail::Steps,
                _ => Detail::Finest,
            };
            let reads = Reads {
                lanes: active,
                at: &at,
                coordinates,
                layers: layers.as_ref(),
                offsets: offsets.as_ref(),
                detail,
            };
            let done;
            (results, done) = self.together(group, op, &handles, reads);
            rest &= !done;
        }
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let texture = match texture(objects, handles[lane]) {
                Ok(texture) => texture,
                Err((kind, text)) => {
                    let same = each_with(active, |lane| texture_fails(objects, handles[lane]));
                    return Err(Box::new(Fault::new(kind, same, text)));
                }
            };
            let format = texture.image.format;
            let reader = Reader {
                position: group.position,
                frame: group.frame,
                lane,
                channel: format.channel.bytes() as u8,
                channels: format.channels.into(),
            };
            let words = at.map(|row| row[lane]);
            let layer = layers.map_or(0, |row| row[lane]);
            let offset = offsets.map_or([0; 3], |rows| rows.map(|row| row[lane]));
            let mut memories = Memories { machine: self, reader };
            let read = match op.kind {
                _ if !agree(op, texture) => Ok([0; 4]),
                // There is no other sample than the first.
                _ if numbers.is_some_and(|row| row[lane] != 0) => Ok([0; 4]),
                TextureOpKind::Fetch(_) => {
                    let level = lod.map_or(0, |rows| rows[0][0][lane]);
                    let clamps = lod.is_some();
                    let moved = std::array::from_fn(|axis| (words[axis] as i32).wrapping_add(offset[axis]));
                    integer(texture, moved, layer, level, clamps, &mut memories)
                }
                ref kind => {
                    let said = words.map(f32::from_bits);
                    let is_cube = matches!(op.shape, Shape::Cube | Shape::CubeLayered);
                    let at = if is_cube { projected(said) } else { said };
                    let step = |rows: &[[u32; WARP_SIZE]; 3]| rows.map(|row| f32::from_bits(row[lane]));
                    let lod = match (sample.lod, &lod) {
                        (SampleLod::Level(_), Some([rows, _])) => Lod::Level(f32::from_bits(rows[0][lane])),
                        (SampleLod::Gradients(..), Some([x, y])) if is_cube => {
                            Lod::Directions([said, step(x), step(y)])
                        }
                        (SampleLod::Gradients(..), Some([x, y])) => Lod::Gradients(step(x), step(y)),
                        _ => Lod::Finest,
                    };
                    let read = Fetch { at, layer, offset, lod };
                    match *kind {
                        TextureOpKind::Gather(_, channel) => {
                            gather(texture, &read, channel.into(), &mut memories)
                        }
                        _ => fetch(texture, &read, &mut memories),
                    }
                }
            };
            for (row, word) in results.iter_mut().zip(read?) {
                row[lane] = word;
            }
        }
        self.put(registers, active, sample, &results);
        Ok(())
    }

    /// Reads what is plain of one texture for all lanes at once that read of the same levels, where the instruction's last
    /// access was to its memory: the results, and the lanes that are done.
    fn together(
        &self,
        group: &Group,
        op: &TextureOp,
        handles: &[u64; WARP_SIZE],
        reads: Reads<'_>,
    ) -> (Results, LaneMask) {
        let none = ([[0; WARP_SIZE]; 4], 0);
        let grid = &self.worker.grid;
        if O::ACTIVE || grid.memory.is_stale(&self.worker.snapshot) {
            return none;
        }
        let handle = handles[reads.lanes.trailing_zeros() as usize % WARP_SIZE];
        if each_with(reads.lanes, |lane| handles[lane] != handle) != 0 {
            return none;
        }
        let Ok(texture) = texture(&grid.objects, handle) else { return none };
        if !agree(op, texture) {
            return none;
        }
        let faces;
        let mut reads = reads;
        if matches!(op.shape, Shape::Cube | Shape::CubeLayered) {
            let mut directions = [[0; WARP_SIZE]; 3];
            for lane in 0..WARP_SIZE {
                let said = reads.at.map(|row| f32::from_bits(row[lane]));
                for (row, at) in directions.iter_mut().zip(projected(said)) {
                    row[lane] = at.to_bits();
                }
            }
            faces = Faces::of(texture, &directions, reads.layers, reads.lanes);
            reads = Reads { lanes: faces.lanes, at: &faces.at, layers: Some(&faces.layers), ..reads };
        }
        let Some(plan) = plan(texture, &reads) else { return none };
        let hint = &self.worker.hints[group.position as usize];
        let allocation =
            &self.worker.snapshot.table.list[self.worker.indices[group.position as usize] as usize];
        let (mut results, mut done) = none;
        let mut rest = reads.lanes;
        while rest != 0 {
            let Some(levels) = plan.levels(texture, rest) else { break };
            rest &= !levels.lanes;
            let bases = levels.numbers.map(|number| texture.image.levels[number].base);
            let is_inside = |base: u64, bytes: u64| {
                base >= hint.base && (base - hint.base).saturating_add(bytes) <= hint.size
            };
            if !(0..2).all(|which| is_inside(bases[which], levels.bytes[which])) {
                continue;
            }
            let starts = bases.map(|base| base - allocation.base);
            let memory = LevelMemory { words: allocation.cells.words(), starts };
            let reads = Reads { lanes: levels.lanes, ..reads };
            let (read, lanes) = grid.level.run(Together { texture, levels: &levels, reads, memory });
            let lanes = lanes & levels.lanes;
            if lanes == reads.lanes && done == 0 && rest == 0 {
                return (read, lanes);
            }
            done |= lanes;
            each_lane(lanes, |lane| {
                for (row, read) in results.iter_mut().zip(&read) {
                    row[lane] = read[lane];
                }
            });
        }
        (results, done)
    }

    /// Tells tools that lanes are about to access texels.
    pub(super) fn tell_of_texels(&mut self, group: &Group, lanes: LaneMask) {
        if self.wants(Wants::TEXTURES) {
            let event = Event::Texels { warp: self.warp_id(), lanes, position: group.position };
            self.tell(Wants::TEXTURES, group.frame, &event);
        }
    }

    /// Puts results into registers.
    fn put(&self, registers: &mut Registers, active: LaneMask, sample: &Sample, results: &Results) {
        let SlotList { start, len } = sample.results;
        let slots = &self.worker.grid.code.slots[start as usize..][..len as usize];
        let half = |word: u32| u32::from(cvt::f16_f32(word, Rounding::Rn));
        for (number, slot) in slots.iter().enumerate() {
            let row: [u32; WARP_SIZE] = match sample.result {
                ResultType::Words => results[number & 3],
                ResultType::Halves => results[number & 3].map(half),
                ResultType::Pairs => std::array::from_fn(|lane| {
                    let [low, high] = [0, 1].map(|part| half(results[(2 * number + part) & 3][lane]));
                    low | high << 16
                }),
            };
            match slot.rows {
                1 => registers.write(slot.slot, active, &row),
                2 => registers.write(slot.slot, active, &row.map(u64::from)),
                _ => {}
            }
        }
        // All memory of a texture is there.
        if sample.resident != semantics::lanes::Pred::TRUE {
            registers.set_predicate(sample.resident, active, active);
        }
    }

    /// Reads a texel.
    fn texel(&mut self, reader: Reader, address: u64, bytes: u32) -> Checked<[u32; 4]> {
        let position = reader.position as usize;
        let hint = &self.worker.hints[position];
        let inside = address >= hint.base && address - hint.base + u64::from(bytes) <= hint.size;
        if O::ACTIVE || !inside || self.worker.grid.memory.is_stale(&self.worker.snapshot) {
            self.locate_texel(reader, address)?;
        }
        let allocation = &self.worker.snapshot.table.list[self.worker.indices[position] as usize];
        let (cells, at) = (&allocation.cells, address - allocation.base);
        let mut words = [0; 4];
        match bytes {
            1 | 2 => words[0] = cells.load(at, bytes) as u32,
            _ => {
                for (number, word) in words.iter_mut().enumerate().take(bytes as usize / 4) {
                    *word = cells.load(at + 4 * number as u64, 4) as u32;
                }
            }
        }
        Ok(words)
    }

    /// Finds the memory of a texel, and tells observers.
    #[inline(never)]
    fn locate_texel(&mut self, reader: Reader, address: u64) -> Checked {
        let Reader { position, frame, lane, channel, channels } = reader;
        let access = texel_access(channel, channels);
        let at =
            At { access: &access, direction: Direction::Load, lanes: 1 << lane, position, frame, peer: None };
        let mut addresses = [0; WARP_SIZE];
        addresses[lane] = address;
        self.locate(at, &addresses).map_err(|mut fault| {
            fault.notes.push("through a texture object".into());
            fault
        })?;
        self.observe(Memory::Global, at, &addresses, AccessShape::Any);
        Ok(())
    }

    fn query(
        &mut self,
        registers: &mut Registers,
        active: LaneMask,
        handle: Slot,
        query: Query,
        to: Slot,
        level: Option<Slot>,
    ) -> Checked {
        let handles = registers.read::<u64>(handle);
        let levels = level.map(|slot| registers.read::<u32>(slot));
        let mut results = [0; WARP_SIZE];
        let mut rest = active;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let level = levels.map_or(0, |levels| levels[lane]);
            results[lane] = match self.worker.grid.objects.find(handles[lane]) {
                Found::Object(Object::Texture(texture)) => {
                    ask(query, &texture.image, level).unwrap_or_else(|| ask_sampler(query, texture))
                }
                Found::Object(Object::Surface(image)) => ask(query, image, level).unwrap_or(0),
                found => {
                    let (kind, text) = missing("a texture or surface", handles[lane], &found);
                    return Err(Box::new(Fault::new(kind, 1 << lane, text)));
                }
            };
        }
        registers.write(to, active, &results);
        Ok(())
    }
}

/// The access of a texel.
pub(super) const fn texel_access(channel: u8, channels: u32) -> Access {
    let element = RegisterSlot { slot: Slot::frame(0), rows: 0 };
    let elements = SlotList { start: 0, len: channels };
    Access { elements, ..Access::weak(AccessSpace::Global, channel, element) }
}

/// What a warp's coordinates are, where its threads may be done at once.
fn coordinates(op: &TextureOp, sample: &Sample) -> Option<Coordinates> {
    match op.kind {
        TextureOpKind::Sample(_) => Some(Coordinates::Floats),
        TextureOpKind::Fetch(_) => {
            Some(Coordinates::Integers { clamps: !matches!(sample.lod, SampleLod::Finest) })
        }
        TextureOpKind::Gather(_, channel) => Some(Coordinates::Gather(channel.into())),
        _ => None,
    }
}

fn each_with(lanes: LaneMask, test: impl Fn(usize) -> bool) -> LaneMask {
    (0..WARP_SIZE).fold(0, |mask, lane| mask | u32::from(test(lane)) << lane) & lanes
}

fn texture(objects: &Objects, handle: u64) -> Result<&Arc<Texture>, (FindingKind, String)> {
    match objects.find(handle) {
        Found::Object(Object::Texture(texture)) => Ok(texture),
        found => Err(missing("a texture", handle, &found)),
    }
}

fn texture_fails(objects: &Objects, handle: u64) -> bool {
    texture(objects, handle).is_err()
}

/// What is to be said of a handle that is none of what is wanted.
pub(super) fn missing(wanted: &str, handle: u64, found: &Found<'_>) -> (FindingKind, String) {
    match found {
        Found::Destroyed => {
            (FindingKind::UseAfterFree, format!("{wanted} object {handle:#x}, which was destroyed"))
        }
        Found::Object(Object::Texture(_)) => (
            FindingKind::OutOfBounds,
            format!("{wanted} object is wanted, and {handle:#x} is a texture object"),
        ),
        Found::Object(Object::Surface(_)) => (
            FindingKind::OutOfBounds,
            format!("{wanted} object is wanted, and {handle:#x} is a surface object"),
        ),
        Found::Nothing if handle == 0 => {
            (FindingKind::NullPointer, format!("{wanted} object is wanted, and the handle is 0"))
        }
        Found::Nothing => (FindingKind::OutOfBounds, format!("no object has the handle {handle:#x}")),
    }
}

/// Whether an instruction's shape reads such a texture. What it does not read is zeros, on an H200: one row, rows and
/// layers of rows are alike, layers of one row are read with integers as linear memory is, and cubes are alike.
fn agree(op: &TextureOp, texture: &Texture) -> bool {
    use Shape as S;
    let image = texture.image.shape;
    match op.shape {
        S::OneD | S::OneDLayered if matches!(op.kind, TextureOpKind::Fetch(_)) => {
            matches!(image, S::Linear | S::OneDLayered)
        }
        S::OneD | S::TwoD | S::TwoDLayered | S::Linear => matches!(image, S::OneD | S::TwoD | S::TwoDLayered),
        S::Cube | S::CubeLayered => matches!(image, S::Cube | S::CubeLayered),
        S::OneDLayered | S::ThreeD => op.shape == image,
    }
}

/// A direction with its largest coordinate brought to one: the compiler divides, by an approximate reciprocal. It takes care of
/// what is below the normal numbers, but not of what has its reciprocal there: that is zero.
fn projected(direction: [f32; 3]) -> [f32; 3] {
    let largest = major_axis(direction);
    let is_huge = largest > 2f32.powi(126);
    let reciprocal = f32::from_bits(approx::rcp_f32(largest.to_bits(), is_huge));
    direction.map(|at| at * reciprocal)
}

/// What an image answers (ISA 9.7.10.5, 9.7.11.4); `None` for questions about a sampler.
fn ask(query: Query, image: &Image, level: u32) -> Option<u32> {
    let last = image.levels.len() - 1;
    let [width, height, depth] = image.levels[(level as usize).min(last)].extent;
    let layered = image.shape.is_layered();
    let has_rows = !matches!(image.shape, Shape::Linear | Shape::OneD | Shape::OneDLayered);
    // The numbers of OpenCL's channel types and orders.
    Some(match query {
        Query::Width => width,
        Query::Height => {
            if has_rows {
                height
            } else {
                0
            }
        }
        Query::Depth => {
            if image.shape == Shape::ThreeD {
                depth
            } else {
                0
            }
        }
        Query::ArraySize => {
            if layered {
                depth
            } else {
                0
            }
        }
        Query::NumMipmapLevels => image.levels.len() as u32,
        Query::NumSamples => 1,
        Query::MemoryLayout => u32::from(!image.opaque),
        Query::ChannelOrder => match image.format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        Query::ChannelDataType => match image.format.channel {
            Channel::Signed(1) => 0x10d7,
            Channel::Signed(2) => 0x10d8,
            Channel::Signed(_) => 0x10d9,
            Channel::Unsigned(1) => 0x10da,
            Channel::Unsigned(2) => 0x10db,
            Channel::Unsigned(_) => 0x10dc,
            Channel::Float(2) => 0x10dd,
            Channel::Float(_) => 0x10de,
            Channel::Packed => 0x10e0,
        },
        _ => return None,
    })
}

fn ask_sampler(query: Query, texture: &Texture) -> u32 {
    let sampler = &texture.sampler;
    match query {
        Query::NormalizedCoords => sampler.normalized.into(),
        Query::ForceUnnormalizedCoords => (!sampler.normalized).into(),
        Query::FilterMode => (sampler.filter == Filter::Linear).into(),
        Query::AddressMode(axis) => match sampler.address[usize::from(axis)] {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 3,
            AddressMode::Border => 4,
        },
        _ => 0,
    }
}
