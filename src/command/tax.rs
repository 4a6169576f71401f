//! The page-fault tax: its share of the CPU, what to set against it, and what that would pay for.

use std::sync::Arc;

use hashtune::caveat::Caveat;
use hashtune::engine::advice::{Advice, HashThreads, PageFacts, advise};
use hashtune::engine::{Native, Pages, libc};
use hashtune::host::Host;
use hashtune::measure::{Load, Measure, MeasureError, Observer, PageTax, Runner, TaxPlan, page_tax};
use hashtune::recommend::{Planner, Recommendation, Request, cost_of, judge_one};
use hashtune::setting::Setting;
use hashtune::units::{Millis, Seconds, Share};
use hashtune::verdict::{Quantile, Verdict};

use super::machine;

/// Seconds that must be left of the time limit for measuring the tax; usually it takes fewer.
pub const SECONDS: f64 = 8.0;

/// Measures the tax of one setting on this machine; `None` for all but Argon2id.
///
/// # Errors
/// When it does not fit in memory, or the engine fails.
pub fn measure(
    setting: &Setting,
    usable_cpus: f64,
    runner: impl Fn(Pages) -> Runner,
) -> Result<Option<PageTax>, MeasureError> {
    let deployed_is = Some(if is_fresh(setting) { Pages::Fresh } else { Pages::Reused });
    let plan = TaxPlan {
        deployed_is,
        ..TaxPlan::new(usable_cpus)
    };
    page_tax(setting, &plan, |pages, setting, load| {
        runner(pages).measure(setting, load)
    })
}

/// Whether this system's C library asks the kernel anew for the memory of each hash.
fn is_fresh(setting: &Setting) -> bool {
    let from = Native::new(Pages::Deployed).fresh_from();
    from.is_some_and(|from| setting.memory_cost() >= from)
}

/// What to set here; nothing where the tax is small, or a round denies it.
pub fn advice(tax: &PageTax, threads: HashThreads, host: &Host) -> Vec<Advice> {
    if !tax.matters() {
        return Vec::new();
    }
    let mode = host.machine.transparent_hugepages.as_deref();
    advise(&PageFacts {
        libc: libc(),
        thp: mode.and_then(|mode| mode.parse().ok()),
        threads,
        memory: tax.setting.memory_cost(),
        fresh: tax.fresh,
        tax: tax.share(),
        huge: tax.huge_share(),
    })
}

/// Lines for people about a recommendation: where its memory is fresh for every hash, or that of the next setting would be. None
/// where memory is kept anyway. The clock and the time limit are those of `main`, the runner of the main job.
///
/// # Errors
/// When the engine fails.
pub fn account(
    pick: &Recommendation,
    request: &Request,
    host: &Host,
    main: &Runner,
    observer: &mut dyn Observer,
) -> Result<Vec<String>, MeasureError> {
    let next = pick.next.as_ref().map(|(next, _)| next);
    let Some(subject) = [Some(&pick.setting), next].into_iter().flatten().find(|s| is_fresh(s)) else {
        return Ok(Vec::new());
    };
    let runner = |pages| {
        let engine = Arc::new(Native::new(pages));
        let (cpus, app_cpu, limit_s) = (request.usable_cpus, request.budget.app_cpu, request.time_limit_s);
        machine::runner(engine, host, cpus, app_cpu, limit_s).begun(Seconds(main.elapsed_s()))
    };
    let Some(tax) = measure(subject, request.usable_cpus, runner)? else {
        return Ok(Vec::new());
    };
    let mut lines = vec![said(&tax, pick)];
    // A synchronous server's workers may hash in their main threads; others do in a pool.
    let threads = request
        .budget
        .workers
        .map_or(HashThreads::Many, |_| HashThreads::Unknown);
    let advice = advice(&tax, threads, host);
    lines.extend(advice.iter().map(|advice| format!("  set {advice}")));
    if let Some(stronger) = afforded(&tax, pick, request).filter(|_| !advice.is_empty()) {
        let huge = &mut runner(Pages::Huge);
        let seen = if request.explain {
            at_the_peak(&stronger, pick, request, huge, observer)
        } else {
            predicted(&stronger, pick, request, huge)
        };
        lines.push(seen.unwrap_or_else(|why| format!("  {stronger} with huge pages was not measured: {why}")));
    }
    Ok(lines)
}

