//! The rules on small trees: hand-made ones that the corpus does not hold, and random ones against plain arithmetic.

use std::fs;
use std::path::Path;

use hashtune::caveat::Caveat;
use hashtune::host::{CgroupVersion, Host, probe};
use hashtune::units::Bytes;
use proptest::prelude::*;

const SYSFS: &str = "1 0 0:1 / /sys rw - sysfs sysfs rw\n";

/// Writes files below a fresh root; a content of "DIR" makes a directory, which cannot be read.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        write(root.path(), path, content);
    }
    root
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    if content == "DIR" {
        fs::create_dir_all(path).unwrap();
    } else {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn probed(files: &[(&str, &str)]) -> Host {
    probe(tree(files).path())
}

fn codes(host: &Host) -> Vec<&'static str> {
    host.warnings.iter().map(Caveat::code).collect()
}

fn file(path: &Option<std::path::PathBuf>) -> &str {
    path.as_ref().map_or("", |p| p.to_str().unwrap())
}

#[test]
fn a_cpuset_without_prefix_counts_when_there_is_no_status() {
    let mount = "2 1 0:2 / /dev/cpuset rw - cgroup none rw,cpuset,noprefix,release_agent=/sbin/x\n";
    let files = [
        ("proc/self/mountinfo", mount),
        ("proc/self/cgroup", "3:cpuset:/fg/app\n"),
        ("sys/devices/system/cpu/online", "0-7\n"),
        ("dev/cpuset/cpus", "0-7\n"),
        ("dev/cpuset/fg/cpus", "2-5\n"),
        ("dev/cpuset/fg/app/cpus", "\n"),
        ("dev/cpuset/fg/app/cpuset.cpus", "0\n"),
    ];
    let host = probed(&files);
    assert_eq!((host.affinity_cpus, host.usable_cpus), (Some(4), Some(4.0)));
    assert_eq!(file(&host.cpu_decided_by), "dev/cpuset/fg/cpus");
    assert_eq!(host.cgroup_version, CgroupVersion::V1);
    assert_eq!(codes(&host), [""; 0]);
    let mut with_status = files.to_vec();
    with_status.push(("proc/self/status", "Cpus_allowed_list:\t0,3\n"));
    assert_eq!(probed(&with_status).affinity_cpus, Some(2));
}

#[test]
fn effective_files_come_before_configured_ones_level_by_level() {
    let v1 = "2 1 0:2 / /cs rw - cgroup none rw,cpuset\n";
    let base = [
        ("proc/self/mountinfo", v1),
        ("proc/self/cgroup", "3:cpuset:/a\n"),
        ("cs/a/cpuset.cpus", "0-3\n"),
        ("cs/a/tasks", ""),
        ("cs/cpuset.effective_cpus", "0-7\n"),
    ];
    assert_eq!(probed(&base).affinity_cpus, Some(4));
    let mut effective = base.to_vec();
    effective.push(("cs/a/cpuset.effective_cpus", "0-1\n"));
    assert_eq!(probed(&effective).affinity_cpus, Some(2));
    let mut damaged = base.to_vec();
    damaged[2].1 = "0-x\n";
    let host = probed(&damaged);
    assert_eq!((host.affinity_cpus, codes(&host)), (Some(8), vec!["malformed-file"]));
    let mut lost = base.to_vec();
    lost[1].1 = "3:cpuset:/../b\n";
    let host = probed(&lost);
    assert_eq!(
        (host.affinity_cpus, codes(&host)),
        (None, vec!["cgroup-outside-namespace"])
    );
}

