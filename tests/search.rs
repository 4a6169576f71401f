//! The search proved without timing anything: an analytic cost model and a simulated clock stand in for the machine.

mod common;

use common::{World, budget, looser, propose_exactly, request, two_cpus};
use hashtune::budget::Budget;
use hashtune::caveat::Caveat;
use hashtune::measure::{Load, Measure, Silent};
use hashtune::queue::{self, Cpus, Quota};
use hashtune::recommend::{Answer, Basis, Change, Effort, Outcome, Recommendation, Request, judge_one, recommend};
use hashtune::setting::{Algorithm, Setting};
use hashtune::strength::{TIE_BAND, at_or_above_floor};
use hashtune::units::{Bytes, Millis};
use hashtune::verdict::{Limit, Verdict};
use proptest::prelude::*;

fn run(budget: Budget, cpus: Cpus) -> (Outcome, World) {
    let mut world = World::new(cpus, budget.app_cpu);
    let outcome = recommend(&request(budget, cpus), &mut world, &mut Silent).unwrap();
    (outcome, world)
}

fn pick(outcome: &Outcome) -> Option<&Recommendation> {
    match &outcome.answer {
        Answer::Fits(pick) => Some(pick),
        _ => None,
    }
}

#[test]
fn the_readme_case_is_measured_at_the_peak_and_fits() {
    let (outcome, world) = run(budget(250.0, 20.0, 1024, None), two_cpus());
    let pick = pick(&outcome).unwrap_or_else(|| panic!("{:?}", outcome.answer));
    assert_eq!(pick.setting.algorithm(), Algorithm::Argon2id);
    assert!(at_or_above_floor(&pick.setting) && pick.floor_ratio > 1.0, "{pick:?}");
    assert_eq!(pick.evidence.basis, Basis::Measured);
    let at_peak = |(s, l): &(Setting, Load)| *s == pick.setting && matches!(l, Load::Open { .. });
    assert!(
        world.measured.iter().any(at_peak),
        "the pick was never measured at the peak"
    );
    assert!(pick.evidence.latency.high <= 0.25);
    assert!(pick.binding.is_some() && pick.runner_up.is_some(), "{pick:?}");
    let verdict = |name: &str| &outcome.candidates.iter().find(|c| c.name == name).unwrap().verdict;
    assert!(verdict("owasp-19m").fits(), "{:?}", verdict("owasp-19m"));
    assert!(matches!(verdict("rfc9106-first"), Verdict::Skipped { .. }));
    assert!(
        matches!(verdict("bcrypt-12"), Verdict::Exceeds { limit: Limit::Peak, .. }),
        "{:?}",
        verdict("bcrypt-12")
    );
    assert!(
        !world.measured.iter().any(|(s, _)| s.memory_cost() > Bytes(1 << 30)),
        "ran what memory cannot hold"
    );
}

#[test]
fn nine_workers_share_the_memory() {
    let (outcome, _) = run(budget(2000.0, 2.0, 1024, Some(9)), two_cpus());
    let pick = pick(&outcome).unwrap_or_else(|| panic!("{:?}", outcome.answer));
    assert!(
        pick.setting.memory_cost().as_f64() * 9.0 <= 0.9 * f64::from(1 << 30),
        "{pick:?}"
    );
    assert_eq!(pick.max_in_flight, 9);
}

#[test]
fn nothing_fits_a_thousand_logins_in_five_milliseconds() {
    let (outcome, _) = run(budget(5.0, 1000.0, 64, None), two_cpus());
    let Answer::Nothing(remedies) = &outcome.answer else {
        panic!("{:?}", outcome.answer)
    };
    for name in ["more CPUs", "more memory", "a longer budget"] {
        assert!(
            remedies.iter().any(|r| r.name().contains(name)),
            "{name} is missing: {remedies:?}"
        );
    }
    assert!(
        remedies.iter().any(|r| r.name().starts_with("another algorithm")),
        "{remedies:?}"
    );
}

