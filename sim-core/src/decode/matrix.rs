//! Matrix instructions: `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use ptx_frontend::{MemOrder, Modifier, Modifiers, Op, Opcode, Operand as Written, ScalarType};
use smallvec::SmallVec;

use super::memory::Place;
use super::{Decoder, Refusal};
use crate::code::*;
use crate::code::{FragmentAccess, Matrix, RowsAccess};
use numerics::Rounding;
use semantics::lanes::{Pred, Slot};
use semantics::matrix::TileFn;
use semantics::matrix::layout::{Layout, Places, Quad, Role};
use semantics::matrix::panel::{Product, Sums};
use semantics::matrix::tile::{fp8_order, place_in_a, place_in_blocks};
use semantics::matrix::{
    Arithmetic, Chunk, Multiply, Operand, PanelFns, Quick, Sparse, per_register, registers_of,
};

/// A multiplication before its registers are known.
struct Shape {
    /// As written.
    written: (u16, u16, u16),
    /// D, A, B, C.
    types: [ScalarType; 4],
    layouts: [Layout; 4],
    arithmetic: Arithmetic,
}

impl Decoder<'_> {
    /// Matrix instructions; false if it is none.
    pub(super) fn matrix(&mut self, guard: Pred, op: &Op, operands: &[Written]) -> Result<bool, Refusal> {
        let matrix = match op.opcode {
            Opcode::Mma => self.multiply(guard, op, operands)?,
            Opcode::Wmma if op.has(Modifier::Mma) => self.multiply(guard, op, operands)?,
            Opcode::Wmma => self.fragment_access(guard, op, operands)?,
            Opcode::Ldmatrix | Opcode::Stmatrix => self.rows_access(guard, op, operands)?,
            Opcode::Movmatrix => {
                let &[to, from] = operands else { return Err(format!("`{op}` with these operands")) };
                let from = self.source(guard, from, ScalarType::B32)?;
                let to = self.elements(guard, to, ScalarType::B32, false)?;
                Matrix::Transpose(self.code.slots[to.start as usize], from)
            }
            _ => return Ok(false),
        };
        let index = self.code.matrices.len() as u32;
        self.code.matrices.push(matrix);
        self.emit(guard, Action::Matrix(index));
        Ok(true)
    }

    fn multiply(&mut self, guard: Pred, op: &Op, operands: &[Written]) -> Result<Matrix, Refusal> {
        let refuse = || format!("`{op}`");
        let shape = shape(op).ok_or_else(refuse)?;
        let &[d, a, b, c, ref rest @ ..] = operands else { return Err(refuse()) };
        let sparse = match *rest {
            [] => None,
            [metadata, Written::Integer(selector)] => {
                let metadata = self.source(guard, metadata, ScalarType::B32)?;
                Some(Sparse { metadata, selector: selector as u8 & 3 })
            }
            _ => return Err(refuse()),
        };
        let [d_ty, a_ty, b_ty, c_ty] = shape.types;
        let (m, n, k) = shape.written;
        // Single bits are multiplied a word at a time.
        let k = if a_ty == ScalarType::B1 { k / 32 } else { k };
        let stored = usize::from(if sparse.is_some() { k / 2 } else { k });
        let (rows, k) = (usize::from(m), usize::from(k));
        let fp8 = shape.arithmetic == Arithmetic::Halves;
        let quad = shape.arithmetic == Arithmetic::Quad;
        let [d_layout, a_layout, b_layout, c_layout] = &shape.layouts;
        let order = |k: usize, count: usize| if fp8 { fp8_order(k, count) } else { k };
        let in_a = |row, column| place_in_a(stored)(row, order(column, stored));
        // Where A is sparse, its elements find their row of B by number.
        let in_b =
            |row, column| place_in_blocks(k)(if sparse.is_some() { row } else { order(row, k) }, column);
        let in_c = place_in_blocks(if quad { 32 } else { rows });
        let places = [
            Places::new(a_layout, in_a),
            Places::new(b_layout, in_b),
            Places::new(c_layout, &in_c),
            Places::new(d_layout, &in_c),
        ];
        let mut bound = SmallVec::<[Operand; 4]>::new();
        for ((ty, written), places) in [(a_ty, a), (b_ty, b), (c_ty, c), (d_ty, d)].into_iter().zip(places) {
            let wide = if ty == ScalarType::F64 { ScalarType::F64 } else { ScalarType::B32 };
            let mut registers = self.elements(guard, written, wide, bound.len() < 3)?;
            // What the device does not read needs not be brought.
            let per = usize::from(per_register(ty));
            registers.len = registers.len.min(places.elements.len().div_ceil(per) as u32);
            bound.push(Operand { ty, registers, places });
        }
        let Ok([a, b, c, d]) = <[Operand; 4]>::try_from(bound.into_vec()) else { return Err(refuse()) };
        let shape_in_tile = (if quad { 32 } else { m }, n, k as u16);
        let run = TileFn::at(self.level);
        let arithmetic = shape.arithmetic;
        let quick = self.quick(op, &shape);
        let multiply = Multiply { shape: shape_in_tile, a, b, c, d, sparse, arithmetic, run, quick };
        Ok(Matrix::Multiply(Box::new(multiply)))
    }

    /// The product of a dense `mma` with 16 rows, if the panel makes it: bit for bit the same.
    fn quick(&self, op: &Op, shape: &Shape) -> Option<Quick> {
        let [d, a, b, c] = shape.types;
        let (16, 8, k) = shape.written else { return None };
        let dense = op.opcode == Opcode::Mma && shape.layouts[1].count() * 32 == 16 * usize::from(k);
        let words = (u32::from(k) * a.bits() / 32) as u8;
        let product = Product::of(a, b, d, words).filter(|_| dense && c == d && matches!(words, 4 | 8))?;
        let sums = match (shape.arithmetic, product.sums) {
            (Arithmetic::Fused { step }, Sums::Fused { .. }) if step == k => product.sums,
            (Arithmetic::Integer(satfinite), Sums::Integer(_)) => Sums::Integer(satfinite),
            (Arithmetic::Bits { and: true }, Sums::Bits) => Sums::Bits,
            _ => return None,
        };
        Some(Quick { product: Product { sums, ..product }, fns: PanelFns::at(self.level) })
    }

    fn fragment_access(&mut self, guard: Pred, op: &Op, operands: &[Written]) -> Result<Matrix, Refusal> {
        let refuse = || format!("`{op}`");
        let store = op.has(Modifier::Store);
        let (&[first, second, ref rest @ ..], (m, n, k), ty) =
            (operands, op.shape().ok_or_else(refuse)?, op.ty(0).ok_or_else(refuse)?)
        else {
            return Err(refuse());
        };
        let (address, written) = if store { (first, second) } else { (second, first) };
        let (role, rows, columns) = if op.has(Modifier::A) {
            (Role::A, m, k)
        } else if op.has(Modifier::B) {
            (Role::B, k, n)
        } else {
            (Role::C, m, n)
        };
        let by_rows = op.has(Modifier::Row);
        // Single bits move as words.
        let unit = if ty == ScalarType::B1 { 32 } else { ty.bits() };
        let words = |extent: u16| if ty == ScalarType::B1 { extent / 32 } else { extent };
        let shape = if role == Role::C { (m, n, k) } else { (m, n, words(k)) };
        let f16 = ty == ScalarType::F16 && role != Role::C;
        let layout = Layout::wmma(role, shape, per_register(ty), f16).ok_or_else(refuse)?;
        let stride = match rest {
            [stride, ..] => self.source(guard, *stride, ScalarType::B32)?,
            [] => self.bits(u128::from(if by_rows { columns } else { rows }), 1),
        };
        let wide = if ty == ScalarType::F64 { ScalarType::F64 } else { ScalarType::B32 };
        let registers = self.elements(guard, written, wide, store)?;
        let place = self.place(op, address)?;
        let access = plain(place, 4, self.temporary(1), 1);
        let mut fragment = FragmentAccess {
            access,
            stride,
            bits: ty.bits(),
            lanes: [(0, 0); 32],
            chunks: Vec::new(),
            registers,
            copies: SmallVec::new(),
            transposed: false,
        };
        fragment.plan(&layout, ty, unit, by_rows)?;
        Ok(if store { Matrix::Store(Box::new(fragment)) } else { Matrix::Load(Box::new(fragment)) })
    }

    fn rows_access(&mut self, guard: Pred, op: &Op, operands: &[Written]) -> Result<Matrix, Refusal> {
        let refuse = || format!("`{op}`");
        let store = op.opcode == Opcode::Stmatrix;
        if op.ty(0) != Some(ScalarType::B16) {
            return Err(refuse());
        }
        let &[first, second] = operands else { return Err(refuse()) };
        let (address, written) = if store { (first, second) } else { (second, first) };
        let registers = self.elements(guard, written, ScalarType::B32, store)?;
        if !matches!(registers.len, 1 | 2 | 4) {
            return Err(refuse());
        }
        let place = self.place(op, address)?;
        let access = plain(place, 16, self.temporary(4), 4);
        let rows = RowsAccess { access, registers, transposed: op.has(Modifier::Trans) };
        Ok(if store { Matrix::StoreRows(rows) } else { Matrix::LoadRows(rows) })
    }
}

