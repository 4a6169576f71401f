//! What must not outlive the program: live children and measuring cgroups, for a handler of Ctrl-C.
//!
//! Guards remove their own on drop; an interrupt that ends the process runs no destructors, so it calls [`release_all`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

#[derive(Debug, PartialEq, Eq)]
enum Resource {
    /// A child that was not reaped, so its number is still its own.
    Child(Pid),
    /// A cgroup directory that this program made.
    Cgroup(PathBuf),
}

static LIVE: Mutex<Vec<Resource>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<Resource>> {
    // A panic elsewhere must not keep the rest from being released.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(resource: &Resource) {
    let mut list = live();
    if let Some(at) = list.iter().position(|r| r == resource) {
        list.swap_remove(at);
    }
}

pub(super) fn add_child(pid: Pid) {
    live().push(Resource::Child(pid));
}

/// To be called before the child is reaped: afterwards its number may be another process's.
pub(super) fn forget_child(pid: Pid) {
    forget(&Resource::Child(pid));
}

pub(super) fn add_cgroup(dir: &Path) {
    live().push(Resource::Cgroup(dir.to_owned()));
}

pub(super) fn forget_cgroup(dir: &Path) {
    forget(&Resource::Cgroup(dir.to_owned()));
}

/// Kills all live children and removes all measuring cgroups. Waits for half a second at most for each cgroup to empty.
///
/// Safe to call from any thread at any time, also twice.
pub fn release_all() {
    let list = {
        // Under the lock: a guard forgets its child before it reaps it, so no number here belongs to another process.
        let mut list = live();
        for resource in list.iter() {
            if let Resource::Child(pid) = resource {
                // Already dead is what is wanted.
                let _ = kill_process(*pid, Signal::KILL);
            }
        }
        std::mem::take(&mut *list)
    };
    for resource in list {
        if let Resource::Cgroup(dir) = resource {
            let _ = remove_cgroup(&dir);
        }
    }
}

/// Removes a cgroup's directory, with patience: a killed member leaves it only when the kernel has ended it.
pub(super) fn remove_cgroup(dir: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..50 {
        last = match fs::remove_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => Err(e),
            Ok(()) => return Ok(()),
        };
        thread::sleep(Duration::from_millis(10));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_is_idempotent() {
        let dir = tempfile::tempdir().unwrap();
        let group = dir.path().join("group");
        fs::create_dir(&group).unwrap();
        assert!(remove_cgroup(&group).is_ok());
        assert!(!group.exists());
        assert!(remove_cgroup(&group).is_ok());
    }
}
