//! What the parts share: this machine, and how spreads are printed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use hashtune::arrivals::derive;
use hashtune::caveat::Caveat;
use hashtune::engine::{Engine, EngineError, Native, Pages, Slot, clock};
use hashtune::host::{self, Host};
use hashtune::measure::{CounterReading, Load, Measure, MeasureError, Measurement, Runner, demands};
use hashtune::queue::{self, Cpus, Interval, Station};
use hashtune::setting::Setting;
use hashtune::stats::quantile;

/// Runs behind each median.
pub const RUNS: usize = 3;
/// Times that a run is taken at most, until it is undisturbed.
const TRIES: usize = 3;
/// The quantile of latency that everything is about.
pub const QUANTILE: f64 = 0.95;

/// What this process may use.
pub static HOST: LazyLock<Host> = LazyLock::new(|| host::probe(Path::new("/")));

/// The CPUs as the simulation sees them.
pub fn cpus() -> Cpus {
    let online = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    HOST.cpus(online).1
}

/// One-lane hashes that keep every usable CPU busy.
pub fn busy() -> u32 {
    cpus().usable().ceil() as u32
}

pub fn heading() -> String {
    let Cpus { affinity, quota } = cpus();
    let quota = quota.map_or(String::new(), |q| format!(", of which a quota allows {} CPUs", q.cpus));
    format!("{affinity} CPUs{quota}; median [lowest, highest] of {RUNS} runs unless said otherwise")
}

pub fn setting(text: &str) -> Setting {
    text.parse().expect("a valid setting")
}

pub fn native() -> Arc<dyn Engine> {
    Arc::new(Native::new(Pages::Deployed))
}

/// An engine whose costs are known: each hash spins until its thread has used the CPU seconds that were drawn for it.
#[derive(Clone)]
pub struct Spin {
    /// What is drawn from.
    costs: Arc<[f64]>,
    drawn: Arc<AtomicU64>,
}

impl Spin {
    pub fn new(costs: Vec<f64>) -> Self {
        let (costs, drawn) = (costs.into(), Arc::default());
        Self { costs, drawn }
    }
}

impl Engine for Spin {
    fn name(&self) -> &'static str {
        "spin"
    }

    fn slot(&self, _: &Setting) -> Result<Box<dyn Slot>, EngineError> {
        Ok(Box::new(self.clone()))
    }
}

impl Slot for Spin {
    fn hash(&mut self) -> Result<(), EngineError> {
        let drawn = derive(1, self.drawn.fetch_add(1, Ordering::Relaxed));
        clock::spin(self.costs[(drawn % self.costs.len() as u64) as usize]);
        Ok(())
    }
}

/// Measures with an engine of its own and without a deadline, and with an eye on what else the machine does.
pub fn measure(engine: Arc<dyn Engine>, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
    let mut runner = Runner::new(engine, cpus().usable()).counters(|| CounterReading::of(&HOST));
    runner.measure(setting, load)
}

/// Whether the program doubts nothing of its own run but a quota's throttling, which is what is under test there.
pub fn is_quiet(run: &Measurement) -> bool {
    run.caveats.iter().all(|c| matches!(c, Caveat::CpuThrottled { .. }))
}

/// Measures until the program doubts nothing of its own run but a quota's throttling, [`TRIES`] times at most; with the number of runs
/// that were not the last.
pub fn measure_undoubted(setting: &Setting, load: &Load) -> Result<(Measurement, usize), MeasureError> {
    let mut repeated = 0;
    loop {
        let run = measure(native(), setting, load)?;
        if is_quiet(&run) || repeated + 1 == TRIES {
            return Ok((run, repeated));
        }
        repeated += 1;
    }
}

/// A run of `n` arrivals as the recommendation makes it, on a schedule chosen at the service times of `pool`, and what it says of the
/// long run.
pub fn at_rate(
    engine: Arc<dyn Engine>,
    setting: &Setting,
    station: &Station,
    rate: f64,
    n: usize,
    pool: &[f64],
    seed: u64,
) -> Result<(Measurement, Option<Interval>), MeasureError> {
    let schedule = queue::choose_schedule(station, rate, n, pool, QUANTILE, seed).expect("a pool and arrivals");
    let load = Load::Open {
        arrivals: schedule.arrivals.clone(),
        workers: station.workers,
    };
    let run = measure(engine, setting, &load)?;
    let seen = queue::Run {
        rate,
        arrivals: &schedule.arrivals,
        latencies: &run.latencies(),
        cpu: &demands(&run, run.cpu_per_hash()),
    };
    let interval = queue::interval(station, &seen, QUANTILE, seed, queue::RESAMPLES);
    Ok((run, interval))
}

/// CPU seconds of a hash with every CPU busy, from about `seconds` of hashes.
pub fn loaded_cost(setting: &Setting, seconds: f64) -> Result<f64, MeasureError> {
    Ok(measure(native(), setting, &saturated(seconds))?.cpu_per_hash())
}

/// A closed loop with as many clients as CPUs.
pub fn saturated(seconds: f64) -> Load {
    Load::Closed {
        clients: busy(),
        hashes: u32::MAX,
        seconds,
    }
}

/// As many one-lane workers as there are CPUs to run them.
pub fn station() -> Station {
    Station::plain(cpus().affinity, cpus())
}

/// `median [lowest, highest]`.
pub fn spread(values: &[f64]) -> String {
    let at = |q: f64| quantile(values, q).unwrap_or(f64::NAN);
    format!("{:.3} [{:.3}, {:.3}]", at(0.5), at(0.0), at(1.0))
}
