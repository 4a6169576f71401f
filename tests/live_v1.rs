//! The real program in real cgroups (v1), under tight limits and as an ordinary user. docs/live.md tells what and why.
//!
//! Needs root and v1 hierarchies; without them each test says that it was skipped.

#[path = "live/groups.rs"]
mod groups;
#[path = "live/run.rs"]
mod run;
#[path = "live/say.rs"]
mod say;

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use groups::Nested;
use run::{Outcome, Run, has_caveat};
use rustix::process::{Signal, geteuid};
use say::{in_ci, say, skipped};

const MIB: u64 = 1 << 20;
/// The job of the issue, in a container of half a CPU.
const JOB: &str = "--budget-ms 400 --peak 2/s";

/// One at a time: they would measure each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Groups for a test, or `None` when the kernel or the user does not allow them, which is said.
fn groups<T>(test: &str, make: impl FnOnce() -> Result<T, String>) -> Option<T> {
    if !geteuid().is_root() {
        skipped(test, "not root");
        return None;
    }
    // That a hierarchy is missing is the kernel's choice. That a group cannot be made in one is worth a failure.
    for controller in ["cpu", "cpuset", "memory"] {
        if let Err(why) = groups::own(controller) {
            skipped(test, &why);
            return None;
        }
    }
    match make() {
        Ok(made) => Some(made),
        Err(why) if !in_ci() => {
            skipped(test, &why);
            None
        }
        Err(why) => panic!("{test}: {why}"),
    }
}

/// Whether a tool is there; CI has to have it.
fn tool(test: &str, name: &str) -> bool {
    let found = Command::new(name)
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success());
    assert!(found || !in_ci(), "{name} is missing");
    if !found {
        skipped(test, &format!("{name} is missing"));
    }
    found
}

/// The figures that matter, on the terminal even when all is well.
fn report(test: &str, outcome: &Outcome, more: &str) {
    let seconds = outcome.took.as_secs_f64();
    let encoded = outcome
        .stdout
        .lines()
        .find(|l| l.starts_with("encoded"))
        .unwrap_or("no setting");
    say(&format!("{test}: {seconds:.1} s, {encoded}{more}"));
}

/// A whole job. On a noisy host the honest answer can be that the measurements do not tell: then once more, and once again.
fn until_told(test: &str, run: &Run) -> Outcome {
    for _ in 0..2 {
        let outcome = run.finish();
        if outcome.code() != 2 || !outcome.stderr.contains("error: could not tell") {
            return outcome;
        }
        outcome.assert_clean(2);
        let error = outcome.stderr.lines().find(|l| l.starts_with("error: "));
        say(&format!("{test}: once more: {}", error.unwrap_or_default()));
    }
    run.finish()
}

fn file_below_root(dir: &Path, name: &str) -> String {
    dir.join(name).strip_prefix("/").unwrap().to_str().unwrap().to_owned()
}

