//! The benchmark proved without timing anything: a machine whose costs are formulas stands in.

use hashtune::bench::{self, LoadRecord, Loads, Record, Request, Subject};
use hashtune::caveat::Caveat;
use hashtune::export::bench::{COLUMNS, Format};
use hashtune::measure::{Load, Measure, MeasureError, Measurement, Observer, PeakMemory, Sample, Silent};
use hashtune::queue::Cpus;
use hashtune::report::{Figure, HostRecord, Pages};
use hashtune::setting::Setting;
use hashtune::units::{Bytes, Millis, Rate};

#[path = "common/measurement.rs"]
mod measurement;

use measurement::measurement;

const CPUS: f64 = 2.0;

/// Two CPUs, 1 ms of CPU a MiB and pass or 10 ms for bcrypt; each measurement of a load is slower than the one before by a
/// known step, so that medians can be told.
#[derive(Default)]
struct World {
    clock: f64,
    /// Hashes in flight that memory holds.
    holds: Option<u32>,
    /// Slower by this share with each further measurement of the same.
    step: f64,
    /// Every load, in order.
    measured: Vec<(Setting, Load)>,
    peaks: Vec<(Setting, u32)>,
    doubt: Option<Caveat>,
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
        Ok(Measurement {
            caveats: self.doubt.clone().into_iter().collect(),
            ..measurement(setting, load, samples, wall_s, cpu * f64::from(n))
        })
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

fn request(settings: &[&str], loads: Loads) -> Request {
    let subject = |text: &&str| Subject {
        name: (*text).to_owned(),
        setting: text.parse().unwrap(),
    };
    Request {
        subjects: settings.iter().map(subject).collect(),
        loads,
        runs: 3,
        workers: 5,
        closed_s: 1.0,
        open_s: 10.0,
        app_cpu: Millis(0.0),
        usable_cpus: CPUS,
        cpus: Cpus {
            affinity: 2,
            quota: None,
        },
        seed: 1,
        time_limit_s: f64::INFINITY,
        engine: "analytic".into(),
        pages: Pages::Deployed,
        host: HostRecord {
            cpu_model: "paper, \"white\"".into(),
            usable_cpus: Figure::exact(CPUS).unwrap(),
            usable_memory_bytes: 1 << 30,
            kernel: "none".into(),
        },
    }
}

fn run(request: &Request, world: &mut World) -> Record {
    bench::run(request, world, &mut Silent).unwrap()
}

const ARGON: &str = "argon2id:m=102400,t=2,p=1";

#[test]
fn each_load_is_measured_once_a_run_and_settings_take_turns() {
    let loads = Loads {
        single: true,
        bursts: vec![10],
        clients: vec![1, 4],
        ..Loads::default()
    };
    let mut world = World::default();
    let record = run(&request(&[ARGON, "bcrypt:10"], loads), &mut world);
    let rows: Vec<(&str, u32, u32)> = record.settings[0]
        .loads
        .iter()
        .map(|l| (l.load, l.in_flight, l.runs))
        .collect();
    assert_eq!(
        rows,
        [("single", 1, 3), ("burst", 10, 3), ("closed", 1, 3), ("closed", 4, 3)]
    );
    // Two first looks, then four loads of each setting in turn.
    let order: Vec<bool> = world.measured[2..]
        .chunks(4)
        .map(|turn| turn.iter().all(|(s, _)| s.memory_cost() > Bytes(1 << 20)))
        .collect();
    assert_eq!(order, [true, false, true, false, true, false]);
    assert_eq!(world.peaks.len(), 6);
    assert!(world.peaks.iter().all(|(_, workers)| *workers == 5));
    let counted: u64 = record.settings.iter().flat_map(|s| &s.loads).map(|l| l.hashes).sum();
    let hashed: u32 = world.measured[2..]
        .iter()
        .map(|(_, load)| match load {
            Load::Single { hashes } => *hashes,
            Load::Burst { size, rounds } => size * rounds,
            Load::Closed { clients, .. } => clients * 4,
            Load::Open { .. } => 0,
        })
        .sum();
    assert_eq!(counted, u64::from(hashed));
    assert!(record.left_out.is_empty() && record.caveats.is_empty(), "{record:?}");
}

#[test]
fn figures_are_the_median_run_and_the_extremes() {
    let loads = Loads {
        clients: vec![2],
        ..Loads::default()
    };
    let mut world = World {
        step: 0.02,
        ..World::default()
    };
    let record = run(&request(&["bcrypt:10"], loads), &mut world);
    let load = &record.settings[0].loads[0];
    let cpu = load.cpu_ms;
    assert_eq!(
        (cpu.lowest.get(), cpu.median.get(), cpu.highest.get()),
        (10.0, 10.2, 10.4)
    );
    let ceiling = record.settings[0].ceiling.as_ref().unwrap();
    assert_eq!((ceiling.clients, ceiling.cpu_ms), (2, cpu));
    assert!((ceiling.per_s.median.get() - CPUS / 0.0102).abs() < 0.05);
    assert_eq!(ceiling.reached.median.get(), 1.0);
    assert!((load.per_s.highest.get() - 200.0).abs() < 0.1 && (load.per_s.lowest.get() - 192.3).abs() < 0.1);
    let memory = record.settings[0].memory.as_ref().unwrap();
    assert_eq!((memory.workers, memory.expected_bytes), (5, 5 * 4096));
    assert!(memory.peak_bytes.lowest < memory.peak_bytes.highest);
}

#[test]
fn the_ceiling_is_that_of_the_clients_who_got_most() {
    let loads = Loads {
        clients: vec![1, 8],
        ..Loads::default()
    };
    let record = run(&request(&["bcrypt:10"], loads), &mut World::default());
    let ceiling = record.settings[0].ceiling.as_ref().unwrap();
    assert!(ceiling.clients == 8 && ceiling.reached.median.get() == 1.0);
    assert_eq!(record.settings[0].loads[0].busy_cpus.median.get(), 1.0);
}

#[test]
fn runs_that_disagree_are_a_doubt() {
    let loads = Loads {
        single: true,
        ..Loads::default()
    };
    let mut world = World {
        step: 0.06,
        doubt: Some(Caveat::BusyHost { cpus: 1.0 }),
        ..World::default()
    };
    let record = run(&request(&["bcrypt:10"], loads), &mut world);
    let seen: Vec<(&str, Option<u32>)> = record.caveats.iter().map(|c| (c.code, c.run)).collect();
    let busy = |run| ("busy-host", Some(run));
    assert_eq!(seen, [busy(1), busy(2), busy(3), ("noisy", None)]);
    assert_eq!(record.caveats[0].what.as_deref(), Some("alone"));
}

#[test]
fn lanes_replace_p_and_leave_the_rest() {
    let loads = Loads {
        lanes: vec![1, 2, 64],
        ..Loads::default()
    };
    let mut world = World::default();
    let record = run(&request(&["argon2id:m=256,t=2,p=4", "bcrypt:10"], loads), &mut world);
    let rows = &record.settings[0].lanes;
    let settings: Vec<&str> = rows.iter().map(|l| l.setting.as_str()).collect();
    assert_eq!(settings, ["argon2id:m=256,t=2,p=1", "argon2id:m=256,t=2,p=2"]);
    assert!(
        rows[0].p50_ms.median > rows[1].p50_ms.median,
        "wall falls while CPUs are free"
    );
    assert_eq!(rows[0].cpu_ms, rows[1].cpu_ms, "CPU does not");
    assert_eq!((rows[0].lanes, rows[1].lanes, rows[1].load), (1, 2, "lanes"));
    assert!(record.settings[1].lanes.is_empty() && world.peaks.is_empty());
    // 256 KiB cannot hold 64 lanes.
    let out = &record.left_out[0];
    assert_eq!((out.what.as_str(), out.cause, out.runs), ("64 lanes", "bounds", 3));
}

#[test]
fn what_memory_cannot_hold_is_reported_and_never_run() {
    let mut world = World {
        holds: Some(4),
        ..World::default()
    };
    let record = run(&request(&[ARGON], Loads::usual()), &mut world);
    let out: Vec<&str> = record.left_out.iter().map(|l| l.what.as_str()).collect();
    assert_eq!(out, ["10 at once", "peak memory", "8 clients", "16 clients"]);
    assert!(record.left_out.iter().all(|l| l.cause == "memory" && l.runs == 3));
    assert_eq!(record.caveats.iter().filter(|c| c.code == "memory-tight").count(), 4);
    assert!(record.settings[0].memory.is_none());

    let mut world = World {
        holds: Some(0),
        ..World::default()
    };
    let record = run(&request(&[ARGON], Loads::usual()), &mut world);
    assert!(record.is_empty() && world.measured.is_empty());
    assert_eq!(record.left_out.len(), 1);
    assert_eq!(record.left_out[0].what, "everything");
}

#[test]
fn the_time_limit_keeps_what_was_measured() {
    let unlimited = request(&["bcrypt:10"], Loads::usual());
    let mut world = World::default();
    run(&unlimited, &mut world);
    let limited = Request {
        time_limit_s: world.clock / 2.0,
        ..unlimited
    };
    let mut world = World::default();
    let record = run(&limited, &mut world);
    assert!(world.clock <= limited.time_limit_s);
    assert!(!record.is_empty() && record.left_out.iter().all(|l| l.cause == "time"));
    let done: u32 = record.settings[0].loads.iter().map(|l| l.runs).sum();
    let missing: u32 = record
        .left_out
        .iter()
        .filter(|l| l.what != "peak memory")
        .map(|l| l.runs)
        .sum();
    assert_eq!(done + missing, 7 * 3);
    assert!(record.caveats.iter().any(|c| c.code == "time-short"));
}

#[test]
fn an_open_load_has_its_interval_and_late_starts() {
    let rate = |per_s: f64| Rate::new(per_s).unwrap();
    let loads = Loads {
        rates: vec![rate(5.0), rate(20.0)],
        ..Loads::default()
    };
    let mut world = World::default();
    let record = run(&request(&["bcrypt:10"], loads), &mut world);
    let [slow, fast] = record.settings[0].loads.as_slice() else {
        panic!("two rates");
    };
    assert_eq!((slow.hashes, fast.hashes), (150, 600));
    assert_eq!((slow.offered_per_s.unwrap().get(), slow.in_flight), (5.0, 5));
    assert_eq!(slow.late_starts, 3, "one a run");
    let range = fast.p95_long_run_ms.unwrap();
    assert!(range.low <= range.estimate && range.estimate <= range.high);
    let few: Vec<_> = record.caveats.iter().filter(|c| c.code == "too-few-arrivals").collect();
    assert_eq!(few.len(), 1);
    assert!(few[0].remedy.contains("--seconds"));
    // Each run has arrivals of its own.
    let arrivals: Vec<&Vec<f64>> = world
        .measured
        .iter()
        .filter_map(|(_, load)| match load {
            Load::Open { arrivals, .. } if arrivals.len() == 50 => Some(arrivals),
            _ => None,
        })
        .collect();
    assert!(arrivals.len() == 3 && arrivals[0] != arrivals[1]);
}

/// Collects what is said.
#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn stage(&mut self, name: &str, _: f64) {
        self.0.push(name.to_owned());
    }

    fn note(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

#[test]
fn what_will_run_is_said_with_its_time() {
    let mut heard = Heard::default();
    let mut world = World::default();
    bench::run(&request(&["bcrypt:10"], Loads::usual()), &mut world, &mut heard).unwrap();
    assert!(
        heard.0[1].starts_with("bcrypt:10: alone, 10 at once, peak memory, 1 client, 2 clients"),
        "{heard:?}",
        heard = heard.0
    );
    assert!(heard.0[2].starts_with("3 times all of this: about "), "{}", heard.0[2]);
    assert_eq!(heard.0.iter().filter(|h| h.starts_with("run ")).count(), 3);
}

fn text(format: Format, record: &Record) -> String {
    let mut out = Vec::new();
    format.write(record, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_form_shows_every_row() {
    let loads = Loads {
        rates: vec![Rate::new(20.0).unwrap()],
        lanes: vec![1, 2],
        ..Loads::usual()
    };
    let mut world = World {
        holds: Some(8),
        step: 0.01,
        ..World::default()
    };
    let record = run(&request(&[ARGON, "bcrypt:10"], loads), &mut world);
    let rows: Vec<&LoadRecord> = record
        .settings
        .iter()
        .flat_map(|s| s.loads.iter().chain(&s.lanes))
        .collect();
    let mut csv = csv::Reader::from_reader(text(Format::Csv, &record).into_bytes().leak() as &[u8]);
    assert_eq!(csv.headers().unwrap().iter().collect::<Vec<_>>(), COLUMNS);
    let lines: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), rows.len());
    for (line, row) in lines.iter().zip(&rows) {
        assert_eq!((&line[1], &line[3]), (row.setting.as_str(), row.load));
        assert_eq!(line[12].parse(), Ok(row.p50_ms.median.get()));
    }
    let tables = text(Format::Text, &record);
    insta::assert_snapshot!("bench_tables", tables);
}
