//! Settings that were asked for and look odd.

use hashtune::caveat::{Caveat, SettingDoubt};
use hashtune::preset::{self, Preset};
use hashtune::setting::{Argon2id, Setting, lanes_above};

use crate::cli::Plan;

/// What is odd about the settings that the operator brought to the main job: `--current`, own presets and `--max-lanes`.
///
/// `presets` are all, the built-in ones first. Those are cited: nothing is odd about them but lanes, which their verdict tells.
pub fn asked(plan: &Plan, presets: &[Preset], usable_cpus: f64) -> Vec<Caveat> {
    let own = presets.iter().skip(preset::builtin().len());
    let own = own.map(|p| (format!("{} ({})", p.name, p.setting), p.setting));
    let current = plan.current.map(|setting| (format!("--current {setting}"), setting));
    let mut odd: Vec<Caveat> = current
        .into_iter()
        .chain(own)
        .flat_map(|(what, setting)| about(&what, &setting, usable_cpus))
        .collect();
    let lanes = plan.bounds.max_lanes;
    if lanes < Argon2id::MAX_LANES && lanes_above(lanes, usable_cpus) {
        odd.push(Caveat::OddSetting {
            what: "--max-lanes".to_owned(),
            doubt: SettingDoubt::LanesAboveCpus {
                lanes,
                cpus: usable_cpus,
            },
        });
    }
    odd
}

/// What is odd about one setting, called `what`.
pub fn about(what: &str, setting: &Setting, usable_cpus: f64) -> Vec<Caveat> {
    let doubts = setting.doubts(usable_cpus).into_iter();
    doubts
        .map(|doubt| Caveat::OddSetting {
            what: what.to_owned(),
            doubt,
        })
        .collect()
}
