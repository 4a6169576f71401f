//! `hashtune probe` as a program: formats, copies, refusals.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/hosts")
        .join(name)
        .join("root")
}

fn probe(args: &[&str]) -> Output {
    Command::cargo_bin("hashtune")
        .unwrap()
        .arg("probe")
        .args(args)
        .output()
        .unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = probe(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn all_formats_tell_the_same() {
    let root = case("01-v2-container-one-and-a-half-cpus");
    let root = root.to_str().unwrap();
    let toml: toml::Table = stdout(&["--root", root, "--format", "toml"]).parse().unwrap();
    let json: serde_json::Value = serde_json::from_str(&stdout(&["--root", root, "--format", "json"])).unwrap();
    assert_eq!(toml["usable_cpus"].as_float(), Some(1.5));
    assert_eq!(serde_json::to_value(&toml).unwrap(), json);
    let first: Vec<&str> = toml.keys().map(String::as_str).collect();
    assert!(first.contains(&"usable_cpus_whole") && !first.contains(&"memory_high_bytes"));
    let text = stdout(&["--root", root]);
    for part in [
        "1.5, decided by sys/fs/cgroup/cpu.max",
        "512 MiB, decided by sys/fs/cgroup/memory.max",
        "sys/fs/cgroup/cpu.max: 150000 us of CPU time every 100000 us",
        "cpu-fraction: ",
        "remedy: ",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn a_system_without_proc_is_no_error() {
    let root = case("30-macos-no-proc");
    let toml: toml::Table = stdout(&["--root", root.to_str().unwrap(), "--format", "toml"])
        .parse()
        .unwrap();
    assert_eq!(toml["cgroup_version"].as_str(), Some("none"));
    assert!(!toml.contains_key("usable_cpus") && !toml.contains_key("memory_total_bytes"));
}

#[test]
fn the_running_system_has_an_answer() {
    let toml: toml::Table = stdout(&["--format", "toml"]).parse().unwrap();
    assert!(toml["usable_cpus"].as_float().unwrap() > 0.0);
    assert!(toml["usable_memory_bytes"].as_integer().unwrap() > 0);
}

#[test]
fn a_copy_answers_the_same() {
    let root = case("15-lxd-memory-high-below-max");
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    let (root, copy) = (root.to_str().unwrap(), copy.to_str().unwrap());
    let original = stdout(&["--root", root, "--save", copy]);
    assert_eq!(stdout(&["--root", copy]), original);
    let again = probe(&["--root", root, "--save", copy]);
    assert_eq!(again.status.code(), Some(2));
    assert!(again.stdout.is_empty() && String::from_utf8_lossy(&again.stderr).contains("not empty"));
}

#[test]
fn a_bad_root_is_refused() {
    for root in ["/nowhere/at/all", env!("CARGO_MANIFEST_PATH"), ""] {
        let output = probe(&["--root", root]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{root}: {stderr}");
        assert!(
            output.stdout.is_empty() && stderr.starts_with("error: "),
            "{root}: {stderr}"
        );
        assert!(stderr.lines().next().unwrap().contains(root), "{root}: {stderr}");
    }
}
