//! The vocabulary of instructions: opcode words and modifiers.

use crate::{CmpOp, IntRounding, MemOrder, Rounding, ScalarType, Scope, StateSpace};

macro_rules! opcodes {
    ($($name:ident $text:literal,)*) => {
        /// The opcode word: an instruction's name up to its first dot (ISA 4.3.2).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Opcode {
            /// All opcode words.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name),*];

            /// The word as written.
            pub const fn text(self) -> &'static str {
                match self { $(Opcode::$name => $text,)* }
            }

            /// The opcode with this word.
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Opcode::$name),)* _ => None }
            }
        }
    };
}

opcodes! {
    Abs "abs",
    Activemask "activemask",
    Add "add",
    Addc "addc",
    Alloca "alloca",
    And "and",
    Applypriority "applypriority",
    Atom "atom",
    Bar "bar",
    Barrier "barrier",
    Bfe "bfe",
    Bfi "bfi",
    Bfind "bfind",
    Bmsk "bmsk",
    Bra "bra",
    Brev "brev",
    Brkpt "brkpt",
    Brx "brx",
    Call "call",
    Clmad "clmad",
    Clusterlaunchcontrol "clusterlaunchcontrol",
    Clz "clz",
    Cnot "cnot",
    Copysign "copysign",
    Cos "cos",
    Cp "cp",
    Createpolicy "createpolicy",
    Cvt "cvt",
    Cvta "cvta",
    Discard "discard",
    Div "div",
    Dp2a "dp2a",
    Dp4a "dp4a",
    Elect "elect",
    Ex2 "ex2",
    Exit "exit",
    Fence "fence",
    Fma "fma",
    Fns "fns",
    Getctarank "getctarank",
    Griddepcontrol "griddepcontrol",
    Isspacep "isspacep",
    Istypep "istypep",
    Ld "ld",
    Ldmatrix "ldmatrix",
    Ldu "ldu",
    Lg2 "lg2",
    Lop3 "lop3",
    Mad "mad",
    Mad24 "mad24",
    Madc "madc",
    Mapa "mapa",
    Match "match",
    Max "max",
    Mbarrier "mbarrier",
    Membar "membar",
    Min "min",
    Mma "mma",
    Mov "mov",
    Movmatrix "movmatrix",
    Mul "mul",
    Mul24 "mul24",
    Multimem "multimem",
    Nanosleep "nanosleep",
    Neg "neg",
    Not "not",
    Or "or",
    Pmevent "pmevent",
    Popc "popc",
    Prefetch "prefetch",
    Prefetchu "prefetchu",
    Prmt "prmt",
    Rcp "rcp",
    Red "red",
    Redux "redux",
    Rem "rem",
    Ret "ret",
    Rsqrt "rsqrt",
    Sad "sad",
    Selp "selp",
    Set "set",
    Setmaxnreg "setmaxnreg",
    Setp "setp",
    Shf "shf",
    Shfl "shfl",
    Shl "shl",
    Shr "shr",
    Sin "sin",
    Slct "slct",
    Sqrt "sqrt",
    St "st",
    Stackrestore "stackrestore",
    Stacksave "stacksave",
    Stmatrix "stmatrix",
    Sub "sub",
    Subc "subc",
    Suld "suld",
    Suq "suq",
    Sured "sured",
    Sust "sust",
    Szext "szext",
    Tanh "tanh",
    Tcgen05 "tcgen05",
    Tensormap "tensormap",
    Testp "testp",
    Tex "tex",
    Tld4 "tld4",
    Trap "trap",
    Txq "txq",
    Vabsdiff "vabsdiff",
    Vabsdiff2 "vabsdiff2",
    Vabsdiff4 "vabsdiff4",
    Vadd "vadd",
    Vadd2 "vadd2",
    Vadd4 "vadd4",
    Vavrg2 "vavrg2",
    Vavrg4 "vavrg4",
    Vmad "vmad",
    Vmax "vmax",
    Vmax2 "vmax2",
    Vmax4 "vmax4",
    Vmin "vmin",
    Vmin2 "vmin2",
    Vmin4 "vmin4",
    Vote "vote",
    Vset "vset",
    Vset2 "vset2",
    Vset4 "vset4",
    Vshl "vshl",
    Vshr "vshr",
    Vsub "vsub",
    Vsub2 "vsub2",
    Vsub4 "vsub4",
    Wgmma "wgmma",
    Wmma "wmma",
    Xor "xor",
}

