//! The search in every family, proved without timing anything.

mod common;

use common::{World, budget, looser, propose_exactly, request};
use hashtune::budget::Budget;
use hashtune::measure::Silent;
use hashtune::queue::{self, Cpus};
use hashtune::recommend::grid;
use hashtune::recommend::{AIM, Answer, Bounds, DRIFT, Outcome, Recommendation, Request, recommend};
use hashtune::setting::{Algorithm, Setting};
use hashtune::strength::{TIE_BAND, at_or_above_floor};
use hashtune::units::Millis;
use proptest::prelude::*;

fn cpus(affinity: u32) -> Cpus {
    Cpus { affinity, quota: None }
}

fn asked(algorithm: Algorithm, budget: Budget, cpus: Cpus) -> Request {
    Request {
        algorithms: vec![algorithm],
        presets: Vec::new(),
        ..request(budget, cpus)
    }
}

fn run(request: &Request) -> (Outcome, World) {
    let mut world = World::new(request.cpus, request.budget.app_cpu);
    let outcome = recommend(request, &mut world, &mut Silent).unwrap();
    (outcome, world)
}

fn pick(outcome: &Outcome) -> Option<&Recommendation> {
    match &outcome.answer {
        Answer::Fits(pick) => Some(pick),
        _ => None,
    }
}

/// The quantile at the peak as it truly is, in seconds, when hashes cost `dearer` times their CPU; `None` when the queue grows without end.
fn truth(world: &World, setting: &Setting, workers: u32, budget: &Budget, dearer: f64) -> Option<f64> {
    let demand = [world.loaded(setting) * dearer];
    let station = world.station(setting, workers);
    queue::long_run_quantile(&station, budget.peak.per_s(), &demand, budget.quantile)
}

/// Whether memory and the CPUs' headroom hold a setting.
fn held(world: &World, setting: &Setting, workers: u32, budget: &Budget) -> bool {
    let memory = (setting.memory_cost().as_f64() + 131_072.0 * f64::from(setting.lanes())) * f64::from(workers);
    let load = world
        .station(setting, workers)
        .load(budget.peak.per_s(), world.loaded(setting));
    memory <= 0.9 * budget.memory.as_f64() && load <= 0.9
}

/// Whether a setting could be proposed with any number of workers, told from the truth and not from the planner.
fn could_be_proposed(world: &World, setting: &Setting, budget: &Budget, slack: f64) -> bool {
    let workers = match budget.workers {
        Some(workers) => workers..=workers,
        None => 1..=world.cpus.affinity,
    };
    let limit_s = budget.latency.as_s();
    let within = |latency: Option<f64>, limit: f64| latency.is_some_and(|s| s <= limit * slack);
    workers.into_iter().any(|w| {
        held(world, setting, w, budget)
            && within(truth(world, setting, w, budget, 1.0), AIM * limit_s)
            && within(truth(world, setting, w, budget, DRIFT), limit_s)
    })
}

/// Settings at least one grid step stronger along each parameter.
fn next_up(setting: &Setting) -> Vec<Setting> {
    let texts = match setting {
        Setting::Argon2id(a) => {
            let more = (a.memory_kib() * 11).div_ceil(10).div_ceil(1024) * 1024;
            vec![format!("argon2id:m={more},t={},p={}", a.time_cost(), a.lanes())]
        }
        Setting::Bcrypt(b) => vec![format!("bcrypt:{}", b.cost() + 1)],
        Setting::Scrypt(s) => vec![format!("scrypt:n={},r=8,p={}", s.n() * 2, s.p())],
        Setting::Pbkdf2(p) => {
            let more = (u64::from(p.iterations()) * 53).div_ceil(50_000) * 1000;
            vec![format!("{}:{more}", setting.algorithm())]
        }
    };
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

fn family() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL.to_vec())
}

