//! The main job: probe, measure, recommend, and write the answer.

use std::path::Path;
use std::sync::Arc;

use hashtune::budget::Budget;
use hashtune::caveat::Caveat;
use hashtune::engine::{Engine, Native, Pages, cleanup};
use hashtune::host::{self, Host};
use hashtune::measure::Measure;
use hashtune::preset::Preset;
use hashtune::recommend::{Answer, Candidate, Effort, Outcome as Found, Recommendation, Request, recommend};
use hashtune::report::{Context, Doubt, Report};
use hashtune::strength::Attacker;
use hashtune::units::{Bytes, CeilMib, Millis};
use hashtune::verdict::{Quantile, memory};

use super::{Outcome, machine, odd, sources, tax};
use crate::cli::{Assumed, Plan};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::terminal::{self, Beside, Row, Terminal};

/// Finds, prints and writes the recommendation. Everything that can be refused is refused before anything is measured.
///
/// # Errors
/// Whatever kept it from an answer.
pub fn run(plan: &Plan) -> Result<Outcome, Failure> {
    let output = Output::open(plan.output.as_deref())?;
    let presets = sources::presets(&plan.profiles)?;
    let attacker = sources::attacker(plan.attacker.as_deref())?;
    let capped = machine::behave(plan.cpus, plan.nice)?;
    let host = host::probe(Path::new("/"));
    let (budget, mut caveats) = budget(plan, &host)?;
    caveats.extend(capped);
    caveats.extend(host.warnings.iter().cloned());
    caveats.extend(machine::own_memory_limit(&host, budget.memory));
    caveats.extend(odd::asked(plan, &presets, machine::cpus(&host).0));
    let terminal = Terminal::new(plan.quiet);
    terminal.assumed(&assumed(plan, &budget));

    let engine: Arc<Native> = Arc::new(Native::new(plan.pages));
    let request = request(plan, budget, &host, presets, &attacker, &engine);
    caveats.extend(host.loaded_before(request.usable_cpus));
    let (cpus, limit_s) = (request.usable_cpus, request.time_limit_s);
    let mut runner = machine::runner(engine.clone(), &host, cpus, budget.app_cpu, limit_s);
    let _cleanup = interrupt::on_exit(cleanup::release_all);
    let mut progress = terminal.progress();
    let found = recommend(&request, &mut runner, &mut progress);
    drop(progress);
    let mut found =
        found.map_err(|error| Failure::new(error.to_string()).hint("hashtune probe shows what may be used"))?;
    caveats.append(&mut found.caveats);

    let rows: Vec<Row> = found
        .candidates
        .iter()
        .map(|c| row(c, &found.answer, &budget))
        .collect();
    terminal.candidates(&rows, &budget, attacker.name());
    let doubts: Vec<Doubt> = caveats.iter().map(Doubt::from).collect();
    let outcome = match &found.answer {
        Answer::Fits(pick) => {
            let context = Context {
                budget: &budget,
                host: &host,
                usable_cpus: request.usable_cpus,
                engine: engine.name(),
                pages: plan.pages,
                attacker: attacker.name(),
                candidates: &found.candidates,
                caveats: &caveats,
            };
            publish(pick, &context, plan, terminal, output)?;
            let began_s = runner.elapsed_s();
            let left_s = request.time_limit_s - began_s;
            if plan.pages == Pages::Deployed && !plan.quick && !plan.quiet && left_s > tax::SECONDS {
                let mut progress = terminal.progress();
                let told = tax::account(pick, &request, &host, &runner, &mut progress);
                drop(progress);
                match told {
                    Ok(lines) => terminal.notes(&lines),
                    Err(error) => terminal.notes(&[format!("the page-fault tax was not measured: {error}")]),
                }
                let tax_s = runner.elapsed_s() - began_s;
                found.timings.push(("page-fault tax".to_owned(), tax_s));
            }
            explain(pick, &found, &rows, plan, terminal);
            terminal.caveats(&doubts);
            Outcome::Done
        }
        Answer::Nothing(remedies) => {
            terminal.caveats(&doubts);
            let or = |at| if at == 0 { "" } else { "or " };
            let told = remedies.iter().enumerate();
            let remedies: Vec<String> = told
                .map(|(at, r)| format!("{}{}: {}", or(at), r.name(), r.text()))
                .collect();
            terminal::refusal(&nothing(plan, &budget), &remedies);
            Outcome::NothingFits
        }
        Answer::Undecided { why, hint } => {
            terminal.caveats(&doubts);
            terminal::refusal(&format!("could not tell: {why}"), std::slice::from_ref(hint));
            Outcome::Undecided
        }
    };
    if plan.timings {
        terminal.timings(&found.timings);
    }
    Ok(outcome)
}

/// The account behind the answer, where it was asked for.
fn explain(pick: &Recommendation, found: &Found, rows: &[Row], plan: &Plan, terminal: Terminal) {
    if let Some(why) = &found.explanation {
        terminal.explanation(pick, why);
    }
    let row = |setting| {
        found
            .candidates
            .iter()
            .position(|c| c.setting == setting)
            .map(|at| &rows[at])
    };
    let current = plan.current.filter(|_| plan.compare);
    if let (Some(now), Some(then)) = (current.and_then(row), row(pick.setting)) {
        terminal.comparison(now, then);
    }
}

