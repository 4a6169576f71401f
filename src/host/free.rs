//! How much memory is free right now, for those who are about to allocate.

use std::path::Path;

use super::reader::Reader;
use super::values::{self, Bound};
use super::{Hierarchy, Host, memory};
use crate::units::Bytes;

impl Host {
    /// Memory that this process can still take before a limit stops or slows it: the least over the visible memory
    /// cgroups of limit less use, `MemAvailable`, and on the running system the address-space and data limits of
    /// the process. Inactive file cache counts as free, as the kernel gives it back first.
    ///
    /// Reads the files anew at every call. An upper bound: others may take the same memory. `None` where nothing
    /// could be read.
    pub fn memory_free(&self) -> Option<Bytes> {
        let reader = Reader::new(&self.root);
        let groups = self.memory_cgroup.iter().flat_map(|cgroup| {
            let free = |(level, dir): (usize, _)| match cgroup.hierarchy {
                Hierarchy::V2 => v2_free(&reader, dir),
                Hierarchy::V1 => v1_free(&reader, dir, level == 0),
            };
            cgroup
                .dirs
                .iter()
                .map(std::path::PathBuf::as_path)
                .enumerate()
                .filter_map(free)
                .collect::<Vec<_>>()
        });
        let machine = reader.content(memory::MEMINFO);
        let machine = machine.and_then(|text| values::kib(values::labelled(&text, "MemAvailable")?));
        let process = self.own_limit_free().map(|(free, _)| free);
        groups.chain(machine).chain(process).min()
    }

    /// What the process's own resource limits leave, on the running system, and how the tighter one is set: `ulimit -v` or
    /// `ulimit -d`. `None` without such a limit.
    pub fn own_limit_free(&self) -> Option<(Bytes, &'static str)> {
        self.is_live().then(|| process_free(&Reader::new(&self.root))).flatten()
    }
}

/// The bound in a file, `None` for no limit and for what cannot be read.
fn finite(reader: &Reader, dir: &Path, name: &str, parse: fn(&[u8]) -> Option<Bound<Bytes>>) -> Option<Bytes> {
    match parse(&reader.content(dir.join(name))?)? {
        Bound::Finite(bytes) => Some(bytes),
        Bound::Unlimited => None,
    }
}

fn v2_free(reader: &Reader, dir: &Path) -> Option<Bytes> {
    let hard = finite(reader, dir, "memory.max", values::v2_memory);
    let high = finite(reader, dir, "memory.high", values::v2_memory);
    let limit = hard.into_iter().chain(high).min()?;
    let stat = reader.content(dir.join("memory.stat")).unwrap_or_default();
    Some(left(
        limit,
        used(reader, dir, "memory.current"),
        values::keyed_number(&stat, "inactive_file"),
    ))
}

fn v1_free(reader: &Reader, dir: &Path, own: bool) -> Option<Bytes> {
    let stat = reader.content(dir.join("memory.stat")).unwrap_or_default();
    let set = finite(reader, dir, "memory.limit_in_bytes", values::v1_memory);
    // Ancestors that cannot be seen hold at least what the own cgroup holds.
    let applied = values::keyed(&stat, "hierarchical_memory_limit").filter(|_| own);
    let limit = match applied.and_then(values::v1_memory) {
        Some(Bound::Finite(bytes)) => bytes,
        Some(Bound::Unlimited) => return None,
        None => set?,
    };
    // The total_ figures include the children, as the use does.
    let cache =
        values::keyed_number(&stat, "total_inactive_file").or_else(|| values::keyed_number(&stat, "inactive_file"));
    Some(left(limit, used(reader, dir, "memory.usage_in_bytes"), cache))
}

fn used(reader: &Reader, dir: &Path, name: &str) -> Option<Bytes> {
    values::bytes(&reader.content(dir.join(name))?)
}

fn left(limit: Bytes, used: Option<Bytes>, cache: Option<u64>) -> Bytes {
    let held = used.map_or(0, |b| b.0).saturating_sub(cache.unwrap_or(0));
    Bytes(limit.0.saturating_sub(held))
}

/// What the process's own resource limits leave.
fn process_free(reader: &Reader) -> Option<(Bytes, &'static str)> {
    use rustix::process::{Resource, getrlimit};
    let statm = reader.content("proc/self/statm")?;
    let pages: Vec<u64> = statm
        .trim_ascii()
        .split(|&b| b == b' ')
        .filter_map(values::number)
        .collect();
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    // The sixth figure counts data and stack, which is what RLIMIT_DATA is held against (and a little more).
    [(Resource::As, 0, "ulimit -v"), (Resource::Data, 5, "ulimit -d")]
        .into_iter()
        .filter_map(|(resource, field, name)| {
            let limit = getrlimit(resource).current?;
            let free = Bytes(limit.saturating_sub(pages.get(field)?.saturating_mul(page)));
            Some((free, name))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::super::probe;
    use super::*;
    use std::fs;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    #[test]
    fn the_tightest_level_decides_on_v2() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 c rw\n"),
            ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 900 kB\n"),
            ("c/a/b/memory.max", "max\n"),
            ("c/a/b/memory.current", "1\n"),
            ("c/a/memory.max", "100000\n"),
            ("c/a/memory.current", "60000\n"),
            ("c/a/memory.stat", "anon 1\ninactive_file 20000\n"),
            ("c/cgroup.procs", ""),
        ]);
        assert_eq!(probe(root.path()).memory_free(), Some(Bytes(60_000)));
        fs::write(root.path().join("c/a/b/memory.high"), "30000\n").unwrap();
        assert_eq!(probe(root.path()).memory_free(), Some(Bytes(29_999)));
        fs::write(root.path().join("proc/meminfo"), "MemAvailable: 10 kB\n").unwrap();
        assert_eq!(probe(root.path()).memory_free(), Some(Bytes(10_240)));
        fs::write(root.path().join("c/a/memory.max"), "0\n").unwrap();
        assert_eq!(probe(root.path()).memory_free(), Some(Bytes(0)));
    }

    #[test]
    fn the_hierarchical_figure_counts_on_v1() {
        let root = tree(&[
            ("proc/self/cgroup", "4:memory:/a\n"),
            ("proc/self/mountinfo", "1 0 0:1 /a /m rw - cgroup c rw,memory\n"),
            ("m/memory.limit_in_bytes", "9223372036854771712\n"),
            ("m/memory.usage_in_bytes", "5000\n"),
            (
                "m/memory.stat",
                "inactive_file 1\nhierarchical_memory_limit 9000\ntotal_inactive_file 1000\n",
            ),
        ]);
        assert_eq!(probe(root.path()).memory_free(), Some(Bytes(5_000)));
    }

    #[test]
    fn the_running_system_answers() {
        let free = probe(Path::new("/")).memory_free();
        assert!(
            free.is_some_and(|b| b.0 > 0) || !Path::new("/proc/meminfo").exists(),
            "{free:?}"
        );
    }
}
