//! Real hashes under a load, and what was seen.

mod caveats;
mod counters;
mod cpu;
mod driver;
#[cfg(test)]
mod driver_tests;
mod gate;
mod lost;
mod memory;
mod observer;
mod repeat;
mod runner;
mod serve;
mod tax;
#[cfg(test)]
mod testing;

pub use caveats::{Thresholds, caveats};
pub use counters::{CounterReading, disturbance};
pub use cpu::{AGREE, CpuPerHash, OUTLIER, demands, noisy};
pub use driver::{Conditions, run};
pub use lost::Lost;
pub use observer::{Observer, Silent};
pub use repeat::{DISTURBED, disturbed, measure_undisturbed};
pub use runner::Runner;
pub use tax::{PageTax, TaxPlan, page_tax};

use crate::caveat::Caveat;
use crate::setting::Setting;
use crate::units::Bytes;
use std::collections::BTreeMap;

/// How logins arrive.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// One hash after another on an otherwise idle process.
    Single {
        /// Hashes to take.
        hashes: u32,
    },
    /// `size` hashes released together by a barrier, `rounds` times.
    Burst {
        /// Hashes released together.
        size: u32,
        /// How often.
        rounds: u32,
    },
    /// `clients` callers without pauses: each starts the next hash when its last one ends.
    Closed {
        /// Hashes in flight.
        clients: u32,
        /// Stop starting new hashes after this many in all ...
        hashes: u32,
        /// ... or after this many seconds, whichever comes first (each client does at least one).
        seconds: f64,
    },
    /// Arrivals at fixed instants, served first come first served. A slow hash cannot slow its own arrivals.
    Open {
        /// Instants in seconds from the start, ascending.
        arrivals: Vec<f64>,
        /// Most hashes in flight.
        workers: u32,
    },
}

/// One hash. Instants in seconds from the start of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// When it was due.
    pub scheduled: f64,
    /// When a worker was free and began it; `started - max(scheduled, worker free)` is the generator's lateness.
    pub started: f64,
    /// When it ended.
    pub finished: f64,
    /// How late the generator was: started minus the later of scheduled and the worker's becoming free.
    pub lateness: f64,
    /// CPU time of the worker's own thread, as a cross-check (with lanes it misses the lanes' threads).
    pub thread_cpu: f64,
    /// Which worker (client) hashed it, from 0.
    pub worker: u32,
}

impl Sample {
    /// From the scheduled instant, never from wake-up.
    pub fn latency(&self) -> f64 {
        self.finished - self.scheduled
    }
}

/// What the kernel counted beside the hashes, over one measurement.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Disturbance {
    /// Quota periods that passed, and those in which the process was stopped.
    pub periods: u64,
    /// See `periods`.
    pub throttled_periods: u64,
    /// Seconds (summed over CPUs) for which it was stopped.
    pub throttled_s: f64,
    /// Share of the CPUs' time that the hypervisor took.
    pub stolen: f64,
    /// CPUs kept busy by other processes.
    pub others_cpus: f64,
    /// Share of the time in which some task waited for memory.
    pub memory_stall: f64,
    /// The CPUs' clock right after the load, in MHz; 0 when the kernel does not say.
    pub mhz: f64,
}

/// Setting + load + engine + samples + doubts.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What was hashed with.
    pub setting: Setting,
    /// How logins arrived.
    pub load: Load,
    /// The engine's name.
    pub engine: &'static str,
    /// Every completed hash, in order of `scheduled`; warm-up is not among them.
    pub samples: Vec<Sample>,
    /// From the first release to the last finish, in seconds.
    pub wall_s: f64,
    /// The process clock's difference over exactly these hashes, in seconds.
    pub cpu_s: f64,
    /// CPU seconds in `cpu_s` that stood in for the application (`--app-cpu-ms` times the hashes).
    pub app_cpu_s: f64,
    /// CPU seconds in `cpu_s` of the lanes' own threads (0 for one lane).
    pub lanes_cpu_s: f64,
    /// What disturbed it.
    pub disturbance: Disturbance,
    /// Doubts about this measurement.
    pub caveats: Vec<Caveat>,
}

impl Measurement {
    /// CPU seconds of one hash, `s(x)`: the process clock over completed hashes, without the application's share.
    pub fn cpu_per_hash(&self) -> f64 {
        (self.cpu_s - self.app_cpu_s) / self.samples.len() as f64
    }

    /// Completed hashes per second: each client's over its own active span, summed. Clients stop one by one, so hashes over
    /// [`Self::wall_s`] would count the tail, in which some are already idle. For `Single` and `Closed`.
    #[allow(clippy::cast_precision_loss)]
    pub fn throughput(&self) -> f64 {
        let mut clients: BTreeMap<u32, (u32, f64, f64)> = BTreeMap::new();
        for s in &self.samples {
            let (count, first, last) = clients.entry(s.worker).or_insert((0, s.started, s.finished));
            *count += 1;
            *first = first.min(s.started);
            *last = last.max(s.finished);
        }
        let rates = clients.values().filter(|(_, first, last)| last > first);
        rates
            .map(|(count, first, last)| f64::from(*count) / (last - first))
            .sum()
    }

    /// Latencies in seconds, in order of schedule.
    pub fn latencies(&self) -> Vec<f64> {
        self.samples.iter().map(Sample::latency).collect()
    }
}

/// Memory that W hashes hold, above idle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PeakMemory {
    /// Bytes above the idle process.
    pub bytes: Bytes,
    /// Where the figure comes from, for example `VmHWM of a fresh child`.
    pub source: String,
    /// The same from a measuring cgroup, where one could be made.
    pub cgroup: Option<Bytes>,
    /// Why there is no figure from a cgroup. That is normal.
    pub cgroup_refusal: Option<String>,
    /// Doubts.
    pub caveats: Vec<Caveat>,
}

/// Why something was not measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeasureError {
    /// The hashes would not fit in the memory that is free.
    #[error("needs {need}, {free} is free")]
    Memory {
        /// What the measurement would hold.
        need: Bytes,
        /// What may be used now, less a margin.
        free: Bytes,
    },
    /// The time limit is reached.
    #[error("the time limit is reached")]
    Time,
    /// The engine failed.
    #[error("{0}")]
    Engine(String),
}

/// What the search sees of the world: something that measures, and a clock.
pub trait Measure {
    /// Measures one setting under one load.
    ///
    /// # Errors
    /// When it would not fit in memory, time is up, or the engine fails.
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError>;

    /// The high-water mark of `workers` hashes held at once.
    ///
    /// # Errors
    /// As [`Self::measure`].
    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError>;

    /// Seconds since the run began.
    fn elapsed_s(&self) -> f64;
}
