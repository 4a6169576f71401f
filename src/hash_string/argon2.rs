//! Argon2 in the PHC form: `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`.

use super::encoding::{self, Padding, STANDARD, decimal, positive};
use super::{Cost, Kdf, Note, Read, Stored};

/// Shortest salt and hash that libargon2 accepts, in bytes.
const MIN_SALT: usize = 8;
const MIN_OUTPUT: usize = 4;
/// Most lanes of the format (RFC 9106, section 3.1).
const MAX_LANES: u32 = (1 << 24) - 1;

/// Reads the text from its first `$` on.
pub fn phc(text: &str) -> Read {
    let rest = text.strip_prefix('$').ok_or("the first $ is missing")?;
    let (name, rest) = rest.split_once('$').ok_or("the parameters are missing")?;
    let kdf = match name {
        "argon2id" => Kdf::Argon2id,
        "argon2i" => Kdf::Argon2i,
        "argon2d" => Kdf::Argon2d,
        _ => return Err("unknown type: only argon2id, argon2i and argon2d exist".into()),
    };
    let (version, rest) = version(rest)?;
    let fields: Vec<&str> = rest.split('$').collect();
    let [parameters, salt, output] = fields[..] else {
        return Err(match fields.len() {
            2 => "the hash is missing (cut off?)".into(),
            n => format!("{n} fields after the version where 3 are needed"),
        });
    };
    let (cost, order_notes) = parameters_of(parameters)?;
    let salt = bytes(salt, "salt", MIN_SALT)?;
    let output = bytes(output, "hash", MIN_OUTPUT)?;
    let mut stored = Stored::new(kdf, cost).lengths(salt, output);
    stored.notes.extend(order_notes);
    Ok(match version {
        Some(19) => stored.variant("v19"),
        explicit => old(stored, explicit.is_none()),
    })
}

/// Version 1.0 is another function: no setting stands for it.
pub fn old(mut stored: Stored, implicit: bool) -> Stored {
    stored.setting = None;
    if implicit {
        stored.notes.push(Note::ImplicitVersion);
    }
    stored.variant("v16").note(Note::OldVersion)
}

fn version(rest: &str) -> Result<(Option<u32>, &str), String> {
    let Some(after) = rest.strip_prefix("v=") else {
        return Ok((None, rest));
    };
    let (version, rest) = after.split_once('$').ok_or("the parameters are missing")?;
    match decimal(version, "version")? {
        known @ (16 | 19) => Ok((Some(known), rest)),
        other => Err(format!("unknown version {other}: only 16 and 19 exist")),
    }
}

/// The parameters by key, whatever their order, with notes on the order.
fn parameters_of(text: &str) -> Result<(Cost, Vec<Note>), String> {
    let pairs = encoding::pairs(text)?;
    let mut notes = Vec::new();
    if let Some((key, _)) = pairs
        .iter()
        .find(|(k, _)| !["m", "t", "p", "data", "keyid"].contains(k))
    {
        return Err(format!("unknown parameter \"{}\"", encoding::name(key)));
    }
    if pairs.iter().any(|(k, _)| matches!(*k, "data" | "keyid")) {
        notes.push(Note::AssociatedData);
    }
    let order: Vec<&str> = pairs.iter().map(|(k, _)| *k).take(3).collect();
    let memory_kib = decimal(encoding::value(&pairs, "m")?, "m")?;
    let time_cost = positive(encoding::value(&pairs, "t")?, "t")?;
    let lanes = positive(encoding::value(&pairs, "p")?, "p")?;
    if lanes > MAX_LANES {
        return Err(format!("p is {lanes}, above the maximum {MAX_LANES}"));
    }
    if memory_kib < 8 * lanes {
        return Err(format!(
            "m is {memory_kib}, below the minimum 8 p = {} (KiB)",
            8 * lanes
        ));
    }
    if order != ["m", "t", "p"] {
        notes.push(Note::NonPortableOrder { order: order.join(",") });
    }
    let cost = Cost::Argon2 {
        memory_kib,
        time_cost,
        lanes,
    };
    Ok((cost, notes))
}

fn bytes(text: &str, what: &str, min: usize) -> Result<usize, String> {
    let len = encoding::base64(text, STANDARD, Padding::None)
        .map_err(|e| format!("{what}: {e}"))?
        .len();
    if len < min {
        return Err(format!("the {what} has {len} bytes where {min} are needed"));
    }
    Ok(len)
}
