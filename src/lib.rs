//! Which password-hash setting is the strongest that this machine can really serve?
//!
//! The library probes, measures, decides and renders; it never prints, exits, or reads the environment or arguments.
//! Its modules are layers: each may use only those above it in the list below (`tests/layers.rs` holds this).

pub mod arrivals;
pub mod bench;
pub mod budget;
pub mod caveat;
pub mod engine;
pub mod export;
pub mod hash_string;
pub mod host;
pub mod measure;
pub mod preset;
pub mod queue;
pub mod recommend;
pub mod report;
pub mod setting;
pub mod stats;
pub mod strength;
pub mod units;
pub mod verdict;
