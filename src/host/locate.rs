//! From a membership path to directories: where the process's own cgroup shows, and its visible ancestors.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::membership::{Home, Membership};
use super::mountinfo::{Mount, Mounts};
use super::probe::CONTROLLERS as COUNTED;
use super::reader::Reader;
use super::{CgroupDirs, Hierarchy};

/// Files that the walk reads. A directory of that name is a file that cannot be read, not a child cgroup.
const LIMIT_FILES: [&str; 7] = [
    "cpu.max",
    "memory.max",
    "memory.high",
    "memory.stat",
    "cpu.cfs_quota_us",
    "memory.limit_in_bytes",
    "cpuset.cpus",
];
/// What stands before the dot in the name of a cgroup file.
const CONTROLLERS: [&str; 16] = [
    "cgroup",
    "cpu",
    "cpuset",
    "cpuacct",
    "memory",
    "pids",
    "io",
    "blkio",
    "hugetlb",
    "rdma",
    "misc",
    "devices",
    "freezer",
    "net_cls",
    "net_prio",
    "perf_event",
];
/// Names without a dot: those of every v1 cgroup, and of a cpuset mounted with `noprefix`.
const BARE_FILES: [&str; 6] = [
    "tasks",
    "notify_on_release",
    "release_agent",
    "cpus",
    "effective_cpus",
    "mems",
];

/// What could be found out about one controller's cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The own directory, or the nearest ancestor that can be seen, and those above it.
    /// `None` where no limit that can be seen binds the process.
    pub(super) dirs: Option<CgroupDirs>,
    /// The path as the membership file has it; empty where it has none.
    pub(super) path: Vec<u8>,
    /// The own directory was not found.
    pub(super) not_found: bool,
    /// The path begins with `/..`.
    pub(super) outside: bool,
    /// The mount does not start at the real root.
    pub(super) hidden: bool,
    /// A v1 cpuset whose files have no `cpuset.` in front.
    pub(super) noprefix: bool,
}

/// How a mount relates to the process's cgroup, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// The own directory is there.
    Own,
    /// Only an ancestor's directory is there.
    Ancestor,
}

/// Finds the directories of a controller. `None` where the system has no such controller as far as can be seen.
pub(super) fn locate(reader: &Reader, mounts: &Mounts, membership: &Membership, controller: &str) -> Option<Place> {
    let (hierarchy, path, candidates): (_, &[u8], Vec<&Mount>) = match membership.home(controller) {
        Home::V1(path) => (Hierarchy::V1, path, mounts.v1(controller).collect()),
        // Any other path names a group of that hierarchy, whose limits are lost with it.
        Home::V2(b"/") if nowhere(mounts, controller) => return None,
        Home::V2(path) => (Hierarchy::V2, path, mounts.v2().collect()),
        Home::Unknown if mounts.v1(controller).next().is_some() || mounts.v2().next().is_some() => {
            return Some(Place::unknown(b""));
        }
        Home::Unknown => return None,
    };
    let best = candidates
        .iter()
        .filter_map(|mount| reach(reader, mount, path).map(|(how, dirs)| (how, mount, dirs)))
        // Of equals, the mount that shows most of the ancestors tells most; then the first.
        .min_by_key(|(how, mount, _)| (*how, components(&mount.root).len()));
    let Some((how, mount, dirs)) = best else {
        return Some(Place::unknown(path));
    };
    let top = dirs.last().cloned().unwrap_or_default();
    Some(Place {
        not_found: how != Reach::Own,
        outside: begins_outside(path),
        hidden: !components(&mount.root).is_empty()
            // The real root of the unified hierarchy has no type: seen here, it is a namespace's root.
            || (hierarchy == Hierarchy::V2 && reader.exists(top.join("cgroup.type"))),
        noprefix: mount.has("noprefix"),
        path: path.to_vec(),
        dirs: Some(CgroupDirs { hierarchy, dirs }),
    })
}

