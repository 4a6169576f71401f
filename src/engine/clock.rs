//! The three clocks, in seconds as floats, and a sleep until an instant of the first.

use std::time::Duration;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

#[allow(clippy::cast_precision_loss)]
fn seconds(id: ClockId) -> f64 {
    let now = clock_gettime(id);
    // 53 bits hold nanoseconds for 104 days of uptime, and 0.1 us for years: finer than any wake-up.
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Wall time in seconds: it never jumps, and unlike `CLOCK_BOOTTIME` stands still in suspend, as a hash does.
pub fn wall() -> f64 {
    seconds(ClockId::Monotonic)
}

/// CPU seconds of all threads of this process, ended ones included: the only clock that sees an Argon2 hash's lanes.
pub fn process_cpu() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// CPU seconds of the calling thread.
pub fn thread_cpu() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// Sleeps until [`wall`] reaches `instant`. An absolute sleep, so that time lost before the call is not added.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
pub fn sleep_until(instant: f64) {
    let whole = instant.floor();
    let request = Timespec {
        tv_sec: whole as i64,
        tv_nsec: ((instant - whole) * 1e9) as _,
    };
    loop {
        match clock_nanosleep_absolute(ClockId::Monotonic, &request) {
            // A signal ends the sleep early: go on sleeping.
            Err(rustix::io::Errno::INTR) => {}
            Ok(()) => return,
            Err(_) => {
                std::thread::sleep(Duration::from_secs_f64((instant - wall()).max(0.0)));
                return;
            }
        }
    }
}

/// Uses `cpu_s` seconds of the calling thread's CPU time. Returns what was really used.
pub fn spin(cpu_s: f64) -> f64 {
    let begin = thread_cpu();
    loop {
        let used = thread_cpu() - begin;
        if used >= cpu_s {
            return used;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance_and_sleep_does_not_wake_early() {
        let until = wall() + 0.002;
        sleep_until(until);
        assert!(wall() >= until);
        sleep_until(0.0);
        let before = process_cpu();
        assert!(spin(0.001) >= 0.001);
        assert!(process_cpu() - before >= 0.000_9);
    }
}
