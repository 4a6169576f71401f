//! The bcrypt parameter.

use super::{OutOfBounds, within};

/// bcrypt: 2^cost rounds of the key schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bcrypt {
    cost: u32,
}

impl Bcrypt {
    /// Lowest cost of the format.
    pub const MIN_COST: u32 = 4;
    /// Highest cost of the format.
    pub const MAX_COST: u32 = 31;
    /// Bytes of a password that bcrypt reads (with the closing NUL).
    pub const MAX_INPUT: usize = 72;

    /// bcrypt with this cost.
    ///
    /// # Errors
    /// Outside 4 to 31.
    pub fn new(cost: u32) -> Result<Self, OutOfBounds> {
        within("cost", cost.into(), Self::MIN_COST.into(), Self::MAX_COST.into())?;
        Ok(Self { cost })
    }

    /// log2 of the rounds.
    pub const fn cost(&self) -> u32 {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_bounded() {
        assert!(Bcrypt::new(3).is_err() && Bcrypt::new(32).is_err());
        assert_eq!(Bcrypt::new(12).unwrap().cost(), 12);
    }
}