fn budgets() -> impl Strategy<Value = Budget> {
    (
        50.0..1000.0_f64,
        0.5..60.0_f64,
        32_u64..4096,
        prop::option::of(1_u32..10),
    )
        .prop_map(|(latency, peak, memory, workers)| budget(latency, peak, memory, workers))
}

/// The properties below say nothing where nothing fits: often something does, in every family.
#[test]
fn every_family_is_picked_where_it_is_asked_for() {
    for algorithm in Algorithm::ALL {
        let fits = |latency| {
            let asked = asked(algorithm, budget(latency, 2.0, 1024, None), cpus(4));
            pick(&run(&asked).0).is_some_and(|p| p.setting.algorithm() == algorithm)
        };
        assert!([500.0, 700.0, 1000.0].into_iter().all(fits), "{algorithm}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_pick_of_any_family_keeps_every_budget(algorithm in family(), base in budgets(), affinity in 1_u32..5) {
        let asked = asked(algorithm, base, cpus(affinity));
        let (outcome, world) = run(&asked);
        // Nothing stops this machine in the middle of a measurement: the last one may run over.
        prop_assert!(world.clock <= 66.0, "ran {} s", world.clock);
        let Some(pick) = pick(&outcome) else { return Ok(()) };
        prop_assert_eq!(pick.setting.algorithm(), algorithm);
        prop_assert!(at_or_above_floor(&pick.setting), "{:?}", pick.setting);
        prop_assert!(f64::from(pick.setting.lanes()) <= asked.usable_cpus.floor().max(1.0));
        prop_assert!(held(&world, &pick.setting, pick.max_in_flight, &base), "{:?}", pick);
        let latency = truth(&world, &pick.setting, pick.max_in_flight, &base, 1.0);
        prop_assert!(latency.is_some_and(|s| s <= base.latency.as_s()), "{:?} {:?}", latency, pick);
        prop_assert!(pick.evidence.latency.high <= base.latency.as_s());
    }

    #[test]
    fn the_same_measurements_give_the_same_answer(algorithm in family(), base in budgets()) {
        let asked = asked(algorithm, base, cpus(2));
        prop_assert_eq!(run(&asked).0, run(&asked).0);
    }

    #[test]
    fn a_looser_budget_is_never_answered_weaker(algorithm in family(), base in budgets(), which in 0_usize..3, factor in 1.0..4.0_f64) {
        let at = |budget| propose_exactly(algorithm, &asked(algorithm, budget, cpus(2)));
        let Some(tight) = at(base) else { return Ok(()) };
        let loose = at(looser(base, which, factor));
        prop_assert!(loose.is_some(), "what fitted no longer does: {:?}", tight);
        let loose = loose.unwrap();
        prop_assert!(loose.strongest <= tight.strongest * 1.000_001, "{:?} {:?}", loose, tight);
        prop_assert!(loose.rank <= tight.rank * TIE_BAND * 1.000_001, "{:?} {:?}", loose, tight);
    }

    /// One step further nothing fits. The slack is for the steps of the planner's own bisection.
    #[test]
    fn a_proposal_leaves_no_step_unused(algorithm in family(), base in budgets(), affinity in 1_u32..4) {
        let asked = asked(algorithm, base, cpus(affinity));
        let Some(proposal) = propose_exactly(algorithm, &asked) else { return Ok(()) };
        let world = World::new(asked.cpus, base.app_cpu);
        prop_assert!(could_be_proposed(&world, &proposal.setting, &base, 1.05), "{:?}", proposal);
        for next in next_up(&proposal.setting) {
            prop_assert!(!could_be_proposed(&world, &next, &base, 0.93), "{} fits as well as {:?}", next, proposal);
        }
    }

    #[test]
    fn bounds_are_kept(base in budgets(), min_kib in 7168_u32..65_536, lanes in 1_u32..4, passes in 1_u32..8) {
        let bounds = Bounds {
            max_lanes: lanes,
            max_time_cost: passes,
            min_memory_kib: min_kib,
            below_floor: false,
        };
        let mut asked = asked(Algorithm::Argon2id, base, cpus(4));
        asked.bounds = bounds;
        // Presets are bound as well, and they would be the way around.
        asked.presets = request(base, cpus(4)).presets;
        if let Some(pick) = pick(&run(&asked).0) {
            let Setting::Argon2id(a) = pick.setting else { panic!("{:?}", pick.setting) };
            prop_assert!(a.memory_kib() >= min_kib && a.lanes() <= lanes && a.time_cost() <= passes, "{}", pick.setting);
        }
    }
}

/// bcrypt's pick is under the budget and its next cost over it, wherever the budget lies between two costs.
#[test]
fn the_next_bcrypt_cost_is_over_the_budget() {
    for latency in [
        60.0, 80.0, 95.0, 110.0, 130.0, 150.0, 180.0, 200.0, 240.0, 300.0, 400.0, 500.0,
    ] {
        for peak in [12.0, 20.0, 30.0] {
            let base = budget(latency, peak, 256, None);
            let (outcome, world) = run(&asked(Algorithm::Bcrypt, base, cpus(2)));
            let Some(pick) = pick(&outcome) else { continue };
            let next = next_up(&pick.setting)[0];
            let out = (1..=2).all(|w| {
                let worst = truth(&world, &next, w, &base, 1.0);
                !held(&world, &next, w, &base) || worst.is_none_or(|s| s > 0.97 * base.latency.as_s())
            });
            let measured = outcome
                .candidates
                .iter()
                .any(|c| c.setting == next && c.measured && !c.verdict.fits());
            // Near the ceiling a hash 8 % dearer decides.
            let fragile = (1..=2).all(|w| {
                !held(&world, &next, w, &base)
                    || truth(&world, &next, w, &base, DRIFT).is_none_or(|s| s > base.latency.as_s() / AIM * 0.97)
            });
            assert!(
                out || measured || fragile,
                "{latency} ms, {peak}/s: {} fits and {}",
                next,
                pick.setting
            );
        }
    }
    // A budget of which cost 11 takes nine tenths is not answered with cost 10.
    let eleven: Setting = "bcrypt:11".parse().unwrap();
    let at = |latency| budget(latency, 10.0, 256, None);
    let world = World::new(cpus(2), Millis(0.0));
    let p95_ms = truth(&world, &eleven, 2, &at(500.0), 1.0).unwrap() * 1e3;
    let asked = asked(Algorithm::Bcrypt, at(p95_ms / 0.9), cpus(2));
    let proposed = propose_exactly(Algorithm::Bcrypt, &asked).unwrap();
    assert_eq!(proposed.setting.to_string(), "bcrypt:10");
    assert_eq!(pick(&run(&asked).0).map(|p| p.setting), Some(eleven));
}

/// scrypt's second block doubles the work as bcrypt's next cost does: 131072,8,2 in a budget that it takes nine tenths of.
#[test]
fn a_second_block_of_scrypt_is_not_given_away() {
    let two: Setting = "scrypt:n=131072,r=8,p=2".parse().unwrap();
    let at = |latency| budget(latency, 1.0, 300, None);
    let world = World::new(cpus(2), Millis(0.0));
    let p95_ms = truth(&world, &two, 2, &at(1000.0), 1.0).unwrap() * 1e3;
    let base = at(p95_ms / 0.88);
    // Sixty hashes of half a second, after sixty of the first proposal.
    let asked = Request {
        time_limit_s: 120.0,
        ..asked(Algorithm::Scrypt, base, cpus(2))
    };
    let (outcome, _) = run(&asked);
    let proposed = propose_exactly(Algorithm::Scrypt, &asked).unwrap();
    assert_ne!(proposed.setting, two, "it keeps the reserve, which proves nothing");
    assert_eq!(pick(&outcome).map(|p| p.setting), Some(two), "{:?}", outcome.answer);
}

/// Where nothing keeps the reserve that proposals leave, what may fit without it is measured rather than ruled out; what then misses is no doubt
/// about the answer, since nothing was predicted to fit.
#[test]
fn the_floor_is_measured_before_it_is_given_up() {
    let at = |latency| run(&asked(Algorithm::Bcrypt, budget(latency, 20.0, 256, None), cpus(2))).0;
    let world = World::new(cpus(2), Millis(0.0));
    let floor: Setting = "bcrypt:10".parse().unwrap();
    let p95_ms = truth(&world, &floor, 2, &budget(100.0, 20.0, 256, None), 1.0).unwrap() * 1e3;
    let fits = at(p95_ms * 1.08);
    assert_eq!(pick(&fits).map(|p| p.setting), Some(floor), "{:?}", fits.answer);
    let missed = at(p95_ms * 1.005);
    let Answer::Nothing(remedies) = &missed.answer else {
        panic!("{:?}", missed.answer)
    };
    assert!(remedies.iter().any(|r| r.name() == "a longer budget"), "{remedies:?}");
    let tried = missed
        .candidates
        .iter()
        .any(|c| c.setting == floor && c.measured && !c.verdict.fits());
    assert!(tried, "{:?}", missed.candidates);
}

/// Lanes cut latency while CPUs are idle; where the peak takes all CPUs they gain nothing and are not asked for.
#[test]
fn lanes_are_used_where_latency_binds_and_not_where_the_peak_does() {
    let lanes = |latency, peak, memory| {
        let (outcome, _) = run(&asked(
            Algorithm::Argon2id,
            budget(latency, peak, memory, None),
            cpus(4),
        ));
        pick(&outcome)
            .unwrap_or_else(|| panic!("{:?}", outcome.answer))
            .setting
            .lanes()
    };
    assert!(lanes(60.0, 10.0, 4096) > 1, "four CPUs are idle and 60 ms bind");
    assert_eq!(lanes(2000.0, 60.0, 4096), 1, "the peak binds");
    // Where memory binds as well, lanes are worth something again: they keep the CPUs busy with fewer hashes in memory.
    assert!(lanes(2000.0, 60.0, 256) > 1, "memory binds");
}

/// Within the tie band more memory wins, then fewer lanes: no setting of the grid that could be proposed and ties has more memory, or as much
/// with fewer lanes.
#[test]
fn ties_go_to_memory_and_then_to_fewer_lanes() {
    let attacker = hashtune::strength::Attacker::builtin();
    for (latency, peak, memory) in [
        (250.0, 20.0, 1024),
        (100.0, 10.0, 1024),
        (500.0, 5.0, 256),
        (120.0, 2.0, 4096),
    ] {
        let asked = asked(Algorithm::Argon2id, budget(latency, peak, memory, None), cpus(2));
        let proposal = propose_exactly(Algorithm::Argon2id, &asked).unwrap();
        let world = World::new(asked.cpus, asked.budget.app_cpu);
        let Setting::Argon2id(chosen) = proposal.setting else {
            unreachable!()
        };
        assert!(proposal.rank <= proposal.strongest * TIE_BAND);
        for t in 1..=24 {
            for lanes in [1, 2] {
                let sizes = grid::argon2_memory(chosen.memory_kib() * 3);
                for kib in sizes.into_iter().filter(|kib| *kib >= chosen.memory_kib()) {
                    let other: Setting = format!("argon2id:m={kib},t={t},p={lanes}").parse().unwrap();
                    let better = kib > chosen.memory_kib() || (kib == chosen.memory_kib() && lanes < chosen.lanes());
                    let ties = attacker.rank(&other) <= proposal.strongest * TIE_BAND;
                    if better && ties && could_be_proposed(&world, &other, &asked.budget, 0.93) {
                        panic!("{other} ties with {} and wins", proposal.setting);
                    }
                }
            }
        }
    }
}
