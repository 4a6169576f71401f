//! A schedule chosen to be typical.

use super::long_run::repeat;
use super::{Station, latencies, long_run_quantile, simulate};
use crate::arrivals::{derive, poisson};
use crate::stats::{mean, quantile_in_place};

/// How near the long-run quantile a chosen schedule's own should be, as a share of it.
const NEAR: f64 = 0.03;
/// Schedules to draw at most. At 80 % load about one in eight is near.
const TRIES: u64 = 200;

/// Phases of a quota's period that stand for all, as shares of it.
const PHASES: [f64; 4] = [0.125, 0.375, 0.625, 0.875];

/// Arrivals for a measurement, and what is known about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Instants in seconds from the start, ascending.
    pub arrivals: Vec<f64>,
    /// The quantile of latency, in seconds, simulated on exactly these arrivals.
    pub simulated_quantile: f64,
    /// The long-run quantile, in seconds, that it should be near; `None` when the load is too high to settle.
    pub long_run: Option<f64>,
}

impl Schedule {
    /// How far the schedule's own quantile is off, as a share of the long-run one.
    pub fn off(&self) -> Option<f64> {
        self.long_run.map(|long| self.simulated_quantile / long - 1.0)
    }

    /// Whether it is as near as it should be.
    pub fn is_typical(&self) -> bool {
        self.off().is_some_and(|off| off.abs() <= NEAR)
    }
}

/// Chooses `n` arrivals at `rate` per second whose simulated quantile `q` is within 3 % of the long-run one.
///
/// Random schedules alone move a p95 by 15 to 29 %. So fixed-n Poisson schedules are drawn from the seed until one is
/// typical at the predicted service times (`pool`, loaded CPU seconds); when 200 are not, the nearest is returned and
/// says how far [`off`](Schedule::off) it is. `None` without a pool or with `n` of zero. Above
/// [`MAX_LOAD`](super::MAX_LOAD) nothing is typical and the first schedule is returned.
pub fn choose_schedule(station: &Station, rate: f64, n: usize, pool: &[f64], q: f64, seed: u64) -> Option<Schedule> {
    let long_run = long_run_quantile(station, rate, pool, q);
    let mut best: Option<Schedule> = None;
    for attempt in 0..TRIES {
        let next = draw(station, rate, n, pool, q, derive(seed, attempt))?;
        let next = Schedule { long_run, ..next };
        let nearer = best.as_ref().is_none_or(|best| next.distance() < best.distance());
        if nearer {
            best = Some(next);
        }
        if long_run.is_none() || best.as_ref().is_some_and(Schedule::is_typical) {
            break;
        }
    }
    best
}

impl Schedule {
    fn distance(&self) -> f64 {
        self.off().unwrap_or(f64::INFINITY).abs()
    }
}

fn draw(station: &Station, rate: f64, n: usize, pool: &[f64], q: f64, seed: u64) -> Option<Schedule> {
    if pool.is_empty() {
        return None;
    }
    let arrivals = poisson(seed, rate, n);
    let simulated_quantile = quantile_of(latencies_on(station, &arrivals, &repeat(pool, n)), q)?;
    Some(Schedule {
        arrivals,
        simulated_quantile,
        long_run: None,
    })
}

/// The latencies on these arrivals; with a quota once for each of several phases of its period, since nobody knows the phase a run
/// will meet.
pub(super) fn latencies_on(station: &Station, arrivals: &[f64], demands: &[f64]) -> Vec<Vec<f64>> {
    let at_phase = |phase: f64| {
        let shifted: Vec<f64> = arrivals.iter().map(|t| t + phase).collect();
        latencies(&shifted, &simulate(station, &shifted, demands))
    };
    match station.cpus.quota {
        None => vec![at_phase(0.0)],
        Some(quota) => PHASES.iter().map(|share| at_phase(share * quota.period_s)).collect(),
    }
}

/// The mean of the phases' quantiles.
pub(super) fn quantile_of(phases: Vec<Vec<f64>>, q: f64) -> Option<f64> {
    let quantiles: Option<Vec<f64>> = phases
        .into_iter()
        .map(|mut phase| quantile_in_place(&mut phase, q))
        .collect();
    mean(&quantiles?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Cpus;

    #[test]
    fn a_chosen_schedule_is_typical() {
        for (workers, rate) in [(1, 8.0), (2, 16.0), (9, 16.0), (2, 6.0)] {
            let quota = None;
            let station = Station::plain(workers, Cpus { affinity: 2, quota });
            let schedule = choose_schedule(&station, rate, 200, &[0.1], 0.95, 1).unwrap();
            assert!(schedule.is_typical(), "{workers} at {rate}: {:?}", schedule.off());
            assert_eq!(schedule.arrivals.len(), 200);
            let again = choose_schedule(&station, rate, 200, &[0.1], 0.95, 1).unwrap();
            assert_eq!(schedule, again);
        }
    }

    #[test]
    fn nothing_is_typical_of_a_queue_that_grows() {
        let quota = None;
        let station = Station::plain(2, Cpus { affinity: 2, quota });
        let schedule = choose_schedule(&station, 30.0, 200, &[0.1], 0.95, 1).unwrap();
        assert_eq!((schedule.long_run, schedule.is_typical()), (None, false));
        assert_eq!(choose_schedule(&station, 30.0, 0, &[0.1], 0.95, 1), None);
        assert_eq!(choose_schedule(&station, 30.0, 200, &[], 0.95, 1), None);
    }
}
