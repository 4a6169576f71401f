//! The run from calibration to recommendation.

use super::confirm::{Confirmed, Evidence, lone_wall, max_queued};
use super::cost::{CostModel, calibration};
use super::plan::{AIM, Planner};
use super::search::{self, Proposal, Space, propose};
use super::{Answer, Candidate, Outcome, Recommendation, Request, remedy};
use crate::caveat::Caveat;
use crate::measure::{Load, Measure, MeasureError, Measurement, Observer};
use crate::setting::{Algorithm, Setting};
use crate::strength::{at_or_above_floor, floor_ratio};
use crate::verdict::{Cost, Limit, Verdict};

/// Times that a proposal may miss at the peak before the answer is left open.
const CONFIRMATIONS: usize = 3;
/// Times that a proposal is re-measured and proposed anew before it goes to the peak.
const REFINEMENTS: usize = 3;

/// How well to measure a cost.
#[derive(Debug, Clone, Copy)]
enum Depth {
    /// To place it in the model.
    Rough,
    /// To stand on it.
    Close,
}

/// One run: what was asked, what was learned.
pub(super) struct Session<'a> {
    pub(super) request: &'a Request,
    pub(super) world: &'a mut dyn Measure,
    observer: &'a mut dyn Observer,
    pub(super) planner: Planner,
    model: CostModel,
    caveats: Vec<Caveat>,
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
    let planner = Planner::new(request.budget, request.usable_cpus, request.cpus);
    let model = CostModel::new(request.fresh_from_kib);
    let stage_began_s = world.elapsed_s();
    let mut session = Session {
        request,
        world,
        observer,
        planner,
        model,
        caveats: Vec::new(),
        timings: Vec::new(),
        stage_began_s,
    };
    session.calibrate()?;
    let (answer, tuned) = session.answer()?;
    let candidates = session.candidates(&tuned);
    let answer = session.with_runner_up(answer, &candidates);
    session.end_stage();
    Ok(Outcome {
        answer,
        candidates,
        caveats: session.caveats,
        timings: session.timings,
    })
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

    /// Keeps one doubt of a kind: the latest, which belongs to the measurement that counts most.
    pub(super) fn keep_caveats(&mut self, caveats: &[Caveat]) {
        for caveat in caveats {
            self.caveats.retain(|c| c.code() != caveat.code());
            self.caveats.push(caveat.clone());
        }
    }

    /// Measures what the cost model needs: a few settings of each family asked for, and the presets whose lanes it cannot know.
    fn calibrate(&mut self) -> Result<(), MeasureError> {
        for algorithm in self.request.algorithms.clone() {
            self.stage(&format!("calibrating {algorithm}"), 4.0);
            let mut wanted = calibration(algorithm);
            wanted.extend(self.lane_calibration(algorithm));
            let presets = self.request.presets.iter().map(|(_, s)| *s);
            wanted.extend(presets.filter(|s| s.algorithm() == algorithm && s.lanes() > 1));
            for setting in search::unique(wanted) {
                self.calibrate_one(&setting)?;
            }
        }
        Ok(())
    }

    /// One setting for each lane count that may be proposed.
    fn lane_calibration(&self, algorithm: Algorithm) -> Vec<Setting> {
        if algorithm != Algorithm::Argon2id {
            return Vec::new();
        }
        let lanes = super::grid::lanes(self.request.usable_cpus, self.request.max_lanes);
        let wide = lanes.into_iter().filter(|p| *p > 1);
        wide.filter_map(|p| crate::setting::Argon2id::new(47_104, 1, p).ok())
            .map(Setting::Argon2id)
            .collect()
    }

    fn calibrate_one(&mut self, setting: &Setting) -> Result<(), MeasureError> {
        // Where one hash in flight is over the memory budget the setting is out whatever it costs.
        if crate::verdict::memory_verdict(setting, 1, &self.request.budget).is_some() {
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

    /// CPU cost with every CPU busy, and alone. Adds it to the model; gives the lone measurement and the CPU times under load.
    fn measure_cost(&mut self, setting: &Setting, depth: Depth) -> Result<Measurement, MeasureError> {
        let busy = self.request.busy_clients();
        let clients = if setting.lanes() > 1 {
            self.request.budget.workers.unwrap_or(busy)
        } else {
            busy
        };
        let (rounds, seconds, lone) = match depth {
            Depth::Rough => (4, 0.4, 3),
            Depth::Close => (24, 1.5, 8),
        };
        let closed = Load::Closed {
            clients,
            hashes: rounds * clients,
            seconds,
        };
        let loaded = self.world.measure(setting, &closed)?;
        let alone = self.world.measure(setting, &Load::Single { hashes: lone })?;
        let loaded_s = loaded.cpu_per_hash();
        let alone_s = alone.cpu_per_hash();
        let lanes = (alone_s / lone_wall(&alone)).clamp(1.0, f64::from(setting.lanes()));
        // A lone hash that costs more than a crowded one is noise: the dearer counts.
        let cost = Cost {
            loaded_s: loaded_s.max(alone_s),
            alone_ratio: (alone_s / loaded_s).min(1.0),
            lanes,
        };
        self.model.add(*setting, cost);
        Ok(alone)
    }

    /// The first family, in OWASP's order, with a setting that fits; and every setting that was tried at the peak.
    fn answer(&mut self) -> Result<(Answer, Vec<(Setting, Verdict)>), MeasureError> {
        let mut tried = Vec::new();
        let mut families = self.request.algorithms.clone();
        families.sort_unstable();
        for algorithm in families {
            let answer = self.answer_in(algorithm, &mut tried)?;
            if let Some(answer) = answer {
                return Ok((answer, tried));
            }
        }
        let remedies = remedy::remedies(self.request, &self.model, &mut self.planner);
        if remedies.is_empty() {
            let why = "no setting could be measured".to_owned();
            return Ok((
                Answer::Undecided {
                    why,
                    hint: "raise --time-limit or free memory".into(),
                },
                tried,
            ));
        }
        Ok((Answer::Nothing(remedies), tried))
    }

    /// `None` when nothing of the family is proposed.
    fn answer_in(
        &mut self,
        algorithm: Algorithm,
        tried: &mut Vec<(Setting, Verdict)>,
    ) -> Result<Option<Answer>, MeasureError> {
        let mut aim = AIM;
        let Some((mut proposal, mut lone)) = self.refined(algorithm, aim)? else {
            return Ok(None);
        };
        for attempt in 1..=CONFIRMATIONS {
            match self.confirm(&proposal, &lone)? {
                Confirmed::Yes(evidence) => {
                    tried.push((
                        proposal.setting,
                        Verdict::Fits {
                            margin: self.margin(&evidence),
                        },
                    ));
                    return Ok(Some(Answer::Fits(Box::new(self.recommendation(&proposal, *evidence)))));
                }
                Confirmed::Unknown { why, hint } => {
                    tried.push((proposal.setting, Verdict::Undecided { why: why.clone() }));
                    return Ok(Some(Answer::Undecided { why, hint }));
                }
                Confirmed::No(missed) => {
                    self.observer
                        .note(&format!("{}: {}", proposal.setting, missed.verdict.reason()));
                    tried.push((proposal.setting, missed.verdict));
                    if attempt == CONFIRMATIONS {
                        break;
                    }
                    aim = search::lowered_aim(aim, missed.factor);
                    match self.weaker(algorithm, &proposal, aim)? {
                        Some(next) => (proposal, lone) = next,
                        None => return Ok(None),
                    }
                }
            }
        }
        let why = format!("{CONFIRMATIONS} proposals in a row missed the budget when they were measured at the peak");
        Ok(Some(Answer::Undecided {
            why,
            hint: "repeat on an idle host, or ask for more headroom".into(),
        }))
    }

    /// A proposal whose own cost was measured closely.
    fn refined(&mut self, algorithm: Algorithm, aim: f64) -> Result<Option<(Proposal, Measurement)>, MeasureError> {
        let mut known: Option<(Setting, Measurement)> = None;
        for _ in 0..REFINEMENTS {
            let Some(proposal) = self.propose(algorithm, aim) else {
                return Ok(None);
            };
            if let Some((_, lone)) = known.take_if(|(setting, _)| *setting == proposal.setting) {
                return Ok(Some((proposal, lone)));
            }
            self.stage(&format!("measuring {}", proposal.setting), 2.5);
            let lone = self.measure_cost(&proposal.setting, Depth::Close)?;
            known = Some((proposal.setting, lone));
        }
        // Still moving: take the last that was measured, if it fits by its own figures.
        let (setting, lone) = known.expect("a refinement was measured");
        Ok(self.own_proposal(&setting, aim).map(|proposal| (proposal, lone)))
    }

    fn propose(&mut self, algorithm: Algorithm, aim: f64) -> Option<Proposal> {
        let space = self.space();
        propose(
            algorithm,
            &space,
            &self.request.attacker,
            &self.model,
            &mut self.planner,
            aim,
        )
    }

    fn space(&self) -> Space {
        Space {
            presets: self.request.presets.iter().map(|(_, s)| *s).collect(),
            max_lanes: self.request.max_lanes,
            below_floor: self.request.below_floor,
        }
    }

    /// The proposal that a measured setting is by itself.
    fn own_proposal(&mut self, setting: &Setting, aim: f64) -> Option<Proposal> {
        let cost = self.model.measured(setting)?;
        let workers = self
            .planner
            .feasible(setting, &cost, aim * self.request.budget.latency.as_s())?;
        let rank = self.request.attacker.rank(setting);
        Some(Proposal {
            setting: *setting,
            cost,
            workers,
            rank,
            strongest: rank,
        })
    }

    /// After a miss: what the lowered aim proposes, at least one grid step down.
    fn weaker(
        &mut self,
        algorithm: Algorithm,
        missed: &Proposal,
        aim: f64,
    ) -> Result<Option<(Proposal, Measurement)>, MeasureError> {
        if let Some(next) = self.refined(algorithm, aim)?
            && next.0.rank > missed.rank
        {
            return Ok(Some(next));
        }
        let Some(setting) = search::step_down(&missed.setting, &self.space()) else {
            return Ok(None);
        };
        self.stage(&format!("measuring {setting}"), 2.5);
        let lone = self.measure_cost(&setting, Depth::Close)?;
        Ok(self.own_proposal(&setting, AIM).map(|proposal| (proposal, lone)))
    }

    fn margin(&self, evidence: &Evidence) -> f64 {
        let budget = &self.request.budget;
        let latency = evidence.latency.high / budget.latency.as_s();
        let peak = budget.peak.per_s() / (evidence.ceiling.per_s() * (1.0 - budget.headroom.0));
        let memory = evidence.peak_memory.bytes.as_f64() / budget.hash_memory().as_f64();
        1.0 - latency.max(peak).max(memory)
    }

    fn recommendation(&mut self, proposal: &Proposal, evidence: Evidence) -> Recommendation {
        self.keep_caveats(&evidence.peak_memory.caveats);
        let (binding, next) = self.binding(&proposal.setting);
        let floor_ratio = floor_ratio(&proposal.setting);
        if !at_or_above_floor(&proposal.setting) {
            self.keep_caveats(&[Caveat::BelowFloor { floor_ratio }]);
        }
        if proposal.setting.algorithm() == Algorithm::Bcrypt {
            self.keep_caveats(&[Caveat::BcryptInputLimit]);
        }
        Recommendation {
            setting: proposal.setting,
            max_in_flight: proposal.workers,
            max_queued: max_queued(&evidence.ceiling, &self.request.budget, proposal.workers),
            guesses_per_s: self.request.attacker.guesses(&proposal.setting).bound.per_s,
            floor_ratio,
            binding,
            next,
            runner_up: None,
            evidence,
        }
    }

    /// What keeps the next stronger setting on the line out.
    fn binding(&mut self, setting: &Setting) -> (Option<Limit>, Option<(Setting, String)>) {
        let Some(next) = search::step_up(setting) else {
            return (None, None);
        };
        let Some(cost) = self.model.predict(&next) else {
            return (None, None);
        };
        let limit = self.planner.obstacle(&next, &cost);
        let reason = self.planner.assess(&next, &cost).verdict.reason();
        (limit, Some((next, reason)))
    }

    /// Every preset and every tuned setting that was tried, each with its verdict.
    fn candidates(&mut self, tuned: &[(Setting, Verdict)]) -> Vec<Candidate> {
        let asked = |s: &Setting| self.request.algorithms.contains(&s.algorithm());
        let mut named: Vec<(String, Setting)> =
            self.request.presets.iter().filter(|(_, s)| asked(s)).cloned().collect();
        for (setting, _) in tuned {
            if !named.iter().any(|(_, s)| s == setting) {
                named.push((format!("tuned {setting}"), *setting));
            }
        }
        named
            .into_iter()
            .map(|(name, setting)| self.candidate(name, setting, tuned))
            .collect()
    }

    fn candidate(&mut self, name: String, setting: Setting, tuned: &[(Setting, Verdict)]) -> Candidate {
        let measured = self.model.measured(&setting).is_some();
        let assessment = self
            .model
            .predict(&setting)
            .map(|cost| self.planner.assess(&setting, &cost));
        let at_peak = tuned.iter().rev().find(|(s, _)| *s == setting).map(|(_, v)| v.clone());
        let workers = *self.planner.worker_range().start();
        let verdict = at_peak.unwrap_or_else(|| {
            if let Some(Verdict::Exceeds { reason, .. }) =
                crate::verdict::memory_verdict(&setting, workers, &self.request.budget)
            {
                return Verdict::Skipped {
                    why: format!("not run: {reason}"),
                };
            }
            match &assessment {
                None => Verdict::Skipped {
                    why: "not run: nothing of its family could be measured".into(),
                },
                Some(a) if a.verdict.fits() && !self.allowed(&setting) => Verdict::Skipped {
                    why: "fits, but lies under the family's floor".into(),
                },
                Some(a) => a.verdict.clone(),
            }
        });
        let guesses_per_s = self.request.attacker.guesses(&setting).bound.per_s;
        Candidate {
            name,
            setting,
            assessment,
            measured,
            guesses_per_s,
            verdict,
        }
    }

    fn allowed(&self, setting: &Setting) -> bool {
        self.request.below_floor || at_or_above_floor(setting)
    }

    /// Names the next best that should fit: of the same family the strongest, else of the next family.
    fn with_runner_up(&self, mut answer: Answer, candidates: &[Candidate]) -> Answer {
        if let Answer::Fits(pick) = &mut answer {
            let attacker = &self.request.attacker;
            let others = candidates
                .iter()
                .filter(|c| c.verdict.fits() && c.setting != pick.setting);
            pick.runner_up = others
                .min_by(|a, b| {
                    let key = |c: &Candidate| (c.setting.algorithm(), attacker.rank(&c.setting));
                    let ((fa, ra), (fb, rb)) = (key(a), key(b));
                    fa.cmp(&fb).then(ra.total_cmp(&rb))
                })
                .map(|c| c.name.clone());
        }
        answer
    }
}
