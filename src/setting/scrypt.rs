//! scrypt parameters (RFC 7914, section 2).

use super::{OutOfBounds, within};
use crate::units::Bytes;

/// scrypt: CPU and memory cost N (a power of two), block size r, parallelisation p.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scrypt {
    log_n: u32,
    r: u32,
    p: u32,
}

impl Scrypt {
    /// Highest log2 N accepted here (32 GiB at r = 8).
    pub const MAX_LOG_N: u32 = 25;
    /// Largest r and p accepted here.
    pub const MAX_R_P: u32 = 1024;

    /// scrypt with N = `n`.
    ///
    /// # Errors
    /// N is no power of two from 2 to 2^25, or r or p lies outside 1 to 1024.
    pub fn new(n: u64, r: u32, p: u32) -> Result<Self, OutOfBounds> {
        within("N", n, 2, 1 << Self::MAX_LOG_N)?;
        if !n.is_power_of_two() {
            return Err(OutOfBounds {
                name: "N",
                value: n,
                bound: "not a power of two".into(),
            });
        }
        within("r", r.into(), 1, Self::MAX_R_P.into())?;
        within("p", p.into(), 1, Self::MAX_R_P.into())?;
        Ok(Self {
            log_n: n.trailing_zeros(),
            r,
            p,
        })
    }

    /// N.
    pub const fn n(&self) -> u64 {
        1 << self.log_n
    }

    /// log2 N.
    pub const fn log_n(&self) -> u32 {
        self.log_n
    }

    /// Block size, r.
    pub const fn r(&self) -> u32 {
        self.r
    }

    /// Parallelisation, p.
    pub const fn p(&self) -> u32 {
        self.p
    }

    /// Memory of one hash whose p blocks run in turn: 128 r (N + p).
    pub const fn memory(&self) -> Bytes {
        Bytes(128 * self.r as u64 * (self.n() + self.p as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_is_a_power_of_two() {
        assert!(Scrypt::new(1000, 8, 1).is_err() && Scrypt::new(1, 8, 1).is_err());
        let s = Scrypt::new(1 << 17, 8, 1).unwrap();
        assert_eq!((s.log_n(), s.memory()), (17, Bytes((128 << 20) + 1024)));
    }
}
