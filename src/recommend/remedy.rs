//! What would make the floor fit when nothing does.

use super::cost::CostModel;
use super::plan::{AIM, Planner};
use super::{Request, grid};
use crate::queue::{Cpus, Station, long_run_quantile};
use crate::setting::{Algorithm, Setting};
use crate::units::{Bytes, Millis, Short};
use crate::verdict::{self, Cost};

/// One change, in figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// `more CPUs`, `more memory`, `a longer budget` or `another algorithm`.
    pub name: &'static str,
    /// How much, and for which setting.
    pub text: String,
}

/// What the cheapest setting at the floor of each family asked for would need; first the preferred family.
///
/// All the changes listed for one setting are needed together. Empty when no cost is known.
pub fn remedies(request: &Request, model: &CostModel, planner: &mut Planner) -> Vec<Remedy> {
    let mut families = request.algorithms.clone();
    families.sort_unstable();
    let needs: Vec<Need> = families
        .into_iter()
        .filter_map(|a| need(a, request, model, planner))
        .collect();
    let Some(first) = needs.first() else { return Vec::new() };
    let mut remedies = first.remedies(request);
    if let Some(cheaper) = needs[1..].iter().find(|n| n.remedies(request).len() < remedies.len()) {
        let changes: Vec<String> = cheaper
            .remedies(request)
            .into_iter()
            .map(|r| format!("{}: {}", r.name, r.text))
            .collect();
        remedies.push(Remedy {
            name: "another algorithm",
            text: changes.join("; "),
        });
    }
    remedies
}

/// What one setting would need.
#[derive(Debug, Clone)]
struct Need {
    setting: Setting,
    cpus: f64,
    latency: Millis,
    memory: Bytes,
    workers: u32,
}

impl Need {
    fn remedies(&self, request: &Request) -> Vec<Remedy> {
        let (budget, setting) = (&request.budget, &self.setting);
        let mut out = Vec::new();
        // The others are worked out with as many CPUs as the peak needs.
        let with = if self.cpus > request.usable_cpus {
            ", with those CPUs"
        } else {
            ""
        };
        if self.cpus > request.usable_cpus {
            let text = format!(
                "{} CPUs instead of {} serve {} of {setting}",
                Short(self.cpus),
                Short(request.usable_cpus),
                budget.peak,
            );
            out.push(Remedy {
                name: "more CPUs",
                text,
            });
        }
        if self.memory > budget.memory {
            let text = format!(
                "--mem {}MiB instead of {} holds {} in flight of {setting}{with}",
                self.memory.0.div_ceil(1 << 20),
                budget.memory,
                self.workers,
            );
            out.push(Remedy {
                name: "more memory",
                text,
            });
        }
        if self.latency.0 > budget.latency.0 {
            let text = format!(
                "--budget-ms {:.0} instead of {:.0} covers the {} of {setting}{with}",
                (self.latency.0 / 5.0).ceil() * 5.0,
                budget.latency.0,
                verdict::Quantile(budget.quantile),
            );
            out.push(Remedy {
                name: "a longer budget",
                text,
            });
        }
        out
    }
}

/// The needs of the cheapest setting at or above the floor of one family.
fn need(algorithm: Algorithm, request: &Request, model: &CostModel, planner: &mut Planner) -> Option<Need> {
    let at_floor = |s: &Setting| request.bounds.allow(s);
    let lines = grid::lines(algorithm, 1 << 20, &[1]);
    let tuned = lines
        .into_iter()
        .filter_map(|line| line.into_iter().find(|s| at_floor(s)));
    let presets = request
        .presets
        .iter()
        .map(|(_, s)| *s)
        .filter(|s| s.algorithm() == algorithm && at_floor(s));
    let (setting, cost) = tuned
        .chain(presets)
        .filter_map(|s| Some((s, model.predict(&s)?)))
        .min_by(|(_, a), (_, b)| a.loaded_s.total_cmp(&b.loaded_s))?;
    Some(need_of(setting, &cost, request, planner))
}

fn need_of(setting: Setting, cost: &Cost, request: &Request, planner: &mut Planner) -> Need {
    let budget = &request.budget;
    let app_s = budget.app_cpu.as_s();
    let demand = cost.loaded_s + app_s;
    let peak_cpus = budget.peak.per_s() * demand / (1.0 - budget.headroom.0);
    let cpus = peak_cpus.max(request.usable_cpus.min(1.0));
    let workers = budget.workers.unwrap_or(cpus.ceil() as u32).max(1);
    // With as many CPUs as the peak needs; where there are already enough, as they are.
    let enough = if cpus > request.usable_cpus {
        Cpus {
            affinity: cpus.ceil() as u32,
            quota: None,
        }
    } else {
        planner.cpus
    };
    let station = Station {
        cpus: enough,
        ..planner.station(cost, workers)
    };
    let quantile = long_run_quantile(&station, budget.peak.per_s(), &[cost.loaded_s], budget.quantile);
    let latency_s = quantile.unwrap_or(demand * 2.0) / AIM;
    let mut held = *budget;
    held.memory = Bytes(u64::MAX / 2);
    let memory = verdict::memory(&setting, workers, &held).as_f64() / (1.0 - budget.headroom.0);
    Need {
        setting,
        cpus,
        latency: Millis::from_s(latency_s),
        memory: Bytes(memory.ceil() as u64),
        workers,
    }
}
