//! The machine that the search is proved on: an analytic cost model and a simulated clock.

#![allow(dead_code)] // each test uses its part

mod measurement;

use hashtune::budget::Budget;
use hashtune::measure::{Load, Measure, MeasureError, Measurement, PeakMemory, Sample};
use hashtune::queue::{self, Cpus, Station};
use hashtune::recommend::{Aim, Bounds, CostModel, Effort, Planner, Proposal, Request, Space, propose};
use hashtune::setting::{Algorithm, Setting};
use hashtune::strength::Attacker;
use hashtune::units::{Bytes, Millis, Rate, Share};
use hashtune::verdict::Cost;

use measurement::measurement;

/// A machine whose costs are formulas. Times in seconds.
pub struct World {
    pub cpus: Cpus,
    /// CPU seconds a KiB and pass.
    pub fill: f64,
    /// CPU seconds a KiB of fresh pages, from 32 MiB on.
    pub fault: f64,
    /// CPU seconds of bcrypt at cost 0.
    pub bcrypt: f64,
    /// CPU of a lone hash over that of a crowded one.
    pub alone: f64,
    pub app: f64,
    /// What a hash costs over the formula, second by second of the clock, under load; 1 past the end.
    pub drift: Vec<f64>,
    pub clock: f64,
    pub measured: Vec<(Setting, Load)>,
}

/// Smallest Argon2 memory, in KiB, that comes as fresh pages.
pub const FRESH_FROM_KIB: u32 = 32 << 10;

impl World {
    pub fn new(cpus: Cpus, app: Millis) -> Self {
        Self {
            cpus,
            fill: 0.35e-6,
            fault: 0.2e-6,
            bcrypt: 45e-6,
            alone: 0.85,
            app: app.as_s(),
            drift: Vec::new(),
            clock: 0.0,
            measured: Vec::new(),
        }
    }

    pub fn loaded(&self, setting: &Setting) -> f64 {
        match setting {
            Setting::Argon2id(a) => {
                let fault = if a.memory_kib() >= FRESH_FROM_KIB {
                    self.fault
                } else {
                    0.0
                };
                f64::from(a.memory_kib()) * (self.fill * f64::from(a.time_cost()) + fault)
            }
            Setting::Bcrypt(b) => self.bcrypt * f64::from(b.cost()).exp2(),
            Setting::Scrypt(s) => 2.5e-9 * 128.0 * s.n() as f64 * f64::from(s.r() * s.p()),
            Setting::Pbkdf2(p) => 0.25e-6 * f64::from(p.iterations()),
        }
    }

    fn drift(&self, after_s: f64) -> f64 {
        self.drift.get((self.clock + after_s) as usize).copied().unwrap_or(1.0)
    }

    pub fn alone_ratio(&self, setting: &Setting) -> f64 {
        if setting.memory_cost().0 > 1 << 20 {
            self.alone
        } else {
            1.0
        }
    }

    pub fn cost(&self, setting: &Setting) -> Cost {
        Cost {
            loaded_s: self.loaded(setting),
            alone_ratio: self.alone_ratio(setting),
            lanes: f64::from(setting.lanes()),
        }
    }

    pub fn station(&self, setting: &Setting, workers: u32) -> Station {
        Station {
            workers,
            cpus: self.cpus,
            lanes: f64::from(setting.lanes().min(self.cpus.affinity)),
            alone_ratio: self.alone_ratio(setting),
            app_cpu: self.app,
        }
    }

    fn served(&self, setting: &Setting, arrivals: &[f64], workers: u32) -> Vec<Sample> {
        let demands: Vec<f64> = arrivals
            .iter()
            .map(|at| self.loaded(setting) * self.drift(*at))
            .collect();
        let served = queue::simulate(&self.station(setting, workers), arrivals, &demands);
        let sample = |(at, s): (&f64, queue::Served)| Sample {
            scheduled: *at,
            started: s.started,
            finished: s.finished,
            lateness: 0.0,
            thread_cpu: s.hash_cpu,
            worker: 0,
        };
        arrivals.iter().zip(served).map(sample).collect()
    }

    fn samples(&self, setting: &Setting, load: &Load) -> Vec<Sample> {
        match load {
            Load::Single { hashes } => {
                let gap = 1e3;
                let arrivals: Vec<f64> = (0..*hashes).map(|i| f64::from(i) * gap).collect();
                let mut samples = self.served(setting, &arrivals, 1);
                for (sample, at) in samples.iter_mut().zip(arrivals) {
                    *sample = Sample {
                        scheduled: 0.0,
                        started: sample.started - at,
                        finished: sample.finished - at,
                        ..*sample
                    };
                }
                samples
            }
            Load::Burst { size, rounds } => (0..*rounds)
                .flat_map(|_| self.served(setting, &vec![0.0; *size as usize], *size))
                .collect(),
            Load::Closed {
                clients,
                hashes,
                seconds,
            } => {
                let each = self.loaded(setting) * self.drift(0.0);
                let wall = each * f64::from(*clients) / self.cpus.usable().min(f64::from(*clients));
                let rounds = ((seconds / wall) as u32 + 1).min(hashes / clients);
                let sample = Sample {
                    finished: wall,
                    thread_cpu: each,
                    ..Sample::default()
                };
                vec![sample; (rounds * clients) as usize]
            }
            Load::Open { arrivals, workers } => self.served(setting, arrivals, *workers),
        }
    }
}

