//! One setting, judged as a pick is.

use super::answer::{Tried, miss, open};
use super::confirm::Confirmed;
use super::session::{Depth, Session};
use super::{Candidate, Request};
use crate::caveat::Caveat;
use crate::measure::{Measure, MeasureError, Observer};
use crate::setting::Setting;

/// Measures one setting closely and, where it may fit by its own figures, at the peak. What is doubtful about that comes with it.
///
/// # Errors
/// Those of the measurement: the time limit and missing memory among them.
pub fn judge_one(
    setting: &Setting,
    request: &Request,
    world: &mut dyn Measure,
    observer: &mut dyn Observer,
) -> Result<(Candidate, Vec<Caveat>), MeasureError> {
    let mut session = Session::new(request, world, observer);
    session.stage(&format!("measuring {setting}"), 2.5);
    let lone = session.measure_cost(setting, Depth::Close)?;
    let mut tried = Tried::new();
    if let Some(proposal) = session.proposal_within(setting, request.budget.latency.as_s()) {
        tried.push(match session.confirm(&proposal, &lone)? {
            Confirmed::Yes(evidence) => session.fitting(&proposal, &evidence),
            Confirmed::No(missed) => miss(&proposal, missed, false),
            Confirmed::Unknown { why, .. } => open(&proposal, &why),
        });
    }
    let candidate = session.candidate(setting.to_string(), *setting, &tried);
    Ok((candidate, session.doubts()))
}
