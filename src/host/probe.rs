//! The probe itself: reads, resolves and decides.

use std::path::{Path, PathBuf};

use super::cpu::{self, Affinity};
use super::cpulist::CpuList;
use super::locate::{Place, locate};
use super::membership::Membership;
use super::memory::{self, MemoryLimits};
use super::mountinfo::Mounts;
use super::reader::Reader;
use super::survey::Survey;
use super::{CgroupVersion, Host, machine};
use crate::caveat::Caveat;

pub(super) const MOUNTINFO: &str = "proc/self/mountinfo";
pub(super) const MEMBERSHIP: &str = "proc/self/cgroup";
/// The v1 controllers whose mounts make a host v1. Named hierarchies and others do not count.
pub(super) const CONTROLLERS: [&str; 3] = ["cpu", "cpuset", "memory"];

/// Finds out what this process may use, reading only below `root` (`/` for the running system).
///
/// Never fails: what cannot be read or understood is a warning, and a figure that cannot be known is absent.
/// On the running system without `/proc` (macOS) the operating system is asked for CPUs and memory.
pub fn probe(root: &Path) -> Host {
    probe_with(&Reader::new(root))
}

pub(super) fn probe_with(reader: &Reader) -> Host {
    let mut survey = Survey::new(reader);
    let mut host = Host {
        root: reader.root().to_owned(),
        ..Host::default()
    };
    if no_proc(reader) {
        survey.warn(Caveat::NoProc);
    }
    let cgroups = Cgroups::read(&mut survey);
    host.cgroup_version = cgroups.version;
    if cgroups.version == CgroupVersion::None && cgroups.mounts_known && !survey.warnings.contains(&Caveat::NoProc) {
        survey.warn(Caveat::NoCgroup);
    }
    let online = probe_cpus(&mut host, &mut survey, &cgroups);
    probe_memory(&mut host, &mut survey, &cgroups);
    for mount in cgroups.mounts.lxcfs() {
        survey.warn(Caveat::ProcVirtualized {
            path: mount.point.to_string_lossy().into_owned(),
        });
    }
    host.machine = machine::read(reader, online.as_ref().and_then(CpuList::first));
    if reader.is_live() {
        ask_the_system(&mut host);
    }
    decide(&mut host, &mut survey);
    (host.limits, host.warnings) = (survey.seen, survey.warnings);
    host
}

fn no_proc(reader: &Reader) -> bool {
    ![MOUNTINFO, MEMBERSHIP, cpu::STATUS, memory::MEMINFO]
        .iter()
        .any(|file| reader.exists(file))
}

/// The two files that say where the process's cgroups are.
struct Cgroups {
    mounts: Mounts,
    /// Whether `mounts` is what there is: not so where mountinfo could not be read.
    mounts_known: bool,
    membership: Membership,
    version: CgroupVersion,
}

impl Cgroups {
    fn read(survey: &mut Survey) -> Self {
        let doubts = survey.warnings.len();
        let mounts = Mounts::parse(&survey.content(MOUNTINFO).unwrap_or_default());
        let mounts_known = survey.warnings.len() == doubts;
        let membership = Membership::parse(&survey.content(MEMBERSHIP).unwrap_or_default());
        if let Some(line) = &mounts.malformed {
            survey.malformed(Path::new(MOUNTINFO), line);
        }
        if let Some(line) = &membership.malformed {
            survey.malformed(Path::new(MEMBERSHIP), line);
        }
        let v1 = CONTROLLERS.iter().any(|c| mounts.v1(c).next().is_some());
        let version = match (v1, mounts.v2().next().is_some()) {
            (true, true) => CgroupVersion::Hybrid,
            (true, false) => CgroupVersion::V1,
            (false, true) => CgroupVersion::V2,
            (false, false) => CgroupVersion::None,
        };
        Self {
            mounts,
            mounts_known,
            membership,
            version,
        }
    }

    /// Where a controller's cgroup is, with the doubts about it.
    fn place(&self, survey: &mut Survey, controller: &str) -> Option<Place> {
        if self.version == CgroupVersion::None {
            return None;
        }
        let place = locate(survey.reader, &self.mounts, &self.membership, controller)?;
        let path = match place.path.as_slice() {
            b"" => "(none is listed)".to_owned(),
            path => String::from_utf8_lossy(path).into_owned(),
        };
        let controller = controller.to_owned();
        if place.outside {
            survey.warn(Caveat::CgroupOutsideNamespace {
                controller: controller.clone(),
                path: path.clone(),
            });
        }
        if place.not_found {
            survey.warn(Caveat::CgroupPathNotFound { controller, path });
        }
        Some(place)
    }
}

