//! The measurements -> the record.

use super::Request;
use super::plan::Kind;
use super::record::{Conditions, Doubt, LeftOut, Memory, Record, SettingRecord, Spread};
use super::seen;
use super::work::{Task, Work};
use crate::caveat::Caveat;
use crate::report::{Figure, NotFinite};

/// Fewest arrivals in all runs that tell a p95.
const ARRIVALS: usize = 200;

/// The record of all works.
///
/// # Errors
/// When a figure is no number.
pub(super) fn record(
    request: &Request,
    works: &[Work],
    left_out: Vec<LeftOut>,
    mut caveats: Vec<Doubt>,
) -> Result<Record, NotFinite> {
    let mut settings = Vec::new();
    for work in works {
        settings.push(setting_record(request, work)?);
        caveats.extend(doubts_of(request, work)?);
    }
    Ok(Record {
        schema: Record::SCHEMA,
        host: request.host.clone(),
        conditions: Conditions {
            engine: request.engine.clone(),
            pages: request.pages,
            runs: request.runs,
            workers: request.workers,
            app_cpu_ms: Figure::exact(request.app_cpu.0)?,
            closed_s: Figure::exact(request.closed_s)?,
            open_s: Figure::exact(request.open_s)?,
            seed: request.seed,
        },
        settings,
        left_out,
        caveats,
    })
}

/// Doubts that only all runs together show.
fn doubts_of(request: &Request, work: &Work) -> Result<Vec<Doubt>, NotFinite> {
    let mut doubts = Vec::new();
    for task in &work.tasks {
        let Some(load) = seen::load_record(request, &task.setting, task.kind, &task.seen)? else {
            continue;
        };
        let mut doubt = |caveat| {
            let what = task.kind.to_string();
            doubts.push(Doubt::about(&caveat, &work.subject.name, &what, None));
        };
        if let Some(disagreement) = seen::disagreement(&task.seen, &task.setting) {
            doubt(disagreement);
        }
        let arrivals = usize::try_from(load.hashes).unwrap_or(usize::MAX);
        if matches!(task.kind, Kind::Open(_)) && arrivals < ARRIVALS {
            let wanted = ARRIVALS;
            doubt(Caveat::TooFewArrivals { arrivals, wanted });
        }
    }
    Ok(doubts)
}

fn setting_record(request: &Request, work: &Work) -> Result<SettingRecord, NotFinite> {
    let setting = &work.subject.setting;
    let (mut loads, mut lanes) = (Vec::new(), Vec::new());
    for task in &work.tasks {
        let rows = if matches!(task.kind, Kind::Lanes(_)) {
            &mut lanes
        } else {
            &mut loads
        };
        rows.extend(seen::load_record(request, &task.setting, task.kind, &task.seen)?);
    }
    let closed = work.tasks.iter().filter_map(|t| match t.kind {
        Kind::Closed(clients) if !t.seen.is_empty() => Some((clients, &t.seen)),
        _ => None,
    });
    let best = closed.max_by(|a, b| seen::served(a.1).total_cmp(&seen::served(b.1)));
    let ceiling = best
        .map(|(clients, runs)| seen::ceiling(clients, request.usable_cpus, runs))
        .transpose()?;
    let memory = work.tasks.iter().find(|t| !t.memory.is_empty());
    Ok(SettingRecord {
        name: work.subject.name.clone(),
        setting: setting.to_string(),
        algorithm: setting.algorithm().name().to_owned(),
        memory_cost_bytes: setting.memory_cost().0,
        memory: memory.map(|task| memory_record(request, task)).transpose()?,
        ceiling,
        loads,
        lanes,
    })
}

fn memory_record(request: &Request, task: &Task) -> Result<Memory, NotFinite> {
    let bytes: Vec<f64> = task.memory.iter().map(|m| m.bytes.as_f64()).collect();
    let source = task.memory.last().map(|m| m.source.clone()).unwrap_or_default();
    Ok(Memory {
        workers: request.workers,
        expected_bytes: task.setting.memory_cost().0 * u64::from(request.workers),
        peak_bytes: Spread::of(&bytes)?,
        source,
    })
}
