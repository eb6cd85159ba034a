//! The simulator as a device: modules, memory, launches.

mod tree;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ptx_frontend::{Component, FuncId, Linkage, Module, SpecialRegister, StateSpace, Symbol, VarId};
use rustc_hash::FxHashMap;

use crate::backend::{Backend, ModuleId};
use crate::code::{Code, Constant};
use crate::config::{DeviceConfig, check_cluster, check_declared, declared_cluster};
use crate::decode::{Endless, Patience, decode_for};
use crate::engine;
use crate::error::{Error, LaunchError};
use crate::finding::{Finding, FindingKind};
use crate::launch::{DevicePtr, Dim3, Launch, LaunchReport, Outcome, Stats};
use crate::machine::grid::{Grid, constant_rows};
use crate::machine::heap::DeviceHeap;
use crate::machine::kept::{Blocks, Kernel};
use crate::machine::launches::{Buffers, Kernels, Launches, Spare};
use crate::machine::trail::Lineage;
use crate::machine::warp;
use crate::memory::{Allocation, AllocationKind, GlobalMemory, host};
use crate::observer::{NoTools, Tools};
use crate::options::{AsyncPolicy, Clock, RunOptions};
use crate::session::{self, Session};
use crate::texture::{Image, Object, Tables, Texture};
use crate::tools::LaunchShape;
use semantics::lanes::SimdLevel;
use semantics::window;
use semantics::window::function_address;

/// The simulated device.
///
/// ```
/// use sim_core::{Backend, DeviceConfig, Simulator};
/// let simulator = Simulator::new(DeviceConfig::h200());
/// let buffer = simulator.alloc(4, "x").unwrap();
/// simulator.write(buffer, &[1, 2, 3, 4]).unwrap();
/// let mut bytes = [0; 4];
/// simulator.read(buffer, &mut bytes).unwrap();
/// assert_eq!(bytes, [1, 2, 3, 4]);
/// ```
#[derive(Debug)]
pub struct Simulator {
    config: DeviceConfig,
    level: SimdLevel,
    memory: Arc<GlobalMemory>,
    objects: Tables,
    heap: DeviceHeap,
    blocks: Blocks,
    /// Memory for parameters of launches by kernels.
    spare: Spare,
    modules: Mutex<FxHashMap<ModuleId, Arc<Loaded>>>,
    next_module: std::sync::atomic::AtomicU32,
    /// Whether there was a cooperative launch.
    cooperated: AtomicBool,
}

/// A module with its variables placed.
#[derive(Debug)]
struct Loaded {
    module: Arc<Module>,
    /// Addresses of `.global` and `.const` variables.
    addresses: FxHashMap<VarId, u64>,
    kernels: Mutex<FxHashMap<FuncId, Arc<Kernel>>>,
    /// Handles that references are bound to.
    references: Mutex<FxHashMap<VarId, u64>>,
}

impl Simulator {
    /// A device with empty memory.
    pub fn new(config: DeviceConfig) -> Simulator {
        Self::with_level(config, SimdLevel::detect())
    }

    /// The same, with lane loops of a certain SIMD level (at most what the CPU has).
    pub fn with_level(config: DeviceConfig, level: SimdLevel) -> Simulator {
        let addresses = config.global_addresses.clone();
        let memory = GlobalMemory::new(config.global_memory, addresses, config.track_initialization);
        let memory = Arc::new(memory);
        Simulator {
            config,
            level: level.min(SimdLevel::detect()),
            memory,
            objects: Tables::default(),
            heap: DeviceHeap::default(),
            blocks: Blocks::default(),
            spare: Spare::default(),
            modules: Mutex::default(),
            next_module: 0.into(),
            cooperated: AtomicBool::new(false),
        }
    }

    /// What device it is.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// Bytes of global memory in all and in use.
    pub fn memory_usage(&self) -> (u64, u64) {
        self.memory.usage()
    }

    /// Changes the size of the heap that kernels allocate from, in bytes; false if one did already.
    pub fn set_heap(&self, bytes: u64) -> bool {
        self.heap.resize(bytes)
    }

