//! What would make a setting fit: the fewest changes to the limits, each as small as the prediction allows.

use std::fmt;

use super::Request;
use super::plan::{AIM, DRIFT, Planner};
use crate::budget::Budget;
use crate::queue::{Cpus, Quota};
use crate::setting::Setting;
use crate::units::{Bytes, CeilMib, Millis, Short};
use crate::verdict::{self, Ceiling, Cost};

/// One changed limit, as it is and as it would have to be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Change {
    /// Usable CPUs: a quota where they are no whole number.
    Cpus { from: f64, to: f64 },
    /// The number that the server fixes.
    Workers { from: u32, to: u32 },
    /// The memory budget.
    Memory { from: Bytes, to: Bytes },
    /// The latency budget.
    Latency { from: Millis, to: Millis },
}

/// Changes that are needed together.
pub type Way = Vec<Change>;

/// CPUs are counted in tenths.
const TENTHS: f64 = 10.0;
/// Latency budgets are told in steps of this many ms, or of 1 % where that is more.
const STEP_MS: f64 = 5.0;
/// So many steps beyond the estimate a smallest change is looked for: the estimate is off by rounding only.
const STEPS: u32 = 20;
/// CPUs up to which the queue is simulated. With more, hardly any login waits below the headroom, and simulating takes long.
const SIMULATED_CPUS: f64 = 32.0;
/// More than any machine has.
const NO_LIMIT: Bytes = Bytes(u64::MAX / 2);

impl Change {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpus { .. } => "more CPUs",
            Self::Workers { from, to } if to < from => "fewer workers",
            Self::Workers { .. } => "more workers",
            Self::Memory { .. } => "more memory",
            Self::Latency { .. } => "a longer budget",
        }
    }

    /// How large it is next to what there is: the logarithm of their ratio.
    fn effort(&self) -> f64 {
        let ratio = match self {
            Self::Cpus { from, to } => to / from,
            Self::Workers { from, to } => f64::from(*to) / f64::from(*from),
            Self::Memory { from, to } => to.as_f64() / from.as_f64(),
            Self::Latency { from, to } => to.0 / from.0,
        };
        ratio.ln().abs()
    }

    /// Makes it.
    pub fn apply(&self, request: &mut Request) {
        match *self {
            Self::Cpus { to, .. } => set_cpus(request, to),
            Self::Workers { to, .. } => request.budget.workers = Some(to),
            Self::Memory { to, .. } => request.budget.memory = to,
            Self::Latency { to, .. } => request.budget.latency = to,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpus { from, to } => write!(f, "{} more CPUs ({} in all)", Short(to - from), Short(*to)),
            Self::Workers { from, to } => write!(f, "--workers {to} instead of {from}"),
            Self::Memory { from, to } => write!(f, "--mem {} instead of {from}", CeilMib(*to)),
            Self::Latency { from, to } => write!(f, "--budget-ms {} instead of {}", Short(to.0), Short(from.0)),
        }
    }
}

/// `a`, `a and b`, or `a, b and c`.
pub fn together<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => items.concat(),
    }
}

/// How large the changes of a way are together.
pub(super) fn effort(way: &[Change]) -> f64 {
    way.iter().map(Change::effort).sum()
}

/// So many CPUs: a quota is changed as a quota, on more CPUs if need be; whole CPUs as CPUs, and a fraction of one is a quota.
pub(super) fn set_cpus(request: &mut Request, cpus: f64) {
    let whole = cpus.ceil().max(1.0) as u32;
    let period_s = request.cpus.quota.map_or(0.1, |q| q.period_s);
    let quota = Quota { cpus, period_s };
    request.cpus = match request.cpus.quota {
        Some(_) => Cpus {
            affinity: request.cpus.affinity.max(whole),
            quota: Some(quota),
        },
        None => Cpus {
            affinity: whole,
            quota: (f64::from(whole) > cpus).then_some(quota),
        },
    };
    request.usable_cpus = cpus;
}

