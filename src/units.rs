//! Quantities an operator types: sizes, rates, times and shares. They parse and print; nothing else.
//!
//! A bare number is refused wherever a unit matters, and an ambiguous unit (`1M`) is refused with a hint:
//! a memory limit that is wrong by a factor of 1024 is found in production.

use std::fmt;
use std::str::FromStr;

/// Why a piece of input was refused: what it was for, the input itself, what is accepted and how to go on.
///
/// Printed as `what "input": reason; accepted: form`, with the hint on a line of its own (see the binary's `terminal`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} \"{input}\": {reason}; accepted: {accepted}")]
pub struct BadValue {
    /// What the value is, for example `a memory size`.
    pub what: String,
    /// The input as it was given.
    pub input: String,
    /// What is wrong with it.
    pub reason: String,
    /// The accepted form, with an example.
    pub accepted: String,
    /// What to type instead, where that can be guessed.
    pub hint: Option<String>,
}

impl BadValue {
    /// A refusal without a hint.
    pub fn new(
        what: impl Into<String>,
        input: impl Into<String>,
        reason: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            input: input.into(),
            reason: reason.into(),
            accepted: accepted.into(),
            hint: None,
        }
    }

    /// The same refusal with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Splits `12.5ms` into the number's text and the unit's text.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A finite decimal number without exponent, or `None`.
fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|n| n.is_finite())
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The accepted form, as shown in errors.
    pub const FORM: &str = "a number with a unit, such as 512MiB, 1GiB or 1GB (10^9)";
    const UNITS: [(&str, u64); 10] = [
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];

    /// A whole number of KiB.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1024))
    }

    /// The same quantity as a float, for formulas.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// A share of this size, rounded down to whole bytes.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.as_f64() * factor) as u64)
    }

    fn hint(value: &str, unit: &str) -> Option<String> {
        match unit {
            "" => Some(format!("write {value}MiB or {value}GiB")),
            "K" | "k" => Some(format!("write {value}KiB (x 1024) or {value}kB (x 1000)")),
            "M" | "m" => Some(format!("write {value}MiB (x 1024^2) or {value}MB (x 1000^2)")),
            "G" | "g" => Some(format!("write {value}GiB (x 1024^3) or {value}GB (x 1000^3)")),
            _ => Self::UNITS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(unit))
                .map(|(name, _)| format!("write {value}{name}")),
        }
    }
}

impl FromStr for Bytes {
    type Err = BadValue;

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |reason: &str| BadValue::new("size", text, reason, Self::FORM);
        let (value, unit) = split_unit(text.trim());
        let Some(amount) = number(value) else {
            return Err(bad("not a number with a unit"));
        };
        let Some((_, factor)) = Self::UNITS.iter().find(|(name, _)| *name == unit) else {
            let reason = match unit {
                "" => "the unit is missing".to_owned(),
                "K" | "k" | "M" | "m" | "G" | "g" => format!("the unit \"{unit}\" is ambiguous"),
                _ => format!("unknown unit \"{unit}\""),
            };
            let mut error = bad(&reason);
            error.hint = Self::hint(value, unit);
            return Err(error);
        };
        let bytes = amount * *factor as f64;
        if amount < 0.0 {
            return Err(bad("a size cannot be negative"));
        }
        if bytes >= 2f64.powi(63) {
            return Err(bad("larger than any machine's memory"));
        }
        Ok(Self(bytes.round() as u64))
    }
}

impl fmt::Display for Bytes {
    /// The largest binary unit that keeps the figure at 1 or more, with at most one decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            n if n >= 1 << 30 => (self.as_f64() / f64::from(1 << 30), "GiB"),
            n if n >= 1 << 20 => (self.as_f64() / f64::from(1 << 20), "MiB"),
            n if n >= 1 << 10 => (self.as_f64() / f64::from(1 << 10), "KiB"),
            _ => (self.as_f64(), "B"),
        };
        let digits = usize::from((value * 10.0).round() % 10.0 != 0.0);
        write!(f, "{value:.digits$} {unit}")
    }
}

/// A size rounded up to whole MiB, as an operator would type it: `1100MiB`.
#[derive(Debug, Clone, Copy)]
pub struct CeilMib(pub Bytes);

impl fmt::Display for CeilMib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}MiB", self.0.0.div_ceil(1 << 20))
    }
}

