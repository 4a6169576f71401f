//! The search on a machine that gets faster and slower, as shared hosts do: how far apart answers in a row are, and that it never gives up
//! too early. Nothing is timed.

mod common;

use common::{World, budget, request, two_cpus};
use hashtune::arrivals::poisson;
use hashtune::caveat::Caveat;
use hashtune::measure::{DISTURBED, Load, Measure, MeasureError, Measurement, PeakMemory, Silent};
use hashtune::queue;
use hashtune::recommend::{Answer, Effort, Recommendation, recommend};
use hashtune::setting::{Algorithm, Setting};
use hashtune::stats::median;
use hashtune::strength::Attacker;

/// A random walk around 1 with a standard deviation of `sigma`, which forgets within about ten seconds.
fn walk(seed: u64, sigma: f64) -> Vec<f64> {
    const KEPT: f64 = 0.9;
    // Gaps of a Poisson process have mean and standard deviation 1; the sum of twelve is near enough to normal.
    let instants = poisson(seed, 1.0, 12 * 200);
    let normal = |twelve: &[f64]| (twelve[11] - twelve[0] - 11.0) / 11.0_f64.sqrt();
    let mut at = 0.0;
    instants
        .chunks(12)
        .map(|twelve| {
            at = KEPT * at + (1.0 - KEPT * KEPT).sqrt() * sigma * normal(twelve);
            f64::exp(at)
        })
        .collect()
}

fn answer(world: &mut dyn Measure) -> Answer {
    let asked = request(budget(250.0, 20.0, 1024, None), two_cpus());
    recommend(&asked, world, &mut Silent).unwrap().answer
}

fn pick(answer: Answer) -> Box<Recommendation> {
    match answer {
        Answer::Fits(pick) => pick,
        other => panic!("{other:?}"),
    }
}

/// The ratio of strength between sizes 10 % apart, m to the power 1.5: one step of the grid.
const STEP: f64 = 1.154;

#[test]
fn answers_in_a_row_are_near_each_other() {
    let calm = World::new(two_cpus(), hashtune::units::Millis(0.0));
    let ranks: Vec<f64> = (0..20)
        .map(|seed| {
            let mut world = World::new(two_cpus(), hashtune::units::Millis(0.0));
            world.drift = walk(seed, 0.04);
            let pick = pick(answer(&mut world));
            // Measuring a miss once more, and what lies between a miss and a fit, picks no setting that was merely lucky.
            let station = calm.station(&pick.setting, pick.max_in_flight);
            let truth = queue::long_run_quantile(&station, 20.0, &[calm.loaded(&pick.setting)], 0.95);
            assert!(truth.is_some_and(|s| s <= 0.25), "{truth:?}: {pick:?}");
            Attacker::builtin().rank(&pick.setting)
        })
        .collect();
    let middle = median(&ranks).unwrap();
    let within = |steps: i32| {
        let band = STEP.powi(steps);
        ranks
            .iter()
            .filter(|r| **r <= middle * band && middle <= **r * band)
            .count()
    };
    assert!(within(1) >= 18 && within(2) == 20, "{middle}: {ranks:?}");
}

/// The seconds of each run's own clock, beside its answer.
fn taken(seeds: std::ops::Range<u64>, sigma: f64, effort: Effort) -> Vec<f64> {
    let mut taken: Vec<f64> = seeds
        .map(|seed| {
            let mut world = World::new(two_cpus(), hashtune::units::Millis(0.0));
            world.drift = walk(seed, sigma);
            let mut asked = request(budget(250.0, 20.0, 1024, None), two_cpus());
            asked.effort = effort;
            pick(recommend(&asked, &mut world, &mut Silent).unwrap().answer);
            world.elapsed_s()
        })
        .collect();
    taken.sort_by(f64::total_cmp);
    taken
}

/// The clock is the simulation's: how much is measured, not how fast the test runs.
#[test]
fn an_idle_machine_is_answered_within_half_a_minute_and_quickly_within_ten_seconds() {
    for (effort, limit_s) in [(Effort::Full, 30.0), (Effort::Quick, 10.0)] {
        let taken = taken(0..40, 0.01, effort);
        assert!(taken.iter().all(|s| *s <= limit_s), "{effort:?}: {taken:?}");
    }
}

/// Every hash in the first runs at the peak is dearer than before.
struct DearPeak {
    world: World,
    by: f64,
    runs: usize,
}

impl DearPeak {
    fn new(by: f64, runs: usize) -> Self {
        let world = World::new(two_cpus(), hashtune::units::Millis(0.0));
        Self { world, by, runs }
    }

    /// What was tried at the peak, in order.
    fn tried(&self) -> Vec<Setting> {
        let open = self
            .world
            .measured
            .iter()
            .filter(|(_, l)| matches!(l, Load::Open { .. }));
        open.map(|(setting, _)| *setting).collect()
    }
}

impl Measure for DearPeak {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let dear = matches!(load, Load::Open { .. }) && self.tried().len() < self.runs;
        self.world.drift = vec![if dear { self.by } else { 1.0 }; 200];
        self.world.measure(setting, load)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.world.peak_memory(setting, workers)
    }

    fn elapsed_s(&self) -> f64 {
        self.world.elapsed_s()
    }
}

