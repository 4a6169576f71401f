//! The driver with engines that do not hash. Order, counts and presence; never durations.

use super::testing::{Act, Fake, any_setting};
use super::*;
use crate::engine::clock;
use crate::units::Bytes;

const PLENTY: Bytes = Bytes(1 << 40);

fn measured_within(engine: &Fake, load: &Load, deadline_s: f64, app_cpu_s: f64) -> Result<Measurement, MeasureError> {
    run(
        engine,
        &any_setting(),
        load,
        &mut Conditions {
            app_cpu_s,
            deadline: clock::wall() + deadline_s,
            thresholds: Thresholds::new(2.0),
            cpu_clock: clock::process_cpu,
            free_memory: &mut || PLENTY,
            counters: &mut CounterReading::default,
        },
    )
}

fn measured(act: Act, load: &Load) -> Measurement {
    measured_within(&Fake::new(act), load, 60.0, 0.0).unwrap()
}

fn assert_ordered(m: &Measurement) {
    for pair in m.samples.windows(2) {
        assert!(pair[0].scheduled <= pair[1].scheduled);
    }
    for s in &m.samples {
        assert!(s.scheduled <= s.started && s.started <= s.finished, "{s:?}");
        assert!(s.lateness >= 0.0 && s.finished <= m.wall_s, "{s:?}");
    }
}

#[test]
fn single_takes_one_hash_after_another() {
    let m = measured(Act::Spin(0.000_2), &Load::Single { hashes: 20 });
    assert_eq!(m.samples.len(), 20);
    assert_ordered(&m);
    for pair in m.samples.windows(2) {
        assert!(pair[0].finished <= pair[1].started);
    }
    assert!(m.throughput() > 0.0 && m.cpu_per_hash() > 0.0);
}

#[test]
fn a_burst_is_released_together_and_in_rounds() {
    let m = measured(Act::Sleep(0.002), &Load::Burst { size: 4, rounds: 3 });
    assert_eq!(m.samples.len(), 12);
    assert_ordered(&m);
    for round in m.samples.chunks(4) {
        assert!(round.iter().all(|s| s.scheduled == round[0].scheduled));
    }
    // A round begins when the last one has ended.
    for (last, next) in m.samples.chunks(4).zip(m.samples.chunks(4).skip(1)) {
        assert!(last.iter().all(|s| s.finished <= next[0].scheduled));
    }
    let mut workers: Vec<u32> = m.samples[..4].iter().map(|s| s.worker).collect();
    workers.sort_unstable();
    assert_eq!(workers, [0, 1, 2, 3]);
}

#[test]
fn nothing_is_hashed_before_all_slots_are_warm() {
    let engine = Fake::new(Act::Sleep(0.002));
    let before = clock::wall();
    let m = measured_within(&engine, &Load::Burst { size: 3, rounds: 1 }, 60.0, 0.0).unwrap();
    let log = engine.log.lock().unwrap();
    assert_eq!((log.len(), m.samples.len()), (6, 3));
    let warm = log[..3].iter().map(|(_, end)| *end).fold(before, f64::max);
    assert!(log[3..].iter().all(|(begin, _)| *begin >= warm));
}

#[test]
fn closed_takes_exactly_the_hashes_that_were_asked_for() {
    let closed = |clients, hashes, seconds| Load::Closed {
        clients,
        hashes,
        seconds,
    };
    assert_eq!(measured(Act::Spin(0.000_1), &closed(3, 40, 60.0)).samples.len(), 40);
    // Each client does one, whatever the limits say.
    assert_eq!(measured(Act::Spin(0.000_1), &closed(3, 1, 60.0)).samples.len(), 3);
    assert_eq!(measured(Act::Spin(0.000_1), &closed(3, 1000, 0.0)).samples.len(), 3);
    let m = measured(Act::Sleep(0.001), &closed(2, 30, 60.0));
    assert_ordered(&m);
    assert!(m.samples.iter().all(|s| s.scheduled == s.started || s.lateness >= 0.0));
}

/// First come first served with W servers: arrivals start in order, and one that waits starts when a worker ends.
#[test]
fn open_is_first_come_first_served() {
    let arrivals: Vec<f64> = (0..30).map(|i| f64::from(i / 3) * 0.004).collect();
    let workers = 2;
    let m = measured(
        Act::Sleep(0.003),
        &Load::Open {
            arrivals: arrivals.clone(),
            workers,
        },
    );
    assert_eq!(m.samples.iter().map(|s| s.scheduled).collect::<Vec<_>>(), arrivals);
    assert_ordered(&m);
    for (i, s) in m.samples.iter().enumerate() {
        let in_flight = m
            .samples
            .iter()
            .enumerate()
            .filter(|(j, o)| *j != i && o.started <= s.started && o.finished > s.started)
            .count();
        assert!(in_flight < workers as usize, "{in_flight} others at {s:?}");
        // The worker that took it was free: it ended all its earlier hashes.
        let earlier = m.samples[..i].iter().filter(|o| o.worker == s.worker);
        assert!(earlier.into_iter().all(|o| o.finished <= s.started));
    }
}

#[test]
fn latency_counts_from_the_scheduled_instant() {
    // Everything at once on one worker: the last one has waited for all others.
    let load = Load::Open {
        arrivals: vec![0.0; 10],
        workers: 1,
    };
    let m = measured(Act::Sleep(0.001), &load);
    let last = m.samples.last().unwrap();
    assert!(last.latency() > last.finished - last.started);
    assert!(last.started >= m.samples[8].finished);
}

