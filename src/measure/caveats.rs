//! Doubts about a measurement, from the measurement alone.

use super::{Load, Measurement, Sample};
use crate::caveat::Caveat;
use crate::stats;
use crate::units::Millis;

/// From where on a doubt is worth a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// CPUs that the process may use; with more hashes in flight, a late start is the CPUs' queue and no fault.
    pub cpus: f64,
    /// Share of the CPUs' time that the hypervisor may take.
    pub stolen: f64,
    /// Share of the CPU time due to the hashes that may get [lost](Measurement::lost) without a counter that says to whom.
    pub lost: f64,
    /// CPUs that other processes may use.
    pub others_cpus: f64,
    /// Share of the time that tasks may wait for memory.
    pub memory_stall: f64,
    /// Latest start on an idle worker (99th percentile), in seconds ...
    pub late_s: f64,
    /// ... or as a share of the median latency, whichever is more.
    pub late_share: f64,
    /// Share of the CPU time that may go to the benchmark itself.
    pub generator: f64,
    /// Relative difference between the CPU time of early and late hashes.
    pub drift: f64,
    /// `/proc/stat` counts in ticks of 10 ms: less than this many seconds in all tell nothing.
    pub ticks_s: f64,
}

impl Thresholds {
    /// The documented values, for a process that may use `cpus` CPUs.
    pub const fn new(cpus: f64) -> Self {
        Self {
            cpus,
            stolen: 0.01,
            lost: 0.02,
            others_cpus: 0.05,
            memory_stall: 0.01,
            late_s: 0.002,
            late_share: 0.02,
            generator: 0.01,
            drift: 0.10,
            ticks_s: 0.03,
        }
    }
}

/// The doubts about `m`.
pub fn caveats(m: &Measurement, t: &Thresholds) -> Vec<Caveat> {
    let found = [
        throttled(m),
        stolen(m, t),
        lost(m, t),
        busy(m, t),
        memory_pressure(m, t),
        arrivals(m),
        late(m, t),
        generator_cpu(m, t),
        drift(m, t),
        outliers(m),
    ];
    found.into_iter().flatten().collect()
}

fn throttled(m: &Measurement) -> Option<Caveat> {
    let d = m.disturbance;
    (d.throttled_periods > 0).then_some(Caveat::CpuThrottled {
        throttled: d.throttled_periods,
        periods: d.periods,
        seconds: d.throttled_s,
    })
}

fn stolen(m: &Measurement, t: &Thresholds) -> Option<Caveat> {
    let share = m.disturbance.stolen;
    (share > t.stolen && share * t.cpus * m.wall_s > t.ticks_s).then_some(Caveat::StolenTime { share })
}

fn busy(m: &Measurement, t: &Thresholds) -> Option<Caveat> {
    let cpus = m.disturbance.others_cpus;
    (cpus > t.others_cpus && cpus * m.wall_s > t.ticks_s).then_some(Caveat::BusyHost { cpus })
}

/// Least CPU time whose loss is worth a word, in seconds: one late tick is no stall.
pub(super) const LOST_S: f64 = 0.005;

/// What the counters say of others is not told twice.
fn lost(m: &Measurement, t: &Thresholds) -> Option<Caveat> {
    let lost = m.lost(t.cpus);
    let counted = (m.disturbance.others_cpus + m.disturbance.stolen * t.cpus) * m.wall_s;
    let seconds = lost.seconds - counted;
    let share = lost.share * seconds / lost.seconds;
    (seconds > LOST_S && share > t.lost).then_some(Caveat::LostTime { share })
}

fn memory_pressure(m: &Measurement, t: &Thresholds) -> Option<Caveat> {
    let share = m.disturbance.memory_stall;
    (share > t.memory_stall).then_some(Caveat::MemoryPressure { share })
}

/// Relative difference of the CPUs' clock between two measurements that is worth a word.
const CLOCK_DRIFT: f64 = 0.05;

/// A clock that is not what it was at the end of an earlier measurement. Both in MHz; 0 is unknown.
pub(super) fn frequency(earlier: f64, now: f64) -> Option<Caveat> {
    let known = earlier > 0.0 && now > 0.0;
    (known && (now / earlier - 1.0).abs() > CLOCK_DRIFT).then_some(Caveat::FrequencyChanged {
        from_mhz: earlier,
        to_mhz: now,
    })
}

