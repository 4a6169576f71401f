//! What is said about the deployed library holds for the real one: argon2-cffi, in a virtual environment made here.
//!
//! Faults are asserted, which no load of the machine can change; times are only printed. Without Python these tests print
//! `skipped: ...` and pass; with `CI` set, they fail.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hashtune::engine::advice::{Advice, HashThreads, Libc, PageFacts, Thp, advise};
use hashtune::engine::{Native, Pages, libc};
use hashtune::setting::{Argon2id, Setting};
use hashtune::units::{Bytes, Share};

/// The versions that `docs/pages.md` is about: another build of libargon2 may get its memory in another way.
const PACKAGES: [&str; 2] = ["argon2-cffi==25.1.0", "argon2-cffi-bindings==26.2.0"];
const ALWAYS_FRESH: &str = "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)
}

fn output(command: &mut Command) -> Result<String, String> {
    let run = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !run.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&run.stderr)));
    }
    String::from_utf8(run.stdout).map_err(|e| e.to_string())
}

fn make_venv() -> Result<PathBuf, String> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("argon2-cffi");
    let python = dir.join("bin/python");
    let pinned = PACKAGES.map(|package| {
        let (name, version) = package.split_once("==").unwrap();
        format!("assert version('{name}') == '{version}'")
    });
    let check = format!(
        "import argon2; from importlib.metadata import version; {}",
        pinned.join("; ")
    );
    let works = || output(Command::new(&python).args(["-c", &check]));
    if works().is_err() {
        output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&dir))?;
        output(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet"])
                .args(PACKAGES),
        )?;
        works()?;
    }
    Ok(python)
}

/// The Python that has argon2-cffi, or `None` after `skipped: ...` was printed.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match PYTHON.get_or_init(make_venv) {
        Ok(path) => Some(path),
        Err(why) if std::env::var_os("CI").is_some() => panic!("no Python with argon2-cffi: {why}"),
        Err(why) => {
            println!("skipped: no Python with argon2-cffi: {why}");
            None
        }
    }
}

/// Minor faults of a hash after three that warm up. `set` is an environment line, `threads` 0 the main thread.
fn faults(python: &Path, kib: u32, set: &str, threads: u32) -> f64 {
    let mut command = Command::new(python);
    command.arg(script("hash_cost.py")).args([&kib.to_string(), "1", "1"]);
    command.args(["--hashes", "4", "--threads", &threads.to_string()]);
    command.env_remove("GLIBC_TUNABLES");
    if let Some((name, value)) = set.split_once('=') {
        command.env(name, value);
    }
    let text = output(&mut command).unwrap();
    let seen: serde_json::Value = serde_json::from_str(&text).unwrap();
    println!("{kib} KiB, {threads} threads, {set:?}: {text}");
    seen["faults"].as_f64().unwrap()
}

fn thp() -> Option<Thp> {
    let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    text.parse().ok()
}

/// Every page of fresh memory faults once: of 4 KiB, or of 2 MiB where the kernel gives huge pages unasked.
fn is_fresh(kib: u32, faults: f64) -> bool {
    let page_kib = if thp() == Some(Thp::Always) { 2048 } else { 4 };
    faults > f64::from(kib / page_kib) * 0.9
}

/// A few faults are the interpreter's own.
fn is_kept(faults: f64) -> bool {
    faults < 8.0
}

/// The advice for argon2-cffi here: exactly the lines that a user gets.
fn advice(kib: u32, threads: HashThreads) -> Vec<Advice> {
    advise(&PageFacts {
        libc: libc(),
        thp: thp(),
        threads,
        memory: Bytes::from_kib(kib.into()),
        fresh: true,
        tax: Share(0.3),
        huge: Some(Share(0.3)),
    })
}

fn line(advice: &[Advice], code: &str) -> Option<String> {
    advice.iter().find(|a| a.code == code).map(|a| a.set.clone())
}

#[test]
fn small_hashes_keep_their_memory_and_large_ones_do_not() {
    let Some(python) = python() else { return };
    for threads in [0, 2] {
        assert!(is_kept(faults(python, 19456, "", threads)));
        assert!(is_fresh(65536, faults(python, 65536, "", threads)));
        assert!(is_fresh(19456, faults(python, 19456, ALWAYS_FRESH, threads)));
    }
}

#[test]
fn the_probe_finds_the_librarys_own_threshold() {
    let Some(python) = python() else { return };
    let theirs = "import os; print(os.confstr('CS_GNU_LIBC_VERSION').split()[1])";
    let theirs = Libc::from_glibc_version(&output(Command::new(python).args(["-c", theirs])).unwrap());
    if theirs != libc() {
        println!("skipped: Python has {theirs:?}, this program {:?}", libc());
        return;
    }
    let from = Native::new(Pages::Deployed)
        .fresh_from()
        .expect("glibc has a threshold");
    let kib = u32::try_from(from.0 / 1024).unwrap();
    for threads in [0, 1] {
        assert!(is_kept(faults(python, kib - 1024, "", threads)), "a MiB below {from}");
        assert!(is_fresh(kib, faults(python, kib, "", threads)), "at {from}");
    }
}