/// The kinds of change, in the order in which they are worked out: memory and latency depend on the CPUs and the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cpus,
    Workers,
    Memory,
    Latency,
}

const KINDS: [Kind; 4] = [Kind::Cpus, Kind::Workers, Kind::Memory, Kind::Latency];

/// The ways with the fewest changes that make a setting of this cost fit by prediction, the smallest first.
///
/// Each suffices on its own, and its changes are needed together. Empty where it fits already; `None` where nothing would help.
pub(super) fn ways(setting: &Setting, cost: &Cost, request: &Request) -> Option<Vec<Way>> {
    let subject = Subject { setting, cost };
    if subject.workers(request).is_some() {
        return Some(Vec::new());
    }
    for size in 1..=KINDS.len() {
        let subsets = (1_u32..1 << KINDS.len()).filter(|bits| bits.count_ones() as usize == size);
        let mut found: Vec<Way> = subsets
            .filter_map(|bits| {
                let chosen = |(at, kind): (usize, &Kind)| (bits >> at & 1 == 1).then_some(*kind);
                let kinds: Vec<Kind> = KINDS.iter().enumerate().filter_map(chosen).collect();
                subject.way(&kinds, request)
            })
            .collect();
        if !found.is_empty() {
            found.sort_by(|a, b| effort(a).total_cmp(&effort(b)));
            return Some(found);
        }
    }
    None
}

#[derive(Clone, Copy)]
struct Subject<'a> {
    setting: &'a Setting,
    cost: &'a Cost,
}

