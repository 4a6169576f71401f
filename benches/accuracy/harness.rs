//! The harness itself: CPUs kept busy, a known cost, and starts in time.

use std::error::Error;
use std::sync::Arc;

use hashtune::arrivals::poisson;
use hashtune::measure::Load;
use hashtune::stats::quantile;

use crate::common::{RUNS, Spin, busy, cpus, measure, native, saturated, setting, spread};

/// At saturation every CPU hashes all the time: logins/s x CPU of a hash / CPUs is 1.
pub fn saturation() -> Result<(), Box<dyn Error>> {
    println!("\nlogins/s x CPU per hash / CPUs, closed loop with as many clients as CPUs, 3 s a run");
    for text in ["argon2id:m=19456,t=2,p=1", "argon2id:m=47104,t=1,p=1", "bcrypt:10"] {
        let mut ratios = Vec::new();
        for _ in 0..RUNS {
            let run = measure(native(), &setting(text), &saturated(3.0))?;
            ratios.push(run.throughput() * run.cpu_per_hash() / cpus().usable());
        }
        println!("  {text:28} {}", spread(&ratios));
    }
    Ok(())
}

/// A known cost, measured; the CPU time that the generator takes for itself; and how late the open loop starts its hashes.
pub fn spin() -> Result<(), Box<dyn Error>> {
    println!("\nan engine that spins for a known CPU time; open loop at half of what the CPUs serve, 3 s a run");
    println!("  cost     measured / known CPU      open loop: CPU / known     p99 lateness, ms");
    for ms in [5.0, 40.0] {
        let (mut closed, mut open, mut late) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..RUNS as u64 {
            let engine = || Arc::new(Spin::new(vec![ms / 1e3]));
            let any = setting("bcrypt:4");
            closed.push(measure(engine(), &any, &saturated(1.0))?.cpu_per_hash() / (ms / 1e3));
            let rate = 0.5 * cpus().usable() / (ms / 1e3);
            let arrivals = poisson(seed, rate, (rate * 3.0) as usize);
            let workers = busy();
            let run = measure(engine(), &any, &Load::Open { arrivals, workers })?;
            open.push(run.cpu_per_hash() / (ms / 1e3));
            let starts: Vec<f64> = run.samples.iter().map(|s| s.lateness).collect();
            late.push(quantile(&starts, 0.99).unwrap_or(0.0) * 1e3);
        }
        println!(
            "  {ms:3} ms   {:24} {:26} {}",
            spread(&closed),
            spread(&open),
            spread(&late)
        );
    }
    Ok(())
}
