//! CPU cost of settings that were not measured, from those that were.
//!
//! Argon2 fills `m` KiB in each of `t` passes, and pays once for pages that the kernel must zero; so
//! `s = a m t + b m + c m [fresh pages]`, fitted by relative least squares with no negative term. What the line misses (the
//! step from cache to memory, above all) is carried over from the measured neighbours, so that a measured setting predicts itself.

use super::confirm::lone_wall;
use crate::measure::Measurement;
use crate::setting::{Algorithm, Setting};
use crate::verdict::Cost;

/// The cost of a setting from a measurement with every CPU busy and one of lone hashes.
pub fn cost_of(loaded: &Measurement, alone: &Measurement) -> Cost {
    let (loaded_s, alone_s) = (loaded.cpu_per_hash(), alone.cpu_per_hash());
    Cost {
        // A lone hash that costs more than a crowded one is noise: the dearer counts.
        loaded_s: loaded_s.max(alone_s),
        alone_ratio: (alone_s / loaded_s).min(1.0),
        lanes: (alone_s / lone_wall(alone)).clamp(1.0, f64::from(alone.setting.lanes())),
    }
}

/// One measured setting.
#[derive(Debug, Clone, Copy)]
struct Point {
    setting: Setting,
    cost: Cost,
}

/// Measured costs, and a prediction between them.
#[derive(Debug, Clone)]
pub struct CostModel {
    points: Vec<Point>,
    fresh_from_kib: Option<u32>,
    drift: f64,
}

const TERMS: usize = 3;

impl CostModel {
    /// An empty model. From `fresh_from_kib` KiB on, Argon2's memory comes as fresh pages (`None`: the pages never change with size).
    pub const fn new(fresh_from_kib: Option<u32>) -> Self {
        Self {
            points: Vec::new(),
            fresh_from_kib,
            drift: 1.0,
        }
    }

    /// Adds a measured setting; a later measurement of the same one replaces the earlier.
    pub fn add(&mut self, setting: Setting, cost: Cost) {
        self.points.retain(|p| p.setting != setting);
        self.points.push(Point { setting, cost });
    }

    /// Hashes turned out to cost `factor` times what was measured before: the host's memory or clock is slower now.
    ///
    /// Predictions follow the dearest that was seen.
    pub const fn drift(&mut self, factor: f64) {
        self.drift = self.drift.max(factor);
    }

    /// Hashes now cost `factor` times what was measured, whatever they did meanwhile.
    pub const fn drift_is(&mut self, factor: f64) {
        self.drift = factor;
    }

    /// The measured cost as it was measured, without the drift seen since.
    pub fn as_measured(&self, setting: &Setting) -> Option<Cost> {
        self.points.iter().find(|p| p.setting == *setting).map(|p| p.cost)
    }

    /// The measured cost, if this setting was measured.
    pub fn measured(&self, setting: &Setting) -> Option<Cost> {
        let cost = self.as_measured(setting)?;
        Some(Cost {
            loaded_s: cost.loaded_s * self.drift,
            ..cost
        })
    }

    /// The measured or predicted cost; `None` before anything of the family was measured.
    pub fn predict(&self, setting: &Setting) -> Option<Cost> {
        if let Some(cost) = self.measured(setting) {
            return Some(cost);
        }
        let family: Vec<&Point> = self
            .points
            .iter()
            .filter(|p| p.setting.algorithm() == setting.algorithm())
            .collect();
        let with_lanes =
            |lanes: u32| -> Vec<&Point> { family.iter().copied().filter(|p| p.setting.lanes() == lanes).collect() };
        // Lanes hardly change the CPU time: one-lane points make the line, points with the same lanes correct it.
        let one = with_lanes(1);
        let fit = self.fit(if one.is_empty() { &family } else { &one })?;
        let same = with_lanes(setting.lanes());
        let lanes = if same.is_empty() {
            1.0
        } else {
            mean(same.iter().map(|p| p.cost.lanes))
        };
        let neighbours = [same, one, family.clone()]
            .into_iter()
            .find(|points| !points.is_empty())?;
        let line = |s: &Setting| dot(fit, self.terms(s));
        let mut weights = 0.0;
        let (mut log_ratio, mut alone) = (0.0, 0.0);
        for point in &neighbours {
            let weight = 1.0 / (distance(&point.setting, setting) + 1e-3);
            weights += weight;
            log_ratio += weight * (point.cost.loaded_s / line(&point.setting)).ln();
            alone += weight * point.cost.alone_ratio;
        }
        Some(Cost {
            loaded_s: line(setting) * (log_ratio / weights).exp() * self.drift,
            alone_ratio: alone / weights,
            lanes: lanes.clamp(1.0, f64::from(setting.lanes())),
        })
    }