#[test]
fn a_low_peak_is_proved_at_a_higher_rate_or_simulated() {
    let (fast, _) = run(budget(60.0, 8.0, 64, None), two_cpus());
    let evidence = &pick(&fast).unwrap_or_else(|| panic!("{:?}", fast.answer)).evidence;
    assert_eq!((evidence.basis, evidence.rate_per_s), (Basis::Measured, 10.0));
    let (slow, _) = run(budget(250.0, 1.0 / 60.0, 1024, None), two_cpus());
    let evidence = &pick(&slow).unwrap_or_else(|| panic!("{:?}", slow.answer)).evidence;
    assert_eq!(evidence.basis, Basis::Simulated);
    assert!(evidence.arrivals >= 60 && slow.caveats.iter().any(|c| c.code() == "simulated-peak"));
}

#[test]
fn a_short_time_limit_simulates_a_low_peak_from_fewer_hashes() {
    let mut asked = request(budget(1000.0, 1.0 / 60.0, 1024, None), two_cpus());
    asked.effort = Effort::Quick;
    asked.time_limit_s = 45.0;
    let mut world = World::new(two_cpus(), Millis(0.0));
    let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
    let evidence = &pick(&outcome)
        .unwrap_or_else(|| panic!("{:?}", outcome.answer))
        .evidence;
    assert_eq!(evidence.basis, Basis::Simulated);
    assert!((20..60).contains(&evidence.arrivals), "{}", evidence.arrivals);
    assert!(world.elapsed_s() <= 45.0, "{}", world.elapsed_s());
}

#[test]
fn one_setting_is_judged_as_a_pick_is() {
    let asked = request(budget(250.0, 20.0, 1024, None), two_cpus());
    let judged = |text: &str| {
        let mut world = World::new(two_cpus(), Millis(0.0));
        let (candidate, _) = judge_one(&text.parse().unwrap(), &asked, &mut world, &mut Silent).unwrap();
        let at_the_peak = world.measured.iter().any(|(_, load)| matches!(load, Load::Open { .. }));
        (candidate, at_the_peak)
    };
    let (light, at_the_peak) = judged("argon2id:m=19456,t=2,p=1");
    assert!(at_the_peak && light.latency_s.is_some() && light.measured, "{light:?}");
    assert!(
        matches!(light.verdict, Verdict::Fits { measured: true, .. }),
        "{light:?}"
    );
    // Too heavy by its own figures: the peak need not be measured to tell.
    let (heavy, at_the_peak) = judged("argon2id:m=262144,t=3,p=1");
    assert!(!at_the_peak && heavy.latency_s.is_none(), "{heavy:?}");
    assert!(matches!(heavy.verdict, Verdict::Exceeds { .. }), "{heavy:?}");
}

#[test]
fn hashes_too_slow_to_repeat_are_left_open() {
    let (outcome, _) = run(budget(60_000.0, 1.0 / 60.0, 65_536, None), two_cpus());
    assert!(
        matches!(outcome.answer, Answer::Undecided { .. }),
        "{:?}",
        outcome.answer
    );
}

#[test]
fn half_a_cpu_is_half_a_cpu() {
    let cpus = Cpus {
        affinity: 2,
        quota: Some(Quota {
            cpus: 0.5,
            period_s: 0.1,
        }),
    };
    let (outcome, _) = run(budget(400.0, 2.0, 128, None), cpus);
    let pick = pick(&outcome).unwrap_or_else(|| panic!("{:?}", outcome.answer));
    let login_s = pick.evidence.ceiling.login_s;
    assert!((pick.evidence.ceiling.per_s() - 0.5 / login_s).abs() < 1e-9, "{pick:?}");
    assert_eq!(pick.setting.lanes(), 1);
}

#[test]
fn the_rest_of_a_login_counts() {
    let mut with_app = budget(250.0, 20.0, 1024, None);
    with_app.app_cpu = Millis(30.0);
    let (light, _) = run(budget(250.0, 20.0, 1024, None), two_cpus());
    let (heavy, _) = run(with_app, two_cpus());
    assert!(pick(&heavy).unwrap().floor_ratio < pick(&light).unwrap().floor_ratio);
}

