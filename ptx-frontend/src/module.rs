//! The checked module: what parsing yields and everything downstream reads.
//!
//! Ids index the vectors beside them. After [`crate::parse`] returned a module without errors every
//! id is in range, every operand fits its form, and layouts (sizes, alignments, offsets) are set.

use indexmap::IndexMap;
use smallvec::SmallVec;
use std::sync::Arc;

use crate::span::{Source, SourceId, Span};
use crate::table::effects::Effects;
use crate::table::form::Form;
use crate::target::{PtxVersion, Target, TargetKind};
use isa::{Modifier, Modifiers, Opcode, ScalarType, SpecialRegister, StateSpace};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// Index into [`Module::variables`].
    VarId,
    /// Index into [`Module::functions`].
    FuncId,
    /// Index into [`Function::registers`].
    RegId,
    /// Index into [`Body::labels`].
    LabelId,
    /// Index into [`Module::ops`].
    OpId,
    /// Index into [`Body::branch_targets`].
    BranchTargetsId,
    /// Index into [`Body::prototypes`].
    PrototypeId,
    /// Index into [`Body::locations`].
    LocationId,
}

/// One PTX module, or several that were linked.
#[derive(Clone, Debug)]
pub struct Module {
    /// The texts; more than one after linking.
    pub sources: Vec<Source>,
    /// `.version` (the newest of all after linking).
    pub version: PtxVersion,
    /// `.target`.
    pub target: Target,
    /// Further `.target` specifiers such as `debug` or `texmode_independent`.
    pub target_options: Vec<Box<str>>,
    /// `.address_size`: 32 or 64; 64 if the text does not say, as ptxas takes it.
    pub address_size: u32,
    /// All variables, of module and of function scope.
    pub variables: Vec<Variable>,
    /// All functions, kernels included.
    pub functions: Vec<Function>,
    /// Module-scope names.
    pub symbols: IndexMap<Box<str>, Symbol, rustc_hash::FxBuildHasher>,
    /// Distinct opcodes with modifiers; instructions refer to them by [`OpId`].
    pub ops: Vec<Op>,
    /// `.file` entries by index: names of CUDA sources.
    pub files: Vec<DebugFile>,
    /// Module-scope `.pragma` strings.
    pub pragmas: Vec<Box<str>>,
}

impl Module {
    /// A module without content: the newest version, `sm_90`, 64-bit addresses.
    pub(crate) fn empty() -> Self {
        Self {
            sources: Vec::new(),
            version: PtxVersion::NEWEST,
            target: Target { sm: 90, kind: TargetKind::Portable },
            target_options: Vec::new(),
            address_size: 64,
            variables: Vec::new(),
            functions: Vec::new(),
            symbols: IndexMap::default(),
            ops: Vec::new(),
            files: Vec::new(),
            pragmas: Vec::new(),
        }
    }

    /// The function or variable with this module-scope name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name).copied()
    }

    /// The kernels, in order of definition.
    pub fn kernels(&self) -> impl Iterator<Item = (FuncId, &Function)> {
        self.functions
            .iter()
            .enumerate()
            .filter(|(_, f)| f.kind == FunctionKind::Entry && f.body.is_some())
            .map(|(at, f)| (FuncId(at as u32), f))
    }

    /// The kernel of this name that has a body.
    pub fn kernel(&self, name: &str) -> Option<FuncId> {
        match self.symbol(name)? {
            Symbol::Function(id) if self.functions[id.index()].kind == FunctionKind::Entry => Some(id),
            _ => None,
        }
    }

    /// The op of an instruction.
    pub fn op(&self, instruction: &Instruction) -> &Op {
        &self.ops[instruction.op.index()]
    }
}

/// What a module-scope name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// A variable.
    Variable(VarId),
    /// A function or kernel.
    Function(FuncId),
}

