//! Counters that tell what disturbed a measurement: throttling, stolen time, pressure, load.

use std::path::{Path, PathBuf};

use super::reader::Reader;
use super::values::{self, keyed_number};
use super::{CgroupDirs, Hierarchy, Host, machine};

/// How often and how long a CPU quota stopped a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Throttle {
    /// Periods in which the group ran.
    pub periods: u64,
    /// Periods in which it was stopped.
    pub throttled: u64,
    /// Seconds that it was stopped, added up over the CPUs.
    pub seconds: f64,
}

/// The machine's CPU time in clock ticks, over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jiffies {
    /// Time that work was done.
    pub busy: u64,
    /// Time that the hypervisor gave to others.
    pub steal: u64,
    /// All time: busy, stolen and idle.
    pub total: u64,
}

/// Pressure stall information: time that tasks waited for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// Microseconds that at least one task waited.
    pub some_us: u64,
    /// Microseconds that all waited; 0 where the kernel does not say.
    pub full_us: u64,
}

/// One reading of the counters. They only grow: a measurement wants the difference of two, [`Self::since`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuCounters {
    /// Throttling per visible cgroup of the cpu controller (directory relative to the root), innermost first.
    pub throttles: Vec<(PathBuf, Throttle)>,
    /// The machine's CPU time; absent without `/proc/stat`.
    pub jiffies: Option<Jiffies>,
    /// Waiting for CPUs, of the own cgroup where it says (v2), else of the machine.
    pub cpu_pressure: Option<Pressure>,
    /// Waiting for memory, likewise.
    pub memory_pressure: Option<Pressure>,
    /// Mean clock of the online CPUs now, in MHz, where the kernel says (`scaling_cur_freq`).
    pub mhz: Option<f64>,
    /// Load average over a minute, at the time of the (later) reading.
    pub load: Option<f64>,
}

/// Mean of the CPUs' clocks in MHz. The files hold kHz.
fn mhz(reader: &Reader, online: u32) -> Option<f64> {
    let khz = |cpu: u32| {
        let text = reader.content(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"))?;
        std::str::from_utf8(&text).ok()?.trim().parse::<f64>().ok()
    };
    let clocks: Vec<f64> = (0..online).filter_map(khz).collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64 / 1e3)
}

impl CpuCounters {
    /// Reads the counters now. What cannot be read is absent.
    pub fn read(host: &Host) -> Self {
        let reader = Reader::new(&host.root);
        let cpu = host.cpu_cgroup.as_ref();
        let dirs = cpu.map_or(&[][..], |cgroup| &cgroup.dirs);
        let throttles = dirs
            .iter()
            .filter_map(|dir| Some((dir.clone(), throttle(&reader.content(dir.join("cpu.stat"))?)?)))
            .collect();
        Self {
            throttles,
            jiffies: reader.content("proc/stat").and_then(|text| jiffies(&text)),
            cpu_pressure: pressure_of(&reader, cpu, "cpu"),
            memory_pressure: pressure_of(&reader, host.memory_cgroup.as_ref(), "memory"),
            mhz: mhz(&reader, host.online_cpus.unwrap_or(0)),
            load: machine::load_average(&reader).map(|load| load[0]),
        }
    }

    /// What happened between an earlier reading and this one. A counter that went backwards counts as 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |dir: &Path| earlier.throttles.iter().find(|(d, _)| d == dir).map(|(_, t)| *t);
        Self {
            throttles: self
                .throttles
                .iter()
                .filter_map(|(dir, now)| Some((dir.clone(), now.since(before(dir)?))))
                .collect(),
            jiffies: self.jiffies.zip(earlier.jiffies).map(|(now, then)| now.since(then)),
            cpu_pressure: self
                .cpu_pressure
                .zip(earlier.cpu_pressure)
                .map(|(now, then)| now.since(then)),
            memory_pressure: self
                .memory_pressure
                .zip(earlier.memory_pressure)
                .map(|(now, then)| now.since(then)),
            mhz: self.mhz,
            load: self.load,
        }
    }

    /// The level of the path that was stopped the longest; `None` where no level says.
    pub fn worst_throttle(&self) -> Option<Throttle> {
        let all = self.throttles.iter().map(|(_, t)| *t);
        all.max_by(|a, b| a.seconds.total_cmp(&b.seconds).then(a.throttled.cmp(&b.throttled)))
    }

    /// The share of CPU time that the hypervisor gave to others, from 0 to 1.
    #[allow(clippy::cast_precision_loss)]
    pub fn stolen_share(&self) -> Option<f64> {
        let jiffies = self.jiffies.filter(|j| j.total > 0)?;
        Some(jiffies.steal as f64 / jiffies.total as f64)
    }

    /// Seconds of CPU time that the whole machine worked.
    #[allow(clippy::cast_precision_loss)]
    pub fn busy_seconds(&self) -> Option<f64> {
        let ticks = rustix::param::clock_ticks_per_second();
        self.jiffies.map(|j| j.busy as f64 / ticks as f64)
    }
}

impl Throttle {
    fn since(self, then: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(then.periods),
            throttled: self.throttled.saturating_sub(then.throttled),
            seconds: (self.seconds - then.seconds).max(0.0),
        }
    }
}

