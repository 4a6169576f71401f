//! Every doubt can be provoked, by what it is about and not by writing it down: damaged hosts, faulty machines, odd arguments.
//!
//! One test, so that the engines here have the process's CPU clock for themselves.

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use common::{World, budget, request, two_cpus};
use hashtune::budget::Budget;
use hashtune::caveat::{Caveat, SettingDoubt};
use hashtune::engine::{Engine, EngineError, Slot, clock};
use hashtune::host::{self, Host};
use hashtune::measure::{
    CounterReading, Load, Measure, MeasureError, Measurement, PeakMemory, Runner, Silent, Thresholds, caveats,
};
use hashtune::recommend::{Request, recommend};
use hashtune::setting::{Algorithm, Setting};
use hashtune::units::{Bytes, Seconds};

type Codes = Vec<String>;
type Provocation = (&'static [&'static str], fn() -> Codes);

/// What provokes which codes. Every code is in it.
const PROVOKED: &[Provocation] = &[
    (&["cpu-fraction"], || on_host("04-v2-half-a-cpu")),
    (&["limit-above-ram"], || on_host("16-v2-limit-above-physical-memory")),
    (&["memory-high-below-max"], || on_host("15-lxd-memory-high-below-max")),
    (&["no-cgroup"], || on_host("33-no-cgroup-mounted-sysvinit")),
    (&["no-proc"], || on_host("30-macos-no-proc")),
    (&["malformed-file"], || on_host("27-v2-malformed-leaf-sound-parent")),
    (&["unreadable-file"], || on_host("31-unreadable-leaf-memory-file")),
    (&["cgroup-path-not-found", "ancestors-hidden"], || {
        on_host("21-v2-mount-root-above-the-namespace-root")
    }),
    (&["cgroup-outside-namespace"], || {
        on_host("20-v2-path-outside-the-namespace")
    }),
    (&["proc-virtualized"], || on_host("26-lxcfs-renumbers-the-online-cpus")),
    (&["loaded-before"], a_loaded_host),
    (&["memory-assumed", "idle-memory-assumed", "app-cpu-assumed"], || {
        said(&MAIN)
    }),
    (&["cpus-capped"], || said(&[&MAIN[..], &["--cpus", "1"]].concat())),
    (&["memory-above-host"], || {
        said(&[&MAIN[..], &["--mem", "1000TiB"]].concat())
    }),
    (&["memory-forced"], || {
        said(&[&MAIN[..], &["--mem", "1000TiB", "--force-mem"]].concat())
    }),
    (&["own-memory-limit"], || {
        let limited = format!(
            "ulimit -v 1000000; exec {} {} --mem 1TiB --force-mem",
            env!("CARGO_BIN_EXE_hashtune"),
            MAIN.join(" ")
        );
        said_by(Command::new("sh").args(["-c", &limited]))
    }),
    (&["looks-like-bytes"], || {
        said(&[&MAIN[..], &["--current", "argon2id:m=67108864,t=1,p=1"]].concat())
    }),
    (&["looks-like-mib", "memory-unfilled", "lanes-above-cpus"], || {
        let lanes = thread::available_parallelism().unwrap().get() + 1;
        let current = format!("argon2id:m={},t=1,p={lanes}", 8 * lanes + 1);
        said(&[&MAIN[..], &["--current", &current]].concat())
    }),
    (&["logins-refused"], || {
        // Half of the logins may take longer than the budget, and the queue's bound lets none of them.
        recommended(usual(), |r| r.budget.quantile = 0.5, |_| {})
    }),
    (
        &["cpu-throttled", "stolen-time", "busy-host", "memory-pressure"],
        || {
            counted(|reading| CounterReading {
                periods: reading,
                throttled: reading,
                steal_s: reading as f64,
                busy_s: 10.0 * reading as f64,
                memory_stall_s: reading as f64,
                cpus: 2,
                ..CounterReading::default()
            })
        },
    ),
    (&["lost-time"], || {
        // Each hash has its CPU back late, and no counter tells.
        at_the_peak(|m| m.samples.iter_mut().for_each(|s| s.finished += 0.005))
    }),
    (&["frequency-changed"], || {
        counted(|reading| CounterReading {
            mhz: 1000.0 * reading as f64,
            ..CounterReading::default()
        })
    }),
    (&["turbo"], || {
        lone(|nth| {
            clock::spin(if nth < 20 { 0.001 } else { 0.002 });
        })
    }),
    (&["generator-cpu"], || {
        // CPU time that is no hash's.
        lone(|_| {
            thread::spawn(|| clock::spin(0.001)).join().unwrap();
        })
    }),
    (&["generator-late"], late_starts),
    (&["too-few-arrivals"], the_deadline_comes_first),
    (&["memory-approximate"], no_worker_program),
    (&["still-disturbed"], || {
        at_the_peak(|m| m.disturbance.others_cpus = 0.8)
    }),
    (&["outliers"], || at_the_peak(|m| m.samples[10].thread_cpu *= 0.01)),
    (&["noisy"], || {
        at_the_peak(|m| {
            m.samples.iter_mut().for_each(|s| s.thread_cpu *= 1.3);
            m.cpu_s *= 1.3;
        })
    }),
    (&["wide-interval"], || {
        // Much time: the queue decides, and with hashes that change for seconds it is told badly.
        let uneven = |m: &mut Measurement| {
            for (i, s) in m.samples.iter_mut().enumerate() {
                s.thread_cpu *= if i / 20 % 2 == 0 { 0.8 } else { 1.2 };
            }
        };
        recommended(budget(2000.0, 20.0, 1024, None), |_| {}, uneven)
    }),
    (&["simulated-peak"], || {
        recommended(budget(250.0, 1.0 / 60.0, 1024, None), |_| {}, |_| {})
    }),
    (&["time-short"], || {
        recommended(usual(), |r| r.time_limit_s = 1.0, |_| {})
    }),
    (&["memory-tight"], little_free_memory),
    (&["library-cost", "bcrypt-input-limit", "below-floor"], || {
        let weak = |r: &mut Request| {
            r.algorithms = vec![Algorithm::Bcrypt];
            r.bounds.below_floor = true;
        };
        recommended(budget(250.0, 100.0, 1024, None), weak, |_| {})
    }),
];