/// Linking directive of a symbol (ISA 11.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// None: visible in its module only.
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`: defined elsewhere. Dynamic shared memory is `.extern .shared`.
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// A variable in any state space but `.reg`.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Box<str>,
    /// Its state space.
    pub space: StateSpace,
    /// Element type (of one vector component for vector types).
    pub ty: ScalarType,
    /// Components of a vector type, else 1.
    pub vector: u32,
    /// Array dimensions, outermost first; 0 for an unsized outermost dimension.
    pub dimensions: SmallVec<[u64; 2]>,
    /// Size in bytes; 0 for an unsized array.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Linking directive.
    pub linkage: Linkage,
    /// Initial value; `None` means zeros for `.global` and `.const`.
    pub initializer: Option<Initializer>,
    /// `.attribute(.managed)`
    pub managed: bool,
    /// `.attribute(.unified(uuid1, uuid2))`
    pub unified: Option<(u64, u64)>,
    /// `.ptr` attribute of a kernel parameter.
    pub pointer: Option<PointerAttribute>,
    /// The function it is declared in, `None` at module scope.
    pub owner: Option<FuncId>,
    /// Byte offset in the parameter buffer, for parameters of a kernel; else 0.
    pub offset: u64,
    /// Which text it is from.
    pub source: SourceId,
    /// Its declaration.
    pub span: Span,
}

/// `.ptr .space .align N` on a kernel parameter (ISA 7.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointerAttribute {
    /// Where it points; generic if not said.
    pub space: StateSpace,
    /// Alignment of what it points at, in bytes.
    pub align: u64,
}

/// The initial bytes of a variable and the addresses to be put into them.
#[derive(Clone, Debug, Default)]
pub struct Initializer {
    /// The bytes; may be shorter than the variable, the rest is zero.
    pub bytes: Vec<u8>,
    /// Addresses that are known only when the module is loaded.
    pub relocations: Vec<Relocation>,
}

/// An address inside an initialiser (ISA 5.4.4).
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// Byte offset in the initialiser.
    pub offset: u64,
    /// How many bytes to write: the element size.
    pub width: u32,
    /// Whose address.
    pub target: Symbol,
    /// Added to the address.
    pub addend: i64,
    /// `generic(symbol)`: the generic address, else the address in its own space.
    pub generic: bool,
    /// `0xFF00(symbol)`: which byte of the address (mask shifted down), `None` for all of it.
    pub byte: Option<u8>,
}

/// Kernel or device function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A function, defined or only declared.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Box<str>,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Linking directive.
    pub linkage: Linkage,
    /// Return parameters (device functions only).
    pub returns: Vec<Param>,
    /// Parameters.
    pub params: Vec<Param>,
    /// Size in bytes of the kernel parameter buffer.
    pub param_bytes: u64,
    /// `.noreturn`
    pub noreturn: bool,
    /// Performance-tuning and cluster directives.
    pub tuning: Tuning,
    /// Registers that the body names, each once.
    pub registers: Vec<Register>,
    /// Variables declared inside the body, in order.
    pub variables: Vec<VarId>,
    /// The body; `None` for a declaration.
    pub body: Option<Body>,
    /// Which text it is from.
    pub source: SourceId,
    /// Its header.
    pub span: Span,
}

/// A formal parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Param {
    /// In `.param` space.
    Variable(VarId),
    /// `.reg` parameter of a device function, of this type.
    Register(RegId),
}

/// Performance-tuning and cluster directives (ISA 11.4, 11.7).
#[derive(Clone, Debug, Default)]
pub struct Tuning {
    /// `.maxntid`
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_ctas_per_sm: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`
    pub explicit_cluster: bool,
    /// `.maxclusterrank`
    pub max_cluster_rank: Option<u32>,
    /// `.blocksareclusters`
    pub blocks_are_clusters: bool,
    /// `.pragma` strings in the function.
    pub pragmas: Vec<Box<str>>,
}

/// A register of a function. Vector registers are several consecutive ones.
#[derive(Clone, Debug)]
pub struct Register {
    /// Its name as written; components of a vector register carry `.x` to `.w`.
    pub name: Box<str>,
    /// Its type.
    pub ty: ScalarType,
}

/// The instructions of a function and the tables they refer to.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The instructions in order of the text.
    pub instructions: Vec<Instruction>,
    /// Operands of all instructions; see [`Body::operands`].
    pub operand_pool: Vec<Operand>,
    /// Labels.
    pub labels: Vec<LabelInfo>,
    /// `.branchtargets` lists.
    pub branch_targets: Vec<Vec<LabelId>>,
    /// `.callprototype` and `.calltargets`.
    pub prototypes: Vec<Prototype>,
    /// `.loc` entries.
    pub locations: Vec<SourceLocation>,
}

impl Body {
    /// The operands of an instruction. Elements of [`Operand::Vector`] and the like are not among
    /// them: see [`Body::elements`].
    pub fn operands(&self, instruction: &Instruction) -> &[Operand] {
        self.elements(instruction.operands)
    }

    /// A run of operands.
    pub fn elements(&self, list: OperandList) -> &[Operand] {
        &self.operand_pool[list.start as usize..][..list.len as usize]
    }
}

/// A label of a function.
#[derive(Clone, Debug)]
pub struct LabelInfo {
    /// Its name.
    pub name: Box<str>,
    /// Index of the instruction it stands before; may be one past the last.
    pub target: u32,
}

/// A call signature without a function (ISA 11.3).
#[derive(Clone, Debug)]
pub struct Prototype {
    /// The label it was given.
    pub name: Box<str>,
    /// Layouts of the return parameters: size and alignment in bytes.
    pub returns: Vec<ParamLayout>,
    /// Layouts of the parameters.
    pub params: Vec<ParamLayout>,
    /// `.noreturn`
    pub noreturn: bool,
    /// For `.calltargets`: the possible callees.
    pub targets: Option<Vec<FuncId>>,
}

/// Size and alignment of a parameter in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamLayout {
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u64,
}

