//! Does a setting keep within the budget, by how much, and if not, what would it take?

use std::fmt;

use crate::budget::Budget;
use crate::setting::Setting;
use crate::units::{Bytes, CeilMib, Millis, Rate, Short};

/// A limit that a setting can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The latency budget.
    Latency,
    /// Peak logins: the CPUs.
    Peak,
    /// The memory budget.
    Memory,
}

impl Limit {
    /// The name used in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Peak => "peak",
            Self::Memory => "memory",
        }
    }
}

/// What was decided about one setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Within every limit.
    Fits {
        /// How much of the tightest limit is left, as a share of it.
        margin: f64,
        /// Whether it was measured at the peak; else it is predicted.
        measured: bool,
    },
    /// Over a limit.
    Exceeds {
        /// The first limit that it breaks, of memory, peak and latency in this order.
        limit: Limit,
        /// How much over: needed divided by allowed, above 1.
        by: f64,
        /// The same in figures, with what it would take.
        reason: String,
    },
    /// Could not tell.
    Undecided {
        /// Why.
        why: String,
    },
    /// Not run.
    Skipped {
        /// Why.
        why: String,
    },
}

impl Verdict {
    /// The name used in exports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fits { .. } => "fits",
            Self::Exceeds { .. } => "exceeds",
            Self::Undecided { .. } => "undecided",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// The reason in figures.
    pub fn reason(&self) -> String {
        match self {
            Self::Fits { margin, measured } => {
                let basis = if *measured { "measured" } else { "predicted" };
                format!(
                    "{basis} within every limit, {:.0} % of the tightest left",
                    margin * 100.0
                )
            }
            Self::Exceeds { reason, .. } => reason.clone(),
            Self::Undecided { why } | Self::Skipped { why } => why.clone(),
        }
    }

    /// Whether it is within every limit.
    pub const fn fits(&self) -> bool {
        matches!(self, Self::Fits { .. })
    }
}

/// CPU seconds that one login takes, at the margins of concurrency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// CPU seconds of one hash with every usable CPU busy hashing, `s(x)`.
    pub loaded_s: f64,
    /// CPU of a hash that runs alone, as a share of `loaded_s`; at most 1.
    pub alone_ratio: f64,
    /// CPUs that one lone hash keeps busy: 1, or up to its lanes.
    pub lanes: f64,
}

impl Cost {
    /// Wall seconds of one hash on idle CPUs.
    pub fn alone_wall_s(&self) -> f64 {
        self.loaded_s * self.alone_ratio / self.lanes
    }

    /// CPU seconds of one hash when `busy` of `cpus` CPUs are hashing.
    pub fn at(&self, busy: f64, cpus: f64) -> f64 {
        let crowd = if cpus > 1.0 {
            ((busy - 1.0) / (cpus - 1.0)).clamp(0.0, 1.0)
        } else {
            1.0
        };
        self.loaded_s * (self.alone_ratio + (1.0 - self.alone_ratio) * crowd)
    }
}

/// Most logins a second that the CPUs can serve with at most `workers` in flight.
///
/// `cpus / (hash CPU + app CPU)`, where the workers may keep fewer CPUs busy than there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// CPUs that can be kept busy.
    pub cpus: f64,
    /// CPU seconds a login.
    pub login_s: f64,
}

impl Ceiling {
    /// The ceiling of a setting's cost on `usable` CPUs with `workers` in flight and `app_s` CPU seconds beside the hash.
    pub fn new(cost: &Cost, usable: f64, workers: u32, app_s: f64) -> Self {
        let cpus = usable.min(f64::from(workers) * cost.lanes);
        Self {
            cpus,
            login_s: cost.at(cpus, usable) + app_s,
        }
    }

    /// Logins a second.
    pub fn per_s(&self) -> f64 {
        self.cpus / self.login_s
    }

    /// CPUs that a peak would take with this headroom.
    pub fn cpus_for(&self, peak: Rate, headroom: f64) -> f64 {
        peak.per_s() * self.login_s / (1.0 - headroom)
    }
}

/// Bytes that are in use beside the hash's own memory: a thread's touched stack and the allocator's share.
///
/// Measured with the high-water mark of children that hold 1 to 9 hashes: 40 to 120 KiB each; rounded up.
pub const PER_HASH_OVERHEAD: Bytes = Bytes(128 << 10);

/// `idle + workers x (memory_cost + overhead)`.
pub fn memory(setting: &Setting, workers: u32, budget: &Budget) -> Bytes {
    let each = setting
        .memory_cost()
        .0
        .saturating_add(PER_HASH_OVERHEAD.0 * u64::from(setting.lanes()));
    Bytes(budget.idle_memory.0.saturating_add(each.saturating_mul(workers.into())))
}

/// The memory limit: `None` when it holds.
pub fn memory_verdict(setting: &Setting, workers: u32, budget: &Budget) -> Option<Verdict> {
    let (need, allowed) = (memory(setting, workers, budget), budget.hash_memory_and_idle());
    if need <= allowed {
        return None;
    }
    let hold = if workers == 1 { "holds" } else { "hold" };
    let idle = if budget.idle_memory.0 > 0 {
        " with the idle service"
    } else {
        ""
    };
    let reason = format!(
        "{workers} in flight {hold} {need}{idle}, over the {allowed} of --mem less headroom; it would take --mem {}",
        CeilMib(need.scaled(1.0 / (1.0 - budget.headroom.0))),
    );
    Some(Verdict::Exceeds {
        limit: Limit::Memory,
        by: need.as_f64() / allowed.as_f64(),
        reason,
    })
}

