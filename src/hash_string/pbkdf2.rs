//! PBKDF2's many forms, and SCRAM, which stores a digest of its output.

use super::encoding::{self, ADAPTED, Padding, STANDARD, URL_SAFE, hex_len, positive};
use super::{Cost, Kdf, Note, Read, Stored};

/// The family by its digest's name, in any of the spellings in use.
pub fn kdf(digest: &str) -> Result<Kdf, String> {
    match digest {
        "sha1" => Ok(Kdf::Pbkdf2Sha1),
        "sha256" => Ok(Kdf::Pbkdf2Sha256),
        "sha512" => Ok(Kdf::Pbkdf2Sha512),
        other => Err(format!("the digest \"{}\" is not known", encoding::name(other))),
    }
}

fn stored(kdf: Kdf, iterations: u32, salt: usize, output: usize) -> Read {
    if iterations == 0 {
        return Err("0 iterations".into());
    }
    if output == 0 {
        return Err("the hash is empty".into());
    }
    Ok(Stored::new(kdf, Cost::Iterations(iterations)).lengths(salt, output))
}

/// Reads passlib's `$pbkdf2-sha256$29000$salt$hash` (`$pbkdf2$` is SHA-1) and PHC's `$pbkdf2-sha256$i=600000,l=32$salt$hash`.
pub fn modular(text: &str) -> Read {
    let [_, name, parameters, salt, hash] = encoding::split(text, '$')?;
    let kdf = kdf(name.strip_prefix("pbkdf2-").unwrap_or("sha1"))?;
    if !parameters.contains('=') {
        return adapted(kdf, parameters, salt, hash);
    }
    let pairs = encoding::pairs(parameters)?;
    let salt = encoding::base64(salt, STANDARD, Padding::None)?.len();
    let output = encoding::base64(hash, STANDARD, Padding::None)?.len();
    if let Some((_, stated)) = pairs.iter().find(|(k, _)| *k == "l")
        && encoding::decimal(stated, "l")? as usize != output
    {
        return Err(format!("l is {stated} but the hash has {output} bytes (cut off?)"));
    }
    stored(kdf, positive(encoding::value(&pairs, "i")?, "i")?, salt, output)
}

/// Iterations, and salt and hash in passlib's alphabet.
fn adapted(kdf: Kdf, iterations: &str, salt: &str, hash: &str) -> Read {
    let salt = encoding::base64(salt, ADAPTED, Padding::None)?.len();
    let output = encoding::base64(hash, ADAPTED, Padding::None)?.len();
    stored(kdf, positive(iterations, "iterations")?, salt, output)
}

/// Reads LDAP's `29000$salt$hash` (after `{PBKDF2-SHA256}`), and Dovecot's `$1$salt$5000$hex` (after `{PBKDF2}`).
pub fn ldap(kdf: Kdf, text: &str) -> Read {
    if text.starts_with('$') {
        let [_, version, salt, rounds, hash] = encoding::split(text, '$')?;
        if version != "1" {
            return Err("unknown version of Dovecot's form: only 1 exists".into());
        }
        return stored(kdf, positive(rounds, "rounds")?, salt.len(), hex_len(hash)?);
    }
    let [iterations, salt, hash] = encoding::split(text, '$')?;
    adapted(kdf, iterations, salt, hash)
}

/// Reads Django's `600000$salt$hash` (after `pbkdf2_sha256$`).
pub fn django(kdf: Kdf, text: &str) -> Read {
    let [iterations, salt, hash] = encoding::split(text, '$')?;
    let output = encoding::base64(hash, STANDARD, Padding::Full)?.len();
    stored(kdf, positive(iterations, "iterations")?, salt.len(), output)
}

/// Reads Werkzeug's `sha256:1000000$salt$hex` (after `pbkdf2:`).
pub fn werkzeug(text: &str) -> Read {
    let [method, salt, hash] = encoding::split(text, '$')?;
    let [digest, iterations] = encoding::split(method, ':')?;
    stored(
        kdf(digest)?,
        positive(iterations, "iterations")?,
        salt.len(),
        hex_len(hash)?,
    )
}

/// Reads MediaWiki's `sha512:30000:64:salt:hash` (after `:pbkdf2:`).
pub fn mediawiki(text: &str) -> Read {
    let [digest, iterations, length, salt, hash] = encoding::split(text, ':')?;
    let output = encoding::base64(hash, STANDARD, Padding::Full)?.len();
    if encoding::decimal(length, "length")? as usize != output {
        return Err(format!("the length is {length} but the hash has {output} bytes"));
    }
    let salt = encoding::base64(salt, STANDARD, Padding::Full)?.len();
    stored(kdf(digest)?, positive(iterations, "iterations")?, salt, output)
}

