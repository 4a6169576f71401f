//! Whether a load's hashes fit in memory, before any of them is made.

use super::MeasureError;
use crate::setting::Setting;
use crate::units::Bytes;

/// Touched stack and allocator state of one thread. Measured: 20 to 60 KiB with the libraries used.
const PER_THREAD: u64 = 128 << 10;
/// Beside the workers: samples, arrivals and the allocator's slack.
const FIXED: u64 = 4 << 20;

/// What `workers` hashes in flight hold: W x (memory_cost + threads) and a little.
pub fn need(setting: &Setting, workers: u32) -> Bytes {
    let one = setting.memory_cost().0.saturating_add(threads(setting));
    Bytes(one.saturating_mul(workers.into()).saturating_add(FIXED))
}

fn threads(setting: &Setting) -> u64 {
    let own = if setting.lanes() > 1 { setting.lanes() } else { 0 };
    PER_THREAD * u64::from(1 + own)
}

/// Refuses what would not fit: the kernel would kill something instead, perhaps this process.
///
/// # Errors
/// [`MeasureError::Memory`] when `need` is more than `free`.
pub fn check(need: Bytes, free: Bytes) -> Result<(), MeasureError> {
    if need > free {
        return Err(MeasureError::Memory { need, free });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn need_grows_with_workers_and_lanes() {
        let one: Setting = "argon2id:m=65536,t=1,p=1".parse().unwrap();
        let four: Setting = "argon2id:m=65536,t=1,p=4".parse().unwrap();
        assert!(need(&one, 9) > Bytes(9 * (64 << 20)));
        assert!(need(&one, 9) < Bytes(9 * (65 << 20)));
        assert!(need(&four, 9) > need(&one, 9));
        assert!(check(Bytes(2), Bytes(2)).is_ok());
        assert!(check(Bytes(3), Bytes(2)).is_err());
        assert!(need(&one, u32::MAX).0 > 1 << 58);
    }
}
