//! Stored password hashes: from the text in a database column to the parameters it was made with.
//!
//! [`parse`] knows the forms of many frameworks and of crypt(3). It reads parameters only: it verifies nothing, and it never
//! repeats salt or hash in an error.

mod argon2;
mod bcrypt;
mod crypt;
mod encoding;
mod fast;
mod frame;
mod keycloak;
mod note;
mod pbkdf2;
mod scrypt;

pub use frame::parse;
pub use note::{Note, Prehash};

use std::fmt;

use crate::setting::Setting;

/// What made a stored hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kdf {
    Argon2id,
    Argon2i,
    Argon2d,
    Scrypt,
    Bcrypt,
    Pbkdf2Sha1,
    Pbkdf2Sha256,
    Pbkdf2Sha512,
    /// SCRAM's stored and server key (RFC 5802, RFC 7677): PBKDF2-HMAC-SHA-256 inside.
    ScramSha256,
    Yescrypt,
    GostYescrypt,
    Sha256Crypt,
    Sha512Crypt,
    Md5Crypt,
    /// Apache's variant of md5crypt.
    Apr1Md5,
    /// The portable hash of phpass, WordPress before 6.8 and phpBB.
    PhpassMd5,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    /// No password can match: an account without one.
    Unusable,
}

impl Kdf {
    /// The name used in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Argon2id => "argon2id",
            Self::Argon2i => "argon2i",
            Self::Argon2d => "argon2d",
            Self::Scrypt => "scrypt",
            Self::Bcrypt => "bcrypt",
            Self::Pbkdf2Sha1 => "pbkdf2-sha1",
            Self::Pbkdf2Sha256 => "pbkdf2-sha256",
            Self::Pbkdf2Sha512 => "pbkdf2-sha512",
            Self::ScramSha256 => "scram-sha-256",
            Self::Yescrypt => "yescrypt",
            Self::GostYescrypt => "gost-yescrypt",
            Self::Sha256Crypt => "sha256-crypt",
            Self::Sha512Crypt => "sha512-crypt",
            Self::Md5Crypt => "md5-crypt",
            Self::Apr1Md5 => "apr1-md5",
            Self::PhpassMd5 => "phpass-md5",
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            Self::Unusable => "none",
        }
    }
}

impl fmt::Display for Kdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Cost parameters as the text states or implies them, which may lie outside what a [`Setting`] accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Argon2, any type.
    Argon2 {
        /// Memory, m, in KiB.
        memory_kib: u32,
        /// Passes, t.
        time_cost: u32,
        /// Lanes, p.
        lanes: u32,
    },
    /// scrypt and yescrypt.
    Scrypt {
        /// N.
        n: u64,
        /// Block size.
        r: u32,
        /// Parallelisation.
        p: u32,
    },
    /// bcrypt's cost: log2 of the rounds.
    Bcrypt(u32),
    /// Iterations of the rest.
    Iterations(u32),
    /// phpass: 2^cost iterations.
    Phpass(u32),
    /// A single fast digest, or nothing at all.
    None,
}

/// A stored hash, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What made it.
    pub kdf: Kdf,
    /// The form within the family: `v19`, `2b`, `$7$`, `salted` ...
    pub variant: Option<String>,
    /// The cost parameters.
    pub cost: Cost,
    /// The setting, where it is one that can be measured: Argon2id 1.3, scrypt, bcrypt, PBKDF2 with SHA-256 or SHA-512 (SCRAM too).
    pub setting: Option<Setting>,
    /// Bytes of salt; `None` where the text does not tell.
    pub salt_len: Option<usize>,
    /// Bytes of output.
    pub output_len: Option<usize>,
    /// What was done to the password first, as far as the text tells: a pepper leaves no trace.
    pub prehash: Option<Prehash>,
    /// What is worth knowing about this text.
    pub notes: Vec<Note>,
}

impl Stored {
    /// A hash with these parameters and no more known about it. The setting is set where the family has one.
    fn new(kdf: Kdf, cost: Cost) -> Self {
        let setting = note::setting_of(kdf, cost);
        let mut stored = Self {
            kdf,
            variant: None,
            cost,
            setting,
            salt_len: None,
            output_len: None,
            prehash: None,
            notes: Vec::new(),
        };
        stored.notes.extend(note::notes_of(kdf, setting.as_ref()));
        stored
    }

    fn variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = Some(variant.into());
        self
    }

    fn lengths(mut self, salt: usize, output: usize) -> Self {
        self.salt_len = Some(salt);
        self.output_len = Some(output);
        self
    }

    fn prehash(mut self, prehash: Prehash) -> Self {
        self.prehash = Some(prehash);
        self
    }

    fn note(mut self, note: Note) -> Self {
        self.notes.push(note);
        self
    }
}

/// Why a text is no stored hash. Salt and hash are never repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// It is a known form, but damaged or out of bounds.
    #[error("not a valid {family} hash: {reason}")]
    Malformed {
        /// The family, as far as it could be told: `argon2`, `bcrypt`, `scrypt`, `pbkdf2` ...
        family: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// It is no known form.
    #[error("not a known form of password hash: {reason}")]
    Unknown {
        /// The nearest guess at what happened.
        reason: String,
    },
}

/// What the readers of one family return: a hash, or the reason why it is none.
type Read = Result<Stored, String>;
