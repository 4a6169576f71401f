//! The exported record and `docs/report.schema.json` state the same keys, in the same order, with the same types.

use hashtune::export::{self, Format};
use hashtune::report::{Hash, Report};
use hashtune::setting::Setting;
use serde_json::Value;

const SCHEMA: &str = include_str!("../docs/report.schema.json");
const EXAMPLE: &str = include_str!("data/report.toml");
const FAMILIES: [&str; 5] = [
    "argon2id:m=65536,t=3,p=4",
    "bcrypt:12",
    "scrypt:n=131072,r=8,p=1",
    "pbkdf2-sha256:600000",
    "pbkdf2-sha512:210000",
];

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn example(family: &str) -> Report {
    let hash = Hash::from(&family.parse::<Setting>().unwrap());
    Report {
        hash,
        ..export::toml::read(EXAMPLE).unwrap()
    }
}

fn as_json(report: &Report) -> Value {
    let mut out = Vec::new();
    Format::Json.write(report, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .map(|o| o.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// Where the value departs from the schema. Only the words that our schema uses are understood; others are faults.
fn faults(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("{path}: {what}, found {value}"));
        }
    };
    let bound = |limit: &Value| limit.as_f64().unwrap();
    let number = value.as_f64();
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "$schema" | "title" | "description" | "properties" | "items" | "additionalProperties" => {}
            "type" => expect(has_type(value, rule.as_str().unwrap()), &format!("not of type {rule}")),
            "const" => expect(value == rule, &format!("not {rule}")),
            "enum" => expect(rule.as_array().unwrap().contains(value), &format!("not among {rule}")),
            "minimum" => expect(number >= Some(bound(rule)), &format!("below {rule}")),
            "maximum" => expect(number <= Some(bound(rule)), &format!("above {rule}")),
            "exclusiveMinimum" => expect(number > Some(bound(rule)), &format!("not above {rule}")),
            "exclusiveMaximum" => expect(number < Some(bound(rule)), &format!("not below {rule}")),
            "required" => {
                let required: Vec<&str> = rule.as_array().unwrap().iter().filter_map(Value::as_str).collect();
                expect(
                    keys(value) == required,
                    &format!("keys are not {required:?} in this order"),
                );
            }
            "oneOf" => {
                let branches = rule.as_array().unwrap();
                let matching = branches.iter().filter(|b| faults(b, value, path).is_empty()).count();
                expect(matching == 1, &format!("{matching} alternatives match"));
            }
            other => expect(false, &format!("the checker does not know \"{other}\"")),
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        found.extend(list.iter().flat_map(|item| faults(items, item, &format!("{path}[]"))));
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, rule) in properties {
            found.extend(faults(rule, &value[key], &format!("{path}.{key}")));
        }
    }
    found
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        // A number is written with a point: a reader must not take it for a count.
        "number" => value.is_f64(),
        _ => false,
    }
}

/// Every object in the schema, with its path.
fn objects<'a>(schema: &'a Value, path: &str, out: &mut Vec<(String, &'a Value)>) {
    if schema["type"] == "object" {
        out.push((path.to_owned(), schema));
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        objects(inner, &format!("{path}.{key}"), out);
    }
    for inner in schema["oneOf"].as_array().into_iter().flatten() {
        objects(inner, path, out);
    }
    if let Some(items) = schema.get("items") {
        objects(items, path, out);
    }
}

#[test]
fn every_family_matches_the_schema() {
    for family in FAMILIES {
        let found = faults(&schema(), &as_json(&example(family)), "report");
        assert!(found.is_empty(), "{family}:\n{}", found.join("\n"));
    }
}

#[test]
fn the_schema_requires_all_it_lists_and_allows_no_more() {
    let schema = schema();
    let mut all = Vec::new();
    objects(&schema, "report", &mut all);
    assert_eq!(all.len(), 14);
    for (path, object) in all {
        let required: Vec<&str> = object["required"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(keys(&object["properties"]), required, "{path}");
        assert_eq!(object["additionalProperties"], false, "{path}");
    }
}

#[test]
fn the_toml_has_the_same_keys_in_the_same_order() {
    for family in FAMILIES {
        let mut out = Vec::new();
        Format::Toml.write(&example(family), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        // Read by position, not through the record, which would accept any order.
        let mut table = String::from("report");
        let mut seen = Vec::new();
        for line in text.lines() {
            if let Some(header) = line.strip_prefix('[') {
                let name = header.trim_start_matches('[').split(']').next().unwrap();
                table = name.to_owned();
            } else if let Some((key, _)) = line.split_once(" = ") {
                seen.push(format!("{table}.{key}"));
            }
        }
        assert_eq!(seen, flat(&as_json(&example(family))), "{family}");
    }
}

fn flat(report: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for (table, value) in report.as_object().unwrap() {
        match value {
            Value::Object(_) => out.extend(keys(value).iter().map(|key| format!("{table}.{key}"))),
            Value::Array(list) => {
                let keys = list.iter().flat_map(keys);
                out.extend(keys.map(|key| format!("{table}.{key}")));
            }
            _ => out.push(format!("report.{table}")),
        }
    }
    out
}

#[test]
fn the_checker_sees_departures() {
    let good = as_json(&example("bcrypt:12"));
    let departs = |change: fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        !faults(&schema(), &bad, "report").is_empty()
    };
    assert!(departs(|r| r["extra"] = 1.into()));
    assert!(departs(|r| r["pool"]["max_queued"] = "7".into()));
    assert!(departs(|r| r["budget"]["latency_ms"] = 250.into()));
    assert!(departs(|r| r["measured"]["basis"] = "guessed".into()));
    assert!(departs(|r| r["hash"]["algorithm"] = "md5".into()));
    assert!(departs(|r| r["schema"] = 2.into()));
    assert!(departs(|r| r["caveat"][0]["code"] = Value::Null));
    assert!(departs(|r| {
        let pool = r["pool"].as_object_mut().unwrap();
        let first = pool.shift_remove("max_in_flight").unwrap();
        pool.insert("max_in_flight".into(), first);
    }));
    assert!(departs(|r| {
        r["host"].as_object_mut().unwrap().shift_remove("kernel");
    }));
}

#[test]
fn every_key_is_explained() {
    let text = include_str!("../docs/report.md");
    for family in FAMILIES {
        for path in flat(&as_json(&example(family))) {
            let key = path.split_once('.').unwrap().1;
            assert!(
                text.contains(&format!("`{key}`")),
                "docs/report.md does not explain {path}"
            );
        }
    }
}
