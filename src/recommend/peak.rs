//! The run at the peak: Poisson arrivals on a schedule chosen to be typical, and what they tell.

use super::confirm::{ARRIVALS, Basis, Confirmed, Evidence, Offer, endless, lone_wall, max_queued, out_of_time};
use super::search::Proposal;
use super::session::Session;
use crate::caveat::Caveat;
use crate::measure::{Load, MeasureError, Measurement, PeakMemory, Thresholds, demands};
use crate::queue::{self, Interval};
use crate::units::Millis;
use crate::verdict::Cost;

/// Half width of the interval, relative to the quantile, from which on it is called wide.
const WIDE: f64 = 0.15;
/// Times its own length that must be left for a run that missed to be repeated: for it, and for the next proposal's.
const ROOM: f64 = 2.5;

/// What a run at the peak is about.
struct Peak<'a> {
    proposal: &'a Proposal,
    lone: &'a Measurement,
    offer: Offer,
    memory: PeakMemory,
}

impl Session<'_> {
    /// Measures a proposal at the offered rate. A miss is measured once more where hashes were dearer than with every CPU busy, or did
    /// not get the CPU time that they were due: one burst of somebody else's work must not cost the service half of its strength.
    pub(super) fn measure_at(
        &mut self,
        proposal: &Proposal,
        lone: &Measurement,
        offer: Offer,
        memory: PeakMemory,
    ) -> Result<Confirmed, MeasureError> {
        let station = self.planner.station(&proposal.cost, proposal.workers);
        let pool = demands(lone, proposal.cost.loaded_s);
        let (q, seed) = (self.request.budget.quantile, self.request.seed);
        let schedule = queue::choose_schedule(&station, offer.rate, offer.arrivals, &pool, q, seed);
        let Some(schedule) = schedule else {
            return Ok(out_of_time("a schedule of arrivals"));
        };
        let load = Load::Open {
            arrivals: schedule.arrivals,
            workers: proposal.workers,
        };
        let peak = Peak {
            proposal,
            lone,
            offer,
            memory,
        };
        let (setting, rate) = (&proposal.setting, offer.rate);
        self.stage(&format!("{setting} at {rate}/s"), offer.arrivals as f64 / rate);
        let (run, taken_again) = self.undisturbed(setting, &load)?;
        let judged = self.judge_run(&peak, &run);
        if !matches!(judged, Confirmed::No(_)) || taken_again || self.remaining_s() <= ROOM * run.wall_s {
            return Ok(judged);
        }
        let Some(why) = self.excuse(&run) else {
            return Ok(judged);
        };
        self.observer.note(&format!("{why}: measuring once more"));
        let again = self.world.measure(setting, &load)?;
        let cpus = self.request.usable_cpus;
        // What a hash keeps a CPU for: its own time, and what held it up.
        let taken = |run: &Measurement| run.cpu_per_hash() / (1.0 - run.lost(cpus).share);
        Ok(if taken(&again) < taken(&run) {
            self.judge_run(&peak, &again)
        } else {
            judged
        })
    }

    /// Why a run that missed may not be the setting's fault.
    fn excuse(&self, run: &Measurement) -> Option<&'static str> {
        if self.dearer_at_the_peak(run).is_some() {
            return Some("hashes cost more at the peak than with every CPU busy before");
        }
        let cpus = self.request.usable_cpus;
        let held_up = run.lost(cpus).share > Thresholds::new(cpus).lost;
        held_up.then_some("hashes at the peak waited for CPUs that should have been free")
    }

    /// What one run tells: the interval of the long-run quantile, beside the ceiling.
    fn judge_run(&mut self, peak: &Peak, run: &Measurement) -> Confirmed {
        let (proposal, offer, budget) = (peak.proposal, peak.offer, self.request.budget);
        if run.samples.len() < offer.arrivals {
            return out_of_time("all arrivals at the peak");
        }
        let station = self.planner.station(&proposal.cost, proposal.workers);
        let arrivals: Vec<f64> = run.samples.iter().map(|s| s.scheduled).collect();
        let seen = queue::Run {
            arrivals: &arrivals,
            latencies: &run.latencies(),
            cpu: &demands(run, run.cpu_per_hash()),
            rate: offer.rate,
        };
        let latency = queue::interval(&station, &seen, budget.quantile, self.request.seed, queue::RESAMPLES);
        self.doubt(&proposal.setting, &run.caveats);
        self.compare(run);
        // The dearer of the two measurements counts: the closed loop's, as it was measured, and this one's.
        let before = self.model.as_measured(&proposal.setting).unwrap_or(proposal.cost);
        let cost = Cost {
            loaded_s: before.loaded_s.max(run.cpu_per_hash()),
            ..before
        };
        let drift = cost.loaded_s / before.loaded_s;
        let Some(latency) = latency else {
            return endless(drift);
        };
        let ceiling = self.planner.ceiling(&cost, proposal.workers);
        let evidence = Evidence {
            basis: Basis::Measured,
            rate_per_s: offer.rate,
            latency,
            single_s: lone_wall(peak.lone),
            cost,
            ceiling,
            peak_memory: peak.memory.clone(),
            arrivals: run.samples.len(),
            seconds: run.wall_s,
            refused: refused(run, proposal.workers, max_queued(&ceiling, &budget, proposal.workers)),
        };
        let predicted = self.planner.latency(&cost, proposal.workers, offer.rate);
        let doubts = interval_doubts(&evidence.latency, evidence.arrivals);
        let judged = self.judge(evidence, predicted, drift);
        if matches!(judged, Confirmed::Yes(_)) {
            self.doubt(&proposal.setting, &doubts);
        }
        judged
    }
}

/// What the interval and the number of arrivals leave open.
fn interval_doubts(latency: &Interval, arrivals: usize) -> Vec<Caveat> {
    let mut doubts = Vec::new();
    if (arrivals as f64) < ARRIVALS {
        doubts.push(Caveat::TooFewArrivals {
            arrivals,
            wanted: ARRIVALS as usize,
        });
    }
    if latency.half_width() > WIDE && latency.high.is_finite() {
        doubts.push(Caveat::WideInterval {
            low: Millis::from_s(latency.low),
            high: Millis::from_s(latency.high),
        });
    }
    doubts
}

/// Arrivals that would have found the bound reached.
fn refused(run: &Measurement, workers: u32, max_queued: u32) -> usize {
    let arrivals: Vec<f64> = run.samples.iter().map(|s| s.scheduled).collect();
    let ends: Vec<f64> = run.samples.iter().map(|s| s.finished).collect();
    queue::refused_by_bound(&arrivals, &ends, workers, max_queued)
}