#[test]
fn probe_in_half_a_cpu_and_96_mib() {
    let _alone = alone();
    let make = || Ok((Nested::cpu(50_000)?, Nested::memory(96 * MIB)?));
    let Some((cpu, memory)) = groups("probe in nested groups", make) else {
        return;
    };
    let outcome = Run::new("probe --format json").within(&cpu).within(&memory).finish();
    outcome.assert_clean(0);
    let probe = outcome.json();
    assert_eq!(probe["quota_cpus"], 0.5);
    assert_eq!(probe["usable_cpus"], 0.5);
    assert_eq!(probe["usable_cpus_whole"], 1);
    assert_eq!(probe["memory_limit_bytes"], 96 * MIB);
    assert_eq!(probe["usable_memory_bytes"], 96 * MIB);
    // Both are on the parent; the kernel states its memory limit in the own group's file too.
    assert_eq!(probe["cpu_decided_by"], file_below_root(&cpu.outer, "cpu.cfs_quota_us"));
    let states_it = [
        file_below_root(&memory.outer, "memory.limit_in_bytes"),
        file_below_root(&memory.inner, "memory.stat"),
    ];
    let decided = probe["memory_decided_by"].as_str().unwrap();
    assert!(states_it.iter().any(|f| f == decided), "{decided}");
    let warnings = probe["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w == "cpu-fraction"), "{warnings:?}");
}

#[test]
fn probe_in_a_cpuset_with_a_wider_quota() {
    let _alone = alone();
    let make = || Ok((Nested::cpu(150_000)?, Nested::cpuset("0")?));
    let Some((cpu, cpuset)) = groups("probe in a cpuset", make) else {
        return;
    };
    let outcome = Run::new("probe --format json").within(&cpu).within(&cpuset).finish();
    outcome.assert_clean(0);
    let probe = outcome.json();
    assert_eq!(probe["affinity_cpus"], 1);
    assert_eq!(probe["quota_cpus"], 1.5);
    assert_eq!(probe["usable_cpus"], 1.0);
    assert_eq!(probe["cpu_decided_by"], "proc/self/status");
}

#[test]
fn recommendation_in_half_a_cpu_and_128_mib() {
    recommendation_in(128 * MIB);
}

#[test]
fn recommendation_in_half_a_cpu_and_96_mib() {
    recommendation_in(96 * MIB);
}

fn recommendation_in(limit: u64) {
    let _alone = alone();
    let test = format!("recommendation in 0.5 CPU and {} MiB", limit / MIB);
    let make = || Ok((Nested::cpu(50_000)?, Nested::memory(limit)?));
    let Some((cpu, memory)) = groups(&test, make) else {
        return;
    };
    let outcome = until_told(&test, &Run::new(JOB).within(&cpu).within(&memory));
    let (kills, hits) = memory.kills_and_hits();
    let peak = memory.peak() / MIB;
    let throttled = cpu.throttled();
    report(
        &test,
        &outcome,
        &format!(", peak {peak} MiB, limit hit {hits} times, {kills} kills, {throttled} periods throttled"),
    );
    assert_eq!(kills, 0, "killed for memory\n{}", outcome.stderr);
    outcome.assert_clean(0);
    let left = [cpu.leftovers(), memory.leftovers()].concat();
    assert!(left.is_empty(), "{left:?}");
    let answer = outcome.toml();
    assert_eq!(answer["host"]["usable_cpus"].as_float(), Some(0.5));
    let usable = answer["host"]["usable_memory_bytes"].as_integer().unwrap();
    assert_eq!(u64::try_from(usable).unwrap(), limit);
    assert!(throttled > 0, "the quota never bound");
    assert!(has_caveat(&answer, "cpu-throttled"), "{}", outcome.stdout);
    let measured = answer["measured"]["peak_memory_bytes"].as_integer().unwrap();
    assert!(u64::try_from(measured).unwrap() < limit);
}

#[test]
fn recommendation_on_one_cpu() {
    let _alone = alone();
    if !tool("recommendation under taskset", "taskset") {
        return;
    }
    let run = Run::new("--budget-ms 400 --peak 2/s --algorithm bcrypt --mem 1GiB");
    let outcome = until_told("recommendation under taskset", &run.under("taskset -c 0"));
    report("recommendation under taskset", &outcome, "");
    outcome.assert_clean(0);
    assert_eq!(outcome.toml()["host"]["usable_cpus"].as_float(), Some(1.0));
}

/// Memory that the kernel refuses must end in words, not in an abort. At every size: each fails somewhere else.
#[test]
fn too_little_address_space_is_an_error_in_words() {
    let _alone = alone();
    if !tool("too little address space", "prlimit") {
        return;
    }
    let mut refused = 0;
    for mib in [24, 32, 48, 64, 96, 128, 192, 256] {
        let run = Run::new("--budget-ms 400 --peak 2/s --algorithm argon2id --time-limit 8s --mem 1GiB");
        let outcome = run.under(&format!("prlimit --as={}", mib * MIB)).finish();
        let code = outcome.code();
        report(
            &format!("address space of {mib} MiB"),
            &outcome,
            &format!(", exit {code}"),
        );
        outcome.assert_clean(code);
        assert!((0..=2).contains(&code), "{mib} MiB: exit {code}\n{}", outcome.stderr);
        assert!(code == 0 || outcome.stdout.is_empty(), "{}", outcome.stdout);
        if code == 2 {
            refused += 1;
            assert!(outcome.stderr.contains("error: "), "{mib} MiB:\n{}", outcome.stderr);
        }
    }
    assert!(refused > 0, "no size was too little");
}

#[test]
fn an_ordinary_user_needs_no_writable_cgroup() {
    let _alone = alone();
    if !tool("run as an ordinary user", "setpriv") {
        return;
    }
    let make = || Ok((Nested::cpu(50_000)?, Nested::memory(128 * MIB)?));
    let Some((cpu, memory)) = groups("run as an ordinary user", make) else {
        return;
    };
    let run = |args: &str| Run::new(args).within(&cpu).within(&memory).by_nobody();
    let outcome = run("probe --format json").finish();
    outcome.assert_clean(0);
    assert_eq!(outcome.json()["usable_cpus"], 0.5);
    let run = run("--budget-ms 400 --peak 2/s --algorithm bcrypt");
    let outcome = until_told("recommendation as an ordinary user", &run);
    report("recommendation as an ordinary user", &outcome, "");
    outcome.assert_clean(0);
    let left = [cpu.leftovers(), memory.leftovers()].concat();
    assert!(left.is_empty(), "{left:?}");
}

/// Ends a run at several moments with each signal. Whatever it was at, nothing is left.
#[test]
fn an_interrupt_leaves_nothing() {
    let _alone = alone();
    let make = || Ok((Nested::cpu(50_000)?, Nested::memory(128 * MIB)?));
    let Some((cpu, memory)) = groups("interrupted run", make) else {
        return;
    };
    for (signal, after_ms) in [
        (Signal::INT, 300),
        (Signal::INT, 2_000),
        (Signal::INT, 6_000),
        (Signal::INT, 12_000),
        (Signal::TERM, 4_000),
    ] {
        let mut running = Run::new("--budget-ms 400 --peak 2/s -o answer.toml")
            .within(&cpu)
            .within(&memory)
            .start();
        thread::sleep(Duration::from_millis(after_ms));
        assert!(!running.ended(), "ended before it could be interrupted");
        running.signal(signal);
        let outcome = running.finish();
        outcome.assert_clean(130);
        let left = [cpu.leftovers(), memory.leftovers()].concat();
        assert!(left.is_empty(), "{signal:?} after {after_ms} ms: {left:?}");
    }
}

/// While the child that measures memory lives, with its group, is the worst moment.
#[test]
fn an_interrupt_while_memory_is_measured_leaves_nothing() {
    let _alone = alone();
    let Some(memory) = groups("interrupt while memory is measured", || Nested::memory(128 * MIB)) else {
        return;
    };
    let mut running = Run::new("--budget-ms 400 --peak 2/s --algorithm bcrypt -o answer.toml")
        .within(&memory)
        .start();
    // The program's own measuring group below ours.
    while !memory.leftovers().iter().any(|l| l.starts_with("group")) {
        assert!(!running.ended(), "it made no measuring group");
        thread::sleep(Duration::from_millis(1));
    }
    running.signal(Signal::INT);
    running.finish().assert_clean(130);
    assert!(memory.leftovers().is_empty(), "{:?}", memory.leftovers());
}

/// Nothing can be removed by a program that is killed, but its child must end by itself.
#[test]
fn a_killed_run_leaves_no_process() {
    let _alone = alone();
    let Some(memory) = groups("killed run", || Nested::memory(128 * MIB)) else {
        return;
    };
    let mut running = Run::new("--budget-ms 400 --peak 2/s --algorithm bcrypt")
        .within(&memory)
        .start();
    while !memory.leftovers().iter().any(|l| l.starts_with("group")) {
        assert!(!running.ended(), "it made no measuring group");
        thread::sleep(Duration::from_millis(1));
    }
    running.signal(Signal::KILL);
    let outcome = running.finish();
    assert!(outcome.leftovers.is_empty(), "{:?}", outcome.leftovers);
}
