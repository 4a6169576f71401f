//! A barrier that can fail: workers wait at it, a coordinator opens it for one round after another.
//!
//! `std::sync::Barrier` waits forever for a thread that died or could not be started.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::MeasureError;
use crate::engine::clock;

/// See the module.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    round: u64,
    /// When the current round was opened, on the wall clock.
    opened: f64,
    closed: bool,
    failure: Option<MeasureError>,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker is ready (or done with its round). Returns the instant of the next opening, or `None` when it is over.
    pub fn arrive(&self) -> Option<f64> {
        let mut state = self.lock();
        state.waiting += 1;
        self.changed.notify_all();
        let round = state.round;
        while state.round == round && !state.closed {
            state = self.wait(state);
        }
        (!state.closed).then_some(state.opened)
    }

    /// A worker cannot go on. The first failure counts.
    pub fn fail(&self, error: MeasureError) {
        self.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Waits until `workers` workers wait here.
    ///
    /// # Errors
    /// The first failure of any of them, at once.
    pub fn wait_for(&self, workers: usize) -> Result<(), MeasureError> {
        let mut state = self.lock();
        while state.waiting < workers && state.failure.is_none() {
            state = self.wait(state);
        }
        state.failure.take().map_or(Ok(()), Err)
    }

    /// Lets all waiting workers go. Returns when that was, on the wall clock.
    pub fn open(&self) -> f64 {
        let mut state = self.lock();
        state.waiting = 0;
        state.round += 1;
        // Under the lock, so that no worker runs before this instant.
        state.opened = clock::wall();
        self.changed.notify_all();
        state.opened
    }

    /// No further round: waiting workers return `None`.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// Reports a worker's panic to the gate, so that nobody waits for it.
pub struct PanicReport<'a>(pub &'a Gate);

impl Drop for PanicReport<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(MeasureError::Engine("the hash library panicked".into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn nobody_passes_before_it_opens_and_all_pass_afterwards() {
        let gate = Gate::default();
        let passed = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some(opened) = gate.arrive() {
                        assert!(clock::wall() >= opened);
                        passed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for round in 0..5 {
                gate.wait_for(3).unwrap();
                assert_eq!(passed.load(Ordering::SeqCst), round * 3);
                gate.open();
            }
            gate.wait_for(3).unwrap();
            gate.close();
        });
        assert_eq!(passed.into_inner(), 15);
    }

    #[test]
    fn a_panic_is_a_failure_and_not_a_hang() {
        let gate = Gate::default();
        let error = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _report = PanicReport(&gate);
                panic!("on purpose");
            });
            let error = gate.wait_for(1).unwrap_err();
            assert!(worker.join().is_err());
            error
        });
        assert!(matches!(error, MeasureError::Engine(_)));
    }
}
