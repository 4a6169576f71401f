//! A virtual machine's serial console, read until it powers off.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

const BEGIN: &str = "=== begin ";
const END: &str = "=== end ";
const DONE: &str = "=== done";

/// What came between markers, by name.
#[derive(Debug, Default)]
pub struct Console {
    parts: HashMap<String, String>,
}

impl Console {
    /// A part that was told.
    #[track_caller]
    pub fn part(&self, name: &str) -> &str {
        self.parts.get(name).unwrap_or_else(|| panic!("{name} was not told"))
    }

    fn take(lines: &[String]) -> Self {
        let mut parts = HashMap::new();
        let mut open: Option<(String, String)> = None;
        for line in lines {
            // What the firmware wrote before may stand on the same line.
            if let Some((_, name)) = line.split_once(BEGIN) {
                open = Some((name.to_owned(), String::new()));
            } else if line.starts_with(END) {
                parts.extend(open.take());
            } else if let Some((_, text)) = &mut open {
                text.push_str(line);
                text.push('\n');
            }
        }
        Self { parts }
    }
}

/// Killed and reaped on drop, so also when the test fails.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the machine and reads its console. Panics with what it told when it does not come to its end in time.
pub fn read(machine: &mut Command, patience: Duration) -> Console {
    machine
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let mut running = Machine(machine.spawn().unwrap());
    let stdout = running.0.stdout.take().unwrap();
    let (send, received) = mpsc::channel();
    // A thread, since reading a pipe cannot time out. It ends with the machine.
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let deadline = Instant::now() + patience;
    let mut lines = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match received.recv_timeout(left) {
            Ok(line) if line == DONE => return Console::take(&lines),
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Timeout) => panic!("not done in {patience:?}:\n{}", lines.join("\n")),
            Err(RecvTimeoutError::Disconnected) => panic!("powered off too soon:\n{}", lines.join("\n")),
        }
    }
}
