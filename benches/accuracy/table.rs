//! What is recommended over a range of budgets: the table of `docs/recommendations.md`.

use std::error::Error;

use hashtune::setting::Setting;

use crate::common::spread;
use crate::job::{self, Answer};

const PEAKS: [&str; 4] = ["1/s", "5/s", "20/s", "100/s"];
const MEMORY: [&str; 4] = ["64MiB", "256MiB", "1GiB", "4GiB"];
const LATENCY_MS: [u32; 3] = [50, 250, 1000];

pub fn run() -> Result<(), Box<dyn Error>> {
    println!("\nhashtune --quick --budget-ms B --peak P --mem M\n");
    println!(
        "| peak | memory | {} |",
        LATENCY_MS.map(|ms| format!("{ms} ms")).join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(LATENCY_MS.len()));
    let (mut notes, mut seconds) = (Vec::new(), Vec::new());
    for peak in PEAKS {
        for memory in MEMORY {
            let mut cells = Vec::new();
            for ms in LATENCY_MS {
                let args = format!("--quick --budget-ms {ms} --peak {peak} --mem {memory}");
                let answer = job::recommend(&args)?;
                cells.push(cell(&answer));
                seconds.push(answer.seconds);
                if answer.pick.is_none() {
                    notes.push(format!("{peak}, {memory}, {ms} ms: {}", answer.remarks));
                }
            }
            println!("| {peak} | {memory} | {} |", cells.join(" | "));
        }
    }
    println!("\n{}", notes.join("\n"));
    println!("seconds of a run: {}", spread(&seconds));
    Ok(())
}

/// `46 MiB t=1 p=1, x1.7`: the setting and its strength over the family's minimum; `~` where the peak was simulated.
fn cell(answer: &Answer) -> String {
    let Some(pick) = &answer.pick else {
        return "-".into();
    };
    let setting = match pick.setting {
        Setting::Argon2id(a) => {
            let mib = f64::from(a.memory_kib()) / 1024.0;
            format!("{mib} MiB t={} p={}", a.time_cost(), a.lanes())
        }
        other => other.to_string(),
    };
    let simulated = if pick.basis == "simulated" { "~" } else { "" };
    format!("{simulated}{setting}, x{:.1}", pick.floor_ratio)
}
