//! From proposals to an answer: refine, confirm, step down.

use super::confirm::{Confirmed, Evidence, Missed};
use super::search::{Aim, Proposal, Space, propose};
use super::session::{Depth, Session};
use super::{Answer, remedy};
use crate::caveat::Caveat;
use crate::measure::{MeasureError, Measurement};
use crate::setting::{Algorithm, Setting};
use crate::strength::TIE_BAND;
use crate::units::Bytes;
use crate::verdict::{Limit, Verdict};

/// Times that a proposal may miss at the peak before the answer is left open.
const CONFIRMATIONS: usize = 3;
/// Proposals that are measured and proposed anew before one of them goes to the peak.
const REFINEMENTS: usize = 5;

/// What was measured at the peak, in order, and what became of it.
pub(super) type Tried = Vec<Attempt>;

/// One measurement at the peak.
pub(super) struct Attempt {
    pub(super) setting: Setting,
    pub(super) verdict: Verdict,
    /// The quantile of latency that was seen, in seconds.
    pub(super) latency_s: Option<f64>,
    /// Whether it was predicted to fit with room to spare.
    pub(super) promised: bool,
}

fn undecided(why: &str, hint: &str) -> Answer {
    Answer::Undecided {
        why: why.to_owned(),
        hint: hint.to_owned(),
    }
}

/// A proposal that was not told.
pub(super) fn open(proposal: &Proposal, why: &str) -> Attempt {
    Attempt {
        setting: proposal.setting,
        verdict: Verdict::Undecided { why: why.to_owned() },
        latency_s: None,
        promised: false,
    }
}

/// A proposal that missed.
pub(super) fn miss(proposal: &Proposal, missed: Missed, promised: bool) -> Attempt {
    Attempt {
        setting: proposal.setting,
        verdict: missed.verdict,
        latency_s: missed.latency_s,
        promised,
    }
}

/// A proposal with the lone hashes of its own close measurement.
pub(super) struct Refined {
    pub(super) proposal: Proposal,
    pub(super) lone: Measurement,
}