#[test]
fn lxcfs_lists_are_not_mixed() {
    let plain = [
        ("proc/self/mountinfo", SYSFS),
        ("proc/self/status", "Cpus_allowed_list:\t3,7,9\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
    ];
    assert_eq!(probed(&plain).affinity_cpus, Some(1));
    let lxcfs = format!("{SYSFS}2 1 0:9 /o /sys/devices/system/cpu/online rw - fuse.lxcfs lxcfs rw\n");
    let mut renumbered = plain.to_vec();
    renumbered[0].1 = &lxcfs;
    let host = probed(&renumbered);
    assert_eq!((host.online_cpus, host.affinity_cpus), (Some(4), Some(3)));
    assert!(codes(&host).contains(&"proc-virtualized"));
}

const MEMORY_V1: &str = "2 1 0:2 / /m rw - cgroup none rw,memory\n";

#[test]
fn the_hierarchical_figure_decides_on_v1() {
    let files = |stat: &'static str| {
        probed(&[
            ("proc/self/mountinfo", MEMORY_V1),
            ("proc/self/cgroup", "3:memory:/a/b\n"),
            ("proc/meminfo", "MemTotal: 1000000 kB\n"),
            ("m/a/b/memory.stat", stat),
            ("m/a/b/memory.limit_in_bytes", "9223372036854771712\n"),
            ("m/a/memory.limit_in_bytes", "5000\n"),
            ("m/memory.limit_in_bytes", "9223372036854771712\n"),
        ])
    };
    let host = files("hierarchical_memory_limit 7000\n");
    assert_eq!(
        (host.memory_limit, file(&host.memory_decided_by)),
        (Some(Bytes(7000)), "m/a/b/memory.stat")
    );
    let host = files("hierarchical_memory_limit 5000\n");
    assert_eq!(file(&host.memory_decided_by), "m/a/memory.limit_in_bytes");
    // use_hierarchy is 0: the parent does not bind.
    let host = files("hierarchical_memory_limit 9223372036854710272\n");
    assert_eq!(
        (host.memory_limit, file(&host.memory_decided_by)),
        (None, "proc/meminfo")
    );
    for missing in ["cache 1\n", "DIR", "hierarchical_memory_limit x\n"] {
        let host = files(missing);
        assert_eq!(host.memory_limit, Some(Bytes(5000)), "{missing}");
        assert_eq!(host.warnings.len(), usize::from(missing != "cache 1\n"), "{missing}");
    }
}

#[test]
fn v1_quotas_need_both_files() {
    let files = |quota: &'static str, period: Option<&'static str>| {
        let mut files = vec![
            ("proc/self/mountinfo", "2 1 0:2 / /c rw - cgroup none rw,cpuacct,cpu\n"),
            ("proc/self/cgroup", "3:cpu,cpuacct:/a\n"),
            ("c/a/cpu.cfs_quota_us", quota),
            ("c/cpu.cfs_quota_us", "400000\r\n"),
            ("c/cpu.cfs_period_us", "100000\n"),
        ];
        files.extend(period.map(|p| ("c/a/cpu.cfs_period_us", p)));
        let host = probed(&files);
        (host.quota.as_ref().unwrap().cpus, codes(&host))
    };
    assert_eq!(files("70000", Some("20000")), (3.5, vec!["cpu-fraction"]));
    assert_eq!(files("-1", None), (4.0, vec![]));
    for (quota, period) in [
        ("0", "1"),
        ("-2", "1"),
        ("70000", "0"),
        ("70000", "-1"),
        ("x", "1"),
        ("", "1"),
    ] {
        assert_eq!(
            files(quota, Some(period)),
            (4.0, vec!["malformed-file"]),
            "{quota} {period}"
        );
    }
    assert_eq!(files("70000", None), (4.0, vec!["malformed-file"]));
    assert_eq!(files("70000", Some("DIR")), (4.0, vec!["unreadable-file"]));
    assert_eq!(files("DIR", Some("1")), (4.0, vec!["unreadable-file"]));
}

#[test]
fn namespaces_seen_from_inside_and_outside() {
    let files = |root: &str, path: &str| {
        let mount = format!("2 1 0:2 {root} /c rw - cgroup2 none rw\n");
        let path = format!("0::{path}\n");
        let host = probed(&[
            ("proc/self/mountinfo", &mount),
            ("proc/self/cgroup", &path),
            ("proc/meminfo", "MemTotal: 1000 kB\n"),
            ("c/memory.max", "9000\n"),
            ("c/x/memory.max", "3000\n"),
            ("x/memory.max", "1\n"),
            ("c/other/memory.max", "2\n"),
        ]);
        let limit = host.memory_limit.map(|b| b.0);
        (
            limit,
            codes(&host)
                .into_iter()
                .filter(|c| *c != "ancestors-hidden")
                .collect::<Vec<_>>(),
        )
    };
    const LOST: &str = "cgroup-path-not-found";
    const OUT: &str = "cgroup-outside-namespace";
    assert_eq!(files("/", "/x"), (Some(3000), vec![]));
    assert_eq!(files("/", "/x/gone"), (Some(3000), vec![LOST]));
    assert_eq!(files("/", "/../x"), (None, vec![OUT]));
    assert_eq!(files("/..", "/"), (Some(9000), vec![LOST]));
    assert_eq!(files("/..", "/x"), (Some(9000), vec![LOST]));
    assert_eq!(files("/..", "/../x"), (Some(3000), vec![OUT]));
    assert_eq!(files("/..", "/../../x"), (None, vec![OUT]));
    assert_eq!(files("/pod", "/x"), (None, vec![LOST]));
    assert_eq!(files("/pod", "/pod/x"), (Some(3000), vec![]));
    assert_eq!(files("/pod", "/podx/x"), (None, vec![LOST]));
}

