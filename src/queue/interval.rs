//! An interval for the long-run quantile, from one run. The method, its coverage and what was tried before it:
//! `docs/interval.md`.

use super::due::HeldUp;
use super::long_run::{LONG, MAX_LOAD, Pattern, SHORT};
use super::schedule::{latencies_on, quantile_of};
use super::{Station, fitted_alone_ratio, loaded_demands, long_run_quantile};
use crate::arrivals::{derive, generator};
use crate::stats::{mean, quantile_in_place};
use rand_chacha::rand_core::Rng;

/// Share of the resampled quantiles left out at either end.
const TAIL: f64 = 0.02;
/// Widening at either end: what the simulation's fixed pattern of arrivals may be off (see `long_run`).
const PATTERN_ERROR: f64 = 0.02;
/// Blocks in a resample. So few that each spans a tenth of the run: what disturbs service times lasts for seconds.
const BLOCKS: usize = 10;
/// Resamples that settle the tails; more narrow the interval no further.
pub const RESAMPLES: usize = 99;

/// A measured run at a steady rate.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Arrivals per second that the schedule offered.
    pub rate: f64,
    /// The schedule: instants in seconds, ascending.
    pub arrivals: &'a [f64],
    /// Seconds from arrival to end, in the same order.
    pub latencies: &'a [f64],
    /// CPU seconds that each hash took (without the rest of the login), in the same order.
    pub cpu: &'a [f64],
}

/// Where the long-run quantile of latency lies, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// It is not below this.
    pub low: f64,
    /// It is not above this; infinite when the run cannot exclude a load that never settles.
    pub high: f64,
    /// The single best value.
    pub estimate: f64,
}

impl Interval {
    /// Half the interval's width relative to the estimate.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.estimate
    }
}

/// The long-run quantile `q` from a run of the station, with an interval that covers it in at least 90 % of simulated runs.
///
/// The run's service times, with what held them up beside their CPU time, are simulated in the long run; the outcome is scaled by
/// what was measured over what the simulation makes of the run itself. The interval comes from doing the same with the run resampled in blocks, service times and
/// latencies alike, `resamples` times ([`RESAMPLES`] suffice). It takes less than 100 ms for a run of up to
/// 2,200 arrivals, even unoptimised.
///
/// `None` when the run is empty or its parts differ in length, and when the service times amount to a load of
/// [`MAX_LOAD`] or more: there is no long-run quantile.
pub fn interval(station: &Station, run: &Run, q: f64, seed: u64, resamples: usize) -> Option<Interval> {
    let n = run.arrivals.len();
    if n == 0 || run.latencies.len() != n || run.cpu.len() != n {
        return None;
    }
    // Time that a hash waits for a CPU which should be free is time in which that CPU serves nobody else of us.
    let held_up = HeldUp::of(station, run);
    let factor = |logins: &[usize]| held_up.as_ref().map_or(1.0, |h| h.factor(logins));
    let all: Vec<usize> = (0..n).collect();
    let usual = factor(&all);
    let run = &Run {
        cpu: &run.cpu.iter().map(|cpu| cpu * usual).collect::<Vec<_>>(),
        ..*run
    };
    let station = &Station {
        app_cpu: station.app_cpu * usual,
        ..*station
    };
    // As the run shows it rather than as told: an error of 0.1 would halve the coverage at low load.
    let station = &Station {
        alone_ratio: fitted_alone_ratio(station, run).unwrap_or(station.alone_ratio),
        ..*station
    };
    let demands = loaded_demands(station, run.arrivals, run.cpu);
    let simulated = latencies_on(station, run.arrivals, &demands);
    let scale = |logins: &[usize]| {
        let phases = simulated.iter().map(|phase| pick(phase, logins)).collect();
        Some(quantile_in_place(&mut pick(run.latencies, logins), q)? / quantile_of(phases, q)?)
    };
    let long_run = long_run_quantile(station, run.rate, &demands, q)?;
    let estimate = scale(&all)? * long_run;

    let pattern = if n <= SHORT.arrivals() { SHORT } else { LONG };
    let same = pattern.quantile(station, run.rate, &demands, q)?;
    let mut worlds: Vec<f64> = (0..resamples.max(1) as u64)
        .map(|i| {
            let logins = resample(n, derive(seed, i));
            let more = factor(&logins) / usual;
            let station = Station {
                app_cpu: station.app_cpu * more,
                ..*station
            };
            let demands: Vec<f64> = logins.iter().map(|i| demands[*i] * more).collect();
            Some(scale(&logins)? * long_run * relative(pattern, &station, run.rate, &demands, q, same))
        })
        .collect::<Option<_>>()?;
    Some(Interval {
        low: quantile_in_place(&mut worlds, TAIL)?.min(estimate) * (1.0 - PATTERN_ERROR),
        high: quantile_in_place(&mut worlds, 1.0 - TAIL)?.max(estimate) * (1.0 + PATTERN_ERROR),
        estimate,
    })
}

