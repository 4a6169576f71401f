//! A run that others disturbed is taken once more.

use super::caveats::LOST_S;
use super::{CpuPerHash, Load, Measure, MeasureError, Measurement, Observer, Thresholds};
use crate::caveat::Caveat;
use crate::setting::Setting;
use crate::units::Share;

/// Share of the usable CPUs that others may take before a run is repeated.
pub const DISTURBED: f64 = 0.1;
/// Times its own length that must be left for a run to be repeated.
const ROOM: f64 = 1.5;

/// Share of the usable CPUs that other processes or the hypervisor took during a run, or of the CPU time due to the hashes that is
/// lost, whichever is more; 0 where ticks or seconds are too few to tell.
pub fn disturbed(run: &Measurement, usable_cpus: f64) -> f64 {
    let counted = (run.disturbance.others_cpus / usable_cpus).max(run.disturbance.stolen);
    let lost = run.lost(usable_cpus);
    let ticks = counted * usable_cpus * run.wall_s > Thresholds::new(usable_cpus).ticks_s;
    let told = |told: bool, share: f64| if told { share } else { 0.0 };
    told(ticks, counted).max(told(lost.seconds > LOST_S, lost.share))
}

/// Measures, and once more when others took more than [`DISTURBED`] of the CPUs and there is time until `until_s` of the world's
/// clock. The quieter run counts; when that one was disturbed too, or the two disagree, it says so in its caveats. Also gives whether
/// it was measured once more.
///
/// # Errors
/// Those of the first measurement.
pub fn measure_undisturbed(
    world: &mut dyn Measure,
    observer: &mut dyn Observer,
    usable_cpus: f64,
    until_s: f64,
    setting: &Setting,
    load: &Load,
) -> Result<(Measurement, bool), MeasureError> {
    let run = world.measure(setting, load)?;
    if disturbed(&run, usable_cpus) <= DISTURBED || until_s - world.elapsed_s() < ROOM * run.wall_s {
        return Ok((run, false));
    }
    let took = Share(disturbed(&run, usable_cpus));
    observer.note(&format!(
        "others took {took} of the CPU time: measuring {setting} once more"
    ));
    // A first run is a figure; that a second one failed does not take it away.
    let Ok(again) = world.measure(setting, load) else {
        return Ok((run, true));
    };
    let seen = CpuPerHash::of(&run).zip(CpuPerHash::of(&again));
    let disagreement = seen.and_then(|(first, second)| first.disagreement(&second, setting));
    let whole = again.samples.len() >= run.samples.len() || matches!(load, Load::Closed { .. });
    let mut quieter = if whole && disturbed(&again, usable_cpus) < disturbed(&run, usable_cpus) {
        again
    } else {
        run
    };
    quieter.caveats.extend(disagreement);
    let share = disturbed(&quieter, usable_cpus);
    if share > DISTURBED {
        quieter.caveats.push(Caveat::StillDisturbed { share });
    }
    Ok((quieter, true))
}

#[cfg(test)]
mod tests {
    use super::super::testing::steady;
    use super::super::{PeakMemory, Silent};
    use super::*;

    /// Gives one measurement after another, each with so many CPUs taken by others and so much CPU a hash.
    struct Script(Vec<(f64, f64)>, f64);

    impl Measure for Script {
        fn measure(&mut self, _: &Setting, _: &Load) -> Result<Measurement, MeasureError> {
            let (others_cpus, cpu) = self.0.remove(0);
            let mut m = steady(40);
            m.disturbance.others_cpus = others_cpus;
            m.samples.iter_mut().for_each(|s| s.thread_cpu = cpu);
            m.cpu_s = 40.0 * cpu;
            self.1 += m.wall_s;
            Ok(m)
        }

        fn peak_memory(&mut self, _: &Setting, _: u32) -> Result<PeakMemory, MeasureError> {
            Err(MeasureError::Time)
        }

        fn elapsed_s(&self) -> f64 {
            self.1
        }
    }

    /// What counts, its doubts, and the runs that were not taken.
    fn of(script: &[(f64, f64)], until_s: f64) -> (f64, Vec<&'static str>, usize) {
        let mut world = Script(script.to_vec(), 0.0);
        let setting = "bcrypt:4".parse().unwrap();
        let load = Load::Single { hashes: 40 };
        let (m, again) = measure_undisturbed(&mut world, &mut Silent, 2.0, until_s, &setting, &load).unwrap();
        assert_eq!(script.len() - world.0.len(), if again { 2 } else { 1 });
        let codes = m.caveats.iter().map(Caveat::code).collect();
        (m.disturbance.others_cpus, codes, world.0.len())
    }

    #[test]
    fn a_disturbed_run_is_taken_once_more_and_the_quieter_counts() {
        assert_eq!(of(&[(0.1, 0.01), (0.0, 0.01)], 60.0), (0.1, vec![], 1));
        assert_eq!(of(&[(0.5, 0.01), (0.0, 0.01)], 60.0), (0.0, vec![], 0));
        assert_eq!(
            of(&[(0.5, 0.01), (0.3, 0.01), (0.0, 0.01)], 60.0),
            (0.3, vec!["still-disturbed"], 1),
            "once"
        );
        assert_eq!(of(&[(0.5, 0.01), (0.9, 0.01)], 60.0), (0.5, vec!["still-disturbed"], 0));
        assert_eq!(
            of(&[(0.5, 0.01), (0.0, 0.01)], 2.0),
            (0.5, vec![], 1),
            "no time is left"
        );
    }

    #[test]
    fn two_runs_that_disagree_say_so() {
        assert_eq!(of(&[(0.5, 0.013), (0.0, 0.010)], 60.0), (0.0, vec!["noisy"], 0));
    }

    #[test]
    fn a_tick_in_a_short_run_disturbs_nothing() {
        let mut m = steady(1);
        m.disturbance.others_cpus = 0.4;
        assert_eq!(disturbed(&m, 2.0), 0.0);
        m.wall_s = 1.0;
        assert_eq!(disturbed(&m, 2.0), 0.2);
    }
}
