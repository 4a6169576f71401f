//! How hard a setting makes it for who has stolen the hashes and guesses offline.
//!
//! Two attackers (docs/strength.md tells why, and how far the figures can be trusted):
//!
//! - **A**, rented graphics cards limited by memory bandwidth. Its guesses per second are the figure to print.
//! - **B**, custom hardware limited by memory area x time (Argon2id and scrypt), scaled to A at the family's OWASP minimum.
//!
//! Within a family a setting ranks by the geometric mean of the two rates, by A alone where there is no memory to speak of.
//! A alone would trade memory for passes without end; B alone would always take one pass. Between families OWASP's order
//! decides ([`Algorithm::ALL`]).
//!
//! Only figures of [`Attacker`] depend on hardware. [`floor_ratio`] and [`at_or_above_floor`] do not.

mod attacker;
mod floor;
mod parse;
mod work;

pub use attacker::{Anchor, Attacker, Check, Cost, Figure, Guesses, Label, PerSecond, Price};
pub use floor::{ARGON2ID_ROWS, MIN_TUNED_KIB, SCRYPT_ROWS, at_or_above_floor, floor_in_words};
pub use parse::AttackerError;
pub use work::{floor_ratio, minimum};

use work::traffic;

use crate::setting::Algorithm;

/// Ranks within this factor are ties: the model tells no finer. Then more memory wins, then fewer lanes.
pub const TIE_BAND: f64 = 1.10;

/// The family's place in OWASP's order of preference, from 0: argon2id, scrypt, bcrypt, PBKDF2 (both digests are the same family there).
pub fn family_order(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::Argon2id => 0,
        Algorithm::Scrypt => 1,
        Algorithm::Bcrypt => 2,
        Algorithm::Pbkdf2Sha256 | Algorithm::Pbkdf2Sha512 => 3,
    }
}
