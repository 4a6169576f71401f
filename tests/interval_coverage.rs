//! How often the interval of one run holds the long-run quantile of the truth (`docs/interval.md`).
//!
//! `cargo test --test interval_coverage -- --ignored --nocapture` prints the table of all cases.

use hashtune::arrivals::{derive, generator, poisson, uniform};
use hashtune::queue::{Cpus, Interval, Quota, Run, Station, choose_schedule, interval, latencies, simulate};
use hashtune::stats::{mean, quantile};
use rayon::prelude::*;

const Q: f64 = 0.95;
const RUNS: u64 = 200;
const ARRIVALS: usize = 200;
/// With `--quick`.
const QUICK_ARRIVALS: usize = 100;
/// Mean loaded CPU seconds of a hash.
const DEMAND: f64 = 0.1;

/// Service times: lognormal, their logarithms an AR(1) series.
#[derive(Clone, Copy)]
struct Noise {
    cv: f64,
    correlation: f64,
}

const NOISES: [Noise; 4] = [
    Noise {
        cv: 0.05,
        correlation: 0.0,
    },
    Noise {
        cv: 0.15,
        correlation: 0.0,
    },
    Noise {
        cv: 0.15,
        correlation: 0.5,
    },
    Noise {
        cv: 0.15,
        correlation: 0.8,
    },
];

struct Case {
    name: &'static str,
    truth: Station,
    /// What the interval is told; the truth unless the case is about a wrong model.
    model: Station,
    load: f64,
    noise: Noise,
    arrivals: usize,
    stalls: Stalls,
}

/// Hashes that take longer than their CPU time, as where a hypervisor takes the CPU away: a share of them, for so many in a row, by a
/// factor.
#[derive(Clone, Copy)]
struct Stalls {
    share: f64,
    in_a_row: f64,
    factor: f64,
}

const NO_STALLS: Stalls = Stalls {
    share: 0.0,
    in_a_row: 1.0,
    factor: 1.0,
};

struct Outcome {
    covered: f64,
    half_width: f64,
    /// Root mean square error of the estimate, and of the measured quantile itself, relative to the truth.
    estimate_error: f64,
    measured_error: f64,
}

fn normal(rng: &mut impl rand_chacha::rand_core::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(rng)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(rng)).cos()
}

fn service_times(n: usize, noise: Noise, seed: u64) -> Vec<f64> {
    let mut rng = generator(seed);
    let sigma = (noise.cv * noise.cv).ln_1p().sqrt();
    let mut state = normal(&mut rng);
    let mut next = || {
        let innovation = (1.0 - noise.correlation * noise.correlation).sqrt();
        state = noise.correlation * state + innovation * normal(&mut rng);
        DEMAND * (sigma * state - sigma * sigma / 2.0).exp()
    };
    (0..n).map(|_| next()).collect()
}

/// What each hash takes over its CPU time.
fn stalled(n: usize, stalls: Stalls, seed: u64) -> Vec<f64> {
    let mut rng = generator(seed);
    let mut on = uniform(&mut rng) < stalls.share;
    // A chain of two states, whose long-run share is as given.
    let leave = 1.0 / stalls.in_a_row;
    let enter = leave * stalls.share / (1.0 - stalls.share);
    let mut next = || {
        on = uniform(&mut rng) < if on { 1.0 - leave } else { enter };
        if on { stalls.factor } else { 1.0 }
    };
    (0..n).map(|_| next()).collect()
}

fn product(times: &[f64], factors: &[f64]) -> Vec<f64> {
    times.iter().zip(factors).map(|(t, f)| t * f).collect()
}