impl Session<'_> {
    /// The first family, in OWASP's order, with a setting that fits; and every setting that was tried at the peak.
    pub(super) fn answer(&mut self) -> Result<(Answer, Tried), MeasureError> {
        let mut tried = Tried::new();
        let mut families = self.request.algorithms.clone();
        families.sort_unstable();
        for algorithm in families {
            match self.answer_in(algorithm, &mut tried) {
                Ok(None) => {}
                Ok(Some(answer)) => return Ok((answer, tried)),
                Err(MeasureError::Time) => {
                    return Ok((undecided("the time limit is reached", "raise --time-limit"), tried));
                }
                Err(MeasureError::Memory { need, free }) => {
                    let why = format!("the measurement needs {need} of memory where {free} is free");
                    return Ok((
                        undecided(&why, "free memory, or lower --mem to what may be used"),
                        tried,
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        if tried.iter().any(|attempt| attempt.promised) {
            let why = "what was predicted to fit missed the budget when it was measured at the peak";
            return Ok((
                undecided(why, "repeat on an idle host, or ask for more headroom"),
                tried,
            ));
        }
        let remedies = remedy::remedies(self.request, &self.model);
        if remedies.is_empty() {
            return Ok((
                undecided("no setting could be measured", "raise --time-limit or free memory"),
                tried,
            ));
        }
        Ok((Answer::Nothing(remedies), tried))
    }

    /// `None` when nothing of the family is proposed, or nothing that was proposed fits.
    fn answer_in(&mut self, algorithm: Algorithm, tried: &mut Tried) -> Result<Option<Answer>, MeasureError> {
        let mut aim = Aim::default();
        let mut next = self.refined(algorithm, &aim)?;
        if next.is_none() {
            // Nothing keeps the reserve: what may fit without it is measured rather than ruled out.
            aim = Aim::whole();
            next = self.refined(algorithm, &aim)?;
        }
        for _ in 0..CONFIRMATIONS {
            let Some(Refined { proposal, lone }) = next else {
                return Ok(None);
            };
            match self.confirm(&proposal, &lone)? {
                Confirmed::Yes(evidence) => {
                    tried.push(self.fitting(&proposal, &evidence));
                    let (proposal, evidence) = self.stepped_up(proposal, evidence, &aim, tried)?;
                    return Ok(Some(Answer::Fits(Box::new(
                        self.recommendation(&proposal, *evidence, tried),
                    ))));
                }
                Confirmed::Unknown { why, hint } => {
                    tried.push(open(&proposal, &why));
                    // Without the misses there would have been time.
                    let hint = if aim.has_missed() {
                        "repeat on an idle host, or raise --time-limit".into()
                    } else {
                        hint
                    };
                    return Ok(Some(Answer::Undecided { why, hint }));
                }
                Confirmed::No(missed) => {
                    let out_of_memory = matches!(
                        missed.verdict,
                        Verdict::Exceeds {
                            limit: Limit::Memory,
                            ..
                        }
                    );
                    self.observer
                        .note(&format!("{}: {}", proposal.setting, missed.verdict.reason()));
                    aim.missed(&proposal, missed.factor);
                    self.model.drift(missed.drift);
                    tried.push(miss(&proposal, missed, aim.has_reserve()));
                    if out_of_memory {
                        let held = self.planner.held(&proposal.setting, proposal.workers);
                        self.planner.free = Bytes(held.0 - 1);
                    }
                    next = self.refined(algorithm, &aim)?;
                }
            }
        }
        if !aim.has_reserve() {
            return Ok(None);
        }
        let why = format!("{CONFIRMATIONS} proposals in a row missed the budget when they were measured at the peak");
        Ok(Some(undecided(
            &why,
            "repeat on an idle host, or ask for more headroom",
        )))
    }

    pub(super) fn fitting(&self, proposal: &Proposal, evidence: &Evidence) -> Attempt {
        Attempt {
            setting: proposal.setting,
            verdict: Verdict::Fits {
                margin: self.margin(evidence),
                measured: true,
            },
            latency_s: Some(evidence.latency.estimate),
            promised: true,
        }
    }

    /// A proposal whose own cost was measured closely; `None` when nothing of the family is proposed.
    pub(super) fn refined(&mut self, algorithm: Algorithm, aim: &Aim) -> Result<Option<Refined>, MeasureError> {
        let mut measured = 0;
        while let Some(proposal) = self.propose(algorithm, aim) {
            let known = self.close.iter().position(|lone| lone.setting == proposal.setting);
            if let Some(known) = known {
                let lone = self.close[known].clone();
                return Ok(Some(Refined { proposal, lone }));
            }
            // One that was measured and is as good as the next guess is worth more than the guess. And where the host gets slower
            // and slower, so that each guess turns out dearer than its neighbours were, the peak itself shall tell.
            let settled = measured >= REFINEMENTS;
            let best = self.strongest_measured(algorithm, aim);
            let enough = best.filter(|b| settled || b.proposal.rank <= proposal.rank * TIE_BAND);
            let bare = || self.strongest_measured(algorithm, &aim.bare()).filter(|_| settled);
            if let Some(best) = enough.or_else(bare) {
                return Ok(Some(best));
            }
            self.measure_closely(&proposal.setting)?;
            measured += 1;
        }
        Ok(None)
    }

    /// The strongest of those measured closely that fit by their own figures.
    fn strongest_measured(&mut self, algorithm: Algorithm, aim: &Aim) -> Option<Refined> {
        let close = self.close.clone();
        let fitting = close
            .into_iter()
            .filter(|lone| lone.setting.algorithm() == algorithm)
            .filter_map(|lone| {
                let proposal = self.own_proposal(&lone.setting, aim)?;
                Some(Refined { proposal, lone })
            });
        fitting.min_by(|a, b| a.proposal.rank.total_cmp(&b.proposal.rank))
    }

    /// Measures a setting closely, and remembers it. Memory that turns out not to be free bounds what is proposed next.
    pub(super) fn measure_closely(&mut self, setting: &Setting) -> Result<(), MeasureError> {
        self.stage(&format!("measuring {setting}"), 2.5);
        match self.measure_cost(setting, Depth::Close) {
            Ok(lone) => {
                self.close.push(lone);
                Ok(())
            }
            Err(MeasureError::Memory { need, free }) => {
                self.keep_caveats(&[Caveat::MemoryTight {
                    what: setting.to_string(),
                    need,
                    free,
                }]);
                self.planner.free = free;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn propose(&mut self, algorithm: Algorithm, aim: &Aim) -> Option<Proposal> {
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

    pub(super) fn space(&self) -> Space {
        Space {
            presets: self.request.presets.iter().map(|(_, s)| *s).collect(),
            bounds: self.request.bounds,
        }
    }

    /// The proposal that a measured setting is by itself.
    fn own_proposal(&mut self, setting: &Setting, aim: &Aim) -> Option<Proposal> {
        let limit_s = aim.of(setting) * self.request.budget.latency.as_s();
        self.proposal_within(setting, limit_s).filter(|p| aim.allows(p.rank))
    }

    /// The same for a latency of at most `limit_s`.
    pub(super) fn proposal_within(&mut self, setting: &Setting, limit_s: f64) -> Option<Proposal> {
        let cost = self.model.measured(setting)?;
        let workers = self.planner.feasible(setting, &cost, limit_s)?;
        let rank = self.request.attacker.rank(setting);
        Some(Proposal {
            setting: *setting,
            cost,
            workers,
            rank,
            strongest: rank,
        })
    }
}
