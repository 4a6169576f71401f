//! The real program on a real kernel with cgroup v2 only: Debian's cloud kernel in qemu, without hardware help.
//!
//! `tests/v2/prepare.sh` gets the packages. CI runs it from here; by hand it is run once, or this test is skipped.
//! docs/live.md tells what is checked.

#[path = "live/console.rs"]
mod console;
#[path = "live/say.rs"]
mod say;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use console::Console;
use say::{in_ci, say, skipped};

const MIB: u64 = 1 << 20;
/// From power-on to power-off.
const PATIENCE: Duration = Duration::from_secs(240);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs one of the test's scripts.
fn script(name: &str) -> Result<(), String> {
    let path = root().join("tests/v2").join(name);
    let output = Command::new("/bin/sh").arg(path).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("/bin/sh: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// Whether everything for the machine is there. By hand nothing is fetched.
fn prepared() -> Result<(), String> {
    if in_ci() {
        return script("prepare.sh");
    }
    let there = |file: &str| root().join("target/v2").join(file).exists();
    let qemu = Command::new("qemu-system-x86_64").arg("--version").output();
    if there("vmlinuz") && there("busybox") && qemu.is_ok() {
        return Ok(());
    }
    Err("qemu, kernel or busybox is missing: tests/v2/prepare.sh gets them".into())
}

/// Boots, and reads what the machine tells until it powers off.
fn boot() -> Console {
    let file = |name: &str| -> PathBuf { root().join("target/v2").join(name) };
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-accel", "tcg", "-m", "768M", "-smp", "2", "-nographic", "-no-reboot"])
        // Without rdrand the machine would wait for randomness: nothing happens in it.
        .args(["-cpu", "qemu64,+rdrand"])
        .args(["-nic", "none", "-monitor", "none", "-serial", "stdio"])
        .arg("-kernel")
        .arg(file("vmlinuz"))
        .arg("-initrd")
        .arg(file("initramfs"))
        // cgroup_no_v1: all controllers belong to v2. A panic powers off.
        .args(["-append", "console=ttyS0 quiet loglevel=1 panic=-1 cgroup_no_v1=all"]);
    console::read(&mut qemu, PATIENCE)
}

#[test]
fn a_v2_kernel() {
    if let Err(why) = prepared() {
        assert!(!in_ci(), "{why}");
        return skipped("v2 kernel", &why);
    }
    script("image.sh").unwrap();
    let begun = Instant::now();
    let mut console = boot();
    // On a noisy host the honest answer can be that the measurements do not tell.
    if console.part("job.err").contains("error: could not tell") {
        say("v2 job: once more: the measurements did not tell");
        console = boot();
    }
    let kernel = console.part("kernel").trim();
    say(&format!(
        "v2 kernel {kernel}: {:.0} s from power-on",
        begun.elapsed().as_secs_f64()
    ));
    probe(&console);
    job(&console);
}

/// Ended well, within its limits, and left nothing.
fn assert_clean(console: &Console, name: &str) {
    let state = console.part(&format!("{name}.state"));
    let told = || {
        format!(
            "{state}\n{}\n{}",
            console.part(&format!("{name}.out")),
            console.part(&format!("{name}.err"))
        )
    };
    assert!(state.lines().any(|l| l == "exit 0"), "{}", told());
    assert!(!state.contains("left "), "{}", told());
    let kills: Vec<_> = state.lines().filter(|l| l.contains(":oom_kill ")).collect();
    assert!(
        !kills.is_empty() && kills.iter().all(|l| l.ends_with(" 0")),
        "{}",
        told()
    );
}

fn probe(console: &Console) {
    assert_clean(console, "probe");
    let probe: serde_json::Value = serde_json::from_str(console.part("probe.out")).unwrap();
    let expected = serde_json::json!({
        "cgroup_version": "v2",
        "online_cpus": 2,
        "affinity_cpus": 2,
        "quota_cpus": 1.5,
        "usable_cpus": 1.5,
        "memory_limit_bytes": 128 * MIB,
        "usable_memory_bytes": 128 * MIB,
        "cpu_decided_by": "sys/fs/cgroup/box/cpu.max",
        "memory_decided_by": "sys/fs/cgroup/box/inner/memory.max",
        "warnings": ["cpu-fraction"],
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&probe[key], value, "{key}");
    }
}

/// A whole recommendation, as a user to whom the group above its own is delegated.
fn job(console: &Console) {
    assert_clean(console, "job");
    let answer: toml::Table = console.part("job.out").parse().unwrap();
    let seen = console.part("job.seen");
    let peaks = seen.lines().filter_map(|l| l.rsplit(' ').next()?.parse::<u64>().ok());
    let peak = peaks.max().unwrap_or(0);
    let throttled = console.part("job.state").lines().find(|l| l.contains("nr_throttled"));
    say(&format!(
        "v2 job: {}, {}, memory.peak of the measuring group {} KiB, peak memory {} KiB",
        answer["hash"]["encoded"],
        throttled
            .unwrap_or_default()
            .trim_start_matches("/sys/fs/cgroup/box/cpu.stat:"),
        peak / 1024,
        answer["measured"]["peak_memory_bytes"].as_integer().unwrap() / 1024,
    ));
    assert_eq!(answer["host"]["usable_cpus"].as_float(), Some(1.5));
    assert_eq!(answer["host"]["usable_memory_bytes"].as_integer(), Some(128 << 20));
    assert!(peak > 0, "no measuring group was seen:\n{}", console.part("job.err"));
    let caveats = answer["caveat"].as_array().unwrap();
    let throttled = caveats.iter().any(|c| c["code"].as_str() == Some("cpu-throttled"));
    assert!(throttled, "{caveats:?}");
}
