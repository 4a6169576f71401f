//! Why this setting, and how it compares with the one in use.

use comfy_table::{CellAlignment, Table, presets};
use hashtune::recommend::{Explanation, NextStep, Recommendation, WhatIf, together};
use hashtune::report::Limit;
use hashtune::setting::Setting;
use hashtune::strength::{at_or_above_floor, floor_ratio, minimum};
use hashtune::units::{Bytes, Short};

use super::words::binding;
use super::{Row, escaped};

/// What binds, how far above the floor it is, the price of the next step, and a table of other budgets.
pub(super) fn explanation(pick: &Recommendation, why: &Explanation) -> Vec<String> {
    let setting = &pick.setting;
    let minimum = minimum(setting.algorithm());
    let mut lines = vec![
        format!(
            "why not stronger: {}",
            binding(pick.binding.map_or(Limit::None, Limit::from))
        ),
        format!(
            "floor: {}, at {} times the strength of {minimum}, OWASP's minimum",
            floor(setting),
            Short(pick.floor_ratio)
        ),
    ];
    lines.extend(why.next.as_ref().map(|next| next_step(setting, next)));
    let mut table = table(["if instead", "strongest that should fit", "memory", "strength"]);
    for row in &why.what_if {
        let memory = row.setting.map_or_else(|| "-".to_owned(), |s| memory(&s));
        let strength = row
            .strength
            .map_or_else(|| "-".to_owned(), |s| format!("x {}", Short(s)));
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

fn floor(setting: &Setting) -> &'static str {
    if at_or_above_floor(setting) {
        "reached"
    } else {
        "NOT reached"
    }
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
    let rows: [(&str, [String; 2]); 10] = [
        ("setting", both(&|r| Some(r.setting.to_string()))),
        ("memory of a hash", both(&|r| Some(memory(&r.setting)))),
        ("floor of its family", both(&|r| Some(floor(&r.setting).to_owned()))),
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
        ("verdict", both(&|r| Some(r.verdict.name().to_owned()))),
    ];
    for (name, [a, b]) in rows {
        table.add_row([name.to_owned(), a, b]);
    }
    format!(
        "{}\ncurrent {}: {}",
        table.trim_fmt(),
        now.verdict.name(),
        escaped(&now.reason)
    )
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use hashtune::recommend::{Basis, Change, Evidence, WhatIf};
    use hashtune::report::Outcome;
    use hashtune::units::Millis;
    use hashtune::verdict::{self, Ceiling, Cost};

    use super::*;

    fn pick(setting: &str) -> Recommendation {
        let setting: Setting = setting.parse().unwrap();
        let cost = Cost {
            loaded_s: 0.07,
            alone_ratio: 0.9,
            lanes: 1.0,
        };
        Recommendation {
            setting,
            max_in_flight: 2,
            max_queued: 5,
            evidence: Evidence {
                basis: Basis::Measured,
                rate_per_s: 20.0,
                latency: hashtune::queue::Interval {
                    estimate: 0.2,
                    low: 0.19,
                    high: 0.21,
                },
                single_s: 0.063,
                cost,
                ceiling: Ceiling::new(&cost, 2.0, 2, 0.0),
                peak_memory: hashtune::measure::PeakMemory::default(),
                arrivals: 200,
                seconds: 10.0,
                refused: 0,
            },
            guesses_per_s: 4000.0,
            floor_ratio: floor_ratio(&setting),
            binding: Some(verdict::Limit::Latency),
            next: None,
            runner_up: None,
        }
    }

    #[test]
    fn the_account_is_short_and_can_be_acted_on() {
        let cpus = Change::Cpus { from: 2.0, to: 2.7 };
        let latency = Change::Latency {
            from: Millis(250.0),
            to: Millis(290.0),
        };
        let memory = Change::Memory {
            from: Bytes(1 << 30),
            to: Bytes(1100 << 20),
        };
        let next = |setting: &str, ways| {
            Some(NextStep {
                setting: setting.parse().unwrap(),
                ways,
            })
        };
        let row = |change: &str, setting: Option<&str>, strength| WhatIf {
            change: change.to_owned(),
            setting: setting.map(|s| s.parse().unwrap()),
            strength,
        };
        let why = Explanation {
            next: next("argon2id:m=65536,t=1,p=1", Some(vec![vec![cpus], vec![latency]])),
            what_if: vec![
                row("--mem 48282MiB", Some("argon2id:m=65536,t=1,p=1"), Some(1.64)),
                row("1 CPU", None, None),
            ],
        };
        insta::assert_snapshot!(
            "explanation",
            explanation(&pick("argon2id:m=47104,t=1,p=1"), &why).join("\n")
        );
        let step = |next: Option<NextStep>, now: &str| next_step(&now.parse().unwrap(), &next.unwrap());
        assert_eq!(
            step(next("bcrypt:12", Some(vec![vec![cpus, memory]])), "bcrypt:11"),
            "next step: cost 12 instead of cost 11 (bcrypt:12) needs 0.7 more CPUs (2.7 in all) and --mem 1100MiB instead of 1 GiB"
        );
        let may_fit = step(next("bcrypt:12", Some(Vec::new())), "bcrypt:11");
        assert!(may_fit.contains("may fit by prediction"), "{may_fit}");
        assert!(step(next("bcrypt:31", None), "bcrypt:30").contains("more than any one machine has"));
    }

    #[test]
    fn what_was_not_run_says_why_in_the_comparison() {
        let row = |setting: &str, verdict, reason: &str| Row {
            name: "x".into(),
            setting: setting.parse().unwrap(),
            single: Some(Millis(44.0)),
            latency: Some(Millis(131.2)),
            predicted: false,
            modelled: false,
            ceiling_per_s: Some(44.6),
            memory: Some(Bytes(184 << 20)),
            guesses_per_s: Some(4096.0),
            verdict,
            reason: reason.into(),
        };
        let now = Row {
            single: None,
            latency: None,
            ceiling_per_s: None,
            memory: None,
            ..row(
                "argon2id:m=16384,t=1,p=1",
                Outcome::Skipped,
                "not run: 1 in flight holds 16.1 MiB, over the 7.2 MiB of --mem less headroom",
            )
        };
        let then = row("bcrypt:10", Outcome::Fits, "measured within every limit");
        insta::assert_snapshot!("comparison", comparison(&now, &then));
    }
}
