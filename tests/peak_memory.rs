//! Peak memory of a real child process: `hashtune worker`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use hashtune::engine::worker::{Failure, Peak, Program, peak};
use hashtune::engine::{Pages, cleanup};
use hashtune::setting::Setting;

/// `cleanup::release_all` kills the children of every test in this process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn program(path: &str, args: &[&str]) -> Program {
    Program {
        path: path.into(),
        args: args.iter().map(Into::into).collect(),
        pages: Pages::Deployed,
        memory_dir: own_memory_dir(),
        timeout: Duration::from_secs(60),
    }
}

fn worker() -> Program {
    program(env!("CARGO_BIN_EXE_hashtune"), &["worker"])
}

/// This process's memory cgroup of version 1, where there is one.
fn own_memory_dir() -> Option<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text
        .lines()
        .find_map(|l| l.split_once(":memory:").map(|(_, path)| path.to_owned()))?;
    let dir = Path::new("/sys/fs/cgroup/memory").join(path.trim_start_matches('/'));
    dir.is_dir().then_some(dir)
}

fn groups_left() -> Vec<PathBuf> {
    let Some(dir) = own_memory_dir() else { return Vec::new() };
    let own = format!("hashtune-{}-", std::process::id());
    let entries = fs::read_dir(dir).unwrap().flatten();
    let ours = entries.filter(|e| e.file_name().to_string_lossy().starts_with(&own));
    ours.map(|e| e.path()).collect()
}

fn setting(text: &str) -> Setting {
    text.parse().unwrap()
}

fn serial<T>(test: impl FnOnce() -> T) -> T {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let result = test();
    assert_eq!(groups_left(), Vec::<PathBuf>::new());
    result
}

#[test]
fn all_hashes_are_held_at_once() {
    for (text, workers) in [
        ("argon2id:m=19456,t=2,p=1", 4),
        ("argon2id:m=40000,t=1,p=4", 3),
        ("scrypt:n=16384,r=8,p=1", 3),
    ] {
        let setting = setting(text);
        let Peak { resident, cgroup } = serial(|| peak(&worker(), &setting, workers)).unwrap();
        let least = setting.memory_cost().0 * u64::from(workers);
        // Counters that the kernel adds up lazily may hide a little; threads and stacks add a little.
        let (low, high) = (least - (512 << 10), least + (8 << 20));
        assert!((low..high).contains(&resident.0), "{text}: {resident} of {least}");
        if let Ok(charged) = cgroup {
            assert!((low..high + (4 << 20)).contains(&charged.0), "{text}: {charged}");
        }
    }
}

#[test]
fn a_setting_without_memory_needs_hardly_any() {
    let got = serial(|| peak(&worker(), &setting("bcrypt:4"), 2)).unwrap();
    assert!(got.resident.0 < 4 << 20, "{got:?}");
}

#[test]
fn a_cgroup_is_used_where_allowed_and_refused_at_the_root_of_the_mount() {
    let root = Path::new("/sys/fs/cgroup/memory");
    if !root.is_dir() {
        return;
    }
    let at_root = Program {
        memory_dir: Some(root.into()),
        ..worker()
    };
    let refused = serial(|| peak(&at_root, &setting("bcrypt:4"), 1))
        .unwrap()
        .cgroup
        .unwrap_err();
    assert!(refused.contains("no group is made there"), "{refused}");
    let nowhere = Program {
        memory_dir: None,
        ..worker()
    };
    assert!(
        serial(|| peak(&nowhere, &setting("bcrypt:4"), 1))
            .unwrap()
            .cgroup
            .is_err()
    );
}

#[test]
fn short_memory_is_an_error_of_the_child_and_not_its_death() {
    let path = env!("CARGO_BIN_EXE_hashtune");
    let limited = program("/bin/sh", &["-c", &format!("ulimit -v 400000; exec {path} worker")]);
    for text in ["argon2id:m=1048576,t=1,p=1", "scrypt:n=1048576,r=8,p=1"] {
        let error = serial(|| peak(&limited, &setting(text), 1)).unwrap_err();
        assert!(
            matches!(&error, Failure::Answer(why) if why.contains("1 GiB")),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_child_that_dies_hangs_or_talks_nonsense_is_an_error() {
    let mute = Program {
        timeout: Duration::from_millis(200),
        ..program("/bin/sleep", &["1000"])
    };
    let ask = |program: Program| serial(|| peak(&program, &setting("bcrypt:4"), 1)).unwrap_err();
    assert!(matches!(ask(mute), Failure::Hung(_)));
    let died = ask(program("/bin/sh", &["-c", "kill -9 $$"]));
    assert!(
        matches!(&died, Failure::Died(how) if how.contains("signal: 9")),
        "{died}"
    );
    assert!(matches!(ask(program("/bin/echo", &["hello"])), Failure::Answer(_)));
    assert!(matches!(ask(program("/no/such/program", &[])), Failure::Start { .. }));
}

#[test]
fn an_interrupt_kills_the_child_and_removes_the_group() {
    serial(|| {
        let slow = setting("argon2id:m=65536,t=10000,p=1");
        let waiting = std::thread::spawn(move || peak(&worker(), &slow, 1));
        // At any instant: before the group, before the child, while it hashes. Once is enough, but when is it there?
        while !waiting.is_finished() {
            std::thread::sleep(Duration::from_millis(100));
            cleanup::release_all();
        }
        let error = waiting.join().unwrap().unwrap_err();
        assert!(
            matches!(&error, Failure::Died(how) if how.contains("signal: 9")),
            "{error}"
        );
    });
}
