//! One file a subcommand.

pub mod probe;
