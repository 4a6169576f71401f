//! The child's side.

use std::fs;
use std::io::{self, BufRead, Write};
use std::sync::mpsc;
use std::thread;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::engine::{Engine, EngineError, Native, Pages};
use crate::setting::Setting;

/// Has the kernel kill this process when the thread that started it ends. To be called first thing in the child.
///
/// # Errors
/// When the kernel refuses. Then the end of stdin still ends an idle child.
pub fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Answers requests until `release` or the end of `requests`.
///
/// # Errors
/// When a request cannot be read or an answer cannot be written: the parent is gone.
pub fn serve(requests: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    // What was asked to be held lives to the end.
    let mut held = Vec::new();
    for request in requests.lines() {
        let request = request?;
        if request == "release" {
            break;
        }
        let answer = match answer(&request, &mut held) {
            Ok(answer) => answer,
            // An answer is one line, whatever the error's text.
            Err(text) => format!("error {}", text.replace('\n', " ")),
        };
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

fn answer(request: &str, held: &mut Vec<Hold>) -> Result<String, String> {
    if request == "idle" {
        return high_water_mark().map(|bytes| format!("idle {bytes}"));
    }
    let unknown = || format!("unknown request {request:?}");
    let rest = request.strip_prefix("hold ").ok_or_else(unknown)?;
    let mut words = rest.splitn(3, ' ');
    let mut word = || words.next().ok_or_else(unknown);
    let pages: Pages = word()?.parse().map_err(|e| format!("{e}"))?;
    let workers: u32 = word()?.parse().map_err(|e| format!("workers: {e}"))?;
    let setting: Setting = word()?.parse().map_err(|e| format!("{e}"))?;
    held.push(Hold::new(pages, &setting, workers).map_err(|e| e.to_string())?);
    high_water_mark().map(|bytes| format!("held {bytes}"))
}

/// `VmHWM` of this process in bytes: the most memory that was resident at once (proc(5)).
fn high_water_mark() -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|e| format!("/proc/self/status: {e}"))?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| "/proc/self/status has no VmHWM".into())
}

/// W threads, each with a slot whose hash is done and whose memory is held until this is dropped.
struct Hold {
    threads: Vec<thread::JoinHandle<()>>,
    /// Dropped first: that is the barrier's opening.
    release: Vec<mpsc::Sender<()>>,
}

impl Hold {
    /// Returns when all hashes are done, so that all their memory is there at once.
    fn new(pages: Pages, setting: &Setting, workers: u32) -> Result<Self, EngineError> {
        let engine = Native::holding(pages);
        let (done, all_done) = mpsc::channel();
        let mut hold = Self {
            threads: Vec::new(),
            release: Vec::new(),
        };
        for _ in 0..workers {
            let mut slot = engine.slot(setting)?;
            let done = done.clone();
            let (release, released) = mpsc::channel::<()>();
            let work = move || {
                // The receiver is only gone when another worker failed.
                let _ = done.send(slot.hash());
                let _ = released.recv();
            };
            let thread = thread::Builder::new().spawn(work).map_err(|e| EngineError::Threads {
                lanes: workers,
                reason: e.to_string(),
            })?;
            hold.threads.push(thread);
            hold.release.push(release);
        }
        drop(done);
        for _ in 0..workers {
            all_done.recv().map_err(|_| EngineError::Refused {
                setting: setting.to_string(),
                reason: "a hashing thread panicked".into(),
            })??;
        }
        Ok(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(requests: &str) -> Vec<String> {
        let mut out = Vec::new();
        serve(requests.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn requests_are_answered_in_turn() {
        let got = answers("idle\nhold fresh 2 argon2id:m=64,t=1,p=2\nhold huge 1 bcrypt:4\nrelease\nidle\n");
        assert_eq!(got.len(), 3, "{got:?}");
        assert!(got[0].starts_with("idle ") && got[1].starts_with("held ") && got[2].starts_with("held "));
    }

    #[test]
    fn nonsense_is_an_error_and_not_the_end() {
        let got = answers("what\nhold\nhold fresh\nhold fresh x bcrypt:4\nhold fresh 1 bcrypt:99\nidle\n");
        assert!(got[..5].iter().all(|a| a.starts_with("error ")), "{got:?}");
        assert!(got[5].starts_with("idle "));
    }
}
