//! Argon2id parameters (RFC 9106, section 3.1).

use super::{OutOfBounds, within};
use crate::units::Bytes;

/// Argon2id, version 0x13: memory in KiB, passes and lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Argon2id {
    memory_kib: u32,
    time_cost: u32,
    lanes: u32,
}

impl Argon2id {
    /// Least memory for each lane, in KiB: four slices of two blocks.
    pub const MIN_KIB_PER_LANE: u32 = 8;
    /// Most memory accepted here, in KiB (4 TiB is RFC 9106's; no login service holds more than 64 GiB).
    pub const MAX_KIB: u32 = 64 << 20;
    /// Fewest passes.
    pub const MIN_TIME_COST: u32 = 1;
    /// Most passes accepted here. RFC 9106 allows 2^32 - 1, which would not end.
    pub const MAX_TIME_COST: u32 = 10_000;
    /// Most lanes accepted here. RFC 9106 allows 2^24 - 1; each is a thread.
    pub const MAX_LANES: u32 = 1024;

    /// `memory_kib` KiB, `time_cost` passes, `lanes` lanes.
    ///
    /// # Errors
    /// The first parameter out of bounds, with the bound: p from 1 to 1024, t from 1 to 10000, m from 8 p.
    pub fn new(memory_kib: u32, time_cost: u32, lanes: u32) -> Result<Self, OutOfBounds> {
        within("p", lanes.into(), 1, Self::MAX_LANES.into())?;
        within(
            "t",
            time_cost.into(),
            Self::MIN_TIME_COST.into(),
            Self::MAX_TIME_COST.into(),
        )?;
        let least = Self::MIN_KIB_PER_LANE * lanes;
        if memory_kib < least {
            let bound = format!("below the minimum 8 p = {least} (KiB)");
            return Err(OutOfBounds {
                name: "m",
                value: memory_kib.into(),
                bound,
            });
        }
        within("m", memory_kib.into(), 1, Self::MAX_KIB.into())?;
        Ok(Self {
            memory_kib,
            time_cost,
            lanes,
        })
    }

    /// What to write where an `m` beyond all bounds was most likely typed in bytes; `name` is what it is called there.
    pub fn bytes_hint(name: &str, m: u64) -> Option<String> {
        let beyond = m > u64::from(Self::MAX_KIB);
        beyond.then(|| format!("{name} is in KiB: write {} for {}", m / 1024, Bytes(m)))
    }

    /// Memory, m, in KiB.
    pub const fn memory_kib(&self) -> u32 {
        self.memory_kib
    }

    /// Passes, t.
    pub const fn time_cost(&self) -> u32 {
        self.time_cost
    }

    /// Lanes, p.
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    /// The memory that is really filled, in KiB: m rounded down to a multiple of 4 p.
    pub const fn effective_kib(&self) -> u32 {
        let unit = 4 * self.lanes;
        self.memory_kib / unit * unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_named() {
        assert_eq!(Argon2id::new(8, 1, 0).unwrap_err().name, "p");
        assert_eq!(Argon2id::new(8, 0, 1).unwrap_err().name, "t");
        let error = Argon2id::new(63, 1, 8).unwrap_err();
        assert_eq!(error.to_string(), "m is 63, below the minimum 8 p = 64 (KiB)");
        assert!(Argon2id::new(64, 1, 8).is_ok());
        assert!(Argon2id::new(u32::MAX, 1, 1).is_err());
    }

    #[test]
    fn memory_is_rounded_down_to_whole_slices() {
        assert_eq!(Argon2id::new(102_401, 2, 8).unwrap().effective_kib(), 102_400);
    }
}
