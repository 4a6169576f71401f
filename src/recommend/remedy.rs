//! What would make the floor fit when nothing does: the smallest changes, the cheapest first.

use super::cost::CostModel;
use super::price::{self, Change, Way};
use super::{Request, grid};
use crate::setting::{Algorithm, Setting};
use crate::verdict::Cost;

/// Most remedies told.
const MOST: usize = 4;

/// Changes that together make one setting at the floor fit, by prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Remedy {
    /// The setting that then fits.
    pub setting: Setting,
    /// The changes, all needed.
    pub changes: Way,
    /// Whether the setting is of another family than the preferred one of those asked for.
    pub other_family: bool,
}

impl Remedy {
    /// `more CPUs`, `more memory`, `a longer budget`, `more workers`, several of them, or `another algorithm` with them.
    pub fn name(&self) -> String {
        let other = self.other_family.then_some("another algorithm");
        price::together(other.into_iter().chain(self.changes.iter().map(Change::name)))
    }

    /// How much, and for which setting.
    pub fn text(&self) -> String {
        format!("{} would make {} fit", price::together(&self.changes), self.setting)
    }
}

/// The smallest changes of each kind that make a setting at the floor of a family asked for fit.
///
/// Sorted by how large the changes are next to what there is. Empty when no cost is known.
pub fn remedies(request: &Request, model: &CostModel) -> Vec<Remedy> {
    let preferred = request.algorithms.iter().min();
    let mut all: Vec<Remedy> = Vec::new();
    for algorithm in &request.algorithms {
        for (setting, cost) in floor(*algorithm, request, model) {
            let ways = price::ways(&setting, &cost, request);
            all.extend(
                ways.into_iter()
                    .flatten()
                    .filter(|way| !way.is_empty())
                    .map(|changes| Remedy {
                        setting,
                        changes,
                        other_family: Some(algorithm) != preferred,
                    }),
            );
        }
    }
    all.sort_by(|a, b| price::effort(&a.changes).total_cmp(&price::effort(&b.changes)));
    let mut told: Vec<Remedy> = Vec::new();
    for remedy in all {
        if !told.iter().any(|t| t.name() == remedy.name()) {
            told.push(remedy);
        }
    }
    told.truncate(MOST);
    told
}

/// The settings at or above the floor of one family that nothing else is cheaper than in CPU, time and memory alike.
fn floor(algorithm: Algorithm, request: &Request, model: &CostModel) -> Vec<(Setting, Cost)> {
    let lanes = grid::lanes(request.usable_cpus, request.bounds.max_lanes);
    let allowed = |s: &Setting| request.bounds.allow(s);
    let tuned = grid::lines(algorithm, 1 << 20, &lanes)
        .into_iter()
        .filter_map(|line| line.into_iter().find(allowed));
    let presets = request.presets.iter().map(|(_, s)| *s).filter(|s| {
        s.algorithm() == algorithm && allowed(s) && !crate::setting::lanes_above(s.lanes(), request.usable_cpus)
    });
    let known: Vec<(Setting, Cost)> = super::search::unique(tuned.chain(presets))
        .into_iter()
        .filter_map(|s| Some((s, model.predict(&s)?)))
        .collect();
    let price = |(s, c): &(Setting, Cost)| [c.loaded_s, c.alone_wall_s(), s.memory_cost().as_f64()];
    let beaten = |one: &(Setting, Cost)| {
        known.iter().any(|other| {
            let (a, b) = (price(other), price(one));
            a != b && a.iter().zip(b).all(|(x, y)| *x <= y)
        })
    };
    known.iter().filter(|one| !beaten(one)).copied().collect()
}
