//! What to measure of a setting, in which order, and how long that takes.

use std::fmt;

use super::Request;
use crate::measure::{Load, Measurement};
use crate::setting::{Argon2id, Setting};
use crate::units::Rate;

/// One thing to measure of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Lone hashes.
    Single,
    /// Hashes released together.
    Burst(u32),
    /// Clients without pauses.
    Closed(u32),
    /// Arrivals at a rate.
    Open(Rate),
    /// Lone hashes with p replaced.
    Lanes(u32),
    /// The high-water mark of this many hashes.
    Memory(u32),
}

impl Kind {
    /// The name in the record.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Burst(_) => "burst",
            Self::Closed(_) => "closed",
            Self::Open(_) => "open",
            Self::Lanes(_) => "lanes",
            Self::Memory(_) => "memory",
        }
    }

    /// Hashes in flight at most.
    pub(super) const fn in_flight(self, workers: u32) -> u32 {
        match self {
            Self::Single | Self::Lanes(_) => 1,
            Self::Burst(n) | Self::Closed(n) | Self::Memory(n) => n,
            Self::Open(_) => workers,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => f.write_str("alone"),
            Self::Burst(n) => write!(f, "{n} at once"),
            Self::Closed(1) => f.write_str("1 client"),
            Self::Closed(n) => write!(f, "{n} clients"),
            Self::Open(rate) => write!(f, "{rate} offered"),
            Self::Lanes(1) => f.write_str("1 lane"),
            Self::Lanes(n) => write!(f, "{n} lanes"),
            Self::Memory(_) => f.write_str("peak memory"),
        }
    }
}

/// All that is asked for of `setting`: quiet loads first, and memory before the loads that may be refused for it.
pub(super) fn kinds(request: &Request, setting: &Setting) -> Vec<Kind> {
    let loads = &request.loads;
    let mut kinds = Vec::new();
    kinds.extend(loads.single.then_some(Kind::Single));
    kinds.extend(loads.bursts.iter().copied().map(Kind::Burst));
    if !loads.only_lanes() {
        kinds.push(Kind::Memory(request.workers));
    }
    kinds.extend(loads.clients.iter().copied().map(Kind::Closed));
    kinds.extend(loads.rates.iter().copied().map(Kind::Open));
    if matches!(setting, Setting::Argon2id(_)) {
        kinds.extend(loads.lanes.iter().copied().map(Kind::Lanes));
    }
    kinds
}

/// `setting` with other lanes, or why that cannot be. For Argon2id only; the others stay as they are.
pub(super) fn with_lanes(setting: &Setting, lanes: u32) -> Result<Setting, String> {
    match setting {
        Setting::Argon2id(a) => Argon2id::new(a.memory_kib(), a.time_cost(), lanes)
            .map(Setting::Argon2id)
            .map_err(|e| e.to_string()),
        other => Ok(*other),
    }
}

/// What one hash takes, from a few lone ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pilot {
    /// Wall seconds of a login.
    pub(super) wall_s: f64,
    /// CPU seconds of a login.
    pub(super) login_s: f64,
}

/// Shortest login that is believed, so that no count becomes endless.
const LEAST_S: f64 = 1e-6;

impl Pilot {
    pub(super) fn of(lone: &Measurement) -> Self {
        let hashes = lone.samples.len().max(1) as f64;
        let walls: Vec<f64> = lone.latencies();
        Self {
            wall_s: crate::stats::median(&walls).unwrap_or(LEAST_S).max(LEAST_S),
            login_s: (lone.cpu_s / hashes).max(LEAST_S),
        }
    }
}

/// Lone hashes in a run: as many as half the closed load's seconds hold, within bounds.
const SINGLES: (f64, f64) = (3.0, 100.0);
/// Rounds of a burst in a run: as many as the closed load's seconds hold, within bounds.
const BURSTS: (f64, f64) = (1.0, 20.0);
/// Seconds that a child takes to start, besides hashing.
const CHILD_S: f64 = 0.1;

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn count(wanted: f64, (least, most): (f64, f64)) -> u32 {
    wanted.floor().clamp(least, most) as u32
}

/// Lone hashes in a run.
pub(super) fn singles(request: &Request, pilot: &Pilot) -> u32 {
    count(0.5 * request.closed_s / pilot.wall_s, SINGLES)
}

/// Rounds of a burst of `size` in a run.
pub(super) fn rounds(request: &Request, pilot: &Pilot, size: u32) -> u32 {
    count(request.closed_s / crowd_s(request, pilot, size), BURSTS)
}

/// Seconds that `size` hashes at once take.
fn crowd_s(request: &Request, pilot: &Pilot, size: u32) -> f64 {
    (f64::from(size) * pilot.login_s / request.usable_cpus).max(pilot.wall_s)
}

/// Arrivals of an open load.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn arrivals(request: &Request, rate: Rate) -> usize {
    (rate.per_s() * request.open_s).ceil().clamp(1.0, 1e6) as usize
}

/// The load, but for `Open`, whose arrivals are chosen, and `Memory`, which is none.
pub(super) fn load(request: &Request, pilot: &Pilot, kind: Kind) -> Option<Load> {
    match kind {
        Kind::Single | Kind::Lanes(_) => Some(Load::Single {
            hashes: singles(request, pilot),
        }),
        Kind::Burst(size) => Some(Load::Burst {
            size,
            rounds: rounds(request, pilot, size),
        }),
        Kind::Closed(clients) => Some(Load::Closed {
            clients,
            hashes: u32::MAX,
            seconds: request.closed_s,
        }),
        Kind::Open(_) | Kind::Memory(_) => None,
    }
}

/// About how many seconds it takes, the warm-up hash of each slot included.
pub(super) fn expected_s(request: &Request, pilot: &Pilot, kind: Kind) -> f64 {
    let crowd = |size| crowd_s(request, pilot, size);
    match kind {
        Kind::Single => pilot.wall_s * f64::from(singles(request, pilot) + 1),
        // Fewer lanes take longer, up to the whole CPU time.
        Kind::Lanes(_) => pilot.login_s.max(pilot.wall_s) * f64::from(singles(request, pilot) + 1),
        Kind::Burst(size) => crowd(size) * f64::from(rounds(request, pilot, size) + 1),
        Kind::Closed(clients) => request.closed_s + 2.0 * crowd(clients),
        Kind::Open(rate) => {
            let arrivals = arrivals(request, rate) as f64;
            let served = arrivals * pilot.login_s / request.usable_cpus;
            crowd(request.workers) + served.max(arrivals / rate.per_s())
        }
        Kind::Memory(workers) => CHILD_S + crowd(workers),
    }
}
