//! Lists of CPU numbers as the kernel writes them: `0-3,8,10-11`.

use super::values::number;

/// A set of CPU numbers, as sorted ranges that neither touch nor overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CpuList(Vec<(u32, u32)>);

impl CpuList {
    /// Reads a list; blank text is the empty list. `None` where it cannot be understood.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        if text.is_empty() {
            return Some(Self::default());
        }
        let ranges: Option<Vec<_>> = text.split(|&b| b == b',').map(range).collect();
        Some(Self::from_ranges(ranges?))
    }

    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match merged.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        Self(merged)
    }

    /// How many CPUs are in it.
    pub(super) fn count(&self) -> u32 {
        let all: u64 = self.0.iter().map(|(low, high)| u64::from(high - low) + 1).sum();
        u32::try_from(all).unwrap_or(u32::MAX)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest number in it.
    pub(super) fn first(&self) -> Option<u32> {
        self.0.first().map(|r| r.0)
    }

    /// Those that are in both.
    pub(super) fn cut_to(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(&&x), Some(&&y)) = (a.peek(), b.peek()) {
            let (low, high) = (x.0.max(y.0), x.1.min(y.1));
            if low <= high {
                both.push((low, high));
            }
            if x.1 <= y.1 {
                a.next();
            } else {
                b.next();
            }
        }
        Self(both)
    }
}

fn range(text: &[u8]) -> Option<(u32, u32)> {
    let cpu = |t: &[u8]| number(t).and_then(|n| u32::try_from(n).ok());
    let mut ends = text.trim_ascii().splitn(2, |&b| b == b'-');
    let low = cpu(ends.next()?)?;
    let high = match ends.next() {
        Some(end) => cpu(end)?,
        None => low,
    };
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn lists_are_read() {
        for (text, count) in [
            ("0-3,8,10-11\n", 7),
            ("0", 1),
            ("", 0),
            ("\n", 0),
            ("0-127\r\n", 128),
            ("3,1-2,2-5", 5),
            ("0-4294967295", u32::MAX),
        ] {
            assert_eq!(
                CpuList::parse(text.as_bytes()).map(|l| l.count()),
                Some(count),
                "{text:?}"
            );
        }
        for text in [
            "3-1",
            "a",
            "1,,2",
            "1,",
            "-1",
            "1-",
            "+1",
            "0-7:2/4",
            "4294967296",
            "1 2",
            "\0",
        ] {
            assert_eq!(CpuList::parse(text.as_bytes()), None, "{text:?}");
        }
    }

    fn text(set: &BTreeSet<u32>) -> String {
        set.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    }

    proptest! {
        #[test]
        fn agrees_with_sets(a in prop::collection::btree_set(0u32..40, 0..30), b in prop::collection::btree_set(0u32..40, 0..30)) {
            let (x, y) = (CpuList::parse(text(&a).as_bytes()).unwrap(), CpuList::parse(text(&b).as_bytes()).unwrap());
            prop_assert_eq!(x.count() as usize, a.len());
            prop_assert_eq!(x.first(), a.first().copied());
            prop_assert_eq!(x.cut_to(&y).count() as usize, a.intersection(&b).count());
        }
    }
}