#[test]
fn the_rest_of_a_login_is_spun_and_counted() {
    let engine = Fake::new(Act::Sleep(0.000_1));
    let m = measured_within(&engine, &Load::Single { hashes: 5 }, 60.0, 0.001).unwrap();
    assert!(m.app_cpu_s >= 0.005);
    assert!(m.cpu_s >= m.app_cpu_s);
    assert!(m.samples.iter().all(|s| s.thread_cpu >= 0.001));
}

#[test]
fn the_deadline_cuts_an_open_run_short() {
    let load = Load::Open {
        arrivals: vec![0.0, 0.001, 1000.0, 1001.0],
        workers: 2,
    };
    let m = measured_within(&Fake::new(Act::Sleep(0.000_1)), &load, 0.5, 0.0).unwrap();
    assert_eq!(m.samples.len(), 2);
    assert!(m.caveats.iter().any(|c| c.code() == "too-few-arrivals"));
}

#[test]
fn the_deadline_cuts_closed_runs_and_refuses_late_ones() {
    let load = Load::Single { hashes: u32::MAX };
    let m = measured_within(&Fake::new(Act::Sleep(0.001)), &load, 0.1, 0.0).unwrap();
    assert!(!m.samples.is_empty());
    let engine = Fake::new(Act::Sleep(0.001));
    assert_eq!(measured_within(&engine, &load, -1.0, 0.0), Err(MeasureError::Time));
    assert!(engine.log.lock().unwrap().is_empty());
}

#[test]
fn failures_end_the_run_and_not_in_a_hang() {
    let closed = Load::Closed {
        clients: 3,
        hashes: 1000,
        seconds: 60.0,
    };
    for act in [Act::FailAt(1), Act::FailAt(20), Act::PanicAt(2), Act::PanicAt(30)] {
        let error = measured_within(&Fake::new(act), &closed, 60.0, 0.0).unwrap_err();
        assert!(matches!(error, MeasureError::Engine(_)), "{act:?}: {error}");
    }
    let few = Fake {
        slots: 2,
        ..Fake::new(Act::Spin(0.0))
    };
    assert!(measured_within(&few, &closed, 60.0, 0.0).is_err());
    assert!(few.log.lock().unwrap().is_empty());
    let none = Load::Open {
        arrivals: vec![],
        workers: 1,
    };
    assert!(measured_within(&few, &none, 60.0, 0.0).is_err());
}

#[test]
fn memory_is_checked_before_anything_is_made_and_between_rounds() {
    let load = Load::Burst { size: 2, rounds: 5 };
    let with_free = |free_memory: &mut dyn FnMut() -> Bytes| {
        let engine = Fake::new(Act::Spin(0.0));
        let result = run(
            &engine,
            &any_setting(),
            &load,
            &mut Conditions {
                app_cpu_s: 0.0,
                deadline: clock::wall() + 60.0,
                thresholds: Thresholds::new(2.0),
                cpu_clock: clock::process_cpu,
                free_memory,
                counters: &mut CounterReading::default,
            },
        );
        let hashed = engine.log.lock().unwrap().len();
        (result, hashed)
    };
    let (result, hashed) = with_free(&mut || Bytes(1000));
    assert!(matches!(result, Err(MeasureError::Memory { free: Bytes(1000), .. })));
    assert_eq!(hashed, 0);
    let mut readings = [PLENTY, PLENTY, Bytes(1000)].into_iter();
    let (result, hashed) = with_free(&mut || readings.next().unwrap());
    assert!(matches!(result, Err(MeasureError::Memory { .. })));
    assert_eq!(hashed, 2 + 2 * 2); // warm-up and two rounds
}

#[test]
fn counters_are_read_around_the_hashes() {
    let mut readings = 0_u32;
    let mut counters = || {
        readings += 1;
        CounterReading {
            throttled: u64::from(readings) * 2,
            periods: u64::from(readings) * 10,
            ..CounterReading::default()
        }
    };
    let m = run(
        &Fake::new(Act::Spin(0.0)),
        &any_setting(),
        &Load::Single { hashes: 1 },
        &mut Conditions {
            app_cpu_s: 0.0,
            deadline: clock::wall() + 60.0,
            thresholds: Thresholds::new(2.0),
            cpu_clock: clock::process_cpu,
            free_memory: &mut || PLENTY,
            counters: &mut counters,
        },
    )
    .unwrap();
    assert_eq!(readings, 2);
    assert_eq!((m.disturbance.throttled_periods, m.disturbance.periods), (2, 10));
    assert!(m.caveats.iter().any(|c| c.code() == "cpu-throttled"));
}

#[test]
fn a_cpu_clock_that_stands_still_gives_no_figures() {
    let stopped = run(
        &Fake::new(Act::Spin(0.000_1)),
        &any_setting(),
        &Load::Single { hashes: 3 },
        &mut Conditions {
            app_cpu_s: 0.0,
            deadline: clock::wall() + 60.0,
            thresholds: Thresholds::new(2.0),
            cpu_clock: || 5.0,
            free_memory: &mut || PLENTY,
            counters: &mut CounterReading::default,
        },
    );
    let said = MeasureError::Engine("the CPU clock stood still during 3 hashes".into());
    assert_eq!(stopped, Err(said));
}

#[test]
fn throughput_has_no_tail() {
    // One client ends early: over the wall time it would count as half idle.
    let mut m = testing::steady(10);
    for (i, s) in m.samples.iter_mut().enumerate() {
        let (worker, nth) = if i < 2 { (1, i) } else { (0, i - 2) };
        *s = Sample {
            worker,
            scheduled: nth as f64,
            started: nth as f64,
            finished: nth as f64 + 1.0,
            ..*s
        };
    }
    assert!((m.throughput() - 2.0).abs() < 1e-12);
}
