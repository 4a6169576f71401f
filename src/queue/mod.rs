//! The queue of logins, simulated on measured service times.
//!
//! Logins are served first come first served, at most `workers` at once. Those in service share the CPUs equally; a
//! hash uses at most `lanes` CPUs. Where the CPU limit is a quota it is simulated as what it is: a bucket of CPU
//! seconds, refilled every period and never carried over, spent on all CPUs of the affinity; when it is empty
//! everything stops until the refill.
//!
//! Demands are *loaded* CPU seconds: what a hash costs with as many in flight as there are usable CPUs. One that runs
//! with fewer beside it is cheaper, since memory bandwidth is shared.

mod alone;
mod due;
mod interval;
mod long_run;
mod schedule;
mod simulate;

pub use alone::{fitted_alone_ratio, loaded_demands};
pub use due::due;
pub use interval::{Interval, RESAMPLES, Run, interval};
pub use long_run::{MAX_LOAD, long_run_quantile, smallest_workers};
pub use schedule::{Schedule, choose_schedule};
pub use simulate::{Served, latencies, refused_by_bound, simulate};

/// A CPU limit that is a quota (CFS bandwidth control: `cpu.max`, `cpu.cfs_quota_us`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// CPU seconds per second.
    pub cpus: f64,
    /// Seconds between refills; 0.1 unless the operator chose otherwise.
    pub period_s: f64,
}

/// The CPUs this process may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpus {
    /// CPUs it may run on at once. 0 counts as 1.
    pub affinity: u32,
    /// What it may use of them, where that is limited.
    pub quota: Option<Quota>,
}

impl Cpus {
    /// Usable CPUs, a fraction: the smaller of affinity and quota.
    pub fn usable(&self) -> f64 {
        let all = f64::from(self.affinity.max(1));
        self.quota.map_or(all, |quota| all.min(quota.cpus))
    }
}

/// What serves logins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Station {
    /// Most logins in service at once. 0 counts as 1.
    pub workers: u32,
    /// What they share.
    pub cpus: Cpus,
    /// CPUs that one hash can keep busy: 1, or its effective lanes. Below 1 counts as 1.
    pub lanes: f64,
    /// CPU time of a hash that runs alone over its CPU time when all usable CPUs hash, at most 1.
    ///
    /// Used as at least 1 / usable CPUs: memory bandwidth is then exhausted by one hash, and a second one beside it
    /// makes nothing faster.
    pub alone_ratio: f64,
    /// CPU seconds of the rest of a login, run by the same worker after the hash, on one CPU. It costs the same alone.
    pub app_cpu: f64,
}

impl Station {
    /// `workers` one-lane workers, no work beside the hash, and a hash that costs the same alone.
    pub const fn plain(workers: u32, cpus: Cpus) -> Self {
        Self {
            workers,
            cpus,
            lanes: 1.0,
            alone_ratio: 1.0,
            app_cpu: 0.0,
        }
    }

    /// Load at `rate` logins per second and a mean `demand` (loaded CPU seconds): 1 is all that can be served.
    ///
    /// With every worker busy, a login takes CPU time (at most `min(quota, affinity)` CPUs are served at once) and it
    /// takes a worker's time (at most `workers` at once, `lanes` CPUs each); the scarcer of the two is the load.
    /// Without `app_cpu` and `alone_ratio` that is `rate x demand / min(quota, affinity, workers x lanes)`.
    pub fn load(&self, rate: f64, demand: f64) -> f64 {
        let model = Model::of(self);
        let workers = f64::from(self.workers.max(1));
        let hash_cpu = demand * model.cost(model.affinity.min(workers * model.lanes));
        let of_cpus = (hash_cpu + self.app_cpu) / self.cpus.usable();
        let of_workers = (hash_cpu / model.lanes.min(model.affinity) + self.app_cpu) / workers;
        rate * of_cpus.max(of_workers)
    }
}

