//! Proposals: the strongest setting that the cost model says will fit. Nothing here is a recommendation yet.

use super::cost::CostModel;
use super::grid;
use super::plan::{AIM, Planner};
use crate::setting::{Algorithm, Scrypt, Setting};
use crate::strength::{Attacker, TIE_BAND, at_or_above_floor};
use crate::verdict::Cost;

/// Which settings may be proposed: what the operator's library can do, and the floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Most lanes.
    pub max_lanes: u32,
    /// Most passes of Argon2id.
    pub max_time_cost: u32,
    /// Least memory of Argon2id, in KiB.
    pub min_memory_kib: u32,
    /// Whether settings under the family's floor may be proposed.
    pub below_floor: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_lanes: u32::MAX,
            max_time_cost: grid::MAX_PASSES,
            min_memory_kib: 0,
            below_floor: false,
        }
    }
}

impl Bounds {
    /// Whether a setting lies within them.
    pub fn allow(&self, setting: &Setting) -> bool {
        let within = match setting {
            Setting::Argon2id(a) => {
                a.lanes() <= self.max_lanes
                    && a.time_cost() <= self.max_time_cost
                    && a.memory_kib() >= self.min_memory_kib
            }
            _ => true,
        };
        within && (self.below_floor || at_or_above_floor(setting))
    }
}

/// What may be proposed at all.
#[derive(Debug, Clone)]
pub struct Space {
    /// Settings besides the grid's: the presets.
    pub presets: Vec<Setting>,
    /// Which of them, and of the grid's.
    pub bounds: Bounds,
}

/// What misses at the peak leave to propose: at first a share of the latency budget, and any strength.
#[derive(Debug, Clone, PartialEq)]
pub struct Aim {
    share: f64,
    lowered: Vec<(u32, f64)>,
    missed_rank: f64,
}

impl Default for Aim {
    fn default() -> Self {
        Self::leaving(AIM)
    }
}

impl Aim {
    /// The whole budget: for where nothing keeps the reserve of [`AIM`].
    pub const fn whole() -> Self {
        Self::leaving(1.0)
    }

    const fn leaving(share: f64) -> Self {
        Self {
            share,
            lowered: Vec::new(),
            missed_rank: 0.0,
        }
    }

    /// Whether a proposal that keeps it should fit with room to spare.
    pub fn has_reserve(&self) -> bool {
        self.share <= AIM
    }

    /// Share of the latency budget that a setting may use by prediction: how well lanes work together is what predictions know
    /// least of, so lanes are told apart.
    pub fn of(&self, setting: &Setting) -> f64 {
        let same = self.lowered.iter().filter(|(lanes, _)| *lanes == setting.lanes());
        same.map(|(_, aim)| *aim).fold(self.share, f64::min)
    }

    /// Whether a rank is weaker than all that missed.
    pub fn allows(&self, rank: f64) -> bool {
        rank > self.missed_rank
    }

    /// Whether anything missed.
    pub fn has_missed(&self) -> bool {
        !self.lowered.is_empty()
    }

    /// The same without the reserve.
    pub fn bare(&self) -> Self {
        let whole = |(lanes, share): &(u32, f64)| (*lanes, share / self.share);
        Self {
            share: 1.0,
            lowered: self.lowered.iter().map(whole).collect(),
            ..*self
        }
    }

    /// The whole share again, for settings weaker than what missed.
    pub fn renewed(&self) -> Self {
        Self {
            lowered: Vec::new(),
            ..*self
        }
    }

    /// Takes in that a proposal missed, with `factor` times the latency that its CPU time explains.
    pub fn missed(&mut self, proposal: &Proposal, factor: f64) {
        self.lowered
            .push((proposal.setting.lanes(), self.share / factor.max(1.0)));
        self.missed_rank = self.missed_rank.max(proposal.rank);
    }
}

/// A setting that should fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proposal {
    /// The setting.
    pub setting: Setting,
    /// Its measured or predicted cost.
    pub cost: Cost,
    /// Most hashes in flight.
    pub workers: u32,
    /// Its rank: the attacker's guesses/s, lower is stronger.
    pub rank: f64,
    /// The strongest rank of all that would fit; this one lies within the tie band of it.
    pub strongest: f64,
}

