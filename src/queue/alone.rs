//! What a hash costs when CPUs beside it are idle: taken out of measured CPU times.

use super::{Run, Station, simulate};
use crate::stats::mean;

/// The hashes' demands in loaded CPU seconds, from the CPU seconds that they took in a run on this schedule.
///
/// A hash that ran while CPUs were idle took less than its demand. How much less is taken from simulations of the run:
/// the demands are adjusted until the simulated hashes take what the real ones took.
pub fn loaded_demands(station: &Station, arrivals: &[f64], cpu: &[f64]) -> Vec<f64> {
    let mut demands = cpu.to_vec();
    if station.alone_ratio >= 1.0 {
        return demands;
    }
    for _ in 0..4 {
        let served = simulate(station, arrivals, &demands);
        for ((demand, served), cpu) in demands.iter_mut().zip(&served).zip(cpu) {
            *demand *= cpu / served.hash_cpu;
        }
    }
    demands
}

/// The ratio with which the fit simulates; only how busy the CPUs were is taken from that.
const PROBE: f64 = 0.9;
/// Least variance of the share of busy CPUs, 0 (one) to 1 (all), from which a ratio can be read.
const LEAST_VARIANCE: f64 = 0.01;

/// [`Station::alone_ratio`] as this run shows it: hashes that ran beside others took more CPU time by so much.
///
/// A least-squares line of measured CPU time over the share of busy CPUs (from a simulation of the run), read where one
/// CPU is busy over where all are. In 200 hashes with a spread of 15 % it is good to a few hundredths. `None` when the
/// share hardly varies, for example with one worker: then the ratio hardly matters either.
pub fn fitted_alone_ratio(station: &Station, run: &Run) -> Option<f64> {
    let probe = Station {
        alone_ratio: PROBE,
        ..*station
    };
    let served = simulate(&probe, run.arrivals, run.cpu);
    let busy_share = |(cpu, hash_cpu): (&f64, f64)| (hash_cpu / cpu - PROBE) / (1.0 - PROBE);
    let busy: Vec<f64> = run
        .cpu
        .iter()
        .zip(served.iter().map(|s| s.hash_cpu))
        .map(busy_share)
        .collect();
    let (busy_mean, cpu_mean) = (mean(&busy)?, mean(run.cpu)?);
    let variance = mean(&busy.iter().map(|x| (x - busy_mean).powi(2)).collect::<Vec<_>>())?;
    // Not a number where a hash took no time at all.
    if variance.is_nan() || variance < LEAST_VARIANCE {
        return None;
    }
    let product = |(x, y): (&f64, &f64)| (x - busy_mean) * (y - cpu_mean);
    let slope = mean(&busy.iter().zip(run.cpu).map(product).collect::<Vec<_>>())? / variance;
    let alone = cpu_mean - slope * busy_mean;
    // The simulation keeps it from falling below what one hash can do to the bandwidth.
    Some((alone / (alone + slope)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::poisson;
    use crate::queue::{Cpus, latencies};

    #[test]
    fn a_run_shows_what_a_lone_hash_costs() {
        let arrivals = poisson(1, 8.0, 200);
        let quota = None;
        for ratio in [0.6, 0.8, 1.0] {
            for (workers, found) in [(1, false), (2, true), (4, true)] {
                let told = Station::plain(workers, Cpus { affinity: 2, quota });
                let truth = Station {
                    alone_ratio: ratio,
                    ..told
                };
                let served = simulate(&truth, &arrivals, &[0.1; 200]);
                let run = Run {
                    rate: 8.0,
                    arrivals: &arrivals,
                    latencies: &latencies(&arrivals, &served),
                    cpu: &served.iter().map(|s| s.hash_cpu).collect::<Vec<_>>(),
                };
                let fitted = fitted_alone_ratio(&told, &run);
                assert_eq!(fitted.is_some(), found, "{workers}");
                assert!(fitted.is_none_or(|f| (f - ratio).abs() < 0.03), "{ratio}: {fitted:?}");
            }
        }
    }
}
