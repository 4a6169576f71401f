//! What there is to do for a setting, and what came of it so far.

use super::plan::{self, Kind, Pilot};
use super::seen::Seen;
use super::{Request, Subject};
use crate::measure::PeakMemory;
use crate::queue::Station;
use crate::setting::Setting;

/// A setting's measurements so far.
pub(super) struct Work<'a> {
    pub(super) subject: &'a Subject,
    /// None where even one hash could not be measured.
    pub(super) pilot: Option<Pilot>,
    /// Under all CPUs' load; known when an open load needs it.
    pub(super) station: Option<(Station, Vec<f64>)>,
    pub(super) tasks: Vec<Task>,
}

impl<'a> Work<'a> {
    pub(super) const fn new(subject: &'a Subject) -> Self {
        Self {
            subject,
            pilot: None,
            station: None,
            tasks: Vec::new(),
        }
    }
}

/// One thing to measure, and what came of it.
pub(super) struct Task {
    pub(super) kind: Kind,
    pub(super) setting: Setting,
    pub(super) seen: Vec<Seen>,
    pub(super) memory: Vec<PeakMemory>,
    /// It is not tried again.
    pub(super) stopped: bool,
}

impl Task {
    pub(super) fn new(kind: Kind, setting: Setting) -> Self {
        Self {
            kind,
            setting,
            seen: Vec::new(),
            memory: Vec::new(),
            stopped: false,
        }
    }

    /// Runs that were completed.
    pub(super) fn runs(&self) -> u32 {
        u32::try_from(self.seen.len().max(self.memory.len())).unwrap_or(u32::MAX)
    }
}

/// About how many seconds a setting's next run takes.
pub(super) fn round_s(request: &Request, work: &Work) -> f64 {
    let Some(pilot) = work.pilot else { return 0.0 };
    let tasks = work.tasks.iter().filter(|t| !t.stopped);
    tasks.map(|t| plan::expected_s(request, &pilot, t.kind)).sum()
}
