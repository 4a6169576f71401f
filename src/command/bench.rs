//! `hashtune bench`: settings under loads, for people who want the figures.

use std::path::Path;
use std::sync::Arc;

use hashtune::bench::{self, Doubt, Record, Request};
use hashtune::engine::{Engine, Native, cleanup};
use hashtune::host;
use hashtune::report::HostRecord;

use super::{Outcome, machine};
use crate::cli::BenchPlan;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::terminal::{self, Terminal};

/// Measures, prints and writes. Everything that can be refused is refused before anything is measured.
///
/// # Errors
/// Whatever kept it from any figure.
pub fn run(plan: &BenchPlan) -> Result<Outcome, Failure> {
    let mut output = Output::open(plan.output.as_deref())?;
    machine::behave(plan.cpus, plan.nice)?;
    let host = host::probe(Path::new("/"));
    let terminal = Terminal::new(plan.quiet);
    let engine = Arc::new(Native::new(plan.pages));
    let (usable_cpus, cpus) = machine::cpus(&host);
    let fault = |error: hashtune::report::NotFinite| Failure::new(error.to_string());
    let request = Request {
        subjects: plan.subjects.clone(),
        loads: plan.loads.clone(),
        runs: plan.runs,
        workers: plan.workers.unwrap_or_else(|| usual_workers(usable_cpus)),
        closed_s: plan.closed_s,
        open_s: plan.open_s,
        app_cpu: plan.app_cpu,
        usable_cpus,
        cpus,
        seed: plan.seed,
        time_limit_s: plan.time_limit.map_or(f64::INFINITY, |limit| limit.0),
        engine: engine.name().to_owned(),
        pages: plan.pages.into(),
        host: HostRecord::new(&host, usable_cpus).map_err(fault)?,
    };
    let mut doubts: Vec<Doubt> = host.warnings.iter().map(Doubt::general).collect();
    doubts.extend(host.loaded_before(usable_cpus).iter().map(Doubt::general));
    let mut runner = machine::runner(engine, &host, usable_cpus, plan.app_cpu, request.time_limit_s);
    let _cleanup = interrupt::on_exit(cleanup::release_all);
    let mut progress = terminal.progress();
    let record = bench::run(&request, &mut runner, &mut progress);
    drop(progress);
    let mut record = record.map_err(fault)?;
    record.caveats.splice(0..0, doubts);

    if record.is_empty() {
        terminal.disturbances(&record.caveats);
        terminal::refusal("nothing could be measured", &reasons(&record));
        return Ok(Outcome::Undecided);
    }
    plan.format
        .write(&record, &mut output)
        .map_err(|error| Failure::io("the figures", &error))?;
    output.save()?;
    terminal.disturbances(&record.caveats);
    Ok(Outcome::Done)
}

/// gunicorn's advice: 2 x CPUs + 1.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn usual_workers(cpus: f64) -> u32 {
    2 * cpus.ceil().clamp(1.0, 500.0) as u32 + 1
}

fn reasons(record: &Record) -> Vec<String> {
    let left_out = record.left_out.iter();
    left_out.map(|l| format!("{}: {}", l.name, l.why)).collect()
}
