//! The search: calibrate, propose, measure, decide. A setting is recommended only when it was measured and fits.

mod account;
mod answer;
mod confirm;
mod cost;
mod explain;
pub mod grid;
mod peak;
mod plan;
mod price;
mod remedy;
mod search;
mod session;
mod simulated;
mod single;
mod step_up;

pub use confirm::{Basis, Evidence};
pub use cost::{CostModel, cost_of};
pub use explain::{Explanation, NextStep, WhatIf};
pub use plan::{AIM, Assessment, DRIFT, Planner};
pub use price::{Change, Way, together};
pub use remedy::Remedy;
pub use search::{Aim, Bounds, Proposal, Space, propose};
pub use session::recommend;
pub use single::judge_one;

use crate::budget::Budget;
use crate::caveat::Caveat;
use crate::queue::Cpus;
use crate::setting::{Algorithm, Setting};
use crate::strength::Attacker;
use crate::verdict::{Limit, Verdict};

/// Everything that a recommendation depends on, besides the measurements.
#[derive(Debug, Clone)]
pub struct Request {
    /// The operator's limits.
    pub budget: Budget,
    /// CPUs that may be used, a fraction.
    pub usable_cpus: f64,
    /// The same as the simulation sees them.
    pub cpus: Cpus,
    /// Families asked for; OWASP's order decides between them.
    pub algorithms: Vec<Algorithm>,
    /// Named settings to judge beside the tuned ones.
    pub presets: Vec<(String, Setting)>,
    /// Which tuned settings may be proposed.
    pub bounds: Bounds,
    /// How much to measure.
    pub effort: Effort,
    /// The setting in use, to be judged beside.
    pub current: Option<Setting>,
    /// Whether to work out what other budgets would be answered.
    pub explain: bool,
    /// Assumed attacker.
    pub attacker: Attacker,
    /// Smallest Argon2 memory, in KiB, that comes as fresh pages (`None`: all alike).
    pub fresh_from_kib: Option<u32>,
    /// For every random draw.
    pub seed: u64,
    /// Seconds that the whole run may take.
    pub time_limit_s: f64,
}

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// At least 10 s and 200 arrivals at the peak.
    #[default]
    Full,
    /// Half of that, and shorter calibration: wider intervals.
    Quick,
}

impl Request {
    /// Hashes in flight that keep every usable CPU busy: `ceil(C)`.
    pub fn busy_clients(&self) -> u32 {
        self.usable_cpus.ceil().max(1.0) as u32
    }
}

/// One row of the account.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The preset's name, or the setting's text for a tuned one.
    pub name: String,
    /// The setting.
    pub setting: Setting,
    /// What it would do at the peak; `None` when its cost is not known.
    pub assessment: Option<Assessment>,
    /// Whether its CPU cost was measured here (else predicted from neighbours).
    pub measured: bool,
    /// The quantile of latency that was measured at the peak, in seconds; `None` when it was not.
    pub latency_s: Option<f64>,
    /// Guesses/s of the assumed attacker (the bound used to rank).
    pub guesses_per_s: f64,
    /// The verdict.
    pub verdict: Verdict,
}

/// The setting to deploy.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    /// The setting.
    pub setting: Setting,
    /// Most hashes running at once.
    pub max_in_flight: u32,
    /// Most logins waiting; beyond it refuse at once.
    pub max_queued: u32,
    /// What was measured.
    pub evidence: Evidence,
    /// Guesses/s of the assumed attacker.
    pub guesses_per_s: f64,
    /// Rank of the family's minimum over this one's; above 1 is stronger.
    pub floor_ratio: f64,
    /// What keeps the next stronger setting out; `None` when nothing does.
    pub binding: Option<Limit>,
    /// The next stronger setting on the grid, and why it does not fit.
    pub next: Option<(Setting, String)>,
    /// The next best that should fit.
    pub runner_up: Option<String>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Measured, and within every limit.
    Fits(Box<Recommendation>),
    /// Nothing at or above the floor fits; what would help, the cheapest first.
    Nothing(Vec<Remedy>),
    /// Could not tell.
    Undecided {
        /// Why.
        why: String,
        /// What to do.
        hint: String,
    },
}

/// The whole account.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The answer.
    pub answer: Answer,
    /// Why, where it was asked for and a setting fits.
    pub explanation: Option<Explanation>,
    /// Every candidate with its verdict.
    pub candidates: Vec<Candidate>,
    /// Doubts, one of a kind.
    pub caveats: Vec<Caveat>,
    /// Stages and the seconds they took.
    pub timings: Vec<(String, f64)>,
}