impl Subject<'_> {
    /// The fewest workers with which it fits by prediction, whatever memory is free on this host.
    fn workers(self, request: &Request) -> Option<u32> {
        if request.usable_cpus > SIMULATED_CPUS {
            let workers = request.budget.workers.unwrap_or(request.cpus.affinity);
            let needed = self.needed_without_waiting(request, workers)?;
            return (needed <= request.budget.latency.as_s()).then_some(workers);
        }
        let mut planner = Planner::new(request.budget, request.usable_cpus, request.cpus);
        planner.feasible(self.setting, self.cost, AIM * request.budget.latency.as_s())
    }

    /// The latency budget in seconds where nobody waits; `None` where peak or memory do not hold.
    fn needed_without_waiting(self, request: &Request, workers: u32) -> Option<f64> {
        let budget = &request.budget;
        let app_s = budget.app_cpu.as_s();
        let ceiling = Ceiling::new(self.cost, request.usable_cpus, workers, app_s);
        let out = verdict::peak_verdict(&ceiling, budget, request.usable_cpus)
            .or_else(|| verdict::memory_verdict(self.setting, workers, budget));
        let alone_s = self.cost.loaded_s / self.cost.lanes + app_s;
        out.is_none().then_some((alone_s / AIM).max(alone_s * DRIFT))
    }

    fn fits(self, request: &Request) -> bool {
        self.workers(request).is_some()
    }

    /// The smallest changes of these kinds that suffice together; `None` where they do not, or one of them is not needed.
    fn way(self, kinds: &[Kind], request: &Request) -> Option<Way> {
        let mut changed = request.clone();
        for kind in kinds {
            match kind {
                Kind::Cpus => {}
                Kind::Workers => changed.budget.workers = None,
                Kind::Memory => changed.budget.memory = NO_LIMIT,
                Kind::Latency => changed.budget.latency = Millis(Budget::LATENCY_MS.1),
            }
        }
        let mut way = Way::new();
        for kind in kinds {
            let change = match kind {
                Kind::Cpus => self.cpus(&changed),
                Kind::Workers => self.other_workers(request, &changed),
                Kind::Memory => self.memory(request, &changed),
                Kind::Latency => self.latency(request, &changed),
            }?;
            change.apply(&mut changed);
            way.push(change);
        }
        Some(way)
    }

    /// The fewest tenths of a CPU, found by doubling what is added and then by halving.
    fn cpus(self, request: &Request) -> Option<Change> {
        let budget = &request.budget;
        let from = request.usable_cpus;
        // Alone it takes longer than the budget: no CPU helps.
        if self.cost.alone_wall_s() + budget.app_cpu.as_s() > AIM * budget.latency.as_s() {
            return None;
        }
        let fits = |tenths: u32| {
            let mut more = request.clone();
            set_cpus(&mut more, f64::from(tenths) / TENTHS);
            self.fits(&more)
        };
        let demand = self.cost.loaded_s + budget.app_cpu.as_s();
        let peak = budget.peak.per_s() * demand / (1.0 - budget.headroom.0);
        // At a quarter of the load hardly any login waits: if that does not help, nothing does.
        let most = ((4.0 * peak.max(from) + 1.0) * TENTHS) as u32;
        let (mut low, mut added) = ((from * TENTHS).floor() as u32, 1);
        let mut high = low + added;
        while !fits(high) {
            low = high;
            added *= 2;
            high += added;
            if low > most {
                return None;
            }
        }
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            if fits(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        let to = f64::from(high) / TENTHS;
        Some(Change::Cpus { from, to })
    }

    fn other_workers(self, request: &Request, changed: &Request) -> Option<Change> {
        let from = request.budget.workers?;
        let to = self.workers(changed)?;
        (to != from).then_some(Change::Workers { from, to })
    }

    /// Whole MiB for the fewest workers that keep the other limits.
    fn memory(self, request: &Request, changed: &Request) -> Option<Change> {
        let workers = self.workers(changed)?;
        let budget = &request.budget;
        let need = verdict::memory(self.setting, workers, budget).as_f64() / (1.0 - budget.headroom.0);
        let mib = (need / f64::from(1 << 20)).ceil() as u64;
        let from = budget.memory;
        (0..u64::from(STEPS))
            .map(|more| Change::Memory {
                from,
                to: Bytes((mib + more) << 20),
            })
            .find(|change| {
                matches!(change, Change::Memory { from, to } if to > from) && self.fits(&with(changed, change))
            })
    }

    fn latency(self, request: &Request, changed: &Request) -> Option<Change> {
        let needed_s = self.needed_latency_s(changed)?;
        let needed = Millis::from_s(needed_s);
        let step = STEP_MS.max((needed.0 / 100.0).round());
        let first = (needed.0 / step).ceil();
        let from = request.budget.latency;
        (0..STEPS)
            .map(|more| Millis((first + f64::from(more)) * step))
            .take_while(|to| to.0 <= Budget::LATENCY_MS.1)
            .map(|to| Change::Latency { from, to })
            .find(|change| {
                matches!(change, Change::Latency { from, to } if to > from) && self.fits(&with(changed, change))
            })
    }

    /// What [`Planner::feasible`] asks for, the other way round: the shortest latency budget in seconds.
    fn needed_latency_s(self, request: &Request) -> Option<f64> {
        let mut planner = Planner::new(request.budget, request.usable_cpus, request.cpus);
        let range = planner.worker_range();
        if request.usable_cpus > SIMULATED_CPUS {
            return self.needed_without_waiting(request, *range.end());
        }
        let peak = request.budget.peak.per_s();
        let dearer = Cost {
            loaded_s: self.cost.loaded_s * DRIFT,
            ..*self.cost
        };
        let needed = |workers: u32| {
            self.needed_without_waiting(request, workers)?;
            let aimed = planner.latency(self.cost, workers, peak)? / AIM;
            let drifted = planner.latency(&dearer, workers, peak)?;
            Some(aimed.max(drifted))
        };
        range.filter_map(needed).min_by(f64::total_cmp)
    }
}

fn with(request: &Request, change: &Change) -> Request {
    let mut changed = request.clone();
    change.apply(&mut changed);
    changed
}
