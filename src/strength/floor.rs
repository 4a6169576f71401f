//! Where each family's floor lies: below it a setting is a stopgap.

use super::{TIE_BAND, floor_ratio, minimum, traffic};
use crate::setting::{Algorithm, Argon2id, Scrypt, Setting};

/// OWASP's Argon2id rows, `(m in KiB, t)` at p = 1: least settings of about equal cost to a graphics card
/// (Password Storage Cheat Sheet).
pub const ARGON2ID_ROWS: [(u32, u32); 5] = [(47_104, 1), (19_456, 2), (12_288, 3), (9_216, 4), (7_168, 5)];

/// OWASP's scrypt rows, `(N, p)` at r = 8 (Password Storage Cheat Sheet).
pub const SCRYPT_ROWS: [(u64, u32); 5] = [(1 << 17, 1), (1 << 16, 2), (1 << 15, 3), (1 << 14, 5), (1 << 13, 10)];

/// Least memory of a tuned Argon2id setting, in KiB: OWASP's smallest row. Below it, passes would be bought with memory.
pub const MIN_TUNED_KIB: u32 = 7_168;

/// Is the setting at or above its family's floor?
///
/// - Argon2id and scrypt: each parameter at least that of one OWASP row, or the rank within [`TIE_BAND`] of the family's minimum.
/// - bcrypt: cost 10. PBKDF2: 600,000 iterations with SHA-256, 210,000 with SHA-512.
///
/// Lanes do not enter, beyond the rounding of memory to whole slices: a row keeps its place with any number of lanes.
pub fn at_or_above_floor(setting: &Setting) -> bool {
    match setting {
        Setting::Argon2id(a) => ARGON2ID_ROWS.iter().any(|row| covers_argon2id(a, *row)) || nearly_minimum(setting),
        Setting::Scrypt(s) => SCRYPT_ROWS.iter().any(|row| covers_scrypt(s, *row)) || nearly_minimum(setting),
        Setting::Bcrypt(_) | Setting::Pbkdf2(_) => traffic(setting) >= traffic(&minimum(setting.algorithm())),
    }
}

/// The floor in words, for people.
pub const fn floor_in_words(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Argon2id => {
            "m and t of an OWASP row (19456 KiB and 2 is its minimum), or a rank within 10 % of that"
        }
        Algorithm::Scrypt => "N, r and p of an OWASP row (2^17, 8, 1 is the first), or a rank within 10 % of that",
        Algorithm::Bcrypt => "cost 10",
        Algorithm::Pbkdf2Sha256 => "600,000 iterations",
        Algorithm::Pbkdf2Sha512 => "210,000 iterations",
    }
}

fn nearly_minimum(setting: &Setting) -> bool {
    floor_ratio(setting) * TIE_BAND >= 1.0
}

/// Memory is compared as it is filled: a row's own m, hashed with this many lanes, is cut to whole slices as well.
fn covers_argon2id(a: &Argon2id, (row_kib, row_passes): (u32, u32)) -> bool {
    let slices = 4 * a.lanes();
    a.effective_kib() >= row_kib / slices * slices && a.time_cost() >= row_passes
}

fn covers_scrypt(s: &Scrypt, (row_n, row_p): (u64, u32)) -> bool {
    s.n() >= row_n && s.r() >= 8 && s.p() >= row_p
}

#[cfg(test)]
mod tests {
    use super::*;

    fn above(text: &str) -> bool {
        at_or_above_floor(&text.parse().unwrap())
    }

    #[test]
    fn every_owasp_row_is_at_or_above_the_floor_with_any_lanes() {
        for (kib, passes) in ARGON2ID_ROWS {
            for lanes in [1, 2, 3, 4, 5, 8] {
                assert!(
                    above(&format!("argon2id:m={kib},t={passes},p={lanes}")),
                    "{kib} {passes} {lanes}"
                );
            }
        }
        for (n, p) in SCRYPT_ROWS {
            assert!(above(&format!("scrypt:n={n},r=8,p={p}")), "{n} {p}");
        }
    }

    #[test]
    fn below_every_row_is_below_the_floor() {
        for text in [
            "argon2id:m=7168,t=4,p=1",
            "argon2id:m=6144,t=6,p=1",
            "argon2id:m=16384,t=2,p=1",
            "argon2id:m=19456,t=1,p=1",
            "scrypt:n=16384,r=8,p=1",
            "scrypt:n=32768,r=8,p=1",
            "scrypt:n=65536,r=8,p=1",
            "bcrypt:9",
            "pbkdf2-sha256:599999",
            "pbkdf2-sha512:209999",
            "pbkdf2-sha256:4096",
        ] {
            assert!(!above(text), "{text}");
        }
        for text in [
            "bcrypt:10",
            "pbkdf2-sha256:600000",
            "pbkdf2-sha512:210000",
            "argon2id:m=7168,t=5,p=1",
        ] {
            assert!(above(text), "{text}");
        }
    }

    #[test]
    fn a_strong_rank_makes_up_for_a_missing_row() {
        assert!(above("argon2id:m=45056,t=1,p=1"), "within 10 % of 19456/2 in rank");
        assert!(above("scrypt:n=131072,r=16,p=1"));
        assert!(above("scrypt:n=16384,r=8,p=6"), "a row with more p is no weaker");
    }
}