/// The long-run quantile of the truth: 4 x 150,000 arrivals that no interval has seen.
fn truth(case: &Case, rate: f64) -> f64 {
    let one = |i: u64| {
        let n = 155_000;
        let arrivals = poisson(derive(900, i), rate, n);
        let took = product(
            &service_times(n, case.noise, derive(901, i)),
            &stalled(n, case.stalls, derive(902, i)),
        );
        let served = simulate(&case.truth, &arrivals, &took);
        quantile(&latencies(&arrivals, &served)[5_000..], Q).unwrap()
    };
    mean(&(0..4).map(one).collect::<Vec<_>>()).unwrap()
}

/// One run: the schedule is chosen at a predicted service time that is off by up to 5 %.
fn one_run(case: &Case, rate: f64, seed: u64, resamples: usize) -> (Interval, f64) {
    let mut rng = generator(seed);
    let predicted = DEMAND * (0.95 + 0.1 * uniform(&mut rng));
    let schedule = choose_schedule(&case.model, rate, case.arrivals, &[predicted], Q, seed).unwrap();
    // The quota's phase is not known beforehand.
    let phase = uniform(&mut rng) * case.truth.cpus.quota.map_or(0.0, |quota| quota.period_s);
    let arrivals: Vec<f64> = schedule.arrivals.iter().map(|t| t + phase).collect();
    let stalled = stalled(case.arrivals, case.stalls, derive(seed, 3));
    let took = product(&service_times(case.arrivals, case.noise, derive(seed, 1)), &stalled);
    let served = simulate(&case.truth, &arrivals, &took);
    let seen = latencies(&arrivals, &served);
    let cpu: Vec<f64> = served.iter().zip(&stalled).map(|(s, f)| s.hash_cpu / f).collect();
    let run = Run {
        rate,
        arrivals: &schedule.arrivals,
        latencies: &seen,
        cpu: &cpu,
    };
    let interval = interval(&case.model, &run, Q, derive(seed, 2), resamples).unwrap();
    (interval, quantile(&seen, Q).unwrap())
}

#[allow(clippy::cast_precision_loss)]
fn experiment(case: &Case, resamples: usize) -> Outcome {
    let rate = case.load / case.truth.load(1.0, DEMAND);
    let truth = truth(case, rate);
    let runs: Vec<(Interval, f64)> = (0..RUNS)
        .into_par_iter()
        .map(|run| one_run(case, rate, derive(7, run), resamples))
        .collect();
    let average = |of: &dyn Fn(&(Interval, f64)) -> f64| mean(&runs.iter().map(of).collect::<Vec<_>>()).unwrap();
    Outcome {
        covered: average(&|(i, _)| f64::from(u8::from(i.low <= truth && truth <= i.high))),
        half_width: average(&|(i, _)| (i.high - i.low) / 2.0 / truth),
        estimate_error: average(&|(i, _)| (i.estimate / truth - 1.0).powi(2)).sqrt(),
        measured_error: average(&|(_, seen)| (seen / truth - 1.0).powi(2)).sqrt(),
    }
}

fn station(workers: u32) -> Station {
    let quota = None;
    Station::plain(workers, Cpus { affinity: 2, quota })
}

fn case(name: &'static str, truth: Station, load: f64, noise: Noise) -> Case {
    Case {
        name,
        truth,
        model: truth,
        load,
        noise,
        arrivals: ARRIVALS,
        stalls: NO_STALLS,
    }
}

#[test]
fn the_interval_holds_the_long_run_quantile_in_nine_of_ten_runs() {
    for (workers, load, noise) in [(2, 0.3, NOISES[0]), (3, 0.6, NOISES[1]), (4, 0.8, NOISES[2])] {
        let outcome = experiment(&case("", station(workers), load, noise), 49);
        assert!(outcome.covered >= 0.9, "{workers} at {load}: {}", outcome.covered);
        assert!(outcome.half_width < 0.25, "{workers} at {load}: {}", outcome.half_width);
    }
}

