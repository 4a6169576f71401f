//! The one place that touches the file system: reads below a root and can remember what it read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What a read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// The whole content.
    Content(Vec<u8>),
    /// There is no such file: the kernel's way to say that something is not enabled.
    Missing,
    /// The file is there but cannot be read, with the system's reason.
    Unreadable(String),
}

/// What was seen at a path, for [`super::save()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Content(Vec<u8>),
    /// Only that it exists mattered.
    Exists,
    Unreadable,
}

/// More links than this in one path are a loop (the kernel's own bound).
const MAX_LINKS: usize = 40;

/// Reads files below a root; paths are relative to it, links are followed as if it were `/`.
#[derive(Debug)]
pub(super) struct Reader {
    root: PathBuf,
    record: Option<RefCell<BTreeMap<PathBuf, Seen>>>,
}

impl Reader {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            record: None,
        }
    }

    /// A reader that remembers everything it came across.
    pub(super) fn recording(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            record: Some(RefCell::default()),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the root is that of the running system, so that the operating system may be asked as well.
    pub(super) fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Everything seen so far, by path relative to the root.
    pub(super) fn into_record(self) -> BTreeMap<PathBuf, Seen> {
        self.record.map(RefCell::into_inner).unwrap_or_default()
    }

    /// The whole file. Kernel files report no useful size, and mountinfo can be megabytes: no fixed buffer.
    pub(super) fn read(&self, path: impl AsRef<Path>) -> Found {
        let path = path.as_ref();
        let found = self.read_file(path);
        match &found {
            Found::Content(bytes) => self.note(path, || Seen::Content(bytes.clone())),
            Found::Unreadable(_) => self.note(path, || Seen::Unreadable),
            Found::Missing => {}
        }
        found
    }

    /// The content, where it can be read: for facts whose absence is no doubt.
    pub(super) fn content(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        match self.read(path) {
            Found::Content(bytes) => Some(bytes),
            Found::Missing | Found::Unreadable(_) => None,
        }
    }

    /// Whether something of that name is there.
    pub(super) fn exists(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        let found = self.resolve(path).is_ok_and(|p| p.exists());
        if found {
            self.note(path, || Seen::Exists);
        }
        found
    }

    /// Whether the directory holds an entry that `wanted` accepts (given its name and whether it is a directory).
    pub(super) fn any_entry(&self, dir: &Path, wanted: impl Fn(&[u8], bool) -> bool) -> bool {
        let Ok(entries) = self.resolve(dir).and_then(std::fs::read_dir) else {
            return false;
        };
        let found = entries.filter_map(Result::ok).find(|entry| {
            let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
            wanted(entry.file_name().as_bytes(), is_dir)
        });
        if let Some(entry) = &found {
            self.note(&dir.join(entry.file_name()), || Seen::Exists);
        }
        found.is_some()
    }

    fn note(&self, path: &Path, seen: impl FnOnce() -> Seen) {
        if let Some(record) = &self.record {
            let mut record = record.borrow_mut();
            match record.get(path) {
                // A content or a refusal says more than mere existence.
                Some(Seen::Content(_) | Seen::Unreadable) => {}
                Some(Seen::Exists) | None => {
                    record.insert(path.to_owned(), seen());
                }
            }
        }
    }

    fn read_file(&self, path: &Path) -> Found {
        let read = || -> io::Result<Vec<u8>> {
            let full = self.resolve(path)?;
            let kind = std::fs::metadata(&full)?;
            if !kind.is_file() && !kind.is_dir() {
                // Opening a pipe would wait for its other end.
                return Err(io::Error::other("not a regular file"));
            }
            std::fs::read(&full)
        };
        match read() {
            Ok(bytes) => Found::Content(bytes),
            Err(error) if absent(&error) => Found::Missing,
            Err(error) => Found::Unreadable(error.to_string()),
        }
    }

    /// The path in the file system. Below a root other than `/`, links are resolved here: the kernel would follow an
    /// absolute link, or `..`, out of the root.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        if self.is_live() {
            return Ok(self.root.join(path));
        }
        let mut todo: Vec<Vec<u8>> = parts(path);
        let mut done: Vec<Vec<u8>> = Vec::new();
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part == b".." {
                done.pop();
                continue;
            }
            done.push(part);
            let here = self.below(&done);
            if std::fs::symlink_metadata(&here)?.file_type().is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many links"));
                }
                let target = std::fs::read_link(&here)?;
                done.pop();
                if target.is_absolute() {
                    done.clear();
                }
                todo.extend(parts(&target));
            }
        }
        Ok(self.below(&done))
    }

    fn below(&self, parts: &[Vec<u8>]) -> PathBuf {
        let mut path = self.root.clone();
        path.extend(parts.iter().map(|p| OsStr::from_bytes(p)));
        path
    }
}

/// The names and `..` of a path, last first.
fn parts(path: &Path) -> Vec<Vec<u8>> {
    path.components()
        .rev()
        .filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir))
        .map(|c| c.as_os_str().as_bytes().to_vec())
        .collect()
}

/// No file of that name can be there: missing, below a file, or no possible name.
fn absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput | InvalidFilename)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn tells_missing_from_unreadable() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/dir")).unwrap();
        fs::write(root.path().join("a/file"), "x").unwrap();
        let reader = Reader::recording(root.path());
        assert_eq!(reader.read("a/file"), Found::Content(b"x".to_vec()));
        assert_eq!(reader.read("a/none"), Found::Missing);
        assert_eq!(reader.read("a/file/below"), Found::Missing);
        assert_eq!(reader.read(OsStr::from_bytes(b"a/nul\0")), Found::Missing);
        assert_eq!(reader.read("x".repeat(300)), Found::Missing);
        assert!(matches!(reader.read("a/dir"), Found::Unreadable(_)));
        assert!(reader.exists("a/dir") && !reader.exists("b"));
        let record = reader.into_record();
        assert_eq!(record.len(), 2);
        assert_eq!(record[Path::new("a/dir")], Seen::Unreadable);
    }

    #[test]
    fn links_stay_below_the_root() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/hostname"), "inside").unwrap();
        symlink("/etc/hostname", root.path().join("absolute")).unwrap();
        symlink("../../../../etc/hostname", root.path().join("climbing")).unwrap();
        symlink("loop", root.path().join("loop")).unwrap();
        let reader = Reader::new(root.path());
        for name in ["absolute", "climbing", "../etc/hostname"] {
            assert_eq!(reader.read(name), Found::Content(b"inside".to_vec()), "{name}");
        }
        assert!(matches!(reader.read("loop"), Found::Unreadable(_)));
    }
}
