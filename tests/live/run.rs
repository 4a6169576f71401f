//! Runs the real program, bounded in time, and checks that nothing of it is left.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::groups::Nested;

/// Joins the groups that come before `--`, then becomes the command behind it.
const JOIN: &str = r#"while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 97; shift; done; shift; exec "$@""#;
/// In the environment of everything that a run starts, so that it can be found again.
const MARK: &str = "HASHTUNE_LIVE_TEST";
/// Longer than any run takes, its time limit included.
const PATIENCE: Duration = Duration::from_secs(150);

/// A run to be: where, under what, and with which arguments.
#[derive(Debug, Default)]
pub struct Run {
    groups: Vec<PathBuf>,
    under: Vec<String>,
    args: Vec<String>,
    copied: bool,
}

/// A run that was started. Killed on drop.
#[derive(Debug)]
pub struct Running {
    child: Child,
    dir: TempDir,
    mark: String,
    started: Instant,
}

/// How it ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
    /// What was still there afterwards: processes and files.
    pub leftovers: Vec<String>,
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

impl Run {
    /// A run with these arguments, separated by spaces.
    pub fn new(args: &str) -> Self {
        Self {
            args: words(args),
            ..Self::default()
        }
    }

    /// In the inner group as well.
    pub fn within(mut self, group: &Nested) -> Self {
        self.groups.push(group.inner.clone());
        self
    }

    /// Started by a command, such as `taskset -c 0`.
    pub fn under(mut self, command: &str) -> Self {
        self.under = words(command);
        self
    }

    /// As a user that owns nothing. Runs a copy of the program: some checkouts lie where only their owner may look.
    pub fn by_nobody(mut self) -> Self {
        self.copied = true;
        self.under("setpriv --reuid 65534 --regid 65534 --clear-groups")
    }

    pub fn start(&self) -> Running {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().unwrap();
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        for name in ["", "tmp", "cwd"] {
            let path = dir.path().join(name);
            fs::create_dir_all(&path).unwrap();
            // Also for a run as another user.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let mut program = PathBuf::from(env!("CARGO_BIN_EXE_hashtune"));
        if self.copied {
            program = dir.path().join("hashtune");
            fs::copy(env!("CARGO_BIN_EXE_hashtune"), &program).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let file = |name: &str| File::create(dir.path().join(name)).unwrap();
        let child = Command::new("/bin/sh")
            .args(["-c", JOIN, "sh"])
            .args(&self.groups)
            .arg("--")
            .args(&self.under)
            .arg(program)
            .args(&self.args)
            .env(MARK, &mark)
            .env("TMPDIR", dir.path().join("tmp"))
            .current_dir(dir.path().join("cwd"))
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .unwrap();
        Running {
            child,
            dir,
            mark,
            started: Instant::now(),
        }
    }

    pub fn finish(&self) -> Outcome {
        self.start().finish()
    }
}

impl Running {
    /// Asks it to end. `exec` kept the shell's number, so it is the program's.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether it has ended by itself.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn finish(mut self) -> Outcome {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                self.started.elapsed() < PATIENCE,
                "it does not end:\n{}",
                self.text("stderr")
            );
            thread::sleep(Duration::from_millis(20));
        };
        let took = self.started.elapsed();
        Outcome {
            status,
            stdout: self.text("stdout"),
            stderr: self.text("stderr"),
            took,
            leftovers: self.leftovers(),
        }
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.path().join(name)).unwrap()).into_owned()
    }

    /// Processes get a second to end: a child is told by the kernel when its parent has gone.
    fn leftovers(&self) -> Vec<String> {
        let mut left = Vec::new();
        for _ in 0..50 {
            left = marked(&self.mark);
            if left.is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        for name in ["tmp", "cwd"] {
            let entries = fs::read_dir(self.dir.path().join(name)).unwrap().flatten();
            left.extend(entries.map(|e| format!("file {}", e.path().display())));
        }
        left
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Outcome {
    /// The exit code; a signal fails the test.
    pub fn code(&self) -> i32 {
        let by = self.status.signal();
        assert_eq!(by, None, "ended by a signal\n{}", self.stderr);
        self.status.code().unwrap()
    }

    /// Ended well and left nothing.
    #[track_caller]
    pub fn assert_clean(&self, code: i32) {
        assert_eq!(self.code(), code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert!(self.leftovers.is_empty(), "left behind: {:?}", self.leftovers);
    }

    /// Standard output as TOML.
    #[track_caller]
    pub fn toml(&self) -> toml::Table {
        self.stdout.parse().unwrap_or_else(|e| panic!("{e}\n{}", self.stdout))
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.stdout, self.stderr))
    }
}

/// Whether a report names a caveat.
pub fn has_caveat(report: &toml::Table, code: &str) -> bool {
    let caveats = report.get("caveat").and_then(toml::Value::as_array);
    caveats.is_some_and(|list| {
        list.iter()
            .any(|c| c.get("code").and_then(toml::Value::as_str) == Some(code))
    })
}

/// Processes that a run started and that still live.
fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ.split(|b| *b == 0).any(|v| v == wanted.as_bytes()) {
            found.push(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    found
}