    /// What the cost is a sum of: each term times a coefficient.
    fn terms(&self, setting: &Setting) -> [f64; TERMS] {
        match setting {
            Setting::Argon2id(a) => {
                let m = f64::from(a.effective_kib());
                let fresh = self.fresh_from_kib.is_some_and(|from| a.memory_kib() >= from);
                [m * f64::from(a.time_cost()), m, if fresh { m } else { 0.0 }]
            }
            // The weights of bcrypt's key schedule: john pull 3807.
            Setting::Bcrypt(b) => [(1u64 << b.cost()) as f64 * 1042.0 + 585.0, 0.0, 0.0],
            Setting::Scrypt(s) => [s.n() as f64 * f64::from(s.r()) * f64::from(s.p()), 0.0, 0.0],
            Setting::Pbkdf2(p) => [f64::from(p.iterations()), 0.0, 0.0],
        }
    }

    /// Relative least squares over every subset of terms; the best whose coefficients are all positive.
    fn fit(&self, points: &[&Point]) -> Option<[f64; TERMS]> {
        let rows: Vec<[f64; TERMS]> = points
            .iter()
            .map(|p| self.terms(&p.setting).map(|x| x / p.cost.loaded_s))
            .collect();
        let mut best: Option<(f64, [f64; TERMS])> = None;
        for subset in 1..1_u32 << TERMS {
            let used: Vec<usize> = (0..TERMS).filter(|i| subset >> i & 1 == 1).collect();
            let Some(fit) = least_squares(&rows, &used) else {
                continue;
            };
            if used.iter().any(|&i| fit[i] <= 0.0) {
                continue;
            }
            let error: f64 = rows.iter().map(|row| (dot(fit, *row) - 1.0).powi(2)).sum();
            // A further term must earn its place: it always fits a little better.
            if best.is_none_or(|(least, _)| error < least * 0.999 - 1e-12) {
                best = Some((error, fit));
            }
        }
        best.map(|(_, fit)| fit)
    }
}

/// Solves the normal equations for the terms in `used`; `None` when they are not independent.
fn least_squares(rows: &[[f64; TERMS]], used: &[usize]) -> Option<[f64; TERMS]> {
    let n = used.len();
    let mut a = vec![vec![0.0; n + 1]; n];
    for row in rows {
        for (i, &ti) in used.iter().enumerate() {
            for (j, &tj) in used.iter().enumerate() {
                a[i][j] += row[ti] * row[tj];
            }
            a[i][n] += row[ti];
        }
    }
    for col in 0..n {
        let pivot = (col..n).max_by(|&x, &y| a[x][col].abs().total_cmp(&a[y][col].abs()))?;
        a.swap(col, pivot);
        let scale = a[col][col];
        if scale.abs()
            < 1e-9
                * rows
                    .iter()
                    .map(|r| r[used[col]].powi(2))
                    .sum::<f64>()
                    .max(f64::MIN_POSITIVE)
        {
            return None;
        }
        for row in 0..n {
            if row != col {
                let factor = a[row][col] / scale;
                let pivot_row = a[col].clone();
                for (x, p) in a[row].iter_mut().zip(pivot_row).skip(col) {
                    *x -= factor * p;
                }
            }
        }
    }
    let mut fit = [0.0; TERMS];
    for (i, &term) in used.iter().enumerate() {
        fit[term] = a[i][n] / a[i][i];
    }
    Some(fit)
}