/// Events per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// The accepted form, as shown in errors.
    pub const FORM: &str = "a number per second, minute or hour, such as 20/s, 1200/min or 60/h";
    /// Lowest accepted rate: one event an hour.
    pub const MIN_PER_S: f64 = 1.0 / 3600.0;
    /// Highest accepted rate. No machine serves more password hashes.
    pub const MAX_PER_S: f64 = 1e6;

    /// A rate of `per_s` events a second.
    ///
    /// # Errors
    /// When it is outside [`Self::MIN_PER_S`] to [`Self::MAX_PER_S`].
    pub fn new(per_s: f64) -> Result<Self, BadValue> {
        Self::checked(per_s, &format!("{per_s}/s"))
    }

    fn checked(per_s: f64, input: &str) -> Result<Self, BadValue> {
        let bad = |reason: &str| Err(BadValue::new("rate", input, reason, Self::FORM));
        if !per_s.is_finite() || per_s <= 0.0 {
            return bad("a rate must be above zero");
        }
        if per_s < Self::MIN_PER_S * 0.999_999 {
            return bad("below the lowest rate, 1/h");
        }
        if per_s > Self::MAX_PER_S {
            return bad("above the highest rate, 1000000/s");
        }
        Ok(Self(per_s))
    }

    /// Events per second.
    pub const fn per_s(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |reason: &str| BadValue::new("rate", text, reason, Self::FORM);
        let (value, unit) = split_unit(text.trim());
        let Some(amount) = number(value) else {
            return Err(bad("not a number with a unit"));
        };
        let per_s = match unit {
            "/s" => amount,
            "/min" => amount / 60.0,
            "/h" => amount / 3600.0,
            "" => {
                return Err(bad("the unit is missing").hint(format!("write {value}/s or {value}/min")));
            }
            other => return Err(bad(&format!("unknown unit \"{other}\""))),
        };
        Self::checked(per_s, text)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 1.0 {
            write!(f, "{}/s", Short(self.0))
        } else {
            write!(f, "{}/min", Short(self.0 * 60.0))
        }
    }
}

/// A time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Millis(pub f64);

impl Millis {
    /// From seconds.
    pub const fn from_s(seconds: f64) -> Self {
        Self(seconds * 1e3)
    }

    /// In seconds.
    pub const fn as_s(self) -> f64 {
        self.0 / 1e3
    }

    /// Reads a bare number of milliseconds (the flag's name states the unit) within `min..=max`.
    ///
    /// # Errors
    /// When it is no number or out of range.
    pub fn parse_within(what: &str, text: &str, min: f64, max: f64) -> Result<Self, BadValue> {
        let form = format!(
            "milliseconds from {min} to {max}, such as {}",
            if max < 1e3 { 5 } else { 250 }
        );
        let bad = |reason: &str| BadValue::new(what, text, reason, form.clone());
        let value = text.trim();
        match number(value) {
            Some(ms) if ms < min => Err(bad(&format!("below {min}"))),
            Some(ms) if ms > max => Err(bad(&format!("above {max}"))),
            Some(ms) => Ok(Self(ms)),
            None => {
                let error = bad("not a plain number of milliseconds");
                match text.trim().strip_suffix("ms").map(str::trim_end) {
                    Some(bare) => Err(error.hint(format!("write {bare}"))),
                    None => Err(error),
                }
            }
        }
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", Short(self.0))
    }
}

/// A length of time such as `60s` or `2min`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl Seconds {
    /// The accepted form, as shown in errors.
    pub const FORM: &str = "seconds or minutes with a unit, such as 60s or 2min";
}

impl FromStr for Seconds {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |reason: &str| BadValue::new("time", text, reason, Self::FORM);
        let (value, unit) = split_unit(text.trim());
        let Some(amount) = number(value) else {
            return Err(bad("not a number with a unit"));
        };
        let seconds = match unit {
            "s" => amount,
            "min" => amount * 60.0,
            "ms" => amount / 1e3,
            "" => return Err(bad("the unit is missing").hint(format!("write {value}s"))),
            other => return Err(bad(&format!("unknown unit \"{other}\""))),
        };
        if seconds <= 0.0 {
            return Err(bad("must be above zero"));
        }
        Ok(Self(seconds))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", Short(self.0))
    }
}

/// A share between 0 and 1, typed as `10%` or `0.1`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl Share {
    /// The accepted form, as shown in errors.
    pub const FORM: &str = "a share from 0% to 90%, such as 10% or 0.1";
    /// Highest accepted share: more headroom than this leaves nothing to measure.
    pub const MAX: f64 = 0.9;
}

