//! Reads presets from TOML.
//!
//! The table is walked by hand rather than deserialised: a refusal must name the file, the preset, the value and the accepted form.

use toml::{Table, Value};

use super::Preset;
use crate::setting::{Algorithm, Argon2id, Bcrypt, Digest, OutOfBounds, Pbkdf2, Scrypt, Setting};
use crate::units::BadValue;

/// Why a file of presets was refused, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {}{bad}", preset.as_ref().map(|p| format!("preset \"{p}\": ")).unwrap_or_default())]
pub struct PresetError {
    /// The file, as it was named.
    pub origin: String,
    /// The preset's name, or its place in the file (`#2`) where it has none; `None` when the file as a whole is at fault.
    pub preset: Option<String>,
    /// What is wrong: the key, its value and the accepted form.
    pub bad: Box<BadValue>,
}

impl PresetError {
    /// The name is in use already.
    pub(super) fn taken(origin: &str, name: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            preset: Some(name.to_owned()),
            bad: Box::new(BadValue::new(
                "name",
                name,
                "already taken by another preset",
                "a name of its own",
            )),
        }
    }
}

/// Keys that every preset has, and those it may have.
const REQUIRED: [&str; 5] = ["name", "algorithm", "description", "source", "date"];
const OPTIONAL: [&str; 2] = ["url", "minimum"];

/// The parameters of each family, in the order they are written.
pub(super) const fn parameters(algorithm: Algorithm) -> &'static [&'static str] {
    match algorithm {
        Algorithm::Argon2id => &["memory_kib", "time_cost", "parallelism"],
        Algorithm::Scrypt => &["n", "r", "p"],
        Algorithm::Bcrypt => &["cost"],
        Algorithm::Pbkdf2Sha256 | Algorithm::Pbkdf2Sha512 => &["iterations"],
    }
}

/// Reads the presets in the text of a file called `origin`: `[[preset]]` tables with `name`, `algorithm`, the family's
/// parameters, `description`, `source`, `date`, and perhaps `url` and `minimum`.
///
/// # Errors
/// The first fault: text that is no TOML, missing, unknown or wrongly typed keys, a parameter out of bounds, a name used twice.
pub fn parse(text: &str, origin: &str) -> Result<Vec<Preset>, PresetError> {
    let file = |bad: BadValue| PresetError {
        origin: origin.to_owned(),
        preset: None,
        bad: Box::new(bad),
    };
    let mut presets: Vec<Preset> = Vec::new();
    for (place, row) in rows(text).map_err(file)?.into_iter().enumerate() {
        let label = match row.get("name") {
            Some(Value::String(name)) => name.clone(),
            _ => format!("#{}", place + 1),
        };
        let preset = read(&row).map_err(|bad| PresetError {
            origin: origin.to_owned(),
            preset: Some(label),
            bad: Box::new(bad),
        })?;
        if presets.iter().any(|p| p.name == preset.name) {
            return Err(PresetError::taken(origin, &preset.name));
        }
        presets.push(preset);
    }
    Ok(presets)
}