    /// Makes memory of the host accessible to kernels at its own address, until it is given to
    /// [`Backend::free`]. It does not count as device memory.
    ///
    /// # Errors
    /// The address is no multiple of four, lies where other state spaces lie, or overlaps an allocation.
    ///
    /// # Safety
    /// The bytes, rounded up to words, stay readable and writable until they were freed here and no
    /// launch runs that began before.
    pub unsafe fn adopt(
        &self,
        start: std::ptr::NonNull<u8>,
        bytes: u64,
        label: &str,
    ) -> Result<DevicePtr, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.memory.adopt(start, bytes, label) }
    }

    /// Which addresses of the allocation that begins at `base` kernels may only read.
    pub fn read_only(&self, base: DevicePtr) -> Vec<std::ops::Range<u64>> {
        self.memory.read_only(base)
    }

    /// Whether some memory could ever only be read.
    pub fn has_read_only(&self) -> bool {
        self.memory.has_read_only()
    }

    /// Whether no byte of a range is one that kernels may only read.
    pub fn allows_copies(&self, address: DevicePtr, bytes: u64) -> bool {
        self.memory.allows_copies(address, bytes)
    }

    /// Allocates at an address at which an allocation was that is freed.
    ///
    /// # Errors
    /// As [`Backend::alloc`]; something is there.
    pub fn alloc_again(&self, base: DevicePtr, bytes: u64, label: &str) -> Result<(), Error> {
        self.memory.alloc_again(base, bytes, label)
    }

    /// Lets kernels of another device access an allocation of this one at its address, until it is freed or hidden.
    /// Launches on both have to be such that others access the memory ([`RunOptions::alone`]).
    pub fn share(&self, base: DevicePtr, with: &Simulator) {
        self.memory.share(base, &with.memory);
    }

    /// Has `bytes` bytes at an address stand for memory at each of `replicas`, which kernels access there by `multimem`
    /// instructions alone: they write all of them if that is allowed, and read them combined. No replicas end it.
    pub fn set_multicast(&self, base: DevicePtr, bytes: u64, replicas: &[DevicePtr], writable: bool) {
        self.memory.set_multicast(base, bytes, replicas, writable);
    }

    /// Ends [`Simulator::share`].
    pub fn hide(&self, base: DevicePtr, from: &Simulator) {
        self.memory.hide(base, &from.memory);
    }

    /// Sets what is asked about addresses that this device does not know: whose they are, as a part of a sentence
    /// and a note. Accesses to them are [`FindingKind::PeerAccess`].
    pub fn set_elsewhere(&self, whose: impl Fn(u64) -> Option<(String, String)> + Send + Sync + 'static) {
        self.memory.set_elsewhere(whose);
    }

    /// The allocation that holds an address, for messages.
    pub fn describe(&self, address: DevicePtr) -> Option<String> {
        self.memory.snapshot().table.find(address, 1).map(Allocation::describe)
    }

    /// Moves an allocation into a file, through which other processes have it from now on. No launch runs meanwhile.
    ///
    /// # Errors
    /// No allocation begins there, or the file is too short.
    pub fn move_into(&self, base: DevicePtr, file: &std::fs::File) -> Result<(), Error> {
        self.memory.move_into(base, file)
    }

    /// Allocates what another process has in a file. It does not count as memory of this device.
    ///
    /// # Errors
    /// The file is too short or cannot be mapped; there are no addresses left.
    pub fn alloc_of(&self, file: &std::fs::File, bytes: u64, label: &str) -> Result<DevicePtr, Error> {
        self.memory.alloc_of(file, bytes, label)
    }

    fn modules(&self) -> MutexGuard<'_, FxHashMap<ModuleId, Arc<Loaded>>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded(&self, id: ModuleId) -> Result<Arc<Loaded>, Error> {
        self.modules()
            .get(&id)
            .cloned()
            .ok_or_else(|| Error::Backend(format!("module {} is not loaded", id.0)))
    }

    /// The decoded kernel, decoded at its first launch.
    pub fn code(&self, module: ModuleId, kernel: &str) -> Result<Arc<Code>, Error> {
        let loaded = self.loaded(module)?;
        let Ok(kernel) = self.kernel(&loaded, kernel, &Endless)?;
        Ok(kernel.code.clone())
    }

    /// The decoded kernel, or why that was not waited for.
    fn kernel<P: Patience>(
        &self,
        loaded: &Loaded,
        kernel: &str,
        patience: &P,
    ) -> Result<Result<Arc<Kernel>, P::Ended>, Error> {
        let id = loaded.module.kernel(kernel).ok_or_else(|| Error::NoSuchKernel {
            name: kernel.into(),
            candidates: loaded.module.kernels().map(|(_, kernel)| kernel.name.to_string()).collect(),
        })?;
        let kernels = || loaded.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kernels().get(&id) {
            return Ok(Ok(known.clone()));
        }
        // Not under the lock: launches of other kernels do not wait for this one, nor without end.
        let code = decode_for(&loaded.module, id, self.level, self.config.compiler(), patience);
        Ok(code.map(|code| kernels().entry(id).or_insert_with(|| Arc::new(Kernel::new(code))).clone()))
    }

    /// [`Backend::load`] with variables that have their place already, in memory of [`Simulator::adopt`].
    ///
    /// # Errors
    /// Those of [`Backend::load`].
    pub fn load_placed(&self, module: Arc<Module>, placed: &[(VarId, DevicePtr)]) -> Result<ModuleId, Error> {
        self.load_with(module, placed, true)
    }

    /// The same with variables that have their values, too: another device's module has them already.
    ///
    /// # Errors
    /// Those of [`Backend::load`].
    pub fn load_shared(&self, module: Arc<Module>, placed: &[(VarId, DevicePtr)]) -> Result<ModuleId, Error> {
        self.load_with(module, placed, false)
    }

    fn load_with(
        &self,
        module: Arc<Module>,
        placed: &[(VarId, DevicePtr)],
        initialize_placed: bool,
    ) -> Result<ModuleId, Error> {
        let addresses = self.place_variables(&module, placed, initialize_placed)?;
        let id = ModuleId(self.next_module.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        self.modules().insert(
            id,
            Arc::new(Loaded { module, addresses, kernels: Mutex::default(), references: Mutex::default() }),
        );
        Ok(id)
    }

    /// The handle of a new texture, as kernels take it: launches from now on know it.
    pub fn add_texture(&self, texture: Texture) -> u64 {
        self.objects.add(Object::Texture(Arc::new(texture)))
    }

    /// The handle of a new surface.
    pub fn add_surface(&self, image: Image) -> u64 {
        self.objects.add(Object::Surface(Arc::new(image)))
    }

    /// The textures and surfaces that there are, with their handles.
    pub fn objects(&self) -> Vec<(u64, Object)> {
        self.objects.list()
    }

    /// The references of a module that are bound, with the handles.
    ///
    /// # Errors
    /// The module is not loaded.
    pub fn bound_references(&self, module: ModuleId) -> Result<Vec<(VarId, u64)>, Error> {
        let loaded = self.loaded(module)?;
        let references = loaded.references.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<(VarId, u64)> = references.iter().map(|(&id, &handle)| (id, handle)).collect();
        list.sort();
        Ok(list)
    }

    /// Copies within global memory. Where both ranges overlap, in ascending order.
    ///
    /// # Errors
    /// One of the ranges is not inside an allocation.
    pub fn copy(&self, to: DevicePtr, from: DevicePtr, bytes: u64) -> Result<(), Error> {
        let source = |allocation: &Allocation, at| (allocation.cells.clone(), at);
        let (source, start) = self.memory.with_range(from, bytes, "read", source)?;
        self.memory.with_range(to, bytes, "write", |allocation, at| {
            in_pieces(bytes, |offset, piece| {
                if let Some(written) = &allocation.written {
                    written.set(at + offset, piece);
                }
                allocation.cells.copy(at + offset, &source, start + offset, piece);
            })
        })?
    }

    fn place_variables(
        &self,
        module: &Module,
        placed: &[(VarId, DevicePtr)],
        initialize_placed: bool,
    ) -> Result<FxHashMap<VarId, u64>, Error> {
        let mut addresses = FxHashMap::default();
        let spaces = [StateSpace::Global, StateSpace::Const];
        for (at, variable) in module.variables.iter().enumerate() {
            if !spaces.contains(&variable.space) {
                continue;
            }
            if variable.linkage == Linkage::Extern {
                return Err(Error::UndefinedSymbol(variable.name.to_string()));
            }
            let kind = if variable.space == StateSpace::Const {
                AllocationKind::Const
            } else {
                AllocationKind::Global
            };
            let id = VarId(at as u32);
            let address = match placed.iter().find(|(other, _)| *other == id) {
                Some(&(_, address)) => address,
                None => self.memory.alloc(variable.size, &variable.name, kind)?,
            };
            addresses.insert(id, address);
        }
        let fresh = |id: VarId| initialize_placed || !placed.iter().any(|(other, _)| *other == id);
        for (&id, &address) in addresses.iter().filter(|(id, _)| fresh(**id)) {
            let variable = &module.variables[id.index()];
            let Some(init) = &variable.initializer else { continue };
            let mut bytes = init.bytes.clone();
            for relocation in &init.relocations {
                let target = match relocation.target {
                    Symbol::Function(id) => function_address(id),
                    Symbol::Variable(id) => match addresses.get(&id) {
                        Some(&address) => address,
                        // Shared and local variables have no address before a launch.
                        None => {
                            return Err(Error::Unsupported(format!(
                                "the address of `{}` in an initialiser",
                                module.variables[id.index()].name
                            )));
                        }
                    },
                };
                let value = target.wrapping_add(relocation.addend as u64);
                let value = relocation.byte.map_or(value, |byte| value >> (8 * byte) & 0xff);
                let end = relocation.offset as usize + relocation.width as usize;
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[relocation.offset as usize..end]
                    .copy_from_slice(&value.to_le_bytes()[..relocation.width as usize]);
            }
            self.write(address, &bytes)?;
        }
        Ok(addresses)
    }

    fn check(&self, code: &Code, launch: &Launch, registers: Option<u32>) -> Result<(Dim3, u64), Error> {
        let function = &code.module.functions[code.functions[0].id.index()];
        self.config.check_extents(launch.grid, launch.block)?;
        check_declared(function, launch.block)?;
        let shared =
            u64::from(code.shared.static_end - window::SHARED_START) + u64::from(launch.shared_bytes);
        let most = u64::from(self.config.shared_per_block);
        if shared > most {
            return Err(LaunchError::Shared { shared, dynamic: launch.shared_bytes, most }.into());
        }
        let kernel = &code.functions[0];
        let local = u64::from(kernel.local_start()) + u64::from(kernel.local_bytes);
        let most = u64::from(warp::MAX_LOCAL_BYTES);
        if local > most {
            // Sizes are cut where they could not be counted.
            let bytes = (kernel.local_bytes < u32::MAX - 15).then_some(local);
            return Err(LaunchError::Local { kernel: function.name.to_string(), bytes, most }.into());
        }
        let (given, wanted) = (launch.params.len() as u64, function.param_bytes);
        if given != wanted {
            return Err(LaunchError::Params { kernel: function.name.to_string(), given, wanted }.into());
        }
        let cluster = declared_cluster(function, launch.cluster)?.unwrap_or(Dim3::ONE);
        check_cluster(launch.grid, cluster)?;
        let (blocks, most) = (cluster.count(), self.config.largest_cluster);
        if blocks > u128::from(most) {
            return Err(LaunchError::LargeCluster { cluster, most }.into());
        }
        let threads = launch.block.count() as u32;
        let registers = registers.unwrap_or(code.registers).min(255);
        let blocks = self.config.blocks_per_sm(threads, registers, shared as u32);
        let resident = self.config.check_residency(blocks, launch.grid, launch.cooperative)?;
        Ok((cluster, resident))
    }

    /// Memory in which the blocks of a cooperative launch synchronise, for kernels that ask for it: its
    /// size and a barrier word (the layout that cooperative groups expect of the driver).
    fn grid_workspace(&self, code: &Code, launch: &Launch) -> Result<Option<u64>, Error> {
        const BYTES: u64 = 64;
        let asks = code
            .constants
            .iter()
            .any(|constant| matches!(constant, Constant::Special(SpecialRegister::Envreg(1 | 2), _)));
        // A device has it in all launches once there was a cooperative one.
        if launch.cooperative {
            self.cooperated.store(true, Ordering::Relaxed);
        } else if !self.cooperated.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if !asks {
            return Ok(None);
        }
        let address = self.alloc(BYTES, "grid workspace")?;
        self.write(address, &[0; BYTES as usize])?;
        self.write(address, &(BYTES as u32).to_le_bytes())?;
        Ok(Some(address))
    }

    /// The value of a special register that is the same for a whole launch.
    fn special(
        &self,
        code: &Code,
        launch: &Launch,
        cluster: Dim3,
        special: SpecialRegister,
        options: &RunOptions,
    ) -> u64 {
        use SpecialRegister as R;
        let part = |dim: Dim3, component: Component| u64::from(dim.component(component));
        let grid = launch.grid;
        match special {
            R::Ntid(c) => part(launch.block, c),
            R::Nctaid(c) => part(grid, c),
            R::Nclusterid(c) => {
                part(Dim3::new(grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z), c)
            }
            R::ClusterNctaid(c) => part(cluster, c),
            R::ClusterNctarank => cluster.count() as u64,
            R::IsExplicitCluster => u64::from(launch.cluster.is_some() || cluster != Dim3::ONE),
            R::Nwarpid => u64::from(self.config.threads_per_multiprocessor / 32),
            R::Nsmid => u64::from(self.config.multiprocessors),
            R::Gridid => 1,
            R::CurrentGraphExec => options.around.as_ref().map_or(0, |around| around.current_graph()),
            R::TotalSmemSize => {
                // Shared memory is given out in units of 128 bytes.
                let bytes = code.shared.static_end - window::SHARED_START + launch.shared_bytes;
                u64::from(bytes).next_multiple_of(128)
            }
            R::AggrSmemSize => u64::from(code.shared.static_end + launch.shared_bytes),
            R::DynamicSmemSize => u64::from(launch.shared_bytes),
            R::ReservedSmemOffsetEnd => u64::from(window::SHARED_RESERVED_END),
            R::ReservedSmemOffsetCap => u64::from(window::SHARED_START),
            _ => 0,
        }
    }

    /// Runs a launch as [`Backend::launch`] does, and leaves it to `direct` how far at a time: it gets each grid, what kernels
    /// launch too, before its first instruction, and may run it, have it stand still and go back ([`Session`]). What it leaves
    /// of a grid runs then. Nobody else uses the simulator meanwhile.
    ///
    /// ```
    /// use sim_core::{Backend, DeviceConfig, Dim3, Launch, RunOptions, Simulator, Stop, Until};
    /// let text = ".version 8.0\n.target sm_90\n.address_size 64
    ///     .visible .entry count(.param .u64 p) {
    ///         .reg .b64 %a; .reg .b32 %x; .reg .pred %p;
    ///         ld.param.u64 %a, [p];
    ///     again:
    ///         atom.global.add.u32 %x, [%a], 1;
    ///         setp.lt.u32 %p, %x, 99;
    ///         @%p bra again;
    ///         ret;
    ///     }";
    /// let source = ptx_frontend::Source::new("count.ptx", text.into());
    /// let module = ptx_frontend::parse(source).module.unwrap();
    /// let simulator = Simulator::new(DeviceConfig::h200());
    /// let id = simulator.load(module.into()).unwrap();
    /// let counter = simulator.alloc(4, "counter").unwrap();
    /// let launch = Launch {
    ///     kernel: "count".into(),
    ///     grid: Dim3::from(1),
    ///     cluster: None,
    ///     block: Dim3::from(1),
    ///     shared_bytes: 0,
    ///     params: counter.to_le_bytes().to_vec(),
    ///     cooperative: false,
    /// };
    /// let value = || {
    ///     let mut bytes = [0; 4];
    ///     simulator.read(counter, &mut bytes).unwrap();
    ///     u32::from_le_bytes(bytes)
    /// };
    /// let report = simulator.launch_stepwise(id, &launch, &RunOptions::default(), &mut |session| {
    ///     assert_eq!(session.run(Until::Instructions(60)), Stop::Paused);
    ///     let (early, counted) = (session.checkpoint(), value());
    ///     session.run(Until::Instructions(90));
    ///     assert!(value() > counted && session.checkpoint() != early);
    ///     session.restore(&early);
    ///     assert_eq!((value(), session.instructions()), (counted, early.instructions()));
    ///     assert_eq!(session.run(Until::End), Stop::Ended);
    /// });
    /// assert!(report.unwrap().findings.is_empty());
    /// assert_eq!(value(), 100);
    /// ```
    ///
    /// # Errors
    /// Those of [`Backend::launch`]; [`RunOptions::alone`] is not set.
    pub fn launch_stepwise(
        &self,
        module: ModuleId,
        launch: &Launch,
        options: &RunOptions,
        direct: &mut dyn FnMut(&mut Session<'_, '_>),
    ) -> Result<LaunchReport, Error> {
        if !options.alone {
            return Err(Error::Unsupported("a launch step by step beside others".into()));
        }
        self.launch_directed(module, launch, &RunOptions { jobs: 1, ..options.clone() }, Some(direct))
    }

    /// Runs a launch and what it launches, as `direct` says if it does.
    fn launch_directed(
        &self,
        module: ModuleId,
        launch: &Launch,
        options: &RunOptions,
        mut direct: Option<Director<'_>>,
    ) -> Result<LaunchReport, Error> {
        let clock = Clock::new(options);
        let loaded = self.loaded(module)?;
        let kernel = match self.kernel(&loaded, &launch.kernel, &clock)? {
            Ok(kernel) => kernel,
            Err(why) => return Ok(not_decoded(launch, why)),
        };
        let (kernels, buffers) =
            (ModuleKernels { simulator: self, loaded: &loaded }, Buffers::new(&self.spare));
        let above = Lineage::new();
        let races = options.tools.iter().any(|tool| tool.is_ordered());
        let first = Launches::new(&kernels, &buffers, &above, races);
        let first = self.run_grid(&loaded, &kernel, launch, options, first, clock.began, &mut direct)?;
        let report = tree::run(first, (options.max_findings, options.apart), |queued, so_far| {
            let child = &queued.launch;
            // Of the limits on all of it, what is left.
            let most = options.max_instructions;
            let left = most.map(|most| most.saturating_sub(so_far.stats.warp_instructions));
            let rest;
            let options = match left {
                None => options,
                Some(_) => {
                    rest = RunOptions { max_instructions: left, ..options.clone() };
                    &rest
                }
            };
            if let Some(why) = options.ended(clock.began) {
                return Ok((not_decoded(child, why), Vec::new()));
            }
            let Ok(kernel) = self.kernel(&loaded, &child.kernel, &Endless)?;
            let launches = Launches::new(&kernels, &buffers, &queued.lineage, races);
            self.run_grid(&loaded, &kernel, child, options, launches, clock.began, &mut direct)
        });
        buffers.free(&self.memory);
        Ok(report)
    }

    /// Runs one grid; what it launched is for the caller to run.
    fn run_grid(
        &self,
        loaded: &Loaded,
        kernel: &Kernel,
        launch: &Launch,
        options: &RunOptions,
        launches: Launches<'_>,
        began: Instant,
        direct: &mut Option<Director<'_>>,
    ) -> Result<tree::Ran, Error> {
        let code = &*kernel.code;
        let (cluster, resident) = self.check(code, launch, options.known_registers(&launch.kernel))?;
        let tracks = options.tools.iter().any(|tool| tool.tracks_initialization());
        if tracks && !self.config.track_initialization {
            return Err(Error::Unsupported(
                "initcheck on a simulator that was made without `track_initialization`".into(),
            ));
        }
        let workspace = self.grid_workspace(code, launch)?;
        let constants = constant_rows(code, |constant| match constant {
            // The driver's workspace for grid-wide synchronisation: high and low half of its address.
            Constant::Special(SpecialRegister::Envreg(1), _) => u128::from(workspace.unwrap_or(0) >> 32),
            Constant::Special(SpecialRegister::Envreg(2), _) => u128::from(workspace.unwrap_or(0) as u32),
            Constant::Bits(bits, _) => bits,
            Constant::Param(offset, size, signed, _) => parameter(&launch.params, offset, size, signed),
            Constant::Special(special, _) => {
                u128::from(self.special(code, launch, cluster, special, options))
            }
            Constant::Variable(id, offset, _) => {
                u128::from(loaded.addresses.get(&id).map_or(0, |address| address.wrapping_add(offset as u64)))
            }
            Constant::Reference(id) => {
                let references = loaded.references.lock().unwrap_or_else(PoisonError::into_inner);
                references.get(&id).map_or(0, |&handle| handle.into())
            }
            Constant::Function(id, _) => u128::from(function_address(id)),
        });
        let mut constants = constants;
        fill_lane_constants(code, &mut constants);
        let grid = Grid::new(
            kernel,
            &self.blocks,
            constants,
            &self.memory,
            self.objects.capture(),
            &self.heap,
            &self.config,
            options,
            launch,
            &launches,
            cluster,
            resident,
            self.level,
            began,
        );
        let tools = !options.tools.is_empty()
            || options.count_memory
            || options.weak
            || options.asynchrony != AsyncPolicy::Eager
            || direct.is_some();
        let report = if tools {
            let (grid_of, block, seed) = (launch.grid, launch.block, options.seed);
            let instructions = code.insts.len() as u32;
            let asynchronous = code.issues_asynchronously();
            let shape = LaunchShape { grid: grid_of, block, cluster, seed, instructions, asynchronous };
            match direct {
                Some(direct) => session::run(grid, Tools::new(options, &shape), direct),
                None => engine::run(grid, || Tools::new(options, &shape)),
            }
        } else {
            engine::run(grid, || NoTools)
        };
        if let Some(workspace) = workspace {
            self.memory.free(workspace)?;
        }
        Ok((report, launches.finish(&kernel.code)))
    }
}

