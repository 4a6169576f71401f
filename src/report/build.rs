//! A run's outcome as the one record.

use super::{
    Asked, Basis, Binding, Considered, Doubt, Figure, Hash, HostRecord, Limit, Measured, NotFinite, Outcome, Pages,
    Pool, Report, Schema, Strength,
};
use crate::budget::Budget;
use crate::caveat::Caveat;
use crate::engine;
use crate::host::Host;
use crate::recommend::{self, Candidate, Evidence, Recommendation};
use crate::setting::Setting;
use crate::verdict::{self, Verdict};

/// What a report is made of besides the recommendation.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The operator's limits.
    pub budget: &'a Budget,
    /// Where it was measured.
    pub host: &'a Host,
    /// Usable CPUs that the formulas used.
    pub usable_cpus: f64,
    /// What hashed.
    pub engine: &'a str,
    /// What was assumed of memory.
    pub pages: engine::Pages,
    /// The assumed attacker's name.
    pub attacker: &'a str,
    /// Every candidate.
    pub candidates: &'a [Candidate],
    /// Every doubt.
    pub caveats: &'a [Caveat],
}

impl Report {
    /// The record of a recommendation.
    ///
    /// # Errors
    /// When a figure is no number: a fault in what computed it.
    pub fn new(pick: &Recommendation, context: &Context) -> Result<Self, NotFinite> {
        let others = context.candidates.iter().filter(|c| c.setting != pick.setting);
        Ok(Self {
            schema: Schema,
            hash: Hash::from(&pick.setting),
            pool: Pool {
                max_in_flight: pick.max_in_flight,
                max_queued: pick.max_queued,
            },
            budget: Asked::try_from(context.budget)?,
            measured: measured(&pick.evidence, context)?,
            strength: Strength {
                attacker: context.attacker.to_owned(),
                guesses_per_s: Figure::rounded(pick.guesses_per_s)?,
                floor_ratio: Figure::rounded(pick.floor_ratio)?,
            },
            host: HostRecord::new(context.host, context.usable_cpus)?,
            binding: Binding {
                limit: pick.binding.map_or(Limit::None, Limit::from),
            },
            considered: others.map(Considered::from).collect(),
            caveat: context.caveats.iter().map(Doubt::from).collect(),
        })
    }

    /// The setting that the record recommends, where its parameters are in bounds.
    pub fn setting(&self) -> Option<Setting> {
        let text = match &self.hash {
            Hash::Argon2id {
                memory_kib,
                time_cost,
                parallelism,
                ..
            } => {
                format!("argon2id:m={memory_kib},t={time_cost},p={parallelism}")
            }
            Hash::Bcrypt { cost, .. } => format!("bcrypt:{cost}"),
            Hash::Scrypt { n, r, p, .. } => format!("scrypt:n={n},r={r},p={p}"),
            Hash::Pbkdf2Sha256 { iterations, .. } => format!("pbkdf2-sha256:{iterations}"),
            Hash::Pbkdf2Sha512 { iterations, .. } => format!("pbkdf2-sha512:{iterations}"),
        };
        text.parse().ok()
    }
}

fn measured(evidence: &Evidence, context: &Context) -> Result<Measured, NotFinite> {
    let ms = |seconds: f64| Figure::rounded(seconds * 1e3);
    Ok(Measured {
        engine: context.engine.to_owned(),
        pages: context.pages.into(),
        basis: evidence.basis.into(),
        rate_per_s: Figure::rounded(evidence.rate_per_s)?,
        latency_ms: ms(evidence.latency.estimate)?,
        latency_ms_low: ms(evidence.latency.low)?,
        latency_ms_high: ms(evidence.latency.high)?,
        single_ms: ms(evidence.single_s)?,
        cpu_ms: ms(evidence.ceiling.login_s - context.budget.app_cpu.as_s())?,
        ceiling_per_s: Figure::rounded(evidence.ceiling.per_s())?,
        peak_memory_bytes: evidence.peak_memory.bytes.0,
        arrivals: evidence.arrivals as u64,
        seconds: Figure::rounded(evidence.seconds)?,
    })
}

impl HostRecord {
    /// The host, with the usable CPUs that the formulas used.
    ///
    /// # Errors
    /// When the CPUs are no number.
    pub fn new(host: &Host, usable_cpus: f64) -> Result<Self, NotFinite> {
        let unknown = || "unknown".to_owned();
        Ok(Self {
            cpu_model: host.machine.cpu_model.clone().unwrap_or_else(unknown),
            usable_cpus: Figure::exact(usable_cpus)?,
            usable_memory_bytes: host.usable_memory.unwrap_or_default().0,
            kernel: host.machine.kernel.clone().unwrap_or_else(unknown),
        })
    }
}

impl From<verdict::Limit> for Limit {
    fn from(limit: verdict::Limit) -> Self {
        match limit {
            verdict::Limit::Latency => Self::Latency,
            verdict::Limit::Peak => Self::Peak,
            verdict::Limit::Memory => Self::Memory,
        }
    }
}

impl From<recommend::Basis> for Basis {
    fn from(basis: recommend::Basis) -> Self {
        match basis {
            recommend::Basis::Measured => Self::Measured,
            recommend::Basis::Simulated => Self::Simulated,
        }
    }
}

impl From<engine::Pages> for Pages {
    fn from(pages: engine::Pages) -> Self {
        match pages {
            engine::Pages::Deployed => Self::Deployed,
            engine::Pages::Fresh => Self::Fresh,
            engine::Pages::Huge => Self::Huge,
            engine::Pages::Reused => Self::Reused,
        }
    }
}

impl From<&Verdict> for Outcome {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Fits { .. } => Self::Fits,
            Verdict::Exceeds { .. } => Self::Exceeds,
            Verdict::Undecided { .. } => Self::Undecided,
            Verdict::Skipped { .. } => Self::Skipped,
        }
    }
}

impl From<&Candidate> for Considered {
    fn from(candidate: &Candidate) -> Self {
        Self {
            name: candidate.name.clone(),
            verdict: Outcome::from(&candidate.verdict),
            reason: candidate.verdict.reason(),
        }
    }
}

impl From<Pages> for engine::Pages {
    fn from(pages: Pages) -> Self {
        match pages {
            Pages::Deployed => Self::Deployed,
            Pages::Fresh => Self::Fresh,
            Pages::Huge => Self::Huge,
            Pages::Reused => Self::Reused,
        }
    }
}
