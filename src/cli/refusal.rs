//! clap's errors in our own form: one line that repeats the input, and a hint.

use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};

use crate::failure::Failure;

/// Puts a parse error into words.
pub(super) fn explain(error: &clap::Error, args: &[OsString]) -> Failure {
    let context = |kind| error.get(kind).map(ToString::to_string);
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let flag = name(&argument);
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::InvalidUtf8 => {
            let input = args.iter().find(|a| a.to_str().is_none());
            // Debug shows the bytes that are no text as \xFF.
            let shown = input.map(|a| format!("{a:?}")).unwrap_or_default();
            Failure::new(format!("{shown}: not valid UTF-8"))
        }
        ErrorKind::UnknownArgument => {
            let failure = Failure::new(format!("\"{argument}\": there is no such option or argument"));
            match context(ContextKind::SuggestedArg) {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure.hint("hashtune --help lists the options"),
            }
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let failure = Failure::new(format!("\"{word}\": there is no such subcommand"));
            match context(ContextKind::SuggestedSubcommand) {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure.hint("hashtune --help lists the subcommands"),
            }
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            Failure::new(format!("{flag}: the value is missing; accepted: {argument}"))
        }
        ErrorKind::InvalidValue => {
            let accepted = context(ContextKind::ValidValue).unwrap_or_default();
            let failure = Failure::new(format!("{flag} \"{value}\": not known; accepted: {accepted}"));
            match context(ContextKind::SuggestedValue) {
                Some(near) => failure.hint(format!("write {near}")),
                None => failure,
            }
        }
        ErrorKind::TooManyValues => Failure::new(format!("{flag}: takes no value, but \"{value}\" was given")),
        ErrorKind::ArgumentConflict => {
            let prior = context(ContextKind::PriorArg).unwrap_or_default();
            match context(ContextKind::InvalidSubcommand) {
                // Any word after a flag of the main job: clap does not look further.
                Some(word) => Failure::new(format!("\"{word}\": no subcommand goes with {}", name(&prior)))
                    .hint("a subcommand comes first, then its own options"),
                None => conflict(&argument, &prior),
            }
        }
        ErrorKind::MissingRequiredArgument => {
            Failure::new(format!("{flag} is missing")).hint("one of the options given goes with it: hashtune --help")
        }
        _ => first_line(error),
    }
}

fn conflict(argument: &str, prior: &str) -> Failure {
    let flag = name(argument);
    if argument == prior {
        return Failure::new(format!("{flag}: given more than once")).hint(format!("give {flag} once"));
    }
    Failure::new(format!("{flag} and {}: not together", name(prior)))
}

/// `--mem` of `--mem <SIZE>`.
fn name(argument: &str) -> &str {
    argument.split([' ', '=']).next().unwrap_or_default()
}

/// clap's own first line, for kinds that the definition should never produce.
fn first_line(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    Failure::new(line.trim_start_matches("error: ").trim_end_matches('.')).hint("hashtune --help shows the usage")
}
