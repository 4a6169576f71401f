//! scrypt's many forms.

use super::encoding::{self, CRYPT, Padding, STANDARD, digit, positive};
use super::{Cost, Kdf, Note, Read, Stored};

fn stored(n: u64, r: u32, p: u32) -> Read {
    if n < 2 || !n.is_power_of_two() {
        return Err(format!("N is {n}, not a power of two above 1"));
    }
    if r == 0 || p == 0 {
        return Err("r or p is 0".into());
    }
    Ok(Stored::new(Kdf::Scrypt, Cost::Scrypt { n, r, p }))
}

/// N from its logarithm.
fn power(log_n: u32) -> Result<u64, String> {
    1u64.checked_shl(log_n)
        .filter(|_| (1..=63).contains(&log_n))
        .ok_or_else(|| format!("log2 N is {log_n}, outside 1 to 63"))
}

/// Reads `$scrypt$ln=16,r=8,p=1$salt$hash`: PHC and passlib, where `ln` is log2 N, and Ory Kratos, where it is N itself
/// and base64 is padded.
pub fn phc(text: &str) -> Read {
    let [_, _, parameters, salt, hash] = encoding::split(text, '$')?;
    let pairs = encoding::pairs(parameters)?;
    let ln = positive(encoding::value(&pairs, "ln")?, "ln")?;
    let r = positive(encoding::value(&pairs, "r")?, "r")?;
    let p = positive(encoding::value(&pairs, "p")?, "p")?;
    // No machine holds 2^64 blocks, and nobody sets N below 64: above 63 it can only be N itself.
    let literal = ln > 63;
    let padding = if literal && (salt.ends_with('=') || hash.ends_with('=')) {
        Padding::Full
    } else {
        Padding::None
    };
    let n = if literal { u64::from(ln) } else { power(ln)? };
    let lengths = (
        encoding::base64(salt, STANDARD, padding)?.len(),
        encoding::base64(hash, STANDARD, padding)?.len(),
    );
    let read = stored(n, r, p)?.lengths(lengths.0, filled(lengths.1)?);
    Ok(if literal { read.note(Note::LiteralN) } else { read })
}

/// Reads libsodium's and libxcrypt's `$7$C6..../....salt$hash`.
pub fn seven(text: &str) -> Read {
    let rest = text.strip_prefix("$7$").ok_or("the front is missing")?;
    let head = rest.get(..11).ok_or("the parameters are cut off")?;
    let mut digits = head
        .bytes()
        .map(|b| digit(b, CRYPT).ok_or("a parameter holds a character outside ./0-9A-Za-z"));
    let log_n = digits.next().ok_or("the parameters are cut off")??;
    let mut number = || -> Result<u32, String> {
        let mut value = 0;
        for place in 0..5 {
            value |= digits.next().ok_or("the parameters are cut off")?? << (6 * place);
        }
        Ok(value)
    };
    let (r, p) = (number()?, number()?);
    let (_salt, hash) = rest[11..].rsplit_once('$').ok_or("the hash is missing (cut off?)")?;
    let mut read = stored(power(log_n)?, r, p)?.variant("$7$");
    read.output_len = Some(encoding::crypt_digits(hash, 43, "hash")?);
    Ok(read)
}

/// Reads Django's `16384$salt$8$5$hash` (after `scrypt$`): the salt stands between N and r.
pub fn django(text: &str) -> Read {
    let [n, salt, r, p, hash] = encoding::split(text, '$')?;
    let n = positive(n, "N")?;
    let hash = encoding::base64(hash, STANDARD, Padding::Full)?.len();
    Ok(stored(n.into(), positive(r, "r")?, positive(p, "p")?)?.lengths(filled(salt.len())?, filled(hash)?))
}

/// Reads Werkzeug's `32768:8:1$salt$hex` (after `scrypt:`).
pub fn werkzeug(text: &str) -> Read {
    let [parameters, salt, hash] = encoding::split(text, '$')?;
    let [n, r, p] = encoding::split(parameters, ':')?;
    let read = stored(positive(n, "N")?.into(), positive(r, "r")?, positive(p, "p")?)?;
    Ok(read.lengths(filled(salt.len())?, encoding::hex_len(hash)?))
}

/// Reads Spring's `$e0801$salt$hash`: log2 N, r and p as bytes in hexadecimal.
pub fn spring(text: &str) -> Read {
    let [_, parameters, salt, hash] = encoding::split(text, '$')?;
    let word = u32::from_str_radix(parameters, 16).map_err(|_| "the parameters are not hexadecimal")?;
    let read = stored(power(word >> 16)?, (word >> 8) & 0xff, word & 0xff)?;
    let salt = encoding::base64(salt, STANDARD, Padding::Full)?.len();
    let hash = encoding::base64(hash, STANDARD, Padding::Full)?.len();
    Ok(read.lengths(salt, filled(hash)?))
}

/// Is this Spring's form? Its parameters are five or six hexadecimal digits where other forms have a name.
pub fn looks_like_spring(name: &str) -> bool {
    (5..=6).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit())
}

fn filled(len: usize) -> Result<usize, String> {
    if len == 0 {
        return Err("salt or hash is empty".into());
    }
    Ok(len)
}
