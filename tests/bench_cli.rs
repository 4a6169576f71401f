//! `hashtune bench` from outside: real hashes, tiny counts. Order, presence and consistency are asserted, never durations.

use std::fs;
use std::process::{Command, Output};

use assert_cmd::cargo::CommandCargoExt;
use hashtune::export::bench::COLUMNS;
use serde_json::Value;

const DOCS: &str = include_str!("../docs/bench.md");

fn hashtune(args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("hashtune").unwrap();
    command.arg("bench").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Everything at once, in about three seconds.
const ALL: [&str; 19] = [
    "argon2id:m=64,t=1,p=1",
    "bcrypt:4",
    "--single",
    "--burst",
    "3",
    "--clients",
    "1,2",
    "--rate",
    "50/s",
    "--lanes",
    "1,2,64",
    "--seconds",
    "0.1",
    "--runs",
    "3",
    "--workers",
    "2",
    "--format",
    "json",
];

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// The first column of the table under the heading, without its marks.
fn documented(heading: &str) -> Vec<&'static str> {
    let start = format!("### {heading}\n");
    let (_, section) = DOCS.split_once(&start).unwrap_or_else(|| panic!("no {start}"));
    let table = section.lines().skip_while(|l| !l.starts_with('|'));
    table
        .take_while(|l| l.starts_with('|'))
        .skip(2)
        .map(|l| l.split('`').nth(1).unwrap())
        .collect()
}

/// Every `{median, lowest, highest}` in the value.
fn spreads<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(object) if object.contains_key("median") => found.push(value),
        Value::Object(object) => object.values().for_each(|v| spreads(v, found)),
        Value::Array(items) => items.iter().for_each(|v| spreads(v, found)),
        _ => {}
    }
}

fn check_settings(record: &Value) {
    let settings = list(&record["settings"]);
    let names: Vec<&str> = settings.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["argon2id:m=64,t=1,p=1", "bcrypt:4"]);
    for setting in settings {
        let loads: Vec<(&str, u64)> = list(&setting["loads"])
            .iter()
            .map(|l| (l["load"].as_str().unwrap(), l["in_flight"].as_u64().unwrap()))
            .collect();
        assert_eq!(
            loads,
            [("single", 1), ("burst", 3), ("closed", 1), ("closed", 2), ("open", 2)]
        );
        for load in list(&setting["loads"]) {
            assert_eq!(load["runs"], 3, "{load}");
            assert!(load["hashes"].as_u64().unwrap() >= 3, "{load}");
        }
        let [_, burst, .., open] = list(&setting["loads"]) else {
            panic!("{setting}");
        };
        assert_eq!(burst["hashes"].as_u64().unwrap() % 9, 0, "whole bursts of 3 in 3 runs");
        assert_eq!((&open["hashes"], &open["offered_per_s"]), (&15.into(), &50.0.into()));
        assert_eq!(setting["memory"]["workers"], 2);
        assert!(!setting["ceiling"].is_null());
    }
    let lanes: Vec<&str> = list(&settings[0]["lanes"])
        .iter()
        .map(|l| l["setting"].as_str().unwrap())
        .collect();
    assert_eq!(lanes, ["argon2id:m=64,t=1,p=1", "argon2id:m=64,t=1,p=2"]);
    assert!(list(&settings[1]["lanes"]).is_empty());
}

#[test]
fn json_has_every_figure_in_order_as_documented() {
    let out = hashtune(&ALL);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let record: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(record["schema"], "hashtune-bench-1");
    check_settings(&record);
    let mut all = Vec::new();
    spreads(&record, &mut all);
    assert!(all.len() > 90, "{}", all.len());
    for spread in all {
        let [median, lowest, highest] = ["median", "lowest", "highest"].map(|k| spread[k].as_f64().unwrap());
        assert!(0.0 < lowest && lowest <= median && median <= highest, "{spread}");
    }
    let setting = &record["settings"][0];
    let open = list(&setting["loads"]).last().unwrap();
    for (heading, value) in [
        ("The record", &record),
        ("`host`", &record["host"]),
        ("`conditions`", &record["conditions"]),
        ("`settings[]`", setting),
        ("`settings[].memory`", &setting["memory"]),
        ("`settings[].ceiling`", &setting["ceiling"]),
        ("`settings[].loads[]` and `settings[].lanes[]`", open),
        ("`left_out[]`", &record["left_out"][0]),
        ("`caveats[]`", list(&record["caveats"]).last().unwrap()),
    ] {
        assert_eq!(documented(heading), keys(value), "{heading}");
    }
    let said = text(&out.stderr);
    for word in [
        "3 times all of this: about ",
        "run 1 of 3: bcrypt:4",
        "skipped: ",
        "caveat: ",
        "hint: ",
    ] {
        assert!(said.contains(word), "{word} is not in {said}");
    }
}

