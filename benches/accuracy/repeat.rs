//! Ten recommendations in a row: how far apart they are, beside what the machine itself did meanwhile.

use std::error::Error;

use hashtune::recommend::grid;
use hashtune::setting::Setting;
use hashtune::stats::quantile;
use hashtune::strength::Attacker;

use crate::common::{loaded_cost, setting, spread};
use crate::job::{self, Pick};

const TIMES: usize = 10;
/// Quick runs, for their time alone.
const QUICK: usize = 5;

pub fn run() -> Result<(), Box<dyn Error>> {
    let yardstick = setting("argon2id:m=19456,t=2,p=1");
    println!("\n{TIMES} times: hashtune {}", job::BUDGETS);
    println!("after each, 2 s of {yardstick} on all CPUs: what the machine's own speed does");
    println!("    s   setting                     p95, up to (ms)   CPU ms   {yardstick}   caveats");
    let (mut picks, mut speeds) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let answer = job::recommend(job::BUDGETS)?;
        let speed = loaded_cost(&yardstick, 2.0)? * 1e3;
        speeds.push(speed);
        let said = answer.pick.as_ref().map_or_else(
            || format!("{:54}", "none"),
            |p| {
                let (latency, high) = p.latency_ms;
                format!(
                    "{:27} {latency:5.0} {high:5.0}       {:5.1} ",
                    p.setting.to_string(),
                    p.cpu_ms
                )
            },
        );
        println!(
            "  {:3.0}   {said}     {speed:5.1} ms                   {}",
            answer.seconds, answer.remarks
        );
        picks.extend(answer.pick);
    }
    report(&picks, &speeds);
    quick()
}

fn quick() -> Result<(), Box<dyn Error>> {
    println!("  {QUICK} times with --quick:");
    let args = format!("{} --quick", job::BUDGETS);
    for _ in 0..QUICK {
        let answer = job::recommend(&args)?;
        let said = answer.pick.map_or(answer.remarks, |p| p.setting.to_string());
        println!("  {:3.0} s   {said}", answer.seconds);
    }
    Ok(())
}

fn report(picks: &[Pick], speeds: &[f64]) {
    let attacker = Attacker::builtin();
    let mut ranks: Vec<f64> = picks.iter().map(|p| attacker.rank(&p.setting)).collect();
    ranks.sort_by(f64::total_cmp);
    let Some(middle) = quantile(&ranks, 0.5) else { return };
    let near = picks.iter().find(|p| attacker.rank(&p.setting) == middle);
    let step = near.map_or(1.05, |p| step(&p.setting));
    let steps: Vec<f64> = picks
        .iter()
        .map(|p| (middle / attacker.rank(&p.setting)).ln() / step.ln())
        .collect();
    let within = |most: f64| steps.iter().filter(|s| s.abs() <= most + 1e-6).count();
    println!(
        "  strength / median pick's: {}",
        spread(&ranks.iter().map(|r| middle / r).collect::<Vec<_>>())
    );
    println!(
        "  one step of the grid there is {:.1} % of strength: {} of {TIMES} within one step, {} within two",
        (step - 1.0) * 100.0,
        within(1.0),
        within(2.0)
    );
    let usual = quantile(speeds, 0.5).unwrap_or(f64::NAN);
    println!(
        "  CPU per hash / median: {}",
        spread(&speeds.iter().map(|s| s / usual).collect::<Vec<_>>())
    );
}

/// The ratio of strength between a setting and its neighbours on its line, the larger of the two.
fn step(from: &Setting) -> f64 {
    let attacker = Attacker::builtin();
    let lines = grid::lines(from.algorithm(), 4 << 20, &[from.lanes()]);
    let apart = lines.iter().find_map(|line| {
        let at = line.iter().position(|s| s == from)?;
        let around = &line[at.saturating_sub(1)..line.len().min(at + 2)];
        let ratios = around
            .windows(2)
            .map(|two| attacker.rank(&two[0]) / attacker.rank(&two[1]));
        ratios.reduce(f64::max)
    });
    apart.unwrap_or(1.05)
}
