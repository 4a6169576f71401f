//! The program itself, run as its users run it.

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use hashtune::setting::Setting;
use serde_json::Value;

/// The README's budgets.
pub const BUDGETS: &str = "--budget-ms 250 --peak 20/s --mem 1GiB";

/// What one run of the main job said.
pub struct Answer {
    /// `None` when it recommended nothing.
    pub pick: Option<Pick>,
    /// Seconds from start to exit.
    pub seconds: f64,
    /// The codes of its caveats; without a pick what it said instead.
    pub remarks: String,
}

pub struct Pick {
    pub setting: Setting,
    /// CPU ms of a hash at the peak.
    pub cpu_ms: f64,
    /// Measured quantile and the upper end of its interval.
    pub latency_ms: (f64, f64),
}

/// Runs `hashtune` with these arguments.
pub fn recommend(args: &str) -> Result<Answer, Box<dyn Error>> {
    let began = Instant::now();
    let run = Command::new(env!("CARGO_BIN_EXE_hashtune"))
        .args(args.split_whitespace())
        .args(["--format", "json", "--quiet"])
        .output()?;
    let seconds = began.elapsed().as_secs_f64();
    if !run.status.success() {
        let said = String::from_utf8_lossy(&run.stderr);
        // After the doubts: what is wrong, and the first thing that would help.
        let from_error = said.lines().skip_while(|l| !l.starts_with("error:")).take(2);
        let remarks = from_error.collect::<Vec<_>>().join("; ");
        let pick = None;
        return Ok(Answer { pick, seconds, remarks });
    }
    let report: Value = serde_json::from_slice(&run.stdout)?;
    let pick = Some(pick(&report)?);
    let caveats = report.pointer("/caveat").and_then(Value::as_array);
    let codes = caveats.into_iter().flatten().filter_map(|c| c.get("code")?.as_str());
    // Every run has these.
    let codes = codes.filter(|c| !c.ends_with("-assumed") && *c != "library-cost");
    let remarks = codes.collect::<Vec<_>>().join(" ");
    Ok(Answer { pick, seconds, remarks })
}

fn pick(report: &Value) -> Result<Pick, Box<dyn Error>> {
    let at = |pointer: &str| report.pointer(pointer).ok_or(format!("the report has no {pointer}"));
    let number = |pointer: &str| at(pointer)?.as_f64().ok_or(format!("{pointer} is no number"));
    let text = |pointer: &str| {
        at(pointer)?
            .as_str()
            .ok_or(format!("{pointer} is no text"))
            .map(str::to_owned)
    };
    let algorithm = text("/hash/algorithm")?;
    let setting = match algorithm.as_str() {
        "argon2id" => format!(
            "argon2id:m={},t={},p={}",
            number("/hash/memory_kib")?,
            number("/hash/time_cost")?,
            number("/hash/parallelism")?
        ),
        "bcrypt" => format!("bcrypt:{}", number("/hash/cost")?),
        other => return Err(format!("{other} was not asked for").into()),
    };
    Ok(Pick {
        setting: setting.parse()?,
        cpu_ms: number("/measured/cpu_ms")?,
        latency_ms: (number("/measured/latency_ms")?, number("/measured/latency_ms_high")?),
    })
}
