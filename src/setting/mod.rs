//! Password-hash settings, valid by construction.

mod argon2id;
mod bcrypt;
mod doubts;
mod pbkdf2;
mod scrypt;

pub use argon2id::Argon2id;
pub use bcrypt::Bcrypt;
pub use doubts::lanes_above;
pub use pbkdf2::{Digest, Pbkdf2};
pub use scrypt::Scrypt;

use std::fmt;
use std::str::FromStr;

use crate::units::{BadValue, Bytes};

/// A family of password hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Argon2id, version 0x13 (RFC 9106).
    Argon2id,
    /// scrypt (RFC 7914).
    Scrypt,
    /// bcrypt.
    Bcrypt,
    /// PBKDF2-HMAC-SHA-256.
    Pbkdf2Sha256,
    /// PBKDF2-HMAC-SHA-512.
    Pbkdf2Sha512,
}

impl Algorithm {
    /// All families, in OWASP's order of preference (Password Storage Cheat Sheet).
    pub const ALL: [Self; 5] = [
        Self::Argon2id,
        Self::Scrypt,
        Self::Bcrypt,
        Self::Pbkdf2Sha256,
        Self::Pbkdf2Sha512,
    ];

    /// The name used on the command line and in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Argon2id => "argon2id",
            Self::Scrypt => "scrypt",
            Self::Bcrypt => "bcrypt",
            Self::Pbkdf2Sha256 => "pbkdf2-sha256",
            Self::Pbkdf2Sha512 => "pbkdf2-sha512",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        Self::ALL.into_iter().find(|a| a.name() == text.trim()).ok_or_else(|| {
            BadValue::new(
                "algorithm",
                text,
                "unknown",
                "argon2id, scrypt, bcrypt, pbkdf2-sha256 or pbkdf2-sha512",
            )
        })
    }
}

/// One setting of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// Argon2id with memory, passes and lanes.
    Argon2id(Argon2id),
    /// scrypt with N, r and p.
    Scrypt(Scrypt),
    /// bcrypt with its cost.
    Bcrypt(Bcrypt),
    /// PBKDF2 with its digest and iterations.
    Pbkdf2(Pbkdf2),
}

impl Setting {
    /// The family.
    pub const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Argon2id(_) => Algorithm::Argon2id,
            Self::Scrypt(_) => Algorithm::Scrypt,
            Self::Bcrypt(_) => Algorithm::Bcrypt,
            Self::Pbkdf2(p) => match p.digest() {
                Digest::Sha256 => Algorithm::Pbkdf2Sha256,
                Digest::Sha512 => Algorithm::Pbkdf2Sha512,
            },
        }
    }

    /// Memory that one hash in flight holds, by its parameters (bcrypt: its 4 KiB state; PBKDF2: nothing that counts).
    pub const fn memory_cost(&self) -> Bytes {
        match self {
            Self::Argon2id(a) => Bytes::from_kib(a.memory_kib() as u64),
            Self::Scrypt(s) => s.memory(),
            Self::Bcrypt(_) => Bytes::from_kib(4),
            Self::Pbkdf2(_) => Bytes(0),
        }
    }

    /// Threads that one hash can keep busy: Argon2's lanes; 1 for the others (scrypt's p runs in turn in every common library).
    pub const fn lanes(&self) -> u32 {
        match self {
            Self::Argon2id(a) => a.lanes(),
            _ => 1,
        }
    }

    /// The parameters as they begin a stored hash, without salt and hash.
    pub fn encoded(&self) -> String {
        match self {
            Self::Argon2id(a) => format!(
                "$argon2id$v=19$m={},t={},p={}",
                a.memory_kib(),
                a.time_cost(),
                a.lanes()
            ),
            Self::Scrypt(s) => format!("$scrypt$ln={},r={},p={}", s.log_n(), s.r(), s.p()),
            Self::Bcrypt(b) => format!("$2b${:02}$", b.cost()),
            Self::Pbkdf2(p) => format!("$pbkdf2-{}$i={}", p.digest().name(), p.iterations()),
        }
    }
}

impl fmt::Display for Setting {
    /// The form that [`FromStr`] reads: `argon2id:m=65536,t=3,p=4`, `bcrypt:12`, `scrypt:n=131072,r=8,p=1`, `pbkdf2-sha256:600000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Argon2id(a) => format!("argon2id:m={},t={},p={}", a.memory_kib(), a.time_cost(), a.lanes()),
            Self::Scrypt(s) => format!("scrypt:n={},r={},p={}", s.n(), s.r(), s.p()),
            Self::Bcrypt(b) => format!("bcrypt:{}", b.cost()),
            Self::Pbkdf2(p) => format!("{}:{}", self.algorithm(), p.iterations()),
        };
        f.pad(&text)
    }
}