/// A weak access of one element through a row (or four) of the frame.
fn plain(place: Place, size: u8, through: Slot, rows: u8) -> Access {
    let element = RegisterSlot { slot: through, rows };
    place.access(size, MemOrder::Weak, SlotList { start: 0, len: 1 }, element)
}

impl FragmentAccess {
    /// Divides the fragment into accesses, as `sm_90` does: pairs of registers of C and D that lie side by
    /// side in memory, else registers, else single bytes. Halves that lie across are moved as if the
    /// matrix were transposed, block by block, and then exchanged between lanes.
    fn plan(&mut self, layout: &Layout, ty: ScalarType, unit: u32, by_rows: bool) -> Result<(), Refusal> {
        // Rows first, or columns first where those are contiguous.
        let turn = |(row, column): (usize, usize)| if by_rows { (row, column) } else { (column, row) };
        let per = usize::from(per_register(ty));
        let contiguous = |bit: usize| {
            layout.elements.get(bit).is_some_and(|&(row, column)| turn((row.into(), column.into())) == (0, 1))
        };
        let along = per == 1 || contiguous(0);
        self.transposed = !along && per == 2;
        let place = |(row, column): (usize, usize)| {
            let (major, minor) = turn((row, column));
            (major as u32, minor as u32 * unit)
        };
        let swap = |(row, column): (usize, usize)| {
            // Within blocks of 8 by 8.
            (row & !7 | column & 7, column & !7 | row & 7)
        };
        for (lane, to) in self.lanes.iter_mut().enumerate() {
            let at = layout.lane(lane);
            *to = place(if self.transposed { swap(at) } else { at });
        }
        let registers = registers_of(layout, ty);
        if self.registers.len as usize != registers {
            return Err("a fragment with another number of registers".into());
        }
        // Registers with the highest numbers may be copies.
        let copies = layout.elements.iter().rev().take_while(|&&step| step == (0, 0)).count();
        let read = registers >> copies;
        self.copies = (read..registers).map(|to| (to as u8, (to % read) as u8)).collect();
        let element_bytes = (unit * per as u32 / 8).max(4);
        if along {
            let pair = per == 1 && contiguous(0);
            let step = if pair { 2 } else { 1 };
            self.access.size = element_bytes as u8;
            for register in (0..read).step_by(step) {
                let elements = SlotList { start: self.registers.start + register as u32, len: step as u32 };
                let place = place(layout.element(register * per));
                self.chunks.push(Chunk { place, elements, register: register as u8, shift: 0 });
            }
        } else {
            let pieces = if self.transposed { 1 } else { per };
            self.access.size = (4 / pieces) as u8;
            for element in (0..read * per).step_by(per / pieces) {
                let (register, piece) = (element / per, element % per);
                self.chunks.push(Chunk {
                    place: place(layout.element(element)),
                    elements: SlotList { start: 0, len: 1 },
                    register: register as u8,
                    shift: (piece * unit as usize) as u8,
                });
            }
        }
        Ok(())
    }
}