#[test]
fn soft_limits_and_oversized_ones_are_doubts() {
    let files = |max: &str, high: &str| {
        probed(&[
            ("proc/self/mountinfo", "2 1 0:2 / /c rw - cgroup2 none rw\n"),
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/meminfo", "MemTotal: 1 kB\n"),
            ("c/a/memory.max", max),
            ("c/a/memory.high", high),
            ("c/cgroup.procs", ""),
        ])
    };
    let host = files("max", "500");
    assert_eq!(
        (host.memory_high, codes(&host)),
        (Some(Bytes(500)), vec!["memory-high-below-max"])
    );
    assert_eq!(codes(&files("400", "500")), [""; 0]);
    let host = files("2000", "1024");
    assert_eq!(
        (host.usable_memory, codes(&host)),
        (Some(Bytes(1024)), vec!["limit-above-ram"])
    );
    assert_eq!(file(&host.memory_decided_by), "proc/meminfo");
}

#[test]
fn a_controller_that_no_mounted_hierarchy_can_hold_is_not_lost() {
    let files = |mounts: &str, membership: &str| {
        let host = probed(&[
            ("proc/self/mountinfo", mounts),
            ("proc/self/cgroup", membership),
            ("proc/self/status", "Cpus_allowed_list:\t0-3\n"),
            ("proc/meminfo", "MemTotal: 1000 kB\n"),
            ("c/a/cpu.cfs_quota_us", "200000\n"),
            ("c/a/cpu.cfs_period_us", "100000\n"),
            ("c/tasks", ""),
        ]);
        (host.usable_cpus, host.cgroup_version, codes(&host))
    };
    let (v1, lost) = (CgroupVersion::V1, vec!["cgroup-path-not-found"]);
    let cpu = "2 1 0:2 / /c rw - cgroup none rw,cpuacct,cpu\n";
    let line = "3:cpuacct,cpu:/a\n0::/\n";
    assert_eq!(files(cpu, line), (Some(2.0), v1, vec![]));
    // A hierarchy that could hold it is there, but the process's place in it is not found.
    let with_memory = format!("{cpu}3 1 0:3 / /m rw - cgroup none rw,memory\n");
    assert_eq!(files(&with_memory, line), (Some(2.0), v1, lost.clone()));
    let with_v2 = format!("{cpu}3 1 0:3 / /u rw - cgroup2 none rw\n");
    assert_eq!(files(&with_v2, line), (Some(2.0), CgroupVersion::Hybrid, lost.clone()));
    // The membership names a hierarchy that is not mounted.
    let listed = "4:memory:/a\n3:cpuacct,cpu:/a\n0::/\n";
    assert_eq!(files(cpu, listed), (Some(2.0), v1, lost));
    // The line that could not be understood may be the mount.
    let damaged = format!("{cpu}3 1 0:3 / /u rw cgroup2\n");
    let doubts = vec!["malformed-file", "cgroup-path-not-found"];
    assert_eq!(files(&damaged, line), (Some(2.0), v1, doubts));
}

#[test]
fn unreadable_mounts_are_not_called_absent() {
    let mut files = vec![
        ("proc/self/mountinfo", "DIR"),
        ("proc/self/cgroup", "0::/a\n"),
        ("proc/meminfo", "MemTotal: 1 kB\n"),
    ];
    let host = probed(&files);
    assert_eq!(host.cgroup_version, CgroupVersion::None);
    assert_eq!(codes(&host), ["unreadable-file"]);
    files[0].1 = SYSFS;
    assert_eq!(codes(&probed(&files)), ["no-cgroup"]);
}

