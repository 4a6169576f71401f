//! The table of candidates.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, presets};
use hashtune::budget::Budget;
use hashtune::report::Outcome;
use hashtune::setting::Setting;
use hashtune::units::{Bytes, Millis, Short};

use super::escaped;
use super::words::quantile;

/// One candidate, with what is known of it. What is not known is shown as a dash.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// A preset's name, or the setting.
    pub name: String,
    /// The setting.
    pub setting: Setting,
    /// One login on an idle service.
    pub single: Option<Millis>,
    /// The budget's quantile at the peak.
    pub latency: Option<Millis>,
    /// Whether `latency` was predicted, not measured at the peak.
    pub predicted: bool,
    /// Whether the cost of a hash was predicted from other settings, not measured.
    pub modelled: bool,
    /// Most logins a second.
    pub ceiling_per_s: Option<f64>,
    /// With all hashes in flight.
    pub memory: Option<Bytes>,
    /// The attacker's bound.
    pub guesses_per_s: Option<f64>,
    /// What became of it.
    pub verdict: Outcome,
    /// Why, in figures.
    pub reason: String,
}

/// The columns of figures.
const FIRST_FIGURE: usize = 1;
const LAST_FIGURE: usize = 5;
/// From this width on names stay on one line.
const ROOMY: u16 = 100;

const DASH: &str = "-";

/// The table, no wider than `width` where the words allow it (a line a candidate without one), and what its columns mean.
pub(super) fn render(rows: &[Row], budget: &Budget, attacker: &str, width: Option<u16>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header([
            "setting".to_owned(),
            "1 login".to_owned(),
            format!("{} at {}", quantile(budget.quantile), budget.peak),
            "ceiling".to_owned(),
            "memory".to_owned(),
            "guesses/s".to_owned(),
            "verdict".to_owned(),
        ]);
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    for row in rows {
        table.add_row(cells(row));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        let figure = (FIRST_FIGURE..=LAST_FIGURE).contains(&at);
        if figure {
            column.set_cell_alignment(CellAlignment::Right);
        }
        // Figures are never broken over lines; names only where there is no room for them.
        if figure || (at == 0 && width.is_none_or(|w| w >= ROOMY)) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let legend = format!(
        "guesses/s: what {} can try at most\nrank in a family: memory x time counts as well (docs/strength.md)",
        escaped(attacker)
    );
    let mut text = format!("{}\n{legend}", table.trim_fmt());
    if rows
        .iter()
        .any(|row| row.modelled || (row.predicted && row.latency.is_some()))
    {
        text.push_str("\n~ predicted, not measured");
    }
    text
}

fn cells(row: &Row) -> [String; 7] {
    let or_dash = |shown: Option<String>| shown.unwrap_or_else(|| DASH.to_owned());
    let mark = |predicted: bool| if predicted { "~" } else { "" };
    let (about, cost) = (mark(row.predicted), mark(row.modelled));
    [
        escaped(&row.name),
        or_dash(row.single.map(|ms| format!("{cost}{ms}"))),
        or_dash(row.latency.map(|ms| format!("{about}{ms}"))),
        or_dash(row.ceiling_per_s.map(|rate| format!("{cost}{}/s", Short(rate)))),
        or_dash(row.memory.map(|bytes| bytes.to_string())),
        or_dash(row.guesses_per_s.map(|rate| Short(rate).to_string())),
        if row.reason.is_empty() {
            row.verdict.name().to_owned()
        } else {
            format!("{}: {}", row.verdict.name(), escaped(&row.reason))
        },
    ]
}
