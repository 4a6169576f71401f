//! Memory: the smallest hard limit along the path, and the softer ones beside it.

use std::path::{Path, PathBuf};

use super::survey::Survey;
use super::values::{self, Bound};
use super::{CgroupDirs, Hierarchy, Limit};
use crate::units::Bytes;

pub(super) const MEMINFO: &str = "proc/meminfo";

/// What the memory files along the path say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MemoryLimits {
    /// The hard limit and the file that states it.
    pub(super) hard: Option<(Bytes, PathBuf)>,
    pub(super) high: Option<Bytes>,
    pub(super) swap: Option<Bytes>,
    pub(super) with_swap: Option<Bytes>,
}

/// Reads the limits from the own directory up to the mount point.
pub(super) fn limits(survey: &mut Survey, cgroup: &CgroupDirs) -> MemoryLimits {
    match cgroup.hierarchy {
        Hierarchy::V2 => MemoryLimits {
            hard: least(survey, cgroup, "memory.max", values::v2_memory, Limit::Memory),
            high: value(least(
                survey,
                cgroup,
                "memory.high",
                values::v2_memory,
                Limit::MemoryHigh,
            )),
            swap: value(least(survey, cgroup, "memory.swap.max", values::v2_memory, Limit::Swap)),
            with_swap: None,
        },
        Hierarchy::V1 => v1_limits(survey, cgroup),
    }
}

fn value(found: Option<(Bytes, PathBuf)>) -> Option<Bytes> {
    found.map(|(bytes, _)| bytes)
}

/// `hierarchical_memory_limit` of the own cgroup is what the kernel applies: it covers ancestors that cannot be seen
/// and leaves out those that do not bind. Only where it is missing do the limit files along the path count; else they
/// may name the file to change, and what is wrong with them is no doubt about the answer.
fn v1_limits(survey: &mut Survey, cgroup: &CgroupDirs) -> MemoryLimits {
    let stat_file = cgroup.own().join("memory.stat");
    let stat = survey.content(&stat_file).unwrap_or_default();
    let applied = stat_bound(survey, &stat_file, &stat, "hierarchical_memory_limit");
    if let Some(Bound::Finite(bytes)) = applied {
        survey.see(&stat_file, Limit::Memory(bytes));
    }
    let (before, doubts) = (survey.seen.len(), survey.warnings.len());
    let walked = least(
        survey,
        cgroup,
        "memory.limit_in_bytes",
        values::v1_memory,
        Limit::Memory,
    );
    if applied.is_some() {
        survey.warnings.truncate(doubts);
    }
    let hard = match applied {
        None => walked,
        Some(Bound::Unlimited) => None,
        Some(Bound::Finite(bytes)) => {
            // Name the innermost file that states the figure: that is the one to change.
            let stated = survey.seen[before..].iter().find(|s| s.limit == Limit::Memory(bytes));
            Some((bytes, stated.map_or(stat_file.clone(), |s| s.file.clone())))
        }
    };
    let swap_applied = stat_bound(survey, &stat_file, &stat, "hierarchical_memsw_limit");
    let swap_walked = least(
        survey,
        cgroup,
        "memory.memsw.limit_in_bytes",
        values::v1_memory,
        Limit::MemoryPlusSwap,
    );
    MemoryLimits {
        hard,
        with_swap: match swap_applied {
            None => value(swap_walked),
            Some(Bound::Unlimited) => None,
            Some(Bound::Finite(bytes)) => Some(bytes),
        },
        ..MemoryLimits::default()
    }
}

fn stat_bound(survey: &mut Survey, file: &Path, stat: &[u8], key: &str) -> Option<Bound<Bytes>> {
    let text = values::keyed(stat, key)?;
    let bound = values::v1_memory(text);
    if bound.is_none() {
        survey.malformed(file, text);
    }
    bound
}

/// The smallest finite value of the file of that name along the path; of equals the innermost.
fn least(
    survey: &mut Survey,
    cgroup: &CgroupDirs,
    name: &str,
    parse: fn(&[u8]) -> Option<Bound<Bytes>>,
    limit: fn(Bytes) -> Limit,
) -> Option<(Bytes, PathBuf)> {
    let mut least: Option<(Bytes, PathBuf)> = None;
    for dir in &cgroup.dirs {
        let file = dir.join(name);
        if let Some(Bound::Finite(bytes)) = survey.value(&file, parse) {
            survey.see(&file, limit(bytes));
            if least.as_ref().is_none_or(|(so_far, _)| bytes < *so_far) {
                least = Some((bytes, file));
            }
        }
    }
    least
}

/// `MemTotal` and `MemAvailable`.
pub(super) fn machine_memory(survey: &mut Survey) -> (Option<Bytes>, Option<Bytes>) {
    let Some(text) = survey.content(MEMINFO) else {
        return (None, None);
    };
    let mut figure = |key| {
        let figure = values::labelled(&text, key)?;
        let bytes = values::kib(figure);
        if bytes.is_none() {
            survey.malformed(Path::new(MEMINFO), figure);
        }
        bytes
    };
    (figure("MemTotal"), figure("MemAvailable"))
}