/// The strongest proposal of a family whose predicted latency keeps the aim.
pub fn propose(
    algorithm: Algorithm,
    space: &Space,
    attacker: &Attacker,
    model: &CostModel,
    planner: &mut Planner,
    aim: &Aim,
) -> Option<Proposal> {
    best(feasible(algorithm, space, attacker, model, planner, aim))
}

/// The strongest feasible setting of every grid line, and every feasible preset.
fn feasible(
    algorithm: Algorithm,
    space: &Space,
    attacker: &Attacker,
    model: &CostModel,
    planner: &mut Planner,
    aim: &Aim,
) -> Vec<Proposal> {
    let max_kib = u32::try_from(planner.budget.hash_memory().0 / 1024).unwrap_or(u32::MAX);
    let lanes = grid::lanes(planner.usable, space.bounds.max_lanes);
    let most_lanes = *lanes.last().unwrap_or(&1);
    let mut found = Vec::new();
    let mut consider = |setting: &Setting, planner: &mut Planner| -> bool {
        let Some(cost) = model.predict(setting) else {
            return false;
        };
        let limit_s = aim.of(setting) * planner.budget.latency.as_s();
        let Some(workers) = planner.feasible(setting, &cost, limit_s) else {
            return false;
        };
        let rank = attacker.rank(setting);
        if space.bounds.allow(setting) && aim.allows(rank) {
            found.push(Proposal {
                setting: *setting,
                cost,
                workers,
                rank,
                strongest: rank,
            });
        }
        true
    };
    for line in grid::lines(algorithm, max_kib, &lanes) {
        // Cost and memory rise along a line: past the first that does not fit none does.
        for setting in &line {
            if !consider(setting, planner) {
                break;
            }
        }
    }
    for setting in &space.presets {
        if setting.algorithm() == algorithm && setting.lanes() <= most_lanes {
            consider(setting, planner);
        }
    }
    found
}

/// The strongest, where settings within the tie band of the strongest rank are ties: more memory wins, then fewer lanes, then rank.
fn best(proposals: Vec<Proposal>) -> Option<Proposal> {
    let strongest = proposals.iter().map(|p| p.rank).min_by(f64::total_cmp)?;
    let ties = proposals.into_iter().filter(|p| p.rank <= strongest * TIE_BAND);
    let best = ties.max_by(|a, b| {
        let key = |p: &Proposal| (p.setting.memory_cost(), std::cmp::Reverse(p.setting.lanes()));
        key(a)
            .cmp(&key(b))
            .then(b.rank.total_cmp(&a.rank))
            .then(b.setting.cmp(&a.setting))
    })?;
    Some(Proposal { strongest, ..best })
}

/// The next stronger setting where that is a large step: bcrypt's next cost doubles the work, and so does scrypt's second block of the same N.
pub fn coarse_step(setting: &Setting) -> Option<Setting> {
    /// From here on one more block of scrypt is at most a quarter more work.
    const FINE_BLOCKS: u32 = 4;
    match setting {
        Setting::Bcrypt(_) => step_up(setting),
        Setting::Scrypt(s) if s.p() < FINE_BLOCKS => Scrypt::new(s.n(), s.r(), s.p() + 1).ok().map(Setting::Scrypt),
        _ => None,
    }
}

/// The next stronger setting on the same line (same passes and lanes).
pub fn step_up(setting: &Setting) -> Option<Setting> {
    let strength = |s: &Setting| match s {
        Setting::Argon2id(a) => (u64::from(a.memory_kib()), u64::from(a.time_cost()), a.lanes()),
        Setting::Bcrypt(b) => (b.cost().into(), 0, 0),
        Setting::Scrypt(s) => (s.n(), s.p().into(), s.r()),
        Setting::Pbkdf2(p) => (p.iterations().into(), 0, 0),
    };
    let (size, second, third) = strength(setting);
    grid::lines(setting.algorithm(), u32::MAX, &[setting.lanes()])
        .into_iter()
        .flatten()
        .filter(|s| {
            let (x, y, z) = strength(s);
            (y, z) == (second, third) && x > size
        })
        .min_by_key(|s| strength(s).0)
}

/// Presets first asked for by families, in order and without repeats.
pub fn unique(settings: impl IntoIterator<Item = Setting>) -> Vec<Setting> {
    let mut seen = Vec::new();
    for setting in settings {
        if !seen.contains(&setting) {
            seen.push(setting);
        }
    }
    seen
}