/// The quantile with these service times, over `same`, that of the run's own. Infinite where it would not settle.
fn relative(pattern: Pattern, station: &Station, rate: f64, demands: &[f64], q: f64, same: f64) -> f64 {
    if mean(demands).is_none_or(|mean| station.load(rate, mean) >= MAX_LOAD) {
        return f64::INFINITY;
    }
    pattern
        .quantile(station, rate, demands, q)
        .map_or(f64::INFINITY, |quantile| quantile / same)
}

fn pick(values: &[f64], which: &[usize]) -> Vec<f64> {
    which.iter().map(|&i| values[i]).collect()
}

/// As many of `0..n`, in blocks of neighbours whose starts are drawn with replacement and which wrap around
/// (circular block bootstrap; Politis and Romano, 1992).
#[allow(clippy::cast_possible_truncation)]
fn resample(n: usize, seed: u64) -> Vec<usize> {
    let block = n.div_ceil(BLOCKS);
    let mut rng = generator(seed);
    let mut drawn = Vec::with_capacity(n + block);
    while drawn.len() < n {
        let start = (rng.next_u64() % n as u64) as usize;
        drawn.extend((0..block).map(|i| (start + i) % n));
    }
    drawn.truncate(n);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Cpus, choose_schedule, latencies, simulate};

    fn station() -> Station {
        let quota = None;
        Station::plain(2, Cpus { affinity: 2, quota })
    }

    #[test]
    fn resamples_keep_neighbours() {
        let drawn = resample(100, 4);
        assert_eq!(drawn.len(), 100);
        for block in drawn.chunks(10) {
            for (i, value) in block.iter().enumerate() {
                assert_eq!((block[0] + i) % 100, *value);
            }
        }
        assert_ne!(drawn, resample(100, 5));
        assert_eq!(resample(1, 1), [0]);
    }

    #[test]
    fn an_interval_holds_its_estimate_and_follows_what_was_measured() {
        let cpu: Vec<f64> = (0..200).map(|i| 0.1 + 0.01 * f64::from(i % 7)).collect();
        let schedule = choose_schedule(&station(), 10.0, 200, &cpu, 0.95, 1).unwrap();
        let arrivals = &schedule.arrivals;
        let seen = latencies(arrivals, &simulate(&station(), arrivals, &cpu));
        let (rate, cpu) = (10.0, &cpu[..]);
        let of = |latencies: &[f64]| {
            let run = Run {
                rate,
                arrivals,
                latencies,
                cpu,
            };
            interval(&station(), &run, 0.95, 2, 20).unwrap()
        };
        let exact = of(&seen);
        assert!(exact.low < exact.estimate && exact.estimate < exact.high);
        assert!(exact.half_width() < 0.1, "{exact:?}");
        assert!((exact.estimate / schedule.long_run.unwrap() - 1.0).abs() < 1e-9);
        // Hashes are held up: what they lose is load.
        let held_up: Vec<f64> = cpu.iter().map(|c| c * 1.1).collect();
        let slower = of(&latencies(arrivals, &simulate(&station(), arrivals, &held_up)));
        let truth = long_run_quantile(&station(), rate, &held_up, 0.95).unwrap();
        assert!((slower.estimate / truth - 1.0).abs() < 1e-6, "{slower:?} {truth}");
        assert!(slower.estimate > 1.2 * exact.estimate, "{slower:?} {exact:?}");
        assert!(slower.half_width() < 1.5 * exact.half_width(), "{slower:?} {exact:?}");
        // For a quarter of the run only: how long that lasts in the long run is anybody's guess.
        let slowed = |(i, s): (usize, &f64)| if (100..150).contains(&i) { s * 1.3 } else { *s };
        let partly = of(&seen.iter().enumerate().map(slowed).collect::<Vec<_>>());
        assert!(partly.half_width() > 1.5 * exact.half_width(), "{partly:?} {exact:?}");
    }

    #[test]
    fn no_interval_without_a_long_run() {
        let (arrivals, latencies, cpu) = ([0.0, 0.1], [0.2, 0.3], [0.2, 0.2]);
        let mut run = Run {
            rate: 20.0,
            arrivals: &arrivals,
            latencies: &latencies,
            cpu: &cpu,
        };
        assert_eq!(interval(&station(), &run, 0.95, 1, 9), None);
        run.rate = 1.0;
        assert!(interval(&station(), &run, 0.95, 1, 9).is_some());
        run.cpu = &cpu[1..];
        assert_eq!(interval(&station(), &run, 0.95, 1, 9), None);
    }
}
