//! One setting, judged as a pick is.

use super::answer::{Tried, miss, open};
use super::confirm::Confirmed;
use super::session::Session;
use super::{Candidate, Request};
use crate::measure::{Measure, MeasureError, Observer};
use crate::setting::Setting;

/// Measures one setting closely and, where it may fit by its own figures, at the peak.
///
/// # Errors
/// Those of the measurement, the time limit among them.
pub fn judge_one(
    setting: &Setting,
    request: &Request,
    world: &mut dyn Measure,
    observer: &mut dyn Observer,
) -> Result<Candidate, MeasureError> {
    let mut session = Session::new(request, world, observer);
    session.measure_closely(setting)?;
    let proposal = session.proposal_within(setting, request.budget.latency.as_s());
    let mut tried = Tried::new();
    if let Some((proposal, lone)) = proposal.zip(session.close.last().cloned()) {
        tried.push(match session.confirm(&proposal, &lone)? {
            Confirmed::Yes(evidence) => session.fitting(&proposal, &evidence),
            Confirmed::No(missed) => miss(&proposal, missed, false),
            Confirmed::Unknown { why, .. } => open(&proposal, &why),
        });
    }
    Ok(session.candidate(setting.to_string(), *setting, &tried))
}
