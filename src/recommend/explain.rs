//! Why this one: what binds, what the next step would cost, and what other budgets would be answered. Predicted, not measured.

use super::plan::Planner;
use super::price::{self, Way};
use super::search::{Aim, propose};
use super::session::Session;
use super::{Recommendation, Request};
use crate::setting::Setting;
use crate::units::{CeilMib, Millis, Rate, Short};

/// The account behind a recommendation.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The next stronger setting on the grid, and what it would take.
    pub next: Option<NextStep>,
    /// What half and double of each budget would be answered.
    pub what_if: Vec<WhatIf>,
}

/// The price of the next stronger setting.
#[derive(Debug, Clone, PartialEq)]
pub struct NextStep {
    /// The setting.
    pub setting: Setting,
    /// What would make it fit, the smallest first: any one of these, each with all its changes. Empty where it may fit as it is;
    /// `None` where nothing would help.
    pub ways: Option<Vec<Way>>,
}

/// The prediction for another budget.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// The change, for example `--peak 40/s`, as it would be typed.
    pub change: String,
    /// The strongest setting predicted to fit; `None` when none at or above the floor does.
    pub setting: Option<Setting>,
    /// How many times as strong it is as the recommendation, by rank; 1 is as strong. `None` where
    /// there is none, or it is of another family: ranks of two families cannot be compared.
    pub strength: Option<f64>,
}

impl Session<'_> {
    /// Explains a recommendation, from what was measured on the way to it.
    pub(super) fn explanation(&mut self, pick: &Recommendation) -> Explanation {
        let next = pick.next.as_ref().and_then(|(setting, _)| self.next_step(setting));
        let what_if = changes(self.request)
            .into_iter()
            .map(|(change, request)| self.what_if(change, &request, &pick.setting))
            .collect();
        Explanation { next, what_if }
    }

    fn next_step(&mut self, setting: &Setting) -> Option<NextStep> {
        let cost = self.model.predict(setting)?;
        Some(NextStep {
            setting: *setting,
            ways: price::ways(setting, &cost, self.request),
        })
    }

    fn what_if(&mut self, change: String, request: &Request, pick: &Setting) -> WhatIf {
        let mut planner = Planner::new(request.budget, request.usable_cpus, request.cpus);
        let space = self.space();
        let mut families = request.algorithms.clone();
        families.sort_unstable();
        // As the answer itself is looked for: the first family with one that keeps the reserve, or the budget at least.
        let found = families.into_iter().find_map(|algorithm| {
            let mut proposed = |aim| propose(algorithm, &space, &request.attacker, &self.model, &mut planner, &aim);
            proposed(Aim::default()).or_else(|| proposed(Aim::whole()))
        });
        let rank = request.attacker.rank(pick);
        let comparable = found.filter(|p| p.setting.algorithm() == pick.algorithm());
        WhatIf {
            change,
            setting: found.map(|p| p.setting),
            strength: comparable.map(|p| rank / p.rank),
        }
    }
}

/// Half and double of the peak, the CPUs, the memory and the latency, one at a time.
fn changes(request: &Request) -> Vec<(String, Request)> {
    let mut out = Vec::new();
    for factor in [0.5, 2.0] {
        let with = |change: &dyn Fn(&mut Request)| {
            let mut other = request.clone();
            change(&mut other);
            other
        };
        let peak = Rate::new(request.budget.peak.per_s() * factor).unwrap_or(request.budget.peak);
        out.push((format!("--peak {peak}"), with(&|r| r.budget.peak = peak)));
        let cpus = request.usable_cpus * factor;
        let plural = if cpus == 1.0 { "" } else { "s" };
        out.push((
            format!("{} CPU{plural}", Short(cpus)),
            with(&|r| price::set_cpus(r, cpus)),
        ));
        let memory = request.budget.memory.scaled(factor);
        out.push((
            format!("--mem {}", CeilMib(memory)),
            with(&|r| r.budget.memory = memory),
        ));
        let latency = Millis(request.budget.latency.0 * factor);
        out.push((
            format!("--budget-ms {}", latency.0),
            with(&|r| r.budget.latency = latency),
        ));
    }
    out
}
