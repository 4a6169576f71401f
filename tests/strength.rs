//! The model of strength against published figures, and its properties.

use hashtune::preset::builtin;
use hashtune::setting::{Algorithm, Setting};
use hashtune::strength::{self, Attacker, Label};
use proptest::prelude::*;

fn s(text: &str) -> Setting {
    text.parse().unwrap()
}

fn near(value: f64, wanted: f64, share: f64) -> bool {
    (value / wanted - 1.0).abs() <= share
}

fn a() -> &'static Attacker {
    Attacker::builtin()
}

/// The published speeds of an RTX 4090 come out of the model as they went in.
#[test]
fn anchors_are_reproduced() {
    for (setting, published) in [
        ("argon2id:m=65536,t=3,p=1", 1667.0),
        ("scrypt:n=16384,r=8,p=1", 8910.0),
        ("bcrypt:5", 184_000.0),
        ("pbkdf2-sha256:999", 8_865_700.0),
        ("pbkdf2-sha512:999", 3_120_900.0),
    ] {
        let guesses = a().guesses(&s(setting));
        assert!(near(guesses.tools.per_s, published, 1e-9), "{setting}");
        assert_eq!(guesses.tools.label, Label::Measured, "{setting}");
    }
}

/// The constants of the design: guesses/s x work.
#[test]
fn constants_are_those_of_the_design() {
    for (setting, work, bound, tools) in [
        ("argon2id:m=19456,t=2,p=1", 19_456.0 * 5.0, 9.65e8, 8.74e8),
        ("argon2id:m=2097152,t=1,p=4", 2_097_152.0 * 2.0, 9.65e8, 8.74e8),
        ("scrypt:n=131072,r=8,p=1", 131_072.0 * 8.0, 6.3e9, 1.168e9),
        ("bcrypt:12", 4096.0 * 1042.0 + 585.0, 6.243e9, 6.243e9),
        ("pbkdf2-sha256:600000", 600_000.0, 8.857e9, 8.857e9),
        ("pbkdf2-sha512:210000", 210_000.0, 3.118e9, 3.118e9),
    ] {
        let guesses = a().guesses(&s(setting));
        assert!(near(guesses.bound.per_s * work, bound, 1e-3), "{setting}: {guesses:?}");
        assert!(near(guesses.tools.per_s * work, tools, 1e-3), "{setting}: {guesses:?}");
    }
}

/// Speeds that fixed nothing, scaled by what limits the family: errors in percent as docs/strength.md states them.
const CHECKS: [(&str, &str, f64); 10] = [
    ("RTX 5090", "argon2id:m=16384,t=3,p=1", 3.7),
    ("GTX 1080", "argon2id:m=16384,t=3,p=1", 21.5),
    ("GTX 1080 Ti", "argon2id:m=65536,t=3,p=1", 49.3),
    ("RTX 2080", "argon2id:m=65536,t=3,p=1", 41.9),
    ("RTX 5090", "pbkdf2-sha256:999", 2.5),
    ("RTX 3090", "pbkdf2-sha256:999", 3.5),
    ("RTX 3090", "pbkdf2-sha256:9999", 4.4),
    ("GTX 1080 Ti", "pbkdf2-sha256:999", 4.0),
    ("RTX 5090", "pbkdf2-sha512:1000", 0.7),
    ("RTX 3090", "pbkdf2-sha512:999", -16.6),
];

#[test]
fn other_cards_are_told_within_the_stated_error() {
    assert_eq!(a().checks().len(), CHECKS.len());
    for (check, (card, setting, percent)) in a().checks().iter().zip(CHECKS) {
        assert_eq!((check.hardware.as_str(), check.anchor.setting), (card, s(setting)));
        let error = a().check_error(check) * 100.0;
        assert!((error - percent).abs() < 0.1, "{card} {setting}: {error} %");
        let row = include_str!("../docs/strength.md")
            .lines()
            .any(|l| l.contains(card) && l.contains(&check.anchor.url) && l.contains(&format!("{percent:+.1} %")));
        assert!(row, "docs/strength.md lacks {card} {setting} {percent:+.1} %");
    }
    let understated: Vec<_> = CHECKS.iter().filter(|(_, _, percent)| *percent < 0.0).collect();
    assert_eq!(understated.len(), 1, "all but one err on the safe side");
}

