//! A stand-in for the command line: only the hidden `worker`.

use std::io;
use std::process::ExitCode;

use hashtune::engine::worker;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("worker") {
        return ExitCode::from(2);
    }
    // Without it the end of stdin still ends the worker.
    let _ = worker::die_with_parent();
    match worker::serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(2),
    }
}
