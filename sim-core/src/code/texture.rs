//! Instructions that read textures, access surfaces and ask about them.

use super::{Access, Atomic, SlotList};
use crate::texture::Shape;
use semantics::lanes::{Pred, Slot};

/// A `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq` or `istypep`, by [`super::Action::Texture`].
#[derive(Clone, Copy, Debug)]
pub struct TextureOp {
    /// The register of the handle, of 64 bits.
    pub handle: Slot,
    /// What the instruction takes the object for; of no meaning to questions.
    pub shape: Shape,
    /// Coordinates, as many as the shape has.
    pub coordinates: [Slot; 3],
    /// The layer, of layered shapes.
    pub layer: Option<Slot>,
    /// What to do.
    pub kind: TextureOpKind,
}

/// What a texture or surface instruction does.
#[derive(Clone, Copy, Debug)]
pub enum TextureOpKind {
    /// `tex` with coordinates that are floats.
    Sample(Sample),
    /// `tex` with coordinates that are integers.
    Fetch(Sample),
    /// `tld4` of a channel.
    Gather(Sample, u8),
    /// `suld.b`: the access of the elements.
    SurfaceLoad(Access, Clamping),
    /// `sust.b`
    SurfaceStore(Access, Clamping),
    /// `sust.p`: the registers of the channels.
    SurfaceStoreFormatted(SlotList, Clamping),
    /// `sured`; coordinates count elements and not bytes for `sured.p`.
    SurfaceReduce(Atomic, Clamping, Units),
    /// `txq` and `suq`: the destination, and the level where one is asked about.
    Query(Query, Slot, Option<Slot>),
    /// `istypep`: the predicate.
    IsType(HandleType, Pred),
}

/// Where and how a texture is read.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The registers of the results: four channels, or two pairs of f16.
    pub results: SlotList,
    /// What the results are.
    pub result: ResultType,
    /// The predicate that says whether the texels were in memory; [`Pred::TRUE`] when there is none.
    pub resident: Pred,
    /// The level of detail.
    pub lod: SampleLod,
    /// Offsets in texels.
    pub offset: Option<[Slot; 3]>,
    /// The number of the sample, of which CUDA's textures have one (`.2dms`, `.a2dms`).
    pub number: Option<Slot>,
}

/// The registers of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultType {
    /// 32 bits as the texture gives them.
    Words,
    /// An f16 each.
    Halves,
    /// Two f16 each.
    Pairs,
}

/// The level of detail of a read.
#[derive(Clone, Copy, Debug)]
pub enum SampleLod {
    /// None said: the finest that the sampler allows.
    Finest,
    /// `.level`
    Level(Slot),
    /// `.grad`: steps right and down, by coordinate.
    Gradients([Slot; 3], [Slot; 3]),
}

/// What an access outside a surface does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clamping {
    /// `.trap`
    Trap,
    /// `.clamp`
    Clamp,
    /// `.zero`
    Zero,
}

/// What the x coordinate of a surface counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Units {
    /// `.b`
    Bytes,
    /// `.p`
    Elements,
}

/// What `txq` and `suq` ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the manual's words")]
pub enum Query {
    Width,
    Height,
    Depth,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoords,
    ForceUnnormalizedCoords,
    FilterMode,
    AddressMode(u8),
    ArraySize,
    NumMipmapLevels,
    NumSamples,
    MemoryLayout,
}

/// What `istypep` asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandleType {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
}