#[test]
fn huge_pages_cut_the_faults() {
    let Some(python) = python() else { return };
    let Some(set) = line(&advice(65536, HashThreads::Unknown), "hugetlb") else {
        println!("skipped: not advised with {:?} and huge pages {:?}", libc(), thp());
        return;
    };
    for threads in [0, 2] {
        let fallbacks = fallbacks();
        let (plain, huge) = (faults(python, 65536, "", threads), faults(python, 65536, &set, threads));
        if fallbacks == self::fallbacks() {
            assert!(huge * 10.0 < plain, "{threads} threads: {plain} to {huge}");
        } else {
            println!("skipped: the kernel had no free huge pages ({plain} to {huge})");
        }
    }
}

/// How often the kernel had no huge page to give.
fn fallbacks() -> Option<String> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    let line = text.lines().find(|l| l.starts_with("thp_fault_fallback "))?;
    Some(line.to_owned())
}

#[test]
fn the_advised_lines_keep_memory() {
    let Some(python) = python() else { return };
    for code in ["keep", "hugetlb-keep"] {
        for (kib, threads, how) in [
            (65536, 0, HashThreads::Single),
            (102_400, 0, HashThreads::Single),
            (47104, 2, HashThreads::Many),
            (64512, 2, HashThreads::Many),
            (65536, 2, HashThreads::Many),
            (102_400, 2, HashThreads::Unknown),
        ] {
            match line(&advice(kib, how), code) {
                Some(set) => assert!(is_kept(faults(python, kib, &set, threads)), "{kib} {how:?} {set}"),
                None => println!(
                    "skipped: {code} is not advised with {:?} and huge pages {:?}",
                    libc(),
                    thp()
                ),
            }
        }
    }
}

#[test]
fn without_the_one_arena_threads_keep_nothing_from_64_mib() {
    let Some(python) = python() else { return };
    let single = line(&advice(65536, HashThreads::Single), "keep").unwrap();
    assert!(is_fresh(65536, faults(python, 65536, &single, 2)));
    // Nor does the line change anything that is promised below.
    assert!(is_kept(faults(python, 47104, &single, 2)));
}

#[test]
fn hashes_verify_across_libraries() {
    let Some(python) = python() else { return };
    for (m, t, p) in [(19456, 2, 1), (64, 3, 4)] {
        let setting = Argon2id::new(m, t, p).unwrap();
        let ours = stored(setting, "pass word", b"saltsaltsaltsalt");
        let mut verify = Command::new(python);
        verify.arg(script("cross_verify.py")).args([&ours, "pass word"]);
        let theirs = output(&mut verify).expect("argon2-cffi accepts our hash");
        let salt = theirs.trim().rsplit('$').nth(1).unwrap();
        assert_eq!(stored(setting, "pass word", &from_base64(salt)), theirs.trim());
        let mut wrong = Command::new(python);
        wrong.arg(script("cross_verify.py")).args([&ours, "password"]);
        assert!(output(&mut wrong).unwrap_err().contains("VerifyMismatchError"));
    }
}

/// The stored form of a hash by the `argon2` crate.
fn stored(setting: Argon2id, password: &str, salt: &[u8]) -> String {
    let params = argon2::Params::new(setting.memory_kib(), setting.time_cost(), setting.lanes(), None).unwrap();
    let argon = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    let mut out = [0; 32];
    argon.hash_password_into(password.as_bytes(), salt, &mut out).unwrap();
    let prefix = Setting::Argon2id(setting).encoded();
    format!("{prefix}${}${}", to_base64(salt), to_base64(&out))
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 without padding, as in stored Argon2 hashes.
fn to_base64(bytes: &[u8]) -> String {
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let word = (0..3).fold(0, |word, at| {
            word << 8 | usize::from(chunk.get(at).copied().unwrap_or(0))
        });
        (0..=chunk.len()).map(move |digit| char::from(DIGITS[word >> (18 - 6 * digit) & 63]))
    });
    digits.collect()
}

fn from_base64(text: &str) -> Vec<u8> {
    let (mut word, mut bits, mut out) = (0_usize, 0, Vec::new());
    for c in text.bytes() {
        word = (word << 6 | DIGITS.iter().position(|d| *d == c).unwrap()) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(word >> bits & 0xff).unwrap());
        }
    }
    out
}
