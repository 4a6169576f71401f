//! bcrypt: the crypt(3) form `$2b$12$salt22hash31`, and what frameworks wrap around it.

use super::encoding::{self, CRYPT, digit};
use super::{Cost, Kdf, Note, Prehash, Read, Stored};
use crate::setting::Bcrypt;

/// Characters of salt and of hash.
const SALT: usize = 22;
const HASH: usize = 31;

/// Reads `$2b$12$...` (also 2, 2a, 2x, 2y).
pub fn crypt(text: &str) -> Read {
    let [empty, version, cost, rest] = encoding::split(text, '$')?;
    if !empty.is_empty() {
        return Err("the first $ is missing".into());
    }
    if cost.len() != 2 {
        return Err("the cost is not two digits".into());
    }
    let cost = cost
        .parse::<u32>()
        .ok()
        .filter(|_| cost.bytes().all(|b| b.is_ascii_digit()))
        .ok_or("the cost is not two digits")?;
    if rest.len() != SALT + HASH {
        return Err(format!(
            "salt and hash have {} characters instead of {}",
            rest.len(),
            SALT + HASH
        ));
    }
    known(version, cost, rest)
}

/// Checks version, cost and alphabet. `rest` is salt and hash together.
fn known(version: &str, cost: u32, rest: &str) -> Read {
    if !["2", "2a", "2b", "2x", "2y"].contains(&version) {
        return Err("unknown version: only 2, 2a, 2b, 2x and 2y exist".into());
    }
    Bcrypt::new(cost).map_err(|e| e.to_string())?;
    if !looks_like_tail(rest) {
        return Err("salt and hash hold a character outside ./A-Za-z0-9, or are too short".into());
    }
    let stored = Stored::new(Kdf::Bcrypt, Cost::Bcrypt(cost))
        .variant(version)
        .lengths(16, 23);
    Ok(if version == "2x" {
        stored.note(Note::SignExtensionBug)
    } else {
        stored
    })
}

/// Is this salt and hash of a bcrypt string, without the front?
pub fn looks_like_tail(text: &str) -> bool {
    text.len() == SALT + HASH && text.bytes().all(|b| digit(b, CRYPT).is_some())
}

/// Reads passlib's `$bcrypt-sha256$v=2,t=2b,r=12$salt$hash` and the older `$bcrypt-sha256$2b,12$salt$hash`.
pub fn passlib_sha256(text: &str) -> Read {
    let [_, _, parameters, salt, hash] = encoding::split(text, '$')?;
    let (version, cost, prehash) = if parameters.starts_with("v=") {
        let pairs = encoding::pairs(parameters)?;
        if encoding::value(&pairs, "v")? != "2" {
            return Err("unknown version of bcrypt-sha256: only 2 is written with v=".into());
        }
        (
            encoding::value(&pairs, "t")?,
            encoding::value(&pairs, "r")?,
            Prehash::HmacSha256Base64,
        )
    } else {
        let (version, cost) = parameters.split_once(',').ok_or("the cost is missing")?;
        (version, cost, Prehash::Sha256Base64)
    };
    Ok(apart(version, cost, salt, hash)?.prehash(prehash))
}

/// Reads MediaWiki's `9$salt22$hash31` (after `:bcrypt:`); it always means 2y.
pub fn mediawiki(text: &str) -> Read {
    let [cost, salt, hash] = encoding::split(text, '$')?;
    apart("2y", cost, salt, hash)
}

/// Salt and hash in fields of their own, the cost without leading zero.
fn apart(version: &str, cost: &str, salt: &str, hash: &str) -> Read {
    let cost = encoding::decimal(cost, "cost")?;
    encoding::crypt_digits(salt, SALT, "salt")?;
    encoding::crypt_digits(hash, HASH, "hash")?;
    known(version, cost, &format!("{salt}{hash}"))
}
