//! The pick against an exhaustive sweep of the grid.
//!
//! The sweep measures every setting of every line (passes, lanes) from the floor up until two in a row do not fit: first the ceiling in a
//! closed loop, then, where that holds, the latency under arrivals at the peak. A setting fits when its interval's upper end keeps the
//! budget, as the recommendation has it. The strongest of many noisy measurements is a lucky one, so those that fit are measured again,
//! the strongest first and as long as a recommendation measures, until one fits again: that is the strongest that fits.

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

use crate::common::{QUANTILE, at_rate, cpus, measure, native, saturated, spread};
use crate::job;

/// Passes swept, and asked for.
const MAX_TIME_COST: u32 = 3;
/// The README's budgets, as numbers.
const BUDGET_S: f64 = 0.25;
const PEAK_PER_S: f64 = 20.0;
const HEADROOM: f64 = 0.1;
/// Seconds of arrivals at the peak for each setting of the sweep, and for those measured again.
const SECONDS: f64 = 5.0;
const SECONDS_AGAIN: f64 = 10.0;
/// Recommendations before the sweep, and after it.
const PICKS: usize = 3;

pub fn run() -> Result<(), Box<dyn Error>> {
    let asked = format!("{} --max-time-cost {MAX_TIME_COST}", job::BUDGETS);
    println!("\nhashtune {asked}, {PICKS} times before and {PICKS} times after a sweep");
    let mut picks = (0..PICKS)
        .map(|_| job::recommend(&asked))
        .collect::<Result<Vec<_>, _>>()?;
    let began = Instant::now();
    let attacker = Attacker::builtin();
    let (measured, mut fitting) = sweep()?;
    let sweep_s = began.elapsed().as_secs_f64();
    println!(
        "  the sweep measured {measured} settings in {sweep_s:.0} s; {} fit",
        fitting.len()
    );
    fitting.sort_by(|a, b| attacker.rank(a).total_cmp(&attacker.rank(b)));
    let mut best = None;
    for setting in fitting {
        let fits = best_interval(&setting, SECONDS_AGAIN)?.is_some_and(|i| i.high <= BUDGET_S);
        let again = if fits { "fits again" } else { "does not fit again" };
        println!(
            "    {:28} rank {:6.0} {again}",
            setting.to_string(),
            attacker.rank(&setting)
        );
        if fits {
            best = Some(attacker.rank(&setting));
            break;
        }
    }
    for _ in 0..PICKS {
        picks.push(job::recommend(&asked)?);
    }
    let Some(best) = best else {
        println!("  nothing fits twice");
        return Ok(());
    };
    let (mut shares, mut times) = (Vec::new(), Vec::new());
    for (at, answer) in picks.iter().enumerate() {
        let when = if at < PICKS { "before" } else { "after" };
        let Some(pick) = &answer.pick else {
            println!("  {when}: no pick: {}", answer.remarks);
            continue;
        };
        let share = best / attacker.rank(&pick.setting);
        println!(
            "  {when}: {:28} {share:.2} of it, in {:.0} s",
            pick.setting.to_string(),
            answer.seconds
        );
        shares.push(share);
        times.push(answer.seconds / sweep_s);
    }
    println!("  strength of a pick / the strongest that fits: {}", spread(&shares));
    println!("  time of a pick / the sweep's: {}", spread(&times));
    Ok(())
}

/// How many settings were measured, and those that fit.
fn sweep() -> Result<(usize, Vec<Setting>), MeasureError> {
    let mut fitting = Vec::new();
    let mut measured = 0;
    let lanes = grid::lanes(cpus().usable(), u32::MAX);
    for line in grid::lines(Algorithm::Argon2id, 512 << 10, &lanes) {
        let passes = |s: &Setting| matches!(s, Setting::Argon2id(a) if a.time_cost() <= MAX_TIME_COST);
        let mut missed = 0;
        for setting in line.iter().filter(|s| passes(s) && at_or_above_floor(s)) {
            measured += 1;
            if best_interval(setting, SECONDS)?.is_some_and(|i| i.high <= BUDGET_S) {
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
    Ok((measured, fitting))
}

/// The lowest interval of the quantile at the peak over the numbers of workers; `None` where the ceiling is too low.
fn best_interval(setting: &Setting, seconds: f64) -> Result<Option<Interval>, MeasureError> {
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
        let n = (PEAK_PER_S * seconds) as usize;
        let seed = derive(11, workers.into());
        let (_, interval) = at_rate(native(), setting, &station, PEAK_PER_S, n, &pool, seed)?;
        best = best
            .into_iter()
            .chain(interval)
            .min_by(|a, b| a.high.total_cmp(&b.high));
    }
    Ok(best)
}
