//! The only printer for people. The rules:
//!
//! - Everything goes to standard error; standard output carries data (the one exception is help that was asked for).
//! - Lower case, no full stop. `error:` says what is wrong and repeats the input; `hint:` says what to do. One line each.
//! - Text from outside (names, paths, arguments) is escaped: it can neither break a line nor steer the terminal.
//! - Colour only marks what the words say already, and is left out for `NO_COLOR` and when this is no terminal.
//! - With `--quiet` only errors and refusals are printed.
//! - A failure to print is ignored: nobody is left to tell.

mod candidates;
mod explain;
mod progress;
mod words;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use hashtune::bench;
use hashtune::budget::Budget;
use hashtune::recommend::{Explanation, Recommendation};
use hashtune::report::{Doubt, Report};

pub use candidates::Row;
pub use progress::Progress;
pub use words::Beside;

use crate::cli::Assumed;
use crate::failure::Failure;

/// Width where the terminal does not tell.
const DEFAULT_WIDTH: u16 = 120;

/// Where nothing better is known.
const DEFAULT_HINT: &str = "hashtune --help explains each option, with examples";

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
const CAVEAT: Style = AnsiColor::Yellow.on_default().bold();
const RESULT: Style = AnsiColor::Green.on_default().bold();

/// Speaks to the operator.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    quiet: bool,
}

impl Terminal {
    /// A voice, or with `quiet` hardly one.
    pub const fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// The stages of the run. Drop it before anything else is printed.
    pub fn progress(self) -> Progress {
        Progress::new(self.quiet, io::stderr().is_terminal())
    }

    /// The values that were taken for flags not given.
    pub fn assumed(self, assumed: &[Assumed]) {
        if !self.quiet && !assumed.is_empty() {
            line(&words::assumed(assumed));
        }
    }

    /// The table of candidates.
    pub fn candidates(self, rows: &[Row], budget: &Budget, attacker: &str) {
        if !self.quiet {
            line(&candidates::render(rows, budget, attacker, width()));
        }
    }

    /// Why this setting.
    pub fn explanation(self, pick: &Recommendation, why: &Explanation) {
        if !self.quiet {
            explain::explanation(pick, why).iter().for_each(|text| line(text));
        }
    }

    /// The setting in use beside the recommended one.
    pub fn comparison(self, now: &Row, then: &Row) {
        if !self.quiet {
            line(&explain::comparison(now, then));
        }
    }

    /// Lines of their own.
    pub fn notes(self, lines: &[String]) {
        if !self.quiet {
            lines.iter().for_each(|text| line(&escaped(text)));
        }
    }

    /// Where the time went.
    pub fn timings(self, timings: &[(String, f64)]) {
        let total: f64 = timings.iter().map(|(_, seconds)| seconds).sum();
        for (stage, seconds) in timings {
            line(&format!("{seconds:7.2} s  {}", escaped(stage)));
        }
        line(&format!("{total:7.2} s  in all"));
    }

    /// The recommendation in five lines.
    pub fn recommendation(self, report: &Report, beside: &Beside) {
        if self.quiet {
            return;
        }
        let lines = words::recommendation(report, beside);
        labelled("recommended", RESULT, &lines[0]);
        for text in &lines[1..] {
            line(&format!("  {}", escaped(text)));
        }
    }

    /// The doubts of a benchmark: one line a kind, with where it was seen first and how often.
    pub fn disturbances(self, doubts: &[bench::Doubt]) {
        if self.quiet {
            return;
        }
        for (text, remedy) in words::disturbances(doubts) {
            labelled("caveat", CAVEAT, text);
            labelled("hint", HINT, remedy);
        }
    }

    /// Doubts, each with what to do about it.
    pub fn caveats(self, doubts: &[Doubt]) {
        if self.quiet {
            return;
        }
        for doubt in doubts {
            labelled("caveat", CAVEAT, format!("{} ({})", doubt.text, doubt.code));
            labelled("hint", HINT, &doubt.remedy);
        }
    }
}

/// Why there is no recommendation, and what would help. Printed with `--quiet` too: it is the answer.
pub fn refusal(reason: &str, remedies: &[String]) {
    labelled("error", ERROR, reason);
    for remedy in remedies {
        labelled("hint", HINT, remedy);
    }
}

/// What ended the run.
pub fn failure(failure: &Failure) {
    labelled("error", ERROR, &failure.line);
    labelled("hint", HINT, failure.hint.as_deref().unwrap_or(DEFAULT_HINT));
}

/// That Ctrl-C or a signal ended the run, and what is left of it: nothing, or the whole answer in `written`.
pub fn interrupted(written: Option<&str>) {
    line(&match written {
        None => "interrupted: nothing was written".to_owned(),
        Some(target) => format!("interrupted: {} holds the whole answer", escaped(target)),
    });
}

/// Help or version, which were asked for and so are data. A closed pipe is no failure.
pub fn show(text: &str) {
    let _ = writeln!(anstream::stdout(), "{}", text.trim_end());
}

fn labelled(label: &str, style: Style, text: impl Display) {
    line(&format!("{style}{label}:{style:#} {}", escaped(&text.to_string())));
}

/// Our own text, styles included.
fn line(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Control characters as Rust would write them.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}

/// Columns of the terminal; `None` where there is none: files and pipes have lines of any length.
fn width() -> Option<u16> {
    let stderr = io::stderr();
    stderr.is_terminal().then(|| {
        rustix::termios::tcgetwinsize(stderr)
            .map(|size| size.ws_col)
            .ok()
            .filter(|&columns| columns > 0)
            .unwrap_or(DEFAULT_WIDTH)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_on_its_line() {
        assert_eq!(escaped("a\nb\u{1b}[31m\tü"), "a\\nb\\u{1b}[31m\\tü");
    }
}
