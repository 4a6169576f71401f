//! The record of a benchmark: plain, serialisable, and all that is exported.
//!
//! The names and the order of the keys are a public interface; `docs/bench.md` lists them, and `tests/bench_cli.rs` holds
//! both together.

use serde::Serialize;

use crate::caveat::Caveat;
use crate::report::{Figure, HostRecord, NotFinite, Pages};
use crate::stats;

/// What was measured, where, under which conditions, and with which doubts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// The name and version of this form: [`Record::SCHEMA`].
    pub schema: &'static str,
    /// Where it was measured.
    pub host: HostRecord,
    /// What was asked.
    pub conditions: Conditions,
    /// One entry a setting, in the order asked.
    pub settings: Vec<SettingRecord>,
    /// What was not measured, and why.
    pub left_out: Vec<LeftOut>,
    /// Doubts, each with the measurement that raised it.
    pub caveats: Vec<Doubt>,
}

impl Record {
    /// Grows when a key changes its meaning.
    pub const SCHEMA: &str = "hashtune-bench-1";

    /// Whether nothing at all was measured.
    pub fn is_empty(&self) -> bool {
        let nothing = |s: &SettingRecord| s.loads.is_empty() && s.lanes.is_empty() && s.memory.is_none();
        self.settings.iter().all(nothing)
    }
}

/// What holds for every figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conditions {
    /// What hashed.
    pub engine: String,
    /// What was assumed of memory.
    pub pages: Pages,
    /// Runs that were asked for.
    pub runs: u32,
    /// Most hashes in flight under open loads, and in the peak memory.
    pub workers: u32,
    /// CPU time of the rest of a login.
    pub app_cpu_ms: Figure,
    /// Seconds of a closed load.
    pub closed_s: Figure,
    /// Seconds of arrivals of an open load.
    pub open_s: Figure,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// The figures of one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingRecord {
    /// The preset's name, or the setting.
    pub name: String,
    /// The setting.
    pub setting: String,
    /// Its family.
    pub algorithm: String,
    /// Memory of one hash, by its parameters.
    pub memory_cost_bytes: u64,
    /// The high-water mark with all workers hashing.
    pub memory: Option<Memory>,
    /// Most logins a second, by CPU time.
    pub ceiling: Option<Ceiling>,
    /// One entry a load.
    pub loads: Vec<LoadRecord>,
    /// One entry a lane count: lone hashes with p replaced.
    pub lanes: Vec<LoadRecord>,
}

/// Peak memory above idle.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Memory {
    /// Hashes held at once.
    pub workers: u32,
    /// workers x memory_cost, by the parameters.
    pub expected_bytes: u64,
    /// The high-water mark above the idle process.
    pub peak_bytes: Spread,
    /// Where the figure comes from.
    pub source: String,
}

/// What the CPUs can serve, from the closed load that served most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// Clients of that load.
    pub clients: u32,
    /// CPU time of a login in it.
    pub cpu_ms: Spread,
    /// Usable CPUs over CPU time of a login.
    pub per_s: Spread,
    /// Share of the ceiling that the load reached.
    pub reached: Spread,
}

/// The figures of one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadRecord {
    /// `single`, `burst`, `closed`, `open`, or `lanes`.
    pub load: &'static str,
    /// The load in words, as in [`LeftOut`] and [`Doubt`]: `16 clients`.
    pub what: String,
    /// The setting that was hashed with.
    pub setting: String,
    /// Argon2's p; 1 for the others.
    pub lanes: u32,
    /// Most hashes in flight: 1, the burst's size, the clients, or the workers.
    pub in_flight: u32,
    /// Arrivals a second, for `open`.
    pub offered_per_s: Option<Figure>,
    /// Runs that were completed.
    pub runs: u32,
    /// Hashes of all of them.
    pub hashes: u64,
    /// Logins completed a second.
    pub per_s: Spread,
    /// Latency: half of the logins took no longer.
    pub p50_ms: Spread,
    /// 95 % took no longer.
    pub p95_ms: Spread,
    /// 99 % took no longer.
    pub p99_ms: Spread,
    /// The slowest of each run.
    pub max_ms: Spread,
    /// CPU time of a login.
    pub cpu_ms: Spread,
    /// CPUs kept busy: logins a second x CPU time.
    pub busy_cpus: Spread,
    /// For `open`: where the p95 of an endless run lies.
    pub p95_long_run_ms: Option<Range>,
    /// For `open`: logins that began late though a worker was free.
    pub late_starts: u64,
    /// Logins whose CPU time was far from their run's median. They are counted like all others.
    pub outliers: u64,
}

