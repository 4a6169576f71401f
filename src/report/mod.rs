//! The one serialised record. Whatever is exported is this, and nothing but this.
//!
//! The names, types and order of the keys are a public interface: `docs/report.schema.json` states them, and
//! `tests/schema.rs` holds both together. Struct fields are serialised in the order in which they stand here.

mod build;
mod figure;

pub use build::Context;
pub use figure::{Figure, NotFinite};

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::caveat::Caveat;
use crate::setting::{Algorithm, Setting};

/// The answer, with all that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The version of this record.
    pub schema: Schema,
    /// What to deploy.
    pub hash: Hash,
    /// How many hashes the service lets run and wait.
    pub pool: Pool,
    /// What was asked.
    pub budget: Asked,
    /// What was seen at the peak, open loop.
    pub measured: Measured,
    /// What an attacker gets against it.
    pub strength: Strength,
    /// Where it was measured.
    pub host: HostRecord,
    /// What keeps the setting from being stronger.
    pub binding: Binding,
    /// The other candidates, each with its reason.
    #[serde(default)]
    pub considered: Vec<Considered>,
    /// Doubts.
    #[serde(default)]
    pub caveat: Vec<Doubt>,
}

/// The record's version. It is 1, and a record of another version is refused on reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Schema;

impl Schema {
    /// The version that is written and read.
    pub const VERSION: u32 = 1;
}

impl From<Schema> for u32 {
    fn from(_: Schema) -> Self {
        Schema::VERSION
    }
}

impl TryFrom<u32> for Schema {
    type Error = String;

    fn try_from(version: u32) -> Result<Self, String> {
        if version == Self::VERSION {
            return Ok(Self);
        }
        Err(format!("schema {version} is not known; accepted: {}", Self::VERSION))
    }
}

/// The setting to deploy, with the keys of its family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "algorithm", deny_unknown_fields)]
pub enum Hash {
    /// Argon2id, version 0x13.
    #[serde(rename = "argon2id")]
    Argon2id {
        memory_kib: u32,
        time_cost: u32,
        parallelism: u32,
        salt_bytes: u32,
        output_bytes: u32,
        encoded: String,
    },
    /// bcrypt.
    #[serde(rename = "bcrypt")]
    Bcrypt { cost: u32, encoded: String },
    /// scrypt.
    #[serde(rename = "scrypt")]
    Scrypt { n: u64, r: u32, p: u32, encoded: String },
    /// PBKDF2-HMAC-SHA-256.
    #[serde(rename = "pbkdf2-sha256")]
    Pbkdf2Sha256 { iterations: u32, encoded: String },
    /// PBKDF2-HMAC-SHA-512.
    #[serde(rename = "pbkdf2-sha512")]
    Pbkdf2Sha512 { iterations: u32, encoded: String },
}

impl Hash {
    /// Salt for Argon2id: RFC 9106, section 3.1, recommends 16 bytes.
    pub const SALT_BYTES: u32 = 16;
    /// Output of Argon2id: RFC 9106, section 4, uses 256 bits.
    pub const OUTPUT_BYTES: u32 = 32;
}

impl From<&Setting> for Hash {
    fn from(setting: &Setting) -> Self {
        let encoded = setting.encoded();
        match setting {
            Setting::Argon2id(a) => Self::Argon2id {
                memory_kib: a.memory_kib(),
                time_cost: a.time_cost(),
                parallelism: a.lanes(),
                salt_bytes: Self::SALT_BYTES,
                output_bytes: Self::OUTPUT_BYTES,
                encoded,
            },
            Setting::Bcrypt(b) => Self::Bcrypt {
                cost: b.cost(),
                encoded,
            },
            Setting::Scrypt(s) => Self::Scrypt {
                n: s.n(),
                r: s.r(),
                p: s.p(),
                encoded,
            },
            Setting::Pbkdf2(p) if setting.algorithm() == Algorithm::Pbkdf2Sha256 => Self::Pbkdf2Sha256 {
                iterations: p.iterations(),
                encoded,
            },
            Setting::Pbkdf2(p) => Self::Pbkdf2Sha512 {
                iterations: p.iterations(),
                encoded,
            },
        }
    }
}

