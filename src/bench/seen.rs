//! The runs of one load -> its figures.

use std::collections::BTreeMap;

use super::Request;
use super::plan::Kind;
use super::record::{Ceiling, LoadRecord, Range, Spread};
use crate::caveat::Caveat;
use crate::measure::{CpuPerHash, Load, Measurement, Sample, Thresholds};
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
    /// The hash's share of it, with its bounds.
    cpu: Option<CpuPerHash>,
    late: u64,
    outliers: u64,
    /// The long-run p95.
    interval: Option<Interval>,
}

impl Seen {
    /// `None` without a completed hash.
    pub(super) fn of(run: &Measurement, interval: Option<Interval>, cpus: f64) -> Option<Self> {
        let hashes = run.samples.len() as f64;
        let per_s = match run.load {
            Load::Single { .. } | Load::Closed { .. } => sustained(run),
            Load::Burst { .. } | Load::Open { .. } => hashes / run.wall_s,
        };
        let late_s = Thresholds::new(cpus).late_s;
        let late = run.samples.iter().filter(|s| s.lateness > late_s).count();
        Some(Self {
            latencies: Latencies::of(&run.latencies())?,
            per_s,
            login_s: run.cpu_s / hashes,
            cpu: CpuPerHash::of(run),
            outliers: run.outliers().len() as u64,
            late: if matches!(run.load, Load::Open { .. }) {
                late as u64
            } else {
                0
            },
            interval,
        })
    }
}

/// Logins a second while every client was busy: until the first one stopped.
///
/// A login that was under way at that instant counts by the share of its time that had passed. Neither the tail, in which
/// some clients are idle already, nor a client's late start makes the rate look better than it was.
fn sustained(run: &Measurement) -> f64 {
    let mut ends: BTreeMap<u32, f64> = BTreeMap::new();
    for s in &run.samples {
        let end = ends.entry(s.worker).or_insert(s.finished);
        *end = end.max(s.finished);
    }
    let until = ends.into_values().fold(f64::INFINITY, f64::min);
    let share = |s: &Sample| {
        let took = s.finished - s.scheduled;
        if took > 0.0 {
            ((until - s.scheduled) / took).clamp(0.0, 1.0)
        } else {
            1.0
        }
    };
    run.samples.iter().map(share).sum::<f64>() / until
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
        what: kind.to_string(),
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
        outliers: runs.iter().map(|r| r.outliers).sum(),
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

/// A doubt about the two runs that lie farthest apart of those that disagree.
pub(super) fn disagreement(runs: &[Seen], setting: &Setting) -> Option<Caveat> {
    let known: Vec<CpuPerHash> = runs.iter().filter_map(|r| r.cpu).collect();
    let pairs = known
        .iter()
        .enumerate()
        .flat_map(|(at, first)| known[at + 1..].iter().map(move |second| (first, second)));
    let doubts = pairs.filter_map(|(first, second)| Some((first, second, first.disagreement(second, setting)?)));
    let apart = |(a, b): (&CpuPerHash, &CpuPerHash)| (a.mean / b.mean).ln().abs();
    let farthest = doubts.max_by(|x, y| apart((x.0, x.1)).total_cmp(&apart((y.0, y.1))));
    farthest.map(|(.., doubt)| doubt)
}

/// The median of logins completed a second.
pub(super) fn served(runs: &[Seen]) -> f64 {
    crate::stats::median(&runs.iter().map(|r| r.per_s).collect::<Vec<f64>>()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Disturbance;

    fn closed(samples: &[(u32, f64, f64)]) -> Measurement {
        let sample = |&(worker, scheduled, finished): &(u32, f64, f64)| Sample {
            scheduled,
            started: scheduled,
            finished,
            worker,
            ..Sample::default()
        };
        Measurement {
            setting: "bcrypt:4".parse().unwrap(),
            load: Load::Closed {
                clients: 2,
                hashes: u32::MAX,
                seconds: 2.0,
            },
            engine: "none",
            samples: samples.iter().map(sample).collect(),
            wall_s: 3.0,
            cpu_s: 1.0,
            app_cpu_s: 0.0,
            lanes_cpu_s: 0.0,
            disturbance: Disturbance::default(),
            caveats: Vec::new(),
        }
    }

    #[test]
    fn the_tail_and_late_starts_do_not_count() {
        // Client 0 ends at 2; of client 1's second login half of the time had passed.
        let run = closed(&[(0, 0.0, 1.0), (0, 1.0, 2.0), (1, 0.0, 1.0), (1, 1.0, 3.0)]);
        assert!((sustained(&run) - 3.5 / 2.0).abs() < 1e-12);
        // A client that waited for a CPU first is no faster for it.
        let run = closed(&[(0, 0.0, 1.0), (0, 1.0, 2.0), (1, 0.0, 1.9), (1, 1.9, 2.0)]);
        assert!((sustained(&run) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_seen_is_no_figure() {
        assert_eq!(Seen::of(&closed(&[]), None, 2.0), None);
    }
}