fn said(tax: &PageTax, pick: &Recommendation) -> String {
    let percent = |share: Share| format!("{:.0} %", share.0 * 100.0);
    let whose = if tax.setting == pick.setting {
        "this setting".to_owned()
    } else {
        format!("the next one, {},", tax.setting)
    };
    let huge = tax
        .huge_share()
        .map_or_else(String::new, |huge| format!("; huge pages would save {}", percent(huge)));
    format!(
        "page faults: {} of the CPU of {whose} goes to fresh memory, which the kernel zeroes for every hash{huge}",
        percent(tax.share())
    )
}

/// The stronger setting that takes as much CPU with huge pages as the pick takes now.
fn afforded(tax: &PageTax, pick: &Recommendation, request: &Request) -> Option<Setting> {
    let huge_s = *tax.huge_s.as_ref().ok()?;
    // What the pick costs, in the same minute: where its own memory is kept, as much less than the next one's as it is smaller.
    let now_s = if tax.setting == pick.setting {
        tax.deployed_s
    } else {
        tax.reused_s * pick.setting.memory_cost().as_f64() / tax.setting.memory_cost().as_f64()
    };
    let rank = |s: &Setting| request.attacker.rank(s);
    tax.affords(huge_s, now_s).filter(|s| rank(s) < rank(&pick.setting))
}

/// Its CPU measured with huge pages, its latency predicted from that.
fn predicted(
    stronger: &Setting,
    pick: &Recommendation,
    request: &Request,
    huge: &mut Runner,
) -> Result<String, MeasureError> {
    let clients = request.busy_clients();
    let crowded = Load::Closed {
        clients,
        hashes: 8 * clients,
        seconds: 1.0,
    };
    let loaded = huge.measure(stronger, &crowded)?;
    let cost = cost_of(&loaded, &huge.measure(stronger, &Load::Single { hashes: 3 })?);
    let seen = Planner::new(request.budget, request.usable_cpus, request.cpus).assess(stronger, &cost);
    let line = paid_for(stronger, pick, request, cost.loaded_s, seen.latency_s, &seen.verdict);
    Ok(format!("{line}; --explain measures it at the peak"))
}

/// The same, judged as the pick was: at the peak, with huge pages.
fn at_the_peak(
    stronger: &Setting,
    pick: &Recommendation,
    request: &Request,
    huge: &mut Runner,
    observer: &mut dyn Observer,
) -> Result<String, MeasureError> {
    let (seen, caveats) = judge_one(stronger, request, huge, observer)?;
    let predicted = seen.assessment.as_ref();
    let cpu_s = predicted.map_or(f64::NAN, |a| a.cost.loaded_s);
    let latency_s = seen.latency_s.or_else(|| predicted.and_then(|a| a.latency_s));
    let line = paid_for(stronger, pick, request, cpu_s, latency_s, &seen.verdict);
    let codes: Vec<&str> = caveats.iter().map(Caveat::code).collect();
    Ok(if codes.is_empty() {
        line
    } else {
        format!("{line} ({})", codes.join(", "))
    })
}

/// What a setting with huge pages was found to do; the verdict says whether that was measured at the peak.
fn paid_for(
    stronger: &Setting,
    pick: &Recommendation,
    request: &Request,
    cpu_s: f64,
    latency_s: Option<f64>,
    verdict: &Verdict,
) -> String {
    let latency = latency_s.map_or_else(|| "no end of waiting".to_owned(), |s| Millis::from_s(s).to_string());
    format!(
        "  with huge pages {stronger}, {:.2} times as strong, takes {} of CPU; {} {latency}: {}, {}",
        request.attacker.rank(&pick.setting) / request.attacker.rank(stronger),
        Millis::from_s(cpu_s),
        Quantile(request.budget.quantile),
        verdict.name(),
        verdict.reason(),
    )
}
