//! The probe's answer as it is exported.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Cache, Host};
use crate::units::Bytes;

/// A [`Host`] with plain figures, in the order of the keys. A missing key means that there is no such figure, never
/// zero; the two `_decided_by` are always there, empty where nothing decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // The names are those of `Host`, with the unit at the end.
pub struct ProbeRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online_cpus: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity_cpus: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_cpus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_cpus_whole: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_total_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_high_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_plus_swap_limit_bytes: Option<u64>,
    /// `v1`, `v2`, `hybrid` or `none`.
    pub cgroup_version: String,
    /// Relative to the root; bytes that are no UTF-8 are replaced.
    pub cpu_decided_by: String,
    /// Relative to the root; bytes that are no UTF-8 are replaced.
    pub memory_decided_by: String,
    /// Codes of the warnings, each once.
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads_per_core: Option<u32>,
    /// Such as `L1 Data 48 KiB`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transparent_hugepages: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Over 1, 5 and 15 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average: Option<[f64; 3]>,
}

impl From<&Host> for ProbeRecord {
    fn from(host: &Host) -> Self {
        let bytes = |figure: Option<Bytes>| figure.map(|b| b.0);
        let text = |path: &Option<PathBuf>| {
            path.as_ref()
                .map_or_else(String::new, |p| p.to_string_lossy().into_owned())
        };
        let mut warnings: Vec<String> = Vec::new();
        for code in host.warnings.iter().map(crate::caveat::Caveat::code) {
            if !warnings.iter().any(|known| known == code) {
                warnings.push(code.to_owned());
            }
        }
        let machine = host.machine.clone();
        Self {
            online_cpus: host.online_cpus,
            affinity_cpus: host.affinity_cpus,
            quota_cpus: host.quota.as_ref().map(|q| q.cpus),
            usable_cpus: host.usable_cpus,
            usable_cpus_whole: host.usable_cpus_whole(),
            memory_limit_bytes: bytes(host.memory_limit),
            memory_total_bytes: bytes(host.memory_total),
            usable_memory_bytes: bytes(host.usable_memory),
            memory_high_bytes: bytes(host.memory_high),
            swap_limit_bytes: bytes(host.swap_limit),
            memory_plus_swap_limit_bytes: bytes(host.memory_plus_swap_limit),
            cgroup_version: host.cgroup_version.name().to_owned(),
            cpu_decided_by: text(&host.cpu_decided_by),
            memory_decided_by: text(&host.memory_decided_by),
            warnings,
            cpu_model: machine.cpu_model,
            threads_per_core: machine.threads_per_core,
            caches: machine.caches.iter().map(Cache::to_string).collect(),
            kernel: machine.kernel,
            transparent_hugepages: machine.transparent_hugepages,
            governor: machine.governor,
            load_average: machine.load_average,
        }
    }
}

impl std::fmt::Display for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "L{} {} {}", self.level, self.kind, self.size)?;
        match self.shared_by {
            Some(1) | None => Ok(()),
            Some(cpus) => write!(f, " shared by {cpus}"),
        }
    }
}
