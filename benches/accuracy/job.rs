//! The program itself, run as its users run it.

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use hashtune::setting::Setting;
use serde_json::Value;

/// The README's budgets.
pub const BUDGETS: [&str; 6] = ["--budget-ms", "250", "--peak", "20/s", "--mem", "1GiB"];

/// What one run of the main job said.
pub struct Answer {
    /// `None` when it recommended nothing.
    pub pick: Option<Pick>,
    /// Seconds from start to exit.
    pub seconds: f64,
    /// Codes of its caveats; in place of an answer what it said instead.
    pub remarks: String,
}

pub struct Pick {
    pub setting: Setting,
    /// CPU ms of a hash at the peak.
    pub cpu_ms: f64,
    /// Measured quantile and the upper end of its interval.
    pub latency_ms: (f64, f64),
}

/// Runs `hashtune` with the README's budgets and `more` arguments.
pub fn recommend(more: &[&str]) -> Result<Answer, Box<dyn Error>> {
    let began = Instant::now();
    let run = Command::new(env!("CARGO_BIN_EXE_hashtune"))
        .args(BUDGETS)
        .args(more)
        .args(["--format", "json", "--quiet"])
        .output()?;
    let seconds = began.elapsed().as_secs_f64();
    if !run.status.success() {
        let said = String::from_utf8_lossy(&run.stderr);
        let error = said.lines().find(|l| l.starts_with("error:")).unwrap_or("no answer");
        let (pick, remarks) = (None, error.to_owned());
        return Ok(Answer { pick, seconds, remarks });
    }
    let report: Value = serde_json::from_slice(&run.stdout)?;
    let at = |pointer: &str| {
        report
            .pointer(pointer)
            .and_then(Value::as_f64)
            .ok_or(format!("no {pointer}"))
    };
    let hash = report.pointer("/hash").ok_or("no hash")?;
    let pick = Pick {
        setting: setting_of(hash)?,
        cpu_ms: at("/evidence/cpu_ms")?,
        latency_ms: (at("/evidence/latency_ms")?, at("/evidence/latency_ms_high")?),
    };
    let codes = report
        .pointer("/caveats")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let codes: Vec<&str> = codes.filter_map(|c| c.get("code")?.as_str()).collect();
    Ok(Answer {
        pick: Some(pick),
        seconds,
        remarks: codes.join(" "),
    })
}

fn setting_of(hash: &Value) -> Result<Setting, Box<dyn Error>> {
    let number = |key: &str| hash.get(key).and_then(Value::as_u64).ok_or(format!("no {key}"));
    let text = format!(
        "argon2id:m={},t={},p={}",
        number("memory_kib")?,
        number("time_cost")?,
        number("parallelism")?
    );
    Ok(text.parse()?)
}
