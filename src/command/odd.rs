//! Settings that were asked for and look odd.

use hashtune::caveat::{Caveat, SettingDoubt};
use hashtune::preset::{self, Preset};
use hashtune::setting::{Argon2id, lanes_above};

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
        .flat_map(|(what, setting)| setting.caveats(&what, usable_cpus))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, Request};

    fn codes(line: &str, own: &[&str]) -> Vec<String> {
        let words = line.split_whitespace().map(std::ffi::OsString::from);
        let Ok(Request::Recommend(plan)) = cli::parse(words) else {
            panic!("{line}");
        };
        let own = own.iter().map(|text| Preset {
            name: "ours".into(),
            setting: text.parse().unwrap(),
            description: "ours".into(),
            source: "ours".into(),
            url: String::new(),
            date: "2026".into(),
            minimum: false,
        });
        let presets: Vec<Preset> = preset::builtin().iter().cloned().chain(own).collect();
        let told = asked(&plan, &presets, 2.0);
        told.iter()
            .map(|caveat| format!("{} {}", caveat.text().split(':').next().unwrap(), caveat.code()))
            .collect()
    }

    #[test]
    fn what_the_operator_brings_is_questioned_and_what_is_built_in_is_not() {
        let none: [String; 0] = [];
        assert_eq!(codes("hashtune --peak 1/s", &[]), none);
        assert_eq!(
            codes("hashtune --peak 1/s --max-lanes 2 --current owasp-19m", &[]),
            none
        );
        assert_eq!(
            codes("hashtune --peak 1/s --max-lanes 8", &[]),
            ["--max-lanes lanes-above-cpus"]
        );
        assert_eq!(
            codes("hashtune --peak 1/s --current argon2id:m=67108864,t=1,p=1", &[]),
            ["--current argon2id looks-like-bytes"]
        );
        assert_eq!(
            codes("hashtune --peak 1/s", &["argon2id:m=65537,t=3,p=4"]),
            ["ours (argon2id memory-unfilled", "ours (argon2id lanes-above-cpus"]
        );
    }

    #[test]
    fn hashes_as_frameworks_store_them_are_settings_in_use() {
        // Django's own form, of its default parameters.
        let hash =
            "argon2$argon2id$v=19$m=102400,t=2,p=8$c2FsdHNhbHRzYWx0c2FsdA$S3hTdDRJdDJ5eVJVcFZuZ3ZtUEtFeEpzS0U4a1R2bTQ";
        assert_eq!(
            codes(
                &format!("hashtune --peak 1/s --algorithm bcrypt --compare --current {hash}"),
                &[]
            ),
            ["--current argon2id lanes-above-cpus"]
        );
    }
}
