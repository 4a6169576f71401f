//! What one worker does between the barrier's openings.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::gate::{Gate, PanicReport};
use super::{Load, MeasureError, Sample};
use crate::engine::{EngineError, Slot, clock};

/// Longest sleep without a look at `stop`, in seconds.
const NAP_S: f64 = 0.1;

/// What all workers of one run share.
pub struct Shared<'a> {
    pub load: &'a Load,
    /// CPU seconds of the rest of a login, spun after each hash.
    pub app_cpu_s: f64,
    /// No hash starts at or after this instant of the wall clock.
    pub deadline: f64,
    pub gate: Gate,
    /// Hashes claimed so far, each client's first one included (Closed), or the next arrival (Open).
    pub claimed: AtomicUsize,
    /// Set when another worker failed.
    pub stop: AtomicBool,
}

/// What one worker brings home.
#[derive(Debug, Default)]
pub struct Harvest {
    pub samples: Vec<Sample>,
    pub app_cpu_s: f64,
    pub lanes_cpu_s: f64,
}

/// One worker: its slot and its place in the run.
pub struct Worker<'a> {
    pub index: u32,
    pub slot: Box<dyn Slot>,
    pub shared: &'a Shared<'a>,
    /// The first opening of the barrier on the wall clock: time 0 of all samples.
    origin: Option<f64>,
    harvest: Harvest,
}

impl<'a> Worker<'a> {
    pub fn new(index: u32, slot: Box<dyn Slot>, shared: &'a Shared<'a>) -> Self {
        Self {
            index,
            slot,
            shared,
            origin: None,
            harvest: Harvest::default(),
        }
    }

    /// Warms up, then serves rounds until the barrier closes.
    pub fn serve(mut self) -> Harvest {
        let shared = self.shared;
        let _report = PanicReport(&shared.gate);
        if let Err(error) = self.rounds() {
            shared.stop.store(true, Ordering::Relaxed);
            shared.gate.fail(MeasureError::Engine(error.to_string()));
        }
        self.harvest
    }

    fn rounds(&mut self) -> Result<(), EngineError> {
        // Discarded: it touches all memory and starts all threads. Afterwards all W x m are there.
        self.slot.hash()?;
        // Room for the samples before the clock starts; more only for the fastest settings.
        self.harvest.samples.reserve(1024);
        let lanes_before = self.slot.lanes_cpu_s();
        while let Some(opened) = self.shared.gate.arrive() {
            let origin = *self.origin.get_or_insert(opened);
            let released = opened - origin;
            match self.shared.load {
                Load::Single { hashes } => self.closed(origin, released, *hashes, f64::INFINITY)?,
                Load::Burst { .. } => {
                    self.hash(origin, released, released)?;
                }
                Load::Closed { hashes, seconds, .. } => self.closed(origin, released, *hashes, *seconds)?,
                Load::Open { arrivals, .. } => self.open(origin, released, arrivals)?,
            }
        }
        self.harvest.lanes_cpu_s = self.slot.lanes_cpu_s() - lanes_before;
        Ok(())
    }

    /// The next hash when the last one ends, at least one.
    fn closed(&mut self, origin: f64, released: f64, hashes: u32, seconds: f64) -> Result<(), EngineError> {
        let mut free = released;
        // Nobody claims the first one: a client that is late to start must not find all hashes taken.
        while !self.shared.stop.load(Ordering::Relaxed) && origin + free < self.shared.deadline {
            free = self.hash(origin, free, free)?;
            let claimed = self.shared.claimed.fetch_add(1, Ordering::Relaxed);
            if claimed >= hashes as usize || free - released >= seconds {
                break;
            }
        }
        Ok(())
    }

    /// First come first served with W servers, without a generator: whichever worker is free takes the next arrival and
    /// waits for its instant itself, so no hand-over can be late.
    fn open(&mut self, origin: f64, released: f64, arrivals: &[f64]) -> Result<(), EngineError> {
        let mut free = released;
        loop {
            let next = self.shared.claimed.fetch_add(1, Ordering::Relaxed);
            let Some(&scheduled) = arrivals.get(next) else {
                return Ok(());
            };
            if !self.sleep_until(origin + scheduled) {
                return Ok(());
            }
            free = self.hash(origin, scheduled, free)?;
        }
    }

    /// Whether the instant (of the wall clock) came before the deadline and without a failure elsewhere.
    fn sleep_until(&self, instant: f64) -> bool {
        loop {
            let now = clock::wall();
            if self.shared.stop.load(Ordering::Relaxed) || now.max(instant) >= self.shared.deadline {
                return false;
            }
            if now >= instant {
                return true;
            }
            clock::sleep_until(instant.min(now + NAP_S));
        }
    }

    /// One login: the hash and the rest. Returns when this worker is free again.
    fn hash(&mut self, origin: f64, scheduled: f64, free: f64) -> Result<f64, EngineError> {
        // CLOCK_MONOTONIC for what a caller waits for; the thread's CPU clock only as a cross-check, since it does not see
        // the lanes' threads.
        // Never before what it waited for, not even by a rounding error.
        let started = (clock::wall() - origin).max(scheduled).max(free);
        let cpu = clock::thread_cpu();
        self.slot.hash()?;
        if self.shared.app_cpu_s > 0.0 {
            // CPU time, not wall time: the rest of a login competes for the same CPUs as the hashes do.
            self.harvest.app_cpu_s += clock::spin(self.shared.app_cpu_s);
        }
        let thread_cpu = clock::thread_cpu() - cpu;
        let finished = clock::wall() - origin;
        self.harvest.samples.push(Sample {
            scheduled,
            started,
            finished,
            lateness: started - scheduled.max(free),
            thread_cpu,
            worker: self.index,
        });
        Ok(finished)
    }
}
