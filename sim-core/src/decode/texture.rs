//! Textures and surfaces (ISA 9.7.10, 9.7.11).

use ptx_frontend::{
    Address, AddressBase, MemOrder, Modifier, Modifiers, Op, Opcode, Operand, ScalarType, StateSpace,
};

use super::memory::Place;
use super::{Decoder, Refusal};
use crate::code::*;
use crate::texture::Shape;
use semantics::lanes::{Pred, Slot};

impl Decoder<'_> {
    /// Texture and surface instructions; false if it is none.
    pub(super) fn texture(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<bool, Refusal> {
        let texture_op = match op.opcode {
            Opcode::Tex | Opcode::Tld4 => self.sample(guard, op, operands)?,
            Opcode::Suld => {
                let [value, place] = two(op, operands)?;
                let access = self.surface_access(guard, op, value, false)?;
                self.surface(guard, op, place, TextureOpKind::SurfaceLoad(access, clamping(op)))?
            }
            Opcode::Sust => {
                let [place, value] = two(op, operands)?;
                let kind = if op.has(Modifier::P) {
                    let values = self.elements(guard, value, ScalarType::B32, true)?;
                    TextureOpKind::SurfaceStoreFormatted(values, clamping(op))
                } else {
                    TextureOpKind::SurfaceStore(self.surface_access(guard, op, value, true)?, clamping(op))
                };
                self.surface(guard, op, place, kind)?
            }
            Opcode::Sured => {
                let [place, value] = two(op, operands)?;
                let units = if op.has(Modifier::P) { Units::Elements } else { Units::Bytes };
                let kind =
                    TextureOpKind::SurfaceReduce(self.surface_atomic(guard, op, value)?, clamping(op), units);
                self.surface(guard, op, place, kind)?
            }
            Opcode::Txq | Opcode::Suq => self.query(guard, op, operands)?,
            Opcode::Istypep => {
                let [to, handle] = two(op, operands)?;
                let asked = match op.ty(0) {
                    Some(ScalarType::Texref) => HandleType::Texture,
                    Some(ScalarType::Samplerref) => HandleType::Sampler,
                    _ => HandleType::Surface,
                };
                let kind = TextureOpKind::IsType(asked, self.predicate_destination(to)?);
                question(self.source(guard, handle, ScalarType::B64)?, kind)
            }
            _ => return Ok(false),
        };
        let index = self.code.textures.len() as u32;
        self.code.textures.push(texture_op);
        self.emit(guard, Action::Texture(index));
        Ok(true)
    }

    /// The register of a handle, or what a reference of the module is bound to.
    fn handle(&mut self, guard: Pred, operand: Operand) -> Result<Slot, Refusal> {
        match operand {
            Operand::Register(_) => self.source(guard, operand, ScalarType::B64),
            Operand::Variable(id, 0)
            | Operand::Address(Address { base: AddressBase::Variable(id), offset: 0 }) => {
                let variable = &self.module.variables[id.index()];
                match variable.space {
                    StateSpace::Param => {
                        let address = Address { base: AddressBase::Variable(id), offset: 0 };
                        let place = self.place_in(StateSpace::Param, Operand::Address(address))?;
                        let known = self.parameter(&place, 8, false, 2);
                        known
                            .map(|constant| self.constant(constant))
                            .ok_or_else(|| "a handle in this parameter".into())
                    }
                    _ => Ok(self.constant(Constant::Reference(id))),
                }
            }
            Operand::Address(Address { base: AddressBase::Register(id), offset: 0 }) => {
                self.source(guard, Operand::Register(id), ScalarType::B64)
            }
            other => Err(format!("a handle of this kind: {other:?}")),
        }
    }

    /// The handle and the coordinates of `[a, c]`.
    fn object(
        &mut self,
        guard: Pred,
        operand: Operand,
    ) -> Result<(Slot, smallvec::SmallVec<[Operand; 4]>), Refusal> {
        let Operand::AddressList(list) = operand else { return Err("a texture without coordinates".into()) };
        let &[handle, coordinates] = self.body.elements(list) else {
            return Err("a sampler of its own (`texmode_independent`)".into());
        };
        Ok((self.handle(guard, handle)?, self.parts(coordinates)))
    }

    /// The elements of a vector, or the operand itself.
    fn parts(&self, operand: Operand) -> smallvec::SmallVec<[Operand; 4]> {
        match operand {
            Operand::Vector(list) => self.body.elements(list).iter().copied().collect(),
            other => smallvec::smallvec![other],
        }
    }

    /// As many of these as there are, and the last again.
    fn three(&mut self, guard: Pred, parts: &[Operand], ty: ScalarType) -> Result<[Slot; 3], Refusal> {
        let zero = self.bits(0, 1);
        let mut slots = [zero; 3];
        for (slot, &part) in slots.iter_mut().zip(parts) {
            if part != Operand::Sink {
                *slot = self.source(guard, part, ty)?;
            }
        }
        Ok(slots)
    }

    fn sample(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<TextureOp, Refusal> {
        let shape = shape(op);
        let types: smallvec::SmallVec<[ScalarType; 2]> = op.types().collect();
        let &[result_type, coordinate_type] = &types[..] else { return Err(format!("`{op}`")) };
        let Some((&to, rest)) = operands.split_first() else {
            return Err(format!("`{op}` without operands"));
        };
        let Some((&place, mut rest)) = rest.split_first() else {
            return Err(format!("`{op}` without operands"));
        };
        let (values, resident) = match to {
            Operand::Pair(list) => match *self.body.elements(list) {
                [values, predicate] => (values, self.predicate_destination(predicate)?),
                _ => return Err(format!("`{op}` with these operands")),
            },
            values => (values, Pred::TRUE),
        };
        let results = self.elements(guard, values, result_type, false)?;
        let result = match result_type {
            ScalarType::F16 => ResultType::Halves,
            ScalarType::F16x2 => ResultType::Pairs,
            _ => ResultType::Words,
        };
        let (handle, parts) = self.object(guard, place)?;
        let mut parts = &parts[..];
        let mut number = None;
        if op.has(Modifier::D2ms) || op.has(Modifier::A2dms) {
            let Some((&first, others)) = parts.split_first() else { return Err(format!("`{op}`")) };
            number = Some(self.source(guard, first, ScalarType::B32)?);
            parts = others;
        }
        let (coordinates, layer) = self.place_of(guard, shape, parts, coordinate_type)?;
        let lod = if op.has(Modifier::Level) {
            let Some((&level, more)) = rest.split_first() else {
                return Err(format!("`{op}` without a level"));
            };
            rest = more;
            SampleLod::Level(self.source(guard, level, coordinate_type)?)
        } else if op.has(Modifier::Grad) {
            let [x, y, more @ ..] = rest else { return Err(format!("`{op}` without gradients")) };
            rest = more;
            let [x, y] = [*x, *y].map(|step| self.parts(step));
            SampleLod::Gradients(
                self.three(guard, &x, ScalarType::F32)?,
                self.three(guard, &y, ScalarType::F32)?,
            )
        } else {
            SampleLod::Finest
        };
        // A value to compare depths with has no effect: CUDA's textures compare nothing.
        let offset = match rest.first() {
            Some(&offset) if self.is_offset(offset) => {
                let parts = self.parts(offset);
                Some(self.three(guard, &parts, ScalarType::S32)?)
            }
            _ => None,
        };
        let sample = Sample { results, result, resident, lod, offset, number };
        let kind = match op.opcode {
            Opcode::Tld4 => {
                let channels = [Modifier::R, Modifier::G, Modifier::B, Modifier::A];
                let channel = channels.iter().position(|&channel| op.has(channel)).unwrap_or(0);
                TextureOpKind::Gather(sample, channel as u8)
            }
            _ if coordinate_type == ScalarType::F32 => TextureOpKind::Sample(sample),
            _ => TextureOpKind::Fetch(sample),
        };
        Ok(TextureOp { handle, shape, coordinates, layer, kind })
    }

    /// Coordinates and layer.
    fn place_of(
        &mut self,
        guard: Pred,
        shape: Shape,
        parts: &[Operand],
        ty: ScalarType,
    ) -> Result<([Slot; 3], Option<Slot>), Refusal> {
        let layered = matches!(shape, Shape::OneDLayered | Shape::TwoDLayered | Shape::CubeLayered);
        match parts {
            [layer, rest @ ..] if layered => {
                let layer = self.source(guard, *layer, ScalarType::B32)?;
                Ok((self.three(guard, rest, ty)?, Some(layer)))
            }
            parts => Ok((self.three(guard, parts, ty)?, None)),
        }
    }

    /// Whether an optional operand is offsets, which are integers, and not a depth.
    fn is_offset(&self, operand: Operand) -> bool {
        match operand {
            Operand::Vector(_) | Operand::Integer(_) => true,
            Operand::Register(id) => !self.function.registers[id.index()].ty.is_float(),
            _ => false,
        }
    }

    fn surface(
        &mut self,
        guard: Pred,
        op: &Op,
        place: Operand,
        kind: TextureOpKind,
    ) -> Result<TextureOp, Refusal> {
        let shape = shape(op);
        let (handle, parts) = self.object(guard, place)?;
        let (coordinates, layer) = self.place_of(guard, shape, &parts, ScalarType::B32)?;
        Ok(TextureOp { handle, shape, coordinates, layer, kind })
    }

    /// The access of a surface's bytes; its addresses come from the surface.
    fn surface_access(
        &mut self,
        guard: Pred,
        op: &Op,
        value: Operand,
        store: bool,
    ) -> Result<Access, Refusal> {
        let ty = op.ty(0).ok_or("a surface access without a type")?;
        let elements = self.elements(guard, value, ty, store)?;
        let element = self.code.slots[elements.start as usize];
        let place = Place {
            space: AccessSpace::Global,
            address: element.slot,
            address_rows: 0,
            spread: Spread::Any,
            offset: 0,
        };
        Ok(place.access(ty.bytes() as u8, MemOrder::Weak, elements, element))
    }

    fn surface_atomic(&mut self, guard: Pred, op: &Op, value: Operand) -> Result<Atomic, Refusal> {
        let ty = op.ty(0).ok_or("a reduction without a type")?;
        let kinds = [
            (Modifier::Add, AtomicOp::Add),
            (Modifier::Min, AtomicOp::Min),
            (Modifier::Max, AtomicOp::Max),
            (Modifier::And, AtomicOp::And),
            (Modifier::Or, AtomicOp::Or),
        ];
        let kind = kinds.iter().find(|(modifier, _)| op.has(*modifier)).ok_or_else(|| format!("`{op}`"))?.1;
        let source = self.elements(guard, value, ty, true)?;
        let source = self.code.slots[source.start as usize];
        let none = RegisterSlot { slot: Slot::frame(0), rows: 0 };
        let elements = SlotList { start: self.code.slots.len() as u32, len: 1 };
        self.code.slots.extend([none, source]);
        let place = Place {
            space: AccessSpace::Global,
            address: source.slot,
            address_rows: 0,
            spread: Spread::Any,
            offset: 0,
        };
        let access =
            Access { strong: true, ..place.access(ty.bytes() as u8, MemOrder::Relaxed, elements, none) };
        Ok(Atomic { access, op: kind, ty, returns: false, keeps_subnormals: false })
    }

    fn query(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<TextureOp, Refusal> {
        let queries = [
            (Modifier::Width, Query::Width),
            (Modifier::Height, Query::Height),
            (Modifier::Depth, Query::Depth),
            (Modifier::ChannelDataType, Query::ChannelDataType),
            (Modifier::ChannelOrder, Query::ChannelOrder),
            (Modifier::NormalizedCoords, Query::NormalizedCoords),
            (Modifier::ForceUnnormalizedCoords, Query::ForceUnnormalizedCoords),
            (Modifier::FilterMode, Query::FilterMode),
            (Modifier::AddrMode0, Query::AddressMode(0)),
            (Modifier::AddrMode1, Query::AddressMode(1)),
            (Modifier::AddrMode2, Query::AddressMode(2)),
            (Modifier::ArraySize, Query::ArraySize),
            (Modifier::NumMipmapLevels, Query::NumMipmapLevels),
            (Modifier::NumSamples, Query::NumSamples),
            (Modifier::MemoryLayout, Query::MemoryLayout),
        ];
        let query =
            queries.iter().find(|(modifier, _)| op.has(*modifier)).ok_or_else(|| format!("`{op}`"))?.1;
        let &[to, handle, ref level @ ..] = operands else {
            return Err(format!("`{op}` with these operands"));
        };
        let handle = match handle {
            Operand::AddressList(list) => match *self.body.elements(list) {
                [handle] => handle,
                _ => return Err(format!("`{op}` with these operands")),
            },
            handle => handle,
        };
        let handle = self.handle(guard, handle)?;
        let level = level.first().map(|&level| self.source(guard, level, ScalarType::U32)).transpose()?;
        let (to, widen) = self.destination(to, ScalarType::B32)?;
        if !matches!(widen, super::operands::Widen::Done) {
            return Err(format!("`{op}` into a register of another size"));
        }
        Ok(question(handle, TextureOpKind::Query(query, to, level)))
    }
}

fn question(handle: Slot, kind: TextureOpKind) -> TextureOp {
    TextureOp { handle, shape: Shape::OneD, coordinates: [handle; 3], layer: None, kind }
}

fn two(op: &Op, operands: &[Operand]) -> Result<[Operand; 2], Refusal> {
    operands.try_into().map_err(|_| format!("`{op}` with these operands"))
}

fn clamping(op: &Op) -> Clamping {
    match () {
        () if op.has(Modifier::Clamp) => Clamping::Clamp,
        () if op.has(Modifier::Zero) => Clamping::Zero,
        () => Clamping::Trap,
    }
}

fn shape(op: &Op) -> Shape {
    let shapes = [
        (Modifier::D2, Shape::TwoD),
        (Modifier::D2ms, Shape::TwoD),
        (Modifier::A2dms, Shape::TwoDLayered),
        (Modifier::D3, Shape::ThreeD),
        (Modifier::A1d, Shape::OneDLayered),
        (Modifier::A2d, Shape::TwoDLayered),
        (Modifier::Cube, Shape::Cube),
        (Modifier::Acube, Shape::CubeLayered),
    ];
    shapes.iter().find(|(modifier, _)| op.has(*modifier)).map_or(Shape::OneD, |(_, shape)| *shape)
}