#[test]
fn limit_files_are_no_doubt_where_the_hierarchical_figure_counts() {
    let files = |stat: &'static str, own: &'static str, parent: &'static str| {
        let host = probed(&[
            ("proc/self/mountinfo", MEMORY_V1),
            ("proc/self/cgroup", "3:memory:/a/b\n"),
            ("proc/meminfo", "MemTotal: 1000000 kB\n"),
            ("m/a/b/memory.stat", stat),
            ("m/a/b/memory.limit_in_bytes", own),
            ("m/a/memory.limit_in_bytes", parent),
            ("m/memory.limit_in_bytes", "5000\n"),
        ]);
        let decided = file(&host.memory_decided_by).to_owned();
        (host.memory_limit.map(|b| b.0), decided, codes(&host))
    };
    let finite = "hierarchical_memory_limit 5000\n";
    let top = || "m/memory.limit_in_bytes".to_owned();
    assert_eq!(files(finite, "DIR", "x\n"), (Some(5000), top(), vec![]));
    let other = "hierarchical_memory_limit 4000\n";
    let stat = "m/a/b/memory.stat".to_owned();
    assert_eq!(files(other, "x\n", "DIR"), (Some(4000), stat, vec![]));
    let unlimited = "hierarchical_memory_limit 9223372036854771712\n";
    assert_eq!(
        files(unlimited, "DIR", "x\n"),
        (None, "proc/meminfo".to_owned(), vec![])
    );
    let doubts = vec!["unreadable-file", "malformed-file"];
    assert_eq!(files("cache 1\n", "DIR", "x\n"), (Some(5000), top(), doubts));
}

#[test]
fn a_missing_root_is_refused_in_our_words() {
    let output = assert_cmd::Command::cargo_bin("hashtune")
        .unwrap()
        .args(["probe", "--root", "/nope"])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), stderr.lines().next()),
        (
            Some(2),
            Some("error: --root \"/nope\": no such file or directory; accepted: a directory that stands for /")
        )
    );
}

#[test]
fn nothing_at_all_is_no_panic() {
    let host = probed(&[]);
    assert_eq!((host.usable_cpus, host.usable_memory), (None, None));
    assert_eq!(codes(&host), ["no-proc"]);
    assert_eq!(codes(&probed(&[("proc/meminfo", "MemTotal: 1 kB\n")])), ["no-cgroup"]);
    assert_eq!(probe(Path::new("/nowhere/at/all")).usable_cpus, None);
    let host = probed(&[
        ("proc/self/mountinfo", "2 1 0:2 / /c rw - cgroup2 none rw\n"),
        ("proc/self/cgroup", "DIR"),
        ("c/cpu.max", "1 1\n"),
    ]);
    assert_eq!(codes(&host), ["unreadable-file", "cgroup-path-not-found"]);
}

/// One level of a random path: what its files hold; `None` leaves a file out.
#[derive(Debug, Clone)]
struct Level {
    cpu: Option<String>,
    memory: Option<String>,
}

fn content(numbers: std::ops::Range<u64>, suffix: &'static str) -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        1 => Just(None),
        3 => numbers.prop_map(move |n| Some(format!("{n}{suffix}"))),
        1 => Just(Some(format!("max{suffix}"))),
        1 => prop::sample::select(vec!["", "x", "-5", "DIR", "1 2 3", "99999999999999999999"]).prop_map(|s| Some(s.to_owned())),
    ]
}

fn levels() -> impl Strategy<Value = Vec<Level>> {
    let level = (content(0..900_000, " 100000\r\n"), content(0..5_000_000, " \n"));
    prop::collection::vec(level.prop_map(|(cpu, memory)| Level { cpu, memory }), 1..6)
}

