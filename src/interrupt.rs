//! Ctrl-C and SIGTERM end the run at once and leave nothing behind.
//!
//! What must be undone is registered where it comes into being; it is undone by `Drop` when the run ends by itself, and
//! from here when it is interrupted, for then no destructor runs.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failure::Failure;

/// 128 + SIGINT, as shells report it. SIGTERM and SIGHUP cannot be told apart from it here and end with the same code.
const EXIT_CODE: i32 = 130;

type Cleanup = Box<dyn FnOnce() + Send>;

/// Newest last. The number tells the entries apart.
static CLEANUPS: Mutex<(u64, Vec<(u64, Cleanup)>)> = Mutex::new((0, Vec::new()));

/// Keeps a cleanup registered; dropping it means that the thing has been cleaned up otherwise.
#[must_use = "the cleanup is only registered while this lives"]
#[derive(Debug)]
pub struct Registration(u64);

/// Registers what an interrupt must do before the process ends. It must not block.
pub fn on_exit(cleanup: impl FnOnce() + Send + 'static) -> Registration {
    let mut cleanups = lock();
    cleanups.0 += 1;
    let number = cleanups.0;
    cleanups.1.push((number, Box::new(cleanup)));
    Registration(number)
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock().1.retain(|(number, _)| *number != self.0);
    }
}

/// Installs the handler, once.
///
/// # Errors
/// When the signals cannot be handled.
pub fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        run_all();
        process::exit(EXIT_CODE);
    })
    .map_err(|error| Failure::new(format!("signals cannot be handled: {error}")))
}

/// Newest first, as destructors would.
fn run_all() {
    // Taken out before they run: one that drops a registration must not find the lock held.
    let cleanups = std::mem::take(&mut lock().1);
    for (_, cleanup) in cleanups.into_iter().rev() {
        cleanup();
    }
}

fn lock() -> MutexGuard<'static, (u64, Vec<(u64, Cleanup)>)> {
    // A panic elsewhere is no reason to leave files behind.
    CLEANUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn newest_runs_first_and_dropped_ones_do_not() {
        let (tx, rx) = mpsc::channel();
        let note = |n: u32| {
            let tx = tx.clone();
            move || tx.send(n).unwrap()
        };
        let _first = on_exit(note(1));
        let dropped = on_exit(note(2));
        let _third = on_exit(note(3));
        drop(dropped);
        run_all();
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [3, 1]);
    }
}
