//! The CPU time of a hash: how well a measurement knows it, and whether two measurements agree.

use super::{Load, MeasureError, Measurement};
use crate::caveat::Caveat;
use crate::setting::Setting;
use crate::stats;
use crate::units::Millis;

/// Two measurements of the same thing that are no further apart than this, as a share of the smaller, agree.
pub const AGREE: f64 = 0.05;
/// A hash is an outlier when its CPU time is more than this many times its run's median, or less than one part in as many.
pub const OUTLIER: f64 = 2.0;
/// Fewest hashes whose median tells what is usual.
const USUAL: usize = 5;

/// CPU seconds of each hash, in order: the spread is the hashes', the mean is `mean_s`.
///
/// One-lane hashes have their own thread's clock. With lanes the time in service tells the spread: too much of it where hashes
/// run side by side, which errs on the wide side.
pub fn demands(run: &Measurement, mean_s: f64) -> Vec<f64> {
    let own: Vec<f64> = if run.setting.lanes() == 1 {
        run.samples.iter().map(|s| s.thread_cpu).collect()
    } else {
        run.samples.iter().map(|s| s.finished - s.started).collect()
    };
    let mean = own.iter().sum::<f64>() / own.len() as f64;
    own.iter()
        .map(|x| if mean > 0.0 { x / mean * mean_s } else { mean_s })
        .collect()
}

/// The CPU time of a hash as one measurement knows it, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuPerHash {
    /// The process's clock over the completed hashes.
    pub mean: f64,
    /// Lower bound of the mean at 95 %.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl CpuPerHash {
    /// `None` where there are too few hashes for bounds.
    pub fn of(run: &Measurement) -> Option<Self> {
        let mean = run.cpu_per_hash();
        let (low, high) = stats::mean_bounds(&demands(run, mean))?;
        Some(Self { mean, low, high })
    }

    /// Whether this one is dearer beyond both intervals, and by more than [`AGREE`].
    pub fn exceeds(&self, other: &Self) -> bool {
        self.low > other.high && self.mean > other.mean * (1.0 + AGREE)
    }

    /// A doubt when two measurements of the same thing disagree.
    pub fn disagreement(&self, later: &Self, setting: &Setting) -> Option<Caveat> {
        (self.exceeds(later) || later.exceeds(self)).then(|| noisy(format!("the CPU time of {setting}"), self, later))
    }
}

/// The doubt about a thing that was measured twice.
pub fn noisy(what: String, first: &CpuPerHash, second: &CpuPerHash) -> Caveat {
    Caveat::Noisy {
        what,
        first: Millis::from_s(first.mean),
        second: Millis::from_s(second.mean),
    }
}

impl Load {
    /// Whether a hash should cost the same under both: they arrive alike, and as many are in flight.
    pub fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Single { .. }, Self::Single { .. }) => true,
            (Self::Burst { size: a, .. }, Self::Burst { size: b, .. }) => a == b,
            (Self::Closed { clients: a, .. }, Self::Closed { clients: b, .. }) => a == b,
            (Self::Open { .. }, Self::Open { .. }) => self == other,
            _ => false,
        }
    }
}

impl Measurement {
    /// Refuses figures of a clock that stood still: what follows from them would be endless logins a second.
    ///
    /// # Errors
    /// Which clock, and for how many hashes.
    pub(super) fn check_clocks(&self) -> Result<(), MeasureError> {
        let clock = if self.cpu_per_hash() > 0.0 { "wall" } else { "CPU" };
        if self.cpu_per_hash() > 0.0 && self.wall_s > 0.0 {
            return Ok(());
        }
        let hashes = self.samples.len();
        Err(MeasureError::Engine(format!(
            "the {clock} clock stood still during {hashes} hashes"
        )))
    }

    /// Each hash's own CPU seconds, in order, where a clock tells: with lanes the worker's misses nearly everything, but alone on
    /// the CPUs the wall time does as well.
    pub fn own_cpu(&self) -> Option<Vec<f64>> {
        if self.setting.lanes() == 1 {
            return Some(self.samples.iter().map(|s| s.thread_cpu).collect());
        }
        let alone = matches!(self.load, Load::Single { .. });
        alone.then(|| self.samples.iter().map(|s| s.finished - s.started).collect())
    }

