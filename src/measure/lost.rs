//! CPU time that hashes could have had and did not get.

use super::{Load, Measurement, Sample};
use crate::queue;

/// What a login may take to wake its worker, in seconds: the kernel's timer slack is 50 us, and a CPU has to leave its idle state.
const WAKE_S: f64 = 0.000_1;

/// CPU time that a run's hashes were due on free CPUs and did not get, whoever had it: other processes, or a hypervisor that takes a
/// CPU away without counting it as stolen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lost {
    /// CPU seconds.
    pub seconds: f64,
    /// The same as a share of what they were due.
    pub share: f64,
}

impl Measurement {
    /// What was lost of `cpus` CPUs; none where that cannot be told: with several lanes, whose threads wait for each other, and when a
    /// quota stopped the process. Under a quota that did not, some of it may be missed.
    pub fn lost(&self, cpus: f64) -> Lost {
        if self.setting.lanes() > 1 || self.disturbance.throttled_periods > 0 {
            return Lost::default();
        }
        // A hash is in flight from when it should have started: a CPU that comes late is lost as well.
        let in_flight = |s: &Sample| (s.started - s.lateness, s.finished);
        let spans: Vec<(f64, f64)> = self.samples.iter().map(in_flight).collect();
        let due: f64 = queue::due(&spans, cpus).iter().sum();
        let waking = match self.load {
            Load::Open { .. } => WAKE_S * self.samples.len() as f64,
            _ => 0.0,
        };
        let seconds = (due - self.cpu_s - waking).max(0.0);
        let share = if due > 0.0 { seconds / due } else { 0.0 };
        Lost { seconds, share }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::steady;
    use super::*;

    #[test]
    fn free_cpus_that_did_not_work_are_lost() {
        let mut m = steady(40);
        assert!(m.lost(2.0).share < 1e-9, "{}", m.lost(2.0).share);
        // Each hash ends 2.5 ms late.
        m.samples.iter_mut().for_each(|s| s.finished += 0.002_5);
        assert!((m.lost(2.0).share - 0.2).abs() < 1e-9);
        // ... or begins so.
        let mut m = steady(40);
        for s in &mut m.samples {
            s.started += 0.002_5;
            s.lateness += 0.002_5;
            s.finished += 0.002_5;
        }
        assert!((m.lost(2.0).share - 0.2).abs() < 1e-9);
        m.disturbance.throttled_periods = 1;
        assert_eq!(m.lost(2.0).share, 0.0, "the quota's doing");
    }

    #[test]
    fn hashes_that_share_the_cpus_lose_nothing() {
        let mut m = steady(3);
        for (worker, s) in (0..).zip(&mut m.samples) {
            *s = Sample {
                finished: 0.030,
                worker,
                ..Sample::default()
            };
        }
        m.cpu_s = 0.060;
        assert!(m.lost(2.0).share < 1e-9);
        assert!(
            (m.lost(3.0).share - 1.0 / 3.0).abs() < 1e-9,
            "an idle CPU is one that they were due"
        );
        m.setting = "argon2id:m=65536,t=1,p=2".parse().unwrap();
        assert_eq!(m.lost(3.0).share, 0.0, "lanes wait for each other");
    }
}
