//! The real world behind [`Measure`].

use std::sync::Arc;
use std::time::Duration;

use super::caveats::frequency;
use super::{
    Conditions, CounterReading, Load, Measure, MeasureError, Measurement, PeakMemory, Thresholds, memory, run,
};
use crate::caveat::Caveat;
use crate::engine::worker::{self, Program};
use crate::engine::{Engine, clock};
use crate::setting::Setting;
use crate::units::{Bytes, Millis, Seconds};

/// Measures with an engine until a deadline.
pub struct Runner {
    engine: Arc<dyn Engine>,
    app_cpu_s: f64,
    thresholds: Thresholds,
    origin: f64,
    /// On [`clock::wall`].
    deadline: f64,
    free_memory: Box<dyn FnMut() -> Bytes + Send>,
    counters: Box<dyn FnMut() -> CounterReading + Send>,
    worker: Option<Program>,
    /// The CPUs' clock after the first measurement, in MHz.
    mhz: f64,
}

impl Runner {
    /// A runner whose run begins now, on a host with `cpus` usable CPUs, with nothing known about memory or disturbances.
    pub fn new(engine: Arc<dyn Engine>, cpus: f64) -> Self {
        Self {
            engine,
            app_cpu_s: 0.0,
            thresholds: Thresholds::new(cpus),
            origin: clock::wall(),
            deadline: f64::INFINITY,
            free_memory: Box::new(|| Bytes(u64::MAX)),
            counters: Box::new(CounterReading::default),
            worker: None,
            mhz: 0.0,
        }
    }

    /// CPU time of the rest of a login, spent after each hash.
    #[must_use]
    pub const fn app_cpu(mut self, app_cpu: Millis) -> Self {
        self.app_cpu_s = app_cpu.as_s();
        self
    }

    /// No hash starts later than this after the run's begin.
    #[must_use]
    pub fn deadline(mut self, after: Seconds) -> Self {
        self.deadline = self.origin + after.0;
        self
    }

    /// The run, with its deadline, began this long ago: a runner that goes on where another ended.
    #[must_use]
    pub fn begun(mut self, ago: Seconds) -> Self {
        self.origin -= ago.0;
        self.deadline -= ago.0;
        self
    }

    /// Tells the memory that may be used now, less a margin. Asked before each measurement and between rounds.
    #[must_use]
    pub fn free_memory(mut self, ask: impl FnMut() -> Bytes + Send + 'static) -> Self {
        self.free_memory = Box::new(ask);
        self
    }

    /// Reads the kernel's counters. Asked right before and after each measurement.
    #[must_use]
    pub fn counters(mut self, read: impl FnMut() -> CounterReading + Send + 'static) -> Self {
        self.counters = Box::new(read);
        self
    }

    /// The program that measures peak memory. Without it, the estimate by parameters stands in.
    #[must_use]
    pub fn worker(mut self, program: Program) -> Self {
        self.worker = Some(program);
        self
    }

    /// W x (memory_cost + threads): what the parameters say.
    fn estimated(need: Bytes, why: String) -> PeakMemory {
        PeakMemory {
            bytes: need,
            source: "estimate by parameters".into(),
            cgroup: None,
            cgroup_refusal: Some("no child was measured".into()),
            caveats: vec![Caveat::MemoryApproximate { why }],
        }
    }
}

impl Measure for Runner {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let mut conditions = Conditions {
            app_cpu_s: self.app_cpu_s,
            deadline: self.deadline,
            thresholds: self.thresholds,
            cpu_clock: clock::process_cpu,
            free_memory: &mut self.free_memory,
            counters: &mut self.counters,
        };
        let mut measured = run(self.engine.as_ref(), setting, load, &mut conditions)?;
        measured.caveats.extend(frequency(self.mhz, measured.disturbance.mhz));
        if self.mhz == 0.0 {
            self.mhz = measured.disturbance.mhz;
        }
        Ok(measured)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        let need = memory::need(setting, workers);
        memory::check(need, (self.free_memory)())?;
        let Some(program) = &self.worker else {
            return Ok(Self::estimated(need, "no worker program is known".into()));
        };
        let left = self.deadline - clock::wall();
        if left <= 0.0 {
            return Err(MeasureError::Time);
        }
        let mut program = program.clone();
        if let Ok(left) = Duration::try_from_secs_f64(left) {
            program.timeout = program.timeout.min(left);
        }
        let peak = worker::peak(&program, setting, workers).map_err(|e| MeasureError::Engine(e.to_string()))?;
        let mut caveats = Vec::new();
        if let Setting::Scrypt(_) = setting {
            let why = "scrypt's memory was held by its formula, 128 r (N + p)";
            caveats.push(Caveat::MemoryApproximate { why: why.into() });
        }
        let (cgroup, cgroup_refusal) = match peak.cgroup {
            Ok(bytes) => (Some(bytes), None),
            Err(reason) => (None, Some(reason)),
        };
        Ok(PeakMemory {
            bytes: peak.resident,
            source: "VmHWM of a fresh child".into(),
            cgroup,
            cgroup_refusal,
            caveats,
        })
    }

    fn elapsed_s(&self) -> f64 {
        clock::wall() - self.origin
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Act, Fake, any_setting};
    use super::*;

    fn runner() -> Runner {
        Runner::new(Arc::new(Fake::new(Act::Sleep(0.000_1))), 2.0)
    }

    #[test]
    fn measures_through_the_trait_until_the_deadline() {
        let single = Load::Single { hashes: 3 };
        let mut open_ended = runner();
        assert_eq!(open_ended.measure(&any_setting(), &single).unwrap().samples.len(), 3);
        assert!(open_ended.elapsed_s() > 0.0);
        let mut late = runner().deadline(Seconds(0.0));
        assert_eq!(late.measure(&any_setting(), &single), Err(MeasureError::Time));
    }

    #[test]
    fn a_clock_that_changes_between_measurements_is_a_doubt() {
        let mut clocks = [3000.0, 3000.0, 3000.0, 2400.0].into_iter();
        let reading = move || CounterReading {
            mhz: clocks.next().unwrap_or(0.0),
            ..CounterReading::default()
        };
        let mut runner = runner().counters(reading);
        let mut codes = || -> Vec<&str> {
            let measured = runner.measure(&any_setting(), &Load::Single { hashes: 1 }).unwrap();
            measured.caveats.iter().map(Caveat::code).collect()
        };
        assert!(!codes().contains(&"frequency-changed"));
        assert!(codes().contains(&"frequency-changed"));
    }

    #[test]
    fn peak_memory_without_a_worker_is_an_estimate_and_says_so() {
        let setting: Setting = "argon2id:m=65536,t=1,p=1".parse().unwrap();
        let peak = runner().peak_memory(&setting, 2).unwrap();
        assert!(peak.bytes >= Bytes(128 << 20));
        assert_eq!(peak.caveats[0].code(), "memory-approximate");
        let mut tight = runner().free_memory(|| Bytes(64 << 20));
        let error = tight.peak_memory(&setting, 2).unwrap_err();
        assert!(matches!(error, MeasureError::Memory { .. }));
        assert!(matches!(
            tight.measure(&setting, &Load::Single { hashes: 1 }),
            Err(MeasureError::Memory { .. })
        ));
    }
}