/// What is true of one card is true of the other: from the RTX 5090's speeds the 4090's follow.
#[test]
fn the_other_attacker_agrees() {
    let newer = Attacker::named("rtx-5090").unwrap();
    for check in newer.checks() {
        let error = newer.check_error(check);
        assert!(error.abs() < 0.05, "{}: {error}", check.anchor.setting);
    }
    for algorithm in Algorithm::ALL {
        let minimum = strength::minimum(algorithm);
        let ratio = newer.guesses(&minimum).bound.per_s / a().guesses(&minimum).bound.per_s;
        assert!((1.2..1.8).contains(&ratio), "{algorithm}: {ratio}");
    }
}

/// Who attacks changes no order: the hardware's constants cancel out of the rank.
#[test]
fn the_order_is_the_same_for_every_attacker() {
    for newer in Attacker::all() {
        let mut sorted: Vec<_> = builtin().iter().map(|p| p.setting).collect();
        sorted.sort_by(|x, y| {
            (x.algorithm(), a().rank(x))
                .partial_cmp(&(y.algorithm(), a().rank(y)))
                .unwrap()
        });
        let ranks = |s: &Setting| newer.rank(s);
        let families = sorted.chunk_by(|x, y| x.algorithm() == y.algorithm());
        for family in families {
            assert!(
                family.is_sorted_by(|x, y| ranks(x) <= ranks(y) * (1.0 + 1e-12)),
                "{}",
                newer.name()
            );
        }
    }
}

#[test]
fn labels_tell_how_a_figure_came_about() {
    for (setting, tools, bound) in [
        ("argon2id:m=65536,t=3,p=4", Label::Measured, Label::Modelled),
        ("argon2id:m=16384,t=3,p=1", Label::Modelled, Label::Modelled),
        ("argon2id:m=65536,t=2,p=1", Label::Extrapolated, Label::Extrapolated),
        ("argon2id:m=102400,t=3,p=1", Label::Extrapolated, Label::Extrapolated),
        ("argon2id:m=7168,t=5,p=1", Label::Extrapolated, Label::Extrapolated),
        ("scrypt:n=16384,r=8,p=1", Label::Measured, Label::Modelled),
        ("scrypt:n=131072,r=8,p=1", Label::Extrapolated, Label::Extrapolated),
        ("bcrypt:5", Label::Measured, Label::Measured),
        ("bcrypt:12", Label::Modelled, Label::Modelled),
        ("pbkdf2-sha256:600000", Label::Modelled, Label::Modelled),
    ] {
        let guesses = a().guesses(&s(setting));
        assert_eq!((guesses.tools.label, guesses.bound.label), (tools, bound), "{setting}");
        assert!(!guesses.tools.why.is_empty() && !guesses.bound.why.is_empty());
    }
}

#[test]
fn dollars_follow_the_price() {
    let cost = a().dollars_per_2_32(&s("argon2id:m=19456,t=2,p=1"));
    // 2^32 / 9920 guesses/s = 120 hours at $0.34.
    assert!(near(cost.bound, 40.9, 0.01), "{cost:?}");
    assert!(cost.tools > cost.bound);
    let bcrypt = a().dollars_per_2_32(&s("bcrypt:10"));
    assert_eq!(bcrypt.bound, bcrypt.tools);
}

#[test]
fn the_rank_of_a_minimum_is_attacker_a_itself() {
    for algorithm in Algorithm::ALL {
        let minimum = strength::minimum(algorithm);
        let guesses = a().guesses(&minimum).bound.per_s;
        assert!(near(a().rank(&minimum), guesses, 1e-12), "{algorithm}");
        if let Some(b) = a().area_time_guesses(&minimum) {
            assert!(near(b, guesses, 1e-12), "{algorithm}");
        }
    }
}

#[test]
fn the_rank_is_the_geometric_mean_of_a_and_b() {
    for text in ["argon2id:m=65536,t=3,p=4", "scrypt:n=16384,r=8,p=5"] {
        let setting = s(text);
        let mean = (a().guesses(&setting).bound.per_s * a().area_time_guesses(&setting).unwrap()).sqrt();
        assert!(near(a().rank(&setting), mean, 1e-12), "{text}");
    }
    assert_eq!(a().area_time_guesses(&s("bcrypt:12")), None);
}