macro_rules! modifiers {
    ($($name:ident $text:literal,)*) => {
        /// One dotted modifier of an instruction.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Modifier {
            /// A type such as `.u32`.
            Type(ScalarType),
            /// A matrix shape such as `.m16n8k16`: m, n, k.
            Shape(u16, u16, u16),
            $(#[doc = concat!("`.", $text, "`")] $name,)*
        }

        impl Modifier {
            /// All modifiers that are neither types nor matrix shapes.
            pub const NAMED: &'static [Modifier] = &[$(Modifier::$name),*];

            fn named(text: &str) -> Option<Self> {
                match text { $($text => Some(Modifier::$name),)* _ => None }
            }

            fn named_text(self) -> &'static str {
                match self { $(Modifier::$name => $text,)* Modifier::Type(ty) => ty.text(), Modifier::Shape(..) => "" }
            }
        }
    };
}

modifiers! {
    Weak "weak",
    Relaxed "relaxed",
    Acquire "acquire",
    Release "release",
    AcqRel "acq_rel",
    Sc "sc",
    Volatile "volatile",
    Mmio "mmio",
    Cta "cta",
    Cluster "cluster",
    Gpu "gpu",
    Sys "sys",
    Gl "gl",
    Reg "reg",
    Const "const",
    Global "global",
    Local "local",
    Param "param",
    ParamEntry "param::entry",
    ParamFunc "param::func",
    Shared "shared",
    SharedCta "shared::cta",
    SharedCluster "shared::cluster",
    To "to",
    Rn "rn",
    Rz "rz",
    Rm "rm",
    Rp "rp",
    Rna "rna",
    Rs "rs",
    Rni "rni",
    Rzi "rzi",
    Rmi "rmi",
    Rpi "rpi",
    Approx "approx",
    Full "full",
    Ftz "ftz",
    Sat "sat",
    Satfinite "satfinite",
    Relu "relu",
    Noftz "noftz",
    PropagateNan "NaN",
    Xorsign "xorsign",
    Abs "abs",
    Oob "oob",
    Eq "eq",
    Ne "ne",
    Lt "lt",
    Le "le",
    Gt "gt",
    Ge "ge",
    Lo "lo",
    Ls "ls",
    Hi "hi",
    Hs "hs",
    Equ "equ",
    Neu "neu",
    Ltu "ltu",
    Leu "leu",
    Gtu "gtu",
    Geu "geu",
    Num "num",
    Nan "nan",
    And "and",
    Or "or",
    Xor "xor",
    Not "not",
    Add "add",
    Sub "sub",
    Min "min",
    Max "max",
    Inc "inc",
    Dec "dec",
    Exch "exch",
    Cas "cas",
    Popc "popc",
    Finite "finite",
    Infinite "infinite",
    Number "number",
    Notanumber "notanumber",
    Normal "normal",
    Subnormal "subnormal",
    Wide "wide",
    Cc "cc",
    Shiftamt "shiftamt",
    Clamp "clamp",
    Wrap "wrap",
    L "l",
    R "r",
    F4e "f4e",
    B4e "b4e",
    Rc8 "rc8",
    Ecl "ecl",
    Ecr "ecr",
    Rc16 "rc16",
    V2 "v2",
    V4 "v4",
    V8 "v8",
    Ca "ca",
    Cg "cg",
    Cs "cs",
    Lu "lu",
    Cv "cv",
    Wb "wb",
    Wt "wt",
    Nc "nc",
    L1 "L1",
    L132B "L1::32B",
    ValidAddr "valid_addr",
    L2 "L2",
    L1EvictNormal "L1::evict_normal",
    L1EvictUnchanged "L1::evict_unchanged",
    L1EvictFirst "L1::evict_first",
    L1EvictLast "L1::evict_last",
    L1NoAllocate "L1::no_allocate",
    L2EvictNormal "L2::evict_normal",
    L2EvictFirst "L2::evict_first",
    L2EvictLast "L2::evict_last",
    L2EvictUnchanged "L2::evict_unchanged",
    L2CacheHint "L2::cache_hint",
    L264B "L2::64B",
    L2128B "L2::128B",
    L2256B "L2::256B",
    Fractional "fractional",
    Range "range",
    Cvt "cvt",
    Tensormap "tensormap",
    Async "async",
    Bulk "bulk",
    Tensor "tensor",
    Prefetch "prefetch",
    Reduce "reduce",
    CommitGroup "commit_group",
    WaitGroup "wait_group",
    WaitAll "wait_all",
    BulkGroup "bulk_group",
    Mbarrier "mbarrier",
    Read "read",
    Noinc "noinc",
    MbarrierCompleteTxBytes "mbarrier::complete_tx::bytes",
    MbarrierArriveOne "mbarrier::arrive::one",
    MulticastCluster "multicast::cluster",
    MulticastClusterAll "multicast::cluster::all",
    CpMask "cp_mask",
    IgnoreSrc "ignore_src",
    D1 "1d",
    D2 "2d",
    D3 "3d",
    D4 "4d",
    D5 "5d",
    A1d "a1d",
    A2d "a2d",
    Cube "cube",
    Acube "acube",
    D2ms "2dms",
    A2dms "a2dms",
    Tile "tile",
    Im2col "im2col",
    Im2colNoOffs "im2col_no_offs",
    Im2colW "im2col::w",
    Im2colW128 "im2col::w::128",
    TileGather4 "tile::gather4",
    TileScatter4 "tile::scatter4",
    CtaGroup1 "cta_group::1",
    CtaGroup2 "cta_group::2",
    Sync "sync",
    Aligned "aligned",
    Arrive "arrive",
    Red "red",
    Warp "warp",
    Wait "wait",
    Init "init",
    Inval "inval",
    ArriveDrop "arrive_drop",
    ExpectTx "expect_tx",
    CompleteTx "complete_tx",
    TestWait "test_wait",
    TryWait "try_wait",
    Parity "parity",
    NoComplete "noComplete",
    PendingCount "pending_count",
    CheckLayout "check_layout",
    LayoutV0 "layout::v0",
    LayoutV1 "layout::v1",
    PhaseTypePrimary "phase_type::primary",
    PhaseTypeConditional "phase_type::conditional",
    IgnoreOob "ignore_oob",
    ScaledN2Ue8m0 "scaled::n2::ue8m0",
    All "all",
    Any "any",
    Uni "uni",
    Ballot "ballot",
    Up "up",
    Down "down",
    Bfly "bfly",
    Idx "idx",
    LaunchDependents "launch_dependents",
    TryCancel "try_cancel",
    QueryCancel "query_cancel",
    IsCanceled "is_canceled",
    GetFirstCtaid "get_first_ctaid",
    GetFirstCtaidX "get_first_ctaid::x",
    GetFirstCtaidY "get_first_ctaid::y",
    GetFirstCtaidZ "get_first_ctaid::z",
    Proxy "proxy",
    Alias "alias",
    AsyncGeneric "async::generic",
    TensormapGeneric "tensormap::generic",
    Generic "generic",
    SyncRestrictSharedCta "sync_restrict::shared::cta",
    SyncRestrictSharedCluster "sync_restrict::shared::cluster",
    SyncRestrictSharedClusterRead "sync_restrict::shared::cluster::read",
    SyncRestrictRead "sync_restrict::read",
    SyncRestrictProxyAsync "sync_restrict::proxy::async",
    MbarrierInit "mbarrier_init",
    CpFenceproxy "cp_fenceproxy",
    Replace "replace",
    GlobalAddress "global_address",
    Rank "rank",
    BoxDim "box_dim",
    GlobalDim "global_dim",
    GlobalStride "global_stride",
    ElementStride "element_stride",
    Elemtype "elemtype",
    InterleaveLayout "interleave_layout",
    SwizzleMode "swizzle_mode",
    FillMode "fill_mode",
    SwizzleAtomicity "swizzle_atomicity",
    Load "load",
    Store "store",
    Mma "mma",
    Row "row",
    Col "col",
    A "a",
    B "b",
    C "c",
    D "d",
    Sp "sp",
    SpOrderedMetadata "sp::ordered_metadata",
    Trans "trans",
    BlockScale "block_scale",
    ScaleVec1X "scale_vec::1X",
    ScaleVec2X "scale_vec::2X",
    ScaleVec4X "scale_vec::4X",
    KindF16 "kind::f16",
    KindTf32 "kind::tf32",
    KindF8f6f4 "kind::f8f6f4",
    KindI8 "kind::i8",
    KindMxf8f6f4 "kind::mxf8f6f4",
    KindMxf4 "kind::mxf4",
    KindMxf4nvf4 "kind::mxf4nvf4",
    X1 "x1",
    X2 "x2",
    X4 "x4",
    X8 "x8",
    X16 "x16",
    X32 "x32",
    X64 "x64",
    X128 "x128",
    M8n8 "m8n8",
    M8n16 "m8n16",
    M16n8 "m16n8",
    M16n16 "m16n16",
    B8x16 "b8x16",
    B6x16P32 "b6x16_p32",
    B4x16P64 "b4x16_p64",
    MmaAsync "mma_async",
    Fence "fence",
    Alloc "alloc",
    Dealloc "dealloc",
    RelinquishAllocPermit "relinquish_alloc_permit",
    Ld "ld",
    St "st",
    Commit "commit",
    Cp "cp",
    Shift "shift",
    Ws "ws",
    BeforeThreadSync "before_thread_sync",
    FenceBeforeThreadSync "fence::before_thread_sync",
    FenceAfterThreadSync "fence::after_thread_sync",
    WaitLd "wait::ld",
    WaitSt "wait::st",
    Lanes32x32b "32x32b",
    Lanes16x64b "16x64b",
    Lanes16x128b "16x128b",
    Lanes16x256b "16x256b",
    Lanes16x32bx2 "16x32bx2",
    Cp128x256b "128x256b",
    Cp4x256b "4x256b",
    Cp128x128b "128x128b",
    Cp64x128b "64x128b",
    Cp32x128b "32x128b",
    Warpx20213 "warpx2::02_13",
    Warpx20123 "warpx2::01_23",
    Warpx4 "warpx4",
    Pack16b "pack::16b",
    Unpack16b "unpack::16b",
    CollectorAFill "collector::a::fill",
    CollectorAUse "collector::a::use",
    CollectorALastuse "collector::a::lastuse",
    CollectorADiscard "collector::a::discard",
    CollectorB0Fill "collector::b0::fill",
    CollectorB0Use "collector::b0::use",
    CollectorB0Lastuse "collector::b0::lastuse",
    CollectorB0Discard "collector::b0::discard",
    CollectorB1Fill "collector::b1::fill",
    CollectorB1Use "collector::b1::use",
    CollectorB1Lastuse "collector::b1::lastuse",
    CollectorB1Discard "collector::b1::discard",
    CollectorB2Fill "collector::b2::fill",
    CollectorB2Use "collector::b2::use",
    CollectorB2Lastuse "collector::b2::lastuse",
    CollectorB2Discard "collector::b2::discard",
    CollectorB3Fill "collector::b3::fill",
    CollectorB3Use "collector::b3::use",
    CollectorB3Lastuse "collector::b3::lastuse",
    CollectorB3Discard "collector::b3::discard",
    Ashift "ashift",
    Block16 "block16",
    Block32 "block32",
    Level "level",
    Grad "grad",
    Base "base",
    P "p",
    Trap "trap",
    Zero "zero",
    G "g",
    Width "width",
    Height "height",
    Depth "depth",
    ChannelDataType "channel_data_type",
    ChannelOrder "channel_order",
    NormalizedCoords "normalized_coords",
    ArraySize "array_size",
    NumMipmapLevels "num_mipmap_levels",
    NumSamples "num_samples",
    MemoryLayout "memory_layout",
    ForceUnnormalizedCoords "force_unnormalized_coords",
    FilterMode "filter_mode",
    AddrMode0 "addr_mode_0",
    AddrMode1 "addr_mode_1",
    AddrMode2 "addr_mode_2",
    Shr7 "shr7",
    Shr15 "shr15",
    Po "po",
    Pack "pack",
    Mask "mask",
    LdReduce "ld_reduce",
    AccF32 "acc::f32",
    AccF16 "acc::f16",
    Bytemask "bytemask",
}