impl Measure for World {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        self.measured.push((*setting, load.clone()));
        let samples = self.samples(setting, load);
        let app_cpu_s = self.app * samples.len() as f64;
        let cpu_s = samples.iter().map(|s| s.thread_cpu).sum::<f64>() + app_cpu_s;
        let wall_s = match load {
            Load::Open { .. } => samples.iter().map(|s| s.finished).fold(0.0, f64::max),
            Load::Closed { clients, .. } => cpu_s / self.cpus.usable().min(f64::from(*clients)),
            // One after the other, each as long as its lanes make it; bursts keep all CPUs busy.
            Load::Single { .. } => samples.iter().map(|s| s.finished).sum(),
            Load::Burst { .. } => cpu_s / self.cpus.usable(),
        };
        self.clock += wall_s;
        Ok(Measurement {
            app_cpu_s,
            ..measurement(setting, load, samples, wall_s, cpu_s)
        })
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        let bytes = Bytes((setting.memory_cost().0 + (64 << 10)) * u64::from(workers));
        Ok(PeakMemory {
            bytes,
            source: "formula".into(),
            ..PeakMemory::default()
        })
    }

    fn elapsed_s(&self) -> f64 {
        self.clock
    }
}

pub fn two_cpus() -> Cpus {
    Cpus {
        affinity: 2,
        quota: None,
    }
}

/// How one limit is loosened.
pub fn looser(base: Budget, which: usize, factor: f64) -> Budget {
    match which {
        0 => Budget {
            latency: Millis(base.latency.0 * factor),
            ..base
        },
        1 => Budget {
            memory: base.memory.scaled(factor),
            ..base
        },
        _ => Budget {
            peak: Rate::new(base.peak.per_s() / factor).unwrap(),
            ..base
        },
    }
}

/// A budget without application or idle memory, at p95.
pub fn budget(latency_ms: f64, peak: f64, memory_mib: u64, workers: Option<u32>) -> Budget {
    Budget {
        latency: Millis(latency_ms),
        quantile: 0.95,
        memory: Bytes(memory_mib << 20),
        idle_memory: Bytes(0),
        app_cpu: Millis(0.0),
        peak: Rate::new(peak).unwrap(),
        headroom: Share(0.1),
        workers,
    }
}

/// What is asked of the search in most tests: Argon2id or bcrypt, beside a few presets.
pub fn request(budget: Budget, cpus: Cpus) -> Request {
    let presets = [
        ("owasp-46m", "argon2id:m=47104,t=1,p=1"),
        ("owasp-19m", "argon2id:m=19456,t=2,p=1"),
        ("owasp-7m", "argon2id:m=7168,t=5,p=1"),
        ("rfc9106-second", "argon2id:m=65536,t=3,p=4"),
        ("rfc9106-first", "argon2id:m=2097152,t=1,p=4"),
        ("bcrypt-10", "bcrypt:10"),
        ("bcrypt-12", "bcrypt:12"),
    ];
    Request {
        budget,
        usable_cpus: cpus.usable(),
        cpus,
        algorithms: vec![Algorithm::Argon2id, Algorithm::Bcrypt],
        presets: presets
            .map(|(name, text)| (name.to_owned(), text.parse().unwrap()))
            .to_vec(),
        bounds: Bounds::default(),
        effort: Effort::Full,
        current: None,
        explain: false,
        attacker: Attacker::builtin().clone(),
        fresh_from_kib: Some(FRESH_FROM_KIB),
        seed: 7,
        time_limit_s: 60.0,
    }
}

/// What is first proposed when the costs are known without error, presets aside.
pub fn propose_exactly(algorithm: Algorithm, request: &Request) -> Option<Proposal> {
    let world = World::new(request.cpus, request.budget.app_cpu);
    let mut model = CostModel::new(request.fresh_from_kib);
    for text in known(algorithm) {
        for p in [1, 2, 4] {
            let text = text.replace("LANES", &p.to_string());
            let setting: Setting = text.parse().unwrap();
            model.add(setting, world.cost(&setting));
        }
    }
    let space = Space {
        presets: Vec::new(),
        bounds: request.bounds,
    };
    let mut planner = Planner::new(request.budget, request.usable_cpus, request.cpus);
    propose(
        algorithm,
        &space,
        &request.attacker,
        &model,
        &mut planner,
        &Aim::default(),
    )
}

fn known(algorithm: Algorithm) -> &'static [&'static str] {
    match algorithm {
        Algorithm::Argon2id => &[
            "argon2id:m=7168,t=1,p=LANES",
            "argon2id:m=19456,t=2,p=LANES",
            "argon2id:m=47104,t=1,p=LANES",
            "argon2id:m=65536,t=3,p=LANES",
            "argon2id:m=131072,t=1,p=LANES",
        ],
        Algorithm::Scrypt => &["scrypt:n=16384,r=8,p=1"],
        Algorithm::Bcrypt => &["bcrypt:10"],
        Algorithm::Pbkdf2Sha256 => &["pbkdf2-sha256:200000"],
        Algorithm::Pbkdf2Sha512 => &["pbkdf2-sha512:200000"],
    }
}
