//! The presets that come with the program, and a user's own file.

use hashtune::preset::{self, builtin, named, parse, to_toml};
use hashtune::setting::Algorithm;
use hashtune::strength;

const GOOD: &str = r#"[[preset]]
name = "house"
algorithm = "argon2id"
memory_kib = 65536
time_cost = 3
parallelism = 4
description = "our rule"
source = "security handbook"
date = "2026-03"
"#;

#[test]
fn memory_in_bytes_gets_a_hint() {
    for bytes in ["268435456", "68719476736"] {
        let refused = parse(&GOOD.replace("65536", bytes), "mine.toml").unwrap_err();
        let hint = refused.bad.hint.unwrap();
        assert!(hint.starts_with("memory_kib is in KiB: write "), "{hint}");
    }
}

/// The first example of the documentation is a file that is read.
#[test]
fn the_documented_file_is_understood() {
    let text = include_str!("../docs/profiles.md");
    let (_, rest) = text.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let presets = preset::parse(example, "docs/profiles.md").unwrap();
    let settings: Vec<String> = presets.iter().map(|p| p.setting.to_string()).collect();
    assert_eq!(settings, ["argon2id:m=65536,t=3,p=1", "bcrypt:11"]);
    preset::with_own(preset::builtin(), presets, "docs/profiles.md").unwrap();
}

#[test]
fn every_builtin_has_a_source_with_an_address_and_a_date() {
    assert!(builtin().len() >= 36, "{}", builtin().len());
    for preset in builtin() {
        assert!(preset.url.starts_with("https://"), "{}", preset.name);
        assert!(preset.date.len() >= 4, "{}", preset.name);
        assert!(
            preset.description.len() > 10 && preset.description.len() < 120,
            "{}",
            preset.name
        );
    }
}

#[test]
fn names_are_unique_across_files() {
    let mut names: Vec<&str> = builtin().iter().map(|p| p.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), builtin().len());
}

#[test]
fn the_required_presets_are_there() {
    for (name, setting) in [
        ("django-argon2", "argon2id:m=102400,t=2,p=8"),
        ("rfc9106-first", "argon2id:m=2097152,t=1,p=4"),
        ("rfc9106-second", "argon2id:m=65536,t=3,p=4"),
        ("owasp-46m", "argon2id:m=47104,t=1,p=1"),
        ("owasp-19m", "argon2id:m=19456,t=2,p=1"),
        ("owasp-12m", "argon2id:m=12288,t=3,p=1"),
        ("owasp-9m", "argon2id:m=9216,t=4,p=1"),
        ("owasp-7m", "argon2id:m=7168,t=5,p=1"),
        ("argon2-cffi", "argon2id:m=65536,t=3,p=4"),
        ("libsodium-interactive", "argon2id:m=65536,t=2,p=1"),
        ("libsodium-moderate", "argon2id:m=262144,t=3,p=1"),
        ("libsodium-sensitive", "argon2id:m=1048576,t=4,p=1"),
        ("keycloak", "argon2id:m=7168,t=5,p=1"),
        ("php-argon2", "argon2id:m=65536,t=4,p=1"),
        ("bcrypt-10", "bcrypt:10"),
        ("bcrypt-14", "bcrypt:14"),
        ("django-scrypt-40", "scrypt:n=16384,r=8,p=1"),
        ("django-scrypt-51", "scrypt:n=16384,r=8,p=5"),
        ("werkzeug", "scrypt:n=32768,r=8,p=1"),
        ("django-pbkdf2-60", "pbkdf2-sha256:1200000"),
        ("aspnet-identity", "pbkdf2-sha512:100000"),
        ("postgresql-scram", "pbkdf2-sha256:4096"),
    ] {
        assert_eq!(named(name).unwrap().setting.to_string(), setting, "{name}");
    }
    assert!(named("nosuch").is_none());
}

#[test]
fn the_flagged_minima_are_the_floors_of_the_model() {
    for algorithm in Algorithm::ALL {
        let flagged: Vec<_> = builtin()
            .iter()
            .filter(|p| p.minimum && p.setting.algorithm() == algorithm)
            .map(|p| p.setting)
            .collect();
        assert_eq!(flagged, [strength::minimum(algorithm)], "{algorithm}");
    }
}

#[test]
fn owasp_rows_of_the_model_are_all_presets() {
    let settings: Vec<String> = builtin()
        .iter()
        .filter(|p| p.name.starts_with("owasp-"))
        .map(|p| p.setting.to_string())
        .collect();
    for (m, t) in strength::ARGON2ID_ROWS {
        assert!(settings.contains(&format!("argon2id:m={m},t={t},p=1")));
    }
    for (n, p) in strength::SCRYPT_ROWS {
        assert!(settings.contains(&format!("scrypt:n={n},r=8,p={p}")));
    }
}

