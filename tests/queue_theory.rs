//! The simulation against closed forms and cases worked by hand.

use hashtune::arrivals::{generator, poisson, uniform};
use hashtune::queue::{Cpus, Quota, Served, Station, latencies, loaded_demands, refused_by_bound, simulate};
use hashtune::stats::{mean, quantile};

const N: usize = 200_000;

fn cpus(affinity: u32) -> Cpus {
    Cpus { affinity, quota: None }
}

fn quota(affinity: u32, cpus: f64) -> Cpus {
    let quota = Some(Quota { cpus, period_s: 0.1 });
    Cpus { affinity, quota }
}

fn exponential(n: usize, mean: f64) -> Vec<f64> {
    let mut rng = generator(99);
    (0..n).map(|_| -mean * (1.0 - uniform(&mut rng)).ln()).collect()
}

fn mean_wait(arrivals: &[f64], served: &[Served]) -> f64 {
    mean(
        &arrivals
            .iter()
            .zip(served)
            .map(|(a, s)| s.started - a)
            .collect::<Vec<_>>(),
    )
    .unwrap()
}

fn near(got: f64, want: f64, share: f64) {
    assert!((got / want - 1.0).abs() <= share, "{got}, expected {want}");
}

fn ends(served: &[Served]) -> Vec<f64> {
    served.iter().map(|s| s.finished).collect()
}

fn all_near(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() < 1e-9, "{got:?}, expected {want:?}");
    }
}

/// Pollaczek and Khinchine: mean wait = rho s / (2 (1 - rho)).
#[test]
fn one_worker_with_constant_service() {
    for rho in [0.3, 0.6, 0.8] {
        let arrivals = poisson(1, rho, N);
        let served = simulate(&Station::plain(1, cpus(1)), &arrivals, &vec![1.0; N]);
        near(mean_wait(&arrivals, &served), rho / (2.0 * (1.0 - rho)), 0.03);
    }
}

/// Mean wait = rho / (mu - lambda), and P(latency > t) = exp(-(mu - lambda) t).
#[test]
fn one_worker_with_exponential_service() {
    for rho in [0.3, 0.6, 0.8] {
        let arrivals = poisson(2, rho, N);
        let served = simulate(&Station::plain(1, cpus(1)), &arrivals, &exponential(N, 1.0));
        near(mean_wait(&arrivals, &served), rho / (1.0 - rho), 0.04);
        let p95 = quantile(&latencies(&arrivals, &served), 0.95).unwrap();
        near(p95, 20f64.ln() / (1.0 - rho), 0.04);
    }
}

/// Erlang C.
#[test]
fn several_workers_with_exponential_service() {
    for (c, rho) in [(2, 0.6), (2, 0.8), (4, 0.8)] {
        let a = rho * f64::from(c);
        let rate = a;
        let mut term = 1.0;
        let mut sum = 0.0;
        for k in 0..c {
            sum += term;
            term *= a / f64::from(k + 1);
        }
        let delayed = term / (1.0 - rho) / (sum + term / (1.0 - rho));
        let arrivals = poisson(3, rate, N);
        let served = simulate(&Station::plain(c, cpus(c)), &arrivals, &exponential(N, 1.0));
        near(mean_wait(&arrivals, &served), delayed / (f64::from(c) - a), 0.05);
    }
}

/// Processor sharing: mean latency = s / (1 - rho) whatever the distribution of service times (Kleinrock, volume 2).
#[test]
fn many_workers_on_one_cpu_share_it() {
    let arrivals = poisson(4, 0.7, N);
    for demands in [vec![1.0; N], exponential(N, 1.0)] {
        let served = simulate(&Station::plain(1000, cpus(1)), &arrivals, &demands);
        near(mean(&latencies(&arrivals, &served)).unwrap(), 1.0 / 0.3, 0.04);
    }
}

#[test]
fn first_come_first_served() {
    let served = simulate(
        &Station::plain(1, cpus(2)),
        &[0.0, 1.0, 1.5, 9.0],
        &[2.0, 1.0, 1.0, 1.0],
    );
    all_near(&ends(&served), &[2.0, 3.0, 4.0, 10.0]);
    all_near(
        &served.iter().map(|s| s.started).collect::<Vec<_>>(),
        &[0.0, 2.0, 3.0, 9.0],
    );
}

/// Three on two CPUs run at 2/3 each: the first (1 s) ends at 1.5 s, and so do the second and third (1 s each).
#[test]
fn sharing_by_hand() {
    let served = simulate(&Station::plain(3, cpus(2)), &[0.0; 3], &[1.0; 3]);
    all_near(&ends(&served), &[1.5, 1.5, 1.5]);
    // 2/3 each until 0.75 s (0.5 done), then one CPU each.
    let served = simulate(&Station::plain(3, cpus(2)), &[0.0; 3], &[0.5, 1.0, 1.0]);
    all_near(&ends(&served), &[0.75, 1.25, 1.25]);
}

