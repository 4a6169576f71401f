//! The benchmark's course: a few hashes to know what to expect, then round after round.

use super::assemble;
use super::plan::{self, Kind, Pilot};
use super::record::{Doubt, LeftOut, Record};
use super::seen::Seen;
use super::work::{Task, Work, round_s};
use super::{Request, Subject};
use crate::arrivals::derive;
use crate::caveat::Caveat;
use crate::measure::{Load, Measure, MeasureError, Measurement, Observer, demands, measure_undisturbed};
use crate::queue::{self, Schedule, Station};
use crate::report::NotFinite;
use crate::setting::Setting;
use crate::units::{Bytes, Seconds};

/// Lone hashes that tell what to expect.
const PILOT_HASHES: u32 = 3;
/// The quantile whose long run is estimated, and that a schedule is chosen to be typical of.
const QUANTILE: f64 = 0.95;

/// Measures everything that is asked for and possible, and says what was left out. Nothing ends it early but the time
/// limit: a setting that cannot be measured is left out.
///
/// # Errors
/// When a figure is no number: a fault in what computed it.
pub fn run(request: &Request, world: &mut dyn Measure, observer: &mut dyn Observer) -> Result<Record, NotFinite> {
    let mut session = Session {
        request,
        world,
        observer,
        caveats: Vec::new(),
        left_out: Vec::new(),
    };
    let mut works: Vec<Work> = request.subjects.iter().map(|s| session.prepare(s)).collect();
    session.announce(&works);
    for run in 1..=request.runs {
        for work in &mut works {
            session.round(work, run);
        }
    }
    session.doubt_missing_time();
    assemble::record(request, &works, session.left_out, session.caveats)
}

struct Session<'a> {
    request: &'a Request,
    world: &'a mut dyn Measure,
    observer: &'a mut dyn Observer,
    caveats: Vec<Doubt>,
    left_out: Vec<LeftOut>,
}