fn probe_cpus(host: &mut Host, survey: &mut Survey, cgroups: &Cgroups) -> Option<CpuList> {
    if let Some(place) = cgroups.place(survey, "cpu") {
        host.quota = place.dirs.as_ref().and_then(|dirs| cpu::quota(survey, dirs));
        if place.hidden {
            survey.warn(hidden("cpu"));
        }
        host.cpu_cgroup = place.dirs;
    }
    let online = survey.value(cpu::ONLINE, CpuList::parse).filter(|l| !l.is_empty());
    host.online_cpus = online.as_ref().map(CpuList::count);
    let renumbered = cgroups.mounts.shown_by_lxcfs(Path::new(cpu::ONLINE));
    let affinity = cpu::affinity(survey, online.as_ref(), renumbered, |s| cgroups.place(s, "cpuset"));
    if let Some(Affinity { cpus, file }) = affinity {
        host.affinity_cpus = Some(cpus);
        host.cpu_decided_by = Some(file);
    }
    online
}

fn probe_memory(host: &mut Host, survey: &mut Survey, cgroups: &Cgroups) {
    (host.memory_total, host.memory_available) = memory::machine_memory(survey);
    if host.memory_total.is_some() {
        host.memory_decided_by = Some(PathBuf::from(memory::MEMINFO));
    }
    let Some(place) = cgroups.place(survey, "memory") else {
        return;
    };
    if let Some(dirs) = &place.dirs {
        let MemoryLimits {
            hard,
            high,
            swap,
            with_swap,
        } = memory::limits(survey, dirs);
        if let Some((limit, file)) = hard {
            host.memory_limit = Some(limit);
            if host.memory_total.is_none_or(|total| limit <= total) {
                host.memory_decided_by = Some(file);
            }
        }
        (host.memory_high, host.swap_limit, host.memory_plus_swap_limit) = (high, swap, with_swap);
        // v1 has the hidden ancestors' limit in memory.stat.
        if place.hidden && dirs.hierarchy == super::Hierarchy::V2 {
            survey.warn(hidden("memory"));
        }
    }
    host.memory_cgroup = place.dirs;
}

fn hidden(controller: &str) -> Caveat {
    Caveat::AncestorsHidden {
        controller: controller.to_owned(),
    }
}

/// Fills in what no file could tell on the running system.
fn ask_the_system(host: &mut Host) {
    if host.affinity_cpus.is_none() {
        // Where there is no /proc this counts the online CPUs.
        let cpus = std::thread::available_parallelism().ok();
        host.affinity_cpus = cpus.and_then(|n| u32::try_from(n.get()).ok());
        host.online_cpus = host.online_cpus.or(host.affinity_cpus);
    }
    if host.memory_total.is_none()
        && let Ok(mut system) = sysinfo::System::new()
    {
        system.refresh_memory();
        host.memory_total = Some(crate::units::Bytes(system.total_memory())).filter(|b| b.0 > 0);
        host.memory_available = Some(crate::units::Bytes(system.available_memory())).filter(|b| b.0 > 0);
    }
}

/// Takes the smaller of each pair and says what is odd about it.
fn decide(host: &mut Host, survey: &mut Survey) {
    let affinity = host.affinity_cpus.map(f64::from);
    host.usable_cpus = match (affinity, &host.quota) {
        // At the same figure the quota is the tighter: it counts time on all CPUs together.
        (affinity, Some(quota)) if affinity.is_none_or(|a| quota.cpus <= a) => {
            host.cpu_decided_by = Some(quota.file.clone());
            if !quota.quota_us.is_multiple_of(quota.period_us) {
                survey.warn(Caveat::CpuFraction { cpus: quota.cpus });
            }
            Some(quota.cpus)
        }
        (affinity, _) => affinity,
    };
    host.usable_memory = match (host.memory_limit, host.memory_total) {
        (Some(limit), Some(total)) => Some(limit.min(total)),
        (limit, total) => limit.or(total),
    };
    if let (Some(limit), Some(total)) = (host.memory_limit, host.memory_total)
        && limit > total
    {
        survey.warn(Caveat::LimitAboveRam { limit, total });
    }
    if let (Some(high), Some(usable)) = (host.memory_high, host.usable_memory)
        && high < usable
    {
        survey.warn(Caveat::MemoryHighBelowMax { high, usable });
    }
}