    /// The hashes whose CPU time is far from what is usual in this run ([`OUTLIER`]), in seconds. They count like all others.
    pub fn outliers(&self) -> Vec<f64> {
        let own = self.own_cpu().filter(|own| own.len() >= USUAL).unwrap_or_default();
        let Some(usual) = stats::median(&own) else {
            return Vec::new();
        };
        own.into_iter()
            .filter(|x| *x > usual * OUTLIER || *x < usual / OUTLIER)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::steady;
    use super::*;

    fn with_cpu(cpu: impl Fn(u32) -> f64) -> Measurement {
        let mut m = steady(40);
        for (i, s) in (0..).zip(&mut m.samples) {
            s.thread_cpu = cpu(i);
        }
        m.cpu_s = m.samples.iter().map(|s| s.thread_cpu).sum();
        m
    }

    fn disagree(a: &Measurement, b: &Measurement) -> bool {
        let [a_cpu, b_cpu] = [a, b].map(|m| CpuPerHash::of(m).unwrap());
        a_cpu.disagreement(&b_cpu, &a.setting).is_some()
    }

    #[test]
    fn two_measurements_disagree_beyond_their_intervals_and_the_floor() {
        let of = |level: f64, noise: f64| with_cpu(|i| level * (1.0 + noise * f64::from(i / 8) - noise * 2.0));
        assert!(disagree(&of(0.010, 0.01), &of(0.011, 0.01)));
        assert!(disagree(&of(0.011, 0.01), &of(0.010, 0.01)));
        assert!(!disagree(&of(0.010, 0.01), &of(0.0104, 0.01)), "below the floor");
        assert!(!disagree(&of(0.010, 0.20), &of(0.0108, 0.20)), "within the intervals");
    }

    #[test]
    fn only_equal_crowds_are_the_same_load() {
        let closed = |clients, hashes| Load::Closed {
            clients,
            hashes,
            seconds: 1.0,
        };
        assert!(closed(2, 8).same_as(&closed(2, 48)));
        assert!(!closed(2, 8).same_as(&closed(3, 8)));
        assert!(Load::Single { hashes: 2 }.same_as(&Load::Single { hashes: 6 }));
        assert!(!Load::Single { hashes: 2 }.same_as(&closed(1, 2)));
        let burst = |size| Load::Burst { size, rounds: size };
        assert!(burst(2).same_as(&burst(2)) && !burst(2).same_as(&burst(3)));
        let open = |workers| Load::Open {
            arrivals: vec![0.0, 1.0],
            workers,
        };
        assert!(open(2).same_as(&open(2)) && !open(2).same_as(&open(1)));
    }

    #[test]
    fn one_bogus_fast_hash_moves_the_mean_by_no_more_than_its_share_and_shows() {
        let honest = with_cpu(|_| 0.010);
        let bogus = with_cpu(|i| if i == 7 { 0.000_1 } else { 0.010 });
        assert!(bogus.cpu_per_hash() > honest.cpu_per_hash() * (1.0 - 1.0 / 40.0));
        assert_eq!(bogus.outliers(), [0.000_1]);
        assert_eq!(bogus.samples.len(), 40, "it is kept");
        assert!(honest.outliers().is_empty());
        assert_eq!(with_cpu(|i| if i == 7 { 0.021 } else { 0.010 }).outliers(), [0.021]);
    }

    #[test]
    fn a_clock_that_stands_still_is_refused() {
        let said = |m: &Measurement| m.check_clocks().map_err(|e| e.to_string());
        assert_eq!(said(&steady(3)), Ok(()));
        let still = |clock: &str| Err(format!("the {clock} clock stood still during 3 hashes"));
        let cpu_s = [0.0, -1.0, f64::NAN];
        for cpu_s in cpu_s {
            assert_eq!(said(&Measurement { cpu_s, ..steady(3) }), still("CPU"), "{cpu_s}");
        }
        let m = Measurement {
            wall_s: 0.0,
            ..steady(3)
        };
        assert_eq!(said(&m), still("wall"));
        // The threads' clocks are a cross-check: where they miss the hashes, it shows.
        let mut m = steady(100);
        m.samples.iter_mut().for_each(|s| s.thread_cpu = 0.0);
        let doubts = super::super::caveats(&m, &super::super::Thresholds::new(2.0));
        assert_eq!(doubts.iter().map(Caveat::code).collect::<Vec<_>>(), ["generator-cpu"]);
        assert!(demands(&m, 0.010).iter().all(|x| *x == 0.010));
    }

    #[test]
    fn with_lanes_only_lone_hashes_tell() {
        let mut m = steady(10);
        m.setting = "argon2id:m=64,t=1,p=2".parse().unwrap();
        m.samples[0].finished += 0.030;
        assert_eq!(m.outliers().len(), 1);
        m.load = Load::Closed {
            clients: 2,
            hashes: 10,
            seconds: 1.0,
        };
        assert!(m.outliers().is_empty());
    }
}
