//! A machine of formulas for the benchmark: it tires, it can be short of memory, and it can have faults.

use hashtune::caveat::Caveat;
use hashtune::measure::{Load, Measure, MeasureError, Measurement, PeakMemory, Sample};
use hashtune::setting::Setting;
use hashtune::units::Bytes;

#[path = "../common/measurement.rs"]
mod measurement;

use measurement::measurement;

pub const CPUS: f64 = 2.0;

/// Two CPUs, 1 ms of CPU a MiB and pass or 10 ms for bcrypt; each measurement of a load is slower than the one before by a
/// known step, so that medians can be told.
#[derive(Default)]
pub struct World {
    pub clock: f64,
    /// Hashes in flight that memory holds.
    pub holds: Option<u32>,
    /// Slower by this share with each further measurement of the same.
    pub step: f64,
    /// Every load, in order.
    pub measured: Vec<(Setting, Load)>,
    pub peaks: Vec<(Setting, u32)>,
    pub doubt: Option<Caveat>,
    /// What goes wrong in a measurement, by its number from 0.
    pub fault: Option<fn(usize, &mut Measurement)>,
}

fn cost(setting: &Setting) -> f64 {
    match setting {
        Setting::Argon2id(a) => f64::from(a.memory_kib()) / 1024.0 * 1e-3 * f64::from(a.time_cost()),
        _ => 0.010,
    }
}

impl World {
    /// Wall and CPU seconds of the next measurement's hashes with `crowd` in flight.
    fn speed(&self, setting: &Setting, crowd: u32, again: usize) -> (f64, f64) {
        let cpu = cost(setting) * (1.0 + self.step * again as f64);
        let lanes = f64::from(setting.lanes()).min(CPUS);
        (cpu * (f64::from(crowd) / CPUS).max(1.0 / lanes), cpu)
    }

    fn check(&self, in_flight: u32) -> Result<(), MeasureError> {
        if self.holds.is_some_and(|most| in_flight > most) {
            let (need, free) = (Bytes(u64::from(in_flight) << 20), Bytes(1 << 20));
            return Err(MeasureError::Memory { need, free });
        }
        Ok(())
    }
}

fn same_kind(a: &Load, b: &Load) -> bool {
    match (a, b) {
        (Load::Open { arrivals: a, .. }, Load::Open { arrivals: b, .. }) => a.len() == b.len(),
        (a, b) => a == b,
    }
}

impl Measure for World {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let (crowd, n, open) = match load {
            Load::Single { hashes } => (1, *hashes, None),
            Load::Burst { size, rounds } => (*size, size * rounds, None),
            Load::Closed { clients, .. } => (*clients, clients * 4, None),
            Load::Open { arrivals, workers } => (*workers, arrivals.len() as u32, Some(arrivals)),
        };
        self.check(crowd)?;
        let before = self.measured.iter().filter(|(s, l)| s == setting && same_kind(l, load));
        let again = before.count();
        self.measured.push((*setting, load.clone()));
        let (wall, cpu) = self.speed(setting, if open.is_some() { 1 } else { crowd }, again);
        let sample = |i: u32| {
            let scheduled = match (open, load) {
                (Some(arrivals), _) => arrivals[i as usize],
                (None, Load::Burst { .. }) => 0.0,
                (None, _) => f64::from(i / crowd) * wall,
            };
            Sample {
                scheduled,
                started: scheduled,
                finished: scheduled + wall,
                lateness: if open.is_some() && i == 0 { 0.004 } else { 0.0 },
                thread_cpu: cpu,
                worker: i % crowd,
            }
        };
        let samples: Vec<Sample> = (0..n).map(sample).collect();
        let wall_s = samples.iter().map(|s| s.finished).fold(0.0, f64::max);
        self.clock += wall_s;
        let mut measured = Measurement {
            caveats: self.doubt.clone().into_iter().collect(),
            ..measurement(setting, load, samples, wall_s, cpu * f64::from(n))
        };
        if let Some(fault) = self.fault {
            fault(self.measured.len() - 1, &mut measured);
        }
        Ok(measured)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.check(workers)?;
        self.peaks.push((*setting, workers));
        Ok(PeakMemory {
            bytes: Bytes(setting.memory_cost().0 * u64::from(workers) + 1024 * self.peaks.len() as u64),
            source: "formula".into(),
            ..PeakMemory::default()
        })
    }

    fn elapsed_s(&self) -> f64 {
        self.clock
    }
}