impl FromStr for Share {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |reason: &str| BadValue::new("share", text, reason, Self::FORM);
        let trimmed = text.trim();
        let (value, scale) = match trimmed.strip_suffix('%') {
            Some(value) => (value.trim_end(), 100.0),
            None => (trimmed, 1.0),
        };
        let Some(amount) = number(value) else {
            return Err(bad("not a number"));
        };
        let share = amount / scale;
        if (0.0..=Self::MAX).contains(&share) {
            return Ok(Self(share));
        }
        let error = bad("outside 0% to 90%");
        if scale == 1.0 && (0.0..=90.0).contains(&amount) {
            return Err(error.hint(format!("write {value}%")));
        }
        Err(error)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", Short(self.0 * 100.0))
    }
}

/// A figure with three significant digits, without exponent: `0.0123`, `1.23`, `45.6`, `1234`.
#[derive(Debug, Clone, Copy)]
pub struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.abs();
        if magnitude == 0.0 || !magnitude.is_finite() {
            return write!(f, "{}", self.0);
        }
        let digits = (2.0 - magnitude.log10().floor()).clamp(0.0, 9.0) as usize;
        let text = format!("{:.digits$}", self.0);
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_an_unambiguous_unit() {
        assert_eq!("1GiB".parse(), Ok(Bytes(1 << 30)));
        assert_eq!("512 MiB".parse(), Ok(Bytes(512 << 20)));
        assert_eq!("1GB".parse(), Ok(Bytes(1_000_000_000)));
        assert_eq!("1.5GiB".parse(), Ok(Bytes(3 << 29)));
        assert_eq!("0B".parse(), Ok(Bytes(0)));
        for (input, hint) in [("4096", "4096MiB"), ("1M", "1MiB"), ("2g", "2GiB"), ("1gib", "1GiB")] {
            let error = input.parse::<Bytes>().unwrap_err();
            assert_eq!(error.input, input);
            assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{error:?}");
        }
        for input in [
            "",
            "GiB",
            "-1GiB",
            "1e3MiB",
            "1.2.3MiB",
            "nanMiB",
            "99999999999TiB",
            "1 GiB x",
        ] {
            assert!(input.parse::<Bytes>().is_err(), "{input}");
        }
    }

    #[test]
    fn rates_need_a_unit() {
        assert_eq!("20/s".parse::<Rate>().unwrap().per_s(), 20.0);
        assert_eq!("1200/min".parse::<Rate>().unwrap().per_s(), 20.0);
        assert_eq!("1/min".parse::<Rate>().unwrap().to_string(), "1/min");
        assert_eq!("1/h".parse::<Rate>().unwrap().to_string(), "0.0167/min");
        for input in ["20", "0/s", "-1/s", "20/d", "/s", "1e9/s", "2000000/s", "0.5/h"] {
            assert!(input.parse::<Rate>().is_err(), "{input}");
        }
    }

    #[test]
    fn times_and_shares() {
        assert_eq!(Millis::parse_within("budget", "250", 1.0, 6e4), Ok(Millis(250.0)));
        assert!(Millis::parse_within("budget", "-1", 1.0, 6e4).is_err());
        assert_eq!(
            Millis::parse_within("budget", "250ms", 1.0, 6e4)
                .unwrap_err()
                .hint
                .as_deref(),
            Some("write 250")
        );
        assert_eq!("60s".parse(), Ok(Seconds(60.0)));
        assert_eq!("2min".parse(), Ok(Seconds(120.0)));
        assert!("60".parse::<Seconds>().is_err());
        assert_eq!("10%".parse(), Ok(Share(0.1)));
        assert_eq!("0.1".parse(), Ok(Share(0.1)));
        assert_eq!("10".parse::<Share>().unwrap_err().hint.as_deref(), Some("write 10%"));
    }

    #[test]
    fn printing_is_short() {
        let shown: Vec<String> = [0.0, 0.0123, 1.0, 1.234, 45.67, 1234.5]
            .iter()
            .map(|&v| Short(v).to_string())
            .collect();
        assert_eq!(shown, ["0", "0.0123", "1", "1.23", "45.7", "1234"]);
        assert_eq!(Bytes(47104 << 10).to_string(), "46 MiB");
        assert_eq!(Bytes(1_500_000).to_string(), "1.4 MiB");
    }
}
