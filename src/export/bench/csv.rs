//! CSV (RFC 4180): one line a load, all of its setting's figures beside it, so that a spreadsheet can pivot and filter; then one
//! for each thing of which nothing was measured, so that no line is missed.

use std::io::{self, Write};

use crate::bench::{LeftOut, LoadRecord, Record, SettingRecord, Spread};
use crate::report::Figure;

/// The header. What does not apply to a load is empty.
pub const COLUMNS: [&str; 47] = [
    "name",
    "setting",
    "algorithm",
    "load",
    "what",
    "lanes",
    "in_flight",
    "offered_per_s",
    "runs",
    "hashes",
    "per_s",
    "per_s_lowest",
    "per_s_highest",
    "p50_ms",
    "p50_ms_lowest",
    "p50_ms_highest",
    "p95_ms",
    "p95_ms_lowest",
    "p95_ms_highest",
    "p99_ms",
    "p99_ms_lowest",
    "p99_ms_highest",
    "max_ms",
    "max_ms_lowest",
    "max_ms_highest",
    "cpu_ms",
    "cpu_ms_lowest",
    "cpu_ms_highest",
    "busy_cpus",
    "busy_cpus_lowest",
    "busy_cpus_highest",
    "p95_long_run_ms",
    "p95_long_run_ms_low",
    "p95_long_run_ms_high",
    "late_starts",
    "outliers",
    "ceiling_per_s",
    "ceiling_reached",
    "memory_workers",
    "memory_cost_bytes",
    "expected_bytes",
    "peak_bytes",
    "peak_bytes_lowest",
    "peak_bytes_highest",
    "usable_cpus",
    "left_out",
    "caveats",
];

/// Writes the header, one line a load, and one for each thing that has none.
///
/// # Errors
/// When the writer fails.
pub(super) fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = ::csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for setting in &record.settings {
        for load in setting.loads.iter().chain(&setting.lanes) {
            csv.write_record(line(record, setting, load))?;
        }
    }
    let has_line = |out: &&LeftOut| {
        let of = record.settings.iter().filter(|s| s.name == out.name);
        of.flat_map(|s| s.loads.iter().chain(&s.lanes))
            .any(|l| l.what == out.what)
    };
    for left_out in record.left_out.iter().filter(|out| !has_line(out)) {
        csv.write_record(left_out_line(record, left_out))?;
    }
    csv.flush()
}

fn left_out_line(record: &Record, out: &LeftOut) -> Vec<String> {
    let cell = |column: &&str| match *column {
        "name" => out.name.clone(),
        "what" => out.what.clone(),
        "runs" => record.conditions.runs.saturating_sub(out.runs).to_string(),
        "usable_cpus" => record.host.usable_cpus.get().to_string(),
        "left_out" => reason(out),
        "caveats" => codes(record, &out.name, &out.what),
        _ => String::new(),
    };
    COLUMNS.iter().map(cell).collect()
}

fn reason(out: &LeftOut) -> String {
    format!("{}: {}", out.cause, out.why)
}

/// The codes of the doubts about a load, those about the whole benchmark among them, each once.
fn codes(record: &Record, name: &str, what: &str) -> String {
    let mut codes: Vec<&str> = Vec::new();
    for doubt in record.caveats.iter().filter(|d| d.concerns(name, what)) {
        if !codes.contains(&doubt.code) {
            codes.push(doubt.code);
        }
    }
    codes.join(" ")
}

fn line(record: &Record, setting: &SettingRecord, load: &LoadRecord) -> Vec<String> {
    let mut line = vec![
        setting.name.clone(),
        load.setting.clone(),
        setting.algorithm.clone(),
        load.load.to_owned(),
        load.what.clone(),
        load.lanes.to_string(),
        load.in_flight.to_string(),
        optional(load.offered_per_s.map(Figure::get)),
        load.runs.to_string(),
        load.hashes.to_string(),
    ];
    let spreads = [
        load.per_s,
        load.p50_ms,
        load.p95_ms,
        load.p99_ms,
        load.max_ms,
        load.cpu_ms,
        load.busy_cpus,
    ];
    line.extend(spreads.into_iter().flat_map(three));
    let range = load.p95_long_run_ms;
    line.extend([
        optional(range.map(|r| r.estimate.get())),
        optional(range.map(|r| r.low.get())),
        optional(range.map(|r| r.high.get())),
        load.late_starts.to_string(),
        load.outliers.to_string(),
    ]);
    let ceiling = setting.ceiling.as_ref();
    line.extend([
        optional(ceiling.map(|c| c.per_s.median.get())),
        optional(ceiling.map(|c| c.reached.median.get())),
    ]);
    let memory = setting.memory.as_ref();
    line.extend([
        optional(memory.map(|m| m.workers)),
        setting.memory_cost_bytes.to_string(),
        optional(memory.map(|m| m.expected_bytes)),
    ]);
    line.extend(memory.map_or_else(Default::default, |m| three(m.peak_bytes)));
    let left_out = record
        .left_out
        .iter()
        .find(|out| (&out.name, &out.what) == (&setting.name, &load.what));
    line.extend([
        record.host.usable_cpus.get().to_string(),
        left_out.map(reason).unwrap_or_default(),
        codes(record, &setting.name, &load.what),
    ]);
    line
}

fn three(spread: Spread) -> [String; 3] {
    [spread.median, spread.lowest, spread.highest].map(|figure| figure.get().to_string())
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