/// Directs a launch, one grid of it after the other.
type Director<'a> = &'a mut dyn FnMut(&mut Session<'_, '_>);

/// The kernels of a module, for launches by kernels.
struct ModuleKernels<'a> {
    simulator: &'a Simulator,
    loaded: &'a Loaded,
}

impl Kernels for ModuleKernels<'_> {
    fn find(&self, address: u64) -> Option<(FuncId, u64)> {
        let mut kernels = self.loaded.module.kernels();
        let (id, kernel) = kernels.find(|(id, _)| function_address(*id) == address)?;
        Some((id, kernel.param_bytes))
    }

    fn code(&self, kernel: FuncId) -> Result<Arc<Code>, Error> {
        let name = &self.loaded.module.functions[kernel.index()].name;
        let Ok(kernel) = self.simulator.kernel(self.loaded, name, &Endless)?;
        Ok(kernel.code.clone())
    }

    fn check(&self, code: &Code, launch: &Launch) -> Result<(), Error> {
        self.simulator.check(code, launch, None).map(|_| ())
    }
}

impl Backend for Simulator {
    fn name(&self) -> String {
        "simulator".into()
    }

    fn load(&self, module: Arc<Module>) -> Result<ModuleId, Error> {
        self.load_placed(module, &[])
    }