fn plant(root: &Path, v2: bool, levels: &[Level]) {
    let path = if levels.len() == 1 {
        "/".to_owned()
    } else {
        "/x".repeat(levels.len() - 1)
    };
    let (mounts, membership) = if v2 {
        ("2 1 0:2 / /c rw - cgroup2 none rw\n".to_owned(), format!("0::{path}\n"))
    } else {
        (
            "2 1 0:2 / /c rw - cgroup none rw,cpu,memory\n".to_owned(),
            format!("4:memory,cpu:{path}\n"),
        )
    };
    write(root, "proc/self/mountinfo", &mounts);
    write(root, "proc/self/cgroup", &membership);
    write(root, "proc/self/status", "Cpus_allowed_list:\t0-5\n");
    write(root, "proc/meminfo", "MemTotal: 4000 kB\n");
    for (depth, level) in levels.iter().enumerate() {
        let dir = format!("c{}", "/x".repeat(depth));
        write(root, &format!("{dir}/cgroup.procs"), "");
        let (cpu, memory) = if v2 {
            ("cpu.max", "memory.max")
        } else {
            ("cpu.cfs_quota_us", "memory.limit_in_bytes")
        };
        if let Some(text) = &level.cpu {
            let text = if v2 {
                text.clone()
            } else {
                text.replace(" 100000\r", "").replace("max", "-1")
            };
            write(root, &format!("{dir}/{cpu}"), &text);
            if !v2 {
                write(root, &format!("{dir}/cpu.cfs_period_us"), "100000\n");
            }
        }
        if let Some(text) = &level.memory {
            let text = if v2 {
                text.clone()
            } else {
                text.replace("max", "9223372036854771712")
            };
            write(root, &format!("{dir}/{memory}"), &text);
        }
    }
}

/// The smallest sound number among the texts, by plain arithmetic.
fn smallest(texts: impl Iterator<Item = Option<String>>, suffix: &str, least: u64) -> Option<u64> {
    let numbers = texts.flatten().filter_map(|t| t.strip_suffix(suffix)?.parse().ok());
    numbers.filter(|n| *n >= least).min()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_answer_is_the_tightest_readable_limit(v2: bool, levels in levels()) {
        let root = tempfile::tempdir().unwrap();
        plant(root.path(), v2, &levels);
        let host = probe(root.path());
        let quota = smallest(levels.iter().map(|l| l.cpu.clone()), " 100000\r\n", 1);
        let memory = smallest(levels.iter().map(|l| l.memory.clone()), " \n", 0);
        prop_assert_eq!(host.quota.as_ref().map(|q| q.quota_us), quota);
        prop_assert_eq!(host.usable_cpus, Some(quota.map_or(6.0, |q| (q as f64 / 1e5).min(6.0))));
        prop_assert_eq!(host.memory_limit, memory.map(Bytes));
        prop_assert_eq!(host.usable_memory, Some(Bytes(memory.unwrap_or(u64::MAX).min(4000 * 1024))));
    }

    #[test]
    fn one_more_limit_never_raises_the_answer(v2: bool, levels in levels(), at: prop::sample::Index, cpu in 1u64..900_000, memory in 0u64..5_000_000) {
        let root = tempfile::tempdir().unwrap();
        plant(root.path(), v2, &levels);
        let before = probe(root.path());
        let mut more = levels.clone();
        // A level that says nothing, or nothing sound, gets a limit.
        let level = at.get(&levels).clone();
        let changed = &mut more[at.index(levels.len())];
        if smallest(std::iter::once(level.cpu), " 100000\r\n", 1).is_none() {
            changed.cpu = Some(format!("{cpu} 100000\r\n"));
        }
        if smallest(std::iter::once(level.memory), " \n", 0).is_none() {
            changed.memory = Some(format!("{memory} \n"));
        }
        let root = tempfile::tempdir().unwrap();
        plant(root.path(), v2, &more);
        let after = probe(root.path());
        prop_assert!(after.usable_cpus <= before.usable_cpus);
        prop_assert!(after.usable_memory <= before.usable_memory);
    }

    #[test]
    fn damaged_proc_files_never_panic(
        levels in levels(),
        file in prop::sample::select(vec!["cgroup", "mountinfo", "status"]),
        cut in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let root = tempfile::tempdir().unwrap();
        plant(root.path(), true, &levels);
        let path = root.path().join("proc/self").join(file);
        let mut bytes = fs::read(&path).unwrap();
        let at = cut.index(bytes.len());
        bytes.splice(at..(at + noise.len() / 2).min(bytes.len()), noise);
        fs::write(&path, &bytes).unwrap();
        let host = probe(root.path());
        prop_assert!(host.usable_memory <= Some(Bytes(4000 * 1024)));
        let copy = tempfile::tempdir().unwrap();
        let saved = hashtune::host::save(root.path(), copy.path()).unwrap();
        prop_assert_eq!(codes(&saved), codes(&probe(copy.path())));
        prop_assert_eq!(saved.usable_cpus, probe(copy.path()).usable_cpus);
    }
}