#[test]
fn the_same_seed_and_measurements_give_the_same_answer() {
    let once = run(budget(250.0, 20.0, 1024, None), two_cpus()).0;
    let again = run(budget(250.0, 20.0, 1024, None), two_cpus()).0;
    assert_eq!(once, again);
}

#[test]
fn an_explanation_prices_the_next_step_and_other_budgets() {
    let budget = budget(250.0, 20.0, 1024, None);
    let mut asked = request(budget, two_cpus());
    asked.explain = true;
    asked.current = Some("argon2id:m=102400,t=2,p=8".parse().unwrap());
    let mut world = World::new(two_cpus(), budget.app_cpu);
    let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
    let why = outcome.explanation.as_ref().unwrap();
    assert!(
        why.next
            .as_ref()
            .is_some_and(|n| n.ways.as_ref().is_some_and(|w| !w.is_empty())),
        "{why:?}"
    );
    assert_eq!(why.what_if.len(), 8);
    let strength = |change: &str| {
        why.what_if
            .iter()
            .find(|w| w.change == change)
            .unwrap_or_else(|| panic!("{change}: {why:?}"))
            .strength
            .unwrap_or(0.0)
    };
    assert!(
        strength("--peak 10/s") > 1.1 && strength("--peak 40/s") < 0.9,
        "{why:?}"
    );
    assert!(strength("4 CPUs") > 1.1 && strength("1 CPU") < 0.9, "{why:?}");
    assert!(
        strength("--mem 512MiB") <= 1.0 && strength("--budget-ms 500") > 1.0,
        "{why:?}"
    );
    let current = outcome.candidates.iter().find(|c| c.name == "current").unwrap();
    assert!(current.measured && !current.verdict.fits(), "{current:?}");
}

#[test]
fn lanes_without_cpus_are_shown_and_never_picked() {
    let cpus = Cpus {
        affinity: 1,
        quota: None,
    };
    let (outcome, _) = run(budget(1000.0, 1.0, 1024, None), cpus);
    let wide = outcome.candidates.iter().find(|c| c.name == "rfc9106-second").unwrap();
    assert!(
        wide.verdict.reason().contains("argon2id:m=65536,t=3,p=1 is as strong"),
        "{wide:?}"
    );
    assert_eq!(pick(&outcome).map(|p| p.setting.lanes()), Some(1));
}

fn budgets() -> impl Strategy<Value = Budget> {
    (
        50.0..1000.0_f64,
        0.5..60.0_f64,
        16_u64..2048,
        prop::option::of(1_u32..10),
    )
        .prop_map(|(latency, peak, memory, workers)| budget(latency, peak, memory, workers))
}

/// Rank of what is first proposed, and the strongest rank that is feasible; from costs known without error.
fn proposed(budget: Budget, cpus: Cpus) -> Option<(f64, f64)> {
    propose_exactly(Algorithm::Argon2id, &request(budget, cpus)).map(|p| (p.rank, p.strongest))
}

/// The same question to another machine, after changes.
fn changed(base: &Request, changes: &[Change]) -> Request {
    let mut request = base.clone();
    for change in changes {
        change.apply(&mut request);
    }
    request
}

/// Whether a setting keeps the budget in truth, with some number of workers.
fn truly_fits(setting: &Setting, request: &Request) -> bool {
    let world = World::new(request.cpus, request.budget.app_cpu);
    let budget = &request.budget;
    let workers = budget.workers.map_or(1..=request.cpus.affinity, |w| w..=w);
    workers.into_iter().any(|w| {
        let station = world.station(setting, w);
        let demand = world.loaded(setting);
        let latency = queue::long_run_quantile(&station, budget.peak.per_s(), &[demand], budget.quantile);
        let held = setting.memory_cost().as_f64() * f64::from(w);
        latency.is_some_and(|s| s <= budget.latency.as_s())
            && station.load(budget.peak.per_s(), demand) <= 0.901
            && held <= 0.9 * budget.memory.as_f64()
    })
}

