//! What is worth knowing about a stored hash beyond its parameters.

use super::{Cost, Kdf};
use crate::setting::{Argon2id, Bcrypt, Digest, Pbkdf2, Scrypt, Setting};

/// What is done to a password before the hash proper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prehash {
    /// Hexadecimal SHA-256 (Django's bcrypt_sha256).
    Sha256Hex,
    /// Base64 of SHA-256 (passlib's bcrypt_sha256, first version).
    Sha256Base64,
    /// Base64 of HMAC-SHA-256 keyed with the salt (passlib's second version, Authelia).
    HmacSha256Base64,
    /// Base64 of HMAC-SHA-384 with the key `wp-sha384` (WordPress 6.8).
    HmacSha384Base64WordPress,
}

impl Prehash {
    /// The name used in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256Hex => "sha256-hex",
            Self::Sha256Base64 => "sha256-b64",
            Self::HmacSha256Base64 => "hmac-sha256-b64",
            Self::HmacSha384Base64WordPress => "hmac-sha384-b64 key wp-sha384",
        }
    }
}

/// A remark on a stored hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Argon2's parameters come in an order that libargon2 does not read.
    NonPortableOrder {
        /// The keys as they come.
        order: String,
    },
    /// No version is given, which means 1.0.
    ImplicitVersion,
    /// Argon2 version 1.0 (16), from before the fix of 2016.
    OldVersion,
    /// Argon2 without the data-dependent half: weaker against graphics cards than Argon2id.
    Argon2i,
    /// Argon2 with data-dependent addresses throughout: open to side channels.
    Argon2d,
    /// Associated data or a key id is part of the hash.
    AssociatedData,
    /// m is no multiple of 4 p, so that less is filled.
    UnfilledMemory {
        /// What is filled, in KiB.
        effective_kib: u32,
    },
    /// The parameters stand nowhere in the text; the name or the framework's default implies them.
    Implied {
        /// By what.
        by: String,
    },
    /// `ln` is N itself, as Kratos writes it, not its logarithm.
    LiteralN,
    /// `2x` marks the sign-extension bug of crypt_blowfish before 1.1.
    SignExtensionBug,
    /// A single fast digest: billions of guesses a second.
    FastDigest,
    /// An old iterated hash that graphics cards compute fast.
    Legacy,
    /// Beyond the bounds of what can be measured here.
    OutOfBounds,
    /// No password can match.
    Unusable,
}

impl Note {
    /// The remark in words.
    pub fn text(&self) -> String {
        match self {
            Self::NonPortableOrder { order } => format!(
                "the parameters come as {order}: libargon2, PHP, libsodium, argon2-cffi and Spring read only m,t,p and refuse this hash"
            ),
            Self::ImplicitVersion => "no version is given: that means Argon2 1.0, not 1.3".into(),
            Self::OldVersion => "Argon2 version 1.0: hash again with 1.3 (v=19)".into(),
            Self::Argon2i => "Argon2i: weaker against graphics cards than Argon2id".into(),
            Self::Argon2d => "Argon2d: open to side channels, not meant for passwords on shared machines".into(),
            Self::AssociatedData => "associated data or a key id is part of the hash: few libraries verify it".into(),
            Self::UnfilledMemory { effective_kib } => {
                format!("m is no multiple of 4 p: only {effective_kib} KiB are filled")
            }
            Self::Implied { by } => format!("the parameters are not in the text: {by} implies them"),
            Self::LiteralN => "ln holds N itself (Ory Kratos), not its logarithm".into(),
            Self::SignExtensionBug => {
                "2x: made with the sign-extension bug of old crypt_blowfish; hash again at the next login".into()
            }
            Self::FastDigest => {
                "a single fast digest is no password hash: a graphics card tries billions a second".into()
            }
            Self::Legacy => "an old iterated digest that graphics cards compute fast".into(),
            Self::OutOfBounds => "beyond what can be measured here".into(),
            Self::Unusable => "an account without a usable password".into(),
        }
    }
}

/// The setting that a hash was made with, where it is one that can be measured.
pub(super) fn setting_of(kdf: Kdf, cost: Cost) -> Option<Setting> {
    match (kdf, cost) {
        (
            Kdf::Argon2id,
            Cost::Argon2 {
                memory_kib,
                time_cost,
                lanes,
            },
        ) => Argon2id::new(memory_kib, time_cost, lanes).ok().map(Setting::Argon2id),
        (Kdf::Scrypt, Cost::Scrypt { n, r, p }) => Scrypt::new(n, r, p).ok().map(Setting::Scrypt),
        (Kdf::Bcrypt, Cost::Bcrypt(cost)) => Bcrypt::new(cost).ok().map(Setting::Bcrypt),
        (Kdf::Pbkdf2Sha256 | Kdf::ScramSha256, Cost::Iterations(n)) => pbkdf2(Digest::Sha256, n),
        (Kdf::Pbkdf2Sha512, Cost::Iterations(n)) => pbkdf2(Digest::Sha512, n),
        _ => None,
    }
}

fn pbkdf2(digest: Digest, iterations: u32) -> Option<Setting> {
    Pbkdf2::new(digest, iterations).ok().map(Setting::Pbkdf2)
}

/// What follows from the family and the setting alone.
pub(super) fn notes_of(kdf: Kdf, setting: Option<&Setting>) -> Option<Note> {
    match kdf {
        Kdf::Md5 | Kdf::Sha1 | Kdf::Sha256 | Kdf::Sha512 => Some(Note::FastDigest),
        Kdf::Md5Crypt | Kdf::Apr1Md5 | Kdf::PhpassMd5 => Some(Note::Legacy),
        Kdf::Argon2i => Some(Note::Argon2i),
        Kdf::Argon2d => Some(Note::Argon2d),
        Kdf::Unusable => Some(Note::Unusable),
        Kdf::Argon2id | Kdf::Scrypt | Kdf::Bcrypt | Kdf::Pbkdf2Sha256 | Kdf::Pbkdf2Sha512 | Kdf::ScramSha256 => {
            match setting {
                Some(Setting::Argon2id(a)) if a.effective_kib() != a.memory_kib() => Some(Note::UnfilledMemory {
                    effective_kib: a.effective_kib(),
                }),
                Some(_) => None,
                None => Some(Note::OutOfBounds),
            }
        }
        Kdf::Pbkdf2Sha1 | Kdf::Yescrypt | Kdf::GostYescrypt | Kdf::Sha256Crypt | Kdf::Sha512Crypt => None,
    }
}
