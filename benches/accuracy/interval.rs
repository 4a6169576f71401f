//! Whether the interval of a run's quantile holds what the queue does in the long run, with real hashes.
//!
//! Rounds alternate between a run as the recommendation makes it and a stretch of arrivals that nobody chose, at each load in turn.
//! The long-run value is the quantile of all of those stretches together. Hashes are short, so that rounds are many and a machine that
//! drifts shows up in runs and stretches alike. The program's own doubts tell which runs and stretches met a disturbance: the second
//! line of each load leaves those out.

use std::error::Error;

use hashtune::arrivals::{derive, poisson};
use hashtune::measure::demands;
use hashtune::measure::{Load, MeasureError, Measurement};
use hashtune::queue::Interval;
use hashtune::setting::Setting;
use hashtune::stats::quantile;

use crate::common::{
    QUANTILE, at_rate, cpus, is_quiet, loaded_cost, measure, native, saturated, setting, spread, station,
};

const ROUNDS: u64 = 10;
/// Arrivals of a run; the stretch after it has twice as many.
const ARRIVALS: usize = 200;
/// The first fits a cache, so that the machine's neighbours bear little on it; the second does not.
const SETTINGS: [&str; 2] = ["bcrypt:8", "argon2id:m=19456,t=2,p=1"];
const LOADS: [f64; 3] = [0.3, 0.6, 0.8];

/// What one run said, and what came after it.
struct Round {
    run: Measurement,
    interval: Interval,
    stretch: Measurement,
}

pub fn run() -> Result<(), Box<dyn Error>> {
    for text in SETTINGS {
        let setting = setting(text);
        println!(
            "\n{setting}: {ROUNDS} runs of {ARRIVALS} arrivals a load, each followed by {} unchosen arrivals",
            2 * ARRIVALS
        );
        println!(
            "  load               long-run p95   intervals that hold it   estimate / long run    half width   CPU of a run / median run"
        );
        let cost = loaded_cost(&setting, 3.0)?;
        let mut cells = LOADS.map(|_| Vec::new());
        for seed in (0..ROUNDS).map(|round| derive(7, round)) {
            for (load, rounds) in LOADS.iter().zip(&mut cells) {
                let rate = load * cpus().usable() / cost;
                rounds.extend(observe(&setting, rate, seed)?);
            }
        }
        for (load, rounds) in LOADS.iter().zip(&cells) {
            report(&format!("{:2.0} %, all", load * 100.0), rounds, |_| true);
            report("      undisturbed", rounds, is_quiet);
        }
    }
    Ok(())
}

fn observe(setting: &Setting, rate: f64, seed: u64) -> Result<Option<Round>, MeasureError> {
    let station = station();
    let closed = measure(native(), setting, &saturated(1.0))?;
    let pool = demands(&closed, closed.cpu_per_hash());
    let (run, interval) = at_rate(setting, &station, rate, ARRIVALS, &pool, seed)?;
    let unchosen = Load::Open {
        arrivals: poisson(derive(seed, 1), rate, 2 * ARRIVALS),
        workers: station.workers,
    };
    let stretch = measure(native(), setting, &unchosen)?;
    Ok(interval.map(|interval| Round { run, interval, stretch }))
}

/// One line about those runs and stretches that are wanted.
fn report(name: &str, rounds: &[Round], wanted: impl Fn(&Measurement) -> bool) {
    let stretches = rounds.iter().map(|r| &r.stretch).filter(|m| wanted(m));
    let long_run: Vec<f64> = stretches.flat_map(Measurement::latencies).collect();
    let truth = quantile(&long_run, QUANTILE).unwrap_or(f64::NAN);
    let runs: Vec<&Round> = rounds.iter().filter(|r| wanted(&r.run)).collect();
    let holds = |r: &&&Round| r.interval.low <= truth && truth <= r.interval.high;
    let of = |figure: &dyn Fn(&Round) -> f64| -> Vec<f64> { runs.iter().map(|r| figure(r)).collect() };
    let cpu = of(&|r| r.run.cpu_per_hash());
    let usual = quantile(&cpu, 0.5).unwrap_or(f64::NAN);
    println!(
        "  {name:17} {:7.1} ms         {:2} of {:2}              {}   {:3.0} %         {}",
        truth * 1e3,
        runs.iter().filter(holds).count(),
        runs.len(),
        spread(&of(&|r| r.interval.estimate / truth)),
        quantile(&of(&|r| r.interval.half_width()), 0.5).unwrap_or(f64::NAN) * 100.0,
        spread(&cpu.iter().map(|c| c / usual).collect::<Vec<_>>()),
    );
}
