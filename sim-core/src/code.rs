//! Decoded code: what the interpreter runs.
//!
//! [`Inst`] is what the hot loop reads; [`Meta`] lies beside it and is read only for messages.

pub use jit::Spread;
use ptx_frontend::{FuncId, MemOrder, Module, RegId, Scope, SpecialRegister, VarId};
use smallvec::SmallVec;
use std::sync::Arc;

pub use crate::event::{Asynchronous, Completion, GroupStep, Groups};
pub use numerics::mbarrier::MbarrierOp;
use semantics::formula::Formula;
use semantics::lanes::{LaneFn, LaneMask, Operands, Pred, Slot};
pub use semantics::lanes::{RegisterSlot, SlotList};
use semantics::matrix::warpgroup::Warpgroup;
use semantics::matrix::{Chunk, Multiply};
use semantics::window;

mod launches;
mod texture;

pub use launches::{LaunchFunction, Launches};
pub use texture::{
    Clamping, HandleType, Query, ResultType, Sample, SampleLod, TextureOp, TextureOpKind, Units,
};

/// A decoded kernel with every function it can reach.
#[derive(Debug)]
pub struct Code {
    /// Instructions of all functions, each function contiguous, blocks in topological order with
    /// loops kept together: the lane with the lowest position of a frame runs first.
    pub insts: Vec<Inst>,
    /// One entry an instruction.
    pub meta: Vec<Meta>,
    /// The kernel first, then callees.
    pub functions: Vec<CodeFunction>,
    /// Sources of the constant rows.
    pub constants: Vec<Constant>,
    /// Special registers with rows of their own in each warp, in row order.
    pub warp_specials: Vec<SpecialRegister>,
    /// Registers that vector accesses, calls and the like name; see [`SlotList`].
    pub slots: Vec<RegisterSlot>,
    /// What calls pass.
    pub call_sites: Vec<CallSite>,
    /// Copies that are no load and store, by [`Action::Copy`].
    pub copies: Vec<AsyncCopy>,
    /// Some of them take effect again where they are waited for.
    pub copies_again: bool,
    /// Bulk copies, by [`Action::BulkCopy`].
    pub bulk_copies: Vec<BulkCopy>,
    /// Accesses to multicast memory, by [`Action::Multimem`].
    pub multimems: Vec<Multimem>,
    /// Changes of tensor maps, by [`Action::ReplaceField`].
    pub replacements: Vec<ReplaceField>,
    /// `.branchtargets` lists: positions.
    pub branch_tables: Vec<Vec<u32>>,
    /// Matrix instructions, by [`Action::Matrix`].
    pub matrices: Vec<Matrix>,
    /// `wgmma.mma_async`, by [`WarpgroupStep::Multiply`].
    pub warpgroups: Vec<Warpgroup>,
    /// What instructions do to the registers of those, by [`Action::Touch`].
    pub touches: Vec<Vec<Touch>>,
    /// The registers of those, by [`Touch::register`].
    pub accumulators: Vec<(FuncId, RegId)>,
    /// Texture and surface instructions, by [`Action::Texture`].
    pub textures: Vec<TextureOp>,
    /// Names of unsupported operations, by [`Action::Unsupported`].
    pub unsupported: Vec<String>,
    /// What the kernel and its callees may launch.
    pub launches: Launches,
    /// Offsets of the kernel's and its callees' shared variables.
    pub shared: SharedLayout,
    /// It may tell the blocks of a cluster apart: the address of a shared variable then names the block that it is in.
    pub clustered: bool,
    /// A block may wait for another one: it looks at global memory that others change meanwhile.
    pub waits_for_blocks: bool,
    /// Estimate of the registers a thread that ptxas would use.
    pub registers: u32,
    /// The module it is from.
    pub module: Arc<Module>,
}

/// Where shared variables lie in a block's shared memory.
#[derive(Clone, Debug, Default)]
pub struct SharedLayout {
    /// Offset of each variable from the start of the shared window.
    pub offsets: rustc_hash::FxHashMap<VarId, u32>,
    /// First byte that the kernel may use: the window's first where it names the system's part
    /// (`%reserved_smem_offset_1`, by cooperative groups of several warps).
    pub first: u32,
    /// Bytes of static variables.
    pub static_bytes: u32,
    /// End of the static variables, aligned for the dynamic part, which starts here.
    pub static_end: u32,
}

