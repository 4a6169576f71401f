//! What ends a run early: one line, and how to go on.

use std::fmt;
use std::io;

use hashtune::units::BadValue;

/// A refusal or a fault, in the words that the terminal prints: `error: line`, then `hint: hint`.
///
/// The exit code is always 2: it says nothing about settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong, with the input that caused it.
    pub line: String,
    /// What to do instead, where that is known.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            hint: None,
        }
    }

    /// The same failure with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A file or stream that failed: `out.toml: permission denied`.
    pub fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(format!("{what}: {}", reason(error)))
    }
}

/// The system's reason in our style: `permission denied`.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    // "No such file or directory (os error 2) at path ...": the number helps nobody, and the path is a temporary one.
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut words = text.chars();
    let first = words.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    format!("{first}{}", words.as_str())
}

impl From<BadValue> for Failure {
    fn from(bad: BadValue) -> Self {
        Self {
            line: bad.to_string(),
            hint: bad.hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_errors_read_as_ours() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(
            Failure::io("my.toml", &error).line,
            "my.toml: no such file or directory"
        );
    }
}