/// Reads `$p5k2$9c40$salt$hash`, rounds in hexadecimal: Dwayne Litzenberger's and Cryptacular's, told apart by the padding.
pub fn p5k2(text: &str) -> Read {
    let [_, _, rounds, salt, hash] = encoding::split(text, '$')?;
    // An empty field stands for 400 rounds.
    let rounds = match rounds {
        "" => 400,
        hex if hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).map_err(|_| "the rounds do not fit 32 bits")?
        }
        _ => return Err("the rounds are not hexadecimal".into()),
    };
    let (salt, output) = if hash.ends_with('=') {
        let salt = encoding::base64(salt, URL_SAFE, Padding::Full)?;
        (salt.len(), encoding::base64(hash, URL_SAFE, Padding::Full)?.len())
    } else {
        (salt.len(), encoding::base64(hash, ADAPTED, Padding::None)?.len())
    };
    stored(Kdf::Pbkdf2Sha1, rounds, salt, output)
}

/// Reads GRUB's `10000.SALT.HASH` in hexadecimal (after `grub.pbkdf2.sha512.`).
pub fn grub(text: &str) -> Read {
    let [iterations, salt, hash] = encoding::split(text, '.')?;
    stored(
        Kdf::Pbkdf2Sha512,
        positive(iterations, "iterations")?,
        hex_len(salt)?,
        hex_len(hash)?,
    )
}

/// Reads Atlassian's base64 of 16 bytes of salt and 32 of hash (after `{PKCS5S2}`).
pub fn atlassian(text: &str) -> Read {
    let bytes = encoding::base64(text, STANDARD, Padding::Full)?.len();
    if bytes != 48 {
        return Err(format!("{bytes} bytes where 16 of salt and 32 of hash are needed"));
    }
    let read = stored(Kdf::Pbkdf2Sha1, 10_000, 16, 32)?;
    Ok(read.note(Note::Implied { by: "{PKCS5S2}".into() }))
}

/// Reads Spring's hexadecimal salt and key. Digest and iterations stand nowhere: the id implies the defaults of its version.
pub fn spring(id: &str, text: &str) -> Read {
    let bytes = hex_len(text)?;
    let (kdf, iterations, salt) = match id {
        "pbkdf2@SpringSecurity_v5_8" => (Kdf::Pbkdf2Sha256, 310_000, 16),
        "pbkdf2" => (Kdf::Pbkdf2Sha1, 185_000, 8),
        _ => return Err("an id of Spring's that is not known: digest and iterations cannot be told".into()),
    };
    if bytes != salt + 32 {
        return Err(format!("{bytes} bytes where {salt} of salt and 32 of key are needed"));
    }
    let read = stored(kdf, iterations, salt, 32)?;
    Ok(read.note(Note::Implied {
        by: format!("{{{id}}}, with Spring's defaults,"),
    }))
}

/// Reads the bytes of an ASP.NET Identity hash: version 3 (`01`, digest, iterations, salt length, salt, key; big endian)
/// or version 2 (`00`, 16 bytes of salt, 32 of key, 1000 iterations).
pub fn aspnet(bytes: &[u8]) -> Read {
    match bytes {
        [0, rest @ ..] if rest.len() == 48 => {
            let read = stored(Kdf::Pbkdf2Sha1, 1000, 16, 32)?.variant("v2");
            Ok(read.note(Note::Implied {
                by: "version 2 of the format".into(),
            }))
        }
        [0, rest @ ..] => Err(format!("{} bytes after the marker 0 where 48 are needed", rest.len())),
        [1, rest @ ..] => aspnet_v3(rest),
        _ => Err("unknown format marker: only 0 and 1 exist".into()),
    }
}

fn aspnet_v3(rest: &[u8]) -> Read {
    let word = |at: usize| -> Result<u32, String> {
        let bytes = rest.get(at..at + 4).ok_or("the header is cut off")?;
        Ok(bytes.iter().fold(0, |word, b| (word << 8) | u32::from(*b)))
    };
    let kdf = match word(0)? {
        0 => Kdf::Pbkdf2Sha1,
        1 => Kdf::Pbkdf2Sha256,
        2 => Kdf::Pbkdf2Sha512,
        other => return Err(format!("unknown digest number {other}: only 0, 1 and 2 exist")),
    };
    let salt = word(8)? as usize;
    let follow = rest.len() - 12;
    if salt > follow {
        return Err(format!(
            "the header promises {salt} bytes of salt, {follow} bytes follow"
        ));
    }
    if follow - salt < 16 {
        return Err(format!("the key has {} bytes where 16 are needed", follow - salt));
    }
    Ok(stored(kdf, word(4)?, salt, follow - salt)?.variant("v3"))
}

/// Reads PostgreSQL's `4096:salt$stored:server` (after `SCRAM-SHA-256$`).
pub fn scram(text: &str) -> Read {
    let [left, right] = encoding::split(text, '$')?;
    let [iterations, salt] = encoding::split(left, ':')?;
    let [stored_key, server_key] = encoding::split(right, ':')?;
    let len = |field: &str| encoding::base64(field, STANDARD, Padding::Full).map(|b| b.len());
    if len(stored_key)? != 32 || len(server_key)? != 32 {
        return Err("a key does not have 32 bytes".into());
    }
    stored(Kdf::ScramSha256, positive(iterations, "iterations")?, len(salt)?, 32)
}