#[test]
fn the_next_step_fits_after_any_one_of_its_prices() {
    for budget in [
        budget(250.0, 20.0, 1024, None),
        budget(250.0, 45.0, 1024, None),
        budget(1000.0, 1.0, 64, None),
        budget(400.0, 5.0, 128, Some(2)),
    ] {
        let mut asked = request(budget, two_cpus());
        asked.explain = true;
        let mut world = World::new(two_cpus(), budget.app_cpu);
        let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
        let next = outcome.explanation.as_ref().and_then(|why| why.next.as_ref()).unwrap();
        let ways = next.ways.as_ref().unwrap();
        assert!(!ways.is_empty(), "{budget:?} {next:?}");
        for way in ways {
            let request = changed(&asked, way);
            assert!(truly_fits(&next.setting, &request), "{way:?} {next:?}");
        }
    }
}

#[test]
fn the_pick_of_bcrypt_is_under_the_budget_and_the_next_cost_over_it() {
    for (latency, peak) in [(250.0, 20.0), (500.0, 5.0), (1000.0, 1.0), (150.0, 2.0), (250.0, 4.0)] {
        let mut asked = request(budget(latency, peak, 1024, None), two_cpus());
        asked.algorithms = vec![Algorithm::Bcrypt];
        asked.explain = true;
        let mut world = World::new(two_cpus(), Millis(0.0));
        let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
        let pick = pick(&outcome).unwrap_or_else(|| panic!("{:?}", outcome.answer));
        let Setting::Bcrypt(bcrypt) = pick.setting else {
            panic!("{pick:?}")
        };
        let next: Setting = format!("bcrypt:{}", bcrypt.cost() + 1).parse().unwrap();
        assert!(truly_fits(&pick.setting, &asked), "{pick:?}");
        assert!(!truly_fits(&next, &asked), "{next} fits as well");
        let step = outcome.explanation.as_ref().and_then(|why| why.next.as_ref()).unwrap();
        assert_eq!(step.setting, next);
        assert!(step.ways.as_ref().is_some_and(|ways| !ways.is_empty()), "{step:?}");
        let codes: Vec<&str> = outcome.caveats.iter().map(Caveat::code).collect();
        assert!(codes.contains(&"bcrypt-input-limit"), "{codes:?}");
    }
}

