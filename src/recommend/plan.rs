//! Whether a setting of known cost would keep the budget, by formula and by the queue simulation.

use std::collections::HashMap;

use crate::budget::Budget;
use crate::queue::{Cpus, Station, long_run_quantile};
use crate::setting::Setting;
use crate::units::Bytes;
use crate::verdict::{self, Ceiling, Cost, Limit, Verdict};

/// Share of the latency budget that a proposal may use by prediction; the rest is for the error of prediction and measurement.
pub const AIM: f64 = 0.85;

/// How much dearer a hash may get from one measurement to the next, where nothing disturbs the host much (`docs/accuracy.md`). Near the
/// ceiling that moves the latency far more than in proportion, so a proposal must keep the budget with it, too.
pub const DRIFT: f64 = 1.05;

/// What one setting would do at the peak, predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// Most hashes in flight.
    pub workers: u32,
    /// CPU cost of a hash.
    pub cost: Cost,
    /// Most logins a second.
    pub ceiling: Ceiling,
    /// The quantile of latency at the peak, in seconds; `None` when the queue grows without end.
    pub latency_s: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The host's CPUs, the budget, and what was already simulated.
#[derive(Debug, Clone)]
pub struct Planner {
    /// The operator's budget.
    pub budget: Budget,
    /// Usable CPUs, a fraction.
    pub usable: f64,
    /// The same for the simulation: CPUs that threads may run on, and a quota.
    pub cpus: Cpus,
    /// Memory that hashes can be measured in; what needs more is not proposed.
    pub free: Bytes,
    simulated: HashMap<Key, Option<f64>>,
    most: HashMap<MostKey, f64>,
}

/// Demands are rounded to 0.5 % here: far below what the simulation can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    workers: u32,
    shape: (i64, i64),
    demand: i64,
    rate: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct MostKey {
    workers: u32,
    shape: (i64, i64),
    limit: u64,
}

const DEMAND_STEP: f64 = 0.005;

/// The alone ratio and lanes, rounded so that settings alike share a simulation.
#[allow(clippy::cast_possible_truncation)]
fn shape(cost: &Cost) -> (i64, i64) {
    (
        (cost.alone_ratio * 20.0).round() as i64,
        (cost.lanes * 4.0).round() as i64,
    )
}

impl Planner {
    /// For one budget on one host.
    pub fn new(budget: Budget, usable: f64, cpus: Cpus) -> Self {
        Self {
            budget,
            usable,
            cpus,
            free: Bytes(u64::MAX),
            simulated: HashMap::new(),
            most: HashMap::new(),
        }
    }

    /// What is simulated for `workers` hashes of this cost in flight.
    pub fn station(&self, cost: &Cost, workers: u32) -> Station {
        Station {
            workers,
            cpus: self.cpus,
            lanes: cost.lanes,
            alone_ratio: cost.alone_ratio,
            app_cpu: self.budget.app_cpu.as_s(),
        }
    }

    /// Most hashes in flight worth trying: as many as there are CPUs to run them, or what the server fixes.
    pub fn worker_range(&self) -> std::ops::RangeInclusive<u32> {
        match self.budget.workers {
            Some(workers) => workers..=workers,
            None => 1..=self.cpus.affinity.max(1),
        }
    }

    /// The long-run quantile of latency at `rate` logins/s, in seconds.
    pub fn latency(&mut self, cost: &Cost, workers: u32, rate: f64) -> Option<f64> {
        let step = (cost.loaded_s.ln() / DEMAND_STEP).round();
        let shape = shape(cost);
        let key = Key {
            workers,
            shape,
            demand: step as i64,
            rate: rate.to_bits(),
        };
        if let Some(known) = self.simulated.get(&key) {
            return *known;
        }
        let rounded = Cost {
            loaded_s: (step * DEMAND_STEP).exp(),
            alone_ratio: shape.0 as f64 / 20.0,
            lanes: (shape.1 as f64 / 4.0).max(1.0),
        };
        let station = self.station(&rounded, workers);
        let latency = long_run_quantile(&station, rate, &[rounded.loaded_s], self.budget.quantile);
        self.simulated.insert(key, latency);
        latency
    }

    /// Whether the quantile at the peak is at most `limit_s`, from one simulated threshold for all costs of this shape.
    fn latency_within(&mut self, cost: &Cost, workers: u32, limit_s: f64) -> bool {
        let key = MostKey {
            workers,
            shape: shape(cost),
            limit: limit_s.to_bits(),
        };
        let most = match self.most.get(&key) {
            Some(most) => *most,
            None => {
                let most = self.most_demand(cost, workers, limit_s);
                self.most.insert(key, most);
                most
            }
        };
        cost.loaded_s <= most
    }

