//! What one call costs: `cargo bench --bench cost`. Hashes of each family, alone and on two threads, and the pure parts of a recommendation.

use divan::{Bencher, black_box};
use hashtune::arrivals::poisson;
use hashtune::engine::{Engine, Native, Pages};
use hashtune::queue::{self, Cpus, RESAMPLES, Run, Station};
use hashtune::setting::Setting;

const SETTINGS: [&str; 9] = [
    "argon2id:m=19456,t=2,p=1",
    "argon2id:m=47104,t=1,p=1",
    "argon2id:m=65536,t=3,p=1",
    "argon2id:m=65536,t=3,p=4",
    "bcrypt:10",
    "bcrypt:12",
    "scrypt:n=32768,r=8,p=3",
    "pbkdf2-sha256:600000",
    "pbkdf2-sha512:210000",
];

fn main() {
    divan::main();
}

/// One hash of the native engine, in a slot that is warm. Two threads share the memory's bandwidth: that is what a server pays.
#[divan::bench(args = SETTINGS, threads = [1, 2], max_time = 1, sample_size = 1)]
fn hash(bencher: Bencher, setting: &str) {
    let setting: Setting = setting.parse().expect("a valid setting");
    let engine = Native::new(Pages::Deployed);
    bencher
        .with_inputs(|| {
            let mut slot = engine.slot(&setting).expect("memory for one hash");
            slot.hash().expect("a hash");
            slot
        })
        .bench_values(|mut slot| {
            slot.hash().expect("a hash");
            slot
        });
}

const DEMAND_S: f64 = 0.06;
const RATE: f64 = 20.0;

fn station() -> Station {
    let (affinity, quota) = (2, None);
    Station::plain(2, Cpus { affinity, quota })
}

/// 200 logins through the simulated queue.
#[divan::bench]
fn simulate(bencher: Bencher) {
    let arrivals = poisson(1, RATE, 200);
    bencher.bench(|| queue::simulate(&station(), black_box(&arrivals), &[DEMAND_S; 200]));
}

/// The quantile that a queue settles to: asked some hundred times in a search.
#[divan::bench]
fn long_run_quantile() -> Option<f64> {
    queue::long_run_quantile(&station(), black_box(RATE), &[DEMAND_S], 0.95)
}

/// A schedule that is typical: once for each run at the peak.
#[divan::bench]
fn choose_schedule() -> Option<queue::Schedule> {
    queue::choose_schedule(&station(), black_box(RATE), 200, &[DEMAND_S], 0.95, 1)
}

/// The interval of a run's quantile: once for each run at the peak.
#[divan::bench]
fn interval(bencher: Bencher) {
    let arrivals = poisson(1, RATE, 200);
    let cpu = [DEMAND_S; 200];
    let latencies = queue::latencies(&arrivals, &queue::simulate(&station(), &arrivals, &cpu));
    let run = Run {
        rate: RATE,
        arrivals: &arrivals,
        latencies: &latencies,
        cpu: &cpu,
    };
    bencher.bench(|| queue::interval(&station(), black_box(&run), 0.95, 1, RESAMPLES));
}
