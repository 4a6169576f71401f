//! `/proc/self/cgroup`: which cgroup the process is in, one line a hierarchy.

/// One line: `id:controllers:path`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    unified: bool,
    controllers: Vec<Vec<u8>>,
    path: Vec<u8>,
}

/// The parsed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Membership {
    lines: Vec<Line>,
    /// The first line that could not be understood.
    pub(super) malformed: Option<Vec<u8>>,
}

/// Where the process is for one controller. The path is raw: it is never decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home<'a> {
    V1(&'a [u8]),
    V2(&'a [u8]),
    /// The file names neither the controller nor the unified hierarchy.
    Unknown,
}

impl Membership {
    /// Reads the file. Lines end at LF alone: a name may hold CR and blanks, and need not be UTF-8.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut membership = Self::default();
        for raw in text.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
            match Line::parse(raw) {
                Some(line) => membership.lines.push(line),
                None if membership.malformed.is_none() => membership.malformed = Some(raw.to_vec()),
                None => {}
            }
        }
        membership
    }

    /// A v1 line that names the controller wins; otherwise the `0::` line counts.
    pub(super) fn home(&self, controller: &str) -> Home<'_> {
        let named = |line: &&Line| line.controllers.iter().any(|c| c == controller.as_bytes());
        if let Some(line) = self.lines.iter().find(named) {
            return Home::V1(&line.path);
        }
        self.lines
            .iter()
            .find(|line| line.unified)
            .map_or(Home::Unknown, |line| Home::V2(&line.path))
    }
}

impl Line {
    /// Three fields, cut at the first two colons only: the path may hold more of them.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.splitn(3, |&b| b == b':');
        let (id, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        if id.is_empty() || !id.iter().all(u8::is_ascii_digit) || path.first() != Some(&b'/') {
            return None;
        }
        Some(Self {
            unified: id == b"0" && names.is_empty(),
            controllers: names.split(|&b| b == b',').map(<[u8]>::to_vec).collect(),
            path: path.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_only_and_two_colons() {
        let m =
            Membership::parse(b"12:cpuset:/set\n10:cpuacct,cpu:/a:b:c\n1:name=memory:/named\n0::/uni \xff\\040\r\n");
        assert_eq!(m.home("cpu"), Home::V1(b"/a:b:c"));
        assert_eq!(m.home("cpuset"), Home::V1(b"/set"));
        assert_eq!(m.home("memory"), Home::V2(b"/uni \xff\\040\r"));
        assert_eq!(m.malformed, None);
    }

    #[test]
    fn bad_lines_are_kept_apart() {
        let m = Membership::parse(b"no colons\n3:memory\nx:memory:/x\n4:memory:relative\n\n5:memory:/good\n");
        assert_eq!(m.malformed.as_deref(), Some(b"no colons".as_slice()));
        assert_eq!(m.home("memory"), Home::V1(b"/good"));
        assert_eq!(m.home("cpu"), Home::Unknown);
        assert_eq!(Membership::parse(b"").home("cpu"), Home::Unknown);
    }
}
