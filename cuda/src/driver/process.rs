//! Memory, events and pools of one process in another, on the same host.
//!
//! A handle names the process and its descriptor of the file that the memory consists of; the other process opens the
//! same file through `/proc`. It is good for as long as the first process lives and has the memory, as under CUDA.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_abi::numbers::handle_type::POSIX_FILE_DESCRIPTOR;
use runtime::{Context, Event, Holds, Kind, Pages, Pool, PoolPlace, Result, SharedRecords, Status};

use crate::ffi::{Handle, get, put};
use crate::host::Program;
use crate::object;
use crate::shared_page::{PAGE, SharedPage};
use crate::state::{self, healthy};

/// What handles begin with, of each kind.
const MEMORY: u64 = u64::from_le_bytes(*b"wg.mem.1");
const EVENT: u64 = u64::from_le_bytes(*b"wg.evt.1");
const POINTER: u64 = u64::from_le_bytes(*b"wg.ptr.1");
const POOL: u64 = u64::from_le_bytes(*b"wg.pool1");

/// `CUipcMemHandle`, `CUipcEventHandle`, `CUmemPoolPtrExportData`: 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub(crate) struct Shared {
    kind: u64,
    process: u32,
    descriptor: u32,
    /// The file's number, since descriptors are used again.
    inode: u64,
    size: u64,
    device: u64,
    rest: [u64; 3],
}

const _: () = assert!(size_of::<Shared>() == 64);

impl Shared {
    fn of(kind: u64, file: &File, size: u64, device: usize) -> Result<Shared> {
        let inode = file.metadata().map_err(|_| Status::OPERATING_SYSTEM)?.ino();
        let (process, descriptor) = (std::process::id(), file.as_raw_fd() as u32);
        Ok(Shared { kind, process, descriptor, inode, size, device: device as u64, rest: [0; 3] })
    }

    /// The file, in whatever process.
    fn file(&self, kind: u64) -> Result<File> {
        if self.kind != kind {
            return Err(Status::INVALID_VALUE);
        }
        Program.opened(self.process, self.descriptor, self.inode).ok_or(Status::INVALID_VALUE)
    }

    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }
}

/// What this process has given to others, by the number of the allocation.
static GIVEN: Mutex<Option<HashMap<u64, Given>>> = Mutex::new(None);

struct Given {
    base: u64,
    file: File,
}

/// What it has of others: the address and how often it was opened, by the context and the file's number.
type Opened = HashMap<(u64, u64), (u64, u32)>;

static OPENED: Mutex<Option<Opened>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The handle of an allocation; its memory is in a file from then on.
fn give(kind: u64, address: u64, wanted: impl Fn(&runtime::Allocation) -> bool) -> Result<Shared> {
    let context = healthy()?;
    let device = context.device.owner(address).ok_or(Status::INVALID_VALUE)?;
    let found = device.memory.find(address).filter(wanted).ok_or(Status::INVALID_VALUE)?;
    let mut given = lock(&GIVEN);
    let given = given.get_or_insert_with(HashMap::new);
    // Files of memory that is gone go, too.
    given.retain(|id, given| device.find(given.base).is_some_and(|now| now.id == *id));
    if let Some(given) = given.get(&found.id) {
        return Shared::of(kind, &given.file, found.size, device.index);
    }
    let file = device.export(&found)?;
    let shared = Shared::of(kind, &file, found.size, device.index)?;
    given.insert(found.id, Given { base: found.base, file });
    Ok(shared)
}

/// Memory of another process, which a context opens once and counts.
fn open(context: &Arc<Context>, handle: &Shared) -> Result<u64> {
    let file = handle.file(MEMORY)?;
    if handle.is_own() {
        return Err(Status::INVALID_CONTEXT);
    }
    let mut opened = lock(&OPENED);
    let opened = opened.get_or_insert_with(HashMap::new);
    let known = opened.entry((context.id, handle.inode)).or_insert((0, 0));
    if known.1 == 0 {
        let what = format!("memory of process {}", handle.process);
        known.0 = context.open(&file, handle.size, Kind::Imported, &what)?;
    }
    known.1 += 1;
    Ok(known.0)
}

fn close(context: &Context, address: u64) -> Result {
    let mut opened = lock(&OPENED);
    let opened = opened.get_or_insert_with(HashMap::new);
    let found = opened.iter_mut().find(|(_, (base, count))| *base == address && *count > 0);
    let (_, count) = found.ok_or(Status::INVALID_VALUE)?.1;
    *count -= 1;
    if *count == 0 {
        opened.retain(|_, (_, count)| *count > 0);
        context.free(address, |found| found.kind == Kind::Imported)?;
    }
    Ok(())
}

/// Records of an event in a page that processes share: the last that was asked for, and the last that was reached.
#[derive(Debug)]
struct Records {
    page: SharedPage,
    /// Whether another process made it.
    imported: bool,
}

impl Records {
    fn of(file: File, imported: bool) -> Result<Records> {
        Ok(Records { page: SharedPage::of(file)?, imported })
    }

    fn words(&self) -> &[AtomicU64; 2] {
        self.page.words()
    }
}

impl SharedRecords for Records {
    fn ask(&self) -> u64 {
        self.words()[0].fetch_add(1, SeqCst) + 1
    }

