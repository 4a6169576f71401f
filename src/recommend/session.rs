//! The run from calibration to recommendation.

use super::cost::{CostModel, calibration, cost_of};
use super::plan::Planner;
use super::search;
use super::{Answer, Effort, Explanation, Outcome, Request};
use crate::caveat::Caveat;
use crate::measure::{CpuPerHash, Load, Measure, MeasureError, Measurement, Observer, measure_undisturbed, noisy};
use crate::setting::{Algorithm, Setting};

/// How well to measure a cost.
#[derive(Debug, Clone, Copy)]
pub(super) enum Depth {
    /// To place it in the model.
    Rough,
    /// To stand on it.
    Close,
}

/// Settings that a quick run calibrates with: Argon2id's cost has three terms, the others' one.
const fn quick_points(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Argon2id => 3,
        _ => 1,
    }
}

/// One run: what was asked, what was learned.
pub(super) struct Session<'a> {
    pub(super) request: &'a Request,
    pub(super) world: &'a mut dyn Measure,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) planner: Planner,
    pub(super) model: CostModel,
    /// Lone hashes of the settings that were measured closely.
    pub(super) close: Vec<Measurement>,
    /// The CPU time of a hash in each measurement so far.
    seen: Vec<(Setting, Load, CpuPerHash)>,
    /// Doubts, each with the setting whose measurement it is about; none: the whole run.
    caveats: Vec<(Option<Setting>, Caveat)>,
    timings: Vec<(String, f64)>,
    stage_began_s: f64,
}

/// Finds the strongest setting that fits and was measured to.
///
/// # Errors
/// When the engine fails; running out of time or memory is an answer or a caveat instead.
pub fn recommend(
    request: &Request,
    world: &mut dyn Measure,
    observer: &mut dyn Observer,
) -> Result<Outcome, MeasureError> {
    let mut session = Session::new(request, world, observer);
    session.calibrate()?;
    let (answer, tuned) = session.answer()?;
    session.measure_current()?;
    let explanation = session.explained(&answer);
    let candidates = session.candidates(&tuned);
    let answer = session.with_runner_up(answer, &candidates);
    session.end_stage();
    let caveats = session.told(&answer);
    Ok(Outcome {
        answer,
        explanation,
        candidates,
        caveats,
        timings: session.timings,
    })
}

impl<'a> Session<'a> {
    pub(super) fn new(request: &'a Request, world: &'a mut dyn Measure, observer: &'a mut dyn Observer) -> Self {
        Self {
            planner: Planner::new(request.budget, request.usable_cpus, request.cpus),
            model: CostModel::new(request.fresh_from_kib),
            close: Vec::new(),
            seen: Vec::new(),
            caveats: Vec::new(),
            timings: Vec::new(),
            stage_began_s: world.elapsed_s(),
            request,
            world,
            observer,
        }
    }
}

