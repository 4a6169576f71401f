//! This machine, as the measurements need it.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use hashtune::caveat::Caveat;
use hashtune::engine::Native;
use hashtune::engine::worker::Program;
use hashtune::host::Host;
use hashtune::measure::{CounterReading, Runner};
use hashtune::queue::Cpus;
use hashtune::units::{BadValue, Bytes, Millis, Seconds};
use rustix::process;
use rustix::thread::{self, CpuSet};

use crate::failure::Failure;

/// Longest that a child may take to hold its hashes.
const WORKER_TIMEOUT: Duration = Duration::from_secs(60);
/// Memory that the benchmark leaves free beside its own: a twentieth, and never less than this.
const MARGIN: Bytes = Bytes(8 << 20);

/// Niceness of a polite run: behind everything at the default, ahead of what is idle-only.
const NICE: i32 = 10;

/// Confines this process, and the children it will start, to `cpus` of its CPUs and to a low priority.
///
/// Gives the doubt that this is less than a service here would have.
///
/// # Errors
/// When there are fewer CPUs, or the kernel refuses.
pub fn behave(cpus: Option<u32>, nice: bool) -> Result<Option<Caveat>, Failure> {
    if nice {
        process::setpriority_process(None, NICE).map_err(|error| Failure::io("--nice", &error.into()))?;
    }
    let Some(wanted) = cpus else { return Ok(None) };
    let refused = |error: rustix::io::Errno| Failure::io("--cpus", &error.into());
    let allowed = thread::sched_getaffinity(None).map_err(refused)?;
    if wanted > allowed.count() {
        let accepted = format!("a whole number from 1 to {}", allowed.count());
        return Err(BadValue::new("--cpus", wanted.to_string(), "more than may be used here", accepted).into());
    }
    let mut kept = CpuSet::new();
    for cpu in (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .take(wanted as usize)
    {
        kept.set(cpu);
    }
    thread::sched_setaffinity(None, &kept).map_err(refused)?;
    let (used, usable) = (f64::from(wanted), f64::from(allowed.count()));
    Ok((used < usable).then_some(Caveat::CpusCapped { used, usable }))
}

/// A doubt about a process whose own limits leave less than `memory` to measure in.
pub fn own_memory_limit(host: &Host, memory: Bytes) -> Option<Caveat> {
    let (free, limit) = host.own_limit_free()?;
    (free < memory).then_some(Caveat::OwnMemoryLimit { free, limit, memory })
}

/// Usable CPUs, a fraction, and the same as the simulation sees them. Without `/proc` the operating system is asked.
pub fn cpus(host: &Host) -> (f64, Cpus) {
    let online = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
    host.cpus(online)
}

/// The memory budget where none was given: the limit, else half of what is available; and which.
pub fn default_memory(host: &Host) -> Option<(Bytes, &'static str)> {
    if let Some(limit) = host.memory_limit {
        let usable = host.usable_memory.unwrap_or(limit).min(limit);
        return Some((usable, "this process's limit"));
    }
    let available = host.memory_available.or(host.memory_total)?;
    Some((available.scaled(0.5), "half of the available memory"))
}

/// Measures on this machine until `time_limit_s` from now, which may be infinite.
pub fn runner(engine: Arc<Native>, host: &Host, usable_cpus: f64, app_cpu: Millis, time_limit_s: f64) -> Runner {
    let (for_memory, for_counters) = (host.clone(), host.clone());
    let pages = engine.pages();
    let runner = Runner::new(engine, usable_cpus)
        .app_cpu(app_cpu)
        .deadline(Seconds(time_limit_s))
        .free_memory(move || free_memory(&for_memory))
        .counters(move || CounterReading::of(&for_counters));
    match env::current_exe() {
        Ok(program) => runner.worker(Program {
            path: program,
            args: vec!["worker".into()],
            pages,
            memory_dir: host.memory_cgroup.as_ref().map(|c| host.root.join(c.own())),
            timeout: WORKER_TIMEOUT,
        }),
        Err(_) => runner,
    }
}

/// What hashes may take now: what is free less a margin.
fn free_memory(host: &Host) -> Bytes {
    let Some(free) = host.memory_free() else {
        return Bytes(u64::MAX);
    };
    let margin = free.scaled(0.05).max(MARGIN);
    Bytes(free.0.saturating_sub(margin.0))
}
