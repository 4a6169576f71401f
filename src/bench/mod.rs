//! A benchmark: figures for people who want them, without a verdict.
//!
//! Each setting is measured under each load, several times. The runs go round: the first of everything, then the second
//! of everything, so that what changes on the host within minutes spreads over all settings instead of favouring one.

mod assemble;
mod plan;
mod record;
mod seen;
mod session;
mod work;

pub use record::{Ceiling, Conditions, Doubt, LeftOut, LoadRecord, Memory, Range, Record, SettingRecord, Spread};
pub use session::run;

use crate::queue::Cpus;
use crate::report::{HostRecord, Pages};
use crate::setting::Setting;
use crate::units::{Millis, Rate};

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The settings, in the order of the tables.
    pub subjects: Vec<Subject>,
    /// The loads that each is put under.
    pub loads: Loads,
    /// How often everything is measured; at least once.
    pub runs: u32,
    /// Most hashes in flight under open loads, and in the peak memory.
    pub workers: u32,
    /// Seconds of a closed load.
    pub closed_s: f64,
    /// Seconds of arrivals of an open load.
    pub open_s: f64,
    /// CPU time of the rest of a login. The measurements must spend it; here it is recorded.
    pub app_cpu: Millis,
    /// CPUs that may be used, a fraction.
    pub usable_cpus: f64,
    /// The same as the simulation sees them.
    pub cpus: Cpus,
    /// For every random draw.
    pub seed: u64,
    /// Seconds that the whole benchmark may take; infinite without a limit.
    pub time_limit_s: f64,
    /// What hashes.
    pub engine: String,
    /// What is assumed of memory.
    pub pages: Pages,
    /// Where.
    pub host: HostRecord,
}

/// A setting and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The preset's name, or the setting.
    pub name: String,
    /// The setting.
    pub setting: Setting,
}

/// Which loads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loads {
    /// Lone hashes.
    pub single: bool,
    /// Sizes of bursts.
    pub bursts: Vec<u32>,
    /// Numbers of clients in closed loops.
    pub clients: Vec<u32>,
    /// Rates of open loops.
    pub rates: Vec<Rate>,
    /// Lane counts to try alone.
    pub lanes: Vec<u32>,
}

impl Loads {
    /// What is measured when nothing is asked for: alone, ten at once, and 1 to 16 clients.
    pub fn usual() -> Self {
        Self {
            single: true,
            bursts: vec![10],
            clients: vec![1, 2, 4, 8, 16],
            ..Self::default()
        }
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.only_lanes() && self.lanes.is_empty()
    }

    /// Whether there is no load besides the lane counts, if any.
    pub fn only_lanes(&self) -> bool {
        !self.single && self.bursts.is_empty() && self.clients.is_empty() && self.rates.is_empty()
    }
}