fn arrivals(m: &Measurement) -> Option<Caveat> {
    let Load::Open { arrivals, .. } = &m.load else {
        return None;
    };
    let (arrivals, wanted) = (m.samples.len(), arrivals.len());
    (arrivals < wanted).then_some(Caveat::TooFewArrivals { arrivals, wanted })
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// The smallest value that at least a share `q` of them do not exceed; 0 for none.
fn quantile(values: impl IntoIterator<Item = f64>, q: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    stats::quantile_in_place(&mut values, q).unwrap_or(0.0)
}

/// Only in the open loop is there a generator: elsewhere a hash starts when the last one ended.
fn late(m: &Measurement, t: &Thresholds) -> Option<Caveat> {
    if !matches!(m.load, Load::Open { .. }) {
        return None;
    }
    let mut starts: Vec<f64> = m.samples.iter().map(|s| s.started).collect();
    let mut ends: Vec<f64> = m.samples.iter().map(|s| s.finished).collect();
    starts.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    // Threads that were hashing when the sample should have started. With a CPU for each and one more, a late start is
    // the generator's; with fewer it is what a real server's thread would wait for, and part of the latency.
    let idle_cpu = |s: &&Sample| {
        let due = s.started - s.lateness;
        let in_flight = starts.partition_point(|x| *x < due) - ends.partition_point(|x| *x <= due);
        #[allow(clippy::cast_precision_loss)]
        let threads = (in_flight as f64 + 1.0) * f64::from(m.setting.lanes());
        threads <= t.cpus
    };
    let p99 = quantile(m.samples.iter().filter(idle_cpu).map(|s| s.lateness), 0.99);
    let limit = t.late_s.max(t.late_share * median(m.latencies()));
    (p99 > limit).then_some(Caveat::GeneratorLate {
        p99: Millis::from_s(p99),
    })
}

/// Least CPU time beside the hashes that is worth a word, in seconds: waking a few threads is no benchmark's fault.
const OWN_CPU_S: f64 = 0.002;

fn generator_cpu(m: &Measurement, t: &Thresholds) -> Option<Caveat> {
    let hashes: f64 = m.samples.iter().map(|s| s.thread_cpu).sum();
    let own = m.cpu_s - hashes - m.lanes_cpu_s;
    let share = own / m.cpu_s;
    (own > OWN_CPU_S && share > t.generator).then_some(Caveat::GeneratorCpu { share })
}

/// Fewest samples whose first and last fifth say anything.
const DRIFT_SAMPLES: usize = 15;

/// Early against late hashes: slower later is a turbo that ended; faster later is noise.
fn drift(m: &Measurement, t: &Thresholds) -> Option<Caveat> {
    let cpu = m.own_cpu().filter(|cpu| cpu.len() >= DRIFT_SAMPLES)?;
    let n = cpu.len();
    let early = median(cpu[..n / 5].iter().copied());
    let late = median(cpu[n - n / 5..].iter().copied());
    let (slower, faster) = (late > early * (1.0 + t.drift), early > late * (1.0 + t.drift));
    let (early, late) = (Millis::from_s(early), Millis::from_s(late));
    if slower {
        return Some(Caveat::Turbo { early, late });
    }
    faster.then(|| Caveat::Noisy {
        what: "the CPU time of a hash, early and late in a run,".into(),
        first: early,
        second: late,
    })
}

fn outliers(m: &Measurement) -> Option<Caveat> {
    let far = m.outliers();
    let least = far.iter().copied().fold(f64::INFINITY, f64::min);
    let most = far.iter().copied().fold(0.0, f64::max);
    (!far.is_empty()).then(|| Caveat::Outliers {
        count: far.len(),
        of: m.samples.len(),
        least: Millis::from_s(least),
        most: Millis::from_s(most),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::steady;
    use super::*;

    fn codes(m: &Measurement) -> Vec<&'static str> {
        caveats(m, &Thresholds::new(2.0)).iter().map(Caveat::code).collect()
    }

    fn open(n: u32) -> Measurement {
        let mut m = steady(n);
        m.load = Load::Open {
            arrivals: m.samples.iter().map(|s| s.scheduled).collect(),
            workers: 4,
        };
        m
    }

    #[test]
    fn a_steady_measurement_raises_no_doubt() {
        assert!(codes(&steady(100)).is_empty());
        assert!(codes(&open(100)).is_empty());
    }

    #[test]
    fn throttling_stealing_and_company() {
        let mut m = steady(100);
        m.disturbance.throttled_periods = 1;
        assert_eq!(codes(&m), ["cpu-throttled"]);
        let mut m = steady(100);
        m.disturbance.stolen = 0.02;
        assert_eq!(codes(&m), ["stolen-time"]);
        let mut m = steady(100);
        m.disturbance.others_cpus = 0.2;
        assert_eq!(codes(&m), ["busy-host"]);
        // Hashes that end 2.5 ms late lose a fifth of what they are due: 0.25 s in 2.5 s.
        let mut m = steady(100);
        m.samples.iter_mut().for_each(|s| s.finished += 0.002_5);
        assert_eq!(codes(&m), ["lost-time"]);
        m.disturbance.others_cpus = 0.06;
        assert_eq!(
            codes(&m),
            ["lost-time", "busy-host"],
            "the others had the smaller part of it"
        );
        m.disturbance.others_cpus = 0.09;
        assert_eq!(codes(&m), ["busy-host"]);
        let mut m = steady(100);
        m.disturbance.memory_stall = 0.02;
        assert_eq!(codes(&m), ["memory-pressure"]);
        let mut m = steady(100);
        m.disturbance.others_cpus = 0.2;
        // One tick in a short run is no company.
        m.wall_s = 0.1;
        assert!(codes(&m).is_empty());
    }

    #[test]
    fn missing_arrivals() {
        let mut m = open(100);
        m.samples.truncate(60);
        m.cpu_s *= 0.6;
        assert_eq!(codes(&m), ["too-few-arrivals"]);
    }

    #[test]
    fn late_starts_count_on_idle_cpus_only() {
        let mut m = open(100);
        for s in &mut m.samples[..3] {
            s.started += 0.01;
            s.lateness = 0.01;
        }
        assert_eq!(codes(&m), ["generator-late"]);
        // The same on one CPU with another hash in flight: the CPU's queue.
        let crowded = Thresholds {
            cpus: 0.9,
            ..Thresholds::new(2.0)
        };
        assert!(caveats(&m, &crowded).is_empty());
    }

    #[test]
    fn cpu_time_beside_the_hashes() {
        let mut m = steady(100);
        m.cpu_s *= 1.02;
        assert_eq!(codes(&m), ["generator-cpu"]);
        // With lanes most of it is the lanes'.
        m.lanes_cpu_s = m.cpu_s * 0.02;
        assert!(codes(&m).is_empty());
    }

    #[test]
    fn early_and_late_hashes_differ() {
        let mut m = steady(100);
        for s in &mut m.samples[50..] {
            s.thread_cpu *= 1.2;
        }
        m.cpu_s *= 1.1;
        assert_eq!(codes(&m), ["turbo"]);
        for (i, s) in m.samples.iter_mut().enumerate() {
            s.thread_cpu = if i < 50 { 0.012 } else { 0.010 };
        }
        assert_eq!(codes(&m), ["noisy"]);
        m.samples.truncate(14);
        m.cpu_s = 14.0 * 0.012;
        assert!(codes(&m).is_empty());
    }

    #[test]
    fn a_hash_far_from_the_others_is_shown() {
        let mut m = steady(100);
        m.samples[40].thread_cpu = 0.000_1;
        m.cpu_s -= 0.009_9;
        assert_eq!(codes(&m), ["outliers"]);
        m.samples[40].thread_cpu = 0.030;
        m.cpu_s += 0.029_9;
        assert_eq!(codes(&m), ["outliers"]);
    }

    #[test]
    fn quantiles_are_order_statistics() {
        assert_eq!(quantile([3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile((1..=100).map(f64::from), 0.99), 99.0);
        assert_eq!(quantile([], 0.5), 0.0);
    }
}
