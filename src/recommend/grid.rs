//! The tuned settings that the search may propose.

use crate::setting::{Algorithm, Argon2id, Bcrypt, Digest, Pbkdf2, Scrypt, Setting};
use crate::strength::MIN_TUNED_KIB;

/// Most passes tried. Past this, more passes are worth less than the tie band.
pub const MAX_PASSES: u32 = 24;

/// Argon2id memory sizes up to `max_kib`, ascending, in KiB: steps of 512 KiB below 16 MiB, whole MiB in steps of at most 10 % from there.
///
/// No finer than a measurement can tell apart: hosts' CPU per hash drifts by as much (`docs/accuracy.md`).
pub fn argon2_memory(max_kib: u32) -> Vec<u32> {
    let mut sizes = Vec::new();
    let mut kib = MIN_TUNED_KIB;
    while kib <= max_kib.min(Argon2id::MAX_KIB) {
        sizes.push(kib);
        kib = if kib < 16 << 10 {
            kib + 512
        } else {
            kib + ((kib >> 10) / 10).max(1) * 1024
        };
    }
    sizes
}

/// Lanes that a recommendation may have: 1, 2, 4 ... up to max(1, floor(`cpus`)).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn lanes(cpus: f64, max_lanes: u32) -> Vec<u32> {
    let most = (cpus.floor().max(1.0) as u32).min(max_lanes);
    (0..).map(|i| 1 << i).take_while(|p| *p <= most).collect()
}

/// The settings of one family with a fixed second parameter, ascending in cost: a line along which feasibility is monotone.
pub type Line = Vec<Setting>;

/// The lines of one family. `max_kib` bounds the memory of one hash.
pub fn lines(algorithm: Algorithm, max_kib: u32, lanes: &[u32]) -> Vec<Line> {
    match algorithm {
        Algorithm::Argon2id => argon2_lines(max_kib, lanes),
        Algorithm::Bcrypt => vec![
            (Bcrypt::MIN_COST..=Bcrypt::MAX_COST)
                .filter_map(|c| Bcrypt::new(c).ok())
                .map(Setting::Bcrypt)
                .collect(),
        ],
        Algorithm::Scrypt => (1..=16)
            .map(|p| {
                (10..=Scrypt::MAX_LOG_N)
                    .filter_map(|log_n| Scrypt::new(1 << log_n, 8, p).ok())
                    .filter(|s| s.memory().0 <= u64::from(max_kib) * 1024)
                    .map(Setting::Scrypt)
                    .collect()
            })
            .collect(),
        Algorithm::Pbkdf2Sha256 => vec![pbkdf2_line(Digest::Sha256)],
        Algorithm::Pbkdf2Sha512 => vec![pbkdf2_line(Digest::Sha512)],
    }
}

fn argon2_lines(max_kib: u32, lanes: &[u32]) -> Vec<Line> {
    let sizes = argon2_memory(max_kib);
    let mut lines = Vec::new();
    for &p in lanes {
        for t in 1..=MAX_PASSES {
            let settings = sizes.iter().filter_map(|&m| Argon2id::new(m, t, p).ok());
            lines.push(settings.map(Setting::Argon2id).collect());
        }
    }
    lines
}

/// Iterations in steps of 5 %, rounded to thousands.
fn pbkdf2_line(digest: Digest) -> Line {
    let mut iterations = 1_000_u32;
    let mut line = Vec::new();
    while let Ok(setting) = Pbkdf2::new(digest, iterations) {
        line.push(Setting::Pbkdf2(setting));
        iterations += (iterations / 20 / 1000).max(1) * 1000;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_steps_are_whole_mib_and_at_most_ten_percent() {
        let sizes = argon2_memory(4 << 20);
        assert_eq!(sizes[0], 7168);
        for pair in sizes.windows(2) {
            assert!(f64::from(pair[1]) / f64::from(pair[0]) <= 1.1, "{pair:?}");
            assert!(pair[0] < 16 << 10 || pair[0] % 1024 == 0, "{pair:?}");
        }
    }

    #[test]
    fn lanes_never_exceed_the_cpus() {
        assert_eq!(lanes(0.5, 64), [1]);
        assert_eq!(lanes(2.5, 64), [1, 2]);
        assert_eq!(lanes(8.0, 64), [1, 2, 4, 8]);
        assert_eq!(lanes(8.0, 1), [1]);
    }

    #[test]
    fn every_family_has_lines() {
        for algorithm in Algorithm::ALL {
            let lines = lines(algorithm, 1 << 20, &[1, 2]);
            assert!(lines.iter().all(|line| line.iter().all(|s| s.algorithm() == algorithm)));
            assert!(lines.iter().any(|line| line.len() > 5), "{algorithm}");
        }
    }
}
