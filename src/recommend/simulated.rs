//! A peak too low to measure, simulated from hashes measured alone and in pairs.

use super::confirm::{Basis, Confirmed, Evidence, endless, lone_wall, out_of_time};
use super::search::Proposal;
use super::session::Session;
use crate::caveat::Caveat;
use crate::measure::{Load, MeasureError, Measurement, PeakMemory, demands};
use crate::queue::{self, Interval, Station};
use crate::verdict::Cost;

/// Hashes taken alone where the peak is simulated: as many as time allows, within these bounds.
const LONE_HASHES: (u32, u32) = (20, 60);
/// Bursts of two beside them.
const BURSTS: u32 = 4;
/// What a simulated quantile may be off at either side, as measured against open-loop runs (`docs/accuracy.md`).
const SIMULATION_ERROR: f64 = 0.1;

impl Session<'_> {
    /// The peak simulated from lone hashes and pairs, where too few logins arrive to measure it.
    pub(super) fn simulate_peak(
        &mut self,
        proposal: &Proposal,
        lone: &Measurement,
        peak_memory: PeakMemory,
    ) -> Result<Confirmed, MeasureError> {
        let budget = self.request.budget;
        let hashes = self.lone_hashes(mean_wall(lone));
        let expected_s = f64::from(hashes + 2 * BURSTS) * mean_wall(lone);
        if expected_s > self.remaining_s() {
            return Ok(out_of_time(&format!("{hashes} hashes of {:.2} s", mean_wall(lone))));
        }
        self.stage(&format!("{} alone and in pairs", proposal.setting), expected_s);
        let (singles, _) = self.undisturbed(&proposal.setting, &Load::Single { hashes })?;
        if singles.samples.len() < hashes as usize {
            return Ok(out_of_time(&format!("{hashes} hashes alone")));
        }
        let pairs = self.world.measure(
            &proposal.setting,
            &Load::Burst {
                size: 2,
                rounds: BURSTS,
            },
        )?;
        self.doubt(&proposal.setting, &singles.caveats);
        self.doubt(&proposal.setting, &pairs.caveats);
        self.compare(&singles);
        let peak = budget.peak;
        let hashes = singles.samples.len();
        self.doubt(&proposal.setting, &[Caveat::SimulatedPeak { peak, hashes }]);
        let loaded_s = pairs.cpu_per_hash().max(singles.cpu_per_hash());
        let cost = Cost {
            loaded_s,
            alone_ratio: singles.cpu_per_hash() / loaded_s,
            lanes: proposal.cost.lanes,
        };
        let station = self.planner.station(&cost, proposal.workers);
        // A CPU that comes late serves nobody else meanwhile.
        let lost = singles.lost(self.request.usable_cpus).share;
        let pool = demands(&singles, loaded_s / (1.0 - lost));
        let Some(latency) = simulated(&station, peak.per_s(), &pool, budget.quantile) else {
            return Ok(endless(1.0));
        };
        let evidence = Evidence {
            basis: Basis::Simulated,
            rate_per_s: peak.per_s(),
            latency,
            single_s: lone_wall(&singles),
            cost,
            ceiling: self.planner.ceiling(&cost, proposal.workers),
            peak_memory,
            arrivals: singles.samples.len(),
            seconds: singles.wall_s,
            refused: 0,
        };
        let predicted = self.planner.latency(&proposal.cost, proposal.workers, peak.per_s());
        Ok(self.judge(evidence, predicted, 1.0))
    }

    /// Hashes of `wall_s` seconds to take alone: what half of the time left allows. The rest is for another proposal.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn lone_hashes(&self, wall_s: f64) -> u32 {
        let (least, most) = LONE_HASHES;
        ((0.5 * self.remaining_s() / wall_s) as u32).clamp(least, most)
    }
}

/// The quantile at a rate that was not measured: as the lone hashes say, and with their mean wrong by two standard errors.
fn simulated(station: &Station, rate: f64, pool: &[f64], q: f64) -> Option<Interval> {
    let error = 2.0 * relative_error(pool);
    let at = |factor: f64| {
        let scaled: Vec<f64> = pool.iter().map(|x| x * factor).collect();
        queue::long_run_quantile(station, rate, &scaled, q)
    };
    Some(Interval {
        low: at(1.0 - error)? * (1.0 - SIMULATION_ERROR),
        high: at(1.0 + error)? * (1.0 + SIMULATION_ERROR),
        estimate: at(1.0)?,
    })
}

/// Standard error of the mean of independent hashes, as a share of it.
fn relative_error(pool: &[f64]) -> f64 {
    let n = pool.len() as f64;
    let mean = pool.iter().sum::<f64>() / n;
    let variance = pool.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (variance / n).sqrt() / mean
}

fn mean_wall(lone: &Measurement) -> f64 {
    lone.samples.iter().map(|s| s.finished - s.started).sum::<f64>() / lone.samples.len() as f64
}