/// What the service must enforce for the figures to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Hashes running at once.
    pub max_in_flight: u32,
    /// Logins waiting for one; more are refused at once.
    pub max_queued: u32,
}

/// The operator's limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub latency_ms: Figure,
    pub quantile: Figure,
    pub memory_bytes: u64,
    pub peak_per_s: Figure,
    pub idle_memory_bytes: u64,
    pub app_cpu_ms: Figure,
    pub headroom: Figure,
}

impl TryFrom<&Budget> for Asked {
    type Error = NotFinite;

    fn try_from(budget: &Budget) -> Result<Self, NotFinite> {
        Ok(Self {
            latency_ms: Figure::exact(budget.latency.0)?,
            quantile: Figure::exact(budget.quantile)?,
            memory_bytes: budget.memory.0,
            peak_per_s: Figure::exact(budget.peak.per_s())?,
            idle_memory_bytes: budget.idle_memory.0,
            app_cpu_ms: Figure::exact(budget.app_cpu.0)?,
            headroom: Figure::exact(budget.headroom.0)?,
        })
    }
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The engine's name.
    pub engine: String,
    /// What was assumed of memory.
    pub pages: Pages,
    /// How the latency was found.
    pub basis: Basis,
    /// The rate that was offered.
    pub rate_per_s: Figure,
    /// The budget's quantile of latency, with its interval.
    pub latency_ms: Figure,
    pub latency_ms_low: Figure,
    pub latency_ms_high: Figure,
    /// One login on an idle service.
    pub single_ms: Figure,
    /// CPU time of one hash under load.
    pub cpu_ms: Figure,
    /// Most logins a second that the CPUs can serve.
    pub ceiling_per_s: Figure,
    /// High-water mark above idle with all hashes in flight.
    pub peak_memory_bytes: u64,
    /// Logins in the measurement.
    pub arrivals: u64,
    /// Its length.
    pub seconds: Figure,
}

/// What the deployed allocator does with a hash's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pages {
    /// As glibc: kept below 32 MiB, fresh from there.
    Deployed,
    /// Fresh for every hash.
    Fresh,
    /// Transparent huge pages.
    Huge,
    /// Kept.
    Reused,
}

/// How the latency at the peak was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// By running it.
    Measured,
    /// By simulation from measured service times, for peaks with too few logins to measure.
    Simulated,
}

/// The attacker's side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strength {
    /// The assumed hardware's name.
    pub attacker: String,
    /// Its bound. Lower is stronger.
    pub guesses_per_s: Figure,
    /// Rank of the family's minimum / rank of this setting. Above 1 is stronger.
    pub floor_ratio: Figure,
}

/// The host, as this process may use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    pub cpu_model: String,
    /// A fraction, never rounded.
    pub usable_cpus: Figure,
    pub usable_memory_bytes: u64,
    pub kernel: String,
}

/// What binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The limit that the next stronger setting would exceed.
    pub limit: Limit,
}

/// One of the budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    Latency,
    Peak,
    Memory,
    /// Nothing binds: the strongest candidate fits.
    None,
}

/// One candidate that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Considered {
    pub name: String,
    pub verdict: Outcome,
    /// Why, in figures.
    pub reason: String,
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Fits,
    Exceeds,
    Undecided,
    Skipped,
}

impl Outcome {
    /// The word that is exported.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Exceeds => "exceeds",
            Self::Undecided => "undecided",
            Self::Skipped => "skipped",
        }
    }
}

/// A [`Caveat`], as exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    pub code: String,
    pub text: String,
    pub remedy: String,
}

impl From<&Caveat> for Doubt {
    fn from(caveat: &Caveat) -> Self {
        Self {
            code: caveat.code().to_owned(),
            text: caveat.text(),
            remedy: caveat.remedy(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_refused() {
        let error = serde_json::from_str::<Schema>("2").unwrap_err().to_string();
        assert!(error.contains("schema 2 is not known; accepted: 1"), "{error}");
    }

    #[test]
    fn a_caveat_keeps_its_words() {
        let caveat = Caveat::IdleMemoryAssumed;
        let doubt = Doubt::from(&caveat);
        assert_eq!(
            (doubt.code.as_str(), doubt.text, doubt.remedy),
            ("idle-memory-assumed", caveat.text(), caveat.remedy())
        );
    }
}
