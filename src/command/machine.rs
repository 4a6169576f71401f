//! This machine, as the measurements need it.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use hashtune::engine::worker::Program;
use hashtune::engine::{Native, Pages};
use hashtune::host::{CpuCounters, Host};
use hashtune::measure::{CounterReading, Runner};
use hashtune::queue::{Cpus, Quota};
use hashtune::recommend::Request;
use hashtune::units::{Bytes, Seconds};

/// Longest that a child may take to hold its hashes.
const WORKER_TIMEOUT: Duration = Duration::from_secs(60);
/// Memory that the benchmark leaves free beside its own: a twentieth, and never less than this.
const MARGIN: Bytes = Bytes(8 << 20);

/// Usable CPUs, a fraction, and the same as the simulation sees them. Without `/proc` the operating system is asked.
pub fn cpus(host: &Host) -> (f64, Cpus) {
    let online = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
    let affinity = host.affinity_cpus.unwrap_or(online).max(1);
    let quota = host.quota.as_ref().map(|q| Quota {
        cpus: q.cpus,
        period_s: q.period_us as f64 / 1e6,
    });
    let cpus = Cpus { affinity, quota };
    (host.usable_cpus.unwrap_or_else(|| cpus.usable()), cpus)
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

/// Measures on this machine within the request's time.
pub fn runner(engine: Arc<Native>, host: &Host, request: &Request) -> Runner {
    let (for_memory, for_counters) = (host.clone(), host.clone());
    let runner = Runner::new(engine, request.usable_cpus)
        .app_cpu(request.budget.app_cpu)
        .deadline(Seconds(request.time_limit_s))
        .free_memory(move || free_memory(&for_memory))
        .counters(move || counters(&for_counters));
    match env::current_exe() {
        Ok(program) => runner.worker(Program {
            path: program,
            args: vec!["worker".into()],
            pages: Pages::Deployed,
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

/// The kernel's counters as the measurements take them: ticks as seconds, the level that was throttled the longest.
fn counters(host: &Host) -> CounterReading {
    let now = CpuCounters::read(host);
    let throttle = now.worst_throttle().unwrap_or_default();
    let jiffies = now.jiffies.unwrap_or_default();
    let seconds = |ticks: u64| ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    CounterReading {
        periods: throttle.periods,
        throttled: throttle.throttled,
        throttled_s: throttle.seconds,
        steal_s: seconds(jiffies.steal),
        busy_s: seconds(jiffies.busy),
        cpus: host.online_cpus.unwrap_or(0),
    }
}
