//! The pick against an exhaustive sweep of the grid.
//!
//! The sweep measures every setting of every line (passes, lanes) from the floor up until two in a row do not fit: first the
//! ceiling in a closed loop, then, where that holds, the latency under arrivals at the peak. It is kinder than the
//! recommendation: a setting fits when its measured quantile does, whatever the interval.

use std::error::Error;
use std::time::Instant;

use hashtune::arrivals::derive;
use hashtune::measure::demands;
use hashtune::measure::{Load, MeasureError};
use hashtune::queue::{self, Station};
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
    let mut fitting = Vec::new();
    let mut measured = 0;
    let lanes: Vec<u32> = (0..).map(|i| 1 << i).take_while(|p| *p <= cpus().affinity).collect();
    for line in grid::lines(Algorithm::Argon2id, 512 << 10, &lanes) {
        let passes = |s: &Setting| matches!(s, Setting::Argon2id(a) if a.time_cost() <= MAX_TIME_COST);
        let mut missed = 0;
        for setting in line.iter().filter(|s| passes(s) && at_or_above_floor(s)) {
            measured += 1;
            if fits(setting)? {
                missed = 0;
                fitting.push(*setting);
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
    let attacker = Attacker::builtin();
    fitting.sort_by(|a, b| attacker.rank(a).total_cmp(&attacker.rank(b)));
    println!(
        "  the sweep measured {measured} settings in {sweep_s:.0} s; {} fit; the strongest:",
        fitting.len()
    );
    for setting in fitting.iter().take(6) {
        println!("    {:28} rank {:6.0}", setting.to_string(), attacker.rank(setting));
    }
    let Some(best) = fitting.first().map(|s| attacker.rank(s)) else {
        return Ok(());
    };
    for (when, answer) in [("before", before), ("after", after)] {
        let Some(pick) = answer.pick else {
            println!("  {when}: no pick in {:.0} s: {}", answer.seconds, answer.remarks);
            continue;
        };
        let rank = attacker.rank(&pick.setting);
        println!(
            "  {when}: {} rank {rank:.0}, {:.2} of the strongest that fits, in {:.3} of the sweep's time",
            pick.setting,
            best / rank,
            answer.seconds / sweep_s
        );
    }
    Ok(())
}

/// Whether the ceiling and the measured quantile at the peak keep the budgets with as few workers as do.
fn fits(setting: &Setting) -> Result<bool, MeasureError> {
    let closed = measure(native(), setting, &saturated(1.0))?;
    let cost = closed.cpu_per_hash();
    if PEAK_PER_S > (1.0 - HEADROOM) * cpus().usable() / cost {
        return Ok(false);
    }
    let lone = measure(native(), setting, &Load::Single { hashes: 6 })?;
    let wall = quantile(&lone.latencies(), 0.5).unwrap_or(cost);
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
        let arrivals = schedule.arrivals;
        let run = measure(native(), setting, &Load::Open { arrivals, workers })?;
        if quantile(&run.latencies(), QUANTILE).is_some_and(|l| l <= BUDGET_S) {
            return Ok(true);
        }
    }
    Ok(false)
}