/// One figure over the runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    pub median: Figure,
    pub lowest: Figure,
    pub highest: Figure,
}

impl Spread {
    /// Of one value a run, rounded as measured figures are.
    ///
    /// # Errors
    /// When there is no value, or one is no number.
    pub fn of(values: &[f64]) -> Result<Self, NotFinite> {
        let round = |value: f64| Figure::rounded(value);
        Ok(Self {
            median: round(stats::median(values).unwrap_or(f64::NAN))?,
            lowest: round(values.iter().copied().fold(f64::INFINITY, f64::min))?,
            highest: round(values.iter().copied().fold(f64::NEG_INFINITY, f64::max))?,
        })
    }
}

/// An estimate with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    pub estimate: Figure,
    pub low: Figure,
    pub high: Figure,
}

/// Something that was asked for and not, or not as often, measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The setting's name.
    pub name: String,
    /// What of it: `16 clients`, `peak memory`, or `everything`.
    pub what: String,
    /// Runs that are missing.
    pub runs: u32,
    /// `memory`, `time`, `engine` or `bounds`.
    pub cause: &'static str,
    /// The same in figures.
    pub why: String,
}

/// A [`Caveat`] with the measurement that raised it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doubt {
    pub code: &'static str,
    /// The setting's name; none where it concerns the whole benchmark.
    pub name: Option<String>,
    /// What of it.
    pub what: Option<String>,
    /// The run, from 1; none where it concerns all.
    pub run: Option<u32>,
    pub text: String,
    pub remedy: String,
}

impl Doubt {
    /// Of every load of a setting, in the place of one load's name.
    pub const EVERY_LOAD: &str = "every load";

    /// Whether it concerns this load of this setting.
    pub fn concerns(&self, name: &str, what: &str) -> bool {
        let load = |of: &str| of == what || of == Self::EVERY_LOAD;
        self.name.as_deref().is_none_or(|of| of == name) && self.what.as_deref().is_none_or(load)
    }

    /// A doubt about the whole benchmark.
    pub fn general(caveat: &Caveat) -> Self {
        Self {
            code: caveat.code(),
            name: None,
            what: None,
            run: None,
            text: caveat.text(),
            remedy: remedy(caveat),
        }
    }

    /// A doubt about one measurement, or with no `run` about all of its kind.
    pub fn about(caveat: &Caveat, name: &str, what: &str, run: Option<u32>) -> Self {
        Self {
            name: Some(name.to_owned()),
            what: Some(what.to_owned()),
            run,
            ..Self::general(caveat)
        }
    }
}

/// More time here is a longer load, not a later end.
fn remedy(caveat: &Caveat) -> String {
    match caveat {
        Caveat::TooFewArrivals { .. } => "raise --seconds or --runs".into(),
        Caveat::Noisy { .. } | Caveat::WideInterval { .. } => "repeat on an idle host, or raise --seconds".into(),
        _ => caveat.remedy(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Millis;

    #[test]
    fn a_spread_is_ordered_and_rounded() {
        let spread = Spread::of(&[3.000_04, 1.0, 2.0]).unwrap();
        assert_eq!(
            (spread.lowest.get(), spread.median.get(), spread.highest.get()),
            (1.0, 2.0, 3.0)
        );
        assert_eq!(Spread::of(&[4.0, 1.0]).unwrap().median.get(), 2.5);
        assert!(Spread::of(&[]).is_err() && Spread::of(&[f64::NAN]).is_err());
    }

    #[test]
    fn a_doubt_concerns_its_load_its_setting_or_all() {
        let (one, all) = (&Caveat::NoCgroup, Doubt::general(&Caveat::NoCgroup));
        let load = Doubt::about(one, "a", "alone", Some(1));
        let setting = Doubt::about(one, "a", Doubt::EVERY_LOAD, None);
        let of =
            |doubt: &Doubt| [("a", "alone"), ("a", "2 clients"), ("b", "alone")].map(|(n, w)| doubt.concerns(n, w));
        assert_eq!(of(&load), [true, false, false]);
        assert_eq!(of(&setting), [true, true, false]);
        assert_eq!(of(&all), [true, true, true]);
    }

    #[test]
    fn remedies_name_flags_that_exist_here() {
        let caveat = Caveat::Noisy {
            what: "x".into(),
            first: Millis(1.0),
            second: Millis(2.0),
        };
        assert!(Doubt::general(&caveat).remedy.contains("--seconds"));
    }
}