#[test]
fn lanes_by_hand() {
    let mut station = Station::plain(2, cpus(2));
    station.lanes = 2.0;
    // Alone on two CPUs until 0.25 s (0.5 done), then one each: ends at 0.75 s; the other has 0.5 done, two CPUs again.
    let served = simulate(&station, &[0.0, 0.25], &[1.0, 1.0]);
    all_near(&ends(&served), &[0.75, 1.0]);
    // The rest of a login uses one CPU; a hash beside it gets the other one.
    station.app_cpu = 0.3;
    let served = simulate(&station, &[0.0, 0.5], &[1.0, 1.0]);
    // First: hash to 0.5, rest to 0.8. Second: one CPU until 0.8 (0.3 done), two for 0.35 s, rest to 1.45.
    all_near(&ends(&served), &[0.8, 1.45]);
}

#[test]
fn a_lone_hash_is_cheaper() {
    let mut station = Station::plain(2, cpus(2));
    station.alone_ratio = 0.5;
    let served = simulate(&station, &[0.0], &[1.0]);
    all_near(&ends(&served), &[0.5]);
    all_near(&[served[0].hash_cpu], &[0.5]);
    // Alone until 0.25 s (half done), then at full cost: 0.5 s more. The second: 0.5 done by 0.75 s, 0.25 s more alone.
    let (arrivals, demands) = ([0.0, 0.25], [1.0, 1.0]);
    let served = simulate(&station, &arrivals, &demands);
    all_near(&ends(&served), &[0.75, 1.0]);
    all_near(&[served[0].hash_cpu, served[1].hash_cpu], &[0.75, 0.75]);
    let seen: Vec<f64> = served.iter().map(|s| s.hash_cpu).collect();
    let loaded = loaded_demands(&station, &arrivals, &seen);
    for (got, want) in loaded.iter().zip(demands) {
        near(*got, want, 0.01);
    }
}

/// 0.05 CPU seconds a period of 0.1 s.
#[test]
fn a_bucket_by_hand() {
    let station = Station::plain(2, quota(2, 0.5));
    // One CPU empties it at 0.05; it goes on at 0.1 and has 0.02 left to do.
    all_near(&ends(&simulate(&station, &[0.0], &[0.07])), &[0.12]);
    // Two CPUs empty it at 0.025; at 0.1 each needs 0.02 more.
    all_near(&ends(&simulate(&station, &[0.0, 0.0], &[0.045, 0.045])), &[0.12, 0.12]);
    // What the first period left is lost; an arrival late in a period gets two buckets in a row.
    all_near(&ends(&simulate(&station, &[0.06], &[0.09])), &[0.15]);
    // Arrivals while stopped are taken at once and go on at the refill.
    let served = simulate(&station, &[0.0, 0.07], &[0.05, 0.01]);
    all_near(
        &[served[0].finished, served[1].started, served[1].finished],
        &[0.05, 0.07, 0.11],
    );
    // A boundary while nothing runs.
    all_near(&ends(&simulate(&station, &[0.0, 0.35], &[0.05, 0.06])), &[0.05, 0.41]);
}

#[test]
fn a_bucket_caps_throughput_at_the_quota() {
    let station = Station::plain(2, quota(2, 0.5));
    let served = simulate(&station, &[0.0; 500], &[0.03; 500]);
    near(served.last().unwrap().finished, 500.0 * 0.03 / 0.5, 0.01);
}

/// As seen on real quotas: most logins find a full bucket and run at full speed, the unlucky ones wait for refills. Half
/// a CPU as a slow CPU (every hash takes twice as long) gets both ends wrong.
#[test]
fn a_bucket_is_not_a_slow_cpu() {
    let n = 50_000;
    let arrivals = poisson(5, 6.0, n);
    let quantiles = |station: &Station, demand: f64| {
        let seen = latencies(&arrivals, &simulate(station, &arrivals, &vec![demand; n]));
        (quantile(&seen, 0.5).unwrap(), quantile(&seen, 0.95).unwrap())
    };
    let (p50, p95) = quantiles(&Station::plain(2, quota(2, 0.5)), 0.042);
    let (slow50, slow95) = quantiles(&Station::plain(2, cpus(1)), 0.084);
    assert!(p50 < 0.06 && slow50 > 2.0 * p50, "{p50} {slow50}");
    assert!((0.2..0.26).contains(&p95) && slow95 > p95, "{p95} {slow95}");
}

#[test]
fn a_bound_refuses_what_it_cannot_hold() {
    let arrivals = [0.0, 0.1, 0.2, 0.3, 5.0];
    let ends = [1.0, 2.0, 3.0, 4.0, 6.0];
    assert_eq!(refused_by_bound(&arrivals, &ends, 1, 3), 0);
    assert_eq!(refused_by_bound(&arrivals, &ends, 1, 2), 1);
    assert_eq!(refused_by_bound(&arrivals, &ends, 1, 0), 3);
    // The refused second login makes room for the third when the first ends.
    assert_eq!(refused_by_bound(&[0.0, 0.1, 1.5], &[1.0, 2.0, 3.0], 1, 0), 1);
}