    /// A write to the rest of the allocation is none of its concern; one there is a fault.
    fn set_read_only(&self, base: DevicePtr, addresses: Vec<std::ops::Range<u64>>) {
        self.memory.set_read_only(base, addresses);
    }

    fn unload(&self, module: ModuleId) -> Result<(), Error> {
        let loaded = self.loaded(module)?;
        self.modules().remove(&module);
        for &address in loaded.addresses.values() {
            self.memory.free(address)?;
        }
        Ok(())
    }

    fn variable(&self, module: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error> {
        let loaded = self.loaded(module)?;
        let unknown = || Error::NoSuchVariable(name.into());
        let Some(Symbol::Variable(id)) = loaded.module.symbol(name) else { return Err(unknown()) };
        let address = *loaded.addresses.get(&id).ok_or_else(unknown)?;
        Ok((address, loaded.module.variables[id.index()].size))
    }

    fn alloc(&self, bytes: u64, label: &str) -> Result<DevicePtr, Error> {
        self.memory.alloc(bytes, label, AllocationKind::Buffer)
    }

    fn place_object(&self, object: Object, handle: Option<u64>) -> Result<u64, Error> {
        match handle {
            None => Ok(self.objects.add(object)),
            Some(handle) if self.objects.add_as(handle, object) => Ok(handle),
            Some(handle) => Err(Error::Backend(format!("the handle {handle:#x} is taken, or none"))),
        }
    }

    fn remove_object(&self, handle: u64) -> bool {
        self.objects.remove(handle)
    }

    fn bind_reference(&self, module: ModuleId, name: &str, handle: u64) -> Result<(), Error> {
        let loaded = self.loaded(module)?;
        let Some(Symbol::Variable(id)) = loaded.module.symbol(name) else {
            return Err(Error::NoSuchVariable(name.into()));
        };
        loaded.references.lock().unwrap_or_else(PoisonError::into_inner).insert(id, handle);
        Ok(())
    }

    fn free(&self, pointer: DevicePtr) -> Result<(), Error> {
        self.memory.free(pointer)
    }

    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        let count = bytes.len() as u64;
        self.memory.with_range(to, count, "write", |allocation, at| {
            in_pieces(count, |offset, piece| {
                if let Some(written) = &allocation.written {
                    written.set(at + offset, piece);
                }
                allocation.cells.write(at + offset, &bytes[offset as usize..(offset + piece) as usize]);
            })
        })?
    }

