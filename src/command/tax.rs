//! The page-fault tax of the recommended setting: its share of the CPU, what to set against it, and what that would pay for.

use std::sync::Arc;

use hashtune::engine::advice::{HashThreads, PageFacts, Thp, advise};
use hashtune::engine::{Native, Pages, libc};
use hashtune::host::Host;
use hashtune::measure::{Load, Measure, MeasureError, PageTax, Runner, TaxPlan, page_tax};
use hashtune::recommend::{Planner, Recommendation, Request};
use hashtune::setting::Setting;
use hashtune::units::{Millis, Share};
use hashtune::verdict::{Cost, Quantile};

use super::machine;

/// Seconds that measuring the tax may take.
pub const SECONDS: f64 = 8.0;

/// Lines for people; none where memory is kept anyway, or the tax is small.
///
/// # Errors
/// When the engine fails.
pub fn account(pick: &Recommendation, request: &Request, host: &Host) -> Result<Vec<String>, MeasureError> {
    let deployed = Native::new(Pages::Deployed);
    let fresh = deployed
        .fresh_from()
        .is_some_and(|from| pick.setting.memory_cost() >= from);
    if !fresh {
        return Ok(Vec::new());
    }
    let plan = TaxPlan {
        deployed_is: Some(Pages::Fresh),
        ..TaxPlan::new(request.usable_cpus)
    };
    let measured = page_tax(&pick.setting, &plan, |pages, setting, load| {
        runner(pages, request, host).measure(setting, load)
    })?;
    let Some(tax) = measured else { return Ok(Vec::new()) };
    let share = |s: Share| format!("{:.0} %", s.0 * 100.0);
    let mut lines = vec![format!(
        "page faults: {} of the CPU of this setting goes to fresh memory, which the kernel zeroes for every hash{}",
        share(tax.share()),
        tax.huge_share()
            .map_or_else(String::new, |huge| format!("; huge pages would save {}", share(huge))),
    )];
    for advice in advise(&facts(pick, request, host, &tax)) {
        lines.push(format!("  set {advice}"));
    }
    if lines.len() > 1 {
        lines.extend(afforded(&tax, pick, request, host)?);
    }
    Ok(lines)
}

fn runner(pages: Pages, request: &Request, host: &Host) -> Runner {
    let engine = Arc::new(Native::new(pages));
    machine::runner(engine, host, request.usable_cpus, request.budget.app_cpu, SECONDS)
}

fn facts(pick: &Recommendation, request: &Request, host: &Host, tax: &PageTax) -> PageFacts {
    let thp: Option<Thp> = host
        .machine
        .transparent_hugepages
        .as_deref()
        .and_then(|mode| mode.parse().ok());
    PageFacts {
        libc: libc(),
        thp,
        // A synchronous server's workers hash in their main threads; of others nothing is known.
        threads: if request.budget.workers.is_some() {
            HashThreads::Unknown
        } else {
            HashThreads::Many
        },
        memory: pick.setting.memory_cost(),
        fresh: tax.is_fresh(),
        tax: tax.share(),
        huge: tax.huge_share(),
    }
}

/// The stronger setting that huge pages would pay for within the same budgets, from its own measurement with them.
fn afforded(
    tax: &PageTax,
    pick: &Recommendation,
    request: &Request,
    host: &Host,
) -> Result<Option<String>, MeasureError> {
    let Some(stronger) = tax.huge_share().and_then(|saves| tax.affords(saves)) else {
        return Ok(None);
    };
    let mut runner = runner(Pages::Huge, request, host);
    let cost = cost(&mut runner, &stronger, request)?;
    let mut planner = Planner::new(request.budget, request.usable_cpus, request.cpus);
    let seen = planner.assess(&stronger, &cost);
    let latency = seen
        .latency_s
        .map_or_else(|| "no end of waiting".to_owned(), |s| Millis::from_s(s).to_string());
    let verdict = seen.verdict.name();
    let ratio = request.attacker.rank(&pick.setting) / request.attacker.rank(&stronger);
    Ok(Some(format!(
        "  with huge pages {stronger} takes {} of CPU (measured); predicted {} {latency}: {verdict}, {ratio:.2} times as strong",
        Millis::from_s(cost.loaded_s),
        Quantile(request.budget.quantile),
    )))
}

fn cost(runner: &mut dyn Measure, setting: &Setting, request: &Request) -> Result<Cost, MeasureError> {
    let clients = request.busy_clients();
    let loaded = runner.measure(
        setting,
        &Load::Closed {
            clients,
            hashes: 8 * clients,
            seconds: 1.0,
        },
    )?;
    let alone = runner.measure(setting, &Load::Single { hashes: 3 })?;
    let (loaded_s, alone_s) = (loaded.cpu_per_hash(), alone.cpu_per_hash());
    let wall = alone
        .samples
        .iter()
        .map(|s| s.finished - s.started)
        .fold(f64::INFINITY, f64::min);
    let lanes = (alone_s / wall).clamp(1.0, f64::from(setting.lanes()));
    Ok(Cost {
        loaded_s: loaded_s.max(alone_s),
        alone_ratio: (alone_s / loaded_s).min(1.0),
        lanes,
    })
}
