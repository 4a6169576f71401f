//! What is recommended over a range of budgets, on a machine of formulas: the table of `docs/recommendations.md`, which this test holds.

mod common;

use std::fs;
use std::path::Path;
use std::thread;

use common::{World, budget, request, two_cpus};
use hashtune::measure::Silent;
use hashtune::recommend::{Answer, Basis, recommend};
use hashtune::setting::Setting;
use hashtune::units::Millis;

const PEAKS: [f64; 4] = [1.0, 5.0, 20.0, 100.0];
const MEMORY_MIB: [u64; 4] = [64, 256, 1024, 4096];
const LATENCY_MS: [f64; 4] = [50.0, 100.0, 250.0, 1000.0];

/// Two CPUs about as fast as those of `docs/accuracy.md`.
fn world() -> World {
    World {
        fill: 0.75e-6,
        fault: 0.25e-6,
        bcrypt: 64e-6,
        alone: 0.9,
        ..World::new(two_cpus(), Millis(0.0))
    }
}

/// `26 MiB t=3 p=1, x2.6`: the setting and its strength over the family's minimum; `~` where the peak is simulated.
fn cell(latency_ms: f64, peak: f64, memory_mib: u64) -> String {
    let mut asked = request(budget(latency_ms, peak, memory_mib, None), two_cpus());
    asked.time_limit_s = 300.0;
    let outcome = recommend(&asked, &mut world(), &mut Silent).unwrap();
    match outcome.answer {
        Answer::Fits(pick) => {
            let setting = match pick.setting {
                Setting::Argon2id(a) => {
                    let mib = f64::from(a.memory_kib()) / 1024.0;
                    format!("{mib} MiB t={} p={}", a.time_cost(), a.lanes())
                }
                other => other.to_string(),
            };
            let simulated = if pick.evidence.basis == Basis::Simulated {
                "~"
            } else {
                ""
            };
            format!("{simulated}{setting}, x{:.1}", pick.floor_ratio)
        }
        Answer::Nothing(remedies) => {
            let first = remedies
                .first()
                .map_or("nothing", |r| r.changes.first().map_or("", |c| c.name()));
            format!("none: {first}")
        }
        Answer::Undecided { why, .. } => panic!("{latency_ms} ms, {peak}/s, {memory_mib} MiB: {why}"),
    }
}

fn table() -> String {
    let mut rows = vec![
        format!(
            "| peak | memory | {} |",
            LATENCY_MS.map(|ms| format!("{ms} ms")).join(" | ")
        ),
        format!("|---|---|{}", "---|".repeat(LATENCY_MS.len())),
    ];
    for peak in PEAKS {
        thread::scope(|scope| {
            let of_memory =
                MEMORY_MIB.map(|mib| scope.spawn(move || LATENCY_MS.map(|ms| cell(ms, peak, mib)).join(" | ")));
            for (mib, cells) in MEMORY_MIB.into_iter().zip(of_memory) {
                rows.push(format!("| {peak}/s | {mib} MiB | {} |", cells.join().unwrap()));
            }
        });
    }
    rows.join("\n")
}

/// Written anew with `HASHTUNE_UPDATE=1 cargo test --test recommendation_table`.
#[test]
fn the_documents_table_is_what_the_search_answers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recommendations.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- table -->\n").expect("a place for the table");
    let (known, after) = rest.split_once("\n<!-- end -->").expect("the table's end");
    let table = table();
    if std::env::var_os("HASHTUNE_UPDATE").is_some() {
        fs::write(&path, format!("{before}<!-- table -->\n{table}\n<!-- end -->{after}")).unwrap();
    } else {
        assert_eq!(known, table);
    }
}
