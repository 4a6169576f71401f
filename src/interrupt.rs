//! Ctrl-C and SIGTERM end the run at once and leave nothing behind.
//!
//! What must be undone is registered where it comes into being; it is undone by `Drop` when the run ends by itself, and
//! from here when it is interrupted, for then no destructor runs.

use std::fmt;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failure::Failure;
use crate::terminal;

/// 128 + SIGINT, as shells report it. SIGTERM and SIGHUP cannot be told apart from it here and end with the same code.
const EXIT_CODE: i32 = 130;

type Cleanup = Box<dyn FnOnce() + Send>;

/// Newest last. The number tells the entries apart.
struct Registry {
    last: u64,
    cleanups: Vec<(u64, Cleanup)>,
}

type Shared = Mutex<Registry>;

static REGISTRY: Shared = Mutex::new(Registry::new());

/// What has been written as a whole, if anything.
static WRITTEN: Mutex<Option<String>> = Mutex::new(None);

impl Registry {
    const fn new() -> Self {
        Self {
            last: 0,
            cleanups: Vec::new(),
        }
    }
}

/// Keeps a cleanup registered; dropping it means that the thing has been cleaned up otherwise.
#[must_use = "the cleanup is only registered while this lives"]
pub struct Registration {
    number: u64,
    registry: &'static Shared,
}

/// Registers what an interrupt must do before the process ends. It must not block.
pub fn on_exit(cleanup: impl FnOnce() + Send + 'static) -> Registration {
    register(&REGISTRY, Box::new(cleanup))
}

fn register(registry: &'static Shared, cleanup: Cleanup) -> Registration {
    let mut entries = lock(registry);
    entries.last += 1;
    let number = entries.last;
    entries.cleanups.push((number, cleanup));
    Registration { number, registry }
}

/// Tells an interrupt from now on that `target` holds the whole answer.
pub fn written(target: &str) {
    *WRITTEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(target.to_owned());
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(self.registry)
            .cleanups
            .retain(|(number, _)| *number != self.number);
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registration({})", self.number)
    }
}

/// Installs the handler, once.
///
/// # Errors
/// When the signals cannot be handled.
pub fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        run_all(&REGISTRY);
        let written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        terminal::interrupted(written.as_deref());
        process::exit(EXIT_CODE);
    })
    .map_err(|error| Failure::new(format!("signals cannot be handled: {error}")))
}

/// Newest first, as destructors would.
fn run_all(registry: &Shared) {
    // Taken out before they run: one that drops a registration must not find the lock held.
    let cleanups = std::mem::take(&mut lock(registry).cleanups);
    for (_, cleanup) in cleanups.into_iter().rev() {
        cleanup();
    }
}

fn lock(registry: &Shared) -> MutexGuard<'_, Registry> {
    // A panic elsewhere is no reason to leave files behind.
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// One of its own: the program's holds the files of tests that run at the same time.
    static OWN: Shared = Mutex::new(Registry::new());

    #[test]
    fn newest_runs_first_and_dropped_ones_do_not() {
        let (tx, rx) = mpsc::channel();
        let note = |n: u32| -> Cleanup {
            let tx = tx.clone();
            Box::new(move || tx.send(n).unwrap())
        };
        let _first = register(&OWN, note(1));
        let dropped = register(&OWN, note(2));
        let _third = register(&OWN, note(3));
        drop(dropped);
        run_all(&OWN);
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [3, 1]);
    }
}
