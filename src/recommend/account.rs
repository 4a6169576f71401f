//! The account of a run: the recommendation with its reasons, and every candidate with its verdict.

use super::answer::Tried;
use super::confirm::{Evidence, max_queued};
use super::search::{self, Proposal};
use super::session::Session;
use super::{Answer, Candidate, Recommendation};
use crate::caveat::Caveat;
use crate::setting::{Algorithm, Argon2id, Setting};
use crate::strength::{at_or_above_floor, floor_ratio};
use crate::units::Short;
use crate::verdict::{Limit, Verdict};

/// CPU of argon2-cffi's wheel over this engine's, lowest and highest of four settings (`docs/pages.md`): it holds no AVX2 code.
const ARGON2_CFFI: (f64, f64) = (1.16, 1.52);
/// CPU of libxcrypt's bcrypt over this engine's, at cost 12 (`docs/pages.md`).
const LIBXCRYPT: (f64, f64) = (0.88, 0.91);

/// Share of the logins that the bound of the queue may refuse before it is a doubt.
const REFUSED: f64 = 0.01;

fn library_cost(library: &str, ratio: (f64, f64)) -> Caveat {
    Caveat::LibraryCost {
        library: library.to_owned(),
        ratio,
    }
}

impl Session<'_> {
    /// The share of each limit that is used.
    fn used(&self, evidence: &Evidence) -> [(Limit, f64); 3] {
        let budget = &self.request.budget;
        [
            (Limit::Latency, evidence.latency.high / budget.latency.as_s()),
            (
                Limit::Peak,
                budget.peak.per_s() / (evidence.ceiling.per_s() * (1.0 - budget.headroom.0)),
            ),
            (
                Limit::Memory,
                evidence.peak_memory.bytes.as_f64() / budget.hash_memory().as_f64(),
            ),
        ]
    }

    pub(super) fn margin(&self, evidence: &Evidence) -> f64 {
        1.0 - self
            .used(evidence)
            .into_iter()
            .map(|(_, share)| share)
            .fold(0.0, f64::max)
    }

    /// The limit of which most is used.
    fn tightest(&self, evidence: &Evidence) -> Limit {
        let [first, rest @ ..] = self.used(evidence);
        rest.into_iter()
            .fold(first, |most, next| if next.1 > most.1 { next } else { most })
            .0
    }

    pub(super) fn recommendation(&mut self, proposal: &Proposal, evidence: Evidence, tried: &Tried) -> Recommendation {
        self.keep_caveats(&evidence.peak_memory.caveats);
        let (limit, next) = self.binding(&proposal.setting);
        // What was measured and missed binds, whatever the prediction says of the next step.
        let missed = tried.iter().rev().find_map(|attempt| match &attempt.verdict {
            Verdict::Exceeds { limit, .. } => Some(*limit),
            _ => None,
        });
        let binding = limit
            .or(missed)
            .or_else(|| next.as_ref().map(|_| self.tightest(&evidence)));
        let floor_ratio = floor_ratio(&proposal.setting);
        if !at_or_above_floor(&proposal.setting) {
            self.keep_caveats(&[Caveat::BelowFloor { floor_ratio }]);
        }
        match proposal.setting.algorithm() {
            Algorithm::Argon2id => self.keep_caveats(&[library_cost("argon2-cffi's libargon2", ARGON2_CFFI)]),
            Algorithm::Bcrypt => {
                self.keep_caveats(&[library_cost("libxcrypt", LIBXCRYPT), Caveat::BcryptInputLimit]);
            }
            _ => {}
        }
        let max_queued = max_queued(&evidence.ceiling, &self.request.budget, proposal.workers);
        if evidence.refused as f64 > REFUSED * evidence.arrivals as f64 {
            self.keep_caveats(&[Caveat::LoginsRefused {
                refused: evidence.refused,
                arrivals: evidence.arrivals,
                max_queued,
            }]);
        }
        Recommendation {
            setting: proposal.setting,
            max_in_flight: proposal.workers,
            max_queued,
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
    pub(super) fn candidates(&mut self, tuned: &Tried) -> Vec<Candidate> {
        let asked = |s: &Setting| self.request.algorithms.contains(&s.algorithm());
        let mut named: Vec<(String, Setting)> =
            self.request.presets.iter().filter(|(_, s)| asked(s)).cloned().collect();
        if let Some(current) = self.request.current {
            named.push(("current".to_owned(), current));
        }
        let measured = self
            .close
            .iter()
            .map(|lone| lone.setting)
            .chain(tuned.iter().map(|attempt| attempt.setting));
        for setting in measured {
            if !named.iter().any(|(_, s)| *s == setting) {
                named.push((format!("tuned {setting}"), setting));
            }
        }
        named
            .into_iter()
            .map(|(name, setting)| self.candidate(name, setting, tuned))
            .collect()
    }

    pub(super) fn candidate(&mut self, name: String, setting: Setting, tuned: &Tried) -> Candidate {
        let measured = self.model.measured(&setting).is_some();
        let assessment = self
            .model
            .predict(&setting)
            .map(|cost| self.planner.assess(&setting, &cost));
        let at_peak = tuned.iter().rev().find(|attempt| attempt.setting == setting);
        let latency_s = at_peak.and_then(|attempt| attempt.latency_s);
        let at_peak = at_peak.map(|attempt| attempt.verdict.clone());
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
                    why: format!(
                        "fits, but lies under the family's floor: {} times its minimum",
                        Short(floor_ratio(&setting))
                    ),
                },
                Some(a) if a.verdict.fits() && setting.lanes() > self.most_lanes() => Verdict::Skipped {
                    why: self.too_many_lanes(&setting),
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
            latency_s,
            guesses_per_s,
            verdict,
        }
    }

    /// Lanes that a recommendation may have.
    fn most_lanes(&self) -> u32 {
        (self.request.usable_cpus.floor() as u32).max(1)
    }

    /// A setting that fits, with lanes that have no CPUs to run on.
    fn too_many_lanes(&self, setting: &Setting) -> String {
        let fewer = match setting {
            Setting::Argon2id(a) => Argon2id::new(a.memory_kib(), a.time_cost(), self.most_lanes()).ok(),
            _ => None,
        };
        let equal = fewer.map_or_else(String::new, |a| format!(": {} is as strong", Setting::Argon2id(a)));
        format!(
            "fits, but {} lanes are more than the {} CPUs{equal}",
            setting.lanes(),
            Short(self.request.usable_cpus)
        )
    }

    fn allowed(&self, setting: &Setting) -> bool {
        self.request.bounds.below_floor || at_or_above_floor(setting)
    }

    /// Names the next best that should fit: of the same family the strongest, else of the next family.
    pub(super) fn with_runner_up(&self, mut answer: Answer, candidates: &[Candidate]) -> Answer {
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
