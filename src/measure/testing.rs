//! Engines and measurements that never hash anything.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::{Disturbance, Load, Measurement, Sample};
use crate::engine::{Engine, EngineError, Slot, clock};
use crate::setting::Setting;

/// A setting whose parameters nobody uses.
pub fn any_setting() -> Setting {
    "bcrypt:4".parse().expect("a valid setting")
}

/// `n` hashes of 10 ms each, one every 25 ms on one worker, with nothing wrong.
pub fn steady(n: u32) -> Measurement {
    let samples: Vec<Sample> = (0..n)
        .map(|i| {
            let scheduled = f64::from(i) * 0.025;
            Sample {
                scheduled,
                started: scheduled,
                finished: scheduled + 0.010,
                lateness: 0.0,
                thread_cpu: 0.010,
                worker: 0,
            }
        })
        .collect();
    Measurement {
        setting: any_setting(),
        load: Load::Single { hashes: n },
        engine: "fake",
        wall_s: f64::from(n) * 0.025,
        samples,
        cpu_s: f64::from(n) * 0.010,
        app_cpu_s: 0.0,
        lanes_cpu_s: 0.0,
        disturbance: Disturbance::default(),
        caveats: Vec::new(),
    }
}

/// What a fake hash does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// Use CPU time, in seconds.
    Spin(f64),
    /// Use wall time, in seconds.
    Sleep(f64),
    /// Fail at this hash of the whole engine, counted from 1 (warm-ups included).
    FailAt(u32),
    /// Panic at this hash.
    PanicAt(u32),
}

/// An engine that acts, counts and refuses.
#[derive(Debug, Clone)]
pub struct Fake {
    pub act: Act,
    /// Slots that are granted.
    pub slots: u32,
    pub made: Arc<AtomicU32>,
    pub hashes: Arc<AtomicU32>,
    /// Begin and end of every hash, warm-ups included, on the wall clock.
    pub log: Arc<Mutex<Vec<(f64, f64)>>>,
}

impl Fake {
    pub fn new(act: Act) -> Self {
        Self {
            act,
            slots: u32::MAX,
            made: Arc::default(),
            hashes: Arc::default(),
            log: Arc::default(),
        }
    }
}

impl Engine for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn slot(&self, setting: &Setting) -> Result<Box<dyn Slot>, EngineError> {
        if self.made.fetch_add(1, Ordering::SeqCst) >= self.slots {
            return Err(EngineError::Refused {
                setting: setting.to_string(),
                reason: "no more slots".into(),
            });
        }
        Ok(Box::new(FakeSlot(self.clone())))
    }
}

struct FakeSlot(Fake);

impl Slot for FakeSlot {
    fn hash(&mut self) -> Result<(), EngineError> {
        let begin = clock::wall();
        let nth = self.0.hashes.fetch_add(1, Ordering::SeqCst) + 1;
        match self.0.act {
            Act::Spin(cpu_s) => {
                clock::spin(cpu_s);
            }
            Act::Sleep(wall_s) => clock::sleep_until(begin + wall_s),
            Act::FailAt(at) if nth >= at => {
                return Err(EngineError::Refused {
                    setting: "fake".into(),
                    reason: format!("hash {nth} fails"),
                });
            }
            Act::PanicAt(at) => assert!(nth < at, "hash {nth} panics"),
            Act::FailAt(_) => {}
        }
        self.0
            .log
            .lock()
            .expect("no panic holds it")
            .push((begin, clock::wall()));
        Ok(())
    }
}