/// A `.file` entry.
#[derive(Clone, Debug)]
pub struct DebugFile {
    /// The index that `.loc` uses (unique within one source).
    pub index: u32,
    /// Which text declared it.
    pub source: SourceId,
    /// The name.
    pub name: Box<str>,
}

/// A position in the program that was compiled to PTX: one `.loc`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLocation {
    /// Index into [`Module::files`], `None` if the file was never declared.
    pub file: Option<u32>,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, 0 if unknown.
    pub column: u32,
    /// The location it was inlined at, another entry of [`Body::locations`].
    pub inlined_at: Option<LocationId>,
    /// Name of the inlined function, from `function_name`.
    pub function: Option<Arc<str>>,
}

/// An opcode with its modifiers and the table row it matched.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    /// Opcode word.
    pub opcode: Opcode,
    /// Modifiers in the order written.
    pub modifiers: SmallVec<[Modifier; 6]>,
    /// The row of the instruction table.
    pub form: Form,
    /// What it does.
    pub effects: Effects,
}

impl Op {
    /// An op that no text has, in the place of this one: it counts as the same row of the table.
    pub fn instead(&self, opcode: Opcode, modifiers: impl IntoIterator<Item = Modifier>) -> Op {
        Op { opcode, modifiers: modifiers.into_iter().collect(), ..self.clone() }
    }
}

impl Modifiers for Op {
    fn list(&self) -> &[Modifier] {
        &self.modifiers
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.opcode.text())?;
        self.modifiers.iter().try_for_each(|modifier| modifier.fmt(f))
    }
}

/// A guard predicate: `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The predicate register.
    pub register: RegId,
    /// `@!p`
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Opcode and modifiers.
    pub op: OpId,
    /// Guard predicate.
    pub guard: Option<Guard>,
    /// Its operands, destination first.
    pub operands: OperandList,
    /// The `.loc` in force.
    pub location: Option<LocationId>,
    /// The whole statement, guard to semicolon.
    pub span: Span,
}

/// A run in [`Body::operand_pool`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct OperandList {
    /// First index.
    pub start: u32,
    /// Number of operands.
    pub len: u32,
}

/// One operand.
///
/// A `call` always has the operands returned values, callee, arguments and, if it goes through a
/// register, the prototype: lists that the text leaves out are empty vectors. The callee is a
/// [`Operand::Function`] or an [`Operand::Register`]; arguments and returned values are registers,
/// constants, and `.param` variables ([`Operand::Variable`] with offset 0).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    /// A register, or one component of a vector register.
    Register(RegId),
    /// `!%p`, or `-%r` of `vmad`.
    Negated(RegId),
    /// `-%r1.h1` and the like: part of a register, negated, for `vmad`.
    NegatedPart(RegId, RegisterPart),
    /// `%r1.h1` and the like: part of a register, for SIMD video instructions.
    Part(RegId, RegisterPart),
    /// An integer constant; signed values are sign-extended to 64 bits.
    Integer(u64),
    /// `0fXXXXXXXX`: the bits of an f32.
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal floating-point literal: the bits of an f64.
    F64(u64),
    /// A special register, one component of it where it has several.
    Special(SpecialRegister),
    /// Address of a variable plus a byte offset, as a value.
    Variable(VarId, i64),
    /// Address of a function, as a value, or the callee of a `call`.
    Function(FuncId),
    /// `{a, b, c, d}`, and the lists of `call`.
    Vector(OperandList),
    /// `d|p`: two destinations, the second a predicate (or `_`).
    Pair(OperandList),
    /// `[base+offset]`.
    Address(Address),
    /// `[base, {coordinates…}]` or `[texture, sampler, {coordinates…}]`, of texture, surface and
    /// tensor instructions: the elements are handles or an [`Operand::Address`], then a vector.
    AddressList(OperandList),
    /// `_`: no destination, or no value.
    Sink,
    /// A label.
    Label(LabelId),
    /// A `.branchtargets` list.
    BranchTargets(BranchTargetsId),
    /// A `.callprototype` or `.calltargets`.
    Prototype(PrototypeId),
}

/// An address operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Address {
    /// What the offset is added to.
    pub base: AddressBase,
    /// Bytes.
    pub offset: i64,
}

/// The base of an address operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AddressBase {
    /// A register.
    Register(RegId),
    /// A variable (parameters included).
    Variable(VarId),
    /// None: the offset is an absolute address.
    Absolute,
}

/// Which part of a 32-bit register a SIMD video instruction uses (ISA 9.7.18).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegisterPart {
    /// `.b0` to `.b3`
    Byte(u8),
    /// `.h0`, `.h1`
    Half(u8),
    /// `.h10`, `.h32` and the like: two selected halves, low first (values 0 to 3 over both sources).
    HalfPair(u8, u8),
    /// `.b3210` and the like: four selected bytes, low first (values 0 to 7 over both sources).
    BytePermutation([u8; 4]),
    /// `.b20`, `.b310` and the like, for destinations: bit *i* stands for byte *i*.
    ByteMask(u8),
}
