//! Assumed hardware, and the guesses per second that it gets.

use std::fmt;
use std::sync::LazyLock;

use super::work::{floor_ratio, minimum, traffic};
use crate::setting::{Algorithm, Setting};
use crate::units::Short;

/// Where figures of Argon2id were checked against published speeds: memory in KiB, and the fewest passes.
const ARGON2ID_CHECKED_KIB: std::ops::RangeInclusive<u32> = 16_384..=65_536;
const ARGON2ID_CHECKED_PASSES: u32 = 3;

/// The attackers that come with the program: `(name, text)`.
const BUILTIN: [(&str, &str); 2] = [
    ("rtx-4090", include_str!("../../profiles/attackers/rtx-4090.toml")),
    ("rtx-5090", include_str!("../../profiles/attackers/rtx-5090.toml")),
];

/// One attacker's hardware with what was published about its speed. Read from TOML (`profiles/attackers/`).
#[derive(Debug, Clone, PartialEq)]
pub struct Attacker {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) memory_bandwidth_gb_s: f64,
    pub(super) price: Price,
    pub(super) anchors: Vec<Anchor>,
    pub(super) bounds: Vec<Bound>,
    pub(super) checks: Vec<Check>,
}

/// What the hardware costs to rent.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// US dollars per hour.
    pub usd_per_hour: f64,
    /// Who asked that price.
    pub source: String,
    /// Address of the source.
    pub url: String,
    /// When, `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.
    pub date: String,
}

/// A published speed of this hardware with today's public tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// The setting that was attacked.
    pub setting: Setting,
    /// Guesses per second.
    pub guesses_per_s: f64,
    /// Who published it.
    pub source: String,
    /// Address of the source.
    pub url: String,
    /// When.
    pub date: String,
}

/// The most that the hardware could do in one family, whatever the software.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    pub(super) algorithm: Algorithm,
    /// Units of work per second; see `work::traffic` for the units.
    pub(super) work_per_s: f64,
    /// Why it can be no more.
    pub(super) basis: String,
}

/// A published speed that fixed nothing, to see how far the model is off: of other hardware, or of the same with other parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The hardware.
    pub hardware: String,
    /// What limits the family, with its unit, such as `memory bandwidth in GB/s`.
    pub limited_by: String,
    /// How much of it the hardware has, in that unit.
    pub has: f64,
    /// How much of it the attacker has; the model is scaled by the ratio.
    pub attacker_has: f64,
    /// What was measured.
    pub anchor: Anchor,
}

/// How a figure came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// Somebody measured just this.
    Measured,
    /// Computed within the range where the model was checked.
    Modelled,
    /// Computed outside that range.
    Extrapolated,
}

impl Label {
    /// `measured`, `modelled` or `extrapolated`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Modelled => "modelled",
            Self::Extrapolated => "extrapolated",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Guesses per second, how the figure came about, and why it is not more certain.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Guesses per second.
    pub per_s: f64,
    /// How the figure came about.
    pub label: Label,
    /// The reason for the label, in words.
    pub why: String,
}

/// Attacker A's guesses per second against one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Guesses {
    /// The most that the hardware could do: the figure to print and to rank by.
    pub bound: Figure,
    /// What today's public tools reach.
    pub tools: Figure,
}

/// US dollars for 2^32 guesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// At the bound: the least it can cost.
    pub bound: f64,
    /// With today's public tools.
    pub tools: f64,
}