    fn reach(&self, number: u64) {
        self.words()[1].fetch_max(number, SeqCst);
    }

    fn last(&self) -> u64 {
        self.words()[0].load(SeqCst)
    }

    fn is_reached(&self, number: u64) -> bool {
        self.words()[1].load(SeqCst) >= number
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// An event that other processes can open.
pub(crate) fn create_event(context: &Arc<Context>, flags: u32) -> Result<Arc<Event>> {
    let records = Records::of(Program.file(PAGE as u64, Holds::Device(context.device.index))?, false)?;
    Ok(Event::with_records(context, flags, Some(Arc::new(records))))
}

/// Flags of an event that was opened: without times, for several processes.
const OPENED_EVENT: u32 = 6;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZILY: u32 = 1;

api! {
    fn cuIpcGetMemHandle(to: *mut Shared, address: u64) {
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(to, give(MEMORY, address, |found| found.kind == Kind::Device)?)
    }

    fn cuIpcOpenMemHandle(to: *mut u64, handle: Shared, flags: u32) {
        open_memory(to, handle, flags)
    }

    fn cuIpcOpenMemHandle_v2(to: *mut u64, handle: Shared, flags: u32) {
        open_memory(to, handle, flags)
    }

    fn cuIpcCloseMemHandle(address: u64) {
        close(&*healthy()?, address)
    }

    fn cuIpcGetEventHandle(to: *mut Shared, event: Handle) {
        healthy()?;
        let event: Arc<Event> = object::find(event)?;
        let records = event.shared.as_ref().and_then(|records| records.as_any().downcast_ref::<Records>());
        let records = records.filter(|records| !records.imported).ok_or(Status::INVALID_HANDLE)?;
        put(to, Shared::of(EVENT, &records.page.file, PAGE as u64, 0)?)
    }

    fn cuIpcOpenEventHandle(to: *mut Handle, handle: Shared) {
        let context = healthy()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let file = handle.file(EVENT).map_err(|_| Status::MAP_FAILED)?;
        if handle.is_own() {
            return Err(Status::INVALID_CONTEXT);
        }
        let records = Records::of(file, true)?;
        let event = Event::with_records(&context, OPENED_EVENT, Some(Arc::new(records)));
        put(to, object::insert(event.id, event))
    }

    fn cuMemPoolExportToShareableHandle(to: *mut i32, pool: Handle, kind: u32, flags: u64) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        let PoolPlace::Device(device) = pool.place else { return Err(Status::INVALID_VALUE) };
        if to.is_null() || flags != 0 || kind != POSIX_FILE_DESCRIPTOR || !pool.is_exportable() {
            return Err(Status::INVALID_VALUE);
        }
        let file = Program.file(PAGE as u64, Holds::Device(device))?;
        file.write_all_at(&POOL.to_le_bytes(), 0).map_err(|_| Status::OPERATING_SYSTEM)?;
        put(to, file.into_raw_fd())
    }

    fn cuMemPoolImportFromShareableHandle(to: *mut Handle, descriptor: u64, kind: u32, flags: u64) {
        let runtime = state::runtime()?;
        if to.is_null() || kind != POSIX_FILE_DESCRIPTOR || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: any number is allowed; what is no file gives an error.
        let own = unsafe { libc::fcntl(descriptor as i32, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: it was opened above, and nobody else has it.
        let file = unsafe { File::from_raw_fd(own) };
        let device = Program.held_by(&file).and_then(Holds::device).ok_or(Status::INVALID_VALUE)?;
        let mut word = [0; 8];
        let read = file.read_exact_at(&mut word, 0);
        if read.is_err() || u64::from_le_bytes(word) != POOL || device >= runtime.devices.len() {
            return Err(Status::INVALID_VALUE);
        }
        let pool = runtime.pools.create(PoolPlace::Device(device), 0);
        pool.set_imported();
        put(to, object::insert(pool.id, pool))
    }

    fn cuMemPoolExportPointer(to: *mut Shared, address: u64) {
        let runtime = state::runtime()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let of_pool = |found: &runtime::Allocation| {
            let pool = runtime.pools.of(found).and_then(|id| runtime.pools.find(id));
            found.base == address && pool.is_some_and(|pool| pool.is_exportable())
        };
        put(to, give(POINTER, address, of_pool)?)
    }

    fn cuMemPoolImportPointer(to: *mut u64, pool: Handle, share: *const Shared) {
        let context = healthy()?;
        let (pool, share): (Arc<Pool>, Shared) = (object::find(pool)?, get(share)?);
        let PoolPlace::Device(device) = pool.place else { return Err(Status::INVALID_VALUE) };
        if to.is_null() || !pool.is_imported() || share.device != device as u64 {
            return Err(Status::INVALID_VALUE);
        }
        let file = share.file(POINTER)?;
        let what = format!("pool memory of process {}", share.process);
        put(to, context.open_of_pool(&file, share.size, &pool, &what)?)
    }
}

fn open_memory(to: *mut u64, handle: Shared, flags: u32) -> Result {
    let context = healthy()?;
    if to.is_null() || flags != LAZILY {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, open(&context, &handle)?) }
}
