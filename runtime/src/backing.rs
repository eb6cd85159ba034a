//! The memory that a program puts behind an array: tile by tile behind a sparse one, at once behind one that waits for it.
//!
//! An array's memory lies row by row, as that of any other array, so that whoever reads it knows nothing of tiles; what was
//! mapped is the truth, and an array has a copy of it. What lies behind nothing reads as zero. Copies change an array, and
//! kernels that write to surfaces: behind each, what it wrote goes to the tiles, and from them to all places where they are.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};

use cuda_abi::{Result, Status};
use sim_core::{Backend, Simulator};

use crate::lock;
use crate::shape::ArrayShape;
use crate::shape::array_flags::SPARSE;
use crate::tiles::{SparseProperties, TILE_BYTES};

/// Memory without an address that can be put behind arrays.
pub trait TileMemory: Send + Sync + std::fmt::Debug {
    /// Its number.
    fn id(&self) -> u64;

    /// Bytes.
    fn size(&self) -> u64;

    /// Reads from a place of it.
    ///
    /// # Errors
    /// Those of the operating system.
    fn read(&self, offset: u64, bytes: &mut [u8]) -> Result;

    /// Writes there.
    ///
    /// # Errors
    /// Those of the operating system.
    fn write(&self, offset: u64, bytes: &[u8]) -> Result;
}

/// A part of an array that has the bytes of a tile behind it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Part {
    /// A tile: level, layer, and which of them by z, y and x.
    Tile(u32, u32, [usize; 3]),
    /// Of levels that are mapped together: the layer, and which part of them.
    Page(u32, u32),
}

/// Memory behind a part: where in which.
#[derive(Clone, Debug)]
pub(crate) struct Portion {
    memory: Arc<dyn TileMemory>,
    offset: u64,
}

impl Portion {
    fn key(&self) -> (u64, u64) {
        (self.memory.id(), self.offset)
    }

    fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; TILE_BYTES as usize];
        self.memory.read(self.offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// Bytes side by side: where in the array's memory, where in the tile, how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    address: u64,
    offset: u64,
    bytes: u64,
}

impl Run {
    fn within(&self) -> std::ops::Range<usize> {
        self.offset as usize..(self.offset + self.bytes) as usize
    }
}