#[test]
fn printed_presets_read_back() {
    assert_eq!(parse(&to_toml(builtin()), "again").unwrap(), builtin());
}

#[test]
fn a_users_file_is_added_but_never_overrides() {
    let own = parse(GOOD, "mine.toml").unwrap();
    assert_eq!(
        preset::with_own(builtin(), own.clone(), "mine.toml").unwrap().len(),
        builtin().len() + 1
    );
    let mut clash = own;
    clash[0].name = "keycloak".into();
    let error = preset::with_own(builtin(), clash, "mine.toml").unwrap_err().to_string();
    assert!(
        error.contains("mine.toml: preset \"keycloak\"") && error.contains("already taken"),
        "{error}"
    );
}

/// What to replace in [`GOOD`], with what, and the words that the refusal must hold.
const FAULTS: &[(&str, &str, &[&str])] = &[
    (
        "parallelism = 4",
        "parallelism = 0",
        &["preset \"house\"", "parallelism \"0\"", "below the minimum 1"],
    ),
    (
        "memory_kib = 65536",
        "memory_kib = 31",
        &["memory_kib \"31\"", "below the minimum 8 p = 32"],
    ),
    (
        "memory_kib = 65536",
        "memory_kib = \"64MB\"",
        &["memory_kib \"64MB\"", "not a whole number", "whole KiB"],
    ),
    (
        "memory_kib = 65536",
        "memory_kib = 65536.0",
        &["memory_kib", "not a whole number"],
    ),
    (
        "memory_kib = 65536",
        "memory_kib = -1",
        &["memory_kib \"-1\"", "out of range"],
    ),
    (
        "memory_kib = 65536",
        "memory_kib = 99999999999",
        &["out of range", "whole KiB"],
    ),
    (
        "memory_kib = 65536",
        "memory = 65536",
        &["memory = 65536", "unknown for argon2id", "memory_kib"],
    ),
    (
        "memory_kib = 65536\n",
        "",
        &["key \"memory_kib\": missing", "whole KiB"],
    ),
    ("date = \"2026-03\"\n", "", &["key \"date\": missing"]),
    ("date = \"2026-03\"", "date = \"March\"", &["date \"March\"", "2026-03"]),
    ("date = \"2026-03\"", "date = \"2026-13\"", &["not a date"]),
    (
        "date = \"2026-03\"",
        "date = 2026-03-01",
        &["date \"2026-03-01\"", "not a text"],
    ),
    (
        "source = \"security handbook\"",
        "source = \" \"",
        &["source", "one line of text"],
    ),
    (
        "\"argon2id\"",
        "\"argon2i\"",
        &["algorithm \"argon2i\"", "unknown", "pbkdf2-sha256"],
    ),
    ("\"argon2id\"", "\"bcrypt\"", &["unknown for bcrypt", "cost"]),
    (
        "name = \"house\"",
        "name = \"House rule\"",
        &["name \"House rule\"", "lower-case"],
    ),
    ("name = \"house\"\n", "", &["preset \"#1\"", "\"name\": missing"]),
    ("[[preset]]", "[preset]", &["[[preset]]"]),
    ("[[preset]]", "[[presets]]", &["key \"presets\": unknown"]),
    ("name = \"house\"", "name = house", &["line 2"]),
    (
        "name = \"house\"",
        "name = \"house\"\nname = \"b\"",
        &["line 3", "duplicate"],
    ),
];

#[test]
fn refusals_are_one_line_with_file_preset_value_and_form() {
    for (from, to, words) in FAULTS {
        assert!(GOOD.contains(from), "{from}");
        let error = parse(&GOOD.replacen(from, to, 1), "mine.toml").unwrap_err().to_string();
        assert!(error.starts_with("mine.toml: ") && !error.contains('\n'), "{error}");
        assert!(error.contains("; accepted: "), "{error}");
        for word in *words {
            assert!(error.contains(word), "{to}: wants {word:?} in {error}");
        }
    }
}

#[test]
fn a_name_twice_is_refused() {
    let error = parse(&format!("{GOOD}\n{GOOD}"), "mine.toml").unwrap_err().to_string();
    assert!(
        error.contains("preset \"house\"") && error.contains("already taken"),
        "{error}"
    );
    assert!(
        parse("", "empty.toml")
            .unwrap_err()
            .to_string()
            .contains("no [[preset]] table")
    );
}