impl<'a> Session<'a> {
    /// What a setting needs before its first run. One that cannot be measured is left out as a whole.
    fn prepare(&mut self, subject: &'a Subject) -> Work<'a> {
        let mut work = Work::new(subject);
        self.observer.stage(&format!("{}: a first look", subject.name), 0.0);
        let lone = match self.measure(&subject.setting, &Load::Single { hashes: PILOT_HASHES }) {
            Ok(lone) => lone,
            Err(error) => {
                self.leave_out(&subject.name, "everything", self.request.runs, &error);
                return work;
            }
        };
        work.pilot = Some(Pilot::of(&lone));
        self.doubt_setting(subject);
        for kind in plan::kinds(self.request, &subject.setting) {
            match self.setting_for(subject, kind) {
                Ok(setting) => work.tasks.push(Task::new(kind, setting)),
                Err(why) => self.leave(&subject.name, &kind.to_string(), self.request.runs, "bounds", why),
            }
        }
        if !self.request.loads.rates.is_empty() {
            match self.station(&subject.setting, &lone) {
                Ok(station) => work.station = Some(station),
                Err(error) => self.leave_out_open(&mut work, &error),
            }
        }
        work
    }

    fn setting_for(&self, subject: &Subject, kind: Kind) -> Result<Setting, String> {
        match kind {
            Kind::Lanes(lanes) => plan::with_lanes(&subject.setting, lanes),
            _ => Ok(subject.setting),
        }
    }

    fn doubt_setting(&mut self, subject: &Subject) {
        for caveat in subject.setting.caveats(&subject.name, self.request.usable_cpus) {
            self.caveats
                .push(Doubt::about(&caveat, &subject.name, Doubt::EVERY_LOAD, None));
        }
    }

    /// The setting as the simulation sees it, and its CPU times, for choosing arrivals.
    fn station(&mut self, setting: &Setting, lone: &Measurement) -> Result<(Station, Vec<f64>), MeasureError> {
        let clients = busy(self.request.usable_cpus);
        let load = Load::Closed {
            clients,
            hashes: 24 * clients,
            seconds: 1.0,
        };
        let loaded = self.measure(setting, &load)?;
        let (alone_s, loaded_s) = (lone.cpu_per_hash(), loaded.cpu_per_hash());
        let wall_s = crate::stats::median(&lone.latencies()).unwrap_or(alone_s);
        let station = Station {
            workers: self.request.workers,
            cpus: self.request.cpus,
            lanes: (lone.cpu_s / lone.samples.len() as f64 / wall_s).clamp(1.0, f64::from(setting.lanes())),
            alone_ratio: (alone_s / loaded_s).min(1.0),
            app_cpu: self.request.app_cpu.as_s(),
        };
        Ok((station, demands(&loaded, loaded_s)))
    }

    fn leave_out_open(&mut self, work: &mut Work, error: &MeasureError) {
        for task in work.tasks.iter_mut().filter(|t| matches!(t.kind, Kind::Open(_))) {
            task.stopped = true;
            let what = task.kind.to_string();
            self.leave_out(&work.subject.name, &what, self.request.runs, error);
        }
    }

    /// Says what will run and about how long it takes.
    fn announce(&mut self, works: &[Work]) {
        let runs = f64::from(self.request.runs);
        let seconds: f64 = runs * works.iter().map(|w| round_s(self.request, w)).sum::<f64>();
        for work in works.iter().filter(|w| w.pilot.is_some()) {
            let kinds: Vec<String> = work.tasks.iter().map(|t| t.kind.to_string()).collect();
            self.observer
                .note(&format!("{}: {}", work.subject.name, kinds.join(", ")));
        }
        if seconds > 0.0 {
            self.observer
                .note(&format!("{runs} times all of this: about {}", Seconds(seconds.ceil())));
        }
    }

    /// One run of everything that a setting is put under.
    fn round(&mut self, work: &mut Work, run: u32) {
        let Some(pilot) = work.pilot else { return };
        let name = &work.subject.name;
        let stage = format!("run {run} of {}: {name}", self.request.runs);
        if work.tasks.iter().all(|t| t.stopped) {
            return;
        }
        let expected_s = round_s(self.request, work);
        self.observer.stage(&stage, expected_s);
        for task in work.tasks.iter_mut().filter(|t| !t.stopped) {
            let enough = self.remaining_s() >= plan::expected_s(self.request, &pilot, task.kind);
            let done = if enough {
                self.take(task, name, &pilot, work.station.as_ref(), run)
            } else {
                Err(MeasureError::Time)
            };
            if let Err(error) = done {
                task.stopped = true;
                let missing = self.request.runs - task.runs();
                self.leave_out(name, &task.kind.to_string(), missing, &error);
            }
        }
    }

    fn take(
        &mut self,
        task: &mut Task,
        name: &str,
        pilot: &Pilot,
        station: Option<&(Station, Vec<f64>)>,
        run: u32,
    ) -> Result<(), MeasureError> {
        if let Kind::Memory(workers) = task.kind {
            let peak = self.world.peak_memory(&task.setting, workers)?;
            self.keep(&peak.caveats, name, task.kind, run);
            task.memory.push(peak);
            return Ok(());
        }
        let (schedule, load) = self.load(task.kind, pilot, station, run)?;
        let measured = self.measure_undisturbed(&task.setting, &load)?;
        self.keep(&measured.caveats, name, task.kind, run);
        let interval = match (&schedule, station, task.kind) {
            (Some(schedule), Some((station, _)), Kind::Open(rate)) => {
                let seen = queue::Run {
                    rate: rate.per_s(),
                    arrivals: &schedule.arrivals,
                    latencies: &measured.latencies(),
                    cpu: &demands(&measured, measured.cpu_per_hash()),
                };
                queue::interval(station, &seen, QUANTILE, self.request.seed, queue::RESAMPLES)
            }
            _ => None,
        };
        task.seen
            .extend(Seen::of(&measured, interval, self.request.usable_cpus));
        Ok(())
    }

    /// The load of a kind. Each run has arrivals of its own.
    fn load(
        &self,
        kind: Kind,
        pilot: &Pilot,
        station: Option<&(Station, Vec<f64>)>,
        run: u32,
    ) -> Result<(Option<Schedule>, Load), MeasureError> {
        if let (Kind::Open(rate), Some((station, pool))) = (kind, station) {
            let (n, seed) = (
                plan::arrivals(self.request, rate),
                derive(self.request.seed, run.into()),
            );
            let schedule = queue::choose_schedule(station, rate.per_s(), n, pool, QUANTILE, seed)
                .ok_or_else(|| MeasureError::Engine("no arrivals could be chosen".into()))?;
            let load = Load::Open {
                arrivals: schedule.arrivals.clone(),
                workers: self.request.workers,
            };
            return Ok((Some(schedule), load));
        }
        let load = plan::load(self.request, pilot, kind);
        load.map(|load| (None, load))
            .ok_or_else(|| MeasureError::Engine("the cost of a hash is not known".into()))
    }

    /// Measures; what the time limit cut short does not count.
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let measured = self.world.measure(setting, load)?;
        if self.remaining_s() < 0.0 {
            return Err(MeasureError::Time);
        }
        Ok(measured)
    }

