//! Whether the interval of a run's quantile holds what the queue does in the long run, with real hashes.
//!
//! Rounds alternate between a run as the recommendation makes it and a stretch of arrivals that nobody chose, at each load in turn.
//! The long-run value is the quantile of all of those stretches together.

use std::error::Error;

use hashtune::arrivals::{derive, poisson};
use hashtune::measure::demands;
use hashtune::measure::{Load, MeasureError};
use hashtune::queue::{self, Interval};
use hashtune::setting::Setting;
use hashtune::stats::quantile;

use crate::common::{QUANTILE, cpus, loaded_cost, measure, native, saturated, setting, spread, station};

const ROUNDS: u64 = 4;
const SECONDS: f64 = 10.0;
const LOADS: [f64; 3] = [0.3, 0.6, 0.8];

#[derive(Default)]
struct Cell {
    intervals: Vec<Interval>,
    long_run: Vec<f64>,
    cpu: Vec<f64>,
}

pub fn run() -> Result<(), Box<dyn Error>> {
    let setting = setting("argon2id:m=19456,t=2,p=1");
    println!("\n{setting}: {ROUNDS} runs of {SECONDS} s a load, each followed by {SECONDS} s of unchosen arrivals");
    println!(
        "  load   long-run p95   intervals that hold it   estimate / long run    half width   CPU of a run / median run"
    );
    let cost = loaded_cost(&setting, 3.0)?;
    let mut cells = LOADS.map(|_| Cell::default());
    for round in 0..ROUNDS {
        for (load, cell) in LOADS.iter().zip(&mut cells) {
            let rate = load * cpus().usable() / cost;
            observe(&setting, rate, derive(7, round), cell)?;
        }
    }
    for (load, cell) in LOADS.iter().zip(&cells) {
        report(*load, cell);
    }
    Ok(())
}

fn observe(setting: &Setting, rate: f64, seed: u64, cell: &mut Cell) -> Result<(), MeasureError> {
    let station = station();
    let n = (rate * SECONDS).ceil() as usize;
    let closed = measure(native(), setting, &saturated(1.0))?;
    let pool = demands(&closed, closed.cpu_per_hash());
    let schedule = queue::choose_schedule(&station, rate, n, &pool, QUANTILE, seed).expect("a pool and arrivals");
    let open = |arrivals: Vec<f64>| {
        let workers = station.workers;
        measure(native(), setting, &Load::Open { arrivals, workers })
    };
    let run = open(schedule.arrivals.clone())?;
    let seen = queue::Run {
        rate,
        arrivals: &schedule.arrivals,
        latencies: &run.latencies(),
        cpu: &demands(&run, run.cpu_per_hash()),
    };
    cell.intervals
        .extend(queue::interval(&station, &seen, QUANTILE, seed, queue::RESAMPLES));
    cell.cpu.push(run.cpu_per_hash());
    cell.long_run
        .extend(open(poisson(derive(seed, 1), rate, n))?.latencies());
    Ok(())
}

fn report(load: f64, cell: &Cell) {
    let truth = quantile(&cell.long_run, QUANTILE).unwrap_or(f64::NAN);
    let holding = cell
        .intervals
        .iter()
        .filter(|i| i.low <= truth && truth <= i.high)
        .count();
    let estimates: Vec<f64> = cell.intervals.iter().map(|i| i.estimate / truth).collect();
    let widths: Vec<f64> = cell.intervals.iter().map(Interval::half_width).collect();
    let usual = quantile(&cell.cpu, 0.5).unwrap_or(f64::NAN);
    let cpu: Vec<f64> = cell.cpu.iter().map(|c| c / usual).collect();
    println!(
        "  {:2.0} %   {:6.1} ms      {holding:2} of {ROUNDS}                 {}   {:3.0} %         {}",
        load * 100.0,
        truth * 1e3,
        spread(&estimates),
        quantile(&widths, 0.5).unwrap_or(f64::NAN) * 100.0,
        spread(&cpu),
    );
}
