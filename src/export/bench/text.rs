//! Tables for people, in the shape of the published measurements that they repeat.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::bench::{LoadRecord, Memory, Record, SettingRecord, Spread};
use crate::units::{Bytes, Short};

/// What was not measured.
const DASH: &str = "-";

/// Writes a table for each kind of load that was measured, and what the figures mean.
///
/// # Errors
/// When the writer fails.
pub(super) fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let tables = [settings(record), closed(record), open(record), lanes(record)];
    for (title, table) in tables.into_iter().flatten() {
        writeln!(out, "{title}\n{}\n", table.trim_fmt())?;
    }
    for left_out in &record.left_out {
        let runs = match left_out.runs {
            n if n < record.conditions.runs => format!(" ({n} of {} runs)", record.conditions.runs),
            _ => String::new(),
        };
        let (name, what) = (&left_out.name, &left_out.what);
        writeln!(out, "left out: {name}, {what}{runs}: {}", left_out.why)?;
    }
    notes(record, out)
}

fn notes(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let (conditions, host) = (&record.conditions, &record.host);
    let rows = || record.settings.iter().flat_map(|s| s.loads.iter().chain(&s.lanes));
    let hashes: u64 = rows().map(|l| l.hashes).sum();
    let runs = if conditions.runs == 1 {
        "1 run".to_owned()
    } else {
        format!("{} runs; median of the runs [lowest, highest]", conditions.runs)
    };
    writeln!(out, "{hashes} hashes in {runs}")?;
    let outliers: u64 = rows().map(|l| l.outliers).sum();
    writeln!(
        out,
        "none is left out: max is the slowest of a run, however far from the others\n\
         {outliers} hashes took less than half or more than twice their run's usual CPU time"
    )?;
    writeln!(
        out,
        "{} usable CPUs, {}, engine {}, {} pages; CPU a login includes {} ms for the rest of a login",
        Short(host.usable_cpus.get()),
        host.cpu_model,
        conditions.engine,
        crate::engine::Pages::from(conditions.pages),
        Short(conditions.app_cpu_ms.get()),
    )
}

type Titled = (String, Table);

fn table(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table
}

/// Names to the left, figures to the right. The table, if it has rows.
fn finished(title: impl Into<String>, mut table: Table) -> Option<Titled> {
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    (!table.is_empty()).then(|| (title.into(), table))
}

/// One line a setting: alone, at once, memory, CPU and ceiling.
fn settings(record: &Record) -> Option<Titled> {
    let mut bursts: Vec<u32> = Vec::new();
    for load in record.settings.iter().flat_map(|s| &s.loads) {
        if load.load == "burst" && !bursts.contains(&load.in_flight) {
            bursts.push(load.in_flight);
        }
    }
    let workers = record.conditions.workers;
    let mut header: Vec<String> = ["setting".into(), "alone, ms".into()].into();
    header.extend(bursts.iter().map(|n| format!("{n} at once, ms")));
    header.extend([
        format!("peak memory, {workers} workers"),
        format!("{workers} x memory_cost"),
        "CPU a login, ms".into(),
        "ceiling/s".into(),
        "reached, %".into(),
    ]);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for setting in record.settings.iter().filter(|s| !s.loads.is_empty()) {
        let median = |load: &str, n: u32| {
            let found = setting.loads.iter().find(|l| l.load == load && l.in_flight == n);
            found.map_or_else(|| DASH.into(), |l| spread(&l.p50_ms, 1.0))
        };
        let mut row = vec![label(setting), median("single", 1)];
        row.extend(bursts.iter().map(|n| median("burst", *n)));
        row.extend(setting.memory.as_ref().map_or([DASH.into(), DASH.into()], memory));
        let ceiling = setting.ceiling.as_ref();
        let or_dash = |shown: Option<String>| shown.unwrap_or_else(|| DASH.into());
        row.extend([
            or_dash(ceiling.map(|c| spread(&c.cpu_ms, 1.0))),
            or_dash(ceiling.map(|c| spread(&c.per_s, 1.0))),
            or_dash(ceiling.map(|c| spread(&c.reached, 100.0))),
        ]);
        rows.push(row);
    }
    finished(
        "per setting: latency is the median login's; ceiling is CPUs / CPU a login, where most logins were served",
        known(&header, &rows),
    )
}

