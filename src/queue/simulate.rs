//! The event loop.

use super::{Model, Quota, Station};

/// Work that counts as none, in CPU seconds: far above rounding errors, far below anything measured.
const DONE: f64 = 1e-12;

/// What became of one login. Instants in seconds on the arrivals' clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Served {
    /// When a worker took it.
    pub started: f64,
    /// When it ended.
    pub finished: f64,
    /// CPU seconds that the hash took, at most its demand: less when CPUs were idle beside it.
    pub hash_cpu: f64,
}

/// A login in service.
struct Job {
    index: usize,
    /// Loaded CPU seconds of the hash still to do.
    hash: f64,
    /// CPU seconds of the rest of the login still to do.
    app: f64,
    hash_cpu: f64,
}

/// The quota's bucket.
struct Bucket {
    quota: Quota,
    /// CPU seconds left in this period.
    left: f64,
    /// Number of the next boundary, which lies at that many periods.
    boundary: f64,
}

impl Bucket {
    fn new(quota: Quota) -> Self {
        Self {
            quota,
            left: quota.cpus * quota.period_s,
            boundary: 1.0,
        }
    }

    fn next_refill(&self) -> f64 {
        self.boundary * self.quota.period_s
    }

    /// Fills it if a boundary lies between the last one and `now`. What was left is lost.
    fn pass(&mut self, now: f64) {
        if now >= self.next_refill() {
            self.boundary = (now / self.quota.period_s).floor() + 1.0;
            // The division may round to the boundary just passed.
            if self.next_refill() <= now {
                self.boundary += 1.0;
            }
            self.left = self.quota.cpus * self.quota.period_s;
        }
    }
}

/// Serves arrivals (ascending instants in seconds) with their demands (loaded CPU seconds of the hash; as many as there
/// are arrivals). The results are in the arrivals' order.
///
/// A quota's periods begin at multiples of its period on the arrivals' clock: shift the arrivals for another phase.
///
/// Monotone on the same arrivals: with larger demands, less affinity (without a quota), fewer lanes or a smaller quota,
/// no login ends sooner. For as long as every login has at least as much left in the slower system, one that is in
/// service there is in service or done in the faster one; so the faster one has no more in service, its shares are no
/// smaller, and the slower one has spent no less of its bucket when it stops: it stays so. On a compressed schedule no
/// latency is smaller (without a quota). Three exceptions, each found by a property test and real rather than an error:
/// with more than one lane *and* `app_cpu` a login past its hash is a lighter neighbour than the next one that hashes;
/// so it is with `alone_ratio` below 1 on a compressed schedule; and a quota's boundaries do not move with the arrivals.
/// There [`long_run_quantile`](super::long_run_quantile) is monotone but for a share of a percent. More affinity under
/// a quota empties the bucket sooner and promises nothing.
pub fn simulate(station: &Station, arrivals: &[f64], demands: &[f64]) -> Vec<Served> {
    debug_assert_eq!(arrivals.len(), demands.len());
    Simulation::new(station, arrivals, demands).run()
}

/// Latency in seconds of each login: from its arrival to its end.
pub fn latencies(arrivals: &[f64], served: &[Served]) -> Vec<f64> {
    arrivals.iter().zip(served).map(|(a, s)| s.finished - a).collect()
}

struct Simulation<'a> {
    arrivals: &'a [f64],
    demands: &'a [f64],
    app_cpu: f64,
    workers: usize,
    model: Model,
    bucket: Option<Bucket>,
    now: f64,
    /// The first login that no worker has taken.
    next: usize,
    jobs: Vec<Job>,
    /// Of `jobs`, those past their hash.
    past: usize,
    served: Vec<Served>,
}

impl<'a> Simulation<'a> {
    fn new(station: &Station, arrivals: &'a [f64], demands: &'a [f64]) -> Self {
        let workers = station.workers.max(1) as usize;
        Self {
            arrivals,
            demands,
            app_cpu: station.app_cpu.max(0.0),
            workers,
            model: Model::of(station),
            bucket: station.cpus.quota.map(Bucket::new),
            now: 0.0,
            next: 0,
            jobs: Vec::with_capacity(workers.min(arrivals.len())),
            past: 0,
            served: vec![Served::default(); arrivals.len()],
        }
    }

    fn run(mut self) -> Vec<Served> {
        loop {
            self.start();
            if self.jobs.is_empty() {
                let Some(arrival) = self.arrivals.get(self.next) else {
                    return self.served;
                };
                self.now = *arrival;
                if let Some(bucket) = &mut self.bucket {
                    bucket.pass(self.now);
                }
                continue;
            }
            self.advance();
        }
    }