impl Attacker {
    /// The attacker that settings are ranked against unless told otherwise: one RTX 4090.
    ///
    /// # Panics
    /// Never: the data is compiled in, and a test reads it.
    pub fn builtin() -> &'static Self {
        &Self::all()[0]
    }

    /// All attackers that come with the program.
    ///
    /// # Panics
    /// Never: the data is compiled in, and a test reads it.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Attacker>> = LazyLock::new(|| {
            BUILTIN
                .iter()
                .map(|(name, text)| Attacker::parse(text, name).expect("compiled-in attackers are well formed"))
                .collect()
        });
        &ALL
    }

    /// The attacker of that name among those that come with the program.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|a| a.name == name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in one line.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Memory bandwidth in GB/s.
    pub const fn memory_bandwidth_gb_s(&self) -> f64 {
        self.memory_bandwidth_gb_s
    }

    /// What it costs to rent.
    pub const fn price(&self) -> &Price {
        &self.price
    }

    /// The published speed that fixes the figures of a family.
    ///
    /// # Panics
    /// Never: an attacker that lacks a family is refused when it is read.
    pub fn anchor(&self, algorithm: Algorithm) -> &Anchor {
        self.anchors
            .iter()
            .find(|a| a.setting.algorithm() == algorithm)
            .expect("every family has an anchor, see parse")
    }

    /// Published speeds that the model can be held against.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Why the bound of a family cannot be exceeded; `None` where today's tools already reach it.
    pub fn bound_basis(&self, algorithm: Algorithm) -> Option<&str> {
        self.bound(algorithm).map(|b| b.basis.as_str())
    }

    fn bound(&self, algorithm: Algorithm) -> Option<&Bound> {
        self.bounds.iter().find(|b| b.algorithm == algorithm)
    }

    /// Work per second that today's tools reach in a family.
    fn tools_work_per_s(&self, algorithm: Algorithm) -> f64 {
        let anchor = self.anchor(algorithm);
        anchor.guesses_per_s * traffic(&anchor.setting)
    }

    fn bound_work_per_s(&self, algorithm: Algorithm) -> f64 {
        self.bound(algorithm)
            .map_or_else(|| self.tools_work_per_s(algorithm), |b| b.work_per_s)
    }

    /// Guesses per second of attacker A: the hardware's bound, and today's public tools.
    pub fn guesses(&self, setting: &Setting) -> Guesses {
        let algorithm = setting.algorithm();
        let (tools_label, tools_why) = self.tools_label(setting);
        let tools = Figure {
            per_s: self.tools_work_per_s(algorithm) / traffic(setting),
            label: tools_label,
            why: tools_why,
        };
        let Some(bound) = self.bound(algorithm) else {
            return Guesses {
                bound: tools.clone(),
                tools,
            };
        };
        // A bound is computed, never measured, even where the tools were.
        let bound = Figure {
            per_s: bound.work_per_s / traffic(setting),
            label: tools.label.max(Label::Modelled),
            why: match tools.label {
                Label::Measured => bound.basis.clone(),
                _ => format!("{}; {}", bound.basis, tools.why),
            },
        };
        Guesses { bound, tools }
    }

    /// The label of today's tools' figure, with its reason.
    fn tools_label(&self, setting: &Setting) -> (Label, String) {
        let anchor = self.anchor(setting.algorithm());
        if traffic(&anchor.setting) == traffic(setting) && same_memory(&anchor.setting, setting) {
            return (Label::Measured, format!("{}, {}", anchor.source, anchor.date));
        }
        let from = format!("computed from {}", anchor.setting);
        match setting {
            Setting::Argon2id(a) if !ARGON2ID_CHECKED_KIB.contains(&a.memory_kib()) => (
                Label::Extrapolated,
                format!("{from}; the model was checked from 16 to 64 MiB only"),
            ),
            Setting::Argon2id(a) if a.time_cost() < ARGON2ID_CHECKED_PASSES => (
                Label::Extrapolated,
                format!("{from}; the model was checked from 3 passes up only"),
            ),
            Setting::Argon2id(_) => (Label::Modelled, format!("{from} by the memory traffic")),
            Setting::Scrypt(_) => (
                Label::Extrapolated,
                format!("{from}; for scrypt take the two figures as an interval, not the one as a number"),
            ),
            Setting::Bcrypt(_) => (Label::Modelled, format!("{from} by the number of key schedules")),
            Setting::Pbkdf2(_) => (Label::Modelled, format!("{from} by the iterations")),
        }
    }

    /// Guesses per second of attacker B, scaled to A at the family's OWASP minimum; `None` for bcrypt and PBKDF2.
    pub fn area_time_guesses(&self, setting: &Setting) -> Option<f64> {
        let least = minimum(setting.algorithm());
        let (this, unit) = (super::work::area_time(setting)?, super::work::area_time(&least)?);
        Some(self.guesses_at_minimum(setting.algorithm()) * unit / this)
    }

    fn guesses_at_minimum(&self, algorithm: Algorithm) -> f64 {
        self.bound_work_per_s(algorithm) / traffic(&minimum(algorithm))
    }

    /// The rate that settings of one family are ranked by, in guesses per second: lower is stronger.
    ///
    /// The geometric mean of A's bound and B for Argon2id and scrypt, A's bound for bcrypt and PBKDF2.
    /// Not to be compared between families, where [`super::family_order`] decides.
    pub fn rank(&self, setting: &Setting) -> f64 {
        self.guesses_at_minimum(setting.algorithm()) / floor_ratio(setting)
    }

    /// US dollars that 2^32 guesses cost at the rented price.
    pub fn dollars_per_2_32(&self, setting: &Setting) -> Cost {
        let guesses = self.guesses(setting);
        let at = |per_s: f64| 2f64.powi(32) / per_s / 3600.0 * self.price.usd_per_hour;
        Cost {
            bound: at(guesses.bound.per_s),
            tools: at(guesses.tools.per_s),
        }
    }

    /// Today's tools' figure scaled to a check's hardware, in guesses per second.
    pub fn predicted(&self, check: &Check) -> f64 {
        self.guesses(&check.anchor.setting).tools.per_s * check.has / check.attacker_has
    }

    /// The scaled model against a published speed: predicted / published - 1. Above 0 overstates the attacker.
    pub fn check_error(&self, check: &Check) -> f64 {
        self.predicted(check) / check.anchor.guesses_per_s - 1.0
    }
}

/// Equal in all but lanes, which nobody's measurement depends on.
fn same_memory(a: &Setting, b: &Setting) -> bool {
    match (a, b) {
        (Setting::Argon2id(a), Setting::Argon2id(b)) => a.effective_kib() == b.effective_kib(),
        (a, b) => a == b,
    }
}

/// Guesses per second for people: `1667/s`, `12837/s`, `8.87 million/s`.
#[derive(Debug, Clone, Copy)]
pub struct PerSecond(pub f64);

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n >= 1e9 => format!("{} billion/s", Short(n / 1e9)),
            n if n >= 1e6 => format!("{} million/s", Short(n / 1e6)),
            n => format!("{}/s", Short(n)),
        };
        f.pad(&text)
    }
}
