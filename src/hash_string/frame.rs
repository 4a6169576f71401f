//! Which form is it? Takes off what frameworks put around a hash and hands the rest to the family's reader.

use super::encoding::{self, Padding, STANDARD};
use super::{Cost, HashError, Kdf, Prehash, Read, Stored, argon2, bcrypt, crypt, fast, keycloak, pbkdf2, scrypt};

/// Longest text that is looked at, in bytes. Keycloak's JSON is the longest form, with well under 1000.
const MAX_LEN: usize = 4096;

/// Bytes of ASP.NET's header, before the salt.
const ASPNET_HEADER: usize = 13;

/// Reads a stored hash. Blanks around it are ignored.
///
/// # Errors
/// [`HashError::Malformed`] for a known form that is damaged or out of bounds, [`HashError::Unknown`] for anything else.
pub fn parse(text: &str) -> Result<Stored, HashError> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_LEN {
        return Err(unknown("it is empty or longer than 4096 bytes"));
    }
    match text.as_bytes()[0] {
        b'$' => modular(text),
        b'{' if text[1..].trim_start().starts_with('"') => named("keycloak", keycloak::credential(text)),
        b'{' => braced(text),
        b':' => mediawiki(text),
        b'!' | b'*' => Ok(Stored::new(Kdf::Unusable, Cost::None)),
        _ => plain(text),
    }
}

fn unknown(reason: &str) -> HashError {
    HashError::Unknown {
        reason: reason.to_owned(),
    }
}

/// Puts the family's name to a reader's refusal.
fn named(family: &'static str, read: Read) -> Result<Stored, HashError> {
    read.map_err(|reason| HashError::Malformed { family, reason })
}

/// Forms that start with `$name$`.
fn modular(text: &str) -> Result<Stored, HashError> {
    let name = text[1..].split('$').next().unwrap_or_default();
    match name {
        "bcrypt-sha256" => named("bcrypt", bcrypt::passlib_sha256(text)),
        "wp" => {
            let inner = text.strip_prefix("$wp").unwrap_or_default();
            let read = bcrypt::crypt(inner).map(|s| s.prehash(Prehash::HmacSha384Base64WordPress));
            named("bcrypt", read)
        }
        "scrypt" => named("scrypt", scrypt::phc(text)),
        "7" => named("scrypt", scrypt::seven(text)),
        "p5k2" => named("pbkdf2", pbkdf2::p5k2(text)),
        "1" | "apr1" => named("md5-crypt", crypt::md5(text)),
        "5" | "6" => named("sha-crypt", crypt::sha2(text)),
        "P" | "H" => named("phpass", crypt::phpass(text)),
        "y" | "gy" => named("yescrypt", crypt::yescrypt(text)),
        _ if name.starts_with("argon2") => named("argon2", argon2::phc(text)),
        _ if name.starts_with("pbkdf2") => named("pbkdf2", pbkdf2::modular(text)),
        // `$2b$`; also a wrong letter after the 2, which the reader names.
        _ if name.starts_with('2') && name.len() <= 2 => named("bcrypt", bcrypt::crypt(text)),
        _ if scrypt::looks_like_spring(name) => named("scrypt", scrypt::spring(text)),
        _ => Err(unknown("the name between the first two $ is not known")),
    }
}

/// A form that must start with `$`, after something was taken off.
fn inner(text: &str) -> Result<Stored, HashError> {
    if text.starts_with('$') {
        modular(text)
    } else {
        Err(unknown("a hash that starts with $ is expected after the scheme"))
    }
}

/// Forms that start with `{SCHEME}`: LDAP, Dovecot, Spring.
fn braced(text: &str) -> Result<Stored, HashError> {
    let Some((scheme, rest)) = text[1..].split_once('}') else {
        return Err(unknown("the closing } is missing"));
    };
    match scheme {
        "PBKDF2" | "PBKDF2-SHA1" => return named("pbkdf2", pbkdf2::ldap(Kdf::Pbkdf2Sha1, rest)),
        "PBKDF2-SHA256" => return named("pbkdf2", pbkdf2::ldap(Kdf::Pbkdf2Sha256, rest)),
        "PBKDF2-SHA512" => return named("pbkdf2", pbkdf2::ldap(Kdf::Pbkdf2Sha512, rest)),
        "PKCS5S2" => return named("pbkdf2", pbkdf2::atlassian(rest)),
        "noop" | "PLAIN" | "CLEARTEXT" => return Err(unknown("the password is stored in plain text")),
        _ => {}
    }
    // Spring's ids name the encoder and perhaps its version: {argon2@SpringSecurity_v5_8}.
    if scheme.starts_with("pbkdf2") {
        return named("pbkdf2", pbkdf2::spring(scheme, rest));
    }
    if let Some(kdf) = ldap_digest(scheme) {
        return named(kdf.name(), fast::ldap(kdf, rest));
    }
    inner(rest)
}