    /// As [`Self::measure`], and once more where others disturbed it.
    fn measure_undisturbed(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let (cpus, until_s) = (self.request.usable_cpus, self.request.time_limit_s);
        let (measured, _) = measure_undisturbed(self.world, self.observer, cpus, until_s, setting, load)?;
        if self.remaining_s() < 0.0 {
            return Err(MeasureError::Time);
        }
        Ok(measured)
    }

    fn remaining_s(&self) -> f64 {
        self.request.time_limit_s - self.world.elapsed_s()
    }

    fn keep(&mut self, caveats: &[Caveat], name: &str, kind: Kind, run: u32) {
        // Each run's arrivals are counted together in the end.
        let caveats = caveats.iter().filter(|c| !matches!(c, Caveat::TooFewArrivals { .. }));
        self.caveats
            .extend(caveats.map(|c| Doubt::about(c, name, &kind.to_string(), Some(run))));
    }

    fn doubt_missing_time(&mut self) {
        let late = self.left_out.iter().filter(|l| l.cause == "time").count();
        if late > 0 {
            let left_out = format!("{late} of the measurements, or some of their runs");
            self.caveats.push(Doubt::general(&Caveat::TimeShort { left_out }));
        }
    }

    fn leave_out(&mut self, name: &str, what: &str, runs: u32, error: &MeasureError) {
        let cause = match error {
            MeasureError::Memory { need, free } => {
                self.doubt_memory(name, what, *need, *free);
                "memory"
            }
            MeasureError::Time => "time",
            MeasureError::Engine(_) => "engine",
        };
        self.leave(name, what, runs, cause, error.to_string());
    }

    fn doubt_memory(&mut self, name: &str, what: &str, need: Bytes, free: Bytes) {
        let tight = Caveat::MemoryTight {
            what: format!("{name}, {what},"),
            need,
            free,
        };
        self.caveats.push(Doubt::about(&tight, name, what, None));
    }

    fn leave(&mut self, name: &str, what: &str, runs: u32, cause: &'static str, why: String) {
        self.observer.note(&format!("skipped: {name}, {what}: {why}"));
        self.left_out.push(LeftOut {
            name: name.to_owned(),
            what: what.to_owned(),
            runs,
            cause,
            why,
        });
    }
}

/// One-lane hashes that keep all CPUs busy.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn busy(cpus: f64) -> u32 {
    cpus.ceil().max(1.0) as u32
}
