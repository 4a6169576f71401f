//! What is odd about a setting: the one place that every command asks where a setting comes in.

use super::{Argon2id, Setting};
use crate::caveat::{Caveat, SettingDoubt};

/// m from which on bytes were more likely meant: 4 GiB, which is 4 MiB when read as bytes.
const SUSPICIOUS_KIB: u32 = 4 << 20;
/// m below which MiB were more likely meant.
const SUSPICIOUSLY_SMALL_KIB: u32 = 1024;

impl Setting {
    /// What to question about this setting on `usable_cpus` CPUs (infinite where they do not matter).
    pub fn doubts(&self, usable_cpus: f64) -> Vec<SettingDoubt> {
        let Self::Argon2id(a) = self else { return Vec::new() };
        let kib = a.memory_kib();
        let unfilled = SettingDoubt::Unfilled {
            kib,
            filled_kib: a.effective_kib(),
            slices: 4 * a.lanes(),
        };
        let crowded = SettingDoubt::LanesAboveCpus {
            lanes: a.lanes(),
            cpus: usable_cpus,
        };
        [
            (looks_like_bytes(a), SettingDoubt::BytesForKib { kib }),
            (kib < SUSPICIOUSLY_SMALL_KIB, SettingDoubt::MibForKib { kib }),
            (a.effective_kib() != kib, unfilled),
            (lanes_above(a.lanes(), usable_cpus), crowded),
        ]
        .into_iter()
        .filter_map(|(holds, doubt)| holds.then_some(doubt))
        .collect()
    }

    /// The same as caveats about a setting that is called `what`.
    pub fn caveats(&self, what: &str, usable_cpus: f64) -> Vec<Caveat> {
        let doubts = self.doubts(usable_cpus).into_iter();
        doubts
            .map(|doubt| Caveat::OddSetting {
                what: what.to_owned(),
                doubt,
            })
            .collect()
    }
}

/// Whether so many lanes are more than a recommendation may have: `max(1, floor(usable))`.
pub fn lanes_above(lanes: u32, usable_cpus: f64) -> bool {
    f64::from(lanes) > usable_cpus.floor().max(1.0)
}

fn looks_like_bytes(a: &Argon2id) -> bool {
    a.memory_kib() >= SUSPICIOUS_KIB && a.memory_kib().is_multiple_of(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str, cpus: f64) -> Vec<&'static str> {
        let setting: Setting = text.parse().unwrap();
        setting.doubts(cpus).iter().map(SettingDoubt::code).collect()
    }

    #[test]
    fn bytes_in_a_field_of_kib_are_questioned() {
        // 64, 46, 19, 9 and 7 MiB in bytes.
        for bytes in [67_108_864, 48_234_496, 19_922_944, 9_437_184, 7_340_032] {
            assert_eq!(codes(&format!("argon2id:m={bytes},t=2,p=1"), 2.0), ["looks-like-bytes"]);
        }
        // RFC 9106's first choice and what standards recommend.
        for kib in [2_097_152, 1_048_576, 102_400, 65_536, 47_104, 7_168] {
            assert!(codes(&format!("argon2id:m={kib},t=2,p=1"), 2.0).is_empty(), "{kib}");
        }
        let setting: Setting = "argon2id:m=67108864,t=2,p=1".parse().unwrap();
        assert_eq!(
            setting.doubts(1.0)[0].text(),
            "m=67108864 KiB is 64 GiB; 65536 (64 MiB) was meant?"
        );
    }

    #[test]
    fn lanes_are_held_against_whole_cpus() {
        assert_eq!(codes("argon2id:m=65536,t=3,p=4", 2.0), ["lanes-above-cpus"]);
        assert_eq!(codes("argon2id:m=65536,t=3,p=4", 3.9), ["lanes-above-cpus"]);
        assert!(codes("argon2id:m=65536,t=3,p=4", 4.0).is_empty());
        assert!(codes("argon2id:m=65536,t=3,p=1", 0.5).is_empty());
        assert!(codes("bcrypt:12", 0.5).is_empty());
    }

    #[test]
    fn small_and_unfilled_memory_is_told() {
        assert_eq!(codes("argon2id:m=64,t=3,p=1", 2.0), ["looks-like-mib"]);
        assert_eq!(codes("argon2id:m=65537,t=1,p=3", 4.0), ["memory-unfilled"]);
    }
}
