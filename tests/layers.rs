//! A module may use only the layers before it in this list.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. `units` uses nothing; `export` may use all.
const LAYERS: [&str; 18] = [
    "units",
    "caveat",
    "stats",
    "arrivals",
    "queue",
    "setting",
    "hash_string",
    "preset",
    "budget",
    "host",
    "strength",
    "engine",
    "measure",
    "verdict",
    "recommend",
    "report",
    "bench",
    "export",
];
/// Modules of the binary: they see the library from outside.
const BINARY: [&str; 7] = ["failure", "interrupt", "output", "terminal", "cli", "command", "main"];

fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn module_of(path: &Path, src: &Path) -> String {
    let first = path.strip_prefix(src).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The first path segment of every `crate::x` in the text, comments included: a doc link is a use as well.
fn used(text: &str) -> Vec<String> {
    text.match_indices("crate::")
        .flat_map(|(at, _)| {
            let rest = &text[at + 7..];
            match rest.strip_prefix('{') {
                Some(group) => {
                    let group = &group[..group.find('}').unwrap_or(group.len())];
                    group.split(',').map(|p| word(p.trim())).collect()
                }
                None => vec![word(rest)],
            }
        })
        .collect()
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn no_module_uses_a_layer_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 3, "found only {files:?}");
    let mut faults = Vec::new();
    for file in &files {
        let module = module_of(file, &src);
        if module == "lib" || BINARY.contains(&module.as_str()) {
            continue;
        }
        let row = LAYERS
            .iter()
            .position(|l| *l == module)
            .unwrap_or_else(|| panic!("{module} has no layer"));
        for target in used(&fs::read_to_string(file).unwrap()) {
            match LAYERS.iter().position(|l| *l == target) {
                Some(at) if at <= row => {}
                _ => faults.push(format!("{}: {module} uses {target}", file.display())),
            }
        }
    }
    assert!(faults.is_empty(), "upward uses:\n{}", faults.join("\n"));
}

#[test]
fn no_file_is_a_dumping_ground() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    for file in files {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 500, "{} has {lines} lines", file.display());
    }
}

#[test]
fn the_scan_sees_uses() {
    assert_eq!(
        used("use crate::units::Bytes; use crate::{a::B, c};"),
        ["units", "a", "c"]
    );
}