/// Whether v1 hierarchies are mounted, but none that carries the controller and no unified one: then the `0::` line,
/// which lists the process for every controller without a v1 hierarchy, speaks of nothing that could have been lost.
fn nowhere(mounts: &Mounts, controller: &str) -> bool {
    let v1 = |name| mounts.v1(name).next().is_some();
    // A line that could not be understood may be the mount.
    mounts.malformed.is_none() && mounts.v2().next().is_none() && !v1(controller) && COUNTED.into_iter().any(v1)
}

impl Place {
    /// No directory: either nothing is known, or the process is not inside what is mounted.
    fn unknown(path: &[u8]) -> Self {
        let outside = begins_outside(path);
        Self {
            dirs: None,
            path: path.to_vec(),
            not_found: !outside,
            outside,
            hidden: false,
            noprefix: false,
        }
    }
}

/// The directories that the mount shows of the process's cgroup and its ancestors, own first.
fn reach(reader: &Reader, mount: &Mount, path: &[u8]) -> Option<(Reach, Vec<PathBuf>)> {
    let (mut how, below) = match relate(&mount.root, path) {
        Relation::Below(below) => (Reach::Own, below),
        Relation::Ancestor => (Reach::Ancestor, Vec::new()),
        Relation::Elsewhere => return None,
    };
    let mut dirs = vec![mount.point.clone()];
    for part in below {
        let dir = dirs[dirs.len() - 1].join(OsStr::from_bytes(part));
        dirs.push(dir);
    }
    dirs.reverse();
    let present = dirs.iter().position(|dir| is_cgroup(reader, dir))?;
    if present > 0 {
        how = Reach::Ancestor;
    }
    Some((how, dirs.split_off(present)))
}

/// How a cgroup path lies to a mount root in the same coordinates.
#[derive(Debug, PartialEq, Eq)]
enum Relation<'a> {
    /// The mount point joined with these names.
    Below(Vec<&'a [u8]>),
    /// The mount point is an ancestor; the name of the own directory is not known.
    Ancestor,
    /// Not inside the mount.
    Elsewhere,
}

fn relate<'a>(root: &'a [u8], path: &'a [u8]) -> Relation<'a> {
    let (root, path) = (components(root), components(path));
    let (root_up, path_up) = (ups(&root), ups(&path));
    let (root_names, path_names) = (&root[root_up..], &path[path_up..]);
    if path_names.iter().chain(root_names).any(|p| *p == b".." || *p == b".") {
        // The kernel writes no such path, and joining it would climb.
        return Relation::Elsewhere;
    }
    if root_up > path_up && root_names.is_empty() {
        return Relation::Ancestor;
    }
    match path_names.strip_prefix(root_names) {
        Some(below) if root_up == path_up => Relation::Below(below.to_vec()),
        _ => Relation::Elsewhere,
    }
}

fn components(path: &[u8]) -> Vec<&[u8]> {
    path.split(|&b| b == b'/').filter(|p| !p.is_empty()).collect()
}

fn ups(parts: &[&[u8]]) -> usize {
    parts.iter().take_while(|p| **p == b"..").count()
}

fn begins_outside(path: &[u8]) -> bool {
    components(path).first() == Some(&b"..".as_slice())
}