/// All presets, strongest first within each family.
#[test]
fn presets_sort_by_rank() {
    let mut sorted: Vec<_> = builtin().iter().collect();
    sorted.sort_by(|x, y| {
        (x.setting.algorithm(), a().rank(&x.setting))
            .partial_cmp(&(y.setting.algorithm(), a().rank(&y.setting)))
            .unwrap()
    });
    let table: Vec<String> = sorted
        .iter()
        .map(|p| {
            format!(
                "{:<24}{:>14.1} {}",
                p.name,
                a().rank(&p.setting),
                strength::at_or_above_floor(&p.setting)
            )
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn the_floor_of_each_preset() {
    let below: Vec<&str> = builtin()
        .iter()
        .filter(|p| !strength::at_or_above_floor(&p.setting))
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(
        below,
        [
            "django-scrypt-40",
            "spring-argon2",
            "werkzeug",
            "aspnet-identity",
            "postgresql-scram"
        ]
    );
}

fn argon2id() -> impl Strategy<Value = (u32, u32, u32)> {
    (1u32..=64, 1u32..=64, 1u32..=16).prop_map(|(mib, t, p)| (mib * 1024, t, p))
}

fn argon2(m: u32, t: u32, p: u32) -> Setting {
    s(&format!("argon2id:m={m},t={t},p={p}"))
}

proptest! {
    #[test]
    fn more_memory_or_passes_is_stronger((m, t, p) in argon2id(), more in 1u32..=8) {
        let rank = a().rank(&argon2(m, t, p));
        prop_assert!(a().rank(&argon2(m + 1024 * more, t, p)) < rank);
        prop_assert!(a().rank(&argon2(m, t + more, p)) < rank);
    }

    #[test]
    fn lanes_are_no_strength((m, t, p) in argon2id()) {
        let one = a().rank(&argon2(m, t, 1));
        let many = a().rank(&argon2(m, t, p));
        // Rounding to whole slices takes less than 4p KiB, to the power 1.5 in the rank.
        let most = (f64::from(m) / f64::from(m - 4 * p)).powf(1.5);
        prop_assert!(many >= one * (1.0 - 1e-12) && many <= one * most);
        if m % (4 * p) == 0 {
            prop_assert!(near(many, one, 1e-12));
        }
    }

    #[test]
    fn other_families_grow_with_their_cost(cost in 4u32..31, log_n in 1u32..25, r in 1u32..16, p in 1u32..16, n in 1u32..2_000_000) {
        let rank = |text: String| a().rank(&s(&text));
        let bcrypt = |c: u32| rank(format!("bcrypt:{c}"));
        prop_assert!(bcrypt(cost + 1) < bcrypt(cost));
        let scrypt = |l: u32, r: u32, p: u32| rank(format!("scrypt:n={},r={r},p={p}", 1u64 << l));
        prop_assert!(scrypt(log_n + 1, r, p) < scrypt(log_n, r, p));
        prop_assert!(scrypt(log_n, r + 1, p) < scrypt(log_n, r, p));
        prop_assert!(scrypt(log_n, r, p + 1) < scrypt(log_n, r, p));
        for family in ["pbkdf2-sha256", "pbkdf2-sha512"] {
            let pbkdf2 = |n: u32| rank(format!("{family}:{n}"));
            prop_assert!(pbkdf2(n + 1) < pbkdf2(n));
        }
    }

    #[test]
    fn floor_ratio_and_rank_tell_the_same((m, t, p) in argon2id()) {
        let setting = argon2(m, t, p);
        let minimum = a().rank(&strength::minimum(Algorithm::Argon2id));
        prop_assert!(near(strength::floor_ratio(&setting), minimum / a().rank(&setting), 1e-12));
    }

    #[test]
    fn raising_a_parameter_never_falls_below_the_floor((m, t, p) in argon2id(), dm in 0u32..8, dt in 0u32..4) {
        if strength::at_or_above_floor(&argon2(m, t, p)) {
            prop_assert!(strength::at_or_above_floor(&argon2(m + 1024 * dm, t + dt, p)));
        }
    }
}
