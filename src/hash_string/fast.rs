//! Single digests: not password hashes, but found in password columns.

use super::encoding::{self, Padding, STANDARD};
use super::{Cost, Kdf, Read, Stored};

fn output_len(kdf: Kdf) -> usize {
    match kdf {
        Kdf::Md5 => 16,
        Kdf::Sha1 => 20,
        Kdf::Sha256 => 32,
        _ => 64,
    }
}

/// Reads Django's `salt$hex` (after `md5$` or `sha1$`).
pub fn django(kdf: Kdf, text: &str) -> Read {
    let [salt, hash] = encoding::split(text, '$')?;
    let output = encoding::hex_len(hash)?;
    if output != output_len(kdf) {
        return Err(format!("{output} bytes where {} are needed", output_len(kdf)));
    }
    let variant = if salt.is_empty() { "unsalted" } else { "salted" };
    Ok(Stored::new(kdf, Cost::None)
        .variant(variant)
        .lengths(salt.len(), output))
}

/// Reads LDAP's base64 of digest and salt (after `{SSHA}`, `{SHA}` ...).
pub fn ldap(kdf: Kdf, text: &str) -> Read {
    let bytes = encoding::base64(text, STANDARD, Padding::Full)?.len();
    let output = output_len(kdf);
    let salt = bytes
        .checked_sub(output)
        .ok_or_else(|| format!("{bytes} bytes where {output} of digest are needed"))?;
    let variant = if salt == 0 { "unsalted" } else { "salted" };
    Ok(Stored::new(kdf, Cost::None).variant(variant).lengths(salt, output))
}

/// Reads PostgreSQL's `md5` + 32 hexadecimal digits; the role's name is the salt and stands nowhere.
pub fn postgres(hex: &str) -> Read {
    let mut read = Stored::new(Kdf::Md5, Cost::None).variant("postgres");
    read.output_len = Some(encoding::hex_len(hex)?);
    Ok(read)
}