#[test]
fn csv_has_a_line_a_load() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.csv");
    let file = path.to_str().unwrap();
    let few = [
        "--setting",
        "bcrypt:4",
        "--clients",
        "2,1",
        "--single",
        "--seconds",
        "0.05",
        "--runs",
        "2",
    ];
    let out = hashtune(&[&few[..], &["--format", "csv", "--quiet", "-o", file]].concat());
    assert_eq!(
        (out.status.code(), text(&out.stderr), text(&out.stdout)),
        (Some(0), "", "")
    );
    let written = fs::read(&path).unwrap();
    let mut csv = csv::Reader::from_reader(written.as_slice());
    let header: Vec<String> = csv.headers().unwrap().iter().map(String::from).collect();
    assert_eq!(header, COLUMNS);
    assert_eq!(documented("CSV"), COLUMNS);
    let lines: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    let shown: Vec<(&str, &str, &str)> = lines.iter().map(|l| (&l[3], &l[6], &l[8])).collect();
    assert_eq!(
        shown,
        [("single", "1", "2"), ("closed", "2", "2"), ("closed", "1", "2")]
    );
}

#[test]
fn tables_go_to_standard_output() {
    let few = [
        "bcrypt:4",
        "--burst",
        "2",
        "--lanes",
        "1",
        "owasp-7m",
        "--seconds",
        "0.05",
        "--runs",
        "1",
    ];
    let out = hashtune(&few);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    for word in [
        "2 at once, ms",
        "peak memory",
        "wall, ms",
        "CPU, ms",
        "owasp-7m (argon2id:m=7168,t=5,p=1)",
        "none is left out",
    ] {
        assert!(shown.contains(word), "{word} is not in {shown}");
    }
    assert!(
        !shown.contains("closed loop") && !shown.contains("open loop"),
        "{shown}"
    );
}

#[test]
fn the_time_limit_leaves_out_and_says_so() {
    let out = hashtune(&[
        "bcrypt:4",
        "--single",
        "--clients",
        "1",
        "--seconds",
        "60",
        "--runs",
        "1",
        "--time-limit",
        "20s",
        "--format",
        "json",
    ]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let record: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(record["left_out"][0]["what"], "1 client");
    assert_eq!(record["left_out"][0]["cause"], "time");
    assert_eq!(list(&record["settings"][0]["loads"]).len(), 1);
    assert!(text(&out.stderr).contains("(time-short)"));
}

#[test]
fn a_setting_beyond_all_memory_is_never_run() {
    let total = fs::read_to_string("/proc/meminfo").unwrap();
    let total: u64 = total
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    if total > 64 << 20 {
        return;
    }
    let huge = "argon2id:m=67108864,t=1,p=1";
    let out = hashtune(&[huge, "--single", "--quiet"]);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(2), ""));
    let said = text(&out.stderr);
    assert!(
        said.starts_with("error: nothing could be measured\nhint: argon2id:m=67108864"),
        "{said}"
    );
    let out = hashtune(&[huge, "bcrypt:4", "--single", "--runs", "1", "--format", "json"]);
    let record: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(record["left_out"][0]["what"], "everything");
    assert_eq!(record["left_out"][0]["cause"], "memory");
}

#[test]
fn bad_input_is_refused_in_two_lines() {
    for (flag, value) in [
        ("--setting", "argon2id:m=1,t=1,p=1"),
        ("--setting", "md5:1"),
        ("--setting", ""),
        ("--preset", "owasp-20m"),
        ("--preset", ""),
        ("--burst", "0"),
        ("--burst", "1025"),
        ("--clients", "1,,2"),
        ("--clients", "1,-2"),
        ("--clients", ""),
        ("--clients", "two"),
        ("--rate", "5"),
        ("--rate", "5/s,0/s"),
        ("--rate", "1/h"),
        ("--rate", "nan/s"),
        ("--lanes", "0"),
        ("--lanes", "4096"),
        ("--workers", "0"),
        ("--workers", "many"),
        ("--runs", "0"),
        ("--runs", "101"),
        ("--seconds", "0"),
        ("--seconds", "-1"),
        ("--seconds", "inf"),
        ("--seconds", "3s"),
        ("--seconds", "nan"),
        ("--app-cpu-ms", "-1"),
        ("--pages", "warm"),
        ("--cpus", "0"),
        ("--cpus", "4000"),
        ("--seed", "-1"),
        ("--time-limit", "60"),
        ("--time-limit", "0.5s"),
        ("--format", "xml"),
        ("--output", "no/such/directory/out.csv"),
    ] {
        let out = hashtune(&["bcrypt:4", "owasp-7m", flag, value]);
        let said = text(&out.stderr);
        assert_eq!(
            (out.status.code(), text(&out.stdout)),
            (Some(2), ""),
            "{flag} {value}: {said}"
        );
        let lines: Vec<&str> = said.lines().collect();
        assert!(matches!(lines.len(), 1 | 2), "{flag} {value}: {said}");
        assert!(lines[0].starts_with(&format!("error: {flag} \"{value}\"")), "{said}");
        assert!(lines[1..].iter().all(|l| l.starts_with("hint: ")), "{said}");
    }
    for word in ["owasp-20m", "md5:1", "bcrypt:3", "12"] {
        let out = hashtune(&[word]);
        assert_eq!(out.status.code(), Some(2));
        assert!(
            text(&out.stderr).contains(&format!("\"{word}\"")),
            "{}",
            text(&out.stderr)
        );
    }
    let out = hashtune(&["bcrypt:4", "--lanes", "1,2"]);
    assert!(text(&out.stderr).starts_with("error: --lanes \"1,2\": no setting here has lanes\nhint: "));
    assert_eq!(hashtune(&["--runs", "1", "--runs", "2"]).status.code(), Some(2));
}