#[test]
fn the_floor_is_not_passed_silently() {
    let mut asked = request(budget(250.0, 200.0, 1024, None), two_cpus());
    let mut world = World::new(two_cpus(), Millis(0.0));
    let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
    assert!(matches!(outcome.answer, Answer::Nothing(_)), "{:?}", outcome.answer);
    asked.bounds.below_floor = true;
    let mut world = World::new(two_cpus(), Millis(0.0));
    let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
    let pick = pick(&outcome).unwrap_or_else(|| panic!("{:?}", outcome.answer));
    assert!(!at_or_above_floor(&pick.setting) && pick.floor_ratio < 1.0, "{pick:?}");
    assert!(
        outcome.caveats.iter().any(|c| c.code() == "below-floor"),
        "{:?}",
        outcome.caveats
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn lanes_above_the_cpus_are_never_recommended(base in budgets(), affinity in 1_u32..4) {
        let cpus = Cpus { affinity, quota: None };
        let mut asked = request(base, cpus);
        asked.presets = [
            ("wide", "argon2id:m=102400,t=2,p=8"),
            ("wide-small", "argon2id:m=19456,t=2,p=8"),
            ("wide-least", "argon2id:m=7168,t=5,p=8"),
        ]
        .map(|(name, text)| (name.to_owned(), text.parse().unwrap()))
        .to_vec();
        asked.bounds.max_lanes = 8;
        asked.current = Some(asked.presets[1].1);
        let mut world = World::new(cpus, base.app_cpu);
        let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
        if let Some(pick) = pick(&outcome) {
            prop_assert!(pick.setting.lanes() <= affinity, "{pick:?}");
        }
        let wide = outcome.candidates.iter().filter(|c| c.setting.lanes() > affinity);
        for candidate in wide {
            prop_assert!(!candidate.verdict.fits(), "{candidate:?}");
        }
    }

    #[test]
    fn a_recommendation_is_never_over_a_budget(base in budgets(), affinity in 1_u32..5) {
        let cpus = Cpus { affinity, quota: None };
        let (outcome, world) = run(base, cpus);
        prop_assert!(world.measured.len() < 60, "{} measurements", world.measured.len());
        // Nothing stops this machine in the middle of a measurement: the last one may run over.
        prop_assert!(world.clock <= 66.0, "ran {} s", world.clock);
        if let Some(pick) = pick(&outcome) {
            let station = world.station(&pick.setting, pick.max_in_flight);
            let demand = [world.loaded(&pick.setting)];
            let truth = queue::long_run_quantile(&station, base.peak.per_s(), &demand, base.quantile);
            prop_assert!(truth.is_some_and(|s| s <= base.latency.as_s()), "{truth:?} {pick:?}");
            prop_assert!(base.peak.per_s() <= 0.9 * pick.evidence.ceiling.per_s() * 1.001);
            let held = pick.setting.memory_cost().as_f64() * f64::from(pick.max_in_flight);
            prop_assert!(held <= 0.9 * base.memory.as_f64());
            prop_assert!(at_or_above_floor(&pick.setting));
            prop_assert!(f64::from(pick.setting.lanes()) <= cpus.usable().floor().max(1.0));
        }
    }

    #[test]
    fn a_looser_budget_is_never_answered_weaker(base in budgets(), which in 0_usize..3, factor in 1.0..4.0_f64) {
        let Some((rank, strongest)) = proposed(base, two_cpus()) else { return Ok(()) };
        let loose = proposed(looser(base, which, factor), two_cpus());
        prop_assert!(loose.is_some(), "what fitted no longer does");
        let (loose_rank, loose_strongest) = loose.unwrap();
        prop_assert!(loose_strongest <= strongest * 1.000_001, "{loose_strongest} {strongest}");
        prop_assert!(loose_rank <= rank * TIE_BAND * 1.000_001, "{loose_rank} {rank}");
    }

    #[test]
    fn more_cpus_are_never_answered_weaker(base in budgets(), few in 1_u32..4, more in 1_u32..4) {
        let mut base = base;
        base.workers = Some(base.workers.unwrap_or(2));
        let at = |affinity| proposed(base, Cpus { affinity, quota: None });
        let Some((rank, strongest)) = at(few) else { return Ok(()) };
        let (more_rank, more_strongest) = at(few + more).expect("what fitted no longer does");
        prop_assert!(more_strongest <= strongest * 1.000_001, "{more_strongest} {strongest}");
        prop_assert!(more_rank <= rank * TIE_BAND * 1.000_001, "{more_rank} {rank}");
    }
}

proptest! {
    // Each case searches several times.
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Each remedy, not only the first.
    #[test]
    fn what_is_said_to_help_helps(
        latency in 5.0..400.0_f64,
        peak in 30.0..400.0_f64,
        // Enough to calibrate on both sides of where memory becomes fresh: what could not be measured is predicted badly.
        memory in 64_u64..192,
        workers in prop::option::of(1_u32..4),
    ) {
        let asked = request(budget(latency, peak, memory, workers), two_cpus());
        let mut world = World::new(two_cpus(), Millis(0.0));
        let Answer::Nothing(remedies) = recommend(&asked, &mut world, &mut Silent).unwrap().answer else {
            return Ok(());
        };
        prop_assert!(!remedies.is_empty());
        for remedy in remedies {
            let request = changed(&asked, &remedy.changes);
            prop_assert!(truly_fits(&remedy.setting, &request), "{remedy:?}");
            let mut world = World::new(request.cpus, Millis(0.0));
            let again = recommend(&request, &mut world, &mut Silent).unwrap();
            // A smallest change leaves nothing to spare: the measurement may still leave it open, never refuse it.
            prop_assert!(!matches!(again.answer, Answer::Nothing(_)), "{remedy:?} {:?}", again.answer);
        }
    }
}
