//! `hashtune pages` from outside, with small settings. What the kernel does is asserted by its consequence for the account, never by durations.

use std::process::{Command, Output};

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;

const SMALL: &str = "argon2id:m=8192,t=1,p=1";
/// Above every threshold of glibc's: its memory is fresh for each hash.
const LARGE: &str = "argon2id:m=40960,t=1,p=1";

fn pages(args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("hashtune").unwrap();
    command.arg("pages").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_figures_of_two_settings_agree_with_each_other() {
    let out = pages(&[SMALL, LARGE, "--threads", "main", "--format", "json"]);
    assert!(out.status.success(), "{out:?}");
    let rows: Value = serde_json::from_slice(&out.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    let settings: Vec<&str> = rows.iter().map(|row| row["setting"].as_str().unwrap()).collect();
    assert_eq!(settings, [SMALL, LARGE]);
    for row in rows {
        let of = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        let (deployed, fresh, reused) = (of("deployed_ms"), of("fresh_ms"), of("reused_ms"));
        assert!(deployed > 0.0 && fresh > 0.0 && reused > 0.0, "{row}");
        // What is deployed is one of the two, whichever the C library does at that size.
        let same = if row["fresh"] == true { fresh } else { reused };
        assert_eq!(deployed, same, "{row}");
        let tax = (1.0 - reused / deployed).max(0.0);
        assert!((of("tax") - tax).abs() < 1e-6, "{row}");
        for line in row["advice"].as_array().unwrap() {
            assert!(line["set"].is_string() && line["price"].is_string(), "{line}");
        }
        let at_stake = of("tax").max(row["huge_saves"].as_f64().unwrap_or(0.0));
        assert!(row["advice"].as_array().unwrap().is_empty() || at_stake > 0.05, "{row}");
    }
    if cfg!(target_env = "gnu") {
        let fresh: Vec<bool> = rows.iter().map(|row| row["fresh"].as_bool().unwrap()).collect();
        assert_eq!(fresh, [false, true], "32 MiB is where glibc gives memory back");
        assert_eq!(rows[0]["tax"], 0.0);
    }
}

#[test]
fn the_table_names_each_setting_and_says_what_its_columns_are() {
    let out = pages(&[SMALL]);
    assert!(out.status.success(), "{out:?}");
    let told = text(&out.stdout);
    for part in [
        SMALL,
        "memory is",
        "deployed",
        "huge saves",
        "CPU a hash with every CPU busy",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn what_has_no_pages_to_speak_of_is_refused() {
    for (what, part) in [
        ("bcrypt:10", "expected an Argon2id setting"),
        ("owasp-20m", "owasp-20m"),
    ] {
        let out = pages(&[what]);
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        assert!(out.stdout.is_empty());
        let told = text(&out.stderr);
        assert!(
            told.contains("error:") && told.contains(part) && told.contains("hint:"),
            "{told}"
        );
    }
}
