//! Samples -> quantiles, with confidence bounds where samples are independent.
//!
//! A quantile here is an order statistic: the smallest sample such that at least a share `q` of all samples is not above
//! it (`x[ceil(q n)]`, the inverse of the empirical distribution; type 1 of Hyndman and Fan, 1996). It is always a value
//! that was seen, and the histogram's quantiles have the same meaning.

use hdrhistogram::Histogram;

/// The quantile `q` (0 to 1) of the samples, in any order. `None` without samples.
pub fn quantile(samples: &[f64], q: f64) -> Option<f64> {
    let mut copy = samples.to_vec();
    quantile_in_place(&mut copy, q)
}

/// As [`quantile`], without a copy: the samples are reordered.
pub fn quantile_in_place(samples: &mut [f64], q: f64) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let at = rank(samples.len(), q) - 1;
    let (_, value, _) = samples.select_nth_unstable_by(at, f64::total_cmp);
    Some(*value)
}

/// The rank, from 1, of the quantile among `n` samples.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn rank(n: usize, q: f64) -> usize {
    // 0.95 * 20 is a little above 19 in binary: without the tolerance its rank would be 20.
    let exact = n as f64 * q;
    ((exact - exact * 1e-12).ceil() as usize).clamp(1, n)
}

/// The 0.5 quantile; between the two middle samples when their number is even.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some(f64::midpoint(sorted[n / 2 - 1], sorted[n / 2])),
    }
}

/// The arithmetic mean.
#[allow(clippy::cast_precision_loss)]
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// Student's t for 95 % in the middle, with 2 to 7 degrees of freedom.
const STUDENT: [f64; 6] = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365];
/// Most blocks.
const BLOCKS: usize = STUDENT.len() + 2;

/// Bounds of the mean at 95 %, from samples that may depend on their neighbours: Student's t over the means of at most eight
/// blocks (batch means; Law, Simulation Modeling and Analysis, section 9.5.3). `None` for fewer than three samples.
#[allow(clippy::cast_precision_loss)]
pub fn mean_bounds(samples: &[f64]) -> Option<(f64, f64)> {
    let (n, blocks) = (samples.len(), samples.len().min(BLOCKS));
    let t = STUDENT.get(blocks.checked_sub(3)?)?;
    let means: Vec<f64> = (0..blocks)
        .filter_map(|i| mean(&samples[i * n / blocks..(i + 1) * n / blocks]))
        .collect();
    let middle = mean(samples)?;
    let squares: f64 = means.iter().map(|x| (x - middle).powi(2)).sum();
    let error = t * (squares / ((blocks - 1) * blocks) as f64).sqrt();
    Some((middle - error, middle + error))
}

/// How far samples spread, relative to their median: 1.4826 x the median absolute deviation / the median.
///
/// For normal samples this is the coefficient of variation, and a few wild samples do not move it. `None` without
/// samples or with a median of zero.
pub fn relative_spread(samples: &[f64]) -> Option<f64> {
    let middle = median(samples).filter(|m| *m != 0.0)?;
    let deviations: Vec<f64> = samples.iter().map(|x| (x - middle).abs()).collect();
    Some(1.4826 * median(&deviations)? / middle.abs())
}

/// Distribution-free bounds of the quantile `q` from *independent* samples: two order statistics that hold it between
/// them with at least the given confidence (0.95 for example), with equal chances of missing it on either side.
///
/// The number of samples below the true quantile is binomial (David and Nagaraja, Order Statistics, section 7.1).
/// Latencies in a queue are not independent: there this covers far too little (see `docs/interval.md`).
/// `None` when there are too few samples for the confidence: p95 at 95 % needs 72.
pub fn independent_bounds(samples: &[f64], q: f64, confidence: f64) -> Option<(f64, f64)> {
    let n = samples.len();
    let tail = (1.0 - confidence) / 2.0;
    let chances = binomial(n, q)?;
    // Greatest `low` with P(fewer than `low` samples below the quantile) <= tail.
    let mut below = 0.0;
    let low = chances
        .iter()
        .take_while(|p| {
            below += **p;
            below <= tail
        })
        .count();
    // Least `high` with P(`high` or more below) <= tail.
    let mut above = 0.0;
    let over = chances
        .iter()
        .rev()
        .take_while(|p| {
            above += **p;
            above <= tail
        })
        .count();
    let high = n + 1 - over;
    if low < 1 || high > n {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some((sorted[low - 1], sorted[high - 1]))
}

/// P(k of n) for k from 0 to n; `None` unless 0 < q < 1 and n > 0.
#[allow(clippy::cast_precision_loss)]
fn binomial(n: usize, q: f64) -> Option<Vec<f64>> {
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return None;
    }
    // In logarithms, since (1 - q)^n underflows for a few thousand samples.
    let odds = (q / (1.0 - q)).ln();
    let mut log = n as f64 * (1.0 - q).ln();
    let mut chances = vec![log.exp()];
    for k in 1..=n {
        log += ((n - k + 1) as f64 / k as f64).ln() + odds;
        chances.push(log.exp());
    }
    Some(chances)
}