impl SharedLayout {
    /// The same of a launch with so much dynamic memory: a kernel that gets memory and names none of it, as Halide's do,
    /// counts from the start of the window, and a device lets it.
    pub(crate) fn first_used(&self, dynamic: u32) -> u32 {
        if self.offsets.is_empty() && dynamic > 0 { 0 } else { self.first }
    }
}

/// A function inside [`Code`].
#[derive(Clone, Debug)]
pub struct CodeFunction {
    /// Which function of the module.
    pub id: FuncId,
    /// Position of its first instruction.
    pub start: u32,
    /// Position after its last instruction.
    pub end: u32,
    /// Register rows of its frame.
    pub rows: u32,
    /// Rows of registers in which all lanes of a warp have one value that stand at one place, whichever way they came: of a kernel,
    /// in order.
    pub uniform_rows: Vec<u32>,
    /// Rows of registers that some path reads before it writes them.
    pub exposed_rows: Vec<u32>,
    /// Predicate registers of which that is true, and the carry flag.
    pub exposed_predicates: Vec<u32>,
    /// Predicate registers of its frame, the constant at index 0 and the carry flag included.
    pub predicates: u32,
    /// Bytes of local memory of its frame: `.local` variables and `.param` variables of calls.
    pub local_bytes: u32,
    /// Alignment of the frame, at least 16: what its variables need.
    pub local_align: u32,
    /// Its `.local` and `.param` variables by offset: start, end, variable.
    pub locals: Vec<(u32, u32, VarId)>,
    /// Frame offsets and sizes of formal parameters.
    pub params: Vec<ParamSlot>,
    /// Frame offsets and sizes of return parameters.
    pub returns: Vec<ParamSlot>,
    /// Where each register is, with [`DeviceConfig::inspectable`](crate::DeviceConfig); otherwise nothing.
    pub registers: Vec<RegisterPlace>,
}

/// Where a register of a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterPlace {
    /// Nowhere: no instruction that was decoded reads or writes it.
    Nowhere,
    /// In rows.
    Rows(RegisterSlot),
    /// In a predicate register of the frame, by index.
    Predicate(u32),
}

impl Code {
    /// Instructions of the kernel itself.
    pub(crate) fn kernel_steps(&self) -> u64 {
        self.functions.first().map_or(0, |kernel| u64::from(kernel.end))
    }

    /// Whether it issues operations of the asynchronous proxy: bulk copies, `st.async`, `wgmma.mma_async`.
    pub fn issues_asynchronously(&self) -> bool {
        let issues = |inst: &Inst| {
            matches!(
                inst.action,
                Action::BulkCopy(_) | Action::IssueStore(_) | Action::Warpgroup(WarpgroupStep::Multiply(_))
            )
        };
        self.insts.iter().any(issues)
    }
}

impl CodeFunction {
    /// Where its frame begins in local memory, if it is a kernel.
    pub(crate) const fn local_start(&self) -> u32 {
        window::LOCAL_START.next_multiple_of(self.local_align)
    }
}

/// Where a parameter of a device function lies.
#[derive(Clone, Copy, Debug)]
pub enum ParamSlot {
    /// In the frame's local memory: byte offset and size.
    Local {
        /// Byte offset in the frame.
        offset: u32,
        /// Bytes.
        size: u32,
    },
    /// In a register.
    Register(RegisterSlot),
}

/// What a constant row holds; filled at launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// The same word in all lanes; 64- and 128-bit constants are interleaved by lane.
    Bits(u128, u8),
    /// Bytes of the kernel's parameter buffer: offset, size, sign-extended, rows.
    Param(u32, u8, bool, u8),
    /// A special register that is the same for all warps of a launch, with its rows.
    Special(SpecialRegister, u8),
    /// Address of a `.global` or `.const` variable plus an offset.
    Variable(VarId, i64, u8),
    /// The handle that a `.texref` or `.surfref` is bound to.
    Reference(VarId),
    /// Address of a function, as indirect calls and virtual tables use it.
    Function(FuncId, u8),
}

