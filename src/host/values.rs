//! The contents of single files. Every function takes raw bytes and gives `None` for what cannot be understood.

use crate::units::Bytes;

/// A limit file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound<T> {
    Finite(T),
    Unlimited,
}

/// CPU time per period, both in microseconds and above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bandwidth {
    pub(super) quota_us: u64,
    pub(super) period_us: u64,
}

impl Bandwidth {
    /// Whether it grants less CPU than the other, compared without rounding.
    pub(super) fn below(self, other: Self) -> bool {
        let cross = |a: Self, b: Self| u128::from(a.quota_us) * u128::from(b.period_us);
        cross(self, other) < cross(other, self)
    }

    /// CPUs.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn cpus(self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

/// v1 values from here upwards mean "no limit": the kernel's maximum, rounded down to some page size.
const V1_UNLIMITED: u64 = (1 << 63) - 65536;

/// A plain decimal number: digits alone, as the kernel prints it.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `cpu.max`: `quota period` or `max period`.
pub(super) fn cpu_max(text: &[u8]) -> Option<Bound<Bandwidth>> {
    let mut fields = text.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty());
    let (quota, period) = (fields.next()?, fields.next());
    if fields.next().is_some() {
        return None;
    }
    let period = period.map(positive);
    match (quota, period) {
        (b"max", None | Some(Some(_))) => Some(Bound::Unlimited),
        (quota, Some(Some(period_us))) => Some(Bound::Finite(Bandwidth {
            quota_us: positive(quota)?,
            period_us,
        })),
        _ => None,
    }
}

/// `cpu.cfs_quota_us` in microseconds: -1 means none; zero and other negative numbers mean nothing.
pub(super) fn cfs_quota(text: &[u8]) -> Option<Bound<u64>> {
    match text.trim_ascii() {
        b"-1" => Some(Bound::Unlimited),
        digits => positive(digits).map(Bound::Finite),
    }
}

/// `cpu.cfs_period_us` in microseconds, above zero.
pub(super) fn cfs_period(text: &[u8]) -> Option<u64> {
    positive(text.trim_ascii())
}

fn positive(text: &[u8]) -> Option<u64> {
    number(text).filter(|n| *n > 0)
}

/// `memory.max`, `memory.high` and `memory.swap.max`: bytes or `max`. Zero is a limit of zero bytes.
pub(super) fn v2_memory(text: &[u8]) -> Option<Bound<Bytes>> {
    match text.trim_ascii() {
        b"max" => Some(Bound::Unlimited),
        // No kernel has a limit of 2^63 bytes or more.
        digits => number(digits)
            .filter(|n| i64::try_from(*n).is_ok())
            .map(|n| Bound::Finite(Bytes(n))),
    }
}

/// `memory.limit_in_bytes` and its kin: bytes, where enormous numbers mean "no limit".
pub(super) fn v1_memory(text: &[u8]) -> Option<Bound<Bytes>> {
    let digits = text.trim_ascii();
    match number(digits) {
        Some(n) if n < V1_UNLIMITED => Some(Bound::Finite(Bytes(n))),
        Some(_) => Some(Bound::Unlimited),
        // Digits that no 64 bits hold are enormous as well.
        None if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => Some(Bound::Unlimited),
        None => None,
    }
}

/// A single byte count, such as `memory.current`.
pub(super) fn bytes(text: &[u8]) -> Option<Bytes> {
    number(text.trim_ascii()).map(Bytes)
}

/// The value after `key` and a blank, in files of `key value` lines such as `memory.stat`.
pub(super) fn keyed<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    text.split(|&b| b == b'\n').find_map(|line| {
        let rest = line.strip_prefix(key.as_bytes())?;
        rest.first().filter(|b| b.is_ascii_whitespace())?;
        Some(rest.trim_ascii())
    })
}

/// The number after `key` and a blank.
pub(super) fn keyed_number(text: &[u8], key: &str) -> Option<u64> {
    keyed(text, key).and_then(number)
}