fn publish(
    pick: &Recommendation,
    context: &Context,
    plan: &Plan,
    terminal: Terminal,
    mut output: Output,
) -> Result<(), Failure> {
    let report = Report::new(pick, context).map_err(|fault| Failure::new(fault.to_string()))?;
    let beside = Beside {
        runner_up: pick.runner_up.as_deref(),
        by_parameters: Bytes(pick.setting.memory_cost().0 * u64::from(pick.max_in_flight)),
        cgroup: pick.evidence.peak_memory.cgroup.ok_or_else(|| {
            pick.evidence
                .peak_memory
                .cgroup_refusal
                .as_deref()
                .unwrap_or("not tried")
        }),
        refused: pick.evidence.refused,
    };
    terminal.recommendation(&report, &beside);
    plan.format
        .write(&report, &mut output)
        .map_err(|error| Failure::io("the report", &error))?;
    output.save()
}

/// The budget, with the memory that was given, or what the host allows; and what is doubtful about it.
fn budget(plan: &Plan, host: &Host) -> Result<(Budget, Vec<Caveat>), Failure> {
    let mut caveats = plan.caveats();
    let memory = match plan.memory {
        Some(asked) => {
            let usable = host.usable_memory.unwrap_or(asked);
            match (asked > usable, plan.force_memory) {
                (false, _) => asked,
                (true, false) => {
                    caveats.push(Caveat::MemoryAboveHost { asked, usable });
                    usable
                }
                (true, true) => {
                    caveats.push(Caveat::MemoryForced { asked, usable });
                    asked
                }
            }
        }
        None => {
            let (memory, from) = machine::default_memory(host).ok_or_else(|| {
                Failure::new("--mem is missing, and this host tells neither a limit nor its memory")
                    .hint("pass --mem 1GiB")
            })?;
            caveats.push(Caveat::MemoryAssumed {
                memory,
                from: from.to_owned(),
            });
            memory
        }
    };
    Ok((plan.budget(memory)?, caveats))
}

/// What was not given; the memory among it, which only the host tells.
fn assumed(plan: &Plan, budget: &Budget) -> Vec<Assumed> {
    let mut assumed = plan.assumed.clone();
    if plan.memory.is_none() {
        assumed.push(Assumed {
            flag: "--mem",
            // Whole MiB, rounded down: typed, it must not be more than the host allows.
            value: CeilMib(Bytes(budget.memory.0 >> 20 << 20)).to_string().into(),
        });
    }
    assumed
}

fn request(
    plan: &Plan,
    budget: Budget,
    host: &Host,
    presets: Vec<Preset>,
    attacker: &Attacker,
    engine: &Native,
) -> Request {
    let (usable_cpus, cpus) = machine::cpus(host);
    Request {
        budget,
        usable_cpus,
        cpus,
        algorithms: plan.algorithms.clone(),
        presets: presets.into_iter().map(|p| (p.name, p.setting)).collect(),
        bounds: plan.bounds,
        current: plan.current,
        explain: plan.explain,
        effort: if plan.quick { Effort::Quick } else { Effort::Full },
        attacker: attacker.clone(),
        fresh_from_kib: fresh_from_kib(engine),
        seed: plan.seed,
        time_limit_s: plan.time_limit.0,
    }
}

/// Where the cost of Argon2 steps up. Only the C library's behaviour depends on the size.
fn fresh_from_kib(engine: &Native) -> Option<u32> {
    let threshold = (engine.pages() == Pages::Deployed)
        .then(|| engine.fresh_from())
        .flatten()?;
    u32::try_from(threshold.0 / 1024).ok()
}

/// A candidate as the table shows it. The pick's figures are the measured ones.
fn row(candidate: &Candidate, answer: &Answer, budget: &Budget) -> Row {
    let measured = match answer {
        Answer::Fits(pick) if pick.setting == candidate.setting => Some(&pick.evidence),
        _ => None,
    };
    let assessment = candidate.assessment.as_ref();
    let workers = assessment.map(|a| a.workers);
    let held = workers.map(|w| Bytes(memory(&candidate.setting, w, budget).0 - budget.idle_memory.0));
    Row {
        name: candidate.name.clone(),
        setting: candidate.setting,
        single: measured
            .map(|e| e.single_s)
            .or_else(|| assessment.map(|a| a.cost.alone_wall_s()))
            .map(Millis::from_s),
        latency: candidate
            .latency_s
            .or_else(|| assessment.and_then(|a| a.latency_s))
            .map(Millis::from_s),
        predicted: candidate.latency_s.is_none(),
        modelled: measured.is_none() && !candidate.measured,
        ceiling_per_s: measured
            .map(|e| e.ceiling.per_s())
            .or_else(|| assessment.map(|a| a.ceiling.per_s())),
        memory: measured.map(|e| e.peak_memory.bytes).or(held),
        guesses_per_s: Some(candidate.guesses_per_s),
        verdict: (&candidate.verdict).into(),
        reason: candidate.verdict.reason(),
    }
}

fn nothing(plan: &Plan, budget: &Budget) -> String {
    let floor = if plan.bounds.below_floor {
        ""
    } else {
        "at or above OWASP's floor "
    };
    format!(
        "no setting {floor}keeps {} of {} at {} within {} of memory",
        Quantile(budget.quantile),
        budget.latency,
        budget.peak,
        budget.memory,
    )
}
