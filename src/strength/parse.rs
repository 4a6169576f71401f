//! Reads an attacker from TOML.

use serde::Deserialize;

use super::attacker::{Anchor, Attacker, Bound, Check, Price};
use crate::setting::{Algorithm, Setting};

/// Why an attacker's file was refused, in one line: the file, the reason and the accepted form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("attacker file {origin}: {reason}; accepted: the form of profiles/attackers/rtx-4090.toml")]
pub struct AttackerError {
    /// The file, as it was named.
    pub origin: String,
    /// What is wrong with it.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    memory_bandwidth_gb_s: f64,
    price: PriceRow,
    anchor: Vec<AnchorRow>,
    #[serde(default)]
    bound: Vec<BoundRow>,
    #[serde(default)]
    check: Vec<CheckRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    usd_per_hour: f64,
    source: String,
    url: String,
    date: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnchorRow {
    setting: String,
    guesses_per_s: f64,
    source: String,
    url: String,
    date: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundRow {
    algorithm: String,
    work_per_s: f64,
    basis: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckRow {
    hardware: String,
    limited_by: String,
    has: f64,
    attacker_has: f64,
    setting: String,
    guesses_per_s: f64,
    source: String,
    url: String,
    date: String,
}

impl Attacker {
    /// Reads an attacker from the text of a file called `origin`.
    ///
    /// # Errors
    /// Text that is no TOML, unknown or missing keys, figures that are not above zero, settings that do not exist,
    /// a family without exactly one anchor, or a bound below what today's tools reach.
    pub fn parse(text: &str, origin: &str) -> Result<Self, AttackerError> {
        let bad = |reason: String| AttackerError {
            origin: origin.to_owned(),
            reason,
        };
        let file: File = toml::from_str(text).map_err(|e| bad(one_line(&e)))?;
        read(file).map_err(bad)
    }
}

/// TOML's own message without the drawing of the line, with the place as a line number left out: `origin` and the key tell.
fn one_line(error: &toml::de::Error) -> String {
    error.message().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read(file: File) -> Result<Attacker, String> {
    positive("memory_bandwidth_gb_s", file.memory_bandwidth_gb_s)?;
    positive("usd_per_hour", file.price.usd_per_hour)?;
    let attacker = Attacker {
        name: file.name,
        description: file.description,
        memory_bandwidth_gb_s: file.memory_bandwidth_gb_s,
        price: Price {
            usd_per_hour: file.price.usd_per_hour,
            source: file.price.source,
            url: file.price.url,
            date: file.price.date,
        },
        anchors: file.anchor.into_iter().map(anchor).collect::<Result<_, _>>()?,
        bounds: file.bound.into_iter().map(bound).collect::<Result<_, _>>()?,
        checks: file.check.into_iter().map(check).collect::<Result<_, _>>()?,
    };
    for algorithm in Algorithm::ALL {
        let anchors = attacker
            .anchors
            .iter()
            .filter(|a| a.setting.algorithm() == algorithm)
            .count();
        if anchors != 1 {
            return Err(format!("{algorithm} has {anchors} anchors where one is needed"));
        }
        if attacker.bounds.iter().filter(|b| b.algorithm == algorithm).count() > 1 {
            return Err(format!("{algorithm} has more than one bound"));
        }
        let guesses = attacker.guesses(&attacker.anchor(algorithm).setting);
        if guesses.bound.per_s < guesses.tools.per_s {
            return Err(format!("the bound of {algorithm} is below its anchor"));
        }
    }
    Ok(attacker)
}

fn anchor(row: AnchorRow) -> Result<Anchor, String> {
    positive("guesses_per_s", row.guesses_per_s)?;
    Ok(Anchor {
        setting: row.setting.parse::<Setting>().map_err(|e| e.to_string())?,
        guesses_per_s: row.guesses_per_s,
        source: row.source,
        url: row.url,
        date: row.date,
    })
}

fn bound(row: BoundRow) -> Result<Bound, String> {
    positive("work_per_s", row.work_per_s)?;
    Ok(Bound {
        algorithm: row
            .algorithm
            .parse()
            .map_err(|e: crate::units::BadValue| e.to_string())?,
        work_per_s: row.work_per_s,
        basis: row.basis,
    })
}

fn check(row: CheckRow) -> Result<Check, String> {
    positive("has", row.has)?;
    positive("attacker_has", row.attacker_has)?;
    Ok(Check {
        hardware: row.hardware,
        limited_by: row.limited_by,
        has: row.has,
        attacker_has: row.attacker_has,
        anchor: anchor(AnchorRow {
            setting: row.setting,
            guesses_per_s: row.guesses_per_s,
            source: row.source,
            url: row.url,
            date: row.date,
        })?,
    })
}

fn positive(key: &str, value: f64) -> Result<(), String> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(format!("{key} is {value} where a number above 0 is needed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../profiles/attackers/rtx-4090.toml");

    fn refused(from: &str, to: &str) -> String {
        assert!(TEXT.contains(from), "{from}");
        Attacker::parse(&TEXT.replace(from, to), "mine.toml")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_builtin_is_well_formed() {
        let attacker = Attacker::parse(TEXT, "rtx-4090.toml").unwrap();
        assert_eq!(&attacker, Attacker::builtin());
        assert_eq!(Attacker::named("rtx-4090"), Some(Attacker::builtin()));
        assert!(Attacker::named("h100").is_none());
    }

    #[test]
    fn refusals_name_the_file_and_the_fault() {
        for (from, to, word) in [
            ("usd_per_hour = 0.34", "usd_per_hour = 0.0", "usd_per_hour is 0"),
            ("usd_per_hour = 0.34", "usd = 0.34", "unknown field"),
            (
                "setting = \"bcrypt:5\"",
                "setting = \"bcrypt:3\"",
                "below the minimum 4",
            ),
            (
                "setting = \"bcrypt:5\"",
                "setting = \"pbkdf2-sha256:5\"",
                "bcrypt has 0 anchors",
            ),
            ("work_per_s = 9.65e8", "work_per_s = 9.65e7", "below its anchor"),
            ("name = \"rtx-4090\"", "", "missing field `name`"),
            ("name = \"rtx-4090\"", "name = ", "mine.toml"),
        ] {
            let error = refused(from, to);
            assert!(
                error.contains("mine.toml") && error.contains(word) && !error.contains('\n'),
                "{error}"
            );
        }
    }
}