impl Session<'_> {
    /// Seconds left of the time limit.
    pub(super) fn remaining_s(&self) -> f64 {
        self.request.time_limit_s - self.world.elapsed_s()
    }

    /// Begins a stage, closing the one before.
    pub(super) fn stage(&mut self, name: &str, expected_s: f64) {
        self.end_stage();
        self.timings.push((name.to_owned(), 0.0));
        self.observer.stage(name, expected_s);
    }

    fn end_stage(&mut self) {
        let now = self.world.elapsed_s();
        if let Some((_, seconds)) = self.timings.last_mut() {
            *seconds += now - self.stage_began_s;
        }
        self.stage_began_s = now;
    }

    /// Keeps doubts about the whole run, one of a kind.
    pub(super) fn keep_caveats(&mut self, caveats: &[Caveat]) {
        self.keep(None, caveats);
    }

    /// Keeps doubts about measurements of one setting, one of a kind: the latest, which belongs to the measurement that counts most.
    pub(super) fn doubt(&mut self, setting: &Setting, caveats: &[Caveat]) {
        self.keep(Some(*setting), caveats);
    }

    fn keep(&mut self, about: Option<Setting>, caveats: &[Caveat]) {
        for caveat in caveats {
            self.caveats
                .retain(|(of, known)| (*of, known.code()) != (about, caveat.code()));
            self.caveats.push((about, caveat.clone()));
        }
    }

    /// The doubts about an answer: those of the run, of the pick and of the setting in use. Without a pick, all of them, one of a kind.
    fn told(&self, answer: &Answer) -> Vec<Caveat> {
        let counts = |about: &Option<Setting>| match (answer, about) {
            (Answer::Fits(pick), Some(setting)) => *setting == pick.setting || Some(*setting) == self.request.current,
            _ => true,
        };
        let mut told: Vec<Caveat> = Vec::new();
        for (about, caveat) in self.caveats.iter().filter(|(about, _)| counts(about)) {
            if !matches!(answer, Answer::Fits(_)) && about.is_some() {
                told.retain(|known| known.code() != caveat.code());
            }
            if !told.contains(caveat) {
                told.push(caveat.clone());
            }
        }
        told
    }

    /// Every doubt that was kept.
    pub(super) fn doubts(&self) -> Vec<Caveat> {
        self.caveats.iter().map(|(_, caveat)| caveat.clone()).collect()
    }

    /// Doubts a measurement that disagrees with an earlier one of the same setting, and remembers it.
    pub(super) fn compare(&mut self, run: &Measurement) {
        let Some(now) = CpuPerHash::of(run) else { return };
        let alike = self
            .seen
            .iter()
            .filter(|(setting, load, _)| *setting == run.setting && load.same_as(&run.load));
        let mut doubts: Vec<Caveat> = alike
            .filter_map(|(s, _, before)| before.disagreement(&now, s))
            .collect();
        doubts.extend(self.dearer_at_the_peak(run));
        self.doubt(&run.setting, &doubts);
        self.seen.push((run.setting, run.load.clone(), now));
    }

    /// A doubt where a hash at the peak is dearer than it was with every CPU busy and no fewer hashes in flight.
    pub(super) fn dearer_at_the_peak(&self, run: &Measurement) -> Option<Caveat> {
        let Load::Open { workers, .. } = run.load else {
            return None;
        };
        let now = CpuPerHash::of(run)?;
        let crowded = self.seen.iter().filter(
            |(setting, load, _)| matches!(load, Load::Closed { clients, .. } if *setting == run.setting && workers <= *clients),
        );
        let cheaper = crowded.map(|(.., before)| before).find(|before| now.exceeds(before))?;
        let what = format!("the CPU time of {}, with every CPU busy and at the peak,", run.setting);
        Some(noisy(what, cheaper, &now))
    }

    /// Measures what the cost model needs: a few settings of each family asked for, and the presets whose lanes it cannot know.
    fn calibrate(&mut self) -> Result<(), MeasureError> {
        for algorithm in self.request.algorithms.clone() {
            self.stage(&format!("calibrating {algorithm}"), 4.0);
            let mut wanted = calibration(algorithm);
            if self.request.effort == Effort::Quick {
                wanted.truncate(quick_points(algorithm));
            }
            wanted.extend(self.lane_calibration(algorithm));
            if self.request.effort == Effort::Full {
                let presets = self.request.presets.iter().map(|(_, s)| *s);
                wanted.extend(presets.filter(|s| s.algorithm() == algorithm && s.lanes() > 1));
            }
            for setting in search::unique(wanted) {
                self.calibrate_one(&setting)?;
            }
        }
        Ok(())
    }

    /// The setting in use, as closely as the pick.
    fn measure_current(&mut self) -> Result<(), MeasureError> {
        let Some(current) = self.request.current else {
            return Ok(());
        };
        if self.close.iter().any(|lone| lone.setting == current) || self.is_out_for_memory(&current) {
            return Ok(());
        }
        match self.measure_closely(&current) {
            Err(MeasureError::Time) => {
                self.keep_caveats(&[Caveat::TimeShort {
                    left_out: format!("measuring {current}"),
                }]);
                Ok(())
            }
            other => other,
        }
    }

    /// Whether a setting is out for memory, so that it need not be run.
    fn is_out_for_memory(&self, setting: &Setting) -> bool {
        crate::verdict::memory_verdict(setting, 1, &self.request.budget).is_some()
    }

    fn explained(&mut self, answer: &Answer) -> Option<Explanation> {
        let Answer::Fits(pick) = answer else { return None };
        if !self.request.explain {
            return None;
        }
        self.stage("working out other budgets", 3.0);
        Some(self.explanation(pick))
    }

    /// One setting for each lane count that may be proposed.
    fn lane_calibration(&self, algorithm: Algorithm) -> Vec<Setting> {
        if algorithm != Algorithm::Argon2id {
            return Vec::new();
        }
        let lanes = super::grid::lanes(self.request.usable_cpus, self.request.bounds.max_lanes);
        let wide = lanes.into_iter().filter(|p| *p > 1);
        wide.filter_map(|p| crate::setting::Argon2id::new(47_104, 1, p).ok())
            .map(Setting::Argon2id)
            .collect()
    }

    fn calibrate_one(&mut self, setting: &Setting) -> Result<(), MeasureError> {
        // Where one hash in flight is over the memory budget the setting is out whatever it costs.
        if self.is_out_for_memory(setting) {
            return Ok(());
        }
        // Two fifths of the time are for learning costs; the rest is for the peak.
        if self.world.elapsed_s() > 0.4 * self.request.time_limit_s {
            self.keep_caveats(&[Caveat::TimeShort {
                left_out: format!("measuring {setting}"),
            }]);
            return Ok(());
        }
        match self.measure_cost(setting, Depth::Rough) {
            Ok(_) | Err(MeasureError::Time) => Ok(()),
            Err(MeasureError::Memory { need, free }) => {
                self.keep_caveats(&[Caveat::MemoryTight {
                    what: setting.to_string(),
                    need,
                    free,
                }]);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A measurement that is taken once more where others disturbed it and time allows, and whether it was.
    pub(super) fn undisturbed(&mut self, setting: &Setting, load: &Load) -> Result<(Measurement, bool), MeasureError> {
        let (cpus, until_s) = (self.request.usable_cpus, self.request.time_limit_s);
        measure_undisturbed(self.world, self.observer, cpus, until_s, setting, load)
    }

    /// CPU cost with every CPU busy, and alone. Adds it to the model; gives the lone measurement and the CPU times under load.
    pub(super) fn measure_cost(&mut self, setting: &Setting, depth: Depth) -> Result<Measurement, MeasureError> {
        let busy = self.request.busy_clients();
        let clients = if setting.lanes() > 1 {
            self.request.budget.workers.unwrap_or(busy)
        } else {
            busy
        };
        let (rounds, seconds, lone) = match (depth, self.request.effort) {
            (Depth::Rough, Effort::Full) => (4, 0.4, 2),
            (Depth::Rough, Effort::Quick) => (2, 0.2, 1),
            (Depth::Close, Effort::Full) => (24, 1.2, 6),
            (Depth::Close, Effort::Quick) => (10, 0.5, 3),
        };
        let closed = Load::Closed {
            clients,
            hashes: rounds * clients,
            seconds,
        };
        let loaded = match depth {
            Depth::Rough => self.world.measure(setting, &closed)?,
            Depth::Close => self.undisturbed(setting, &closed)?.0,
        };
        let alone = self.world.measure(setting, &Load::Single { hashes: lone })?;
        if let Depth::Close = depth {
            self.doubt(setting, &loaded.caveats);
            self.doubt(setting, &alone.caveats);
        }
        self.compare(&loaded);
        self.compare(&alone);
        let cost = cost_of(&loaded, &alone);
        self.model.add(*setting, cost);
        Ok(alone)
    }
}