impl Modifier {
    /// Parses one modifier, given without its dot.
    ///
    /// ```
    /// use isa::{Modifier, ScalarType};
    /// assert_eq!(Modifier::from_text("f32"), Some(Modifier::Type(ScalarType::F32)));
    /// assert_eq!(Modifier::from_text("m16n8k16"), Some(Modifier::Shape(16, 8, 16)));
    /// assert_eq!(Modifier::from_text("nonsense"), None);
    /// ```
    pub fn from_text(text: &str) -> Option<Self> {
        Self::named(text).or_else(|| ScalarType::from_text(text).map(Modifier::Type)).or_else(|| shape(text))
    }
}

fn shape(text: &str) -> Option<Modifier> {
    let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let number = |digits: &str| -> Option<u16> {
        let canonical = !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
        if canonical { digits.parse().ok() } else { None }
    };
    Some(Modifier::Shape(number(m)?, number(n)?, number(k)?))
}

impl std::fmt::Display for Modifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Modifier::Shape(m, n, k) => write!(f, ".m{m}n{n}k{k}"),
            other => write!(f, ".{}", other.named_text()),
        }
    }
}

/// Typed views of a modifier list; every reader of modifiers goes through these.
pub trait Modifiers {
    /// The modifiers in the order written.
    fn list(&self) -> &[Modifier];

