//! One driver for all four loads: set up, warm up, release, collect.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::gate::Gate;
use super::memory;
use super::serve::{Harvest, Shared, Worker};
use super::{CounterReading, Load, MeasureError, Measurement, Thresholds, caveats, disturbance};
use crate::engine::{Engine, EngineError, Slot, clock};
use crate::setting::Setting;
use crate::units::Bytes;

/// What a run may use, and what it looks at.
pub struct Conditions<'a> {
    /// CPU seconds of the rest of a login, spun after each hash.
    pub app_cpu_s: f64,
    /// No hash starts at or after this instant of [`clock::wall`]: a run ends at most one hash later.
    pub deadline: f64,
    /// When a doubt is worth a word.
    pub thresholds: Thresholds,
    /// CPU seconds of this process: [`clock::process_cpu`].
    pub cpu_clock: fn() -> f64,
    /// Memory that may be used now, less a margin.
    pub free_memory: &'a mut dyn FnMut() -> Bytes,
    /// The kernel's counters now.
    pub counters: &'a mut dyn FnMut() -> CounterReading,
}

/// Hashes in flight at most.
const fn workers(load: &Load) -> u32 {
    match load {
        Load::Single { .. } => 1,
        Load::Burst { size, .. } => *size,
        Load::Closed { clients, .. } => *clients,
        Load::Open { workers, .. } => *workers,
    }
}

/// Openings of the barrier.
const fn rounds(load: &Load) -> u32 {
    match load {
        Load::Burst { rounds, .. } => *rounds,
        _ => 1,
    }
}

/// Measures `setting` under `load`.
///
/// # Errors
/// When the hashes would not fit in memory (then nothing ran), the deadline came before the first hash, the engine failed, or a clock stood still.
pub fn run(
    engine: &dyn Engine,
    setting: &Setting,
    load: &Load,
    conditions: &mut Conditions<'_>,
) -> Result<Measurement, MeasureError> {
    let workers = workers(load);
    if workers == 0 || rounds(load) == 0 || matches!(load, Load::Open { arrivals, .. } if arrivals.is_empty()) {
        return Err(MeasureError::Engine("the load asks for no hash".into()));
    }
    if clock::wall() >= conditions.deadline {
        return Err(MeasureError::Time);
    }
    memory::check(memory::need(setting, workers), (conditions.free_memory)())?;
    // All slots before any thread: a refusal leaves nothing to stop.
    let slots: Result<Vec<_>, _> = (0..workers).map(|_| engine.slot(setting)).collect();
    let shared = Shared {
        load,
        app_cpu_s: conditions.app_cpu_s,
        deadline: conditions.deadline,
        gate: Gate::default(),
        claimed: AtomicUsize::new(if matches!(load, Load::Open { .. }) {
            0
        } else {
            workers as usize
        }),
        stop: AtomicBool::new(false),
    };
    let again = if engine.keeps_memory(setting) {
        Bytes(0)
    } else {
        memory::need(setting, workers)
    };
    let (totals, harvests) = crew(slots.map_err(engine_error)?, &shared, conditions, again)?;
    let mut measurement = assemble(engine, setting, load, &totals, harvests);
    if measurement.samples.is_empty() {
        return Err(MeasureError::Time);
    }
    measurement.check_clocks()?;
    measurement.caveats = caveats(&measurement, &conditions.thresholds);
    Ok(measurement)
}

#[allow(clippy::needless_pass_by_value)] // the form that map_err wants
fn engine_error(error: EngineError) -> MeasureError {
    MeasureError::Engine(error.to_string())
}

/// What the coordinator read.
struct Totals {
    cpu_s: f64,
    disturbance: super::Disturbance,
}

/// Starts a thread for each slot, conducts the rounds, and joins all threads whatever happens.
fn crew(
    slots: Vec<Box<dyn Slot>>,
    shared: &Shared<'_>,
    conditions: &mut Conditions<'_>,
    again: Bytes,
) -> Result<(Totals, Vec<Harvest>), MeasureError> {
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(slots.len());
        let mut started = Ok(());
        for (index, slot) in (0..).zip(slots) {
            let worker = Worker::new(index, slot, shared);
            // Fresh threads: none is left in another run's state (see the engine's lanes).
            match thread::Builder::new()
                .name(format!("login {index}"))
                .spawn_scoped(scope, move || worker.serve())
            {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    started = Err(MeasureError::Engine(format!(
                        "thread {index} of the load could not be started: {e}"
                    )));
                    break;
                }
            }
        }
        let totals = started.and_then(|()| conduct(threads.len(), shared, conditions, again));
        if totals.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        shared.gate.close();
        // A panic was reported to the gate already.
        let harvests: Vec<Harvest> = threads.into_iter().filter_map(|t| t.join().ok()).collect();
        Ok((totals?, harvests))
    })
}

fn conduct(
    workers: usize,
    shared: &Shared<'_>,
    conditions: &mut Conditions<'_>,
    again: Bytes,
) -> Result<Totals, MeasureError> {
    shared.gate.wait_for(workers)?;
    let before = (conditions.counters)();
    let (begin, own_begin) = (clock::wall(), (conditions.cpu_clock)());
    let mut cpu_s = 0.0;
    for round in 0..rounds(shared.load) {
        if clock::wall() >= shared.deadline {
            break;
        }
        if round > 0 {
            memory::check(again, (conditions.free_memory)())?;
        }
        // The process's CPU clock: it alone counts the lanes' threads. All workers wait at the barrier at both readings,
        // so the difference covers exactly the completed hashes.
        let cpu = (conditions.cpu_clock)();
        shared.gate.open();
        shared.gate.wait_for(workers)?;
        cpu_s += (conditions.cpu_clock)() - cpu;
    }
    let (wall_s, own_s) = (clock::wall() - begin, (conditions.cpu_clock)() - own_begin);
    let disturbance = disturbance(&before, &(conditions.counters)(), wall_s, own_s);
    Ok(Totals { cpu_s, disturbance })
}

fn assemble(
    engine: &dyn Engine,
    setting: &Setting,
    load: &Load,
    totals: &Totals,
    harvests: Vec<Harvest>,
) -> Measurement {
    let app_cpu_s = harvests.iter().map(|h| h.app_cpu_s).sum();
    let lanes_cpu_s = harvests.iter().map(|h| h.lanes_cpu_s).sum();
    let mut samples: Vec<_> = harvests.into_iter().flat_map(|h| h.samples).collect();
    samples.sort_by(|a, b| {
        a.scheduled
            .total_cmp(&b.scheduled)
            .then(a.started.total_cmp(&b.started))
    });
    Measurement {
        setting: *setting,
        load: load.clone(),
        engine: engine.name(),
        wall_s: samples.iter().map(|s| s.finished).fold(0.0, f64::max),
        samples,
        cpu_s: totals.cpu_s,
        app_cpu_s,
        lanes_cpu_s,
        disturbance: totals.disturbance,
        caveats: Vec::new(),
    }
}