/// The text after `key:`, in files of `Key: value` lines such as `/proc/self/status`.
pub(super) fn labelled<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    text.split(|&b| b == b'\n').find_map(|line| {
        let rest = line.strip_prefix(key.as_bytes())?.trim_ascii_start();
        Some(rest.strip_prefix(b":")?.trim_ascii())
    })
}

/// A `/proc/meminfo` figure such as `16384000 kB`.
pub(super) fn kib(text: &[u8]) -> Option<Bytes> {
    let digits = text.trim_ascii().strip_suffix(b"kB")?.trim_ascii_end();
    number(digits)?
        .checked_mul(1024)
        .filter(|n| i64::try_from(*n).is_ok())
        .map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(quota_us: u64, period_us: u64) -> Option<Bound<Bandwidth>> {
        Some(Bound::Finite(Bandwidth { quota_us, period_us }))
    }

    #[test]
    fn cpu_max_takes_two_fields() {
        assert_eq!(cpu_max(b"150000 100000\n"), grant(150_000, 100_000));
        assert_eq!(cpu_max(b"350000 100000 \r\n"), grant(350_000, 100_000));
        assert_eq!(cpu_max(b"max 100000\r\n"), Some(Bound::Unlimited));
        assert_eq!(cpu_max(b"max"), Some(Bound::Unlimited));
        for text in [
            "",
            "200000",
            "0 100000",
            "1 0",
            "max 0",
            "-1 100000",
            "1 2 3",
            "x 1",
            "max x",
            "+1 1",
        ] {
            assert_eq!(cpu_max(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn quotas_are_compared_without_rounding() {
        let (a, b) = (
            Bandwidth {
                quota_us: 1,
                period_us: 3,
            },
            Bandwidth {
                quota_us: u64::MAX,
                period_us: u64::MAX,
            },
        );
        assert!(a.below(b) && !b.below(a) && !a.below(a));
    }

    #[test]
    fn v1_numbers() {
        assert_eq!(cfs_quota(b"-1\n"), Some(Bound::Unlimited));
        assert_eq!(cfs_quota(b"70000\r\n"), Some(Bound::Finite(70_000)));
        assert_eq!(
            (cfs_quota(b"0"), cfs_quota(b"-2"), cfs_quota(b"max")),
            (None, None, None)
        );
        assert_eq!((cfs_period(b"20000\n"), cfs_period(b"0")), (Some(20_000), None));
        for none in [
            "9223372036854771712",
            "9223372036854710272",
            "18446744073709551615",
            "99999999999999999999",
        ] {
            assert_eq!(v1_memory(none.as_bytes()), Some(Bound::Unlimited), "{none}");
        }
        assert_eq!(
            v1_memory(b"9223372036854710271"),
            Some(Bound::Finite(Bytes(V1_UNLIMITED - 1)))
        );
        assert_eq!(
            (v1_memory(b""), v1_memory(b"-1"), v1_memory(b"12x")),
            (None, None, None)
        );
    }

    #[test]
    fn v2_numbers() {
        assert_eq!(v2_memory(b"max  \r\n"), Some(Bound::Unlimited));
        assert_eq!(v2_memory(b"0\n"), Some(Bound::Finite(Bytes(0))));
        for text in ["", "12x34", "-1", "1 2", "18446744073709551615", "0x10", "max max"] {
            assert_eq!(v2_memory(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn keys_are_whole_words() {
        let stat = b"inactive_file 1\ntotal_inactive_file 2\nhierarchical_memory_limit 3\r\n";
        assert_eq!(keyed_number(stat, "inactive_file"), Some(1));
        assert_eq!(keyed_number(stat, "hierarchical_memory_limit"), Some(3));
        assert_eq!(keyed(stat, "hierarchical"), None);
        assert_eq!(
            labelled(b"Cpus_allowed:\tff\nCpus_allowed_list:\t0-7\n", "Cpus_allowed_list"),
            Some(b"0-7".as_slice())
        );
        assert_eq!(kib(b"16384000 kB"), Some(Bytes(16_777_216_000)));
        assert_eq!((kib(b"5"), kib(b"18446744073709551615 kB")), (None, None));
    }
}