#[test]
fn with_half_the_arrivals_it_is_wider_and_still_holds_it() {
    for (load, noise) in [(0.3, NOISES[1]), (0.6, NOISES[1]), (0.8, NOISES[2])] {
        let full = case("", station(2), load, noise);
        let quick = Case {
            arrivals: QUICK_ARRIVALS,
            ..case("", station(2), load, noise)
        };
        let (full, quick) = (experiment(&full, 49), experiment(&quick, 49));
        assert!(quick.covered >= 0.9, "{load}: {}", quick.covered);
        assert!(
            quick.half_width > full.half_width,
            "{load}: {} {}",
            quick.half_width,
            full.half_width
        );
    }
}

/// One hash in seven by half, three in a row.
const STALLS: Stalls = Stalls {
    share: 0.15,
    in_a_row: 3.0,
    factor: 1.5,
};

/// What they take is load, and what the run shows of them is resampled with the run.
#[test]
fn stalls_that_no_cpu_clock_sees_widen_the_interval() {
    for load in [0.3, 0.6, 0.8] {
        let calm = case("", station(2), load, NOISES[0]);
        let stalling = Case {
            stalls: STALLS,
            ..case("", station(2), load, NOISES[0])
        };
        let (calm, stalling) = (experiment(&calm, 49), experiment(&stalling, 49));
        assert!(
            stalling.half_width > 1.5 * calm.half_width,
            "{load}: {} {}",
            stalling.half_width,
            calm.half_width
        );
        assert!(stalling.covered >= 0.9, "{load}: {}", stalling.covered);
    }
}

fn all_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let quota = Some(Quota {
        cpus: 0.5,
        period_s: 0.1,
    });
    let of_half = Station::plain(2, Cpus { affinity: 2, quota });
    let two_lanes = Station {
        lanes: 1.8,
        ..station(2)
    };
    let cheap_alone = Station {
        alone_ratio: 0.7,
        app_cpu: 0.02,
        ..station(3)
    };
    for load in [0.3, 0.6, 0.8] {
        for noise in NOISES {
            cases.extend([2, 3, 4].map(|workers| case("", station(workers), load, noise)));
        }
        for noise in [NOISES[0], NOISES[1], NOISES[2]] {
            cases.push(Case {
                arrivals: QUICK_ARRIVALS,
                ..case("100 arrivals (`--quick`)", station(2), load, noise)
            });
        }
        cases.push(Case {
            stalls: STALLS,
            ..case("stalls that no CPU clock sees", station(2), load, NOISES[0])
        });
        let noise = NOISES[2];
        cases.push(case("", station(1), load, noise));
        cases.push(case("", station(9), load, noise));
        cases.push(case("quota of 0.5 CPU", of_half, load, noise));
        cases.push(case("1.8 lanes", two_lanes, load, noise));
        cases.push(case("alone 0.7, app 20 ms", cheap_alone, load, noise));
        cases.push(Case {
            model: Station {
                alone_ratio: 1.0,
                ..cheap_alone
            },
            ..case("the same, alone 0.7 unknown", cheap_alone, load, noise)
        });
        cases.push(Case {
            model: Station {
                alone_ratio: 0.8,
                ..cheap_alone
            },
            ..case("the same, alone 0.7 taken for 0.8", cheap_alone, load, noise)
        });
        cases.push(Case {
            model: station(2),
            ..case("1.8 lanes taken for 1", two_lanes, load, noise)
        });
    }
    cases
}

#[test]
#[ignore = "minutes long: prints the table of docs/interval.md"]
fn table() {
    println!("| load | W | case | CV | AR(1) | covered | half-width | error of estimate | of the run's own p95 |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for case in all_cases() {
        let outcome = experiment(&case, hashtune::queue::RESAMPLES);
        println!(
            "| {:.0} % | {} | {} | {:.0} % | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            case.load * 100.0,
            case.truth.workers,
            case.name,
            case.noise.cv * 100.0,
            case.noise.correlation,
            outcome.covered * 100.0,
            outcome.half_width * 100.0,
            outcome.estimate_error * 100.0,
            outcome.measured_error * 100.0,
        );
    }
}
