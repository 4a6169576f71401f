//! The command line from outside: what it refuses, in which words, and with which exit code.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::cargo::CommandCargoExt;
use rustix::process::{Pid, Signal, kill_process};

fn hashtune<S: AsRef<OsStr>>(args: &[S]) -> Output {
    Command::cargo_bin("hashtune")
        .unwrap()
        .args(args)
        .env_remove("NO_COLOR")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Exit code 2, nothing on stdout, one `error:` line that holds `echo`, at most one `hint:` line. Returns stderr.
fn refused<S: AsRef<OsStr>>(args: &[S], echo: &str) -> String {
    let shown: Vec<_> = args.iter().map(|a| a.as_ref().to_string_lossy()).collect();
    let out = hashtune(args);
    let err = text(&out.stderr).to_owned();
    assert_eq!(out.status.code(), Some(2), "{shown:?}: {err}");
    assert!(out.stdout.is_empty(), "{shown:?}: {}", text(&out.stdout));
    let lines: Vec<&str> = err.lines().collect();
    assert!(matches!(lines.len(), 1 | 2), "{shown:?}: {err}");
    assert!(lines[0].starts_with("error: "), "{shown:?}: {err}");
    assert!(lines[0].contains(echo), "{shown:?}: {echo} is not in {err}");
    assert!(lines[1..].iter().all(|l| l.starts_with("hint: ")), "{shown:?}: {err}");
    assert!(lines.iter().all(|l| !l.ends_with('.')), "{shown:?}: {err}");
    assert!(!err.contains("panicked") && !err.contains('\u{1b}'), "{shown:?}: {err}");
    err
}

/// Waits until `ready`, or fails.
fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The same with a good `--peak`.
fn refused_flag(flag: &str, value: &str) -> String {
    refused(&["--peak", "20/s", flag, value], &format!("{flag} \"{value}\""))
}

#[test]
fn bad_values_are_repeated_with_the_flag() {
    let table = [
        ("--mem", "4096"),
        ("--mem", "4KiB"),
        ("--mem", "-1GiB"),
        ("--mem", "1G"),
        ("--mem", ""),
        ("--mem", "nan"),
        ("--mem", "infGiB"),
        ("--mem", "999999999999999999999999GiB"),
        ("--budget-ms", "-1"),
        ("--budget-ms", "0"),
        ("--budget-ms", "999999999"),
        ("--budget-ms", "nan"),
        ("--budget-ms", "inf"),
        ("--budget-ms", "250ms"),
        ("--budget-ms", ""),
        ("--budget-ms", " "),
        ("--workers", "0"),
        ("--workers", "-4"),
        ("--workers", "1025"),
        ("--workers", "2.5"),
        ("--workers", "99999999999999999999999999"),
        ("--quantile", "0.3"),
        ("--quantile", "0.999"),
        ("--quantile", "95"),
        ("--quantile", "p95"),
        ("--quantile", "NaN"),
        ("--quantile", "-inf"),
        ("--idle-mem", "512"),
        ("--app-cpu-ms", "-5"),
        ("--app-cpu-ms", "250"),
        ("--headroom", "10"),
        ("--headroom", "100%"),
        ("--headroom", "nan%"),
        ("--algorithm", "md5"),
        ("--algorithm", "argon2id,,bcrypt"),
        ("--algorithm", ""),
        ("--profile", "missing.toml"),
        ("--profile", "no/such/file"),
        ("--floor", "nist"),
        ("--format", "yaml"),
        ("--time-limit", "60"),
        ("--time-limit", "0s"),
        ("--time-limit", "9999min"),
        ("--seed", "-1"),
        ("--seed", "x"),
        ("--output", "no/such/directory/out.toml"),
    ];
    for (flag, value) in table {
        refused_flag(flag, value);
    }
    for value in ["20", "0/s", "-1/s", "20/d", "", "/s", "nan/s", "99999999999/s"] {
        refused(&["--peak", value], &format!("--peak \"{value}\""));
    }
}

#[test]
fn the_words_of_the_first_refusal() {
    assert_eq!(
        refused_flag("--mem", "4096"),
        "error: --mem \"4096\": the unit is missing; accepted: a number with a unit, such as 512MiB, 1GiB or 1GB (10^9)\n\
         hint: write 4096MiB or 4096GiB\n"
    );
}

#[test]
fn hints_say_what_to_type() {
    for (flag, value, hint) in [
        ("--budget-ms", "250ms", "hint: write 250"),
        ("--quantile", "p95", "hint: write 0.95"),
        ("--headroom", "10", "hint: write 10%"),
        ("--time-limit", "60", "hint: write 60s"),
        ("--format", "tml", "hint: write toml"),
    ] {
        let err = refused_flag(flag, value);
        assert!(err.contains(hint), "{err}");
    }
}

#[test]
fn values_must_fit_together() {
    refused(
        &["--peak", "20/s", "--idle-mem", "2GiB", "--mem", "1GiB"],
        "--idle-mem \"2GiB\"",
    );
    refused(
        &["--peak", "20/s", "--app-cpu-ms", "40", "--budget-ms", "30"],
        "--app-cpu-ms \"40\"",
    );
}

#[test]
fn libsodium_has_argon2id_alone() {
    refused(
        &["--peak", "20/s", "--libsodium", "--algorithm", "argon2id,bcrypt"],
        "--algorithm \"argon2id,bcrypt\"",
    );
    // Nothing fits, and only Argon2id was looked at.
    let out = hashtune(&["--peak", "100000/s", "--budget-ms", "1", "--libsodium"]);
    let err = text(&out.stderr);
    assert!(
        err.contains("--algorithm argon2id,") && !err.contains("bcrypt"),
        "{err}"
    );
}

#[test]
fn the_peak_has_no_default() {
    for args in [&[][..], &["--budget-ms", "250", "--mem", "1GiB"]] {
        let err = refused(args, "--peak is missing");
        assert!(
            err.contains("hint: hashtune --budget-ms 250 --peak 20/s --mem 1GiB"),
            "{err}"
        );
    }
}

#[test]
fn unknown_words_get_a_suggestion() {
    assert!(refused(&["--memm", "1GiB"], "\"--memm\"").contains("hint: did you mean --mem?"));
    assert!(refused(&["--pek=20/s"], "\"--pek\"").contains("hint: did you mean --peak?"));
    assert!(refused(&["prob"], "\"prob\"").contains("hint: did you mean probe?"));
    refused(&["--xyzzy"], "\"--xyzzy\"");
    refused(&["-z"], "\"-z\"");
    refused(&["nonsense"], "\"nonsense\"");
    refused(&["--peak", "20/s", "stray"], "\"stray\"");
    refused(&["probe", "stray"], "\"stray\"");
}

#[test]
fn misused_flags_are_named() {
    refused(&["--mem"], "--mem: the value is missing");
    refused(&["-o"], "--output");
    refused(&["--peak", "20/s", "-o", ""], "--output");
    refused(&["--peak", "20/s", "--profile", ""], "--profile");
    refused(&["--mem", "1GiB", "--mem", "2GiB"], "--mem: given more than once");
    refused(&["--quiet=1"], "--quiet");
    refused(&["--mem", "1GiB", "probe"], "probe");
}

#[test]
fn odd_bytes_are_no_reason_to_panic() {
    let bad = OsStr::from_bytes(b"1\xff\xfeGiB");
    refused(&[OsStr::new("--mem"), bad], "\\xFF");
    refused(&[bad], "GiB");
    refused(&[OsStr::new("--profile"), bad], "--profile");
    refused(&[OsStr::from_bytes(b"--m\xff")], "--m");
    refused(&["--mem", "1\n2\u{1b}[31m"], "1\\n2\\u{1b}[31m");
    let long = "9".repeat(20_000);
    refused(&["--workers", &long], &long);
}

#[test]
fn help_and_version_go_to_stdout() {
    for (flag, holds) in [
        ("-h", "--budget-ms"),
        ("--help", "Examples:"),
        ("--version", env!("CARGO_PKG_VERSION")),
        ("-V", "hashtune"),
        ("help", "probe"),
    ] {
        let out = hashtune(&[flag]);
        assert_eq!(out.status.code(), Some(0), "{flag}");
        assert!(text(&out.stdout).contains(holds), "{flag}: {}", text(&out.stdout));
        assert!(out.stderr.is_empty() && !text(&out.stdout).contains('\u{1b}'), "{flag}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let out = Command::cargo_bin("hashtune")
        .unwrap()
        .arg("--help")
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stderr.is_empty(), "{}", text(&out.stderr));
}

#[test]
fn a_refused_run_leaves_the_output_file_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.toml");
    fs::write(&path, "old").unwrap();
    let out = hashtune(&[OsStr::new("--mem"), OsStr::new("1"), OsStr::new("-o"), path.as_os_str()]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Reading a pipe that nobody writes stands in for a long run: the output is open by then.
#[test]
fn an_interrupt_ends_at_once_says_so_and_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM] {
        let directory = tempfile::tempdir().unwrap();
        let (fifo, path) = (directory.path().join("ours.toml"), directory.path().join("out.toml"));
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let entries = || fs::read_dir(directory.path()).unwrap().count();
        let mut child = Command::cargo_bin("hashtune")
            .unwrap()
            .args(["--peak", "20/s", "--profile"])
            .arg(&fifo)
            .arg("--output")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for("the temporary file", || entries() == 2);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut status = None;
        wait_for("the end", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(130), "{signal:?}");
        assert_eq!(entries(), 1, "{signal:?}");
        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!(said, "interrupted: nothing was written\n", "{signal:?}");
    }
}

/// What the main job prints where nothing can fit: it measures, and needs no luck.
#[test]
fn nothing_fits_is_exit_1_with_nothing_on_stdout_and_named_remedies() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hashtune"));
    let run = command
        .args(["--peak", "1000/s", "--budget-ms", "5", "--mem", "64MiB"])
        .output()
        .unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{stderr}");
    assert!(run.stdout.is_empty());
    for remedy in ["more CPUs", "more memory", "a longer budget", "another algorithm"] {
        let named = |line: &str| line.starts_with("hint: ") && line.contains(remedy);
        assert!(stderr.lines().any(named), "{remedy} is missing:\n{stderr}");
    }
    assert!(
        stderr.contains("error: no setting at or above OWASP's floor"),
        "{stderr}"
    );
}

/// A job that nothing can fit: it measures little, and says all its doubts.
const IMPOSSIBLE: [&str; 6] = ["--peak", "100000/s", "--budget-ms", "1", "--algorithm", "bcrypt"];

#[test]
fn more_memory_than_the_host_has_is_said() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hashtune"));
    command.args(IMPOSSIBLE).args(["--mem", "1000TiB"]);
    let said = |command: &mut Command| String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(said(&mut command).contains("(memory-above-host)"));
    assert!(said(command.arg("--force-mem")).contains("(memory-forced)"));
}

#[test]
fn capped_cpus_are_said() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hashtune"));
    command.args(IMPOSSIBLE).args(["--mem", "64MiB"]);
    let run = command.args(["--cpus", "1", "--nice"]).output().unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{stderr}");
    let several = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    assert_eq!(stderr.contains("(cpus-capped)"), several, "{stderr}");
    assert!(stderr.contains("hint: more CPUs"), "{stderr}");
}