fn ldap_digest(scheme: &str) -> Option<Kdf> {
    match scheme {
        "MD5" | "SMD5" => Some(Kdf::Md5),
        "SHA" | "SSHA" => Some(Kdf::Sha1),
        "SHA256" | "SSHA256" => Some(Kdf::Sha256),
        "SHA512" | "SSHA512" => Some(Kdf::Sha512),
        _ => None,
    }
}

/// Forms that start with `:type:`.
fn mediawiki(text: &str) -> Result<Stored, HashError> {
    let Some((kind, rest)) = text[1..].split_once(':') else {
        return Err(unknown("the type between colons is missing"));
    };
    match kind {
        "bcrypt" => named("bcrypt", bcrypt::mediawiki(rest)),
        "pbkdf2" => named("pbkdf2", pbkdf2::mediawiki(rest)),
        "argon2" => inner(rest),
        _ => Err(unknown("the type between colons is not known")),
    }
}

/// Forms that start with a letter or a digit.
fn plain(text: &str) -> Result<Stored, HashError> {
    if let Some(rest) = text.strip_prefix("SCRAM-SHA-256$") {
        return named("scram-sha-256", pbkdf2::scram(rest));
    }
    if let Some(rest) = text.strip_prefix("grub.pbkdf2.sha512.") {
        return named("pbkdf2", pbkdf2::grub(rest));
    }
    if let Some(rest) = text.strip_prefix("scrypt:") {
        return named("scrypt", scrypt::werkzeug(rest));
    }
    if let Some(rest) = text.strip_prefix("pbkdf2:") {
        return named("pbkdf2", pbkdf2::werkzeug(rest));
    }
    // Nextcloud: a version and a bar.
    if let Some(rest) = ["1|", "2|", "3|"].iter().find_map(|v| text.strip_prefix(v)) {
        return inner(rest);
    }
    if let Some(hex) = text.strip_prefix("md5").filter(|h| h.len() == 32 && is_hex(h)) {
        return named("md5", fast::postgres(hex));
    }
    if let Some((name, rest)) = text.split_once('$')
        && let Some(result) = django(name, text, rest)
    {
        return result;
    }
    // htpasswd and shadow: the user's name comes first, in shadow more fields follow.
    if let Some((_user, rest)) = text.split_once(':') {
        let hash = rest.split(':').next().unwrap_or_default();
        return if hash.starts_with('{') {
            braced(hash)
        } else {
            inner(hash)
        };
    }
    last_guess(text)
}

/// Django's `name$...`; `None` when the name is not Django's.
fn django(name: &str, text: &str, rest: &str) -> Option<Result<Stored, HashError>> {
    Some(match name {
        "argon2" => named("argon2", argon2::phc(&text[name.len()..])),
        "bcrypt_sha256" => named("bcrypt", bcrypt::crypt(rest).map(|s| s.prehash(Prehash::Sha256Hex))),
        "bcrypt" => named("bcrypt", bcrypt::crypt(rest)),
        "pbkdf2_sha256" => named("pbkdf2", pbkdf2::django(Kdf::Pbkdf2Sha256, rest)),
        "pbkdf2_sha1" => named("pbkdf2", pbkdf2::django(Kdf::Pbkdf2Sha1, rest)),
        "scrypt" => named("scrypt", scrypt::django(rest)),
        "md5" => named("md5", fast::django(Kdf::Md5, rest)),
        "sha1" => named("sha1", fast::django(Kdf::Sha1, rest)),
        _ => return None,
    })
}

/// ASP.NET's bare base64, and texts that only look like something.
fn last_guess(text: &str) -> Result<Stored, HashError> {
    if bcrypt::looks_like_tail(text) {
        return Err(HashError::Malformed {
            family: "bcrypt",
            reason: "the front is missing: a shell may have expanded $2b$12$ to nothing (use single quotes)".into(),
        });
    }
    if is_hex(text) && [32, 40, 64, 96, 128].contains(&text.len()) {
        return Err(unknown("a bare hexadecimal digest does not say what made it"));
    }
    match encoding::base64(text, STANDARD, Padding::Full) {
        // The marker is followed by a 32-bit number below 256, or by 48 bytes: anything else is not ASP.NET's.
        Ok(bytes) if bytes.len() > ASPNET_HEADER && (bytes[0] == 0 || bytes[1..4] == [0, 0, 0]) => {
            named("pbkdf2", pbkdf2::aspnet(&bytes))
        }
        _ => Err(unknown("no prefix that is known")),
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}