impl Constant {
    /// Rows it takes.
    pub const fn rows(self) -> u8 {
        match self {
            Constant::Reference(_) => 2,
            Constant::Bits(_, rows)
            | Constant::Param(.., rows)
            | Constant::Special(_, rows)
            | Constant::Variable(.., rows)
            | Constant::Function(_, rows) => rows,
        }
    }
}

/// Which PTX instruction an [`Inst`] came from, and what a compiler needs to know of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meta {
    /// Index into [`Code::functions`].
    pub function: u32,
    /// Index into the body's instructions; past the end for the implicit `ret` of a body.
    pub instruction: u32,
    /// What a lane operation computes, if that is one of the formulas.
    pub formula: Option<Formula>,
    /// Of a kernel's branch: whether warps of a block that run together may go different ways.
    pub parts: bool,
    /// Whether all lanes that make it together compute one value.
    pub uniform: bool,
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// Guard predicate; [`Pred::TRUE`] when there is none.
    pub guard: Pred,
    /// What to do.
    pub action: Action,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Registers to registers, lane by lane.
    Lanes(LaneFn, Operands),
    /// The same, and the instruction that follows is a `bra` to run at once: a comparison, mostly.
    BeforeBranch(LaneFn, Operands),
    /// `bra` to a position.
    Branch(u32),
    /// `brx.idx`: index and table.
    BranchIndexed(Slot, u32),
    /// Direct `call`.
    Call(Call),
    /// Indirect `call` through a function address.
    CallIndirect(Slot, Call),
    /// A call of a function of the device runtime.
    CallRuntime(RuntimeFunction, Call),
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `brkpt`
    Breakpoint,
    /// `nanosleep`
    Sleep,
    /// `ld`, `ldu`
    Load(Access),
    /// `st`
    Store(Access),
    /// `atom`, `red`
    Atomic(Atomic),
    /// `cp.async` with a source size: index into [`Code::copies`].
    Copy(u32),
    /// `multimem`: index into [`Code::multimems`].
    Multimem(u32),
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, `tensormap.cp_fenceproxy`: index into [`Code::bulk_copies`].
    BulkCopy(u32),
    /// `tensormap.replace`: index into [`Code::replacements`].
    ReplaceField(u32),
    /// `fence`, `membar`
    Fence(MemOrder, Scope),
    /// `bar`, `barrier`
    Barrier(Barrier),
    /// `barrier.cluster`
    ClusterBarrier(ClusterStep),
    /// `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`
    Warp(WarpOp),
    /// `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`: index into [`Code::matrices`].
    Matrix(u32),
    /// `wgmma`, `setmaxnreg`
    Warpgroup(WarpgroupStep),
    /// The next instruction touches registers of `wgmma.mma_async`: index into [`Code::touches`].
    Touch(u32),
    /// `tex`, `tld4`, `txq`, `istypep`, `suld`, `sust`, `sured`, `suq`: index into [`Code::textures`].
    Texture(u32),
    /// `activemask`
    ActiveMask(Slot),
    /// Address in the local window of a frame offset.
    LocalAddress(RegisterSlot, i64),
    /// Reads a special register that changes while the warp runs.
    ReadSpecial(SpecialRegister, RegisterSlot),
    /// `alloca`: destination, size in bytes, alignment in bytes.
    Alloca(RegisterSlot, RegisterSlot, u32),
    /// `stacksave`
    StackSave(RegisterSlot),
    /// `stackrestore`
    StackRestore(RegisterSlot),
    /// What a thread does with its asynchronous copies: told to tools, as each is done where it is issued.
    Groups(Groups, GroupStep),
    /// The issue of `st.async` and `red.async`, which follow: their mbarrier. Faults in a launch without clusters.
    IssueStore(Access),
    /// `fence.proxy.async`
    ProxyFence,
    /// `fence.proxy.tensormap::generic.acquire` of a map.
    MapFence(Access, Scope),
    /// Hints and what has no effect in a simulator.
    Nothing,
    /// Refused when reached: index into [`Code::unsupported`].
    Unsupported(u32),
}

