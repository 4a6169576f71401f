//! `/proc/self/mountinfo`: which file systems are mounted where.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// One mount, as far as the probe needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// The directory of the mounted file system that shows at the mount point, decoded. May begin with `/..`.
    pub(super) root: Vec<u8>,
    /// Where it is mounted, decoded, relative to the root directory.
    pub(super) point: PathBuf,
    /// For example `cgroup2`.
    pub(super) kind: Vec<u8>,
    /// The file system's own options, comma-separated; may hold raw blanks.
    pub(super) options: Vec<u8>,
}

/// The parsed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    /// In the file's order, only those that nothing later is mounted over at the same place.
    pub(super) list: Vec<Mount>,
    /// The first line that speaks of cgroups and could not be understood. Others cannot matter.
    pub(super) malformed: Option<Vec<u8>>,
}

impl Mounts {
    /// Reads the file. Lines end at LF alone, fields at the space alone; bytes need not be UTF-8.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut mounts = Self::default();
        for line in text.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
            match Mount::parse(line) {
                Some(mount) => mounts.list.push(mount),
                None if mounts.malformed.is_none() && line.windows(6).any(|w| w == b"cgroup") => {
                    mounts.malformed = Some(line.to_vec());
                }
                None => {}
            }
        }
        // Of mounts at the same place the last counts, of whatever kind it is.
        let mut taken = std::collections::HashSet::new();
        mounts.list.reverse();
        mounts.list.retain(|m| taken.insert(m.point.clone()));
        mounts.list.reverse();
        mounts
    }

    /// The mounts of the unified hierarchy.
    pub(super) fn v2(&self) -> impl Iterator<Item = &Mount> {
        self.list.iter().filter(|m| m.is_v2())
    }

    /// The v1 mounts that carry the controller.
    pub(super) fn v1<'a>(&'a self, controller: &'a str) -> impl Iterator<Item = &'a Mount> {
        self.list.iter().filter(move |m| m.is_v1() && m.has(controller))
    }

    /// The lxcfs mounts over files of `/proc` and `/sys`.
    pub(super) fn lxcfs(&self) -> impl Iterator<Item = &Mount> {
        self.list
            .iter()
            .filter(|m| m.is_lxcfs() && (m.point.starts_with("proc") || m.point.starts_with("sys")))
    }

    /// Whether the file comes from lxcfs: whether the nearest mount at or above it is one.
    pub(super) fn shown_by_lxcfs(&self, file: &Path) -> bool {
        self.list
            .iter()
            .filter(|m| file.starts_with(&m.point))
            .max_by_key(|m| m.point.components().count())
            .is_some_and(Mount::is_lxcfs)
    }
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|&b| b == b' ');
        let root = fields.nth(3)?;
        let point = fields.next()?;
        fields.next()?;
        // The optional fields vary in number; the first lone dash ends them.
        fields.by_ref().find(|f| *f == b"-")?;
        let (kind, _source) = (fields.next()?, fields.next()?);
        // What follows may hold raw blanks, even what looks like another dash and type.
        let options = fields.collect::<Vec<_>>().join(&b' ');
        Some(Self {
            root: decode(root),
            point: relative(&decode(point))?,
            kind: kind.to_vec(),
            options,
        })
    }

    /// Whether it is a v1 hierarchy.
    pub(super) fn is_v1(&self) -> bool {
        self.kind == b"cgroup"
    }

    /// Whether it is the unified hierarchy.
    pub(super) fn is_v2(&self) -> bool {
        self.kind == b"cgroup2"
    }

    /// A line that reads as this mount, with another root and other options.
    pub(super) fn line(&self, root: &[u8], options: &str) -> Vec<u8> {
        let point = [b"/", self.point.as_os_str().as_bytes()].concat();
        let (root, point) = (encode(root), encode(&point));
        let (kind, options) = (self.kind.as_slice(), options.as_bytes());
        [
            b"0 0 0:0 ",
            &root[..],
            b" ",
            &point,
            b" rw - ",
            kind,
            b" none ",
            options,
            b"\n",
        ]
        .concat()
    }

    fn is_lxcfs(&self) -> bool {
        self.kind == b"fuse.lxcfs"
    }

    /// Whether the option is set, as a whole word.
    pub(super) fn has(&self, option: &str) -> bool {
        self.options
            .split(|&b| b == b',')
            .any(|o| o.trim_ascii() == option.as_bytes())
    }
}

