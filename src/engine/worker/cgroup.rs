//! A memory cgroup for one child, where one may be made: below this process's own group (v1), or beside it in a group that
//! has no members and is delegated to this user (v2, where a group with members has no memory groups below it). Never at a
//! mount's root, where it would leave the limits that this process is under.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use cgroups_rs::memory::MemController;
use cgroups_rs::{Cgroup, CgroupPid, Hierarchy, Subsystem};

use crate::engine::cleanup;
use crate::units::Bytes;

/// The memory controller alone, with the process's own group as its root. `cgroups_rs::hierarchies::auto` would create in
/// every controller's hierarchy, at the top of the mount.
#[derive(Debug, Clone)]
struct Below(PathBuf);

impl Hierarchy for Below {
    fn subsystems(&self) -> Vec<Subsystem> {
        vec![Subsystem::Mem(MemController::new(self.0.clone(), false))]
    }

    fn root(&self) -> PathBuf {
        self.0.clone()
    }

    fn root_control_group(&self) -> Cgroup {
        Cgroup::load(Box::new(self.clone()), "")
    }

    fn parent_control_group(&self, _path: &str) -> Cgroup {
        self.root_control_group()
    }

    fn v2(&self) -> bool {
        false
    }
}

/// Where a group's figures are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Version {
    const fn now(self) -> &'static str {
        match self {
            Self::V1 => "memory.usage_in_bytes",
            Self::V2 => "memory.current",
        }
    }

    const fn peak(self) -> &'static str {
        match self {
            Self::V1 => "memory.max_usage_in_bytes",
            Self::V2 => "memory.peak",
        }
    }
}

/// A group of this program's own. Removed on drop, by which time its member must be dead.
#[derive(Debug)]
pub struct MeasuringGroup {
    dir: PathBuf,
    version: Version,
    idle: Bytes,
}

impl MeasuringGroup {
    /// Makes a group below or beside `own`, this process's own memory cgroup directory.
    ///
    /// # Errors
    /// The reason in words, usually that it is not allowed. Nothing is left behind then.
    pub fn below(own: &Path) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (parent, version) = place(own, rustix::process::geteuid().as_raw())?;
        let name = format!("hashtune-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = parent.join(&name);
        // Known to the clean-up before it exists: the other way round, an interrupt in between would leave it.
        cleanup::add_cgroup(&dir);
        let made = Self {
            dir,
            version,
            idle: Bytes(0),
        };
        match version {
            Version::V1 => {
                Cgroup::new(Box::new(Below(parent)), &name).map_err(|e| e.to_string())?;
            }
            // cgroups-rs would write to `subtree_control` of a group in use.
            Version::V2 => fs::create_dir(&made.dir).map_err(|e| format!("{}: {e}", made.dir.display()))?,
        }
        // cgroups-rs only logs a directory that could not be made: its files tell.
        made.read(version.peak())?;
        if version == Version::V2 {
            made.keep_limits_of(own)?;
        }
        Ok(made)
    }

    /// Beside the own group its limits would not hold.
    fn keep_limits_of(&self, own: &Path) -> Result<(), String> {
        for name in ["memory.max", "memory.high", "memory.swap.max"] {
            let file = self.dir.join(name);
            // Without swap in the kernel there is no such file.
            if let Ok(limit) = fs::read(own.join(name)) {
                fs::write(&file, limit).map_err(|e| format!("{}: {e}", file.display()))?;
            }
        }
        Ok(())
    }

    /// Moves a process in. What it touched before stays charged to its old group.
    ///
    /// # Errors
    /// The reason in words.
    pub fn admit(&self, pid: u32) -> Result<(), String> {
        match (self.version, self.dir.parent(), self.dir.file_name()) {
            (Version::V1, Some(own), Some(name)) => Cgroup::load(Box::new(Below(own.to_owned())), Path::new(name))
                .add_task_by_tgid(CgroupPid::from(u64::from(pid)))
                .map_err(|e| e.to_string()),
            _ => {
                let file = self.dir.join("cgroup.procs");
                fs::write(&file, pid.to_string()).map_err(|e| format!("{}: {e}", file.display()))
            }
        }
    }

    /// Notes what the idle member is charged with.
    ///
    /// # Errors
    /// The reason in words.
    pub fn begin(&mut self) -> Result<(), String> {
        self.idle = self.read(self.version.now())?;
        Ok(())
    }

    /// The most that was charged at once, above idle.
    ///
    /// # Errors
    /// The reason in words.
    pub fn peak(&self) -> Result<Bytes, String> {
        let peak = self.read(self.version.peak())?;
        Ok(Bytes(peak.0.saturating_sub(self.idle.0)))
    }

    /// cgroups-rs reads a missing file as 0, which is a figure: so not with it.
    fn read(&self, name: &str) -> Result<Bytes, String> {
        let file = self.dir.join(name);
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let bytes = text.trim().parse().map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(Bytes(bytes))
    }
}

