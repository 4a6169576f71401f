//! `hashtune presets` and `hashtune strength` from outside.

use std::fs;

use assert_cmd::Command;
use serde_json::Value;

fn hashtune(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("hashtune").unwrap();
    command.args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = hashtune(args).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(args: &[&str]) -> String {
    let output = hashtune(args).assert().code(2).stdout("").get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_table_lists_every_preset_and_states_the_metric() {
    let text = stdout(&["presets"]);
    for preset in hashtune::preset::builtin() {
        assert!(text.contains(&preset.name), "{}", preset.name);
    }
    assert!(text.contains("geometric mean") && text.contains("RTX 4090"));
}

#[test]
fn the_toml_list_reads_back() {
    let text = stdout(&["presets", "--format", "toml"]);
    let read = hashtune::preset::parse(&text, "stdout").unwrap();
    assert_eq!(read.len(), hashtune::preset::builtin().len());
}

#[test]
fn the_json_list_is_in_order() {
    let list: Value = serde_json::from_str(&stdout(&["presets", "--format", "json"])).unwrap();
    assert_eq!(list["schema"], "hashtune-presets-1");
    let ranks: Vec<f64> = list["presets"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| p["algorithm"] == "argon2id")
        .map(|p| p["rank_guesses_per_s"].as_f64().unwrap())
        .collect();
    assert!(ranks.len() > 10 && ranks.is_sorted());
}

#[test]
fn a_users_preset_is_listed_and_a_bad_one_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("house.toml");
    let path = path.to_str().unwrap();
    let text = "[[preset]]\nname = \"house\"\nalgorithm = \"bcrypt\"\ncost = 13\ndescription = \"our rule\"\nsource = \"handbook\"\ndate = \"2026\"\n";
    fs::write(path, text).unwrap();
    assert!(stdout(&["presets", "--profile", path]).contains("house"));
    fs::write(path, text.replace("13", "3")).unwrap();
    let error = stderr(&["presets", "--profile", path]);
    assert!(
        error.contains("house.toml: preset \"house\": cost \"3\": below the minimum 4"),
        "{error}"
    );
    assert!(stderr(&["presets", "--profile", "/nosuch.toml"]).contains("no such file"));
    assert!(stderr(&["presets", "--profile", "/dev/zero"]).contains("larger than 1 MiB"));
}

#[test]
fn another_attacker_changes_the_guesses_but_not_the_floor() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("twice.toml");
    let text = include_str!("../profiles/attackers/rtx-4090.toml")
        .replace("name = \"rtx-4090\"", "name = \"twice\"")
        .replace("guesses_per_s = 184000", "guesses_per_s = 368000");
    fs::write(&path, text).unwrap();
    let one = stdout(&["strength", "bcrypt:12"]);
    let two = stdout(&["strength", "bcrypt:12", "--attacker", path.to_str().unwrap()]);
    assert!(one.contains("1463/s") && two.contains("2925/s"), "{two}");
    assert!(two.contains("4 times the strength of bcrypt:10"), "{two}");
    assert!(stderr(&["strength", "bcrypt:12", "--attacker", "h100"]).contains("unknown"));
}

#[test]
fn a_damaged_hash_is_refused_with_a_reason_and_not_repeated() {
    let error = stderr(&[
        "strength",
        "bcrypt:12",
        "$2b$12$ffEENR8BUIVmQ1KOv1ykpez9Gb6aC14vQvNzuJ3lyLxDPXcCw3hY",
    ]);
    assert!(
        error.contains("argument 2: not a valid bcrypt hash: salt and hash have 52 characters"),
        "{error}"
    );
    assert!(!error.contains("ffEENR8"), "{error}");
    assert!(stderr(&["strength", "bcrypt:40"]).contains("above the maximum 31"));
}

/// The table in the documentation is what the program prints.
#[test]
fn the_documented_table_is_current() {
    let documented = include_str!("../docs/strength.md");
    for line in stdout(&["presets"]).lines().take_while(|l| !l.is_empty()) {
        let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        let shown = documented.lines().any(|l| {
            let cells: Vec<&str> = l.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
            columns == cells
        });
        assert!(shown, "docs/strength.md lacks: {line}");
    }
}
