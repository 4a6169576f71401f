//! What a queue settles to: quantiles over a long stationary run.

use super::{Station, latencies, simulate};
use crate::arrivals::{derive, generator, poisson};
use crate::stats::{mean, quantile_in_place};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// From this load on a queue is not taken to settle: its latency is then decided by how long one waits, and a demand
/// 2 % larger has no answer at all.
pub const MAX_LOAD: f64 = 0.98;

/// Arrivals of a long run, after those that fill the empty system.
const ARRIVALS: usize = 20_000;
/// Arrivals at the start that are not counted.
const WARM_UP: usize = 2_000;
/// Service times drawn in one piece. Neighbours are alike (clock speed, other tenants), and a queue suffers from that:
/// single draws would understate it.
pub(super) const BLOCK: usize = 20;

/// Draws `n` values from a pool in blocks of [`BLOCK`] neighbours, whose starts are uniform and wrap around.
///
/// The choices depend on the generator and the pool's length only, so two pools of one length are drawn alike.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn resample(pool: &[f64], n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut drawn = Vec::with_capacity(n + BLOCK);
    while drawn.len() < n && !pool.is_empty() {
        // The bias of the remainder is below 2^-40 for any pool that fits in memory.
        let start = (rng.next_u64() % pool.len() as u64) as usize;
        drawn.extend((0..BLOCK).map(|i| pool[(start + i) % pool.len()]));
    }
    drawn.truncate(n);
    drawn
}

/// The quantile `q` of latency, in seconds, that the station settles to with Poisson arrivals at `rate` per second and
/// service times like those of the pool (loaded CPU seconds, in the order they were measured; one value is a pool).
///
/// `None` without a pool, and at a load of [`MAX_LOAD`] or more (see [`Station::load`]). The same seed means the same
/// pattern of arrivals and draws, so that answers for two demands, rates or CPUs differ by those alone.
pub fn long_run_quantile(station: &Station, rate: f64, pool: &[f64], q: f64, seed: u64) -> Option<f64> {
    run(station, rate, pool, q, seed, ARRIVALS)
}

/// As [`long_run_quantile`], with this many arrivals counted.
pub(super) fn run(station: &Station, rate: f64, pool: &[f64], q: f64, seed: u64, counted: usize) -> Option<f64> {
    if station.load(rate, mean(pool)?) >= MAX_LOAD {
        return None;
    }
    let n = counted + WARM_UP;
    let arrivals = poisson(derive(seed, 0), rate, n);
    let demands = resample(pool, n, &mut generator(derive(seed, 1)));
    let mut seen = latencies(&arrivals, &simulate(station, &arrivals, &demands));
    quantile_in_place(&mut seen[WARM_UP..], q)
}

/// The fewest workers, from 1 to `max`, with which the long-run quantile `q` of latency is at most `limit` seconds.
///
/// Tried one by one, since more workers may make it worse again: logins that share a CPU all end late.
pub fn smallest_workers(
    station: &Station,
    max: u32,
    rate: f64,
    pool: &[f64],
    q: f64,
    limit: f64,
    seed: u64,
) -> Option<u32> {
    (1..=max).find(|&workers| {
        let station = Station { workers, ..*station };
        long_run_quantile(&station, rate, pool, q, seed).is_some_and(|latency| latency <= limit)
    })
}
