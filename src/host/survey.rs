//! What a probe collects on its way: the limits it saw and the doubts it has.

use std::path::Path;

use super::reader::{Found, Reader};
use super::{Limit, SeenLimit};
use crate::caveat::Caveat;

/// How much of a file that could not be understood is shown.
const SHOWN: usize = 60;

/// Reads files and notes limits and doubts.
pub(super) struct Survey<'a> {
    pub(super) reader: &'a Reader,
    pub(super) seen: Vec<SeenLimit>,
    pub(super) warnings: Vec<Caveat>,
}

impl<'a> Survey<'a> {
    pub(super) const fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            seen: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The content of a file that may be missing; one that cannot be read is a doubt.
    pub(super) fn content(&mut self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let path = path.as_ref();
        match self.reader.read(path) {
            Found::Content(bytes) => Some(bytes),
            Found::Missing => None,
            Found::Unreadable(error) => {
                self.warn(Caveat::UnreadableFile {
                    path: path.to_string_lossy().into_owned(),
                    error,
                });
                None
            }
        }
    }

    /// The parsed value of a file; one that cannot be read or understood is skipped with a doubt.
    pub(super) fn value<T>(&mut self, path: impl AsRef<Path>, parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let path = path.as_ref();
        let bytes = self.content(path)?;
        let value = parse(&bytes);
        if value.is_none() {
            self.malformed(path, &bytes);
        }
        value
    }

    /// Notes a file's content that could not be understood.
    pub(super) fn malformed(&mut self, path: &Path, content: &[u8]) {
        let shown = &content[..content.len().min(SHOWN)];
        self.warn(Caveat::MalformedFile {
            path: path.to_string_lossy().into_owned(),
            content: String::from_utf8_lossy(shown).trim_end().to_owned(),
        });
    }

    /// Notes a limit.
    pub(super) fn see(&mut self, file: &Path, limit: Limit) {
        self.seen.push(SeenLimit {
            file: file.to_owned(),
            limit,
        });
    }

    /// Notes a doubt, once; the same doubt about two controllers becomes one.
    pub(super) fn warn(&mut self, mut caveat: Caveat) {
        let alike = |known: &mut Caveat| same_but_controller(known, &mut caveat);
        if !self.warnings.iter_mut().any(alike) && !self.warnings.contains(&caveat) {
            self.warnings.push(caveat);
        }
    }
}

/// Adds the controller of `new` to `known` where they agree in all else; whether they do.
fn same_but_controller(known: &mut Caveat, new: &mut Caveat) -> bool {
    use Caveat::{AncestorsHidden, CgroupOutsideNamespace, CgroupPathNotFound};
    let (controllers, added) = match (known, new) {
        (AncestorsHidden { controller: a }, AncestorsHidden { controller: b }) => (a, b),
        (CgroupPathNotFound { controller: a, path: x }, CgroupPathNotFound { controller: b, path: y })
        | (CgroupOutsideNamespace { controller: a, path: x }, CgroupOutsideNamespace { controller: b, path: y })
            if x == y =>
        {
            (a, b)
        }
        _ => return false,
    };
    if !controllers.split(" and ").any(|c| c == added) {
        *controllers = format!("{controllers} and {added}");
    }
    true
}