/// What a mapping is about, as a program says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Region {
    /// A box of a level.
    Level {
        /// The level.
        level: u32,
        /// The layer.
        layer: u32,
        /// The first element.
        offset: [u32; 3],
        /// Elements.
        extent: [u32; 3],
    },
    /// Levels that are mapped together.
    Tail {
        /// The layer.
        layer: u32,
        /// The first byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// A tile that a copy may have changed: what was there, and what is there now.
struct Settling {
    before: Vec<u8>,
    now: Vec<u8>,
    portion: Portion,
}

/// Parts of an array, and what comes behind each.
type Changes = Vec<(Part, Option<Portion>)>;

/// What is behind an array, or behind the levels of one.
#[derive(Debug)]
pub struct Backing {
    levels: Vec<(ArrayShape, u64)>,
    /// Its memory.
    base: u64,
    bytes: u64,
    /// What is said of it, if it is sparse; otherwise it waits for its memory.
    sparse: Option<SparseProperties>,
    /// Bytes of each group of levels that is mapped together, and the first of these.
    together: (u64, usize),
    behind: Mutex<BTreeMap<Part, Portion>>,
}

/// The arrays of a device that a program puts memory behind, by address.
#[derive(Debug, Default)]
pub(crate) struct Backings(Mutex<BTreeMap<u64, Weak<Backing>>>);

/// What the memory of an array that waits for it is called.
const WAITING: &str = "array that no memory was mapped to";

/// A change of what is behind an array, in the order of a stream.
#[derive(Debug)]
pub struct Mapping {
    backing: Arc<Backing>,
    changes: Changes,
}

impl Backing {
    /// Of an array, or of one of several levels, that has memory of the simulator.
    pub(crate) fn new(
        all: &Backings,
        simulator: &Simulator,
        levels: Vec<(ArrayShape, u64)>,
        is_mipmapped: bool,
        bytes: u64,
    ) -> Result<Arc<Self>> {
        let ((shape, base), count) = (levels[0], levels.len() as u32);
        let is_sparse = shape.flags & SPARSE != 0;
        let sparse = is_sparse.then(|| shape.sparse(is_mipmapped.then_some(count)));
        let together = match sparse {
            Some(said) if said.tail_bytes == 0 => (0, count as usize),
            Some(said) => (said.tail_bytes, said.first_of_tail as usize),
            None => (shape.needed(count), 0),
        };
        let new = Self { levels, base, bytes, sparse, together, behind: Mutex::default() };
        if is_sparse {
            simulator.fill(base, bytes, &[0])?;
        } else {
            simulator.free(base)?;
        }
        let new = Arc::new(new);
        lock(&all.0).insert(base, Arc::downgrade(&new));
        Ok(new)
    }

    /// What is said of it as a sparse array.
    pub fn sparse(&self) -> Option<SparseProperties> {
        self.sparse
    }

    /// Bytes that it waits for.
    pub fn needed(&self) -> Option<u64> {
        self.sparse.is_none().then_some(self.together.0)
    }

    /// Forgets what is behind it, and has memory of the simulator there again.
    ///
    /// # Errors
    /// The memory of this host is used up.
    pub(crate) fn end(&self, all: &Backings, simulator: &Simulator) -> Result {
        lock(&all.0).remove(&self.base);
        if self.waits() {
            simulator.alloc_again(self.base, self.bytes, WAITING)?;
        }
        lock(&self.behind).clear();
        Ok(())
    }

    /// Whether it waits for its memory.
    fn waits(&self) -> bool {
        self.sparse.is_none() && lock(&self.behind).is_empty()
    }

    /// Layers that have a tail of their own.
    fn tails(&self) -> u32 {
        match self.sparse {
            Some(said) if !said.one_tail => self.levels[0].0.layers() as u32,
            _ => 1,
        }
    }

    fn pages(&self) -> u32 {
        (self.together.0 / TILE_BYTES) as u32
    }

    /// All parts, in the order in which a copy goes through them.
    fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let alone = self.levels.iter().take(self.together.1).zip(0..);
        let tiles = alone.flat_map(|((shape, _), level)| {
            let [wide, high, deep] = shape.tile();
            let [columns, rows, slices] =
                [shape.width.div_ceil(wide), shape.height.div_ceil(high), shape.slices().div_ceil(deep)];
            (0..shape.layers() as u32).flat_map(move |layer| {
                (0..slices * rows * columns).map(move |at| {
                    Part::Tile(level, layer, [at / columns / rows, at / columns % rows, at % columns])
                })
            })
        });
        let pages = move |layer| (0..self.pages()).map(move |page| Part::Page(layer, page));
        tiles.chain((0..self.tails()).flat_map(pages))
    }

    /// Where a part lies.
    fn runs(&self, part: Part) -> Vec<Run> {
        match part {
            Part::Tile(level, layer, at) => self.runs_of_tile(level, layer, at),
            Part::Page(layer, page) => self.runs_of_page(layer, page),
        }
    }

    fn runs_of_tile(&self, level: u32, layer: u32, [z, y, x]: [usize; 3]) -> Vec<Run> {
        let (shape, base) = &self.levels[level as usize];
        let (side, size) = (shape.element.side(), shape.element.bytes());
        let [wide, high, deep] = shape.tile();
        let (wide, high) = (wide / side, high / side);
        let (columns, rows) = (shape.row() / size, shape.rows());
        let count = wide.min(columns - x * wide);
        let slices = z * deep..((z + 1) * deep).min(shape.slices());
        slices
            .flat_map(|slice| (y * high..((y + 1) * high).min(rows)).map(move |row| (slice, row)))
            .map(|(slice, row)| Run {
                address: base
                    + (((layer as usize + slice) * rows + row) * columns * size + x * wide * size) as u64,
                offset: (((slice - z * deep) * high + row - y * high) * wide * size) as u64,
                bytes: (count * size) as u64,
            })
            .collect()
    }

    fn runs_of_page(&self, layer: u32, page: u32) -> Vec<Run> {
        let wanted = u64::from(page) * TILE_BYTES..u64::from(page + 1) * TILE_BYTES;
        let (layer, tails) = (u64::from(layer), u64::from(self.tails()));
        let mut next = 0;
        let mut runs = Vec::new();
        for (shape, base) in &self.levels[self.together.1..] {
            let bytes = (shape.row() * shape.rows() * shape.depth.max(1)) as u64 / tails;
            let (start, end) = (next.max(wanted.start), (next + bytes).min(wanted.end));
            if start < end {
                let address = base + layer * bytes + (start - next);
                runs.push(Run { address, offset: start - wanted.start, bytes: end - start });
            }
            next += bytes;
        }
        runs
    }

    /// What a region is to become, if it is one of this array.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is no region of it, or not in the memory.
    pub fn map(
        self: &Arc<Self>,
        region: Region,
        behind: Option<(Arc<dyn TileMemory>, u64)>,
    ) -> Result<Mapping> {
        let parts = self.parts_of(region, behind.is_none()).ok_or(Status::INVALID_VALUE)?;
        if let Some((memory, offset)) = &behind {
            let bytes = parts.len() as u64 * TILE_BYTES;
            let inside = offset.checked_add(bytes).is_some_and(|end| end <= memory.size());
            if !offset.is_multiple_of(TILE_BYTES) || !inside {
                return Err(Status::INVALID_VALUE);
            }
        }
        let portion = |number: u64| {
            let (memory, offset) = behind.as_ref()?;
            Some(Portion { memory: memory.clone(), offset: offset + number * TILE_BYTES })
        };
        let changes = parts.into_iter().zip(0..).map(|(part, number)| (part, portion(number))).collect();
        Ok(Mapping { backing: self.clone(), changes })
    }

    /// The parts of a region. What waits for its memory gets all of it at once.
    fn parts_of(&self, region: Region, unmaps: bool) -> Option<Vec<Part>> {
        let pages = |layer| (0..self.pages()).map(move |page| Part::Page(layer, page)).collect();
        let (shape, _) = self.levels[0];
        match region {
            Region::Tail { layer, offset, bytes } => {
                let fits = layer < self.tails() && offset == 0 && bytes == self.together.0 && bytes > 0;
                fits.then(|| pages(layer))
            }
            Region::Level { level, layer, offset, extent } if self.sparse.is_none() => {
                let all = [shape.width, shape.height.max(1), shape.depth.max(1)].map(|extent| extent as u32);
                let fits = extent == [0; 3] || unmaps && extent == all;
                (fits && level == 0 && layer == 0 && offset == [0; 3]).then(|| pages(0))
            }
            Region::Level { level, layer, offset, extent } => {
                let (shape, _) = self.levels.iter().take(self.together.1).nth(level as usize)?;
                if layer as usize >= shape.layers() {
                    return None;
                }
                let tile = shape.tile();
                let whole = [shape.width, shape.height, shape.slices()];
                let mut ranges = [0..0, 0..0, 0..0];
                for axis in 0..3 {
                    let (start, count) = (offset[axis] as usize, extent[axis] as usize);
                    let end = start.checked_add(count)?;
                    let ends = end == whole[axis] || end < whole[axis] && end.is_multiple_of(tile[axis]);
                    if count == 0 || !start.is_multiple_of(tile[axis]) || !ends {
                        return None;
                    }
                    ranges[axis] = start / tile[axis]..end.div_ceil(tile[axis]);
                }
                let [x, y, z] = ranges;
                let rows = z.flat_map(|z| y.clone().map(move |y| (z, y)));
                Some(
                    rows.flat_map(|(z, y)| x.clone().map(move |x| Part::Tile(level, layer, [z, y, x])))
                        .collect(),
                )
            }
        }
    }

    /// Has the array's memory be what is behind a part.
    fn load(&self, simulator: &Simulator, part: Part, portion: Option<&Portion>) -> Result {
        let bytes = portion.map(Portion::read).transpose()?;
        for run in self.runs(part) {
            match &bytes {
                Some(bytes) => simulator.write(run.address, &bytes[run.within()])?,
                None => simulator.fill(run.address, run.bytes, &[0])?,
            }
        }
        Ok(())
    }

    /// The array's bytes of a part, in the place of those of its tile that they are.
    fn store(&self, simulator: &Simulator, part: Part, tile: &mut [u8]) -> Result {
        for run in self.runs(part) {
            simulator.read(run.address, &mut tile[run.within()])?;
        }
        Ok(())
    }

    fn is_touched(&self, part: Part, touched: &std::ops::Range<u64>) -> bool {
        self.runs(part).iter().any(|run| run.address < touched.end && touched.start < run.address + run.bytes)
    }

    /// What was written among `touched`, tile by tile.
    fn collect(
        &self,
        simulator: &Simulator,
        touched: &std::ops::Range<u64>,
        tiles: &mut HashMap<(u64, u64), Settling>,
    ) -> Result {
        let behind = lock(&self.behind).clone();
        for part in self.parts().filter(|&part| self.is_touched(part, touched)) {
            let Some(portion) = behind.get(&part) else {
                self.load(simulator, part, None)?;
                continue;
            };
            let tile = match tiles.entry(portion.key()) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(place) => {
                    let before = portion.read()?;
                    place.insert(Settling { now: before.clone(), before, portion: portion.clone() })
                }
            };
            let mut here = tile.before.clone();
            self.store(simulator, part, &mut here)?;
            // Of a tile at several places the one that was written last counts.
            for ((here, before), now) in here.iter().zip(&tile.before).zip(&mut tile.now) {
                if here != before {
                    *now = *here;
                }
            }
        }
        Ok(())
    }
}

