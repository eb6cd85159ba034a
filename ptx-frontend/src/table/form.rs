//! Rows as data: what the table holds, for coverage and for generating tests.

use crate::target::PtxVersion;
use isa::{Modifier, Opcode};

use super::compiled::{Compiled, Entry, INDEX};
use super::effects::{Effects, Work};
use super::instances;
use super::role::OperandKind;

/// A row of the instruction table (index).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Form(pub u16);

/// The least that a form needs of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Minimum {
    /// The oldest PTX version.
    pub version: PtxVersion,
    /// The targets: `sm_80` means this or any later one, `sm_90a` exactly this one, `sm_100f` its
    /// family from this one on; empty when all have it.
    pub targets: Vec<String>,
}

/// All rows of the instruction table.
///
/// ```
/// let adds = ptx_frontend::forms().filter(|form| form.notation().starts_with("add"));
/// assert!(adds.count() > 10);
/// ```
pub fn forms() -> impl Iterator<Item = Form> {
    (0..INDEX.entries.len()).map(|at| Form(at as u16))
}

impl Form {
    /// The row; a form that was made up by hand stands for the first.
    fn entry(self) -> &'static Entry {
        let entries = &INDEX.entries;
        entries.get(usize::from(self.0)).unwrap_or(&entries[0])
    }

    fn compiled(self) -> &'static Compiled {
        self.entry().compiled()
    }

    /// The form in the manual's notation, such as `add{.rnd}{.ftz}{.sat}.f32 d, a, b`.
    pub fn notation(self) -> &'static str {
        &self.compiled().display
    }

    /// The opcode word.
    pub fn opcode(self) -> Opcode {
        self.entry().opcode
    }

    /// The least that the form needs; single modifiers may need more.
    pub fn minimum(self) -> Minimum {
        let need = &self.compiled().need;
        let targets = need.targets.iter().map(ToString::to_string).collect();
        Minimum { version: need.version, targets }
    }

    /// The group of the table it is in, such as `integer`.
    pub fn group(self) -> &'static str {
        self.entry().group.name
    }

    /// The manual's section.
    pub fn section(self) -> &'static str {
        self.entry().section
    }

    /// What kind of work its instructions are.
    pub fn work(self) -> Work {
        self.entry().does.kind()
    }

    /// Every legal list of modifiers, in the order of the notation.
    ///
    /// Forms with many independent modifiers have very many: up to some hundred thousand.
    pub fn instances(self) -> Vec<Vec<Modifier>> {
        instances::all(&self.compiled().notation)
    }

    /// A few of [`Form::instances`] in which each modifier occurs at least once, and is absent at
    /// least once if it may be.
    pub fn samples(self) -> Vec<Vec<Modifier>> {
        instances::covering(&self.compiled().notation)
    }

    /// The lists of operands that the form takes with these modifiers (one of
    /// [`Form::instances`]), for 64-bit addresses; several if there are optional ones.
    pub fn operand_kinds(self, modifiers: &[Modifier]) -> Vec<Vec<OperandKind>> {
        instances::operands(self.opcode(), &self.compiled().notation, modifiers)
    }

    /// What the form does with each of [`Form::operand_kinds`].
    pub fn effects(self, modifiers: &[Modifier]) -> impl Iterator<Item = Effects> {
        let (opcode, does) = (self.opcode(), self.entry().does);
        let lists = instances::expected(opcode, &self.compiled().notation, modifiers).into_iter();
        lists.map(move |expected| Effects::new(opcode, modifiers, does, &expected))
    }
}
