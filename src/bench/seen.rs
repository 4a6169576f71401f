//! The runs of one load -> its figures.

use super::Request;
use super::plan::Kind;
use super::record::{Ceiling, LoadRecord, Range, Spread};
use crate::measure::{Load, Measurement, Thresholds};
use crate::queue::Interval;
use crate::report::{Figure, NotFinite};
use crate::setting::Setting;
use crate::stats::Latencies;

/// What one run told. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    latencies: Latencies,
    per_s: f64,
    /// CPU seconds of a login: the hash and the rest.
    login_s: f64,
    late: u64,
    /// The long-run p95.
    interval: Option<Interval>,
}

impl Seen {
    /// `None` without a completed hash.
    pub(super) fn of(run: &Measurement, interval: Option<Interval>, cpus: f64) -> Option<Self> {
        let hashes = run.samples.len() as f64;
        let per_s = match run.load {
            Load::Single { .. } | Load::Closed { .. } => run.throughput(),
            Load::Burst { .. } | Load::Open { .. } => hashes / run.wall_s,
        };
        let late_s = Thresholds::new(cpus).late_s;
        let late = run.samples.iter().filter(|s| s.lateness > late_s).count();
        Some(Self {
            latencies: Latencies::of(&run.latencies())?,
            per_s,
            login_s: run.cpu_s / hashes,
            late: if matches!(run.load, Load::Open { .. }) {
                late as u64
            } else {
                0
            },
            interval,
        })
    }
}

/// The figures of a load over its runs; `None` without a run.
///
/// # Errors
/// When a figure is no number: a fault in what computed it.
pub(super) fn load_record(
    request: &Request,
    setting: &Setting,
    kind: Kind,
    runs: &[Seen],
) -> Result<Option<LoadRecord>, NotFinite> {
    if runs.is_empty() {
        return Ok(None);
    }
    let spread = |value: &dyn Fn(&Seen) -> f64| Spread::of(&runs.iter().map(value).collect::<Vec<f64>>());
    let offered = match kind {
        Kind::Open(rate) => Some(Figure::exact(rate.per_s())?),
        _ => None,
    };
    Ok(Some(LoadRecord {
        load: kind.name(),
        setting: setting.to_string(),
        lanes: setting.lanes(),
        in_flight: kind.in_flight(request.workers),
        offered_per_s: offered,
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        hashes: runs.iter().map(|r| r.latencies.count).sum(),
        per_s: spread(&|r| r.per_s)?,
        p50_ms: spread(&|r| r.latencies.p50 * 1e3)?,
        p95_ms: spread(&|r| r.latencies.p95 * 1e3)?,
        p99_ms: spread(&|r| r.latencies.p99 * 1e3)?,
        max_ms: spread(&|r| r.latencies.max * 1e3)?,
        cpu_ms: spread(&|r| r.login_s * 1e3)?,
        busy_cpus: spread(&|r| r.per_s * r.login_s)?,
        p95_long_run_ms: long_run(runs)?,
        late_starts: runs.iter().map(|r| r.late).sum(),
    }))
}

/// The median estimate, within the lowest and the highest bound of any run. None where a run does not settle.
fn long_run(runs: &[Seen]) -> Result<Option<Range>, NotFinite> {
    let intervals: Option<Vec<Interval>> = runs.iter().map(|r| r.interval).collect();
    let Some(intervals) = intervals.filter(|all| all.iter().all(|i| i.high.is_finite())) else {
        return Ok(None);
    };
    let of = |value: &dyn Fn(&Interval) -> f64| Spread::of(&intervals.iter().map(value).collect::<Vec<f64>>());
    Ok(Some(Range {
        estimate: of(&|i| i.estimate * 1e3)?.median,
        low: of(&|i| i.low * 1e3)?.lowest,
        high: of(&|i| i.high * 1e3)?.highest,
    }))
}

/// The ceiling of a closed load: usable CPUs over CPU time of a login, and the share of it that was served.
///
/// # Errors
/// When a figure is no number.
pub(super) fn ceiling(clients: u32, cpus: f64, runs: &[Seen]) -> Result<Ceiling, NotFinite> {
    let spread = |value: &dyn Fn(&Seen) -> f64| Spread::of(&runs.iter().map(value).collect::<Vec<f64>>());
    Ok(Ceiling {
        clients,
        cpu_ms: spread(&|r| r.login_s * 1e3)?,
        per_s: spread(&|r| cpus / r.login_s)?,
        reached: spread(&|r| r.per_s * r.login_s / cpus)?,
    })
}

/// The median of logins completed a second.
pub(super) fn served(runs: &[Seen]) -> f64 {
    crate::stats::median(&runs.iter().map(|r| r.per_s).collect::<Vec<f64>>()).unwrap_or(0.0)
}
