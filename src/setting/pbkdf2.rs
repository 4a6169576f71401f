//! PBKDF2 parameters (RFC 8018).

use super::{OutOfBounds, within};

/// The HMAC's digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Digest {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Digest {
    /// `sha256` or `sha512`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }
}

/// PBKDF2-HMAC with a digest and iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pbkdf2 {
    digest: Digest,
    iterations: u32,
}

impl Pbkdf2 {
    /// Most iterations accepted here.
    pub const MAX_ITERATIONS: u32 = 1_000_000_000;

    /// PBKDF2 with `iterations` iterations.
    ///
    /// # Errors
    /// Outside 1 to 10^9.
    pub fn new(digest: Digest, iterations: u32) -> Result<Self, OutOfBounds> {
        within("iterations", iterations.into(), 1, Self::MAX_ITERATIONS.into())?;
        Ok(Self { digest, iterations })
    }

    /// The digest.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The iterations.
    pub const fn iterations(&self) -> u32 {
        self.iterations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_bounded() {
        assert!(Pbkdf2::new(Digest::Sha256, 0).is_err());
        assert_eq!(Pbkdf2::new(Digest::Sha512, 210_000).unwrap().iterations(), 210_000);
    }
}
