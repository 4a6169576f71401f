//! Why this setting, and how it compares with the one in use.

use comfy_table::{CellAlignment, Table, presets};
use hashtune::recommend::{Explanation, NextStep, Recommendation, WhatIf, together};
use hashtune::report::Limit;
use hashtune::setting::Setting;
use hashtune::strength::{at_or_above_floor, floor_ratio, minimum};
use hashtune::units::{Bytes, Short};

use super::Row;
use super::words::binding;

/// What binds, how far above the floor it is, the price of the next step, and a table of other budgets.
pub(super) fn explanation(pick: &Recommendation, why: &Explanation) -> Vec<String> {
    let setting = &pick.setting;
    let minimum = minimum(setting.algorithm());
    let place = if at_or_above_floor(setting) { "above" } else { "BELOW" };
    let mut lines = vec![
        format!(
            "why not stronger: {}",
            binding(pick.binding.map_or(Limit::None, Limit::from))
        ),
        format!(
            "floor: {place} it, at {} times the strength of {minimum}, OWASP's minimum",
            Short(pick.floor_ratio)
        ),
    ];
    lines.extend(why.next.as_ref().map(|next| next_step(setting, next)));
    let mut table = table(["if instead", "strongest that should fit", "memory", "strength"]);
    for row in &why.what_if {
        let memory = row.setting.map_or_else(|| "-".to_owned(), |s| memory(&s));
        let strength = format!("x {}", Short(row.strength));
        table.add_row([row.change.clone(), strongest(row), memory, strength]);
    }
    lines.push(format!(
        "{}\npredicted from this run's measurements; memory is that of one hash; strength is by rank, 1 is the recommendation's",
        table.trim_fmt()
    ));
    lines
}

/// `next step: 64 MiB instead of 46 MiB (argon2id:...) needs 0.7 more CPUs (2.7 in all), or --budget-ms 290 instead of 250`.
fn next_step(now: &Setting, next: &NextStep) -> String {
    let size = |s: &Setting| match s {
        Setting::Argon2id(_) | Setting::Scrypt(_) => s.memory_cost().to_string(),
        Setting::Bcrypt(b) => format!("cost {}", b.cost()),
        Setting::Pbkdf2(p) => format!("{} iterations", p.iterations()),
    };
    let price = match next.ways.as_deref() {
        Some([]) => "may fit by prediction: the measurement, or the memory that is free here, kept it out".to_owned(),
        None => "needs more than any one machine has".to_owned(),
        Some(ways) => format!("needs {}", ways.iter().map(together).collect::<Vec<_>>().join(", or ")),
    };
    format!(
        "next step: {} instead of {} ({}) {price}",
        size(&next.setting),
        size(now),
        next.setting
    )
}

/// One hash's, in MiB where the setting says KiB.
fn memory(setting: &Setting) -> String {
    match setting.memory_cost() {
        Bytes(0) => "-".to_owned(),
        bytes => bytes.to_string(),
    }
}

fn strongest(row: &WhatIf) -> String {
    row.setting
        .map_or_else(|| "none at or above the floor".to_owned(), |s| s.to_string())
}

/// One line a figure, the setting in use first.
pub(super) fn comparison(now: &Row, then: &Row) -> String {
    let mut table = table(["", "current", "recommended"]);
    let dash = || "-".to_owned();
    let both =
        |figure: &dyn Fn(&Row) -> Option<String>| [figure(now).unwrap_or_else(dash), figure(then).unwrap_or_else(dash)];
    let rows: [(&str, [String; 2]); 9] = [
        ("setting", both(&|r| Some(r.setting.to_string()))),
        ("memory of a hash", both(&|r| Some(memory(&r.setting)))),
        (
            "floor of its family",
            both(&|r| {
                Some(
                    if at_or_above_floor(&r.setting) {
                        "reached"
                    } else {
                        "BELOW"
                    }
                    .to_owned(),
                )
            }),
        ),
        (
            "times the family's minimum",
            both(&|r| Some(Short(floor_ratio(&r.setting)).to_string())),
        ),
        ("guesses/s", both(&|r| r.guesses_per_s.map(|g| Short(g).to_string()))),
        ("1 login", both(&|r| r.single.map(|ms| ms.to_string()))),
        (
            "latency at the peak",
            both(&|r| {
                r.latency
                    .map(|ms| format!("{}{ms}", if r.predicted { "~" } else { "" }))
            }),
        ),
        ("ceiling", both(&|r| r.ceiling_per_s.map(|c| format!("{}/s", Short(c))))),
        ("memory in flight", both(&|r| r.memory.map(|m| m.to_string()))),
    ];
    for (name, [a, b]) in rows {
        table.add_row([name.to_owned(), a, b]);
    }
    table.trim_fmt()
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
