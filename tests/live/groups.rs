//! Real v1 cgroups for a test: made below this process's own, and removed again whatever happens.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// This process's own group in a v1 hierarchy.
///
/// # Errors
/// The reason in words when the kernel offers no such hierarchy, or its group cannot be seen from here.
pub fn own(controller: &str) -> Result<PathBuf, String> {
    let read = |file: &str| fs::read_to_string(file).map_err(|e| format!("{file}: {e}"));
    let membership = read("/proc/self/cgroup")?;
    let path = membership
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        .find(|(names, _)| names.split(',').any(|n| n == controller))
        .map(|(_, path)| path)
        .ok_or_else(|| format!("no v1 {controller} hierarchy"))?;
    for line in read("/proc/self/mountinfo")?.lines() {
        let Some((mount, source)) = line.split_once(" - ") else {
            continue;
        };
        let options = source.rsplit(' ').next().unwrap_or_default();
        if !source.starts_with("cgroup ") || !options.split(',').any(|o| o == controller) {
            continue;
        }
        let fields: Vec<&str> = mount.split(' ').collect();
        let (root, point) = (fields[3], fields[4]);
        let below = Path::new(path).strip_prefix(root);
        let dir = below.map(|rest| Path::new(point).join(rest));
        if let Some(dir) = dir.ok().filter(|d| d.join("cgroup.procs").exists()) {
            return Ok(dir);
        }
    }
    Err(format!("the own {controller} group {path} is not mounted here"))
}

/// A group with one inside it, in one hierarchy.
#[derive(Debug)]
pub struct Nested {
    pub outer: PathBuf,
    pub inner: PathBuf,
}

impl Nested {
    /// Makes both. Where this process is in the hierarchy's root, the outer one is a uniquely named child of it.
    pub fn new(controller: &str) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let outer = own(controller)?.join(format!("hashtune-live-{}-{number}", process::id()));
        let inner = outer.join("inner");
        // First the guard, then the groups.
        let made = Self { outer, inner };
        for dir in [&made.outer, &made.inner] {
            fs::create_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        Ok(made)
    }

    /// Half a CPU on the outer group of the `cpu` hierarchy, or any other quota.
    pub fn cpu(quota_us: u32) -> Result<Self, String> {
        let made = Self::new("cpu")?;
        write(&made.outer.join("cpu.cfs_period_us"), "100000");
        write(&made.outer.join("cpu.cfs_quota_us"), &quota_us.to_string());
        Ok(made)
    }

    /// A limit on the outer group of the `memory` hierarchy.
    pub fn memory(limit: u64) -> Result<Self, String> {
        let made = Self::new("memory")?;
        write(&made.outer.join("memory.limit_in_bytes"), &limit.to_string());
        Ok(made)
    }

    /// The CPUs of a list, on both groups: v1 asks for them at each level.
    pub fn cpuset(cpus: &str) -> Result<Self, String> {
        let own = own("cpuset")?;
        let made = Self::new("cpuset")?;
        let nodes = read(&own.join("cpuset.mems"));
        for dir in [&made.outer, &made.inner] {
            write(&dir.join("cpuset.cpus"), cpus);
            write(&dir.join("cpuset.mems"), &nodes);
        }
        Ok(made)
    }

    /// The processes in the two groups, and the groups that the program under test made in them and left.
    pub fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        for dir in [&self.outer, &self.inner] {
            let procs = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
            left.extend(procs.lines().map(|pid| format!("process {pid} in {}", dir.display())));
            let below = subgroups(dir).into_iter().filter(|d| *d != self.inner);
            left.extend(below.map(|d| format!("group {}", d.display())));
        }
        left
    }

    /// How many processes the kernel killed for memory in the inner group, and how often the limit was hit.
    pub fn kills_and_hits(&self) -> (u64, u64) {
        let control = read(&self.inner.join("memory.oom_control"));
        let kills = control.lines().find_map(|l| l.strip_prefix("oom_kill "));
        let kills = kills.expect("oom_kill in memory.oom_control").parse().unwrap();
        (kills, number(&self.outer.join("memory.failcnt")))
    }

    /// The most memory that was charged to the outer group.
    pub fn peak(&self) -> u64 {
        number(&self.outer.join("memory.max_usage_in_bytes"))
    }

    /// Periods in which the outer group was stopped for its quota.
    pub fn throttled(&self) -> u64 {
        let stat = read(&self.outer.join("cpu.stat"));
        let periods = stat.lines().find_map(|l| l.strip_prefix("nr_throttled "));
        periods.expect("nr_throttled in cpu.stat").parse().unwrap()
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.outer) {
            super::say::say(&format!("{} could not be removed: {error}", self.outer.display()));
        }
    }
}

/// Ends what runs in a group of this test's own and removes it, innermost first. Killed members take a moment to leave.
fn remove(dir: &Path) -> io::Result<()> {
    for below in subgroups(dir) {
        remove(&below)?;
    }
    let mut last = Ok(());
    for _ in 0..200 {
        let procs = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        for pid in procs.lines().filter_map(|l| l.parse().ok()).filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        match fs::remove_dir(dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => last = Err(e),
            _ => return Ok(()),
        }
        thread::sleep(Duration::from_millis(10));
    }
    last
}

fn subgroups(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|e| e.path()).filter(|p| p.is_dir()).collect()
}

fn read(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    text.trim().to_owned()
}

fn number(file: &Path) -> u64 {
    read(file).parse().unwrap()
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).unwrap_or_else(|e| panic!("{} = {text}: {e}", file.display()));
}