/// The table without the columns of which nothing is known.
fn known(header: &[String], rows: &[Vec<String>]) -> Table {
    let kept: Vec<usize> = (0..header.len())
        .filter(|at| rows.iter().any(|row| row[*at] != DASH))
        .collect();
    let only = |cells: &[String]| -> Vec<String> { kept.iter().map(|at| cells[*at].clone()).collect() };
    let mut table = table(only(header));
    for row in rows {
        table.add_row(only(row));
    }
    table
}

fn label(setting: &SettingRecord) -> String {
    if setting.name == setting.setting {
        return setting.name.clone();
    }
    format!("{} ({})", setting.name, setting.setting)
}

fn memory(memory: &Memory) -> [String; 2] {
    let peak = spread(&memory.peak_bytes, 1.0 / f64::from(1 << 20));
    [format!("{peak} MiB"), Bytes(memory.expected_bytes).to_string()]
}

/// Sustained logins a second and their latency at each number of clients.
fn closed(record: &Record) -> Option<Titled> {
    let header = [
        "setting",
        "clients",
        "logins/s",
        "p50, ms",
        "p95, ms",
        "max, ms",
        "CPUs busy",
    ];
    let mut table = table(header.map(String::from).into());
    for (setting, load) in rows(record, "closed") {
        table.add_row([
            setting.name.clone(),
            load.in_flight.to_string(),
            spread(&load.per_s, 1.0),
            spread(&load.p50_ms, 1.0),
            spread(&load.p95_ms, 1.0),
            spread(&load.max_ms, 1.0),
            spread(&load.busy_cpus, 1.0),
        ]);
    }
    finished(
        "closed loop: each client starts its next login when its last one ends",
        table,
    )
}

/// Latency at each offered rate.
fn open(record: &Record) -> Option<Titled> {
    let header = [
        "setting",
        "offered/s",
        "served/s",
        "p50, ms",
        "p95, ms",
        "long-run p95, ms",
        "p99, ms",
        "max, ms",
        "CPU, ms",
        "late",
    ];
    let mut table = table(header.map(String::from).into());
    for (setting, load) in rows(record, "open") {
        let long_run = load.p95_long_run_ms.map(|r| {
            let [estimate, low, high] = [r.estimate, r.low, r.high].map(|f| Short(f.get()));
            format!("{estimate} ({low} to {high})")
        });
        table.add_row([
            setting.name.clone(),
            load.offered_per_s
                .map_or_else(|| DASH.into(), |r| Short(r.get()).to_string()),
            spread(&load.per_s, 1.0),
            spread(&load.p50_ms, 1.0),
            spread(&load.p95_ms, 1.0),
            long_run.unwrap_or_else(|| "does not settle".into()),
            spread(&load.p99_ms, 1.0),
            spread(&load.max_ms, 1.0),
            spread(&load.cpu_ms, 1.0),
            load.late_starts.to_string(),
        ]);
    }
    let title = format!(
        "open loop: random arrivals, {} workers, latency from the arrival on",
        record.conditions.workers
    );
    finished(title, table)
}

/// Wall and CPU time by lanes.
fn lanes(record: &Record) -> Option<Titled> {
    let header = ["setting", "lanes", "wall, ms", "CPU, ms", "CPUs busy"];
    let mut table = table(header.map(String::from).into());
    for setting in &record.settings {
        for load in &setting.lanes {
            table.add_row([
                setting.name.clone(),
                load.lanes.to_string(),
                spread(&load.p50_ms, 1.0),
                spread(&load.cpu_ms, 1.0),
                spread(&load.busy_cpus, 1.0),
            ]);
        }
    }
    let title = format!(
        "lanes, alone on {} usable CPUs: more lanes use more CPUs at once, not less CPU time",
        Short(record.host.usable_cpus.get())
    );
    finished(title, table)
}

fn rows<'a>(record: &'a Record, load: &'static str) -> impl Iterator<Item = (&'a SettingRecord, &'a LoadRecord)> {
    let of = move |setting: &'a SettingRecord| {
        let loads = setting.loads.iter().filter(move |l| l.load == load);
        loads.map(move |l| (setting, l))
    };
    record.settings.iter().flat_map(of)
}

/// `105 [103, 110]`, or one figure where all are alike.
fn spread(spread: &Spread, scale: f64) -> String {
    let [median, lowest, highest] =
        [spread.median, spread.lowest, spread.highest].map(|figure| Short(figure.get() * scale).to_string());
    if lowest == highest {
        return median;
    }
    format!("{median} [{lowest}, {highest}]")
}
