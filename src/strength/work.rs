//! How much work one guess is, in each family's own unit: the part of the model that no attacker's hardware enters.

use crate::setting::{Algorithm, Argon2id, Bcrypt, Digest, Pbkdf2, Scrypt, Setting};

/// Blowfish key schedules that one round of bcrypt runs, in block encryptions: twice 521 (john pull request 3807).
const BCRYPT_ROUND: f64 = 1042.0;
/// Block encryptions of bcrypt outside its rounds: the first schedule, 521, and 64 at the end.
const BCRYPT_FIXED: f64 = 585.0;

/// Work that limits attacker A, in the family's unit.
///
/// - Argon2id: KiB moved, `m (3t - 1)`: two accesses a block in the first pass, three in each later one
///   (OWASP CheatSheetSeries issue 595), with m as it is really filled.
/// - scrypt: `N r p`.
/// - bcrypt: Blowfish block encryptions.
/// - PBKDF2: iterations.
pub fn traffic(setting: &Setting) -> f64 {
    match setting {
        Setting::Argon2id(a) => f64::from(a.effective_kib()) * (3.0 * f64::from(a.time_cost()) - 1.0),
        Setting::Scrypt(s) => scrypt_blocks(s) * f64::from(s.p()),
        Setting::Bcrypt(b) => f64::from(b.cost()).exp2() * BCRYPT_ROUND + BCRYPT_FIXED,
        Setting::Pbkdf2(p) => f64::from(p.iterations()),
    }
}

/// Work that limits attacker B: memory held times the time it is held for. `None` for families without memory to speak of.
///
/// Argon2id `m (m t)`; scrypt `(N r)^2 p`.
pub fn area_time(setting: &Setting) -> Option<f64> {
    match setting {
        Setting::Argon2id(a) => Some(f64::from(a.effective_kib()).powi(2) * f64::from(a.time_cost())),
        Setting::Scrypt(s) => Some(scrypt_blocks(s).powi(2) * f64::from(s.p())),
        Setting::Bcrypt(_) | Setting::Pbkdf2(_) => None,
    }
}

/// N r. Both have bounds far below 2^53.
#[allow(clippy::cast_precision_loss)]
fn scrypt_blocks(s: &Scrypt) -> f64 {
    s.n() as f64 * f64::from(s.r())
}

/// The family's minimum by OWASP (Password Storage Cheat Sheet); ranks are told relative to it.
///
/// # Panics
/// Never: the parameters are constants within bounds, and a test builds them all.
pub fn minimum(algorithm: Algorithm) -> Setting {
    const VALID: &str = "OWASP's minimum is a valid setting";
    match algorithm {
        Algorithm::Argon2id => Setting::Argon2id(Argon2id::new(19_456, 2, 1).expect(VALID)),
        Algorithm::Scrypt => Setting::Scrypt(Scrypt::new(1 << 17, 8, 1).expect(VALID)),
        Algorithm::Bcrypt => Setting::Bcrypt(Bcrypt::new(10).expect(VALID)),
        Algorithm::Pbkdf2Sha256 => Setting::Pbkdf2(Pbkdf2::new(Digest::Sha256, 600_000).expect(VALID)),
        Algorithm::Pbkdf2Sha512 => Setting::Pbkdf2(Pbkdf2::new(Digest::Sha512, 210_000).expect(VALID)),
    }
}

/// How many times the family's minimum a setting is worth: rank of the minimum / rank of this setting.
///
/// Above 1 is stronger. The hardware's constants cancel out, so this is the same for every attacker.
pub fn floor_ratio(setting: &Setting) -> f64 {
    let minimum = minimum(setting.algorithm());
    let bandwidth = traffic(setting) / traffic(&minimum);
    match (area_time(setting), area_time(&minimum)) {
        (Some(this), Some(least)) => (bandwidth * (this / least)).sqrt(),
        _ => bandwidth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minimum_is_worth_exactly_itself() {
        for algorithm in Algorithm::ALL {
            let minimum = minimum(algorithm);
            assert_eq!(minimum.algorithm(), algorithm);
            assert_eq!(floor_ratio(&minimum), 1.0);
        }
    }

    #[test]
    fn unfilled_memory_counts_for_nothing() {
        let whole: Setting = "argon2id:m=102400,t=2,p=8".parse().unwrap();
        let odd: Setting = "argon2id:m=102431,t=2,p=8".parse().unwrap();
        assert_eq!(floor_ratio(&whole), floor_ratio(&odd));
    }

    #[test]
    fn bcrypt_doubles_a_little_less_than_with_each_cost() {
        let at = |cost| traffic(&Setting::Bcrypt(Bcrypt::new(cost).unwrap()));
        assert_eq!(at(5), 33_929.0);
        assert!(at(6) / at(5) < 2.0 && at(13) / at(12) > 1.999);
    }
}
