//! Why this setting, and how it compares with the one in use.

use comfy_table::{CellAlignment, Table, presets};
use hashtune::recommend::{Explanation, WhatIf};
use hashtune::setting::Setting;
use hashtune::strength::floor_ratio;
use hashtune::units::Short;

use super::Row;

/// Lines: the price of the next step, then a table of other budgets.
pub(super) fn explanation(setting: &Setting, why: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(next) = &why.next {
        let price = if next.price.is_empty() {
            "nothing more: it may fit".to_owned()
        } else {
            next.price.join(", and ")
        };
        lines.push(format!(
            "next step: {} instead of {setting} needs {price}",
            next.setting
        ));
    }
    let mut table = table(["if instead", "strongest that should fit", "strength"]);
    for row in &why.what_if {
        table.add_row([row.change.clone(), strongest(row), format!("x {}", Short(row.strength))]);
    }
    lines.push(format!(
        "{}\npredicted from this run's measurements; strength is by rank, 1 is the recommendation's",
        table.trim_fmt()
    ));
    lines
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
    let rows: [(&str, [String; 2]); 7] = [
        ("setting", both(&|r| Some(r.setting.to_string()))),
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

fn table(header: [&str; 3]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
