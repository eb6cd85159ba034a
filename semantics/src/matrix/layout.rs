//! Which lane holds which element of a matrix.
//!
//! Every fragment of `mma` (manual 9.7.14.5, 9.7.14.6) and, as an H200 lays them out, of `wmma` is
//! *linear*: each bit of the lane number and of the element's number in its lane adds a fixed number of
//! rows and columns. A [`Layout`] is the list of these [`Step`]s. The layouts of `wmma` are opaque in
//! PTX; those here were read off the device (`testdata/h200/README.md`), and do not depend on `.row` and
//! `.col`.

use smallvec::SmallVec;

/// Rows and columns that one bit adds.
pub type Step = (u16, u16);

/// Along what the elements of one register lie, and then the lanes of a group of four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    /// In one row: A, C and D of `mma`.
    Columns,
    /// In one column: B.
    Rows,
}

/// A fragment: where element `e` of lane `l` lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// What the bits of the lane number add.
    pub lanes: [Step; 5],
    /// What the bits of the element number add, from the lowest; `(0, 0)` for a copy of an element.
    pub elements: SmallVec<[Step; 6]>,
}

/// Which operand of a matrix instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the manual's names")]
pub enum Role {
    A,
    B,
    /// C and D.
    C,
}

/// The accumulator of `mma.m8n8k4` on `.f16`, whose layout depends on its type; and its other operands,
/// whose layout depends on `.row` and `.col`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the manual's names")]
pub enum Quad {
    RowA,
    ColA,
    RowB,
    ColB,
    C16,
    C32,
}

impl Layout {
    /// `per` elements along `axis` in a register, four lanes along it and eight across, then what each
    /// bit of the register number adds.
    fn regular(axis: Axis, per: u16, registers: impl IntoIterator<Item = Step>) -> Layout {
        let turn = |(row, column): Step| if axis == Axis::Rows { (column, row) } else { (row, column) };
        let lanes = [(0, per), (0, 2 * per), (1, 0), (2, 0), (4, 0)].map(turn);
        let inside = (0..per.trailing_zeros()).map(|bit| turn((0, 1 << bit)));
        Layout { lanes, elements: inside.chain(registers).collect() }
    }

    /// A fragment of `mma`: shape in elements (for `.b1` in words of 32) and elements a register.
    pub fn mma(role: Role, (m, _, k): (u16, u16, u16), per: u16) -> Layout {
        // Blocks of K that the lanes cover at once.
        let blocks = (k / (4 * per)).max(1).trailing_zeros();
        let halves = (m == 16).then_some((8, 0));
        match role {
            Role::A => {
                let along = (0..blocks).map(|bit| (0, (4 * per) << bit));
                Layout::regular(Axis::Columns, per, halves.into_iter().chain(along))
            }
            Role::B => Layout::regular(Axis::Rows, per, (0..blocks).map(|bit| ((4 * per) << bit, 0))),
            Role::C => Layout::regular(Axis::Columns, 2, halves),
        }
    }

