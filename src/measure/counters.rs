//! What the kernel counts beside the hashes. Reading the files is the host probe's part; here are the differences.

use super::Disturbance;
use crate::host::{CpuCounters, Host};

/// Running totals of the kernel at one instant. All are differences of interest only; a host without a counter leaves it 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CounterReading {
    /// CPU quota periods that passed (`nr_periods` of `cpu.stat`), the largest among the process's cgroup and its ancestors.
    pub periods: u64,
    /// Those in which it was stopped (`nr_throttled`).
    pub throttled: u64,
    /// Seconds for which it was stopped, summed over CPUs (`throttled_usec`, or cgroup v1's `throttled_time` in ns).
    pub throttled_s: f64,
    /// CPU seconds that the hypervisor took (`steal` of `/proc/stat`, all CPUs).
    pub steal_s: f64,
    /// CPU seconds that all processes used, this one among them (`user`, `nice`, `system`, `irq` and `softirq` of
    /// `/proc/stat`, all CPUs; guest time is part of `user`).
    pub busy_s: f64,
    /// Seconds in which some task waited for memory (`some` of `memory.pressure` or `/proc/pressure/memory`).
    pub memory_stall_s: f64,
    /// The CPUs' mean clock now, in MHz (`scaling_cur_freq`); 0 when unknown.
    pub mhz: f64,
    /// CPUs that `/proc/stat` counts over (its `cpuN` lines); 0 when unknown.
    pub cpus: u32,
}

impl CounterReading {
    /// The host's counters now: ticks as seconds, and the level that was throttled the longest.
    pub fn of(host: &Host) -> Self {
        let now = CpuCounters::read(host);
        let throttle = now.worst_throttle().unwrap_or_default();
        let jiffies = now.jiffies.unwrap_or_default();
        let seconds = |ticks: u64| ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        Self {
            periods: throttle.periods,
            throttled: throttle.throttled,
            throttled_s: throttle.seconds,
            steal_s: seconds(jiffies.steal),
            busy_s: seconds(jiffies.busy),
            memory_stall_s: now.memory_pressure.map_or(0.0, |p| p.some_us as f64 / 1e6),
            mhz: now.mhz.unwrap_or(0.0),
            cpus: host.online_cpus.unwrap_or(0),
        }
    }
}

/// What happened between two readings that lie `wall_s` apart, of which this process used `own_cpu_s`.
pub fn disturbance(before: &CounterReading, after: &CounterReading, wall_s: f64, own_cpu_s: f64) -> Disturbance {
    let share = |seconds: f64, of: f64| if of > 0.0 { (seconds / of).max(0.0) } else { 0.0 };
    let others_s = after.busy_s - before.busy_s - own_cpu_s;
    // Without /proc/stat nothing is known about others, rather than "minus our own".
    let known = after.busy_s > before.busy_s;
    Disturbance {
        periods: after.periods.saturating_sub(before.periods),
        throttled_periods: after.throttled.saturating_sub(before.throttled),
        throttled_s: (after.throttled_s - before.throttled_s).max(0.0),
        stolen: share(after.steal_s - before.steal_s, wall_s * f64::from(after.cpus)),
        memory_stall: share(after.memory_stall_s - before.memory_stall_s, wall_s),
        mhz: after.mhz,
        others_cpus: if known { share(others_s, wall_s) } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_become_shares() {
        let before = CounterReading {
            periods: 10,
            throttled: 1,
            throttled_s: 0.5,
            steal_s: 3.0,
            busy_s: 100.0,
            memory_stall_s: 0.0,
            mhz: 0.0,
            cpus: 4,
        };
        let after = CounterReading {
            periods: 30,
            throttled: 6,
            throttled_s: 0.75,
            steal_s: 3.4,
            busy_s: 105.0,
            memory_stall_s: 0.0,
            mhz: 0.0,
            cpus: 4,
        };
        let d = disturbance(&before, &after, 2.0, 4.0);
        assert_eq!((d.periods, d.throttled_periods, d.throttled_s), (20, 5, 0.25));
        assert!((d.stolen - 0.05).abs() < 1e-12);
        assert!((d.others_cpus - 0.5).abs() < 1e-12);
    }

    #[test]
    fn missing_counters_disturb_nothing() {
        let none = CounterReading::default();
        assert_eq!(disturbance(&none, &none, 1.0, 0.9), Disturbance::default());
    }
}
