//! The alphabets that hashes are written in.

/// Base64 with `+/`.
pub const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// passlib's "adapted" base64: `.` for `+`.
pub const ADAPTED: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
/// Base64 with `-_`.
pub const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// crypt(3)'s digits, also phpass's and yescrypt's.
pub const CRYPT: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether `=` fills up the last group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// It must not.
    None,
    /// It must.
    Full,
}

/// Bytes of a base64 text, most significant bits first.
///
/// # Errors
/// Foreign characters, wrong padding, an impossible length, or bits left over that are not zero: a truncated text is
/// seldom a valid one.
pub fn base64(text: &str, alphabet: &[u8; 64], padding: Padding) -> Result<Vec<u8>, String> {
    let digits = text.trim_end_matches('=');
    let pad = text.len() - digits.len();
    match padding {
        Padding::None if pad > 0 => return Err("base64 padding is not allowed here".into()),
        Padding::Full if !text.len().is_multiple_of(4) || pad > 2 => return Err("the base64 padding is wrong".into()),
        _ => {}
    }
    if digits.len() % 4 == 1 {
        return Err("the base64 text is cut off".into());
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut held, mut bits) = (0u32, 0u32);
    for byte in digits.bytes() {
        let value = digit(byte, alphabet).ok_or("a character outside this base64 alphabet")?;
        held = (held << 6) | value;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits).unwrap_or_default());
            held &= (1 << bits) - 1;
        }
    }
    if held != 0 {
        return Err("the base64 text is cut off (bits are left over)".into());
    }
    Ok(bytes)
}

/// The value of a digit in an alphabet of 64.
pub fn digit(byte: u8, alphabet: &[u8; 64]) -> Option<u32> {
    alphabet
        .iter()
        .position(|b| *b == byte)
        .and_then(|p| u32::try_from(p).ok())
}

/// Bytes that `text` stands for in crypt(3)'s alphabet, whose order of bits differs between hashes: only the length is told.
///
/// # Errors
/// A length other than `chars`, or foreign characters.
pub fn crypt_digits(text: &str, chars: usize, what: &str) -> Result<usize, String> {
    if text.len() != chars {
        return Err(format!("the {what} has {} characters instead of {chars}", text.len()));
    }
    if !text.bytes().all(|b| digit(b, CRYPT).is_some()) {
        return Err(format!("the {what} holds a character outside ./0-9A-Za-z"));
    }
    Ok(chars * 6 / 8)
}

/// Bytes of a hexadecimal text: its length only.
///
/// # Errors
/// An odd length, nothing at all, or foreign characters.
pub fn hex_len(text: &str) -> Result<usize, String> {
    if text.is_empty() || !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err("a field is not hexadecimal".into());
    }
    Ok(text.len() / 2)
}

/// A decimal number without sign or leading zeros that fits 32 bits.
///
/// # Errors
/// Anything else. It is repeated only if it is a number: a misplaced field may be the salt.
pub fn decimal(text: &str, what: &str) -> Result<u32, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{what} is not a whole number"));
    }
    let short = &text[..text.len().min(20)];
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{what} \"{short}\" has a leading zero"));
    }
    text.parse()
        .map_err(|_| format!("{what} \"{short}\" does not fit 32 bits"))
}

/// A decimal number above zero.
///
/// # Errors
/// As [`decimal`], or zero.
pub fn positive(text: &str, what: &str) -> Result<u32, String> {
    match decimal(text, what)? {
        0 => Err(format!("{what} is 0")),
        n => Ok(n),
    }
}

/// A name as it may be repeated in an error; nothing of what may be salt or hash.
pub fn name(text: &str) -> &str {
    let harmless = text.len() <= 10
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if harmless { text } else { "..." }
}

/// `key=value` pairs between commas.
///
/// # Errors
/// A pair without `=`, or a key that comes twice.
pub fn pairs(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut out: Vec<(&str, &str)> = Vec::new();
    for pair in text.split(',') {
        let (key, value) = pair.split_once('=').ok_or("a parameter is not key=value")?;
        if out.iter().any(|(k, _)| *k == key) {
            return Err("a parameter comes twice".into());
        }
        out.push((key, value));
    }
    Ok(out)
}

/// The value of a key among pairs.
///
/// # Errors
/// It is not there.
pub fn value<'a>(pairs: &[(&str, &'a str)], key: &str) -> Result<&'a str, String> {
    pairs
        .iter()
        .find(|(k, _)| *k == key)
        .map(|(_, v)| *v)
        .ok_or_else(|| format!("the parameter {key} is missing"))
}

/// The fields between separators, exactly `N`.
///
/// # Errors
/// Another number of fields.
pub fn split<const N: usize>(text: &str, separator: char) -> Result<[&str; N], String> {
    let fields: Vec<&str> = text.split(separator).collect();
    let found = fields.len();
    fields
        .try_into()
        .map_err(|_| format!("{found} fields where {N} are needed (cut off?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_strict() {
        assert_eq!(base64("Zm9v", STANDARD, Padding::None).unwrap(), b"foo");
        assert_eq!(base64("Zm8=", STANDARD, Padding::Full).unwrap(), b"fo");
        assert_eq!(base64("Zm8", STANDARD, Padding::None).unwrap(), b"fo");
        for (text, padding) in [
            ("Zm8=", Padding::None),
            ("Zm8", Padding::Full),
            ("Zm9vZ", Padding::None),
            ("Zm9", Padding::None),
            ("Zm-v", Padding::None),
            ("Zm9vé", Padding::None),
            ("====", Padding::Full),
        ] {
            assert!(base64(text, STANDARD, padding).is_err(), "{text}");
        }
    }

    #[test]
    fn decimals_have_one_form() {
        assert_eq!(decimal("0", "t"), Ok(0));
        assert_eq!(decimal("4294967295", "t"), Ok(u32::MAX));
        for text in ["", "01", "+1", "-1", "4294967296", "1e3", "١"] {
            assert!(decimal(text, "t").is_err(), "{text}");
        }
    }
}