#[test]
fn a_miss_is_followed_by_weaker_settings_of_the_family() {
    let calm = pick(answer(&mut DearPeak::new(1.0, 0)));
    for by in [1.1, 1.2, 1.3, 1.5] {
        let mut world = DearPeak::new(by, usize::MAX);
        let pick = pick(answer(&mut world));
        assert_eq!(pick.setting.algorithm(), Algorithm::Argon2id, "{by}");
        let mut tried = world.tried();
        tried.dedup();
        let ranks: Vec<f64> = tried.iter().map(|s| Attacker::builtin().rank(s)).collect();
        // What is tried once more after a fit lies between the miss and the fit.
        assert!(ranks[1..].iter().all(|r| *r > ranks[0]), "{by}: {tried:?}");
        assert!(tried.len() > 1 || by < 1.2, "{by}: {tried:?}");
        assert!(
            pick.floor_ratio < calm.floor_ratio || tried.len() == 1,
            "{by}: {}",
            pick.setting
        );
    }
}

#[test]
fn one_burst_at_the_peak_is_measured_again_and_changes_no_answer() {
    let calm = pick(answer(&mut DearPeak::new(1.0, 0)));
    let mut world = DearPeak::new(1.4, 1);
    let pick = pick(answer(&mut world));
    assert_eq!(world.tried(), [calm.setting; 2]);
    assert_eq!(pick.setting, calm.setting);
}

/// In the first runs at the peak every hash has its CPU back late, and no counter tells.
struct StalledPeak {
    world: DearPeak,
    by_s: f64,
    runs: usize,
    /// What was lost in them.
    lost: Vec<f64>,
}

impl StalledPeak {
    fn new(by_s: f64, runs: usize) -> Self {
        let world = DearPeak::new(1.0, 0);
        let lost = Vec::new();
        Self {
            world,
            by_s,
            runs,
            lost,
        }
    }
}

impl Measure for StalledPeak {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let stalled = matches!(load, Load::Open { .. }) && self.world.tried().len() < self.runs;
        let mut measured = self.world.measure(setting, load)?;
        if stalled {
            measured.samples.iter_mut().for_each(|s| s.finished += self.by_s);
            self.lost.push(measured.lost(2.0).share);
        }
        Ok(measured)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.world.peak_memory(setting, workers)
    }

    fn elapsed_s(&self) -> f64 {
        self.world.elapsed_s()
    }
}

/// The answer with one lane: with more it cannot be told what was lost.
fn one_lane(world: &mut dyn Measure) -> Answer {
    let mut asked = request(budget(250.0, 20.0, 1024, None), two_cpus());
    asked.bounds.max_lanes = 1;
    recommend(&asked, world, &mut Silent).unwrap().answer
}

#[test]
fn a_stall_at_the_peak_is_measured_again_and_changes_no_answer() {
    let calm = pick(one_lane(&mut DearPeak::new(1.0, 0)));
    let mut world = StalledPeak::new(0.01, 1);
    let pick = pick(one_lane(&mut world));
    // So little that only the miss is a reason to look again.
    assert!(world.lost[0] > 0.02 && world.lost[0] < DISTURBED, "{:?}", world.lost);
    assert_eq!(world.world.tried(), [calm.setting; 2]);
    assert_eq!(pick.setting, calm.setting);
}

#[test]
fn no_setting_is_measured_at_the_peak_three_times() {
    for by_s in [0.01, 0.1] {
        let mut world = StalledPeak::new(by_s, usize::MAX);
        one_lane(&mut world);
        let tried = world.world.tried();
        let times = |setting: &Setting| tried.iter().filter(|s| *s == setting).count();
        let most = tried.iter().map(times).max();
        assert_eq!(most, Some(2), "{by_s}: {tried:?} {:?}", world.lost);
    }
}

/// Others disturb every closed loop of close measurements, and no run at the peak.
struct Company(World);

impl Measure for Company {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let mut measured = self.0.measure(setting, load)?;
        if let Load::Closed { .. } = load {
            measured.caveats.push(Caveat::BusyHost { cpus: 0.07 });
        }
        Ok(measured)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.0.peak_memory(setting, workers)
    }

    fn elapsed_s(&self) -> f64 {
        self.0.elapsed_s()
    }
}

#[test]
fn doubts_about_the_picks_closed_loop_are_told() {
    let mut world = Company(World::new(two_cpus(), hashtune::units::Millis(0.0)));
    let asked = request(budget(250.0, 20.0, 1024, None), two_cpus());
    let outcome = recommend(&asked, &mut world, &mut Silent).unwrap();
    let codes: Vec<&str> = outcome.caveats.iter().map(Caveat::code).collect();
    assert_eq!(codes.iter().filter(|c| **c == "busy-host").count(), 1, "{codes:?}");
}

/// A machine that slows down steadily makes each guess turn out dearer than its neighbours were.
#[test]
fn a_machine_that_slows_down_is_still_answered_in_the_family() {
    let mut world = World::new(two_cpus(), hashtune::units::Millis(0.0));
    world.drift = (0..200).map(|s| 1.0 + 0.005 * f64::from(s)).collect();
    let pick = pick(answer(&mut world));
    assert_eq!(pick.setting.algorithm(), Algorithm::Argon2id);
}