impl Action {
    /// Whether a thread may use it to wait for another.
    pub(crate) fn awaits(&self) -> bool {
        match self {
            Action::Load(access) => access.strong,
            Action::Atomic(atomic) => atomic.is_read(),
            Action::Sleep | Action::ReadSpecial(..) => true,
            _ => false,
        }
    }

    /// The same for one of another block.
    pub(crate) fn awaits_block(&self) -> bool {
        match self {
            Action::Load(access) | Action::Atomic(Atomic { access, .. }) => {
                self.awaits() && matches!(access.space, AccessSpace::Global | AccessSpace::Generic)
            }
            Action::Multimem(_) | Action::Sleep => true,
            _ => false,
        }
    }
}

/// Arguments and results of a call: parameters of the caller's frame.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Index into [`Code::functions`] for direct calls.
    pub function: u32,
    /// Index into [`Code::call_sites`].
    pub site: u32,
}

/// What a call passes, in the caller's frame.
#[derive(Clone, Debug, Default)]
pub struct CallSite {
    /// Arguments.
    pub arguments: Vec<ParamSlot>,
    /// Results.
    pub results: Vec<ParamSlot>,
}

/// Functions that the device runtime defines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuntimeFunction {
    /// `int vprintf(const char*, const void*)`
    Printf,
    /// `void __assertfail(const char*, const char*, unsigned, const char*, size_t)`
    AssertFail,
    /// `void* malloc(size_t)`
    Malloc,
    /// `void free(void*)`
    Free,
    /// A function by which kernels launch.
    Launches(LaunchFunction),
}

/// The space of an access, as far as the interpreter treats them differently.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessSpace {
    /// `.global` and `.const`: addresses are generic addresses.
    Global,
    /// `.const`
    Const,
    /// `.shared`, `.shared::cta`: offsets into the shared window, of the block itself.
    Shared,
    /// `.shared::cluster`: offsets into the shared window, of any block of the cluster.
    Cluster,
    /// `.local` and `.param` of device functions: offsets into the local window.
    Local,
    /// `.local` at a frame offset known at decode time: `offset` counts from the frame's start.
    Frame,
    /// `.param` of the kernel, by address.
    Param,
    /// Decided by each lane's address.
    Generic,
}

/// A load or store.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Where.
    pub space: AccessSpace,
    /// Bytes an element: 1, 2, 4, 8 or 16.
    pub size: u8,
    /// Sign-extend elements into wider registers.
    pub signed: bool,
    /// Strong (relaxed or stronger, volatile, mmio): other threads may wait for it.
    pub strong: bool,
    /// A load of a loop that does nothing but wait for another thread.
    pub spins: bool,
    /// Memory order.
    pub order: MemOrder,
    /// Scope, of strong accesses.
    pub scope: Scope,
    /// Whether a thread does it by itself.
    pub asynchronous: Asynchronous,
    /// Rows of the address register: 1 or 2; 0 if there is none.
    pub address_rows: u8,
    /// The address register.
    pub address: Slot,
    /// How the addresses of a warp's lanes lie, as far as the kernel's text tells.
    pub spread: Spread,
    /// Added to the address.
    pub offset: i64,
    /// The registers of the elements, in order of address.
    pub elements: SlotList,
    /// Elements at the end of a load whose registers nothing reads.
    pub unread: u8,
    /// For stores and loads of one element: its register, to spare the table.
    pub element: RegisterSlot,
    /// Whether the common case can be done without looking further.
    pub simple: Simple,
}

impl Access {
    /// A weak one of one element; where the caller gives the address.
    pub(crate) const fn weak(space: AccessSpace, size: u8, element: RegisterSlot) -> Access {
        Access {
            space,
            size,
            signed: false,
            strong: false,
            spins: false,
            order: MemOrder::Weak,
            scope: Scope::Sys,
            asynchronous: Asynchronous::No,
            address_rows: 0,
            address: Slot::frame(0),
            spread: Spread::Any,
            offset: 0,
            elements: SlotList { start: 0, len: 1 },
            unread: 0,
            element,
            simple: Simple::No,
        }
    }

    /// The same load without the elements at its end that nothing reads.
    pub(crate) const fn read_part(&self) -> Access {
        let len = self.elements.len - self.unread as u32;
        let elements = SlotList { start: self.elements.start, len };
        Access { elements, unread: 0, simple: Simple::No, ..*self }
    }

