//! The ranking of all presets recomputed from published figures alone, without the strength module, against what the program prints.
//!
//! Whatever enters is in this file: speeds as they were published, and the work that one guess is by each algorithm's definition.

use std::cmp::Ordering;

use assert_cmd::Command;
use serde_json::Value;

/// How far a printed figure may be from the recomputed one. It covers the rounding of the bounds to three digits; `docs/strength.md` states it.
const STATED_ERROR: f64 = 0.005;

/// Bytes a second that an RTX 4090's memory moves (NVIDIA's data sheet), and the share that Argon2 can use of it
/// (S. Thomas in OWASP CheatSheetSeries issue 595: 32/33 on an RTX 3080; 98 % here).
const BANDWIDTH: f64 = 1008e9;
const ARGON2_SHARE: f64 = 0.98;

/// A published speed of one RTX 4090: guesses/s and the work of one guess in the units of [`work`].
fn published(algorithm: &str) -> (f64, f64) {
    match algorithm {
        // hashcat pull request 4284, 2025-07: mode 34000, m=65536 t=3 p=1.
        "argon2id" => (1667.0, 65_536.0 * 8.0),
        // hashcat pull request 4631, 2026-02: mode 8900, N=16384 r=8 p=1.
        "scrypt" => (8910.0, 16_384.0 * 8.0),
        // hashcat 6.2.6, gist Chick3nman/32e662a5bb63bc4f51b847bb422222fd, 2022-10: mode 3200, 32 rounds.
        "bcrypt" => (184_000.0, 32.0 * 1042.0 + 585.0),
        // The same: mode 10900, 999 iterations.
        "pbkdf2-sha256" => (8_865_700.0, 999.0),
        // The same: mode 12100, 999 iterations.
        "pbkdf2-sha512" => (3_120_900.0, 999.0),
        other => panic!("{other}"),
    }
}

/// The parameters of a printed setting, `argon2id:m=65536,t=3,p=4` or `bcrypt:12`, in the order they are written.
fn numbers(setting: &str) -> Vec<f64> {
    let (_, parameters) = setting.split_once(':').unwrap();
    let number = |p: &str| p.rsplit('=').next().unwrap().parse().unwrap();
    parameters.split(',').map(number).collect()
}

/// Work that limits a graphics card: KiB moved (Argon2), `N r p` (scrypt), block encryptions (bcrypt), iterations (PBKDF2).
fn work(algorithm: &str, setting: &str) -> f64 {
    let n = numbers(setting);
    match algorithm {
        "argon2id" => (n[0] / (4.0 * n[2])).floor() * 4.0 * n[2] * (3.0 * n[1] - 1.0),
        "scrypt" => n[0] * n[1] * n[2],
        "bcrypt" => n[0].exp2() * 1042.0 + 585.0,
        _ => n[0],
    }
}

/// Memory held times how long it is held, where there is any to speak of.
fn area_time(algorithm: &str, setting: &str) -> Option<f64> {
    let n = numbers(setting);
    match algorithm {
        "argon2id" => Some(((n[0] / (4.0 * n[2])).floor() * 4.0 * n[2]).powi(2) * n[1]),
        "scrypt" => Some((n[0] * n[1]).powi(2) * n[2]),
        _ => None,
    }
}

/// OWASP's minimum of each family (Password Storage Cheat Sheet; SHA-512: as it stood until March 2026).
fn minimum(algorithm: &str) -> &'static str {
    match algorithm {
        "argon2id" => "argon2id:m=19456,t=2,p=1",
        "scrypt" => "scrypt:n=131072,r=8,p=1",
        "bcrypt" => "bcrypt:10",
        "pbkdf2-sha256" => "pbkdf2-sha256:600000",
        _ => "pbkdf2-sha512:210000",
    }
}

/// Guesses/s with today's tools: the published speed, scaled by the work.
fn tools(algorithm: &str, setting: &str) -> f64 {
    let (per_s, of) = published(algorithm);
    per_s * of / work(algorithm, setting)
}

/// Guesses/s that the card could do at most.
fn bound(algorithm: &str, setting: &str) -> f64 {
    match algorithm {
        "argon2id" => ARGON2_SHARE * BANDWIDTH / 1024.0 / work(algorithm, setting),
        // 128 N r p bytes, a quarter of them read again (tobtu.com/minimum-password-settings: 128 x 1.25).
        "scrypt" => BANDWIDTH / 160.0 / work(algorithm, setting),
        _ => tools(algorithm, setting),
    }
}

fn rank(algorithm: &str, setting: &str) -> f64 {
    let a = bound(algorithm, setting);
    let Some(held) = area_time(algorithm, setting) else {
        return a;
    };
    let least = minimum(algorithm);
    let b = bound(algorithm, least) * area_time(algorithm, least).unwrap() / held;
    (a * b).sqrt()
}

struct Row {
    name: String,
    algorithm: String,
    setting: String,
    guesses: f64,
    tools: f64,
    rank: f64,
}

