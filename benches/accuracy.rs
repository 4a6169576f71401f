//! How right the figures are, on this machine: `cargo bench --bench accuracy [-- saturation|spin|queueing]`.
//!
//! Everything is a ratio of two things measured in the same run, median with lowest and highest of several. Nothing is asserted:
//! the machine decides. What was seen is kept in `docs/accuracy.md`.

use std::sync::Arc;

use hashtune::engine::{Engine, EngineError, Native, Pages, Slot, clock};
use hashtune::measure::{Load, Measure, MeasureError, Measurement, Runner};
use hashtune::queue::{self, Cpus, Station};
use hashtune::setting::Setting;
use hashtune::stats::{mean, quantile};

const RUNS: usize = 3;
const QUANTILE: f64 = 0.95;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    println!("{cpus} CPUs, {RUNS} runs, median [lowest, highest]");
    let done = [
        ("saturation", saturation as fn(u32) -> _),
        ("spin", spin),
        ("queueing", queueing),
    ]
    .into_iter()
    .filter(|(name, _)| asked(name))
    .try_for_each(|(_, part)| part(cpus));
    if let Err(error) = done {
        println!("stopped: {error}");
    }
}

fn setting(text: &str) -> Setting {
    text.parse().expect("a valid setting")
}

fn runner(engine: Arc<dyn Engine>, cpus: u32) -> Runner {
    Runner::new(engine, f64::from(cpus))
}

fn native() -> Arc<dyn Engine> {
    Arc::new(Native::new(Pages::Deployed))
}

/// At saturation every CPU hashes all the time: logins/s x CPU of a hash / CPUs is 1.
fn saturation(cpus: u32) -> Result<(), MeasureError> {
    println!("\nlogins/s x CPU per hash / CPUs, closed loop with as many clients as CPUs, 3 s a run");
    for text in ["argon2id:m=19456,t=2,p=1", "argon2id:m=47104,t=1,p=1", "bcrypt:10"] {
        let mut ratios = Vec::new();
        for _ in 0..RUNS {
            let load = Load::Closed {
                clients: cpus,
                hashes: u32::MAX,
                seconds: 3.0,
            };
            let run = runner(native(), cpus).measure(&setting(text), &load)?;
            ratios.push(run.throughput() * run.cpu_per_hash() / f64::from(cpus));
        }
        println!("  {text:28} {}", spread(&ratios));
    }
    Ok(())
}

/// An engine whose cost is known: it spins until its thread has used so many seconds of CPU.
struct Spin(f64);

impl Engine for Spin {
    fn name(&self) -> &'static str {
        "spin"
    }

    fn slot(&self, _: &Setting) -> Result<Box<dyn Slot>, EngineError> {
        Ok(Box::new(Spin(self.0)))
    }
}

impl Slot for Spin {
    fn hash(&mut self) -> Result<(), EngineError> {
        clock::spin(self.0);
        Ok(())
    }
}

/// A known cost, measured; and how late the open loop starts its hashes.
fn spin(cpus: u32) -> Result<(), MeasureError> {
    println!("\nmeasured CPU / known CPU of an engine that spins, and starts later than due on an idle worker");
    for ms in [5.0, 40.0] {
        let (mut ratios, mut late) = (Vec::new(), Vec::new());
        for seed in 0..RUNS as u64 {
            let mut world = runner(Arc::new(Spin(ms / 1e3)), cpus);
            let closed = Load::Closed {
                clients: cpus,
                hashes: u32::MAX,
                seconds: 1.0,
            };
            ratios.push(world.measure(&setting("bcrypt:4"), &closed)?.cpu_per_hash() / (ms / 1e3));
            let rate = 0.5 * f64::from(cpus) / (ms / 1e3);
            let arrivals = hashtune::arrivals::poisson(seed, rate, (rate * 3.0) as usize);
            let open = world.measure(
                &setting("bcrypt:4"),
                &Load::Open {
                    arrivals,
                    workers: cpus,
                },
            )?;
            let starts: Vec<f64> = open.samples.iter().map(|s| s.lateness).collect();
            late.push(quantile(&starts, 0.99).unwrap_or(0.0) * 1e3);
        }
        println!(
            "  {ms:4} ms: CPU {}; p99 lateness {} ms",
            spread(&ratios),
            spread(&late)
        );
    }
    Ok(())
}

/// Measured open-loop p95 over the simulation's, fed with the run's own CPU times.
fn queueing(cpus: u32) -> Result<(), MeasureError> {
    println!("\nmeasured p95 / simulated p95 on the run's own schedule and CPU times, 200 arrivals");
    for text in ["argon2id:m=19456,t=2,p=1", "bcrypt:10"] {
        for load in [0.3, 0.6, 0.85] {
            let mut ratios = Vec::new();
            for seed in 0..RUNS as u64 {
                ratios.push(queueing_run(&setting(text), load, seed, cpus)?);
            }
            println!("  {text:28} {:3.0} % load  {}", load * 100.0, spread(&ratios));
        }
    }
    Ok(())
}

fn queueing_run(setting: &Setting, load: f64, seed: u64, cpus: u32) -> Result<f64, MeasureError> {
    let mut world = runner(native(), cpus);
    let closed = Load::Closed {
        clients: cpus,
        hashes: 16 * cpus,
        seconds: 1.0,
    };
    let cost = world.measure(setting, &closed)?.cpu_per_hash();
    let rate = load * f64::from(cpus) / cost;
    let arrivals = hashtune::arrivals::poisson(seed, rate, 200);
    let run = world.measure(
        setting,
        &Load::Open {
            arrivals,
            workers: cpus,
        },
    )?;
    let station = Station::plain(
        cpus,
        Cpus {
            affinity: cpus,
            quota: None,
        },
    );
    let simulated = simulated(&station, &run);
    Ok(quantile(&run.latencies(), QUANTILE).unwrap_or(f64::NAN) / simulated)
}

fn simulated(station: &Station, run: &Measurement) -> f64 {
    let due: Vec<f64> = run.samples.iter().map(|s| s.scheduled).collect();
    let own: Vec<f64> = run.samples.iter().map(|s| s.thread_cpu).collect();
    let scale = run.cpu_per_hash() / mean(&own).unwrap_or(1.0);
    let cpu: Vec<f64> = own.iter().map(|x| x * scale).collect();
    let latencies = queue::latencies(&due, &queue::simulate(station, &due, &cpu));
    quantile(&latencies, QUANTILE).unwrap_or(f64::NAN)
}

fn spread(values: &[f64]) -> String {
    let at = |q: f64| quantile(values, q).unwrap_or(f64::NAN);
    format!("{:.3} [{:.3}, {:.3}]", at(0.5), at(0.0), at(1.0))
}