    /// Bytes that one lane touches.
    pub const fn bytes(&self) -> u32 {
        self.size as u32 * self.elements.len
    }
}

/// `cp.async` of a source size known when it runs, or one that stores may come behind before it is waited for.
#[derive(Clone, Copy, Debug)]
pub struct AsyncCopy {
    /// Loads all of it.
    pub from: Access,
    /// Stores it.
    pub to: Access,
    /// Bytes of the source; the others are zeros.
    pub size: Slot,
    /// Loads and stores a single byte.
    pub byte: [Access; 2],
    /// It takes effect again where it is waited for.
    pub again: bool,
}

/// A bulk copy or reduction, each active lane one by itself (ISA 9.7.9.25.4, 9.7.9.25.5).
#[derive(Clone, Debug)]
pub struct BulkCopy {
    /// What is copied.
    pub what: BulkWhat,
    /// Registers of 1, 2, 4, 8 and 16 bytes through which pieces go, by the logarithm of their size.
    pub values: [RegisterSlot; 5],
    /// The operation that combines source and destination; without one it is a copy. The type is the map's where there
    /// is one.
    pub reduction: Option<BulkReduction>,
    /// The mbarrier that hears of it, as an operation that completes as many bytes as its operand says, and the operand.
    pub barrier: Option<(Atomic, Slot)>,
    /// Ranks of the blocks that get it.
    pub multicast: Option<Slot>,
    /// How many bytes at the beginning and at the end may lie outside of memory and are not copied (`.ignore_oob`).
    pub ignored: Option<[Slot; 2]>,
    /// One lane does it for all: the instruction is one of the warp.
    pub once: bool,
}

/// How a bulk reduction combines elements.
#[derive(Clone, Copy, Debug)]
pub struct BulkReduction {
    /// The operation.
    pub op: AtomicOp,
    /// The type that the instruction names.
    pub ty: ptx_frontend::ScalarType,
    /// The registers of [`Atomic::slots`], by the logarithm of an element's size.
    pub elements: [SlotList; 4],
}

/// What a bulk copy copies.
#[derive(Clone, Copy, Debug)]
pub enum BulkWhat {
    /// Bytes: source, destination, how many.
    Bytes(Access, Access, Slot),
    /// Part of a tensor, between global memory and this place in shared memory.
    Tensor(TensorOperands, Access, TensorDirection),
    /// The same into the cache, with no effect but the checks.
    Prefetch(TensorOperands),
}

/// Which way a tensor copy goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorDirection {
    /// From global to shared memory.
    Load,
    /// From shared to global memory.
    Store,
}

/// Where in which tensor.
#[derive(Clone, Copy, Debug)]
pub struct TensorOperands {
    /// The map: an access of 16 bytes at its start.
    pub map: Access,
    /// Registers of the coordinates.
    pub coordinates: SlotList,
    /// Registers of the offsets of im2col.
    pub offsets: SlotList,
    /// The map must be one of im2col.
    pub im2col: bool,
}

/// `tensormap.replace`: a field of a tensor map.
#[derive(Clone, Copy, Debug)]
pub struct ReplaceField {
    /// The map: an access of 16 bytes at its start.
    pub map: Access,
    /// The register through which its bytes go.
    pub value: RegisterSlot,
    /// Which field.
    pub field: MapField,
    /// Which dimension of it.
    pub dimension: u8,
    /// The new value.
    pub new: RegisterSlot,
}

/// A field of a tensor map (ISA 9.7.9.26).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the manual's names")]
pub enum MapField {
    GlobalAddress,
    Rank,
    BoxDim,
    GlobalDim,
    GlobalStride,
    ElementStride,
    Elemtype,
    InterleaveLayout,
    SwizzleMode,
    FillMode,
}

/// The operation of an `atom` or `red`, or of an mbarrier object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the manual's mnemonics")]
pub enum AtomicOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Mbarrier(MbarrierOp),
}

