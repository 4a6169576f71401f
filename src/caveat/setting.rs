//! Doubts about a setting that was typed: what was probably meant, and what it does not do.

use crate::units::{Bytes, Short};

/// What is odd about a setting, whatever is measured of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingDoubt {
    /// Argon2's m, in KiB, is more than any login service holds, and a sensible number of bytes.
    BytesForKib { kib: u32 },
    /// Argon2's m, in KiB, is next to nothing, and a sensible number of MiB.
    MibForKib { kib: u32 },
    /// Argon2's m is no multiple of 4 p: some of it is never filled.
    Unfilled { kib: u32, filled_kib: u32, slices: u32 },
    /// More lanes than usable CPUs.
    LanesAboveCpus { lanes: u32, cpus: f64 },
}

impl SettingDoubt {
    codes! {
        BytesForKib => "looks-like-bytes",
        MibForKib => "looks-like-mib",
        Unfilled => "memory-unfilled",
        LanesAboveCpus => "lanes-above-cpus",
    }

    /// What was seen, with its figures.
    pub fn text(&self) -> String {
        match self {
            Self::BytesForKib { kib } => {
                let meant = kib / 1024;
                format!("m={kib} KiB is {}; {meant} ({}) was meant?", size(*kib), size(meant))
            }
            Self::MibForKib { kib } => {
                let meant = kib.saturating_mul(1024);
                format!("m={kib} KiB is {}; {meant} ({}) was meant?", size(*kib), size(meant))
            }
            Self::Unfilled {
                kib,
                filled_kib,
                slices,
            } => format!(
                "m={kib} is no multiple of 4 p = {slices}: only {filled_kib} KiB ({}) are filled, and counted",
                size(*filled_kib)
            ),
            Self::LanesAboveCpus { lanes, cpus } => {
                format!("{lanes} lanes are more than the {} usable CPUs", Short(*cpus))
            }
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::BytesForKib { kib } => format!("m is in KiB: write m={} for {}", kib / 1024, size(kib / 1024)),
            Self::MibForKib { kib } => {
                let meant = kib.saturating_mul(1024);
                format!("m is in KiB: write m={meant} for {}", size(meant))
            }
            Self::Unfilled { filled_kib, .. } => format!("write m={filled_kib}, which costs and protects the same"),
            Self::LanesAboveCpus { .. } => {
                "use as many lanes as there are CPUs, or one: lanes never save CPU time".into()
            }
        }
    }
}

fn size(kib: u32) -> Bytes {
    Bytes::from_kib(kib.into())
}
