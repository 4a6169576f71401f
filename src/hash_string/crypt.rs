//! The other crypt(3) families: sha512crypt, md5crypt, phpass, yescrypt.

use super::encoding::{self, CRYPT, digit};
use super::{Cost, Kdf, Read, Stored};

/// Rounds of sha256crypt and sha512crypt when none are given, and the bounds that others are moved to.
const SHA_ROUNDS: u32 = 5000;
const SHA_ROUNDS_MIN: u32 = 1000;
const SHA_ROUNDS_MAX: u32 = 999_999_999;

/// Reads `$5$rounds=50000$salt$hash` and `$6$...`; the rounds may be missing.
pub fn sha2(text: &str) -> Read {
    let (kdf, chars, output) = match text.get(..3) {
        Some("$5$") => (Kdf::Sha256Crypt, 43, 32),
        Some("$6$") => (Kdf::Sha512Crypt, 86, 64),
        _ => return Err("the front is missing".into()),
    };
    let rest = &text[3..];
    let (rounds, rest) = match rest.strip_prefix("rounds=") {
        Some(after) => {
            let (rounds, rest) = after.split_once('$').ok_or("the salt is missing")?;
            let rounds = encoding::decimal(rounds, "rounds")?;
            (rounds.clamp(SHA_ROUNDS_MIN, SHA_ROUNDS_MAX), rest)
        }
        None => (SHA_ROUNDS, rest),
    };
    let [salt, hash] = encoding::split(rest, '$')?;
    if salt.len() > 16 {
        return Err(format!("the salt has {} characters, above the maximum 16", salt.len()));
    }
    encoding::crypt_digits(hash, chars, "hash")?;
    Ok(Stored::new(kdf, Cost::Iterations(rounds)).lengths(salt.len(), output))
}

/// Reads `$1$salt$hash` and Apache's `$apr1$salt$hash`: always 1000 rounds.
pub fn md5(text: &str) -> Read {
    let [_, name, salt, hash] = encoding::split(text, '$')?;
    let kdf = if name == "1" { Kdf::Md5Crypt } else { Kdf::Apr1Md5 };
    if salt.len() > 8 {
        return Err(format!("the salt has {} characters, above the maximum 8", salt.len()));
    }
    let output = encoding::crypt_digits(hash, 22, "hash")?;
    Ok(Stored::new(kdf, Cost::Iterations(1000)).lengths(salt.len(), output))
}

/// Reads phpass's `$P$B` + salt of 8 + hash of 22 (`$H$` in phpBB): the first character is log2 of the rounds.
pub fn phpass(text: &str) -> Read {
    let rest = text.get(3..).ok_or("the front is missing")?;
    let cost = rest
        .bytes()
        .next()
        .and_then(|b| digit(b, CRYPT))
        .filter(|c| (7..=30).contains(c))
        .ok_or("the rounds are outside 2^7 to 2^30")?;
    let tail = rest.get(1..).unwrap_or_default();
    encoding::crypt_digits(tail, 30, "rest")?;
    Ok(Stored::new(Kdf::PhpassMd5, Cost::Phpass(cost)).lengths(8, 16))
}

/// Reads yescrypt's `$y$jFT$salt$hash` and `$gy$...`.
pub fn yescrypt(text: &str) -> Read {
    let [_, name, parameters, salt, hash] = encoding::split(text, '$')?;
    let kdf = if name == "y" { Kdf::Yescrypt } else { Kdf::GostYescrypt };
    let mut rest = parameters.bytes();
    let flavor = parameters.chars().next().ok_or("the parameters are missing")?;
    number(&mut rest, 0)?;
    let log_n = number(&mut rest, 1)?;
    let r = number(&mut rest, 1)?;
    let p = match rest.len() {
        0 => 1,
        // A bit mask tells which of p, t, g and NROM follow, p first.
        _ if number(&mut rest, 1)? & 1 == 1 => number(&mut rest, 2)?,
        _ => 1,
    };
    if !(1..=63).contains(&log_n) {
        return Err(format!("log2 N is {log_n}, outside 1 to 63"));
    }
    if !salt.bytes().all(|b| digit(b, CRYPT).is_some()) {
        return Err("the salt holds a character outside ./0-9A-Za-z".into());
    }
    let output = encoding::crypt_digits(hash, 43, "hash")?;
    let cost = Cost::Scrypt { n: 1 << log_n, r, p };
    Ok(Stored::new(kdf, cost)
        .variant(flavor)
        .lengths(salt.len() * 6 / 8, output))
}

/// yescrypt's numbers of one to a few characters: the first character tells how many follow (libxcrypt, decode64_uint32).
fn number(digits: &mut impl Iterator<Item = u8>, min: u32) -> Result<u32, String> {
    let mut next = || -> Result<u32, String> {
        let byte = digits.next().ok_or("the parameters are cut off")?;
        digit(byte, CRYPT).ok_or_else(|| "a parameter holds a character outside ./0-9A-Za-z".into())
    };
    let first = next()?;
    let (mut start, mut end, mut bits, mut value) = (0u32, 47u32, 0u32, min);
    while first > end {
        value += (end + 1 - start) << bits;
        start = end + 1;
        end = start + (62 - end) / 2;
        bits += 6;
        if bits > 24 {
            return Err("a parameter is too large".into());
        }
    }
    value += (first - start) << bits;
    while bits > 0 {
        bits -= 6;
        value += next()? << bits;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow_by_their_first_character() {
        let read = |text: &str| number(&mut text.bytes(), 0);
        assert_eq!(read("9"), Ok(11));
        assert_eq!(read("j"), Ok(47));
        // The first of two characters starts at 48.
        assert_eq!(read("k."), Ok(48));
        assert_eq!(read("k/"), Ok(49));
        assert!(read("k").is_err() && read("").is_err() && read("~").is_err());
        for text in ["zzzzzzz", "yyyyyyy", "xxxxxx", "wwwww"] {
            let _ = read(text);
        }
    }

    #[test]
    fn rounds_are_moved_into_bounds_as_crypt_does() {
        let hash = "a".repeat(43);
        let stored = sha2(&format!("$5$rounds=10$salt${hash}")).unwrap();
        assert_eq!(stored.cost, Cost::Iterations(1000));
        assert!(sha2(&format!("$5$rounds=x$salt${hash}")).is_err());
    }
}