/// A directory without any cgroup file is no cgroup: the mount may be covered by another one.
fn is_cgroup(reader: &Reader, dir: &Path) -> bool {
    let is = |names: &[&str], name: &[u8]| names.iter().any(|n| n.as_bytes() == name);
    reader.any_entry(dir, |name, is_dir| {
        if is_dir {
            return is(&LIMIT_FILES, name);
        }
        match name.iter().position(|&b| b == b'.') {
            Some(dot) => is(&CONTROLLERS, &name[..dot]),
            None => is(&BARE_FILES, name),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_and_roots_share_coordinates() {
        use Relation::{Ancestor, Below, Elsewhere};
        let below = |names: &[&'static str]| Below(names.iter().map(|n| n.as_bytes()).collect());
        for (root, path, expected) in [
            ("/", "/", below(&[])),
            ("/", "/a/b", below(&["a", "b"])),
            ("/a", "/a", below(&[])),
            ("/a", "/a/b", below(&["b"])),
            ("/a", "/ab", Elsewhere),
            ("/a/b", "/a", Elsewhere),
            ("/", "/../x", Elsewhere),
            ("/", "/..", Elsewhere),
            ("/..", "/", Ancestor),
            ("/..", "/a", Ancestor),
            ("/..", "/..", below(&[])),
            ("/..", "/../x", below(&["x"])),
            ("/..", "/../../x", Elsewhere),
            ("/../..", "/..", Ancestor),
            ("/../..", "/../../x/y", below(&["x", "y"])),
            ("/../a", "/", Elsewhere),
            ("/../a", "/../a/b", below(&["b"])),
            ("/../a", "/../b", Elsewhere),
            ("/", "/a/../b", Elsewhere),
            ("/x//deleted", "/x", Elsewhere),
        ] {
            assert_eq!(relate(root.as_bytes(), path.as_bytes()), expected, "{root} {path}");
        }
    }

    fn place(files: &[&str], mountinfo: &str, membership: &str, controller: &str) -> Option<Place> {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let (mounts, membership) = (
            Mounts::parse(mountinfo.as_bytes()),
            Membership::parse(membership.as_bytes()),
        );
        locate(&Reader::new(root.path()), &mounts, &membership, controller)
    }

    fn dirs(place: &Place) -> Vec<&str> {
        let dirs = place.dirs.as_ref().map_or(&[][..], |d| &d.dirs);
        dirs.iter().map(|d| d.to_str().unwrap()).collect()
    }

    #[test]
    fn the_reachable_mount_is_taken() {
        let two = "1 0 0:1 /other /a rw - cgroup2 c rw\n2 0 0:1 /x /b rw - cgroup2 c rw\n";
        let found = place(
            &["a/cgroup.procs", "b/y/cgroup.procs", "b/cgroup.procs"],
            two,
            "0::/x/y\n",
            "cpu",
        )
        .unwrap();
        assert_eq!(dirs(&found), ["b/y", "b"]);
        assert!(found.hidden && !found.not_found && !found.outside);
        let same = "1 0 0:1 /x /a rw - cgroup2 c rw\n2 0 0:1 / /b rw - cgroup2 c rw\n";
        let found = place(
            &["a/cgroup.procs", "b/x/cgroup.procs", "b/cgroup.procs"],
            same,
            "0::/x\n",
            "cpu",
        )
        .unwrap();
        assert_eq!(dirs(&found), ["b/x", "b"]);
        let found = place(&["a/cgroup.procs", "b/cgroup.procs"], same, "0::/x\n", "cpu").unwrap();
        assert_eq!(
            dirs(&found),
            ["a"],
            "a mount with the own directory beats one with an ancestor"
        );
    }

    #[test]
    fn the_nearest_existing_ancestor_stands_in() {
        let mount = "1 0 0:1 / /c rw - cgroup2 c rw\n";
        let found = place(
            &["c/cgroup.procs", "c/a/cpu.max", "c/a/b/.keep"],
            mount,
            "0::/a/b/d\n",
            "cpu",
        )
        .unwrap();
        assert_eq!(dirs(&found), ["c/a", "c"]);
        assert!(found.not_found && !found.hidden);
        let found = place(&["c/.keep"], mount, "0::/a\n", "cpu").unwrap();
        assert!(found.dirs.is_none() && found.not_found);
    }

    #[test]
    fn a_v1_line_does_not_fall_back_to_v2() {
        let mount = "1 0 0:1 / /c rw - cgroup2 c rw\n";
        let found = place(&["c/cgroup.procs"], mount, "3:cpu:/\n0::/\n", "cpu").unwrap();
        assert!(found.dirs.is_none() && found.not_found);
        let v1 = "1 0 0:1 / /c rw - cgroup c rw,cpu\n";
        assert_eq!(place(&["c/tasks"], v1, "3:cpu:/\n", "memory"), None);
        assert_eq!(place(&["c/tasks"], v1, "3:cpu:/\n0::/\n", "memory"), None);
        assert!(place(&[], "", "0::/a\n", "memory").unwrap().not_found);
        assert!(place(&["c/tasks"], v1, "0::/\n", "cpu").unwrap().not_found);
        assert!(place(&["c/tasks"], v1, "", "cpu").unwrap().not_found);
    }
}
