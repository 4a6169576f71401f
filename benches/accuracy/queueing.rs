//! Measured open-loop quantiles over the simulation's, fed with the run's own CPU times.
//!
//! Under a CPU quota (run it inside one) the bucket stands beside a fluid model, which sees the quota as slower CPUs.

use std::error::Error;

use hashtune::arrivals::poisson;
use hashtune::measure::{Load, MeasureError, Measurement};
use hashtune::queue::{self, Cpus, Station};
use hashtune::setting::Setting;
use hashtune::stats::{mean, quantile};

use crate::common::{QUANTILE, cpus, loaded_cost, measure_undoubted, setting, spread, station};

const ARRIVALS: usize = 200;
/// Runs behind each median. One that the program itself doubts is taken again.
const RUNS: u64 = 5;

pub fn run() -> Result<(), Box<dyn Error>> {
    let quota = cpus().quota.is_some();
    println!(
        "\nmeasured / simulated latency on the run's own schedule and CPU times, {ARRIVALS} arrivals, {RUNS} runs"
    );
    let fluid = if quota { "   p95, fluid model" } else { "" };
    println!("  setting                   load   p50                    p95                    repeated{fluid}");
    // A quota's CPUs are few: the same load takes longer there.
    let bcrypt = if quota { "bcrypt:9" } else { "bcrypt:10" };
    let loads: &[f64] = if quota { &[0.6] } else { &[0.3, 0.6, 0.85] };
    for text in ["argon2id:m=19456,t=2,p=1", bcrypt] {
        for &load in loads {
            let mut ratios = [const { Vec::new() }; 3];
            let mut repeated = 0;
            for seed in 0..RUNS {
                let (seen, again) = one(&setting(text), load, seed)?;
                repeated += again;
                for (all, ratio) in ratios.iter_mut().zip(seen) {
                    all.push(ratio);
                }
            }
            let [p50, p95, fluid] = ratios.map(|r| spread(&r));
            let fluid = if quota { fluid } else { String::new() };
            println!(
                "  {text:24} {:3.0} %   {p50:22} {p95:22} {repeated:4}    {fluid}",
                load * 100.0
            );
        }
    }
    Ok(())
}

/// Measured over simulated: p50, p95, and p95 by the fluid model; and the runs taken again.
fn one(setting: &Setting, load: f64, seed: u64) -> Result<([f64; 3], usize), MeasureError> {
    let rate = load * cpus().usable() / loaded_cost(setting, 1.0)?;
    let arrivals = poisson(seed, rate, ARRIVALS);
    let workers = cpus().affinity;
    let (run, repeated) = measure_undoubted(setting, &Load::Open { arrivals, workers })?;
    let seen = |q: f64| quantile(&run.latencies(), q).unwrap_or(f64::NAN);
    let bucket = station();
    let ratios = [
        seen(0.5) / simulated(&bucket, &run, 1.0, 0.5),
        seen(QUANTILE) / simulated(&bucket, &run, 1.0, QUANTILE),
        seen(QUANTILE) / simulated_as_slower_cpus(&run),
    ];
    Ok((ratios, repeated))
}

/// One CPU for each that the quota pays in part, and every hash as much slower.
fn simulated_as_slower_cpus(run: &Measurement) -> f64 {
    let usable = cpus().usable();
    let affinity = usable.ceil() as u32;
    let fluid = Station::plain(affinity, Cpus { affinity, quota: None });
    simulated(&fluid, run, f64::from(affinity) / usable, QUANTILE)
}

/// The quantile of latency with the run's schedule and CPU times, each `slower` times as long.
fn simulated(station: &Station, run: &Measurement, slower: f64, q: f64) -> f64 {
    let due: Vec<f64> = run.samples.iter().map(|s| s.scheduled).collect();
    let own: Vec<f64> = run.samples.iter().map(|s| s.thread_cpu).collect();
    let scale = slower * run.cpu_per_hash() / mean(&own).unwrap_or(1.0);
    let cpu: Vec<f64> = own.iter().map(|x| x * scale).collect();
    quantile(&queue::latencies(&due, &queue::simulate(station, &due, &cpu)), q).unwrap_or(f64::NAN)
}
