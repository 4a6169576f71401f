//! More than what fitted, where the reserve that proposals leave, or a miss, may have given much of the strength away.

use super::Effort;
use super::answer::{Refined, Tried, miss, open};
use super::confirm::{Confirmed, Evidence};
use super::search::{Aim, Proposal, coarse_step};
use super::session::Session;
use crate::measure::MeasureError;
use crate::setting::Setting;
use crate::strength::TIE_BAND;

/// Times the length of the run that fitted that must be left for another, beside its closed loop and peak memory.
const ROOM: f64 = 1.5;

impl Session<'_> {
    /// Measures a stronger setting at the peak where one may fit. What fitted stays the answer unless that one fits, too.
    pub(super) fn stepped_up(
        &mut self,
        fitted: Proposal,
        evidence: Box<Evidence>,
        aim: &Aim,
        tried: &mut Tried,
    ) -> Result<(Proposal, Box<Evidence>), MeasureError> {
        let confirmed = self.stronger(&fitted, &evidence, aim, tried).and_then(|found| {
            let confirm = |Refined { proposal, lone }| Ok((proposal, self.confirm(&proposal, &lone)?));
            found.map(confirm).transpose()
        });
        match confirmed {
            Ok(Some((proposal, Confirmed::Yes(more)))) => {
                tried.push(self.fitting(&proposal, &more));
                return Ok((proposal, more));
            }
            Ok(Some((proposal, Confirmed::No(missed)))) => tried.push(miss(&proposal, missed, false)),
            Ok(Some((proposal, Confirmed::Unknown { why, .. }))) => tried.push(open(&proposal, &why)),
            Ok(None) | Err(MeasureError::Time | MeasureError::Memory { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok((fitted, evidence))
    }

    fn stronger(
        &mut self,
        fitted: &Proposal,
        evidence: &Evidence,
        aim: &Aim,
        tried: &Tried,
    ) -> Result<Option<Refined>, MeasureError> {
        if self.request.effort == Effort::Quick || self.remaining_s() < ROOM * evidence.seconds {
            return Ok(None);
        }
        if aim.has_missed() {
            return self.after_a_miss(fitted, evidence, aim);
        }
        let untried = coarse_step(&fitted.setting).filter(|s| tried.iter().all(|t| t.setting != *s));
        untried.map_or(Ok(None), |setting| self.without_reserve(&setting))
    }

    /// What missed may have met a burst of somebody else's work: with hashes as dear as they were in the run that fitted, settings
    /// between the two may fit. Ties are not worth a run.
    fn after_a_miss(
        &mut self,
        fitted: &Proposal,
        evidence: &Evidence,
        aim: &Aim,
    ) -> Result<Option<Refined>, MeasureError> {
        if let Some(before) = self.model.as_measured(&fitted.setting) {
            self.model.drift_is(evidence.cost.loaded_s / before.loaded_s);
        }
        let found = self.refined(fitted.setting.algorithm(), &aim.renewed())?;
        Ok(found.filter(|f| f.proposal.rank * TIE_BAND < fitted.rank))
    }

    /// A setting measured closely that keeps the budget by its own figures, if not the reserve: where steps are coarse the reserve
    /// may give half of the strength away.
    fn without_reserve(&mut self, setting: &Setting) -> Result<Option<Refined>, MeasureError> {
        let limit_s = self.request.budget.latency.as_s();
        let Some(cost) = self.model.predict(setting) else {
            return Ok(None);
        };
        if self.planner.feasible(setting, &cost, limit_s).is_none() {
            return Ok(None);
        }
        self.measure_closely(setting)?;
        let lone = self.close.iter().rev().find(|lone| lone.setting == *setting).cloned();
        let proposal = self.proposal_within(setting, limit_s);
        Ok(proposal.zip(lone).map(|(proposal, lone)| Refined { proposal, lone }))
    }
}
