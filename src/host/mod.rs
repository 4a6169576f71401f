//! How many CPUs and how much memory this process may use, and which file decides it.
//!
//! [`probe()`] reads cgroups (v1, v2 and hybrid), the affinity list and `/proc/meminfo` below a root. Nothing here
//! rounds: a quota of one and a half CPUs stays 1.5. The rules are in `docs/hosts.md`.

mod counters;
mod cpu;
mod cpulist;
mod free;
#[cfg(test)]
mod fuzz;
mod locate;
mod machine;
mod membership;
mod memory;
mod mountinfo;
mod probe;
mod reader;
mod record;
mod save;
mod survey;
mod values;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::caveat::Caveat;
use crate::queue::{self, Cpus};
use crate::units::Bytes;

pub use counters::{CpuCounters, Jiffies, Pressure, Throttle};
pub use machine::{Cache, Machine};
pub use probe::probe;
pub use record::ProbeRecord;
pub use save::{SaveError, save};

/// Which cgroup hierarchies with CPU or memory controllers are mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CgroupVersion {
    /// Only hierarchies with one or some controllers each.
    V1,
    /// Only the unified hierarchy.
    V2,
    /// Both kinds.
    Hybrid,
    /// Neither: limits, if any, cannot be seen.
    #[default]
    None,
}

impl CgroupVersion {
    /// `v1`, `v2`, `hybrid` or `none`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Hybrid => "hybrid",
            Self::None => "none",
        }
    }
}

impl fmt::Display for CgroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of hierarchy that a controller lives in. It decides the names of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hierarchy {
    /// `cpu.cfs_quota_us`, `memory.limit_in_bytes` ...
    V1,
    /// `cpu.max`, `memory.max` ...
    V2,
}

/// The directories that show a controller's cgroup and its visible ancestors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupDirs {
    /// Which names the files have.
    pub hierarchy: Hierarchy,
    /// Relative to the root, innermost first: the process's own cgroup (or the nearest ancestor that can be seen)
    /// up to the mount point. Never empty.
    pub dirs: Vec<PathBuf>,
}

impl CgroupDirs {
    /// The innermost directory.
    pub fn own(&self) -> &Path {
        self.dirs.first().map_or(Path::new(""), PathBuf::as_path)
    }
}

/// A CPU quota: so much CPU time in every period.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// `quota_us / period_us`, above zero.
    pub cpus: f64,
    /// Microseconds of CPU time a period.
    pub quota_us: u64,
    /// The period in microseconds.
    pub period_us: u64,
    /// The file that states it, relative to the root.
    pub file: PathBuf,
    /// The cgroup that it is set on, as a directory below the root that was probed.
    pub dir: PathBuf,
}

/// What a file limits, and to how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// CPU time a period, in microseconds.
    Cpus {
        /// CPU time.
        quota_us: u64,
        /// Period.
        period_us: u64,
    },
    /// CPUs that the process may be scheduled on, before offline ones are left out.
    AllowedCpus(u32),
    /// Hard memory limit.
    Memory(Bytes),
    /// Where the kernel begins to throttle.
    MemoryHigh(Bytes),
    /// Swap alone.
    Swap(Bytes),
    /// Memory and swap together.
    MemoryPlusSwap(Bytes),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpus { quota_us, period_us } => write!(f, "{quota_us} us of CPU time every {period_us} us"),
            Self::AllowedCpus(cpus) => write!(f, "{cpus} CPUs allowed"),
            Self::Memory(bytes) => write!(f, "{bytes} of memory"),
            Self::MemoryHigh(bytes) => write!(f, "throttled from {bytes} of memory"),
            Self::Swap(bytes) => write!(f, "{bytes} of swap"),
            Self::MemoryPlusSwap(bytes) => write!(f, "{bytes} of memory and swap"),
        }
    }
}

/// A finite limit that the probe came across. Not every one binds: see [`Host::cpu_decided_by`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenLimit {
    /// The file, relative to the root.
    pub file: PathBuf,
    /// What it says.
    pub limit: Limit,
}

/// What this process may use. A missing figure means that there is none, never zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// The directory that stood for `/`.
    pub root: PathBuf,
    /// Which hierarchies are mounted.
    pub cgroup_version: CgroupVersion,
    /// CPUs that are online.
    pub online_cpus: Option<u32>,
    /// CPUs that the process may be scheduled on.
    pub affinity_cpus: Option<u32>,
    /// The smallest CPU quota along the path.
    pub quota: Option<Quota>,
    /// The smaller of affinity and quota, as a fraction.
    pub usable_cpus: Option<f64>,
    /// Effective hard memory limit; may exceed the machine's memory.
    pub memory_limit: Option<Bytes>,
    /// The machine's memory.
    pub memory_total: Option<Bytes>,
    /// The smaller of the two.
    pub usable_memory: Option<Bytes>,
    /// Smallest finite `memory.high` along the path (v2).
    pub memory_high: Option<Bytes>,
    /// Smallest finite `memory.swap.max` along the path (v2).
    pub swap_limit: Option<Bytes>,
    /// Finite v1 limit on memory and swap together.
    pub memory_plus_swap_limit: Option<Bytes>,
    /// What the machine had left (`MemAvailable`) at the time of the probe.
    pub memory_available: Option<Bytes>,
    /// The file that decides `usable_cpus`, relative to the root.
    pub cpu_decided_by: Option<PathBuf>,
    /// The file that decides `usable_memory`, relative to the root.
    pub memory_decided_by: Option<PathBuf>,
    /// Every finite limit seen on the way, CPU first, innermost first.
    pub limits: Vec<SeenLimit>,
    /// The cgroup of the `cpu` controller with its visible ancestors.
    pub cpu_cgroup: Option<CgroupDirs>,
    /// The cgroup of the `memory` controller with its visible ancestors.
    pub memory_cgroup: Option<CgroupDirs>,
    /// Doubts, each once.
    pub warnings: Vec<Caveat>,
    /// Facts about the machine that limit nothing.
    pub machine: Machine,
}

impl Host {
    /// `usable_cpus` rounded down, at least 1: for those who must count in whole CPUs.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn usable_cpus_whole(&self) -> Option<u32> {
        self.usable_cpus.map(|cpus| (cpus.floor() as u32).max(1))
    }

    /// Usable CPUs, a fraction, and the same as the simulation sees them; `online` CPUs where the host does not tell.
    pub fn cpus(&self, online: u32) -> (f64, Cpus) {
        let affinity = self.affinity_cpus.unwrap_or(online).max(1);
        let quota = self.quota.as_ref().map(|q| queue::Quota {
            cpus: q.cpus,
            period_s: q.period_us as f64 / 1e6,
        });
        let cpus = Cpus { affinity, quota };
        (self.usable_cpus.unwrap_or_else(|| cpus.usable()), cpus)
    }

    /// A doubt about a host that was busy before the run began: on average over a minute, more than a tenth of its CPUs, and of the
    /// `usable` ones.
    pub fn loaded_before(&self, usable: f64) -> Option<Caveat> {
        let load = self.machine.load_average?[0];
        let cpus = f64::from(self.online_cpus?);
        (load > 0.1 * cpus && load > 0.1 * usable).then_some(Caveat::LoadedBefore { load, cpus })
    }

    /// Whether the root is that of the running system, so that its operating system may be asked as well.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }
}