#[test]
fn every_caveat_fires() {
    let mut listed: Vec<&str> = PROVOKED.iter().flat_map(|(codes, _)| codes.iter().copied()).collect();
    let mut all = [Caveat::CODES, SettingDoubt::CODES].concat();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all, "each code is provoked once");

    let one_cpu = thread::available_parallelism().is_ok_and(|n| n.get() == 1);
    let mut faults = Vec::new();
    for (wanted, provoke) in PROVOKED {
        let fired = provoke();
        let missing = wanted.iter().filter(|code| !fired.iter().any(|f| f == *code));
        // One CPU cannot be capped to fewer.
        let missing = missing.filter(|code| !(one_cpu && **code == "cpus-capped"));
        faults.extend(missing.map(|code| format!("{code} did not fire, but {fired:?}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn codes(doubts: &[Caveat]) -> Codes {
    doubts.iter().map(|c| c.code().to_owned()).collect()
}

// Hosts: trees of the corpus, and one made here.

fn probed(case: &str) -> Host {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(case);
    assert!(root.is_dir(), "{case}");
    host::probe(&root.join("root"))
}

fn on_host(case: &str) -> Codes {
    codes(&probed(case).warnings)
}

fn a_loaded_host() -> Codes {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, content: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    write("proc/loadavg", "3.00 1.00 0.50 4/200 99\n");
    write("sys/devices/system/cpu/online", "0-3\n");
    codes(
        &host::probe(root.path())
            .loaded_before(2.0)
            .into_iter()
            .collect::<Vec<_>>(),
    )
}

// The program: what it says on standard error.

/// A job that nothing can fit: it measures little, and says all its doubts.
const MAIN: [&str; 6] = ["--peak", "100000/s", "--budget-ms", "1", "--algorithm", "bcrypt"];

fn said(args: &[&str]) -> Codes {
    said_by(Command::new(env!("CARGO_BIN_EXE_hashtune")).args(args))
}

fn said_by(command: &mut Command) -> Codes {
    let run = command.output().unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    // The code is in brackets behind the text.
    let caveats = stderr.lines().filter(|line| line.starts_with("caveat: "));
    let code = |line: &str| {
        let (_, code) = line.rsplit_once('(')?;
        code.split_once(')').map(|(code, _)| code.to_owned())
    };
    let mut said: Codes = caveats.filter_map(code).collect();
    said.push(format!("on standard error: {stderr}"));
    said
}

// The measurement: engines that misbehave, and a kernel that counts what it is told to.

/// Calls its function for each hash, numbered from 0 (the warm-up).
#[derive(Clone)]
struct Faked(fn(u32), Arc<AtomicU32>);

impl Engine for Faked {
    fn name(&self) -> &'static str {
        "faked"
    }

    fn slot(&self, _: &Setting) -> Result<Box<dyn Slot>, EngineError> {
        Ok(Box::new(self.clone()))
    }
}

impl Slot for Faked {
    fn hash(&mut self) -> Result<(), EngineError> {
        (self.0)(self.1.fetch_add(1, Ordering::Relaxed));
        Ok(())
    }
}

fn bcrypt() -> Setting {
    "bcrypt:10".parse().unwrap()
}

fn runner(hash: fn(u32)) -> Runner {
    Runner::new(Arc::new(Faked(hash, Arc::default())), 2.0)
}

fn lone(hash: fn(u32)) -> Codes {
    let measured = runner(hash).measure(&bcrypt(), &Load::Single { hashes: 40 });
    codes(&measured.unwrap().caveats)
}

/// Two measurements of 50 ms, with counters by the number of their reading, from 1.
fn counted(counters: fn(u64) -> CounterReading) -> Codes {
    let mut reading = 0;
    let mut runner = runner(|_| thread::sleep(Duration::from_millis(10))).counters(move || {
        reading += 1;
        counters(reading)
    });
    let load = Load::Single { hashes: 5 };
    runner.measure(&bcrypt(), &load).unwrap();
    codes(&runner.measure(&bcrypt(), &load).unwrap().caveats)
}

fn the_deadline_comes_first() -> Codes {
    let load = Load::Open {
        arrivals: vec![0.0, 0.001, 1000.0],
        workers: 2,
    };
    let mut runner = runner(|_| ()).deadline(Seconds(0.5));
    codes(&runner.measure(&bcrypt(), &load).unwrap().caveats)
}

fn no_worker_program() -> Codes {
    codes(&runner(|_| ()).peak_memory(&bcrypt(), 2).unwrap().caveats)
}

fn late_starts() -> Codes {
    let load = Load::Open {
        arrivals: (0..100).map(f64::from).collect(),
        workers: 2,
    };
    let fault = |m: &mut Measurement| {
        for s in &mut m.samples[..3] {
            (s.started, s.finished, s.lateness) = (s.started + 0.1, s.finished + 0.1, 0.1);
        }
    };
    let mut world = Faulty::new(fault);
    codes(&world.measure(&bcrypt(), &load).unwrap().caveats)
}

// The main job: a machine of formulas with a fault.

struct Faulty {
    world: World,
    fault: fn(&mut Measurement),
    /// Memory for one measurement.
    free: Bytes,
}

impl Faulty {
    fn new(fault: fn(&mut Measurement)) -> Self {
        let world = World::new(two_cpus(), hashtune::units::Millis(0.0));
        Self {
            world,
            fault,
            free: Bytes(u64::MAX),
        }
    }
}

impl Measure for Faulty {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let need = setting.memory_cost();
        if need > self.free {
            return Err(MeasureError::Memory { need, free: self.free });
        }
        let mut measured = self.world.measure(setting, load)?;
        (self.fault)(&mut measured);
        measured.caveats = caveats(&measured, &Thresholds::new(2.0));
        Ok(measured)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.world.peak_memory(setting, workers)
    }

    fn elapsed_s(&self) -> f64 {
        self.world.elapsed_s()
    }
}

fn usual() -> Budget {
    budget(250.0, 20.0, 1024, None)
}

fn recommended(budget: Budget, ask: fn(&mut Request), fault: fn(&mut Measurement)) -> Codes {
    let mut asked = request(budget, two_cpus());
    ask(&mut asked);
    codes(&recommend(&asked, &mut Faulty::new(fault), &mut Silent).unwrap().caveats)
}

/// With the fault in every run at the peak.
fn at_the_peak(fault: fn(&mut Measurement)) -> Codes {
    let mut world = Faulty::new(fault);
    let mut asked = request(usual(), two_cpus());
    // Of a hash with lanes no clock tells its own CPU time.
    asked.bounds.max_lanes = 1;
    let mut at_peak = AtPeak(&mut world);
    codes(&recommend(&asked, &mut at_peak, &mut Silent).unwrap().caveats)
}

/// Faulty at the peak, sound elsewhere.
struct AtPeak<'a>(&'a mut Faulty);

impl Measure for AtPeak<'_> {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        match load {
            Load::Open { .. } => self.0.measure(setting, load),
            _ => self.0.world.measure(setting, load),
        }
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.0.peak_memory(setting, workers)
    }

    fn elapsed_s(&self) -> f64 {
        self.0.elapsed_s()
    }
}

fn little_free_memory() -> Codes {
    let mut world = Faulty::new(|_| {});
    world.free = Bytes(48 << 20);
    let asked = request(usual(), two_cpus());
    codes(&recommend(&asked, &mut world, &mut Silent).unwrap().caveats)
}