fn dot(a: [f64; TERMS], b: [f64; TERMS]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// Squared distance of two settings of a family in log space. Memory counts most: the caches' steps are along it.
fn distance(a: &Setting, b: &Setting) -> f64 {
    let coordinates = |s: &Setting| match s {
        Setting::Argon2id(x) => (f64::from(x.memory_kib()).ln(), f64::from(x.time_cost()).ln() / 2.0),
        Setting::Bcrypt(x) => (f64::from(x.cost()), 0.0),
        Setting::Scrypt(x) => ((x.n() as f64 * f64::from(x.r())).ln(), f64::from(x.p()).ln() / 2.0),
        Setting::Pbkdf2(x) => (f64::from(x.iterations()).ln(), 0.0),
    };
    let ((ax, ay), (bx, by)) = (coordinates(a), coordinates(b));
    (ax - bx).powi(2) + (ay - by).powi(2)
}

/// The settings of one family to measure before anything is known, cheapest first. Those with too much memory are left out by the caller.
pub fn calibration(algorithm: Algorithm) -> Vec<Setting> {
    let texts: &[&str] = match algorithm {
        // Cache and memory, few and many passes, both sides of the allocator's usual threshold.
        Algorithm::Argon2id => &[
            "argon2id:m=7168,t=1,p=1",
            "argon2id:m=19456,t=2,p=1",
            "argon2id:m=47104,t=1,p=1",
            "argon2id:m=65536,t=3,p=1",
            "argon2id:m=131072,t=1,p=1",
        ],
        Algorithm::Bcrypt => &["bcrypt:8", "bcrypt:11"],
        Algorithm::Scrypt => &["scrypt:n=16384,r=8,p=1", "scrypt:n=65536,r=8,p=1"],
        Algorithm::Pbkdf2Sha256 => &["pbkdf2-sha256:200000"],
        Algorithm::Pbkdf2Sha512 => &["pbkdf2-sha512:100000"],
    };
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argon2(m: u32, t: u32, p: u32) -> Setting {
        format!("argon2id:m={m},t={t},p={p}").parse().unwrap()
    }

    fn cost(loaded_s: f64) -> Cost {
        Cost {
            loaded_s,
            alone_ratio: 0.9,
            lanes: 1.0,
        }
    }

    /// 0.4 us a KiB and pass, 0.3 us a KiB of fresh pages from 32 MiB on.
    fn truth(m: u32, t: u32) -> f64 {
        f64::from(m) * (0.4e-6 * f64::from(t) + if m >= 32 << 10 { 0.3e-6 } else { 0.0 })
    }

    #[test]
    fn the_page_step_is_found_from_the_calibration_points() {
        let mut model = CostModel::new(Some(32 << 10));
        for setting in calibration(Algorithm::Argon2id) {
            let Setting::Argon2id(a) = setting else { unreachable!() };
            model.add(setting, cost(truth(a.memory_kib(), a.time_cost())));
        }
        for (m, t) in [(9216, 4), (31 << 10, 1), (32 << 10, 1), (200 << 10, 5)] {
            let predicted = model.predict(&argon2(m, t, 1)).unwrap();
            assert!(
                (predicted.loaded_s / truth(m, t) - 1.0).abs() < 1e-6,
                "{m} {t}: {predicted:?}"
            );
            assert!((predicted.alone_ratio - 0.9).abs() < 1e-9);
        }
    }

    #[test]
    fn a_measured_setting_predicts_itself_and_pulls_its_neighbours() {
        let mut model = CostModel::new(None);
        for m in [7168, 65536] {
            model.add(argon2(m, 1, 1), cost(truth(m, 1)));
        }
        model.add(argon2(19456, 1, 1), cost(truth(19456, 1) * 1.3));
        assert_eq!(
            model.predict(&argon2(19456, 1, 1)).unwrap(),
            cost(truth(19456, 1) * 1.3)
        );
        let near = model.predict(&argon2(20480, 1, 1)).unwrap().loaded_s;
        assert!((near / (truth(20480, 1) * 1.3) - 1.0).abs() < 0.05, "{near}");
    }

    #[test]
    fn one_bcrypt_cost_tells_the_others() {
        let mut model = CostModel::new(None);
        model.add("bcrypt:10".parse().unwrap(), cost(0.05));
        let twelve = model.predict(&"bcrypt:12".parse().unwrap()).unwrap().loaded_s;
        assert!((twelve / 0.2 - 1.0).abs() < 0.01, "{twelve}");
        assert!(model.predict(&argon2(19456, 2, 1)).is_none());
    }

    #[test]
    fn lanes_never_measured_are_taken_to_help_nothing() {
        let mut model = CostModel::new(None);
        model.add(argon2(65536, 3, 1), cost(0.1));
        assert!((model.predict(&argon2(65536, 3, 4)).unwrap().lanes - 1.0).abs() < 1e-9);
        model.add(
            argon2(65536, 3, 4),
            Cost {
                loaded_s: 0.11,
                alone_ratio: 1.0,
                lanes: 3.2,
            },
        );
        let wide = model.predict(&argon2(47104, 1, 4)).unwrap();
        assert!((wide.lanes - 3.2).abs() < 1e-9);
    }
}