/// Brings what tiles have become to their memory, and from there to all places where they are.
fn spread(
    all: &BTreeMap<u64, Weak<Backing>>,
    simulator: &Simulator,
    mut tiles: HashMap<(u64, u64), Settling>,
) -> Result {
    // What has stayed as it was is right everywhere.
    tiles.retain(|_, tile| tile.before != tile.now);
    for Settling { now, portion, .. } in tiles.values() {
        portion.memory.write(portion.offset, now)?;
    }
    for backing in all.values().filter_map(Weak::upgrade).filter(|backing| !backing.waits()) {
        let behind = lock(&backing.behind).clone();
        for (part, portion) in behind.iter().filter(|(_, portion)| tiles.contains_key(&portion.key())) {
            backing.load(simulator, *part, Some(portion))?;
        }
    }
    Ok(())
}

impl Mapping {
    /// Changes what is behind the array.
    ///
    /// # Errors
    /// The memory of this host is used up.
    pub(crate) fn execute(&self, all: &Backings, simulator: &Simulator) -> Result {
        let _alone = lock(&all.0);
        let Self { backing, changes } = self;
        let mut behind = lock(&backing.behind);
        let comes = changes.iter().any(|(_, portion)| portion.is_some());
        if backing.sparse.is_none() {
            if !behind.is_empty() {
                for (&part, portion) in &*behind {
                    let mut tile = portion.read()?;
                    backing.store(simulator, part, &mut tile)?;
                    portion.memory.write(portion.offset, &tile)?;
                }
                behind.clear();
                if !comes {
                    simulator.free(backing.base)?;
                }
            } else if comes {
                simulator.alloc_again(backing.base, backing.bytes, WAITING)?;
            } else {
                return Ok(());
            }
        }
        for (part, portion) in changes {
            match portion {
                Some(portion) => {
                    behind.insert(*part, portion.clone());
                }
                None => {
                    behind.remove(part);
                }
            }
            if comes || backing.sparse.is_some() {
                backing.load(simulator, *part, portion.as_ref())?;
            }
        }
        Ok(())
    }
}