/// The `[[preset]]` tables of a file.
fn rows(text: &str) -> Result<Vec<Table>, BadValue> {
    const FORM: &str = "a file of [[preset]] tables, as `hashtune presets --format toml` prints";
    let mut table: Table = toml::from_str(text).map_err(|e| {
        let before = e.span().and_then(|s| text.get(..s.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let message = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
        BadValue::new("TOML", first_words(text, line), format!("line {line}: {message}"), FORM)
    })?;
    let presets = table.remove("preset");
    if let Some(key) = table.keys().next() {
        return Err(BadValue::new("key", key, "unknown", FORM));
    }
    let Some(Value::Array(rows)) = presets else {
        return Err(BadValue::new("file", "", "holds no [[preset]] table", FORM));
    };
    rows.into_iter()
        .map(|row| match row {
            Value::Table(table) => Ok(table),
            other => Err(BadValue::new("preset", shown(&other), "not a table", FORM)),
        })
        .collect()
}

/// The line at fault, shortened: an error is one line.
fn first_words(text: &str, line: usize) -> String {
    text.lines()
        .nth(line - 1)
        .unwrap_or_default()
        .trim()
        .chars()
        .take(60)
        .collect()
}

fn read(row: &Table) -> Result<Preset, BadValue> {
    let name = text(row, "name")?;
    if name.is_empty()
        || !name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    {
        return Err(BadValue::new(
            "name",
            name,
            "holds other characters",
            "lower-case letters, digits and hyphens, such as our-2026-rule",
        ));
    }
    let algorithm: Algorithm = text(row, "algorithm")?.parse()?;
    known_keys(row, algorithm)?;
    let setting = setting(row, algorithm)?;
    let date = text(row, "date")?;
    if !is_date(&date) {
        return Err(BadValue::new("date", date, "not a date", "2026, 2026-03 or 2026-03-31"));
    }
    Ok(Preset {
        name,
        setting,
        description: filled(row, "description")?,
        source: filled(row, "source")?,
        url: match row.get("url") {
            Some(_) => text(row, "url")?,
            None => String::new(),
        },
        date,
        minimum: match row.get("minimum") {
            Some(Value::Boolean(minimum)) => *minimum,
            Some(other) => {
                return Err(BadValue::new(
                    "minimum",
                    shown(other),
                    "not a truth value",
                    "true or false",
                ));
            }
            None => false,
        },
    })
}

fn known_keys(row: &Table, algorithm: Algorithm) -> Result<(), BadValue> {
    let parameters = parameters(algorithm);
    for (key, value) in row {
        let key = key.as_str();
        if REQUIRED.contains(&key) || OPTIONAL.contains(&key) || parameters.contains(&key) {
            continue;
        }
        let all = [REQUIRED.as_slice(), parameters, OPTIONAL.as_slice()]
            .concat()
            .join(", ");
        return Err(BadValue::new(
            "key",
            format!("{key} = {}", shown(value)),
            format!("unknown for {algorithm}"),
            all,
        ));
    }
    Ok(())
}

fn setting(row: &Table, algorithm: Algorithm) -> Result<Setting, BadValue> {
    let out_of_bounds = |e: OutOfBounds| {
        let key = key_of(algorithm, e.name);
        BadValue {
            hint: unit_hint(key, e.value),
            ..BadValue::new(key, e.value.to_string(), e.bound, form_of(key))
        }
    };
    match algorithm {
        Algorithm::Argon2id => Argon2id::new(
            whole(row, "memory_kib")?,
            whole(row, "time_cost")?,
            whole(row, "parallelism")?,
        )
        .map(Setting::Argon2id),
        Algorithm::Scrypt => {
            Scrypt::new(whole(row, "n")?.into(), whole(row, "r")?, whole(row, "p")?).map(Setting::Scrypt)
        }
        Algorithm::Bcrypt => Bcrypt::new(whole(row, "cost")?).map(Setting::Bcrypt),
        Algorithm::Pbkdf2Sha256 => Pbkdf2::new(Digest::Sha256, whole(row, "iterations")?).map(Setting::Pbkdf2),
        Algorithm::Pbkdf2Sha512 => Pbkdf2::new(Digest::Sha512, whole(row, "iterations")?).map(Setting::Pbkdf2),
    }
    .map_err(out_of_bounds)
}

/// The file's key for a parameter that a setting's bounds call by its letter.
fn key_of(algorithm: Algorithm, letter: &'static str) -> &'static str {
    match (algorithm, letter) {
        (Algorithm::Argon2id, "m") => "memory_kib",
        (Algorithm::Argon2id, "t") => "time_cost",
        (Algorithm::Argon2id, "p") => "parallelism",
        (_, "N") => "n",
        (_, other) => other,
    }
}

/// The accepted form of a parameter.
fn form_of(key: &str) -> String {
    match key {
        "memory_kib" => format!(
            "whole KiB from 8 x parallelism to {}, such as 65536 for 64 MiB",
            Argon2id::MAX_KIB
        ),
        "time_cost" => format!(
            "whole passes from {} to {}",
            Argon2id::MIN_TIME_COST,
            Argon2id::MAX_TIME_COST
        ),
        "parallelism" => format!("whole lanes from 1 to {}", Argon2id::MAX_LANES),
        "n" => format!("a power of two from 2 to {}, such as 131072", 1u64 << Scrypt::MAX_LOG_N),
        "r" | "p" => format!("a whole number from 1 to {}", Scrypt::MAX_R_P),
        "cost" => format!("a whole number from {} to {}", Bcrypt::MIN_COST, Bcrypt::MAX_COST),
        _ => format!("a whole number from 1 to {}", Pbkdf2::MAX_ITERATIONS),
    }
}

/// What to write where memory was most likely given in bytes.
fn unit_hint(key: &str, value: u64) -> Option<String> {
    (key == "memory_kib")
        .then(|| Argon2id::bytes_hint(key, value))
        .flatten()
}

fn whole(row: &Table, key: &str) -> Result<u32, BadValue> {
    let bad = |value: &Value, reason: &str| BadValue::new(key, shown(value), reason, form_of(key));
    match row.get(key) {
        None => Err(BadValue::new("key", key, "missing", form_of(key))),
        Some(value @ Value::Integer(n)) => u32::try_from(*n).map_err(|_| BadValue {
            hint: u64::try_from(*n).ok().and_then(|n| unit_hint(key, n)),
            ..bad(value, "out of range")
        }),
        Some(value) => Err(bad(value, "not a whole number")),
    }
}

fn text(row: &Table, key: &str) -> Result<String, BadValue> {
    match row.get(key) {
        None => Err(BadValue::new("key", key, "missing", "a text in quotes")),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(BadValue::new(key, shown(other), "not a text", "a text in quotes")),
    }
}

/// A text of one line that says something.
fn filled(row: &Table, key: &str) -> Result<String, BadValue> {
    let text = text(row, key)?;
    if text.trim().is_empty() || text.contains(char::is_control) {
        return Err(BadValue::new(
            key,
            text.escape_debug().to_string(),
            "empty or not one line",
            "one line of text",
        ));
    }
    Ok(text)
}

/// A value as it is written, without line breaks.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.escape_debug().to_string(),
        other => other.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, with a month and a day that exist in some year.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let within = |part: &str, width: usize, range: std::ops::RangeInclusive<u32>| {
        part.len() == width
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse().is_ok_and(|n| range.contains(&n))
    };
    match parts.as_slice() {
        [year] => within(year, 4, 1990..=2999),
        [year, month] => within(year, 4, 1990..=2999) && within(month, 2, 1..=12),
        [year, month, day] => within(year, 4, 1990..=2999) && within(month, 2, 1..=12) && within(day, 2, 1..=31),
        _ => false,
    }
}
