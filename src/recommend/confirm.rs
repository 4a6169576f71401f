//! A proposal measured at the peak, or simulated from its measured hashes where the peak is too low to measure.

use super::Effort;
use super::plan::AIM;
use super::search::Proposal;
use super::session::Session;
use crate::caveat::Caveat;
use crate::measure::{MeasureError, Measurement, PeakMemory};
use crate::queue::Interval;
use crate::units::{Bytes, Millis, Rate};
use crate::verdict::{self, Ceiling, Cost, Limit, Verdict};

/// Fewest arrivals that tell a quantile.
pub(super) const ARRIVALS: f64 = 200.0;
/// Fewest seconds of arrivals.
const SECONDS: f64 = 10.0;
/// Most seconds of arrivals, and the share of the time limit that they may take.
const SLICE_S: f64 = 20.0;
const SLICE_SHARE: f64 = 0.34;

/// Where the latency at the peak comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Hashes under Poisson arrivals at the peak's rate or above it.
    Measured,
    /// A simulation of the peak from hashes measured alone and in pairs.
    Simulated,
}

impl Basis {
    /// The name used in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Simulated => "simulated",
        }
    }
}

/// What was measured of one setting. Times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Where the latency comes from.
    pub basis: Basis,
    /// The rate that was offered.
    pub rate_per_s: f64,
    /// The quantile of latency, with its interval.
    pub latency: Interval,
    /// Median wall time of a lone hash.
    pub single_s: f64,
    /// CPU cost.
    pub cost: Cost,
    /// Most logins a second.
    pub ceiling: Ceiling,
    /// The high-water mark of the hashes in flight.
    pub peak_memory: PeakMemory,
    /// Arrivals (or lone hashes) measured.
    pub arrivals: usize,
    /// Seconds that they took.
    pub seconds: f64,
    /// Arrivals that the queue bound would have refused.
    pub refused: usize,
}

/// A proposal that was measured and does not fit.
#[derive(Debug, Clone)]
pub struct Missed {
    /// Why.
    pub verdict: Verdict,
    /// Measured over predicted latency, at least 1; the prediction is the one for the CPU time that was seen.
    pub factor: f64,
    /// The quantile of latency that was seen, in seconds.
    pub latency_s: Option<f64>,
    /// CPU time of a hash at the peak over what was measured before, at least 1.
    pub drift: f64,
}

/// What became of a proposal.
pub enum Confirmed {
    /// Measured, and fits.
    Yes(Box<Evidence>),
    /// Measured, and does not fit.
    No(Missed),
    /// Not told.
    Unknown {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
}

/// The measurement at the peak: how fast, how many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Offer {
    pub(super) rate: f64,
    pub(super) arrivals: usize,
}

fn offer(peak: Rate, time_limit_s: f64, effort: Effort) -> Offer {
    let share = match effort {
        Effort::Full => 1.0,
        Effort::Quick => 0.5,
    };
    let slice_s = (share * SLICE_S).min(SLICE_SHARE * time_limit_s);
    let wanted = (peak.per_s() * (share * SECONDS).min(slice_s))
        .max(share * ARRIVALS)
        .ceil();
    Offer {
        rate: peak.per_s().max(wanted / slice_s),
        arrivals: wanted as usize,
    }
}