/// An access to multicast memory: to the memory of each device that it stands for.
#[derive(Clone, Copy, Debug)]
pub enum Multimem {
    /// `multimem.ld_reduce`
    LoadReduce {
        /// The load of one device's memory.
        load: Access,
        /// The same into registers of its own.
        next: Access,
        /// How the elements of devices are combined.
        op: AtomicOp,
        /// Their type.
        ty: ptx_frontend::ScalarType,
        /// Whether halves are added as `.f32` (`.acc::f32`).
        widened: bool,
    },
    /// `multimem.st`
    Store(Access),
    /// `multimem.red`
    Reduce(Atomic),
}

/// An `atom` or `red`.
#[derive(Clone, Copy, Debug)]
pub struct Atomic {
    /// Space, order, address and element registers (the destinations); sources follow them in
    /// [`Code::slots`]: b, then c for `cas`.
    pub access: Access,
    /// What to do.
    pub op: AtomicOp,
    /// The type of an element.
    pub ty: ptx_frontend::ScalarType,
    /// Whether there is a destination (`atom`, not `red`).
    pub returns: bool,
    /// `.add.f32` in global memory that does not flush subnormals: of a bulk reduction.
    pub keeps_subnormals: bool,
}

impl Atomic {
    /// Whether somebody may read what it found, and so wait for another thread.
    pub fn is_read(&self) -> bool {
        self.returns && self.access.element.rows != 0
    }

    /// Its registers in [`Code::slots`]: an element each of the destination, b, and c for `cas`.
    pub fn slots<'a>(&self, table: &'a [RegisterSlot]) -> &'a [RegisterSlot] {
        let SlotList { start, len } = self.access.elements;
        let operands = if self.op == AtomicOp::Cas { 3 } else { 2 };
        &table[start as usize..][..len as usize * operands]
    }
}

/// What a block barrier does on top of arriving.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarrierKind {
    /// Waits.
    Sync,
    /// Does not wait.
    Arrive,
    /// Waits; counts the threads whose predicate is true.
    RedPopc,
    /// Waits; all predicates.
    RedAnd,
    /// Waits; any predicate.
    RedOr,
}

/// `bar` or `barrier`.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    /// What else.
    pub kind: BarrierKind,
    /// Barrier number.
    pub id: Slot,
    /// Thread count, if given.
    pub count: Option<Slot>,
    /// Source predicate of a reduction.
    pub predicate: Pred,
    /// Destination of `red.and` and `red.or`.
    pub pred_dst: Pred,
    /// Destination of `red.popc`.
    pub dst: Slot,
    /// `.aligned` or `bar`: all threads of the warp must execute the same instruction.
    pub aligned: bool,
    /// Its number, if it waits for all threads of the block at a barrier known at decode time.
    pub whole: Option<u8>,
}

/// What threads do at the barrier of their cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClusterStep {
    /// `barrier.cluster.arrive`, with its order.
    Arrive(MemOrder),
    /// `barrier.cluster.wait`.
    Wait,
}

/// How the lanes of `shfl` choose their source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the manual's mnemonics")]
pub enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// What a warp-level operation computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WarpOpKind {
    /// `bar.warp.sync`
    Sync,
    /// `shfl.sync`: a, b, c; d and p.
    Shuffle(ShuffleMode),
    /// `vote.sync.all`
    VoteAll,
    /// `vote.sync.any`
    VoteAny,
    /// `vote.sync.uni`
    VoteUni,
    /// `vote.sync.ballot`
    VoteBallot,
    /// `match.any.sync` over values of so many rows
    MatchAny(u8),
    /// `match.all.sync`
    MatchAll(u8),
    /// `redux.sync`
    Redux(AtomicOp, bool),
    /// `elect.sync`
    Elect,
}

/// A warp-level operation with a member mask.
#[derive(Clone, Copy, Debug)]
pub struct WarpOp {
    /// What.
    pub kind: WarpOpKind,
    /// Destination register, if any.
    pub dst: Option<Slot>,
    /// Destination predicate; [`Pred::TRUE`] when there is none.
    pub pred_dst: Pred,
    /// Sources.
    pub src: [Slot; 3],
    /// Source predicate.
    pub pred: Pred,
    /// Member mask; `None` for the pre-Volta forms without one (all active lanes).
    pub members: Option<Slot>,
}

