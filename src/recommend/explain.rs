//! Why this one: what binds, what the next step would cost, and what other budgets would be answered. Predicted, not measured.

use super::plan::{AIM, Planner};
use super::search::{Aim, propose};
use super::session::Session;
use super::{Recommendation, Request};
use crate::queue::{Cpus, Quota};
use crate::setting::{Algorithm, Setting};
use crate::units::{Bytes, Millis, Rate, Short};
use crate::verdict;

/// The account behind a recommendation.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The next stronger setting on the grid, and each thing that it would take.
    pub next: Option<NextStep>,
    /// What half and double of each budget would be answered.
    pub what_if: Vec<WhatIf>,
}

/// The price of the next stronger setting.
#[derive(Debug, Clone, PartialEq)]
pub struct NextStep {
    /// The setting.
    pub setting: Setting,
    /// What it would take, each on its own line; all are needed.
    pub price: Vec<String>,
}

/// The prediction for another budget.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// The change, for example `peak 40/s`.
    pub change: String,
    /// The strongest setting predicted to fit; `None` when none at or above the floor does.
    pub setting: Option<Setting>,
    /// How many times as strong it is as the recommendation, by rank; 1 is as strong.
    pub strength: f64,
}

impl Session<'_> {
    /// Explains a recommendation, from what was measured on the way to it.
    pub(super) fn explanation(&mut self, pick: &Recommendation) -> Explanation {
        let next = pick.next.as_ref().and_then(|(setting, _)| self.next_step(setting));
        let rank = self.request.attacker.rank(&pick.setting);
        let what_if = changes(self.request)
            .into_iter()
            .map(|(change, request)| self.what_if(change, &request, pick.setting.algorithm(), rank))
            .collect();
        Explanation { next, what_if }
    }

    fn next_step(&mut self, setting: &Setting) -> Option<NextStep> {
        let cost = self.model.predict(setting)?;
        let budget = self.request.budget;
        let workers = *self.planner.worker_range().end();
        let mut price = Vec::new();
        let need = self
            .planner
            .ceiling(&cost, workers)
            .cpus_for(budget.peak, budget.headroom.0);
        if need > self.request.usable_cpus {
            let more = need - self.request.usable_cpus;
            price.push(format!("{} more CPUs, {} in all", Short(more), Short(need)));
        }
        let latency = self
            .planner
            .latency(&cost, workers, budget.peak.per_s())
            .map(|s| Millis::from_s(s / AIM));
        if let Some(latency) = latency.filter(|l| *l > budget.latency) {
            price.push(format!("a budget of {} instead of {}", latency, budget.latency));
        }
        let held = verdict::memory(setting, workers, &budget).as_f64() / (1.0 - budget.headroom.0);
        if held > budget.memory.as_f64() {
            price.push(format!("--mem {} instead of {}", Bytes(held as u64), budget.memory));
        }
        Some(NextStep {
            setting: *setting,
            price,
        })
    }

    fn what_if(&mut self, change: String, request: &Request, algorithm: Algorithm, rank: f64) -> WhatIf {
        let mut planner = Planner::new(request.budget, request.usable_cpus, request.cpus);
        let space = self.space();
        let found = propose(
            algorithm,
            &space,
            &request.attacker,
            &self.model,
            &mut planner,
            &Aim::default(),
        );
        WhatIf {
            change,
            setting: found.map(|p| p.setting),
            strength: found.map_or(0.0, |p| rank / p.rank),
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
        out.push((format!("peak {peak}"), with(&|r| r.budget.peak = peak)));
        let cpus = request.usable_cpus * factor;
        out.push((format!("{} CPUs", Short(cpus)), with(&|r| scale_cpus(r, factor))));
        let memory = request.budget.memory.scaled(factor);
        out.push((format!("--mem {memory}"), with(&|r| r.budget.memory = memory)));
        let latency = Millis(request.budget.latency.0 * factor);
        out.push((format!("latency {latency}"), with(&|r| r.budget.latency = latency)));
    }
    out
}

/// A quota is scaled as a quota; whole CPUs are scaled as CPUs, and half of an odd number is a quota on the next whole one.
fn scale_cpus(request: &mut Request, factor: f64) {
    let cpus = request.usable_cpus * factor;
    request.usable_cpus = cpus;
    let period_s = request.cpus.quota.map_or(0.1, |q| q.period_s);
    let whole = cpus.ceil().max(1.0);
    let quota = (whole > cpus).then_some(Quota { cpus, period_s });
    request.cpus = Cpus {
        affinity: whole as u32,
        quota,
    };
}