/// A summary of latencies for people, in seconds, to a microsecond and three significant digits.
///
/// Decisions use [`quantile`], which is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latencies {
    /// How many there were.
    pub count: u64,
    /// Half of them were not above this.
    pub p50: f64,
    /// 95 % were not above this.
    pub p95: f64,
    /// 99 % were not above this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
}

impl Latencies {
    /// From latencies in seconds, each counted as at least a microsecond. `None` without any.
    ///
    /// # Panics
    /// Never: the histogram's bounds are constants it accepts.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn of(seconds: &[f64]) -> Option<Self> {
        const DAY_US: u64 = 86_400_000_000;
        if seconds.is_empty() {
            return None;
        }
        let mut histogram =
            Histogram::<u64>::new_with_bounds(1, DAY_US, 3).expect("1 us to a day at 3 digits is valid");
        for s in seconds {
            histogram.saturating_record(((s * 1e6).round() as u64).max(1));
        }
        let s = |us: u64| us as f64 / 1e6;
        Some(Self {
            count: histogram.len(),
            p50: s(histogram.value_at_quantile(0.5)),
            p95: s(histogram.value_at_quantile(0.95)),
            p99: s(histogram.value_at_quantile(0.99)),
            max: s(histogram.max()),
            min: s(histogram.min()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_hundred() -> Vec<f64> {
        (1..=100).rev().map(f64::from).collect()
    }

    #[test]
    fn a_quantile_is_a_sample_by_its_rank() {
        assert_eq!(quantile(&to_hundred(), 0.95), Some(95.0));
        assert_eq!(quantile(&to_hundred(), 0.951), Some(96.0));
        assert_eq!(quantile(&to_hundred(), 0.0), Some(1.0));
        assert_eq!(quantile(&to_hundred(), 1.0), Some(100.0));
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(quantile(&twenty, 0.95), Some(19.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn middle_and_spread() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
        assert_eq!(relative_spread(&[2.0, 2.0, 2.0]), Some(0.0));
        let spread = relative_spread(&[8.0, 9.0, 10.0, 11.0, 1000.0]).unwrap();
        assert!((spread - 0.14826).abs() < 1e-9, "{spread}");
        assert_eq!(relative_spread(&[0.0, 0.0]), None);
    }

    /// Ranks from the usual tables: the median of 10 lies between the 2nd and the 9th at 95 % (97.9 % in truth).
    #[test]
    fn bounds_of_the_median_as_tabulated() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(independent_bounds(&ten, 0.5, 0.95), Some((2.0, 9.0)));
        assert_eq!(independent_bounds(&to_hundred(), 0.5, 0.95), Some((40.0, 61.0)));
    }

    #[test]
    fn the_mean_is_bounded_by_the_spread_of_blocks() {
        // Mean 2, standard deviation 1: t for two degrees of freedom over the root of three.
        let (low, high) = mean_bounds(&[1.0, 2.0, 3.0]).unwrap();
        assert!((high - 2.0 - 4.303 / 3.0_f64.sqrt()).abs() < 1e-12 && (low + high - 4.0).abs() < 1e-12);
        assert_eq!(mean_bounds(&[5.0; 40]), Some((5.0, 5.0)));
        assert_eq!(mean_bounds(&[1.0, 2.0]), None);
        // A step is a wide interval, though half of the neighbours are alike; the same values in turn tell their mean well.
        let step: Vec<f64> = (0..80).map(|i| if i < 40 { 1.0 } else { 2.0 }).collect();
        let turns: Vec<f64> = (0..80).map(|i| if i % 2 == 0 { 1.0 } else { 2.0 }).collect();
        let width = |samples: &[f64]| mean_bounds(samples).map(|(low, high)| high - low).unwrap();
        assert!(width(&step) > 0.8 && width(&turns) < 0.01);
    }

    #[test]
    fn bounds_need_enough_samples() {
        let some = |n: u32| (1..=n).map(f64::from).collect::<Vec<_>>();
        // 0.95^71 is still above 2.5 %: all of 71 may well lie below the quantile.
        assert_eq!(independent_bounds(&some(71), 0.95, 0.95), None);
        assert!(independent_bounds(&some(72), 0.95, 0.95).is_some());
        assert_eq!(independent_bounds(&[], 0.95, 0.95), None);
        assert_eq!(independent_bounds(&some(100), 1.0, 0.95), None);
        let (low, high) = independent_bounds(&some(20_000), 0.95, 0.95).unwrap();
        assert!((low - 19_000.0 + 60.0).abs() < 3.0 && (high - 19_000.0 - 61.0).abs() < 3.0);
    }

    #[test]
    fn the_histogram_agrees_with_the_exact_quantile() {
        let seconds: Vec<f64> = (1..=1000).map(|i| f64::from(i) * 0.37e-3).collect();
        let summary = Latencies::of(&seconds).unwrap();
        assert_eq!(summary.count, 1000);
        for (got, want) in [
            (summary.p50, quantile(&seconds, 0.5)),
            (summary.p95, quantile(&seconds, 0.95)),
            (summary.p99, quantile(&seconds, 0.99)),
            (summary.max, quantile(&seconds, 1.0)),
            (summary.min, quantile(&seconds, 0.0)),
        ] {
            assert!((got / want.unwrap() - 1.0).abs() < 2e-3, "{got} {want:?}");
        }
        assert_eq!(Latencies::of(&[]), None);
    }
}