/// Types, layouts and arithmetic of `mma` and `wmma.mma`; `None` for what `sm_90` does not have.
fn shape(op: &Op) -> Option<Shape> {
    use ScalarType as T;
    let scaled = [
        Modifier::BlockScale,
        Modifier::KindF8f6f4,
        Modifier::KindMxf8f6f4,
        Modifier::KindMxf4,
        Modifier::KindMxf4nvf4,
    ];
    if scaled.iter().any(|&modifier| op.has(modifier)) {
        return None;
    }
    let written = op.shape()?;
    let (m, _, k) = written;
    let types: SmallVec<[T; 4]> = op.types().collect();
    let types = match types[..] {
        [d, a, b, c] => [d, a, b, c],
        // `wmma` on `.f16` names D and C only.
        [d, c] => [d, T::F16, T::F16, c],
        _ => return None,
    };
    let [d, a, b, c] = types;
    let wmma = op.opcode == Opcode::Wmma;
    let sparse = op.has(Modifier::Sp) || op.has(Modifier::SpOrderedMetadata);
    let arithmetic = match a {
        T::F16 if !wmma && (m, k) == (8, 4) => Arithmetic::Quad,
        // `wmma` on `.tf32` takes K in two steps.
        T::Tf32 if wmma => Arithmetic::Fused { step: 4 },
        T::F16 | T::Bf16 | T::Tf32 => Arithmetic::Fused { step: if sparse { k / 2 } else { k } },
        T::E4m3 | T::E5m2 => Arithmetic::Halves,
        T::F64 => Arithmetic::Double(op.rounding().unwrap_or(Rounding::Rn)),
        T::U8 | T::S8 | T::U4 | T::S4 => Arithmetic::Integer(op.has(Modifier::Satfinite)),
        T::B1 => Arithmetic::Bits { and: op.has(Modifier::And) },
        _ => return None,
    };
    let words = if a == T::B1 { (written.0, written.1, k / 32) } else { written };
    let layouts = if arithmetic == Arithmetic::Quad {
        let column = |at: usize| {
            op.list().iter().filter(|m| matches!(m, Modifier::Row | Modifier::Col)).nth(at)
                == Some(&Modifier::Col)
        };
        let accumulator = |ty| Layout::quad(if ty == T::F16 { Quad::C16 } else { Quad::C32 });
        [
            accumulator(d),
            Layout::quad(if column(0) { Quad::ColA } else { Quad::RowA }),
            Layout::quad(if column(1) { Quad::ColB } else { Quad::RowB }),
            accumulator(c),
        ]
    } else if wmma {
        let layout = |role, ty| Layout::wmma(role, words, per_register(ty), a == T::F16);
        [layout(Role::C, d)?, layout(Role::A, a)?, layout(Role::B, b)?, layout(Role::C, c)?]
    } else {
        let stored = if sparse { (words.0, words.1, words.2 / 2) } else { words };
        let accumulator = || Layout::mma(Role::C, words, 2);
        [
            accumulator(),
            Layout::mma(Role::A, stored, per_register(a)),
            Layout::mma(Role::B, words, per_register(b)),
            accumulator(),
        ]
    };
    Some(Shape { written, types, layouts, arithmetic })
}