/// A set of lanes as text: `0-3, 7`.
pub fn lanes_text(mask: LaneMask) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        if mask >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let run = (mask >> lane).trailing_ones();
        parts.push(if run == 1 { format!("{lane}") } else { format!("{lane}-{}", lane + run - 1) });
        lane += run;
    }
    parts.join(", ")
}

/// What can take the fast way: decided once, when the instruction is decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Simple {
    /// Nothing.
    #[default]
    No,
    /// A scalar of 4 bytes into a register of 4.
    Four,
    /// A scalar of 8 bytes into a register of 8.
    Eight,
    /// Two elements of 4 bytes into registers of 4.
    TwoFours,
    /// Four elements of 4 bytes into registers of 4.
    FourFours,
    /// Two elements of 8 bytes into registers of 8.
    TwoEights,
}

/// What four warps do together (ISA 9.7.15, 9.7.19.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarpgroupStep {
    /// `wgmma.mma_async`: index into [`Code::warpgroups`].
    Multiply(u32),
    /// `wgmma.fence`
    Fence,
    /// `wgmma.commit_group`
    Commit,
    /// `wgmma.wait_group`: all groups but so many of the latest are complete.
    Wait(u32),
    /// `setmaxnreg`: how many registers a thread has from here on, and whether that is more than before (`.inc`).
    Registers(u32, bool),
}

impl WarpgroupStep {
    /// The instruction, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            WarpgroupStep::Multiply(_) => "`wgmma.mma_async`",
            WarpgroupStep::Fence => "`wgmma.fence`",
            WarpgroupStep::Commit => "`wgmma.commit_group`",
            WarpgroupStep::Wait(_) => "`wgmma.wait_group`",
            WarpgroupStep::Registers(..) => "`setmaxnreg`",
        }
    }
}

/// An instruction touches a register that a `wgmma.mma_async` may be using, or will.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// Index into [`Code::accumulators`].
    pub register: u32,
    /// How.
    pub kind: TouchKind,
}

/// How an instruction touches a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TouchKind {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Gives it the value of another one, which is no access of either: compilers write such `mov`s where the registers
    /// of the device will be the same.
    Copy(u32),
}

/// A matrix instruction.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// `mma`, `mma.sp`, `wmma.mma`
    Multiply(Box<Multiply>),
    /// `wmma.load`
    Load(Box<FragmentAccess>),
    /// `wmma.store`
    Store(Box<FragmentAccess>),
    /// `ldmatrix`
    LoadRows(RowsAccess),
    /// `stmatrix`
    StoreRows(RowsAccess),
    /// `movmatrix`: destination and source.
    Transpose(RegisterSlot, Slot),
}

impl Matrix {
    /// Opcode, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Matrix::Multiply(_) => "a matrix multiplication",
            Matrix::Load(_) => "`wmma.load`",
            Matrix::Store(_) => "`wmma.store`",
            Matrix::LoadRows(_) => "`ldmatrix`",
            Matrix::StoreRows(_) => "`stmatrix`",
            Matrix::Transpose(..) => "`movmatrix`",
        }
    }
}

/// `wmma.load` or `wmma.store`.
#[derive(Clone, Debug)]
pub struct FragmentAccess {
    /// Space, address, size of a chunk's elements, and a row of the frame for pieces of registers.
    pub access: Access,
    /// Elements between consecutive rows (or columns).
    pub stride: Slot,
    /// Bits of an element.
    pub bits: u32,
    /// Rows (or columns) and bits within one that each lane adds.
    pub lanes: [(u32, u32); 32],
    /// The accesses in order of registers.
    pub chunks: Vec<Chunk>,
    /// Registers of a lane.
    pub registers: SlotList,
    /// For copies of a register: where it is copied from.
    pub copies: SmallVec<[(u8, u8); 8]>,
    /// Lanes hold transposed blocks of 8 by 8 halves: `.col` of what lies in rows, and the reverse.
    pub transposed: bool,
}

/// `ldmatrix` or `stmatrix`.
#[derive(Clone, Copy, Debug)]
pub struct RowsAccess {
    /// Space, address and size of a row, through four rows of the frame.
    pub access: Access,
    /// One register a matrix.
    pub registers: SlotList,
    /// `.trans`
    pub transposed: bool,
}
