//! TOML: the file to deploy. The record goes through the library, which escapes it; comments are added afterwards.

use std::io::{self, Write};

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::report::Report;
use crate::units::Bytes;

/// What stands beside a key.
enum Comment {
    /// These words.
    Text(&'static str),
    /// The value, a number of KiB, in the largest unit.
    Kib,
}

/// Table, key and comment. Without a key it stands beside the table's name.
const COMMENTS: [(&str, &str, Comment); 14] = [
    ("hash", "memory_kib", Comment::Kib),
    ("pool", "max_in_flight", Comment::Text("hashes running at once")),
    (
        "pool",
        "max_queued",
        Comment::Text("waiting; beyond it answer 429/503 at once"),
    ),
    ("budget", "", Comment::Text("what was asked")),
    ("measured", "", Comment::Text("at the peak, open loop")),
    (
        "measured",
        "pages",
        Comment::Text("what was assumed of memory: deployed, fresh, huge, reused"),
    ),
    (
        "measured",
        "basis",
        Comment::Text("measured, or simulated (low peaks, with a caveat)"),
    ),
    (
        "measured",
        "rate_per_s",
        Comment::Text("the rate that was offered, or simulated"),
    ),
    ("measured", "cpu_ms", Comment::Text("CPU time of one hash, under load")),
    (
        "measured",
        "ceiling_per_s",
        Comment::Text("most logins a second that the CPUs can serve"),
    ),
    (
        "strength",
        "guesses_per_s",
        Comment::Text("the attacker's bound; lower is stronger"),
    ),
    (
        "strength",
        "floor_ratio",
        Comment::Text("rank of the family's minimum / rank of this one; above 1 is stronger"),
    ),
    ("host", "usable_cpus", Comment::Text("a fraction, never rounded")),
    ("binding", "limit", Comment::Text("latency, peak, memory or none")),
];

/// Comments start in this column where the value leaves room.
const COMMENT_COLUMN: usize = 27;

/// Writes the report with comments.
///
/// # Errors
/// When the writer fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let plain = toml::to_string(report).map_err(io::Error::other)?;
    let mut document: DocumentMut = plain.parse().map_err(io::Error::other)?;
    // An empty list would be a value at the top, before the tables, and the order is promised.
    document.retain(|_, item| !item.as_array().is_some_and(toml_edit::Array::is_empty));
    for (name, key, comment) in &COMMENTS {
        let Some(table) = document.get_mut(name).and_then(Item::as_table_mut) else {
            continue;
        };
        match table.get_mut(key).and_then(Item::as_value_mut) {
            Some(value) => annotate(key, value, comment),
            None if key.is_empty() => annotate_header(name, table, comment),
            // Each family has its own keys.
            None => {}
        }
    }
    write!(out, "{document}")
}

/// Reads a report again.
///
/// # Errors
/// When it is no TOML, or not this record.
pub fn read(text: &str) -> Result<Report, toml::de::Error> {
    toml::from_str(text)
}

fn annotate(key: &str, value: &mut Value, comment: &Comment) {
    let words = match comment {
        Comment::Text(words) => (*words).to_owned(),
        Comment::Kib => {
            let kib = value.as_integer().and_then(|kib| u64::try_from(kib).ok());
            Bytes::from_kib(kib.unwrap_or_default()).to_string()
        }
    };
    let shown = format!("{key} = {}", value.to_string().trim());
    value.decor_mut().set_suffix(beside(&shown, &words));
}

fn annotate_header(name: &str, table: &mut Table, comment: &Comment) {
    if let Comment::Text(words) = comment {
        table.decor_mut().set_suffix(beside(&format!("[{name}]"), words));
    }
}

fn beside(shown: &str, words: &str) -> String {
    let padding = COMMENT_COLUMN.saturating_sub(shown.chars().count()).max(1);
    format!("{:padding$}# {words}", "")
}
