//! JSON: the same record and the same order of keys as the TOML. Lists are always there, empty or not.

use std::io::{self, Write};

use crate::report::Report;

/// Writes the report as indented JSON with a closing newline.
///
/// # Errors
/// When the writer fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}