impl Jiffies {
    const fn since(self, then: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(then.busy),
            steal: self.steal.saturating_sub(then.steal),
            total: self.total.saturating_sub(then.total),
        }
    }
}

impl Pressure {
    const fn since(self, then: Self) -> Self {
        Self {
            some_us: self.some_us.saturating_sub(then.some_us),
            full_us: self.full_us.saturating_sub(then.full_us),
        }
    }
}

/// `cpu.stat` of either version: v1 counts nanoseconds, v2 microseconds.
#[allow(clippy::cast_precision_loss)]
fn throttle(text: &[u8]) -> Option<Throttle> {
    let v1 = keyed_number(text, "throttled_time").map(|ns| ns as f64 / 1e9);
    let v2 = keyed_number(text, "throttled_usec").map(|us| us as f64 / 1e6);
    Some(Throttle {
        periods: keyed_number(text, "nr_periods")?,
        throttled: keyed_number(text, "nr_throttled")?,
        seconds: v1.or(v2)?,
    })
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal, then guest time that user holds
/// already.
fn jiffies(text: &[u8]) -> Option<Jiffies> {
    let line = values::keyed(text, "cpu")?;
    let fields = line.split(|&b| b == b' ').filter(|f| !f.is_empty()).take(8);
    let ticks: Vec<u64> = fields.map(values::number).collect::<Option<_>>()?;
    let [user, nice, system, idle, rest @ ..] = ticks.as_slice() else {
        return None;
    };
    let at = |i: usize| rest.get(i).copied().unwrap_or(0);
    let sum = |parts: &[u64]| parts.iter().fold(0u64, |a, b| a.saturating_add(*b));
    let busy = sum(&[*user, *nice, *system, at(1), at(2)]);
    Some(Jiffies {
        busy,
        steal: at(3),
        total: sum(&[busy, at(3), *idle, at(0)]),
    })
}

fn pressure_of(reader: &Reader, cgroup: Option<&CgroupDirs>, resource: &str) -> Option<Pressure> {
    let own = cgroup
        .filter(|c| c.hierarchy == Hierarchy::V2)
        .and_then(|c| reader.content(c.own().join(format!("{resource}.pressure"))))
        .and_then(|text| pressure(&text));
    own.or_else(|| pressure(&reader.content(format!("proc/pressure/{resource}"))?))
}

/// Lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`.
fn pressure(text: &[u8]) -> Option<Pressure> {
    let total = |kind| {
        let line = values::keyed(text, kind)?;
        let field = line.split(|&b| b == b' ').find_map(|f| f.strip_prefix(b"total="))?;
        values::number(field)
    };
    Some(Pressure {
        some_us: total("some")?,
        full_us: total("full").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::probe;
    use super::*;
    use std::fs;

    #[test]
    fn both_units_of_throttling() {
        let v1 = throttle(b"nr_periods 10\nnr_throttled 3\nthrottled_time 2500000000\n").unwrap();
        let v2 =
            throttle(b"usage_usec 9\nnr_periods 10\nnr_throttled 3\nthrottled_usec 2500000\nnr_bursts 0\n").unwrap();
        assert_eq!(v1, v2);
        assert_eq!((v1.periods, v1.throttled, v1.seconds), (10, 3, 2.5));
        assert_eq!(throttle(b"usage_usec 9\n"), None);
    }

    #[test]
    fn guest_time_is_not_counted_twice() {
        let j = jiffies(b"cpu  100 1 20 500 30 4 5 40 90 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!((j.busy, j.steal, j.total), (130, 40, 700));
        assert_eq!(jiffies(b"cpu  1 2\n"), None);
    }

    #[test]
    fn differences_are_taken_level_by_level() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", "0::/a\n");
        write("proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 c rw\n");
        write("proc/stat", "cpu  100 0 0 100 0 0 0 0 0 0\n");
        write("proc/pressure/memory", "some avg10=0.00 total=7\n");
        write("c/a/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_usec 5\n");
        write(
            "c/a/cpu.pressure",
            "some avg10=0.00 total=100\nfull avg10=0.00 total=50\n",
        );
        write("c/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
        let host = probe(root.path());
        let before = CpuCounters::read(&host);
        write(
            "c/a/cpu.stat",
            "nr_periods 11\nnr_throttled 4\nthrottled_usec 1000005\n",
        );
        write(
            "c/a/cpu.pressure",
            "some avg10=0.00 total=400\nfull avg10=0.00 total=60\n",
        );
        write("proc/stat", "cpu  150 0 0 140 0 0 0 10 0 0\n");
        let change = CpuCounters::read(&host).since(&before);
        let worst = change.worst_throttle().unwrap();
        assert_eq!((worst.periods, worst.throttled, worst.seconds), (10, 3, 1.0));
        assert_eq!(change.throttles.len(), 2);
        assert_eq!(change.stolen_share(), Some(0.1));
        assert_eq!(
            change.cpu_pressure,
            Some(Pressure {
                some_us: 300,
                full_us: 10
            })
        );
        assert_eq!(change.memory_pressure, Some(Pressure::default()));
    }
}
