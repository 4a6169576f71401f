//! The parent's side.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::cgroup::MeasuringGroup;
use crate::engine::{Pages, cleanup};
use crate::setting::Setting;
use crate::units::Bytes;

/// How to start a worker, and where it may be measured.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program, usually this one.
    pub path: PathBuf,
    /// Arguments that make it serve, usually `worker`.
    pub args: Vec<OsString>,
    /// The page behaviour to hold memory with.
    pub pages: Pages,
    /// This process's own memory cgroup directory, for a measuring group below it.
    pub memory_dir: Option<PathBuf>,
    /// Longest time for one figure.
    pub timeout: Duration,
}

/// The high-water mark of W hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peak {
    /// `VmHWM` with all hashes held, above idle. The kernel adds up counters per CPU: some 100 KiB may be missing.
    pub resident: Bytes,
    /// The same as the kernel charged it to a measuring cgroup (page tables and kernel stacks as well), or why there is none.
    pub cgroup: Result<Bytes, String>,
}

/// Why there is no figure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The program could not be started.
    #[error("{path} could not be started: {reason}", path = path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// It ended before it answered: usually the kernel's out-of-memory killer.
    #[error("the memory worker died: {0}")]
    Died(String),
    /// It answered with an error, or with nonsense.
    #[error("the memory worker failed: {0}")]
    Answer(String),
    /// It did not answer in time, and was killed.
    #[error("the memory worker did not answer within {} s", .0.as_secs())]
    Hung(Duration),
}

/// Measures the peak memory of `workers` hashes in a fresh child.
///
/// The child dies with the calling *thread*: `PR_SET_PDEATHSIG` counts threads.
///
/// # Errors
/// When the child cannot start, dies, fails or hangs. It is gone afterwards in any case, and so is the cgroup.
pub fn peak(program: &Program, setting: &Setting, workers: u32) -> Result<Peak, Failure> {
    // Made before the child and dropped after it: a cgroup with a member cannot be removed.
    let mut group = match &program.memory_dir {
        Some(dir) => MeasuringGroup::below(dir),
        None => Err("no memory cgroup is known for this process".into()),
    };
    let mut worker = Worker::start(program)?;
    if let Ok(made) = &group
        && let Err(reason) = made.admit(worker.child.id())
    {
        group = Err(reason);
    }
    let idle = worker.ask("idle", "idle ")?;
    if let Ok(made) = &mut group
        && let Err(reason) = made.begin()
    {
        group = Err(reason);
    }
    let held = worker.ask(&format!("hold {} {workers} {setting}", program.pages), "held ")?;
    let cgroup = group.as_ref().map_err(Clone::clone).and_then(MeasuringGroup::peak);
    drop(worker);
    drop(group);
    Ok(Peak {
        resident: Bytes(held.saturating_sub(idle)),
        cgroup,
    })
}

/// A running child. Killed and reaped on drop.
struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
    deadline: Instant,
    timeout: Duration,
}

impl Worker {
    fn start(program: &Program) -> Result<Self, Failure> {
        let failed = |reason: String| Failure::Start {
            path: program.path.clone(),
            reason,
        };
        let mut child = Command::new(&program.path)
            .args(&program.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| failed(e.to_string()))?;
        if let Some(pid) = pid_of(&child) {
            cleanup::add_child(pid);
        }
        let requests = child.stdin.take();
        let stdout = child.stdout.take();
        let (send, answers) = mpsc::channel();
        let worker = Self {
            child,
            requests,
            answers,
            deadline: Instant::now() + program.timeout,
            timeout: program.timeout,
        };
        let Some(stdout) = stdout else {
            return Err(failed("no stdout".into()));
        };
        // A thread, since reading a pipe cannot time out. It ends with the child's stdout.
        let read = move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().spawn(read).map_err(|e| failed(e.to_string()))?;
        Ok(worker)
    }

    /// Sends one request and returns the number behind `prefix` in its answer.
    fn ask(&mut self, request: &str, prefix: &str) -> Result<u64, Failure> {
        // A write that fails means that it died, which the missing answer tells with the reason.
        if let Some(requests) = &mut self.requests {
            let _ = writeln!(requests, "{request}").and_then(|()| requests.flush());
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let answer = match self.answers.recv_timeout(left) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => return Err(Failure::Hung(self.timeout)),
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Died(self.end())),
        };
        let number = answer.strip_prefix(prefix).and_then(|n| n.parse().ok());
        number.ok_or_else(|| Failure::Answer(answer.strip_prefix("error ").unwrap_or(&answer).to_owned()))
    }

    /// Reaps it, since it closed its stdout and so is ending by itself. Returns how it ended, in words.
    fn end(&mut self) -> String {
        self.requests = None;
        // Before it is reaped: see the clean-up.
        self.forget();
        for _ in 0..20 {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Ok(Some(status)) => return status.to_string(),
                Err(e) => return e.to_string(),
            }
        }
        "it closed its output".into()
    }

    fn forget(&self) {
        if let Some(pid) = pid_of(&self.child) {
            cleanup::forget_child(pid);
        }
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.forget();
        // Both fail only when it was reaped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
