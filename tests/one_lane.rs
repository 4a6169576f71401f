//! A hash of one lane runs on the calling thread alone. In a process of its own, since it counts threads and CPU time.

use std::fs;
use std::sync::Arc;
use std::thread;

use hashtune::engine::{Native, Pages};
use hashtune::measure::{Load, Measure, Runner};

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn no_pool_is_started_and_the_thread_clock_sees_the_whole_hash() {
    let before = threads();
    let mut runner = Runner::new(Arc::new(Native::new(Pages::Fresh)), 2.0);
    let closed = Load::Closed {
        clients: 2,
        hashes: 10,
        seconds: 60.0,
    };
    let m = runner
        .measure(&"argon2id:m=19456,t=1,p=1".parse().unwrap(), &closed)
        .unwrap();
    // rayon's global pool would stay.
    assert_eq!(threads(), before);
    // CPU clocks, not durations: a busy machine does not change them.
    let seen: f64 = m.samples.iter().map(|s| s.thread_cpu).sum();
    assert!(seen <= m.cpu_s && seen > 0.9 * m.cpu_s, "{seen} of {} s", m.cpu_s);
    assert_eq!(m.lanes_cpu_s, 0.0);

    // With lanes it is the other way round: the worker sleeps while its pool works.
    let m = runner
        .measure(&"argon2id:m=19456,t=2,p=2".parse().unwrap(), &closed)
        .unwrap();
    let seen: f64 = m.samples.iter().map(|s| s.thread_cpu).sum();
    assert!(seen < m.lanes_cpu_s, "{seen} s beside {} s", m.lanes_cpu_s);
    assert!(seen + m.lanes_cpu_s > 0.9 * m.cpu_s && seen + m.lanes_cpu_s < 1.1 * m.cpu_s);
    // A pool that is dropped tells its threads to end and does not wait for them.
    while threads() > before {
        thread::yield_now();
    }
}