/// The array that an address lies in.
fn at(all: &BTreeMap<u64, Weak<Backing>>, address: u64) -> Option<Arc<Backing>> {
    let (_, found) = all.range(..=address).next_back()?;
    found.upgrade().filter(|found| address - found.base < found.bytes)
}

impl Backings {
    /// Whether an address is in an array that waits for its memory.
    pub(crate) fn waits(&self, address: u64) -> bool {
        let all = lock(&self.0);
        at(&all, address).is_some_and(|found| found.waits())
    }

    /// Whether there are none.
    pub(crate) fn are_none(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// A kernel may have written to any of them.
    ///
    /// # Errors
    /// The memory of this host is used up.
    pub(crate) fn settle_all(&self, simulator: &Simulator) -> Result {
        let all = lock(&self.0);
        let mut tiles = HashMap::new();
        for found in all.values().filter_map(Weak::upgrade).filter(|found| !found.waits()) {
            found.collect(simulator, &(found.base..found.base + found.bytes), &mut tiles)?;
        }
        spread(&all, simulator, tiles)
    }

    /// A copy has written among bytes from an address on.
    ///
    /// # Errors
    /// The memory of this host is used up.
    pub(crate) fn settle(&self, simulator: &Simulator, address: u64, bytes: u64) -> Result {
        let all = lock(&self.0);
        match at(&all, address).filter(|found| !found.waits()) {
            Some(found) => {
                let mut tiles = HashMap::new();
                found.collect(simulator, &(address..address.saturating_add(bytes)), &mut tiles)?;
                spread(&all, simulator, tiles)
            }
            None => Ok(()),
        }
    }
}