/// Resolves three-digit octal escapes; anything else after a backslash stays as it is.
fn decode(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

/// The inverse of [`decode`].
fn encode(path: &[u8]) -> Vec<u8> {
    let escaped = |&b: &u8| match b {
        b' ' | b'\t' | b'\n' | b'\\' => format!("\\{b:03o}").into_bytes(),
        _ => vec![b],
    };
    path.iter().flat_map(escaped).collect()
}

/// An absolute path as one relative to the root; `None` where it is not absolute or could climb.
pub(super) fn relative(path: &[u8]) -> Option<PathBuf> {
    let path = path.strip_prefix(b"/")?;
    let mut out = PathBuf::new();
    for part in path.split(|&b| b == b'/').filter(|p| !p.is_empty()) {
        if part == b".." || part == b"." {
            return None;
        }
        out.push(OsString::from_vec(part.to_vec()));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &[u8]) -> Mount {
        Mounts::parse(line).list.pop().unwrap()
    }

    #[test]
    fn optional_fields_vary() {
        for optional in ["", "shared:9 ", "shared:9 master:2 propagate_from:1 "] {
            let line = format!("29 24 0:26 /r /sys/fs/cgroup rw {optional}- cgroup2 none rw");
            let mount = one(line.as_bytes());
            assert_eq!(
                (mount.root.as_slice(), mount.kind.as_slice()),
                (b"/r".as_slice(), b"cgroup2".as_slice())
            );
            assert_eq!(mount.point, Path::new("sys/fs/cgroup"));
        }
    }

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(decode(b"a\\040b\\011\\012\\134040"), b"a b\t\n\\040");
        assert_eq!(decode(&encode(b"/a b\t\n\\040\xff")), b"/a b\t\n\\040\xff");
        assert_eq!(decode(b"\\9\\04\\400\\"), b"\\9\\04\\400\\");
    }

    #[test]
    fn only_the_first_dash_separates() {
        let mount = one(b"1 2 0:1 / /mnt rw - 9p C:\\134x rw,path=C:\\A B - cgroup2 old rw");
        assert_eq!(mount.kind, b"9p");
        let mount = one(b"1 2 0:1 / /c rw - cgroup  rw,cpu,cpuacct\r");
        assert!(mount.has("cpu") && mount.has("cpuacct") && !mount.has("cpuset"));
    }

    #[test]
    fn the_last_at_a_place_counts() {
        let mounts = Mounts::parse(
            b"1 0 0:1 / /c rw - cgroup2 a rw\n2 1 0:2 / /c rw - tmpfs t rw\n3 2 0:1 /x /c rw - cgroup2 a rw\n4 0 0:1 / /d rw - cgroup2 a rw\n5 4 0:2 / /d rw - tmpfs t rw\n",
        );
        let v2: Vec<_> = mounts.v2().collect();
        assert_eq!(v2.len(), 1);
        assert_eq!(v2[0].root, b"/x");
    }

    #[test]
    fn lxcfs_is_seen_at_or_above_the_file() {
        let online = Path::new("sys/devices/system/cpu/online");
        let sysfs = b"1 0 0:1 / /sys rw - sysfs s rw\n".as_slice();
        let lxcfs = b"2 1 0:9 /cpu /sys/devices/system/cpu rw - fuse.lxcfs lxcfs rw\n".as_slice();
        let back = b"3 2 0:1 /o /sys/devices/system/cpu/online rw - sysfs s rw\n".as_slice();
        assert!(!Mounts::parse(sysfs).shown_by_lxcfs(online));
        assert!(Mounts::parse(&[sysfs, lxcfs].concat()).shown_by_lxcfs(online));
        assert!(!Mounts::parse(&[sysfs, lxcfs, back].concat()).shown_by_lxcfs(online));
        assert!(!Mounts::parse(b"2 1 0:9 / /sys/devices/system/cpu0 rw - fuse.lxcfs l rw\n").shown_by_lxcfs(online));
    }

    #[test]
    fn bad_lines_matter_only_when_they_speak_of_cgroups() {
        assert_eq!(Mounts::parse(b"rubbish\n").malformed, None);
        assert!(
            Mounts::parse(b"29 24 0:26 / /sys/fs/cgroup rw cgroup2\n")
                .malformed
                .is_some()
        );
        assert!(Mounts::parse(b"1 2 0:1 / /../x rw - cgroup2 c rw\n").list.is_empty());
    }
}
