//! A benchmark's record as tables, JSON or CSV.

mod csv;
mod text;

use std::io::{self, Write};

pub use csv::COLUMNS;

use crate::bench::Record;

/// The text forms of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Tables for people.
    #[default]
    Text,
    /// The record as it is.
    Json,
    /// One line a load.
    Csv,
}

impl Format {
    /// Writes the record in this form.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(self, record: &Record, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Text => text::write(record, out),
            Self::Json => {
                serde_json::to_writer_pretty(&mut *out, record)?;
                writeln!(out)
            }
            Self::Csv => csv::write(record, out),
        }
    }
}