/// The peak limit: `None` when it holds.
pub fn peak_verdict(ceiling: &Ceiling, budget: &Budget, usable: f64) -> Option<Verdict> {
    let served = ceiling.per_s() * (1.0 - budget.headroom.0);
    let by = budget.peak.per_s() / served;
    if by <= 1.0 {
        return None;
    }
    let need = ceiling.cpus_for(budget.peak, budget.headroom.0);
    let cure = if ceiling.cpus + 1e-9 < usable && need <= usable {
        format!("more workers would keep more of the {} CPUs busy", Short(usable))
    } else {
        format!("it would take {} CPUs", Short(need))
    };
    let reason = format!(
        "tops out at {}/s: enough for {}/s with headroom, not for {}; {cure}",
        Short(ceiling.per_s()),
        Short(served),
        budget.peak,
    );
    Some(Verdict::Exceeds {
        limit: Limit::Peak,
        by,
        reason,
    })
}

/// The latency limit for a quantile of `latency_s` seconds (`None`: the queue grows without end).
pub fn latency_verdict(latency_s: Option<f64>, basis: &str, budget: &Budget) -> Option<Verdict> {
    let limit = budget.latency;
    let quantile = Quantile(budget.quantile);
    let Some(latency_s) = latency_s else {
        let reason = format!("at {} the queue would grow without end", budget.peak);
        return Some(Verdict::Exceeds {
            limit: Limit::Latency,
            by: f64::INFINITY,
            reason,
        });
    };
    let latency = Millis::from_s(latency_s);
    let by = latency.0 / limit.0;
    if by <= 1.0 {
        return None;
    }
    let reason = if by.is_finite() {
        format!(
            "{basis} {quantile} at {} is {latency}, over {limit} by {} %",
            budget.peak,
            Short((by - 1.0) * 100.0)
        )
    } else {
        format!(
            "{basis} {quantile} at {} is open: the queue may grow without end",
            budget.peak
        )
    };
    Some(Verdict::Exceeds {
        limit: Limit::Latency,
        by,
        reason,
    })
}

/// A quantile's usual name: `p95`, `p99.9`.
#[derive(Debug, Clone, Copy)]
pub struct Quantile(pub f64);

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", Short(self.0 * 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Share;

    fn budget() -> Budget {
        Budget {
            latency: Millis(250.0),
            quantile: 0.95,
            memory: Bytes(1 << 30),
            idle_memory: Bytes(0),
            app_cpu: Millis(0.0),
            peak: Rate::new(20.0).unwrap(),
            headroom: Share(0.1),
            workers: None,
        }
    }

    #[test]
    fn the_published_ceiling() {
        // Django's default on 4 CPUs: 245 ms of CPU a login, 16 logins/s whatever the lanes (field notes, section 1).
        let cost = Cost {
            loaded_s: 0.245,
            alone_ratio: 1.0,
            lanes: 4.0,
        };
        let ceiling = Ceiling::new(&cost, 4.0, 9, 0.0);
        assert!((ceiling.per_s() - 16.3).abs() < 0.1);
        let verdict = peak_verdict(&ceiling, &budget(), 4.0).unwrap();
        assert_eq!(
            verdict.reason(),
            "tops out at 16.3/s: enough for 14.7/s with headroom, not for 20/s; it would take 5.44 CPUs"
        );
    }

    #[test]
    fn one_worker_keeps_one_cpu_busy() {
        let cost = Cost {
            loaded_s: 0.1,
            alone_ratio: 0.8,
            lanes: 1.0,
        };
        assert!((Ceiling::new(&cost, 2.0, 1, 0.0).per_s() - 12.5).abs() < 1e-9);
        assert!((Ceiling::new(&cost, 2.0, 2, 0.0).per_s() - 20.0).abs() < 1e-9);
        assert!((Ceiling::new(&cost, 0.5, 2, 0.0).per_s() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn nine_workers_of_the_default_need_more_than_a_gib_with_headroom() {
        let setting: Setting = "argon2id:m=102400,t=2,p=8".parse().unwrap();
        assert!(memory_verdict(&setting, 8, &budget()).is_none());
        let verdict = memory_verdict(&setting, 10, &budget()).unwrap();
        assert!(
            matches!(
                verdict,
                Verdict::Exceeds {
                    limit: Limit::Memory,
                    ..
                }
            ),
            "{verdict:?}"
        );
        assert!(verdict.reason().contains("10 in flight"), "{}", verdict.reason());
    }

    #[test]
    fn latency_over_the_budget_says_by_how_much() {
        assert!(latency_verdict(Some(0.25), "predicted", &budget()).is_none());
        let verdict = latency_verdict(Some(0.3), "predicted", &budget()).unwrap();
        assert_eq!(verdict.reason(), "predicted p95 at 20/s is 300 ms, over 250 ms by 20 %");
        assert!(latency_verdict(None, "predicted", &budget()).is_some());
        let open = latency_verdict(Some(f64::INFINITY), "predicted", &budget()).unwrap();
        assert!(
            matches!(&open, Verdict::Exceeds { reason, .. } if !reason.contains("inf")),
            "{open:?}"
        );
    }
}