/// The accepted forms of a setting, as shown in errors.
pub const FORM: &str =
    "argon2id:m=65536,t=3,p=4 (m in KiB), bcrypt:12, scrypt:n=131072,r=8,p=1 or pbkdf2-sha256:600000";

impl FromStr for Setting {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |reason: String| BadValue::new("setting", text, reason, FORM);
        let (name, rest) = text
            .split_once(':')
            .ok_or_else(|| bad("the parameters are missing".into()))?;
        let algorithm: Algorithm = name.parse().map_err(|_| bad(format!("unknown algorithm \"{name}\"")))?;
        let read = || -> Result<Self, String> {
            Ok(match algorithm {
                Algorithm::Argon2id => {
                    let [m, t, p] = fields(rest, ["m", "t", "p"])?;
                    Self::Argon2id(Argon2id::new(m, t, p).map_err(|e| e.to_string())?)
                }
                Algorithm::Scrypt => {
                    let [n, r, p] = fields(rest, ["n", "r", "p"])?;
                    Self::Scrypt(Scrypt::new(u64::from(n), r, p).map_err(|e| e.to_string())?)
                }
                Algorithm::Bcrypt => Self::Bcrypt(Bcrypt::new(whole(rest)?).map_err(|e| e.to_string())?),
                Algorithm::Pbkdf2Sha256 => {
                    Self::Pbkdf2(Pbkdf2::new(Digest::Sha256, whole(rest)?).map_err(|e| e.to_string())?)
                }
                Algorithm::Pbkdf2Sha512 => {
                    Self::Pbkdf2(Pbkdf2::new(Digest::Sha512, whole(rest)?).map_err(|e| e.to_string())?)
                }
            })
        };
        read().map_err(|reason| BadValue {
            hint: rest
                .split(',')
                .find_map(|pair| pair.trim().strip_prefix("m="))
                .and_then(|m| Argon2id::bytes_hint("m", m.trim().parse().ok()?)),
            ..bad(reason)
        })
    }
}

fn whole(text: &str) -> Result<u32, String> {
    text.trim()
        .parse()
        .map_err(|e: std::num::ParseIntError| match e.kind() {
            std::num::IntErrorKind::PosOverflow => format!("\"{text}\" is too large"),
            _ => format!("\"{text}\" is not a whole number"),
        })
}

/// Reads `key=value` pairs in any order; each key exactly once and no other.
fn fields<const N: usize>(text: &str, keys: [&str; N]) -> Result<[u32; N], String> {
    let mut values = [None; N];
    for pair in text.split(',') {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("\"{pair}\" is not key=value"))?;
        let slot = keys
            .iter()
            .position(|k| k.eq_ignore_ascii_case(key.trim()))
            .ok_or_else(|| format!("unknown parameter \"{}\"", key.trim()))?;
        if values[slot].replace(whole(value)?).is_some() {
            return Err(format!("\"{}\" is given twice", key.trim()));
        }
    }
    let mut out = [0; N];
    for (slot, key) in keys.iter().enumerate() {
        out[slot] = values[slot].ok_or_else(|| format!("\"{key}\" is missing"))?;
    }
    Ok(out)
}

/// A parameter outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {value}, {bound}")]
pub struct OutOfBounds {
    /// The parameter.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// The bound that failed, in words.
    pub bound: String,
}

/// Checks `min..=max`, naming the bound that failed.
fn within(name: &'static str, value: u64, min: u64, max: u64) -> Result<(), OutOfBounds> {
    let bound = if value < min {
        format!("below the minimum {min}")
    } else if value > max {
        format!("above the maximum {max}")
    } else {
        return Ok(());
    };
    Err(OutOfBounds { name, value, bound })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "argon2id:m=65536,t=3,p=4",
            "bcrypt:12",
            "scrypt:n=131072,r=8,p=1",
            "pbkdf2-sha256:600000",
            "pbkdf2-sha512:210000",
        ] {
            let setting: Setting = text.parse().unwrap();
            assert_eq!(setting.to_string(), text);
        }
    }

    #[test]
    fn keys_may_come_in_any_order_but_only_once() {
        let a: Setting = "argon2id:t=3,m=65536,p=4".parse().unwrap();
        assert_eq!(a.encoded(), "$argon2id$v=19$m=65536,t=3,p=4");
        for text in [
            "argon2id:m=65536,t=3",
            "argon2id:m=1,m=2,t=1,p=1",
            "argon2id:m=65536,t=3,p=4,x=1",
            "bcrypt",
            "bcrypt:x",
            "md5:1",
            "argon2id:m=64MiB,t=1,p=1",
        ] {
            assert!(text.parse::<Setting>().is_err(), "{text}");
        }
    }
}