fn printed() -> Vec<Row> {
    let mut command = Command::cargo_bin("hashtune").unwrap();
    let output = command.args(["presets", "--format", "json"]).assert().success();
    let list: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let row = |row: &Value| Row {
        name: text(row, "name"),
        algorithm: text(row, "algorithm"),
        setting: text(row, "setting"),
        guesses: row["guesses_per_s"].as_f64().unwrap(),
        tools: row["guesses_per_s_tools"].as_f64().unwrap(),
        rank: row["rank_guesses_per_s"].as_f64().unwrap(),
    };
    list["presets"].as_array().unwrap().iter().map(row).collect()
}

fn near(value: f64, wanted: f64) -> bool {
    (value / wanted - 1.0).abs() <= STATED_ERROR
}

#[test]
fn every_figure_of_every_preset_follows_from_published_speeds() {
    let rows = printed();
    assert!(rows.len() >= 38, "{}", rows.len());
    for row in &rows {
        let (algorithm, setting) = (row.algorithm.as_str(), row.setting.as_str());
        for (what, printed, ours) in [
            ("guesses", row.guesses, bound(algorithm, setting)),
            ("guesses with tools", row.tools, tools(algorithm, setting)),
            ("rank", row.rank, rank(algorithm, setting)),
        ] {
            assert!(near(printed, ours), "{}: {what} {printed}, recomputed {ours}", row.name);
        }
    }
}

/// The program's order is the recomputed one: families in OWASP's order, and nobody stronger after somebody weaker.
#[test]
fn the_order_of_all_presets_is_the_recomputed_one() {
    const FAMILIES: [&str; 5] = ["argon2id", "scrypt", "bcrypt", "pbkdf2-sha256", "pbkdf2-sha512"];
    let rows = printed();
    let place = |row: &Row| FAMILIES.iter().position(|f| *f == row.algorithm).unwrap();
    for pair in rows.windows(2) {
        let (first, second) = (&pair[0], &pair[1]);
        let ours = |row: &Row| rank(&row.algorithm, &row.setting);
        let order = place(first)
            .cmp(&place(second))
            .then(ours(first).total_cmp(&ours(second)));
        assert!(order != Ordering::Greater, "{} before {}", first.name, second.name);
    }
}

fn of<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// S. Thomas, Minimum password settings (tobtu.com/minimum-password-settings, 2022-12): least settings that keep an attacker under 10,000
/// guesses/s on one current card. For Argon2 and scrypt that card is an RX 7900 XTX (960 GB/s), for the others two thirds of an RTX 4090.
#[test]
fn published_minimum_settings_are_minimal_here_too() {
    let rows = printed();
    let card = 960.0 / 1008.0;
    let argon2 = ["owasp-46m", "owasp-19m", "owasp-12m", "owasp-9m", "owasp-7m"].map(|n| of(&rows, n).guesses * card);
    // Rounded up to whole MiB, so none is more than a tenth below the limit.
    assert!(argon2.iter().all(|g| (9_000.0..10_000.0).contains(g)), "{argon2:?}");
    let spread = argon2.iter().copied().fold(0.0, f64::max) / argon2.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(spread < 1.08, "rows that are called equal differ by {spread}");
    for size in [128, 64, 32, 16, 8] {
        // N is a power of two and p whole: up to twice the work that is needed.
        let guesses = of(&rows, &format!("owasp-scrypt-{size}m")).guesses * card;
        assert!((5_000.0..10_000.0).contains(&guesses), "{size}: {guesses}");
    }
    // bcrypt 9, the least cost under 10,000/s on two thirds of a 4090; one less is over it.
    let bcrypt_10 = of(&rows, "bcrypt-10").guesses / 1.5;
    assert!(bcrypt_10 * 2.0 < 10_000.0 && bcrypt_10 * 4.0 > 10_000.0, "{bcrypt_10}");
    // Iterations that give just 10,000/s, rounded up to two digits, are the published rows.
    for (name, iterations, step) in [
        ("owasp-pbkdf2-sha256", 600_000.0, 1e5),
        ("owasp-pbkdf2-sha512", 210_000.0, 1e4),
    ] {
        let row = of(&rows, name);
        let needed = row.guesses * numbers(&row.setting)[0] / 1.5 / 10_000.0;
        assert_eq!((needed / step).ceil() * step, iterations, "{name}: {needed}");
        assert!(needed / iterations > 0.98, "{name}: {needed}");
    }
}

/// Orders that the sources themselves state: later versions and higher levels are stronger.
#[test]
fn published_orders_hold() {
    let rows = printed();
    for stronger_first in [
        &["libsodium-sensitive", "libsodium-moderate", "libsodium-interactive"][..],
        &["rfc9106-first", "rfc9106-second"],
        &["bcrypt-14", "bcrypt-13", "bcrypt-12", "bcrypt-11", "bcrypt-10"],
        &[
            "django-pbkdf2-61",
            "django-pbkdf2-60",
            "django-pbkdf2-52",
            "django-pbkdf2-51",
            "django-pbkdf2-50",
            "django-pbkdf2-42",
            "postgresql-scram",
        ],
        &["django-scrypt-51", "django-scrypt-40"],
        &["owasp-pbkdf2-sha512-2026", "owasp-pbkdf2-sha512"],
    ] {
        let ranks: Vec<f64> = stronger_first.iter().map(|n| of(&rows, n).rank).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{stronger_first:?}: {ranks:?}");
    }
}
