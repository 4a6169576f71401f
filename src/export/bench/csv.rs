//! CSV (RFC 4180): one line a load, all of its setting's figures beside it, so that a spreadsheet can pivot and filter.

use std::io::{self, Write};

use crate::bench::{LoadRecord, Record, SettingRecord, Spread};
use crate::report::Figure;

/// The header. What does not apply to a load is empty.
pub const COLUMNS: [&str; 43] = [
    "name",
    "setting",
    "algorithm",
    "load",
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
    "ceiling_per_s",
    "ceiling_reached",
    "memory_workers",
    "memory_cost_bytes",
    "expected_bytes",
    "peak_bytes",
    "peak_bytes_lowest",
    "peak_bytes_highest",
    "usable_cpus",
];

/// Writes the header and one line a load.
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
    csv.flush()
}

fn line(record: &Record, setting: &SettingRecord, load: &LoadRecord) -> Vec<String> {
    let mut line = vec![
        setting.name.clone(),
        load.setting.clone(),
        setting.algorithm.clone(),
        load.load.to_owned(),
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
    line.push(record.host.usable_cpus.get().to_string());
    line
}

fn three(spread: Spread) -> [String; 3] {
    [spread.median, spread.lowest, spread.highest].map(|figure| figure.get().to_string())
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
