//! Why a request was refused.

use isa::Dim3;

/// Why a backend refused a request; nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The module has no kernel of this name.
    #[error("no kernel `{name}` in the module{}", suggestion(.candidates))]
    NoSuchKernel {
        /// The name asked for.
        name: String,
        /// Kernels there are.
        candidates: Vec<String>,
    },
    /// The module has no variable of this name.
    #[error("no variable `{0}` in the module")]
    NoSuchVariable(String),
    /// A launch dimension, size or parameter buffer is impossible.
    #[error(transparent)]
    InvalidLaunch(#[from] LaunchError),
    /// Not enough device memory.
    #[error("out of device memory: {requested} bytes asked for, {available} of {total} left")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes left.
        available: u64,
        /// Bytes in all.
        total: u64,
    },
    /// Not enough memory on the host for what the device has.
    #[error(
        "out of memory on this host: {requested} bytes of device memory needed, {available} of the host's {total} left"
    )]
    HostMemory {
        /// Bytes needed.
        requested: u64,
        /// Bytes left.
        available: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The range is not inside one live allocation.
    #[error("{0}")]
    InvalidAddress(String),
    /// A symbol that nothing defines.
    #[error(
        "undefined symbol `{0}`: no linked module defines it and the device runtime has none of that name"
    )]
    UndefinedSymbol(String),
    /// The simulator does not support something that is needed before the launch starts.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The device's driver is older than the module needs.
    #[error("the device's driver supports {driver}, which is too old for {needs}; a newer driver takes it{}", lines(.log))]
    DriverTooOld {
        /// What the driver supports.
        driver: String,
        /// What the module needs.
        needs: String,
        /// What the driver's compiler says.
        log: String,
    },
    /// The device's driver does not accept the module; its words.
    #[error("the device's driver refuses the PTX: {0}")]
    ModuleRefused(String),
    /// The device lacks something that the module or launch needs.
    #[error("the device lacks a capability: {0}")]
    MissingCapability(String),
    /// The contents of the device, or the device itself, were lost earlier.
    #[error("{0}")]
    Lost(String),
    /// A failure of the backend itself, with its own words.
    #[error("{0}")]
    Backend(String),
}

/// Why a launch is not possible.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields have the names of what they are")]
pub enum LaunchError {
    /// No block or no thread.
    #[error("grid {grid} and block {block} must not be empty")]
    Empty { grid: Dim3, block: Dim3 },
    /// More threads a block than a device has.
    #[error("a block of {block} has {threads} threads; at most {most} are possible")]
    Threads { block: Dim3, threads: u128, most: u32 },
    /// A block that is too long in one direction.
    #[error("block {block}: at most {most} are possible")]
    Block { block: Dim3, most: Dim3 },
    /// A grid that is too long in one direction.
    #[error("grid {grid}: at most {most} are possible")]
    Grid { grid: Dim3, most: Dim3 },
    /// Another block than the kernel requires.
    #[error("`{kernel}` requires blocks of {required} (`.reqntid`), not {block}")]
    RequiredThreads { kernel: String, required: Dim3, block: Dim3 },
    /// More threads than the kernel takes.
    #[error("`{kernel}` takes at most {most} threads a block (`.maxntid`), not {threads}")]
    DeclaredThreads { kernel: String, most: u128, threads: u128 },
    /// More shared memory than a block may have, or than was granted.
    #[error("{shared} bytes of shared memory ({dynamic} of them dynamic): at most {most} are possible")]
    Shared { shared: u64, dynamic: u32, most: u64 },
    /// More local memory than a thread may have; sizes are cut where they could not be counted.
    #[error(
        "the `.local` variables of `{kernel}` take {} bytes a thread: at most {most} are possible",
        bytes.map_or("4 GiB or more".to_string(), |bytes| bytes.to_string())
    )]
    Local { kernel: String, bytes: Option<u64>, most: u64 },
    /// A parameter buffer of the wrong size.
    #[error("the parameter buffer has {given} bytes, `{kernel}` takes {wanted}")]
    Params { kernel: String, given: u64, wanted: u64 },
    /// A grid that is not made of whole clusters.
    #[error("grid {grid} is no multiple of the cluster {cluster}")]
    Cluster { grid: Dim3, cluster: Dim3 },
    /// A cluster of more blocks than the device has room for.
    #[error("a cluster {cluster} of {} blocks; at most {most}", cluster.count())]
    LargeCluster { cluster: Dim3, most: u32 },
    /// A cluster without blocks.
    #[error("the cluster {cluster} must not be empty")]
    EmptyCluster { cluster: Dim3 },
    /// Another cluster than the kernel requires.
    #[error("`{kernel}` requires clusters of {required} (`.reqnctapercluster`), not {cluster}")]
    RequiredCluster { kernel: String, required: Dim3, cluster: Dim3 },
    /// More blocks a cluster than the kernel takes.
    #[error("`{kernel}` takes at most {most} blocks a cluster (`.maxclusterrank`), not {}", cluster.count())]
    DeclaredCluster { kernel: String, most: u32, cluster: Dim3 },
    /// No cluster for a kernel that must have one.
    #[error("`{kernel}` must be launched in clusters (`.explicitcluster`), and none is given")]
    NoCluster { kernel: String },
    /// A cluster of another size than was set for the kernel, or than it takes.
    #[error("the kernel does not take clusters of this size")]
    ClusterSize,
    /// Not one block fits.
    #[error("a block of this kernel does not fit on a multiprocessor")]
    Resources,
    /// Not all blocks fit at once.
    #[error("a cooperative launch of {blocks} blocks: only {resident} can be resident at once")]
    Cooperative { blocks: u128, resident: u64 },
    /// A real device's refusal, in words.
    #[error("{0}")]
    Refused(String),
}

impl LaunchError {
    /// Whether it is about the launch's clusters.
    pub const fn is_of_clusters(&self) -> bool {
        matches!(
            self,
            Self::Cluster { .. }
                | Self::LargeCluster { .. }
                | Self::EmptyCluster { .. }
                | Self::RequiredCluster { .. }
                | Self::DeclaredCluster { .. }
                | Self::NoCluster { .. }
                | Self::ClusterSize
        )
    }
}

fn suggestion(candidates: &[String]) -> String {
    match candidates {
        [] => "; it has no kernel at all".into(),
        list => format!("; it has {}", list.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}

fn lines(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}
