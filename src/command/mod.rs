//! What the program does, one file a subcommand.

pub mod presets;
mod sources;
pub mod strength;