/// The station's numbers as the simulation uses them, within their bounds.
#[derive(Debug, Clone, Copy)]
struct Model {
    affinity: f64,
    lanes: f64,
    /// Busy CPUs at which a hash costs its full demand.
    loaded_at: f64,
    /// Cost of a hash at one busy CPU, relative to its full demand.
    alone: f64,
}

impl Model {
    fn of(station: &Station) -> Self {
        let loaded_at = station.cpus.usable().ceil().max(1.0);
        Self {
            affinity: f64::from(station.cpus.affinity.max(1)),
            lanes: station.lanes.max(1.0),
            loaded_at,
            // Below 1 / CPUs two hashes at once would take longer than one after the other.
            alone: station.alone_ratio.clamp(1.0 / loaded_at, 1.0),
        }
    }

    /// CPU time of a hash over its loaded demand while `busy` CPUs work, linear between one and `loaded_at`.
    fn cost(&self, busy: f64) -> f64 {
        // With one usable CPU alone is loaded; a sum of shares may fall short of 1 by rounding.
        if busy >= self.loaded_at || self.loaded_at <= 1.0 {
            return 1.0;
        }
        let share = (busy - 1.0).max(0.0) / (self.loaded_at - 1.0);
        self.alone + (1.0 - self.alone) * share
    }

    /// CPUs of each login that hashes, and of each one past its hash: equal shares, none above what it can use.
    fn shares(&self, hashing: usize, past: usize) -> (f64, f64) {
        #[allow(clippy::cast_precision_loss)]
        let (hashing, past) = (hashing as f64, past as f64);
        let equal = self.affinity / (hashing + past);
        if equal <= 1.0 {
            (equal, equal)
        } else {
            (((self.affinity - past) / hashing).min(self.lanes), 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(affinity: u32, quota: Option<f64>) -> Cpus {
        let quota = quota.map(|cpus| Quota { cpus, period_s: 0.1 });
        Cpus { affinity, quota }
    }

    #[test]
    fn load_is_of_the_scarcest() {
        let load = |workers, affinity, quota, lanes| {
            let station = Station {
                lanes,
                ..Station::plain(workers, cpus(affinity, quota))
            };
            station.load(10.0, 0.1)
        };
        assert!((load(1, 2, None, 1.0) - 1.0).abs() < 1e-12);
        assert!((load(2, 2, None, 1.0) - 0.5).abs() < 1e-12);
        assert!((load(9, 2, None, 1.0) - 0.5).abs() < 1e-12);
        assert!((load(1, 2, None, 2.0) - 0.5).abs() < 1e-12);
        assert!((load(1, 4, None, 2.0) - 0.5).abs() < 1e-12);
        assert!((load(1, 2, None, 8.0) - 0.5).abs() < 1e-12);
        assert!((load(2, 2, Some(0.5), 1.0) - 2.0).abs() < 1e-12);
        assert!((load(1, 2, Some(1.5), 1.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn load_counts_the_rest_of_a_login_and_a_cheaper_lone_hash() {
        let mut station = Station::plain(1, cpus(2, None));
        station.alone_ratio = 0.6;
        assert!((station.load(10.0, 0.1) - 0.6).abs() < 1e-12);
        station.app_cpu = 0.02;
        assert!((station.load(10.0, 0.1) - 0.8).abs() < 1e-12);
        station.workers = 2;
        assert!((station.load(10.0, 0.1) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn a_hash_costs_more_the_more_cpus_are_busy() {
        let mut station = Station::plain(8, cpus(4, None));
        station.alone_ratio = 0.7;
        let model = Model::of(&station);
        let costs: Vec<f64> = [1.0, 2.0, 3.0, 4.0].iter().map(|b| model.cost(*b)).collect();
        for (got, want) in costs.iter().zip([0.7, 0.8, 0.9, 1.0]) {
            assert!((got - want).abs() < 1e-12, "{costs:?}");
        }
        station.alone_ratio = 0.1;
        assert!((Model::of(&station).cost(1.0) - 0.25).abs() < 1e-12);
        assert!((Model::of(&Station::plain(1, cpus(1, None))).cost(1.0) - 1.0).abs() < 1e-12);
    }
}
