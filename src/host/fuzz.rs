//! Arbitrary bytes and near-misses for every parser: none may panic, and what they accept must make sense.
//!
//! `HASHTUNE_FUZZ_CASES` sets the number of inputs per parser (20,000 unless told).

use proptest::prelude::*;

use super::cpulist::CpuList;
use super::membership::Membership;
use super::mountinfo::Mounts;
use super::values::{self, Bound};

fn config() -> ProptestConfig {
    let cases = std::env::var("HASHTUNE_FUZZ_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(20_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Pieces that the real files are made of: a random mix reaches further into the parsers than random bytes.
const PIECES: [&[u8]; 40] = [
    b"0",
    b"1",
    b"-1",
    b"7",
    b"100000",
    b"9223372036854771712",
    b"18446744073709551616",
    b"max",
    b" ",
    b"  ",
    b"\n",
    b"\r\n",
    b"\r",
    b"\t",
    b":",
    b"::",
    b"/",
    b"/..",
    b"..",
    b"-",
    b" - ",
    b",",
    b"cpu",
    b"cpuset",
    b"memory",
    b"cgroup",
    b"cgroup2",
    b"fuse.lxcfs",
    b"noprefix",
    b"name=systemd",
    b"\\040",
    b"\\134",
    b"\\",
    b"\xff",
    b"\0",
    b"29 24 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 none rw\n",
    b"kB",
    b"Cpus_allowed_list",
    b"hierarchical_memory_limit ",
    b"MemTotal",
];

fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..200),
        3 => prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat()),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn membership(text in input()) {
        let parsed = Membership::parse(&text);
        for controller in ["cpu", "cpuset", "memory", ""] {
            parsed.home(controller);
        }
    }

    #[test]
    fn mountinfo(text in input()) {
        let mounts = Mounts::parse(&text);
        for mount in &mounts.list {
            prop_assert!(mount.point.components().all(|c| matches!(c, std::path::Component::Normal(_))));
            let again = Mounts::parse(&mount.line(&mount.root, "rw"));
            prop_assert_eq!(again.list.len(), 1);
            prop_assert_eq!((&again.list[0].root, &again.list[0].point), (&mount.root, &mount.point));
        }
        mounts.shown_by_lxcfs(std::path::Path::new("sys/devices/system/cpu/online"));
    }

    #[test]
    fn cpu_lists(text in input()) {
        if let Some(list) = CpuList::parse(&text) {
            prop_assert_eq!(list.is_empty(), list.count() == 0);
            prop_assert_eq!(list.cut_to(&list), list.clone());
        }
    }

    #[test]
    fn quotas(text in input()) {
        for parsed in [values::cpu_max(&text), values::cfs_quota(&text).map(|b| match b {
            Bound::Finite(quota_us) => Bound::Finite(values::Bandwidth { quota_us, period_us: 1 }),
            Bound::Unlimited => Bound::Unlimited,
        })] {
            if let Some(Bound::Finite(grant)) = parsed {
                prop_assert!(grant.quota_us > 0 && grant.period_us > 0 && grant.cpus() > 0.0 && grant.cpus().is_finite());
            }
        }
        prop_assert_ne!(values::cfs_period(&text), Some(0));
    }

    #[test]
    fn memory_files(text in input()) {
        for parsed in [values::v1_memory(&text), values::v2_memory(&text)] {
            if let Some(Bound::Finite(bytes)) = parsed {
                prop_assert!(i64::try_from(bytes.0).is_ok());
            }
        }
        values::bytes(&text);
        values::kib(&text);
        values::keyed_number(&text, "hierarchical_memory_limit");
        values::labelled(&text, "MemTotal");
    }
}
