//! Whether the interval of a run's quantile holds what the queue does in the long run, in real runs.
//!
//! Rounds alternate between a run as the recommendation makes it and a stretch of arrivals that nobody chose, at each load in turn.
//! The long-run value is the quantile of all of those stretches together. Hashes are short, so that rounds are many. The program's own
//! doubts tell which runs and stretches met a disturbance: the second line of each load leaves those out.
//!
//! The interval takes the cost of a hash to be what it was in the run. The first hasher keeps to that: it spins for CPU times that are
//! drawn anew for each hash, from measured ones. Real hashes are as dear as the machine's neighbours make them at the time.

use std::error::Error;
use std::sync::Arc;

use hashtune::arrivals::{derive, poisson};
use hashtune::engine::Engine;
use hashtune::measure::demands;
use hashtune::measure::{Load, MeasureError, Measurement};
use hashtune::queue::Interval;
use hashtune::setting::Setting;
use hashtune::stats::quantile;

use crate::common::{QUANTILE, Spin, at_rate, cpus, is_quiet, measure, native, saturated, setting, spread, station};

/// Arrivals of a run.
const ARRIVALS: usize = 200;
/// Loads, beside the stretch after a run in runs: the busier the queue, the longer it takes to settle.
const LOADS: [(f64, usize); 3] = [(0.3, 2), (0.6, 3), (0.8, 6)];
/// What one spun hash takes at the mean, in seconds.
const SPUN_S: f64 = 0.010;

/// Who hashes, with what, how often.
struct Hasher {
    name: &'static str,
    engine: Arc<dyn Engine>,
    setting: Setting,
    rounds: u64,
}

/// What one run said, and what came after it.
struct Round {
    run: Measurement,
    /// `None` where its load would not have settled.
    interval: Option<Interval>,
    stretch: Measurement,
}

fn hashers() -> Result<[Hasher; 3], MeasureError> {
    let measured = setting("argon2id:m=19456,t=2,p=1");
    let costs = demands(&measure(native(), &measured, &saturated(3.0))?, SPUN_S);
    Ok([
        Hasher {
            name: "spinning for the CPU times of argon2id:m=19456,t=2,p=1, scaled to 10 ms",
            engine: Arc::new(Spin::new(costs)),
            setting: setting("bcrypt:4"),
            rounds: 20,
        },
        Hasher {
            name: "bcrypt:8",
            engine: native(),
            setting: setting("bcrypt:8"),
            rounds: 10,
        },
        Hasher {
            name: "argon2id:m=19456,t=2,p=1",
            engine: native(),
            setting: measured,
            rounds: 10,
        },
    ])
}

pub fn run() -> Result<(), Box<dyn Error>> {
    println!("\nruns of {ARRIVALS} arrivals, each followed by a stretch of unchosen ones");
    for hasher in hashers()? {
        println!("  {}", hasher.name);
        println!(
            "    load               long-run p95   intervals that hold it   estimate / long run    half width   CPU of a run / median run"
        );
        let cost = closed(&hasher, 3.0)?.cpu_per_hash();
        let mut cells = LOADS.map(|_| Vec::new());
        for seed in (0..hasher.rounds).map(|round| derive(7, round)) {
            for ((load, times), rounds) in LOADS.iter().zip(&mut cells) {
                let rate = load * cpus().usable() / cost;
                rounds.push(observe(&hasher, rate, times * ARRIVALS, seed)?);
            }
        }
        for ((load, _), rounds) in LOADS.iter().zip(&cells) {
            report(&format!("{:2.0} %, all", load * 100.0), rounds, |_| true);
            report("      undisturbed", rounds, is_quiet);
        }
    }
    Ok(())
}

fn closed(hasher: &Hasher, seconds: f64) -> Result<Measurement, MeasureError> {
    measure(Arc::clone(&hasher.engine), &hasher.setting, &saturated(seconds))
}

fn observe(hasher: &Hasher, rate: f64, unchosen: usize, seed: u64) -> Result<Round, MeasureError> {
    let station = station();
    let calibration = closed(hasher, 1.0)?;
    let pool = demands(&calibration, calibration.cpu_per_hash());
    let engine = || Arc::clone(&hasher.engine);
    let (run, interval) = at_rate(engine(), &hasher.setting, &station, rate, ARRIVALS, &pool, seed)?;
    let unchosen = Load::Open {
        arrivals: poisson(derive(seed, 1), rate, unchosen),
        workers: station.workers,
    };
    let stretch = measure(engine(), &hasher.setting, &unchosen)?;
    Ok(Round { run, interval, stretch })
}

/// One line about those runs and stretches that are wanted.
fn report(name: &str, rounds: &[Round], wanted: impl Fn(&Measurement) -> bool) {
    let stretches = rounds.iter().map(|r| &r.stretch).filter(|m| wanted(m));
    let long_run: Vec<f64> = stretches.flat_map(Measurement::latencies).collect();
    let truth = quantile(&long_run, QUANTILE).unwrap_or(f64::NAN);
    let runs: Vec<&Round> = rounds.iter().filter(|r| wanted(&r.run)).collect();
    let holds = |r: &&&Round| r.interval.is_some_and(|i| i.low <= truth && truth <= i.high);
    let told = |figure: &dyn Fn(&Interval) -> f64| -> Vec<f64> {
        let intervals = runs.iter().filter_map(|r| r.interval.as_ref());
        intervals.map(figure).collect()
    };
    let cpu: Vec<f64> = runs.iter().map(|r| r.run.cpu_per_hash()).collect();
    let usual = quantile(&cpu, 0.5).unwrap_or(f64::NAN);
    println!(
        "    {name:17} {:7.1} ms         {:2} of {:2}              {}   {:3.0} %         {}",
        truth * 1e3,
        runs.iter().filter(holds).count(),
        runs.len(),
        spread(&told(&|i| i.estimate / truth)),
        quantile(&told(&Interval::half_width), 0.5).unwrap_or(f64::NAN) * 100.0,
        spread(&cpu.iter().map(|c| c / usual).collect::<Vec<_>>()),
    );
}
