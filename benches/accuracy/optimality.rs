//! The pick against an exhaustive sweep of the grid.
//!
//! The sweep measures every setting of every line (passes, lanes) that is at least half as strong as the pick, up until two in a row do
//! not fit: first the ceiling in a closed loop, then, where that holds, the latency under arrivals at the peak. Two rules: a setting
//! fits when its interval's upper end keeps the budget, as the recommendation has it, or, kinder, when its measured quantile does.

use std::error::Error;
use std::time::Instant;

use hashtune::arrivals::derive;
use hashtune::measure::demands;
use hashtune::measure::{Load, MeasureError};
use hashtune::queue::{self, Interval, Station};
use hashtune::recommend::grid;
use hashtune::setting::{Algorithm, Setting};
use hashtune::stats::quantile;
use hashtune::strength::{Attacker, at_or_above_floor};

use crate::common::{QUANTILE, cpus, measure, native, saturated};
use crate::job;

/// Passes swept, and asked for.
const MAX_TIME_COST: u32 = 3;
/// The README's budgets, as numbers.
const BUDGET_S: f64 = 0.25;
const PEAK_PER_S: f64 = 20.0;
const HEADROOM: f64 = 0.1;
/// Seconds of arrivals at the peak for each setting.
const SECONDS: f64 = 5.0;

pub fn run() -> Result<(), Box<dyn Error>> {
    let asked = format!("{} --max-time-cost {MAX_TIME_COST}", job::BUDGETS);
    println!("\nhashtune {asked}, before and after a sweep");
    let before = job::recommend(&asked)?;
    let began = Instant::now();
    let attacker = Attacker::builtin();
    let weakest = before
        .pick
        .as_ref()
        .map_or(f64::INFINITY, |p| 2.0 * attacker.rank(&p.setting));
    let (mut fitting, mut kindly) = (Vec::new(), Vec::new());
    let mut measured = 0;
    let lanes: Vec<u32> = (0..).map(|i| 1 << i).take_while(|p| *p <= cpus().affinity).collect();
    for line in grid::lines(Algorithm::Argon2id, 512 << 10, &lanes) {
        let passes = |s: &Setting| matches!(s, Setting::Argon2id(a) if a.time_cost() <= MAX_TIME_COST);
        let mut missed = 0;
        let worth = |s: &&Setting| passes(s) && at_or_above_floor(s) && attacker.rank(s) <= weakest;
        for setting in line.iter().filter(worth) {
            measured += 1;
            let interval = best_interval(setting)?;
            if interval.is_some_and(|i| i.high <= BUDGET_S) {
                fitting.push(*setting);
            }
            if interval.is_some_and(|i| i.estimate <= BUDGET_S) {
                missed = 0;
                kindly.push(*setting);
            } else {
                missed += 1;
            }
            if missed == 2 {
                break;
            }
        }
    }
    let sweep_s = began.elapsed().as_secs_f64();
    let after = job::recommend(&asked)?;
    println!("  the sweep measured {measured} settings in {sweep_s:.0} s");
    for (rule, mut found) in [("the interval's upper end", fitting), ("the measured quantile", kindly)] {
        found.sort_by(|a, b| attacker.rank(a).total_cmp(&attacker.rank(b)));
        println!("  by {rule} {} fit; the strongest:", found.len());
        for setting in found.iter().take(4) {
            println!("    {:28} rank {:6.0}", setting.to_string(), attacker.rank(setting));
        }
        let Some(best) = found.first().map(|s| attacker.rank(s)) else {
            continue;
        };
        for (when, answer) in [("before", &before), ("after", &after)] {
            let Some(pick) = &answer.pick else {
                println!("  {when}: no pick: {}", answer.remarks);
                continue;
            };
            println!(
                "  {when}: {}, {:.2} of it, in {:.0} s",
                pick.setting,
                best / attacker.rank(&pick.setting),
                answer.seconds
            );
        }
    }
    Ok(())
}

/// The lowest interval of the quantile at the peak over the numbers of workers; `None` where the ceiling is too low.
fn best_interval(setting: &Setting) -> Result<Option<Interval>, MeasureError> {
    let closed = measure(native(), setting, &saturated(1.0))?;
    let cost = closed.cpu_per_hash();
    if PEAK_PER_S > (1.0 - HEADROOM) * cpus().usable() / cost {
        return Ok(None);
    }
    let lone = measure(native(), setting, &Load::Single { hashes: 6 })?;
    let wall = quantile(&lone.latencies(), 0.5).unwrap_or(cost);
    let mut best: Option<Interval> = None;
    for workers in 1..=cpus().affinity {
        let lanes = f64::from(setting.lanes());
        let station = Station {
            lanes: (lone.cpu_per_hash() / wall).clamp(1.0, lanes),
            alone_ratio: (lone.cpu_per_hash() / cost).min(1.0),
            ..Station::plain(workers, cpus())
        };
        let pool = demands(&closed, cost);
        let likely = queue::long_run_quantile(&station, PEAK_PER_S, &pool, QUANTILE);
        if likely.is_none_or(|l| l > 1.5 * BUDGET_S) {
            continue;
        }
        let n = (PEAK_PER_S * SECONDS) as usize;
        let seed = derive(11, workers.into());
        let schedule = queue::choose_schedule(&station, PEAK_PER_S, n, &pool, QUANTILE, seed).expect("a pool");
        let arrivals = schedule.arrivals.clone();
        let run = measure(native(), setting, &Load::Open { arrivals, workers })?;
        let seen = queue::Run {
            rate: PEAK_PER_S,
            arrivals: &schedule.arrivals,
            latencies: &run.latencies(),
            cpu: &demands(&run, run.cpu_per_hash()),
        };
        let interval = queue::interval(&station, &seen, QUANTILE, seed, queue::RESAMPLES);
        best = best
            .into_iter()
            .chain(interval)
            .min_by(|a, b| a.high.total_cmp(&b.high));
    }
    Ok(best)
}