    /// A fragment of `wmma`: shape in elements (for `.b1` in words of 32), elements a register and whether
    /// they are of type `.f16`, whose fragments have eight registers in any shape.
    pub fn wmma(role: Role, shape: (u16, u16, u16), per: u16, f16: bool) -> Option<Layout> {
        use Axis::{Columns, Rows};
        let copy = (0, 0);
        let (axis, registers): (Axis, &[Step]) = match (role, shape, per) {
            (Role::A, (16, 16, 16), 2) => (Columns, &[(8, 0), (0, 8), copy]),
            (Role::A, (8, 32, 16), 2) => (Columns, &[(0, 8), copy, copy]),
            (Role::A, (32, 8, 16), 2) => (Columns, &[(8, 0), (0, 8), (16, 0)]),
            (Role::B, (16, 16, 16), 2) => (Rows, &[(8, 0), (0, 8), copy]),
            (Role::B, (8, 32, 16), 2) => (Rows, &[(0, 8), (8, 0), (0, 16)]),
            (Role::B, (32, 8, 16), 2) => (Rows, &[(8, 0), copy, copy]),
            (Role::A, (16, 16, 16), 4) => (Columns, &[(8, 0)]),
            (Role::A, (32, 8, 16), 4) => (Columns, &[(8, 0), (16, 0)]),
            (Role::A, (8, 32, 16), 4) => (Columns, &[]),
            (Role::B, (16, 16, 16), 4) => (Rows, &[(0, 8)]),
            (Role::B, (8, 32, 16), 4) => (Rows, &[(0, 8), (0, 16)]),
            (Role::B, (32, 8, 16), 4) => (Rows, &[]),
            (Role::A, (16, 16, 8), 1) => (Columns, &[(8, 0), (0, 4)]),
            (Role::B, (16, 16, 8), 1) => (Rows, &[(4, 0), (0, 8)]),
            (Role::A, (8, 8, _), 1 | 8) => (Columns, &[]),
            (Role::B, (8, 8, _), 1 | 8) => (Rows, &[]),
            (Role::C, (16, 16, _), _) => (Columns, &[(8, 0), (0, 8)]),
            (Role::C, (32, 8, _), _) => (Columns, &[(8, 0), (16, 0)]),
            (Role::C, (8, 32, _), _) => (Rows, &[(0, 8), (0, 16)]),
            (Role::C, (8, 8, _), _) => (Columns, &[]),
            _ => return None,
        };
        let per = if role == Role::C { 2 } else { per };
        let copies = f16 || role == Role::C;
        let registers = registers.iter().copied().filter(|&step| copies || step != copy);
        Some(Layout::regular(axis, per, registers))
    }

    /// A fragment of `mma.m8n8k4` on `.f16`, four products at once (manual 9.7.14.5.1): those of A, C and
    /// D lie one below the other, those of B side by side.
    pub fn quad(which: Quad) -> Layout {
        let (lanes, elements): ([Step; 5], &[Step]) = match which {
            Quad::RowA => ([(1, 0), (2, 0), (8, 0), (16, 0), (4, 0)], &[(0, 1), (0, 2)]),
            Quad::ColA => ([(0, 1), (0, 2), (8, 0), (16, 0), (4, 0)], &[(1, 0), (2, 0)]),
            Quad::RowB => ([(1, 0), (2, 0), (0, 8), (0, 16), (0, 4)], &[(0, 1), (0, 2)]),
            Quad::ColB => ([(0, 1), (0, 2), (0, 8), (0, 16), (0, 4)], &[(1, 0), (2, 0)]),
            Quad::C16 => ([(1, 0), (2, 0), (8, 0), (16, 0), (4, 0)], &[(0, 1), (0, 2), (0, 4)]),
            Quad::C32 => ([(1, 0), (0, 2), (8, 0), (16, 0), (4, 0)], &[(0, 1), (2, 0), (0, 4)]),
        };
        Layout { lanes, elements: SmallVec::from_slice(elements) }
    }

    /// Elements a lane, copies included.
    pub fn count(&self) -> usize {
        1 << self.elements.len()
    }

    /// Row and column that a lane adds to those of [`Layout::element`].
    pub fn lane(&self, lane: usize) -> (usize, usize) {
        sum(&self.lanes, lane)
    }

    /// Row and column of an element of lane 0.
    pub fn element(&self, element: usize) -> (usize, usize) {
        sum(&self.elements, element)
    }
}

/// The steps of the bits that are set.
fn sum(steps: &[Step], number: usize) -> (usize, usize) {
    steps
        .iter()
        .enumerate()
        .filter(|&(bit, _)| number >> bit & 1 != 0)
        .fold((0, 0), |(row, column), (_, &step)| (row + usize::from(step.0), column + usize::from(step.1)))
}

/// Where the elements of a fragment lie in a plane: element `e` of lane `l` at `lanes[l] + elements[e]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// By lane.
    pub lanes: [u16; 32],
    /// By element; only one of several copies, which the device reads.
    pub elements: SmallVec<[u16; 32]>,
}

impl Places {
    /// `index` gives the place of a row and column; each bit of both must add a fixed number to it.
    pub fn new(layout: &Layout, index: impl Fn(usize, usize) -> usize) -> Places {
        let place = |(row, column)| index(row, column) as u16;
        // Copies come last: only the registers before them are read.
        let copies = layout.elements.iter().rev().take_while(|&&step| step == (0, 0)).count();
        Places {
            lanes: std::array::from_fn(|lane| place(layout.lane(lane))),
            elements: (0..layout.count() >> copies).map(|element| place(layout.element(element))).collect(),
        }
    }
}