    /// Whether the modifier is present.
    fn has(&self, modifier: Modifier) -> bool {
        self.list().contains(&modifier)
    }

    /// The types in the order written (their order has meaning).
    fn types(&self) -> impl Iterator<Item = ScalarType> + '_ {
        self.list().iter().filter_map(|&m| if let Modifier::Type(ty) = m { Some(ty) } else { None })
    }

    /// The `at`-th type.
    fn ty(&self, at: usize) -> Option<ScalarType> {
        self.types().nth(at)
    }

    /// The matrix shape.
    fn shape(&self) -> Option<(u16, u16, u16)> {
        self.list()
            .iter()
            .find_map(|&m| if let Modifier::Shape(m, n, k) = m { Some((m, n, k)) } else { None })
    }

    /// Number of vector elements: 1, 2, 4 or 8.
    fn vector(&self) -> u32 {
        self.list()
            .iter()
            .find_map(|&m| match m {
                Modifier::V2 => Some(2),
                Modifier::V4 => Some(4),
                Modifier::V8 => Some(8),
                _ => None,
            })
            .unwrap_or(1)
    }

    /// The first state space named, generic if none.
    fn space(&self) -> StateSpace {
        self.list()
            .iter()
            .find_map(|&m| match m {
                Modifier::Const => Some(StateSpace::Const),
                Modifier::Global => Some(StateSpace::Global),
                Modifier::Local => Some(StateSpace::Local),
                Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc => Some(StateSpace::Param),
                Modifier::Shared | Modifier::SharedCta => Some(StateSpace::Shared),
                Modifier::SharedCluster => Some(StateSpace::SharedCluster),
                _ => None,
            })
            .unwrap_or(StateSpace::Generic)
    }

    /// The scope named, if any (`.gl` of `membar` is gpu; `.volatile` and `.mmio` say system, ISA 8.4).
    fn scope(&self) -> Option<Scope> {
        let named = self.list().iter().find_map(|&m| match m {
            Modifier::Cta => Some(Scope::Cta),
            Modifier::Cluster => Some(Scope::Cluster),
            Modifier::Gpu | Modifier::Gl => Some(Scope::Gpu),
            Modifier::Sys => Some(Scope::Sys),
            _ => None,
        });
        named.or_else(|| (self.has(Modifier::Volatile) || self.has(Modifier::Mmio)).then_some(Scope::Sys))
    }

    /// The memory order named, if any. `.volatile` and `.mmio` alone are relaxed (ISA 8.4).
    fn order(&self) -> Option<MemOrder> {
        let named = self.list().iter().find_map(|&m| match m {
            Modifier::Weak => Some(MemOrder::Weak),
            Modifier::Relaxed => Some(MemOrder::Relaxed),
            Modifier::Acquire => Some(MemOrder::Acquire),
            Modifier::Release => Some(MemOrder::Release),
            Modifier::AcqRel => Some(MemOrder::AcqRel),
            Modifier::Sc => Some(MemOrder::Sc),
            _ => None,
        });
        let relaxed = || self.has(Modifier::Volatile) || self.has(Modifier::Mmio);
        named.or_else(|| relaxed().then_some(MemOrder::Relaxed))
    }

    /// The rounding of a floating-point result named, if any (`.rna` and `.rs` are none of the four).
    fn rounding(&self) -> Option<Rounding> {
        self.list().iter().find_map(|&m| match m {
            Modifier::Rn => Some(Rounding::Rn),
            Modifier::Rz => Some(Rounding::Rz),
            Modifier::Rm => Some(Rounding::Rm),
            Modifier::Rp => Some(Rounding::Rp),
            _ => None,
        })
    }

    /// The rounding to an integer named, if any.
    fn int_rounding(&self) -> Option<IntRounding> {
        self.list().iter().find_map(|&m| match m {
            Modifier::Rni => Some(IntRounding::Rni),
            Modifier::Rzi => Some(IntRounding::Rzi),
            Modifier::Rmi => Some(IntRounding::Rmi),
            Modifier::Rpi => Some(IntRounding::Rpi),
            _ => None,
        })
    }

    /// The comparison operator, if any.
    fn cmp(&self) -> Option<CmpOp> {
        self.list().iter().find_map(|&m| match m {
            Modifier::Eq => Some(CmpOp::Eq),
            Modifier::Ne => Some(CmpOp::Ne),
            Modifier::Lt => Some(CmpOp::Lt),
            Modifier::Le => Some(CmpOp::Le),
            Modifier::Gt => Some(CmpOp::Gt),
            Modifier::Ge => Some(CmpOp::Ge),
            Modifier::Lo => Some(CmpOp::Lo),
            Modifier::Ls => Some(CmpOp::Ls),
            Modifier::Hi => Some(CmpOp::Hi),
            Modifier::Hs => Some(CmpOp::Hs),
            Modifier::Equ => Some(CmpOp::Equ),
            Modifier::Neu => Some(CmpOp::Neu),
            Modifier::Ltu => Some(CmpOp::Ltu),
            Modifier::Leu => Some(CmpOp::Leu),
            Modifier::Gtu => Some(CmpOp::Gtu),
            Modifier::Geu => Some(CmpOp::Geu),
            Modifier::Num => Some(CmpOp::Num),
            Modifier::Nan => Some(CmpOp::Nan),
            _ => None,
        })
    }
}

impl Modifiers for [Modifier] {
    fn list(&self) -> &[Modifier] {
        self
    }
}
