//! Seed + rate + number or duration -> the instants of Poisson arrivals. Pure: the same input gives the same instants
//! on every machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The generator behind every random choice of a plan: its stream is fixed by its specification, not by a version.
pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Another seed made from a seed: the `index`-th of a family whose members behave as unrelated.
#[must_use]
pub fn derive(seed: u64, index: u64) -> u64 {
    let mut rng = generator(seed);
    rng.set_stream(index.wrapping_add(1));
    rng.next_u64()
}

/// A uniform number in `[0, 1)` with 53 random bits.
///
/// By hand, since `rand` may change its conversions between versions.
#[allow(clippy::cast_precision_loss)]
pub fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// `n` arrivals at `rate` per second: instants in seconds from the start, ascending, below `n / rate`.
///
/// A Poisson process given its number of arrivals is as many sorted uniform instants, so exactly `rate` is offered over
/// `n / rate` seconds. The same seed at a higher rate gives the same pattern, compressed.
#[allow(clippy::cast_precision_loss)]
pub fn poisson(seed: u64, rate: f64, n: usize) -> Vec<f64> {
    let mut rng = generator(seed);
    let mut instants: Vec<f64> = (0..n).map(|_| uniform(&mut rng)).collect();
    instants.sort_unstable_by(f64::total_cmp);
    let duration = n as f64 / rate;
    for instant in &mut instants {
        *instant *= duration;
    }
    instants
}

/// Arrivals at `rate` per second over `seconds`: as [`poisson`] with `rate x seconds` arrivals, rounded up, and at
/// least one. The schedule is longer than asked by less than one mean gap.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub fn poisson_over(seed: u64, rate: f64, seconds: f64) -> Vec<f64> {
    let n = (rate * seconds * (1.0 - 1e-12)).ceil().max(1.0);
    poisson(seed, rate, n as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_exact_and_instants_ascend() {
        let instants = poisson(7, 20.0, 200);
        assert_eq!(instants.len(), 200);
        assert!(instants.is_sorted() && instants[0] >= 0.0 && instants[199] < 10.0);
        assert_eq!(poisson_over(7, 20.0, 10.0), instants);
        assert_eq!(poisson_over(7, 0.001, 10.0).len(), 1);
        assert!(poisson(7, 20.0, 0).is_empty());
    }

    #[test]
    fn a_seed_fixes_the_pattern_and_a_rate_compresses_it() {
        let slow = poisson(7, 20.0, 200);
        assert_ne!(slow, poisson(8, 20.0, 200));
        for (s, f) in slow.iter().zip(poisson(7, 50.0, 200)) {
            assert!((s * 20.0 - f * 50.0).abs() < 1e-9);
        }
    }

    /// Pinned: a schedule in a report can be made again by any later version.
    #[test]
    fn instants_are_the_same_in_every_version() {
        let shown: Vec<String> = poisson(1, 1.0, 4).iter().map(|t| format!("{t:.12}")).collect();
        assert_eq!(
            shown,
            ["0.321534835719", "0.877298321935", "1.609942654659", "2.386240723739"]
        );
    }

    #[test]
    fn gaps_are_exponential() {
        let instants = poisson(3, 1.0, 50_000);
        let gaps: Vec<f64> = instants.windows(2).map(|w| w[1] - w[0]).collect();
        for (t, want) in [(0.1f64, 0.0952), (1.0, 0.6321), (3.0, 0.9502)] {
            #[allow(clippy::cast_precision_loss)]
            let share = gaps.iter().filter(|g| **g <= t).count() as f64 / gaps.len() as f64;
            assert!((share - want).abs() < 0.01, "{share} of the gaps up to {t}");
        }
    }

    #[test]
    fn derived_seeds_differ() {
        let mut seeds: Vec<u64> = (0..1000).map(|i| derive(5, i)).collect();
        seeds.push(5);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1001);
        assert_ne!(derive(5, 0), derive(6, 0));
    }
}
