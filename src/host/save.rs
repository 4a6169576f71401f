//! A copy of what the probe reads, to look at elsewhere: `probe` on the copy gives the same answer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::machine::{CPUINFO, MODEL_LABELS};
use super::memory::MEMINFO;
use super::mountinfo::{Mount, Mounts};
use super::probe::{CONTROLLERS, MOUNTINFO, probe_with};
use super::reader::{Reader, Seen};
use super::{Host, cpu, values};

/// Why a copy could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The directory holds something already.
    #[error("{} is not empty: the copy needs a new or an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// Writing failed.
    #[error("{} could not be written: {error}", .path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// Probes `root` and copies into `dir` the files that the probe read, and no others.
///
/// Of `mountinfo`, `status`, `meminfo` and `cpuinfo` only the lines that matter are kept. A file that could not be
/// read becomes a directory of its name, so that it cannot be read in the copy either.
///
/// # Errors
/// When `dir` is not empty or cannot be written.
pub fn save(root: &Path, dir: &Path) -> Result<Host, SaveError> {
    let reader = Reader::recording(root);
    let host = probe_with(&reader);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| SaveError::Write { path, error }
    };
    fs::create_dir_all(dir).map_err(failed(dir))?;
    if fs::read_dir(dir).map_err(failed(dir))?.next().is_some() {
        return Err(SaveError::NotEmpty(dir.to_owned()));
    }
    for (path, seen) in reader.into_record() {
        let target = dir.join(&path);
        let write = || match &seen {
            Seen::Unreadable => fs::create_dir_all(&target),
            // Something may have been created below it already.
            Seen::Exists if target.exists() => Ok(()),
            Seen::Exists => create(&target, b""),
            Seen::Content(bytes) => create(&target, &kept(&path, bytes)),
        };
        write().map_err(failed(&target))?;
    }
    Ok(host)
}

fn create(target: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(target, bytes)
}

/// The part of a file that the probe uses.
fn kept(path: &Path, bytes: &[u8]) -> Vec<u8> {
    match path.to_str() {
        Some(MOUNTINFO) => mountinfo(bytes),
        Some(cpu::STATUS) => lines(bytes, &["Cpus_allowed_list"]),
        Some(MEMINFO) => lines(bytes, &["MemTotal", "MemAvailable"]),
        // Not the other lines: some boards show a serial number.
        Some(CPUINFO) => lines(bytes, &MODEL_LABELS),
        _ => bytes.to_vec(),
    }
}

/// The first line of each label.
fn lines(bytes: &[u8], labels: &[&str]) -> Vec<u8> {
    let line = |label: &&str| {
        let found = bytes
            .split(|&b| b == b'\n')
            .find(|line| values::labelled(line, label).is_some())?;
        Some([found, b"\n"].concat())
    };
    labels.iter().filter_map(line).collect::<Vec<_>>().concat()
}

/// The mounts that count, without the sources and options of others: those may name what nobody else should see.
fn mountinfo(bytes: &[u8]) -> Vec<u8> {
    let mounts = Mounts::parse(bytes);
    let above = |mount: &Mount| Path::new(cpu::ONLINE).starts_with(&mount.point);
    let mut out = Vec::new();
    for mount in &mounts.list {
        if mount.is_v1() || mount.is_v2() {
            let kept = CONTROLLERS.into_iter().chain(["noprefix"]).filter(|o| mount.has(o));
            out.extend(mount.line(&mount.root, &kept.collect::<Vec<_>>().join(",")));
        } else if mounts.lxcfs().any(|m| m == mount) || above(mount) {
            out.extend(mount.line(b"/", "rw"));
        }
    }
    if mounts.malformed.is_some() {
        out.extend(b"malformed cgroup line\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_is_kept() {
        let text =
            b"1 0 8:2 / / rw - ext4 /dev/secret rw,errors=x\n2 1 0:5 /home/me /mnt/private rw - ext4 /dev/x rw\n\
            3 1 0:26 /a\\040b /sys/fs/cgroup rw shared:1 - cgroup cgroup rw,memory,release_agent=/x\n4 bad cgroup\n";
        let kept = String::from_utf8(mountinfo(text)).unwrap();
        assert_eq!(
            kept,
            "0 0 0:0 / / rw - ext4 none rw\n0 0 0:0 /a\\040b /sys/fs/cgroup rw - cgroup none memory\nmalformed cgroup line\n"
        );
        assert!(Mounts::parse(kept.as_bytes()).malformed.is_some());
        assert_eq!(
            lines(b"Name:\tx\nCpus_allowed_list:\t0-3\n", &["Cpus_allowed_list"]),
            b"Cpus_allowed_list:\t0-3\n"
        );
    }

    #[test]
    fn a_directory_in_use_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("mine"), "").unwrap();
        assert!(matches!(save(root.path(), dir.path()), Err(SaveError::NotEmpty(_))));
        let file = dir.path().join("mine");
        assert!(matches!(save(root.path(), &file), Err(SaveError::Write { .. })));
        assert!(save(root.path(), &dir.path().join("new/copy")).is_ok());
    }
}
