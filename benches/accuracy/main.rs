//! How right the figures are, on this machine: `cargo bench --bench accuracy [-- PART...]`.
//!
//! Everything is a ratio of two things measured in the same run, median with lowest and highest of several. Nothing is asserted:
//! the machine decides. What was seen is kept in `docs/accuracy.md`.

mod common;
mod harness;
mod interval;
mod job;
mod optimality;
mod queueing;
mod repeat;

use std::error::Error;

type Part = fn() -> Result<(), Box<dyn Error>>;

/// What is shown, in the order of `docs/accuracy.md`.
const PARTS: [(&str, Part); 6] = [
    ("saturation", harness::saturation),
    ("spin", harness::spin),
    ("queueing", queueing::run),
    ("interval", interval::run),
    ("repeat", repeat::run),
    ("optimality", optimality::run),
];

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let names = PARTS.map(|(name, _)| name);
    if let Some(unknown) = wanted.iter().find(|w| !names.contains(&w.as_str())) {
        return Err(format!("{unknown} is none of {}", names.join(", ")).into());
    }
    println!("{}", common::heading());
    for (_, part) in PARTS
        .iter()
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name))
    {
        part()?;
    }
    Ok(())
}
