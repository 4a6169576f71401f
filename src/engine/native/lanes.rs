//! Where Argon2's lanes run. The `argon2` crate hands them to rayon's current pool; this module says which one that is.
//!
//! Never rayon's global pool: in it, hashes in flight steal each other's lanes, and its threads' time is nobody's.

use std::cell::OnceCell;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::engine::{EngineError, clock};

/// The threads of one hash in flight.
pub enum Lanes {
    /// The calling thread alone.
    Inline,
    /// A pool of this hash's own; its caller sleeps meanwhile.
    Pool(ThreadPool),
}

thread_local! {
    /// A pool whose only thread is this one.
    ///
    /// Even for a single lane rayon asks for the current pool's size, and outside any pool that starts the global one with
    /// a thread for every CPU. Inside this one, work stays on the calling thread. rayon leaks a few KiB for each thread
    /// that does this; the driver's threads are few.
    static ALONE: OnceCell<Option<ThreadPool>> = const { OnceCell::new() };
}

impl Lanes {
    /// Threads for `lanes` lanes.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn new(lanes: u32) -> Result<Self, EngineError> {
        if lanes == 1 {
            return Ok(Self::Inline);
        }
        ThreadPoolBuilder::new()
            .num_threads(lanes as usize)
            .thread_name(|lane| format!("lane {lane}"))
            .build()
            .map(Self::Pool)
            .map_err(|e| EngineError::Threads {
                lanes,
                reason: e.to_string(),
            })
    }

    /// Runs one hash.
    pub fn run<T: Send>(&self, hash: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Inline => {
                // `None` when the thread already belongs to a pool of the caller's: then that one is used as it is.
                ALONE.with(|alone| {
                    alone.get_or_init(|| {
                        ThreadPoolBuilder::new()
                            .num_threads(1)
                            .use_current_thread()
                            .build()
                            .ok()
                    });
                });
                hash()
            }
            Self::Pool(pool) => pool.install(hash),
        }
    }

    /// CPU seconds that the pool's threads have used so far.
    pub fn cpu_s(&self) -> f64 {
        match self {
            Self::Inline => 0.0,
            // Each thread reads its own clock: no other thread can read it without a system call of its own.
            Self::Pool(pool) => pool.broadcast(|_| clock::thread_cpu()).iter().sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    use std::thread;

    #[test]
    fn one_lane_runs_on_the_calling_thread_alone() {
        let (caller, ran_on, pool_size) = thread::spawn(|| {
            let ran_on: Vec<_> = Lanes::Inline.run(|| (0..4).into_par_iter().map(|_| thread::current().id()).collect());
            (thread::current().id(), ran_on, rayon::current_num_threads())
        })
        .join()
        .unwrap();
        assert!(ran_on.iter().all(|id| *id == caller));
        assert_eq!(pool_size, 1);
    }

    #[test]
    fn lanes_run_in_a_pool_of_their_own() {
        let pools = [Lanes::new(3).unwrap(), Lanes::new(3).unwrap()];
        let caller = thread::current().id();
        for lanes in &pools {
            assert_eq!(lanes.run(rayon::current_num_threads), 3);
            assert_ne!(lanes.run(|| thread::current().id()), caller);
            assert!(lanes.cpu_s() > 0.0);
        }
    }
}