impl Drop for MeasuringGroup {
    fn drop(&mut self) {
        if cleanup::remove_cgroup(&self.dir).is_ok() {
            cleanup::forget_cgroup(&self.dir);
        }
    }
}

/// The group below which `user` may make one, and of which version.
fn place(own: &Path, user: u32) -> Result<(PathBuf, Version), String> {
    let refused = match version(own) {
        Ok(version) => return Ok((own.to_owned(), version)),
        Err(refused) => refused,
    };
    // What root owns is not delegated, even if root asks: systemd, for one, keeps its groups to itself.
    let delegated = |dir: &Path| user != 0 && fs::metadata(dir).is_ok_and(|m| m.uid() == user);
    let above = own.parent().filter(|_| own.join("cgroup.subtree_control").exists());
    match above.filter(|dir| delegated(dir)).map(|dir| (dir, version(dir))) {
        Some((dir, Ok(Version::V2))) => Ok((dir.to_owned(), Version::V2)),
        Some((_, Err(why))) => Err(format!("{refused}; {why}")),
        _ => Err(refused),
    }
}

/// Whether a group may be made below `own`, and of which version.
fn version(own: &Path) -> Result<Version, String> {
    let refuse = |reason: &str| Err(format!("{}: {reason}", own.display()));
    let device = |dir: &Path| fs::metadata(dir).map(|m| m.dev());
    match (device(own), device(&own.join(".."))) {
        (Err(e), _) => return refuse(&e.to_string()),
        (Ok(here), Ok(above)) if here == above => {}
        _ => return refuse("the root of a mount: no group is made there"),
    }
    if own.join(Version::V1.now()).exists() {
        // A mount's root may lie on its parent's device (a bind mount): the parent of a real group is a group.
        let parent_is_group = own.join("..").join(Version::V1.now()).exists();
        return if parent_is_group {
            Ok(Version::V1)
        } else {
            refuse("the top of the memory hierarchy: no group is made there")
        };
    }
    let read = |name: &str| fs::read_to_string(own.join(name));
    let (Ok(members), Ok(enabled)) = (read("cgroup.procs"), read("cgroup.subtree_control")) else {
        return refuse("not a memory cgroup");
    };
    if !members.trim().is_empty() {
        return refuse("the group has members, so cgroup v2 allows no memory group below it");
    }
    if !enabled.split_whitespace().any(|c| c == "memory") {
        return refuse("the memory controller is not delegated to groups below");
    }
    Ok(Version::V2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_root_of_a_mount_is_refused() {
        assert!(version(Path::new("/proc")).unwrap_err().contains("root of a mount"));
        assert!(version(Path::new("/")).is_err());
        assert!(version(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    fn v1_needs_a_group_above() {
        let root = tree(&[
            ("top/memory.usage_in_bytes", "1"),
            ("top/own/memory.usage_in_bytes", "1"),
        ]);
        assert_eq!(version(&root.path().join("top/own")), Ok(Version::V1));
        assert!(version(&root.path().join("top")).unwrap_err().contains("top"));
    }

    #[test]
    fn v2_needs_a_delegated_group_without_members() {
        let root = tree(&[
            ("used/cgroup.procs", "1\n"),
            ("used/cgroup.subtree_control", "memory\n"),
            ("bare/cgroup.procs", ""),
            ("bare/cgroup.subtree_control", "cpu\n"),
            ("good/cgroup.procs", ""),
            ("good/cgroup.subtree_control", "cpu memory\n"),
        ]);
        assert!(version(&root.path().join("used")).unwrap_err().contains("members"));
        assert!(version(&root.path().join("bare")).unwrap_err().contains("delegated"));
        assert_eq!(version(&root.path().join("good")), Ok(Version::V2));
        // A process is a member of its own group, so the one above counts. It must be the user's.
        let own = root.path().join("good/own");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("cgroup.procs"), "1\n").unwrap();
        fs::write(own.join("cgroup.subtree_control"), "").unwrap();
        let owner = fs::metadata(root.path().join("good")).unwrap().uid();
        if owner == 0 {
            std::os::unix::fs::chown(root.path().join("good"), Some(1000), None).unwrap();
        }
        let user = if owner == 0 { 1000 } else { owner };
        assert_eq!(place(&own, user), Ok((root.path().join("good"), Version::V2)));
        assert!(place(&own, user + 1).unwrap_err().contains("members"));
        assert!(place(&own, 0).is_err());
        fs::remove_dir_all(&own).unwrap();
        // No memory.peak appears in a plain directory: refused, and nothing left.
        assert!(MeasuringGroup::below(&root.path().join("good")).is_err());
        let left = fs::read_dir(root.path().join("good")).unwrap().count();
        assert_eq!(left, 2);
    }
}
