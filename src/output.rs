//! Where the data goes: standard output, or a file that is opened before anything is measured and replaced as a whole.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::interrupt::{self, Registration};

/// Collects the data. Nothing is visible outside before [`Self::save`], and never half of it.
#[derive(Debug)]
pub struct Output {
    data: Vec<u8>,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout,
    /// A pipe or device, which cannot be replaced.
    Stream(PathBuf, File),
    /// A regular file, new or not.
    Replace {
        path: PathBuf,
        temporary: NamedTempFile,
        _registration: Registration,
    },
}

impl Output {
    /// Opens `path`, or standard output for `None` and `-`. A target that cannot be written is refused here, not after a
    /// minute of measuring.
    ///
    /// # Errors
    /// With the path and the reason.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let target = match path {
            None => Target::Stdout,
            // Opened by its path it would start at the beginning of a redirection's file again.
            Some(path) if path == Path::new("-") || path == Path::new("/dev/stdout") => Target::Stdout,
            Some(path) => Target::open(path)
                .map_err(|error| Failure::io(format!("--output \"{}\"", path.display()), &error))
                .map_err(|failure| failure.hint("name a file in a directory that you may write to"))?,
        };
        Ok(Self {
            data: Vec::new(),
            target,
        })
    }

    /// Makes the data visible. A reader that has gone away is no failure: it has what it wanted.
    ///
    /// # Errors
    /// When it cannot be written; an existing file is then as it was.
    pub fn save(self) -> Result<(), Failure> {
        let (name, result) = match self.target {
            Target::Stdout => ("standard output".to_owned(), write_all(io::stdout().lock(), &self.data)),
            Target::Stream(path, file) => (path.display().to_string(), write_all(file, &self.data)),
            Target::Replace { path, temporary, .. } => {
                (path.display().to_string(), replace(&path, temporary, &self.data))
            }
        };
        match result {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::io(name, &error)),
            _ => {
                interrupt::written(&name);
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.data.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target {
    fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A link is followed, so that it still links afterwards; one to nowhere fails here.
        let path = match fs::symlink_metadata(path) {
            Ok(_) => fs::canonicalize(path).or_else(|error| keep_if_nameless(path, error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        match fs::metadata(&path) {
            Ok(old) if old.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(old) if old.is_file() => Self::beside(path, Some(&old)),
            Ok(_) => {
                let file = OpenOptions::new().append(true).open(&path)?;
                Ok(Self::Stream(path, file))
            }
            Err(_) => Self::beside(path, None),
        }
    }

    /// A temporary file in the same directory, so that renaming it replaces the target in one step.
    fn beside(path: PathBuf, old: Option<&Metadata>) -> io::Result<Self> {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mode = Permissions::from_mode(0o666);
        let temporary = tempfile::Builder::new()
            .prefix(".hashtune-")
            .permissions(mode)
            .tempfile_in(directory)?;
        if let Some(old) = old {
            // A file that may not be written is not to be replaced either.
            OpenOptions::new().append(true).open(&path)?;
            // Only root may give a file away; for others it already has the right owner, or cannot have.
            let _ = chown(temporary.path(), Some(old.uid()), Some(old.gid()));
            temporary.as_file().set_permissions(old.permissions())?;
        }
        let leftover = temporary.path().to_owned();
        let registration = interrupt::on_exit(move || {
            let _ = fs::remove_file(leftover);
        });
        Ok(Self::Replace {
            path,
            temporary,
            _registration: registration,
        })
    }
}

/// Pipes behind `/dev/fd/N` have no path of their own: `canonicalize` fails where opening does not.
fn keep_if_nameless(path: &Path, error: io::Error) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Ok(path.to_owned()),
        _ => Err(error),
    }
}

fn write_all(mut to: impl Write, data: &[u8]) -> io::Result<()> {
    to.write_all(data)?;
    to.flush()
}

fn replace(path: &Path, mut temporary: NamedTempFile, data: &[u8]) -> io::Result<()> {
    temporary.write_all(data)?;
    // Before the rename: after a power cut there must be the old content or the new, not an empty file.
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    // The rename itself; a file system that cannot sync a directory keeps it all the same.
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty());
    if let Ok(directory) = File::open(directory.unwrap_or(Path::new("."))) {
        let _ = directory.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn save(path: &Path, text: &str) -> Result<(), Failure> {
        let mut output = Output::open(Some(path))?;
        output.write_all(text.as_bytes()).unwrap();
        output.save()
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.toml");
        save(&path, "one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        save(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(names(directory.path()), ["out.toml"]);
    }

    #[test]
    fn without_save_nothing_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.toml");
        fs::write(&path, "old").unwrap();
        let mut output = Output::open(Some(&path)).unwrap();
        output.write_all(b"new").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(directory.path()), ["out.toml"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink("file", &link).unwrap();
        save(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn targets_that_cannot_be_written_are_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nowhere");
        symlink("missing", &nowhere).unwrap();
        for path in [
            directory.path().to_owned(),
            directory.path().join("missing/out.toml"),
            directory.path().join("out/"),
            nowhere,
        ] {
            let failure = Output::open(Some(&path)).unwrap_err();
            assert!(failure.line.contains(path.to_str().unwrap()), "{failure:?}");
            assert!(!failure.line.contains(".hashtune-"), "{failure:?}");
        }
    }

    #[test]
    fn devices_are_written_directly() {
        save(Path::new("/dev/null"), "gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let failure = save(Path::new("/dev/full"), "too much").unwrap_err();
        assert!(failure.line.starts_with("/dev/full: no space left"), "{failure:?}");
    }

    #[test]
    fn pipes_without_a_path_are_written_and_may_close() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        save(&path, "data").unwrap();
        let opened = Output::open(Some(&path)).unwrap();
        drop(writer);
        drop(opened);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "data");

        let (reader, writer) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        let mut output = Output::open(Some(&path)).unwrap();
        output.write_all(b"unread").unwrap();
        drop(reader);
        output.save().unwrap();
    }
}