    fn read(&self, from: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        let count = bytes.len() as u64;
        self.memory.with_range(from, count, "read", |allocation, at| allocation.cells.read(at, bytes))
    }

    fn fill(&self, to: DevicePtr, bytes: u64, pattern: &[u8]) -> Result<(), Error> {
        self.memory.with_range(to, bytes, "fill", |allocation, at| {
            in_pieces(bytes, |offset, piece| {
                if let Some(written) = &allocation.written {
                    written.set(at + offset, piece);
                }
                allocation.cells.fill(at + offset, piece, pattern);
            })
        })?
    }

    fn launch(&self, module: ModuleId, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, Error> {
        self.launch_directed(module, launch, options, None)
    }
}

/// Of a launch that a limit ended before its kernel was decoded.
fn not_decoded(launch: &Launch, why: String) -> LaunchReport {
    let finding = Finding {
        notes: vec!["the kernel was still being decoded: none of it has run".into()],
        ..Finding::of_launch(FindingKind::LimitReached, launch.kernel.clone(), why)
    };
    LaunchReport {
        outcome: Outcome::LimitReached,
        findings: vec![finding],
        dropped_findings: 0,
        stats: Stats::default(),
        output: Vec::new(),
        metrics: Vec::new(),
        launched: Vec::new(),
    }
}

/// A value from the parameter buffer.
fn parameter(params: &[u8], offset: u32, size: u8, signed: bool) -> u128 {
    let bytes = params.get(offset as usize..offset as usize + size as usize).unwrap_or(&[]);
    let value = bytes.iter().rev().fold(0u128, |value, &byte| value << 8 | u128::from(byte));
    let shift = 128 - 8 * u32::from(size);
    if signed { ((value << shift) as i128 >> shift) as u128 } else { value }
}

/// Special registers that differ between lanes but not between warps.
/// Does something with so many bytes piece by piece, as long as the host has memory; pieces are multiples of all
/// elements.
fn in_pieces(bytes: u64, mut piece: impl FnMut(u64, u64)) -> Result<(), Error> {
    for offset in (0..bytes).step_by(host::CHUNK as usize) {
        host::ask(bytes - offset)?;
        piece(offset, (bytes - offset).min(host::CHUNK));
    }
    Ok(())
}

fn fill_lane_constants(code: &Code, rows: &mut [semantics::lanes::Row]) {
    use SpecialRegister as R;
    let mut at = 0;
    for constant in &code.constants {
        if let Constant::Special(special, 1) = *constant {
            let value = |lane: u32| -> Option<u32> {
                Some(match special {
                    R::Laneid => lane,
                    R::LanemaskEq => 1 << lane,
                    R::LanemaskLt => (1 << lane) - 1,
                    R::LanemaskLe => ((2u64 << lane) - 1) as u32,
                    R::LanemaskGt => !(((2u64 << lane) - 1) as u32),
                    R::LanemaskGe => !((1 << lane) - 1),
                    _ => return None,
                })
            };
            for (lane, word) in rows[at].0.iter_mut().enumerate() {
                if let Some(value) = value(lane as u32) {
                    *word = value;
                }
            }
        }
        at += usize::from(constant.rows());
    }
}
