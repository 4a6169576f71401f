//! The search on a machine that gets faster and slower, as shared hosts do: how far apart answers in a row are, and that it never gives up
//! too early. Nothing is timed.

mod common;

use common::{World, budget, request, two_cpus};
use hashtune::arrivals::poisson;
use hashtune::measure::{Load, Measure, MeasureError, Measurement, PeakMemory, Silent};
use hashtune::recommend::{Answer, Recommendation, recommend};
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

/// The share of strength that one step of the grid is, of sizes 5 % apart: m to the power 1.5.
const STEP: f64 = 1.079;

#[test]
fn answers_in_a_row_are_near_each_other() {
    let ranks: Vec<f64> = (0..20)
        .map(|seed| {
            let mut world = World::new(two_cpus(), hashtune::units::Millis(0.0));
            world.drift = walk(seed, 0.02);
            Attacker::builtin().rank(&pick(answer(&mut world)).setting)
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

/// Every hash at the peak is dearer than before, by so much.
struct DearPeak(World, f64);

impl Measure for DearPeak {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let dear = if matches!(load, Load::Open { .. }) { self.1 } else { 1.0 };
        self.0.drift = vec![dear; 200];
        self.0.measure(setting, load)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.0.peak_memory(setting, workers)
    }

    fn elapsed_s(&self) -> f64 {
        self.0.elapsed_s()
    }
}

#[test]
fn a_miss_is_followed_by_weaker_settings_of_the_family() {
    let calm = pick(answer(&mut World::new(two_cpus(), hashtune::units::Millis(0.0))));
    for dear in [1.1, 1.2, 1.3, 1.5] {
        let mut world = DearPeak(World::new(two_cpus(), hashtune::units::Millis(0.0)), dear);
        let pick = pick(answer(&mut world));
        assert_eq!(pick.setting.algorithm(), Algorithm::Argon2id, "{dear}");
        let mut tried: Vec<Setting> = Vec::new();
        for (setting, load) in &world.0.measured {
            if matches!(load, Load::Open { .. }) && !tried.contains(setting) {
                tried.push(*setting);
            }
        }
        let ranks: Vec<f64> = tried.iter().map(|s| Attacker::builtin().rank(s)).collect();
        assert!(ranks.windows(2).all(|r| r[0] < r[1]), "{dear}: {tried:?}");
        assert!(tried.len() > 1 || dear < 1.2, "{dear}: {tried:?}");
        assert!(
            pick.floor_ratio < calm.floor_ratio || tried.len() == 1,
            "{dear}: {}",
            pick.setting
        );
    }
}

/// A machine that slows down steadily makes each guess turn out dearer than its neighbours were.
#[test]
fn a_machine_that_slows_down_is_still_answered_in_the_family() {
    let mut world = World::new(two_cpus(), hashtune::units::Millis(0.0));
    world.drift = (0..200).map(|s| 1.0 + 0.005 * f64::from(s)).collect();
    let pick = pick(answer(&mut world));
    assert_eq!(pick.setting.algorithm(), Algorithm::Argon2id);
}
