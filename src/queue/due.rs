//! CPU time that logins in service should get, against what they got.

use super::{Run, Station};

/// CPU seconds that each of these spans in service, in seconds, is due on `cpus` CPUs that do nothing else: the CPUs are shared
/// equally, and none keeps more than one busy.
///
/// A one-lane hash that got less was held up by somebody else, whether a counter tells or not.
#[allow(clippy::cast_precision_loss)]
pub fn due(in_service: &[(f64, f64)], cpus: f64) -> Vec<f64> {
    // Instants at which a login begins (+1) or ends, each with the place where it notes how much a share had come to by then.
    let mut changes: Vec<(f64, bool, usize)> = Vec::with_capacity(2 * in_service.len());
    for (login, (begin, end)) in in_service.iter().enumerate() {
        changes.push((*begin, true, login));
        changes.push((end.max(*begin), false, login));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut due = vec![0.0; in_service.len()];
    let (mut share, mut count, mut since) = (0.0, 0_usize, 0.0);
    for (at, begins, login) in changes {
        if count > 0 {
            share += (cpus / count as f64).min(1.0) * (at - since);
        }
        since = at;
        if begins {
            count += 1;
            due[login] = -share;
        } else {
            count -= 1;
            due[login] += share;
        }
    }
    due
}

/// What a run lost of the CPU time that its logins were due.
pub(super) struct HeldUp {
    /// Of each login: the CPU seconds that it was due ...
    due: Vec<f64>,
    /// ... and those that it got.
    got: Vec<f64>,
}

impl HeldUp {
    /// `None` where it cannot be told: lanes wait for each other, and a quota holds everything up.
    pub(super) fn of(station: &Station, run: &Run) -> Option<Self> {
        let all = f64::from(station.cpus.affinity);
        let binding = station.cpus.quota.is_some_and(|quota| quota.cpus < all);
        let told = station.lanes <= 1.0 && !binding;
        told.then(|| Self {
            due: due(&in_service(station.workers, run), station.cpus.usable()),
            got: run.cpu.iter().map(|cpu| cpu + station.app_cpu).collect(),
        })
    }

    /// How many times as long these logins were in service as their CPU time explains; at least 1.
    pub(super) fn factor(&self, logins: &[usize]) -> f64 {
        let sum = |of: &[f64]| logins.iter().map(|i| of[*i]).sum::<f64>();
        (sum(&self.due) / sum(&self.got)).max(1.0)
    }
}

/// When each login was taken by a worker and when it ended: first come, first served.
fn in_service(workers: u32, run: &Run) -> Vec<(f64, f64)> {
    let mut free = vec![f64::NEG_INFINITY; workers.max(1) as usize];
    let mut take = |arrival: f64, latency: f64| {
        let first = free.iter_mut().min_by(|a, b| a.total_cmp(b));
        let end = arrival + latency;
        let begin = first.map_or(arrival, |free| std::mem::replace(free, end).max(arrival));
        (begin.min(end), end)
    };
    run.arrivals
        .iter()
        .zip(run.latencies)
        .map(|(a, l)| take(*a, *l))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::poisson;
    use crate::queue::{Cpus, latencies, simulate};

    #[test]
    fn shares_by_hand() {
        assert_eq!(due(&[(0.0, 1.0)], 2.0), [1.0]);
        assert_eq!(due(&[(0.0, 3.0), (0.0, 3.0), (0.0, 3.0)], 2.0), [2.0; 3]);
        assert_eq!(due(&[(0.0, 1.0), (0.5, 2.0)], 1.0), [0.75, 1.25]);
        assert_eq!(due(&[(0.0, 2.0), (5.0, 6.0)], 1.0), [2.0, 1.0]);
        assert!(due(&[], 1.0).is_empty());
    }

    /// What a run on these arrivals was held up by, where hashes take `longer` times their CPU time.
    fn factor(station: &Station, longer: f64) -> Option<f64> {
        let arrivals = poisson(3, 12.0, 300);
        let served = simulate(station, &arrivals, &vec![0.1 * longer; 300]);
        let cpu: Vec<f64> = served.iter().map(|s| s.hash_cpu / longer).collect();
        let run = Run {
            rate: 12.0,
            arrivals: &arrivals,
            latencies: &latencies(&arrivals, &served),
            cpu: &cpu,
        };
        Some(HeldUp::of(station, &run)?.factor(&(0..300).collect::<Vec<_>>()))
    }

    #[test]
    fn a_run_tells_how_much_its_hashes_were_held_up() {
        let quota = None;
        for workers in [1, 2, 3, 8] {
            let station = Station::plain(workers, Cpus { affinity: 2, quota });
            for longer in [1.0, 1.1, 1.3] {
                let told = factor(&station, longer).unwrap();
                assert!((told - longer).abs() < 1e-6, "{workers}: {longer} {told}");
            }
            let cheap = Station {
                alone_ratio: 0.7,
                ..station
            };
            assert!(
                (factor(&cheap, 1.0).unwrap() - 1.0).abs() < 1e-6,
                "cheap hashes are done sooner"
            );
            let lanes = Station { lanes: 1.8, ..station };
            assert_eq!(factor(&lanes, 1.1), None);
        }
    }
}
