//! CPUs: the smallest quota along the path, and the CPUs that the process may be scheduled on.

use std::path::{Path, PathBuf};

use super::cpulist::CpuList;
use super::locate::Place;
use super::survey::Survey;
use super::values::{self, Bandwidth, Bound};
use super::{CgroupDirs, Hierarchy, Limit, Quota};

pub(super) const ONLINE: &str = "sys/devices/system/cpu/online";
pub(super) const STATUS: &str = "proc/self/status";

/// The smallest quota from the own directory up to the mount point; of equals the innermost.
pub(super) fn quota(survey: &mut Survey, cgroup: &CgroupDirs) -> Option<Quota> {
    let mut least: Option<(Bandwidth, PathBuf, &Path)> = None;
    for dir in &cgroup.dirs {
        let (file, grant) = match cgroup.hierarchy {
            Hierarchy::V2 => {
                let file = dir.join("cpu.max");
                let grant = survey.value(&file, values::cpu_max);
                (file, grant)
            }
            Hierarchy::V1 => (dir.join("cpu.cfs_quota_us"), v1_quota(survey, dir)),
        };
        let Some(Bound::Finite(grant)) = grant else { continue };
        survey.see(
            &file,
            Limit::Cpus {
                quota_us: grant.quota_us,
                period_us: grant.period_us,
            },
        );
        if least.as_ref().is_none_or(|(so_far, ..)| grant.below(*so_far)) {
            least = Some((grant, file, dir));
        }
    }
    least.map(|(grant, file, dir)| Quota {
        cpus: grant.cpus(),
        quota_us: grant.quota_us,
        period_us: grant.period_us,
        file,
        dir: survey.reader.root().join(dir),
    })
}

/// Quota and period are two files; a quota without a sound period cannot be understood.
fn v1_quota(survey: &mut Survey, dir: &Path) -> Option<Bound<Bandwidth>> {
    let file = dir.join("cpu.cfs_quota_us");
    match survey.value(&file, values::cfs_quota)? {
        Bound::Unlimited => Some(Bound::Unlimited),
        Bound::Finite(quota_us) => {
            let doubts = survey.warnings.len();
            let period = survey.value(dir.join("cpu.cfs_period_us"), values::cfs_period);
            if period.is_none() && survey.warnings.len() == doubts {
                survey.malformed(&file, b"a quota without a period");
            }
            period.map(|period_us| Bound::Finite(Bandwidth { quota_us, period_us }))
        }
    }
}

/// The CPUs that the process may run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Affinity {
    pub(super) cpus: u32,
    /// The file that decides.
    pub(super) file: PathBuf,
}

/// The allowed list of the status file, or without it the cpuset files of `cpuset`'s cgroup, cut to the online CPUs
/// unless those are `renumbered`. Without any list: the online CPUs.
pub(super) fn affinity(
    survey: &mut Survey,
    online: Option<&CpuList>,
    renumbered: bool,
    cpuset: impl FnOnce(&mut Survey) -> Option<Place>,
) -> Option<Affinity> {
    let list = match status_list(survey) {
        Some(list) => Some((list, PathBuf::from(STATUS))),
        None => cpuset(survey).and_then(|place| cpuset_list(survey, &place)),
    };
    let decided = |cpus, file| Some(Affinity { cpus, file });
    let Some((list, file)) = list else {
        return decided(online?.count(), PathBuf::from(ONLINE));
    };
    survey.see(&file, Limit::AllowedCpus(list.count()));
    let Some(online) = online.filter(|_| !renumbered) else {
        return decided(list.count(), file);
    };
    let both = list.cut_to(online);
    if both.is_empty() {
        // The process runs somewhere, so the two lists do not count alike.
        return decided(list.count(), file);
    }
    if both.count() < online.count() {
        decided(both.count(), file)
    } else {
        decided(online.count(), PathBuf::from(ONLINE))
    }
}

fn status_list(survey: &mut Survey) -> Option<CpuList> {
    let status = survey.content(STATUS)?;
    let text = values::labelled(&status, "Cpus_allowed_list")?;
    let list = CpuList::parse(text);
    if list.is_none() {
        survey.malformed(Path::new(STATUS), text);
    }
    list.filter(|l| !l.is_empty())
}

/// The effective list of the own cgroup, else its configured list, else the parent's, and so on up.
fn cpuset_list(survey: &mut Survey, place: &Place) -> Option<(CpuList, PathBuf)> {
    let cgroup = place.dirs.as_ref()?;
    let names = match (cgroup.hierarchy, place.noprefix) {
        (Hierarchy::V2, _) => ["cpuset.cpus.effective", "cpuset.cpus"],
        (Hierarchy::V1, false) => ["cpuset.effective_cpus", "cpuset.cpus"],
        (Hierarchy::V1, true) => ["effective_cpus", "cpus"],
    };
    for file in cgroup.dirs.iter().flat_map(|dir| names.map(|name| dir.join(name))) {
        // An empty list is no list: it means "as the parent".
        if let Some(list) = survey.value(&file, CpuList::parse).filter(|l| !l.is_empty()) {
            return Some((list, file));
        }
    }
    None
}