impl Session<'_> {
    /// Measures a proposal at the peak.
    pub(super) fn confirm(&mut self, proposal: &Proposal, lone: &Measurement) -> Result<Confirmed, MeasureError> {
        let peak_memory = self.peak_memory(proposal)?;
        if let Some(missed) = self.memory_missed(&peak_memory) {
            return Ok(Confirmed::No(missed));
        }
        let offer = offer(self.request.budget.peak, self.request.time_limit_s, self.request.effort);
        let peak = self.request.budget.peak.per_s();
        if offer.rate > peak * 1.001 && !self.proves_at(proposal, offer.rate) {
            return self.simulate_peak(proposal, lone, peak_memory);
        }
        let seconds = offer.arrivals as f64 / offer.rate;
        if self.remaining_s() < seconds {
            return Ok(out_of_time(&format!("{seconds:.0} s of arrivals at the peak")));
        }
        match self.measure_at(proposal, lone, offer, peak_memory.clone())? {
            // Too slow at a rate above the peak says nothing about the peak.
            Confirmed::No(_) if offer.rate > peak * 1.001 => self.simulate_peak(proposal, lone, peak_memory),
            decided => Ok(decided),
        }
    }

    /// Whether the setting should fit even at a rate above the peak; fitting there proves the peak.
    fn proves_at(&mut self, proposal: &Proposal, rate: f64) -> bool {
        let limit = AIM * self.request.budget.latency.as_s();
        self.planner
            .latency(&proposal.cost, proposal.workers, rate)
            .is_some_and(|l| l <= limit)
    }

    fn peak_memory(&mut self, proposal: &Proposal) -> Result<PeakMemory, MeasureError> {
        self.stage("peak memory", 1.0);
        let held = Bytes(proposal.setting.memory_cost().0 * u64::from(proposal.workers));
        match self.world.peak_memory(&proposal.setting, proposal.workers) {
            // The kernel adds VmHWM up from counters per CPU: of a small hash little may be left.
            Ok(peak) if peak.bytes < held => {
                let why = format!("the high-water mark says {}, less than the parameters", peak.bytes);
                Ok(PeakMemory {
                    bytes: held,
                    caveats: vec![Caveat::MemoryApproximate { why }],
                    ..peak
                })
            }
            Err(MeasureError::Engine(why)) => {
                let mut budget = self.request.budget;
                budget.idle_memory = Bytes(0);
                let bytes = verdict::memory(&proposal.setting, proposal.workers, &budget);
                let caveats = vec![Caveat::MemoryApproximate { why }];
                Ok(PeakMemory {
                    bytes,
                    source: "estimate".into(),
                    caveats,
                    ..PeakMemory::default()
                })
            }
            other => other,
        }
    }

    fn memory_missed(&self, peak_memory: &PeakMemory) -> Option<Missed> {
        let allowed = self.request.budget.hash_memory();
        let by = peak_memory.bytes.as_f64() / allowed.as_f64();
        let reason = format!(
            "measured peak memory {} is over the {allowed} left for hashes",
            peak_memory.bytes
        );
        (by > 1.0).then_some(Missed {
            verdict: Verdict::Exceeds {
                limit: Limit::Memory,
                by,
                reason,
            },
            factor: 1.0,
            latency_s: None,
            drift: 1.0,
        })
    }

    /// Whether the interval's upper end, the ceiling and the memory keep the budget.
    pub(super) fn judge(&self, evidence: Evidence, predicted_s: Option<f64>, drift: f64) -> Confirmed {
        let budget = &self.request.budget;
        let seen = &evidence.latency;
        let basis = format!(
            "{} {}; the interval's upper end for",
            evidence.basis.name(),
            Millis::from_s(seen.estimate)
        );
        let limits = [
            verdict::peak_verdict(&evidence.ceiling, budget, self.request.usable_cpus),
            verdict::latency_verdict(Some(seen.high), &basis, budget),
        ];
        match limits.into_iter().flatten().next() {
            None => Confirmed::Yes(Box::new(evidence)),
            Some(verdict) => {
                let factor = predicted_s.map_or(1.0, |predicted| (seen.high / predicted).max(1.0));
                let factor = if factor.is_finite() { factor } else { 1.0 };
                Confirmed::No(Missed {
                    verdict,
                    factor,
                    latency_s: Some(seen.estimate),
                    drift,
                })
            }
        }
    }
}

pub(super) fn out_of_time(what: &str) -> Confirmed {
    Confirmed::Unknown {
        why: format!("the time limit leaves no room for {what}"),
        hint: "raise --time-limit, or leave out --quick".into(),
    }
}

/// Median wall time of lone hashes.
pub(super) fn lone_wall(lone: &Measurement) -> f64 {
    let mut walls: Vec<f64> = lone.samples.iter().map(|s| s.finished - s.started).collect();
    walls.sort_by(f64::total_cmp);
    walls[walls.len() / 2]
}

/// `floor(ceiling x budget) - workers`: the last admitted login still keeps the budget.
pub fn max_queued(ceiling: &Ceiling, budget: &crate::budget::Budget, workers: u32) -> u32 {
    let admitted = (ceiling.per_s() * budget.latency.as_s()).floor() as u32;
    admitted.saturating_sub(workers)
}

/// A queue that does not settle: the proposal is far too slow, with hashes `drift` times as dear as before.
pub(super) fn endless(drift: f64) -> Confirmed {
    let why = "the queue would grow without end".into();
    Confirmed::No(Missed {
        verdict: Verdict::Undecided { why },
        factor: 1.5,
        latency_s: None,
        drift: drift.max(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_peak_is_measured_at_the_lowest_rate_that_gives_enough_arrivals() {
        let at = |per_s: f64| offer(Rate::new(per_s).unwrap(), 60.0, Effort::Full);
        assert_eq!(
            at(20.0),
            Offer {
                rate: 20.0,
                arrivals: 200
            }
        );
        assert_eq!(
            at(100.0),
            Offer {
                rate: 100.0,
                arrivals: 1000
            }
        );
        assert_eq!(
            at(2.0),
            Offer {
                rate: 10.0,
                arrivals: 200
            }
        );
    }
}
