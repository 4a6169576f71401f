//! The corpus of resource layouts: every answer, every warning, and a saved copy that answers the same.

use std::fs;
use std::path::{Path, PathBuf};

use hashtune::host::{self, ProbeRecord};
use toml::{Table, Value};

const CASES: usize = 40;
/// Keys whose figure must be equal, and absent where the case has none.
const FIGURES: [&str; 11] = [
    "online_cpus",
    "affinity_cpus",
    "quota_cpus",
    "usable_cpus",
    "usable_cpus_whole",
    "memory_limit_bytes",
    "memory_total_bytes",
    "usable_memory_bytes",
    "memory_high_bytes",
    "swap_limit_bytes",
    "memory_plus_swap_limit_bytes",
];
const CHOICES: [&str; 3] = ["cgroup_version", "cpu_decided_by", "memory_decided_by"];
const REMARKS: [&str; 10] = [
    "source",
    "summary",
    "trap",
    "notes",
    "family",
    "focus",
    "decided_by",
    "unreadable",
    "warnings",
    "optional_warnings",
];

fn cases() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts");
    let mut cases: Vec<_> = fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("expected.toml").exists())
        .collect();
    cases.sort();
    assert_eq!(cases.len(), CASES);
    cases
}

fn words(table: &Table, key: &str) -> Vec<String> {
    let list = table.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

fn table(record: &ProbeRecord) -> Table {
    Table::try_from(record).unwrap()
}

/// Everything that is wrong with the answer to a case.
fn faults(case: &Path) -> Vec<String> {
    let expected: Table = fs::read_to_string(case.join("expected.toml")).unwrap().parse().unwrap();
    let record = ProbeRecord::from(&host::probe(&case.join("root")));
    let got = table(&record);
    assert_eq!(got.clone().try_into::<ProbeRecord>().unwrap(), record, "read back");
    let mut faults = Vec::new();
    for key in expected.keys() {
        let known = FIGURES.contains(&key.as_str())
            || CHOICES.iter().any(|c| key == c || *key == format!("{c}_alternatives"))
            || REMARKS.contains(&key.as_str())
            || key == "warnings_any_of";
        if !known {
            faults.push(format!("the key {key} is not checked"));
        }
    }
    for key in FIGURES {
        if expected.get(key) != got.get(key) {
            faults.push(format!("{key}: {:?}, not {:?}", got.get(key), expected.get(key)));
        }
    }
    for key in CHOICES {
        let mut accepted = words(&expected, &format!("{key}_alternatives"));
        accepted.push(expected[key].as_str().unwrap().to_owned());
        if !accepted.contains(&got[key].as_str().unwrap().to_owned()) {
            faults.push(format!("{key}: {:?} is none of {accepted:?}", got[key]));
        }
    }
    let printed = words(&got, "warnings");
    let (required, any) = (words(&expected, "warnings"), words(&expected, "warnings_any_of"));
    for code in &required {
        if !printed.contains(code) {
            faults.push(format!("the warning {code} is missing"));
        }
    }
    if !any.is_empty() && !any.iter().any(|code| printed.contains(code)) {
        faults.push(format!("none of the warnings {any:?}"));
    }
    let allowed = [required, any, words(&expected, "optional_warnings")].concat();
    for code in printed.iter().filter(|code| !allowed.contains(code)) {
        faults.push(format!("the warning {code} is not due"));
    }
    faults
}

#[test]
fn every_case_is_answered() {
    let mut all = Vec::new();
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        all.extend(faults(&case).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

#[test]
fn a_saved_copy_answers_the_same() {
    for case in cases() {
        let root = case.join("root");
        let dir = tempfile::tempdir().unwrap();
        let original = host::save(&root, dir.path()).unwrap();
        assert_eq!(ProbeRecord::from(&original), ProbeRecord::from(&host::probe(&root)));
        let copy = host::probe(dir.path());
        assert_eq!(
            ProbeRecord::from(&copy),
            ProbeRecord::from(&original),
            "{}",
            case.display()
        );
        assert_eq!(copy.limits, original.limits, "{}", case.display());
    }
}

/// The checks above can fail: each changed answer is noticed.
#[test]
fn a_wrong_answer_is_noticed() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/04-v2-half-a-cpu");
    for (file, content) in [
        ("sys/fs/cgroup/cpu.max", "60000 100000\n"),
        ("sys/fs/cgroup/memory.max", "x\n"),
        ("sys/fs/cgroup/memory.high", "1\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("proc/meminfo", "MemTotal: 1 kB\n"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        host::save(&source.join("root"), &dir.path().join("root")).unwrap();
        fs::copy(source.join("expected.toml"), dir.path().join("expected.toml")).unwrap();
        assert_eq!(faults(dir.path()), [""; 0]);
        fs::write(dir.path().join("root").join(file), content).unwrap();
        assert!(!faults(dir.path()).is_empty(), "{file}");
    }
}