    /// Gives free workers the logins that wait.
    fn start(&mut self) {
        while self.jobs.len() < self.workers {
            let Some(arrival) = self.arrivals.get(self.next).filter(|a| **a <= self.now) else {
                return;
            };
            // Every arrival is an event while a worker is free, so `now` is the later of arrival and worker free.
            self.served[self.next].started = self.now.max(*arrival);
            self.jobs.push(Job {
                index: self.next,
                // A hash of nothing would never be seen to end.
                hash: self.demands[self.next].max(2.0 * DONE),
                app: self.app_cpu,
                hash_cpu: 0.0,
            });
            self.next += 1;
        }
    }

    /// Runs until the next event: an arrival that finds a worker free, a refill, an empty bucket, or an end.
    #[allow(clippy::cast_precision_loss)]
    fn advance(&mut self) {
        let hashing = self.jobs.len() - self.past;
        let (hash_cpus, app_cpus) = self.model.shares(hashing, self.past);
        // Without a login that hashes its share is a division by zero.
        let hash_busy = if hashing == 0 { 0.0 } else { hash_cpus * hashing as f64 };
        let busy = hash_busy + app_cpus * self.past as f64;
        let cost = self.model.cost(busy);

        let until = self.next_instant() - self.now;
        let left = self.bucket.as_ref().map_or(f64::INFINITY, |bucket| bucket.left);
        let empties = left / busy;
        let step = if left > 0.0 {
            until.min(empties).min(self.first_end(hash_cpus / cost, app_cpus))
        } else {
            until
        };
        if left > 0.0 {
            self.work(step, hash_cpus, app_cpus, cost);
        }
        // The exact instant, since a sum might fall short of it for ever.
        self.now = if step >= until {
            self.next_instant()
        } else {
            self.now + step
        };
        if let Some(bucket) = &mut self.bucket {
            bucket.left = if step >= empties { 0.0 } else { left - busy * step };
            bucket.pass(self.now);
        }
    }

    /// The next instant that is known beforehand: an arrival that finds a worker free, or a refill.
    fn next_instant(&self) -> f64 {
        let refill = self.bucket.as_ref().map_or(f64::INFINITY, Bucket::next_refill);
        match self.arrivals.get(self.next) {
            Some(arrival) if self.jobs.len() < self.workers => arrival.min(refill),
            _ => refill,
        }
    }

    /// Seconds until the first job ends its hash or itself, at these speeds.
    fn first_end(&self, hash_speed: f64, app_speed: f64) -> f64 {
        let end = |job: &Job| {
            if job.hash > 0.0 {
                job.hash / hash_speed
            } else {
                job.app / app_speed
            }
        };
        self.jobs.iter().map(end).fold(f64::INFINITY, f64::min)
    }

    /// Lets `step` seconds pass for every job, and takes out those that end.
    fn work(&mut self, step: f64, hash_cpus: f64, app_cpus: f64, cost: f64) {
        let end = self.now + step;
        let mut at = 0;
        while at < self.jobs.len() {
            let job = &mut self.jobs[at];
            if job.hash > 0.0 {
                job.hash_cpu += hash_cpus * step;
                job.hash -= hash_cpus / cost * step;
                if job.hash > DONE {
                    at += 1;
                    continue;
                }
                job.hash = 0.0;
                self.past += 1;
            } else {
                job.app -= app_cpus * step;
            }
            if job.app > DONE {
                at += 1;
                continue;
            }
            let served = &mut self.served[job.index];
            served.finished = end;
            served.hash_cpu = job.hash_cpu;
            self.past -= 1;
            self.jobs.swap_remove(at);
        }
    }
}

/// How many arrivals of a run a bound on the queue would have refused: those that find `max_in_flight + max_queued`
/// logins in service or waiting. `ends[i]` is when the `i`-th arrival was finished, in seconds on the same clock.
///
/// A refused login is not counted among those that later ones find. The run served it all the same, so the others
/// ended later than they would have: the figure errs on the high side.
pub fn refused_by_bound(arrivals: &[f64], ends: &[f64], max_in_flight: u32, max_queued: u32) -> usize {
    let room = max_in_flight as usize + max_queued as usize;
    let mut present: Vec<f64> = Vec::new();
    let mut refused = 0;
    for (arrival, end) in arrivals.iter().zip(ends) {
        present.retain(|end| end > arrival);
        if present.len() < room {
            present.push(*end);
        } else {
            refused += 1;
        }
    }
    refused
}