    /// The largest loaded CPU seconds of a hash whose quantile at the peak is at most `limit_s`.
    fn most_demand(&mut self, like: &Cost, workers: u32, limit_s: f64) -> f64 {
        let rate = self.budget.peak.per_s();
        // Alone it takes demand x ratio / lanes, so nothing above this can fit.
        let (mut low, mut high) = (0.0, 2.0 * limit_s * like.lanes.max(1.0) / like.alone_ratio.max(0.05));
        while high - low > DEMAND_STEP * high {
            let middle = f64::midpoint(low, high);
            let cost = Cost {
                loaded_s: middle,
                ..*like
            };
            if self.latency(&cost, workers, rate).is_some_and(|l| l <= limit_s) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Whether a setting of this cost keeps memory, peak and `limit_s` seconds with some number of workers; and that number.
    pub fn feasible(&mut self, setting: &Setting, cost: &Cost, limit_s: f64) -> Option<u32> {
        for workers in self.worker_range() {
            if self.held(setting, workers) > self.free
                || verdict::memory_verdict(setting, workers, &self.budget).is_some()
            {
                return None;
            }
            let ceiling = self.ceiling(cost, workers);
            let peak_holds = verdict::peak_verdict(&ceiling, &self.budget, self.usable).is_none();
            let dearer = Cost {
                loaded_s: cost.loaded_s * DRIFT,
                ..*cost
            };
            let holds = |planner: &mut Self| {
                planner.latency_within(cost, workers, limit_s)
                    && planner.latency_within(&dearer, workers, limit_s / AIM)
            };
            if peak_holds && holds(self) {
                return Some(workers);
            }
        }
        None
    }

    /// Memory that must be free to measure it: for as many hashes as keep the CPUs busy.
    pub fn held(&self, setting: &Setting, workers: u32) -> Bytes {
        let measured = workers.max(self.usable.ceil() as u32);
        Bytes(verdict::memory(setting, measured, &self.budget).0 - self.budget.idle_memory.0)
    }

    /// The ceiling with `workers` in flight.
    pub fn ceiling(&self, cost: &Cost, workers: u32) -> Ceiling {
        Ceiling::new(cost, self.usable, workers, self.budget.app_cpu.as_s())
    }

    /// The full account: workers, ceiling, latency and a verdict against the whole budget.
    pub fn assess(&mut self, setting: &Setting, cost: &Cost) -> Assessment {
        let limit_s = self.budget.latency.as_s();
        let range = self.worker_range();
        let fitting = self
            .feasible(setting, cost, limit_s * AIM)
            .or_else(|| self.feasible(setting, cost, limit_s));
        // Where nothing fits, show the most workers that memory holds: the kindest case.
        let workers = fitting.unwrap_or_else(|| {
            let holds = |w: &u32| verdict::memory_verdict(setting, *w, &self.budget).is_none();
            range.clone().rfind(holds).unwrap_or(*range.start())
        });
        let ceiling = self.ceiling(cost, workers);
        let latency_s = self.latency(cost, workers, self.budget.peak.per_s());
        let verdict = self.verdict(setting, &ceiling, workers, latency_s);
        Assessment {
            workers,
            cost: *cost,
            ceiling,
            latency_s,
            verdict,
        }
    }

    fn verdict(&self, setting: &Setting, ceiling: &Ceiling, workers: u32, latency_s: Option<f64>) -> Verdict {
        let budget = &self.budget;
        let limits = [
            verdict::memory_verdict(setting, workers, budget),
            verdict::peak_verdict(ceiling, budget, self.usable),
            verdict::latency_verdict(latency_s, "predicted", budget),
        ];
        if let Some(broken) = limits.into_iter().flatten().next() {
            return broken;
        }
        let latency = latency_s.unwrap_or(f64::INFINITY) / budget.latency.as_s();
        if latency > AIM {
            let why = format!(
                "predicted {} of {:.0} ms is too near the budget to promise without measuring",
                verdict::Quantile(budget.quantile),
                latency * budget.latency.0,
            );
            return Verdict::Undecided { why };
        }
        Verdict::Fits {
            margin: 1.0 - self.tightest(setting, ceiling, workers, latency),
            measured: false,
        }
    }

    /// The largest share of a limit that is used.
    fn tightest(&self, setting: &Setting, ceiling: &Ceiling, workers: u32, latency: f64) -> f64 {
        let budget = &self.budget;
        let memory = verdict::memory(setting, workers, budget).as_f64() / budget.hash_memory_and_idle().as_f64();
        let peak = budget.peak.per_s() / (ceiling.per_s() * (1.0 - budget.headroom.0));
        memory.max(peak).max(latency)
    }

    /// The limit that keeps a setting of this cost out when it is aimed at; `None` when it would fit.
    pub fn obstacle(&mut self, setting: &Setting, cost: &Cost) -> Option<Limit> {
        let aim_s = self.budget.latency.as_s() * AIM;
        if self.feasible(setting, cost, aim_s).is_some() {
            return None;
        }
        let mut relaxed = self.clone();
        relaxed.budget.memory = Bytes(u64::MAX / 2);
        if relaxed.feasible(setting, cost, aim_s).is_some() {
            return Some(Limit::Memory);
        }
        let workers = *self.worker_range().end();
        let peak = verdict::peak_verdict(&self.ceiling(cost, workers), &self.budget, self.usable);
        Some(if peak.is_some() { Limit::Peak } else { Limit::Latency })
    }
}
