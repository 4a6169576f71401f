//! Text to values: everything about the arguments of `hashtune bench` that can be checked without looking at the machine.

use std::path::PathBuf;
use std::str::FromStr;

use hashtune::bench::{Loads, Subject};
use hashtune::budget::Budget;
use hashtune::engine::Pages;
use hashtune::export::bench::Format;
use hashtune::preset;
use hashtune::setting::{Argon2id, Setting};
use hashtune::units::{BadValue, Millis, Seconds};

use super::super::plan::{count, flag, whole};
use super::{BenchArgs, Form};
use crate::failure::Failure;

/// A checked command line of `hashtune bench`.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchPlan {
    pub subjects: Vec<Subject>,
    pub loads: Loads,
    /// `None`: from the CPUs.
    pub workers: Option<u32>,
    pub app_cpu: Millis,
    pub pages: Pages,
    pub runs: u32,
    pub closed_s: f64,
    pub open_s: f64,
    /// `None`: all that may be used.
    pub cpus: Option<u32>,
    pub nice: bool,
    /// `None`: no limit.
    pub time_limit: Option<Seconds>,
    pub seed: u64,
    /// `None`: standard output.
    pub output: Option<PathBuf>,
    pub format: Format,
    pub quiet: bool,
}

/// The settings of the published measurements, taken when none is named.
const USUAL: [&str; 3] = ["django-argon2", "rfc9106-second", "owasp-19m"];
/// Most hashes at once.
const MAX_AT_ONCE: u32 = Budget::MAX_WORKERS;
/// Most runs.
const MAX_RUNS: u32 = 100;
/// Most CPUs that can be asked for.
const MAX_CPUS: u32 = 4096;
/// Shortest and longest load, in seconds.
const SECONDS: (f64, f64) = (0.01, 600.0);
/// Seconds of a closed and of an open load.
const DEFAULT_SECONDS: (f64, f64) = (3.0, 10.0);
/// Shortest and longest time limit, in seconds: up to a day.
const TIME_LIMIT_S: (f64, f64) = (1.0, 86_400.0);
/// Most values in a list.
const MAX_VALUES: usize = 64;

impl BenchArgs {
    /// What the arguments mean.
    ///
    /// # Errors
    /// The first value that is wrong, with what is accepted.
    pub fn plan(&self) -> Result<BenchPlan, Failure> {
        let subjects = self.subjects()?;
        let loads = self.loads()?;
        if !loads.lanes.is_empty() && !subjects.iter().any(|s| matches!(s.setting, Setting::Argon2id(_))) {
            let lanes = self.lanes.as_deref().unwrap_or_default();
            return Err(Failure::new(format!("--lanes \"{lanes}\": no setting here has lanes"))
                .hint("name an Argon2id setting, such as owasp-19m or argon2id:m=65536,t=3,p=4"));
        }
        let number =
            |name, given: &Option<String>, most| given.as_deref().map(|text| count(name, text, most)).transpose();
        let seconds = self.seconds.as_deref().map(seconds).transpose()?;
        let open_s = seconds.unwrap_or(DEFAULT_SECONDS.1);
        if let Some(rate) = loads.rates.iter().find(|r| r.per_s() * open_s < 1.0) {
            let text = self.rate.as_deref().unwrap_or_default();
            let reason = format!("{rate} is less than one arrival in {open_s} s");
            let form = "rates that give at least one arrival, such as 5/s,10/s";
            return Err(BadValue::new("--rate", text, reason, form)
                .hint(format!("pass --seconds {} or more", (1.0 / rate.per_s()).ceil()))
                .into());
        }
        let app_cpu = self.app_cpu_ms.as_deref().unwrap_or("0");
        Ok(BenchPlan {
            subjects,
            loads,
            workers: number("--workers", &self.workers, MAX_AT_ONCE)?,
            app_cpu: Millis::parse_within("--app-cpu-ms", app_cpu, 0.0, Budget::LATENCY_MS.1)?,
            pages: flag("--pages", self.pages.as_deref().unwrap_or("deployed"))?,
            runs: number("--runs", &self.runs, MAX_RUNS)?.unwrap_or(3),
            closed_s: seconds.unwrap_or(DEFAULT_SECONDS.0),
            open_s,
            cpus: number("--cpus", &self.cpus, MAX_CPUS)?,
            nice: self.nice,
            time_limit: self.time_limit.as_deref().map(time_limit).transpose()?,
            seed: whole("--seed", self.seed.as_deref().unwrap_or("1"), 0, u64::MAX)?,
            output: self.output.clone(),
            format: match self.format {
                Some(Form::Json) => Format::Json,
                Some(Form::Csv) => Format::Csv,
                Some(Form::Text) | None => Format::Text,
            },
            quiet: self.quiet,
        })
    }

    /// Those named in any way, each once, in the order given.
    fn subjects(&self) -> Result<Vec<Subject>, Failure> {
        let mut subjects = subjects(&self.what)?;
        for name in &self.preset {
            subjects.push(of_preset("--preset", name)?);
        }
        for text in &self.setting {
            subjects.push(of_setting("--setting", text)?);
        }
        if subjects.is_empty() {
            for name in USUAL {
                subjects.push(of_preset("preset", name)?);
            }
        }
        let mut unique: Vec<Subject> = Vec::new();
        for subject in subjects {
            if !unique.contains(&subject) {
                unique.push(subject);
            }
        }
        Ok(unique)
    }

    fn loads(&self) -> Result<Loads, BadValue> {
        let counts = |name, given: &Option<String>, most| {
            given
                .as_deref()
                .map_or(Ok(Vec::new()), |text| list(name, text, |word| count(name, word, most)))
        };
        let loads = Loads {
            single: self.single,
            bursts: counts("--burst", &self.burst, MAX_AT_ONCE)?,
            clients: counts("--clients", &self.clients, MAX_AT_ONCE)?,
            rates: self
                .rate
                .as_deref()
                .map_or(Ok(Vec::new()), |text| list("--rate", text, |word| flag("--rate", word)))?,
            lanes: counts("--lanes", &self.lanes, Argon2id::MAX_LANES)?,
        };
        Ok(if loads.is_empty() { Loads::usual() } else { loads })
    }
}

/// Presets by name and settings written out, in the order given.
///
/// # Errors
/// The first that is neither.
pub fn subjects(what: &[String]) -> Result<Vec<Subject>, Failure> {
    what.iter()
        .map(|text| match text.contains(':') {
            true => Ok(of_setting("setting", text)?),
            false => of_preset("preset", text),
        })
        .collect()
}

fn of_preset(what: &str, name: &str) -> Result<Subject, Failure> {
    let preset = preset::named(name.trim()).ok_or_else(|| {
        Failure::new(format!("{what} \"{}\": no preset has this name", name.escape_debug()))
            .hint("hashtune presets lists them; a setting is written as argon2id:m=65536,t=3,p=4 or bcrypt:12")
    })?;
    Ok(Subject {
        name: preset.name.clone(),
        setting: preset.setting,
    })
}

fn of_setting(what: &str, text: &str) -> Result<Subject, BadValue> {
    let setting: Setting = flag(what, text)?;
    Ok(Subject {
        name: setting.to_string(),
        setting,
    })
}

/// Values between commas, each once. A refusal repeats the whole list.
fn list<T: PartialEq>(name: &str, text: &str, parse: impl Fn(&str) -> Result<T, BadValue>) -> Result<Vec<T>, BadValue> {
    let mut values = Vec::new();
    for word in text.split(',').map(str::trim) {
        let value = parse(word).map_err(|bad| BadValue {
            reason: if word == text {
                bad.reason
            } else {
                format!("\"{word}\": {}", bad.reason)
            },
            input: text.to_owned(),
            accepted: format!("{}; several with commas", bad.accepted),
            ..bad
        })?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.len() > MAX_VALUES {
        let accepted = format!("at most {MAX_VALUES} values");
        return Err(BadValue::new(name, text, format!("{} values", values.len()), accepted));
    }
    Ok(values)
}

fn seconds(text: &str) -> Result<f64, BadValue> {
    let (least, most) = SECONDS;
    let form = format!("seconds from {least} to {most}, without a unit, such as 3 or 0.5");
    let bad = |reason: &str| BadValue::new("--seconds", text, reason, form.clone());
    match f64::from_str(text.trim()) {
        Ok(s) if (least..=most).contains(&s) => Ok(s),
        Ok(s) if s < least => Err(bad(&format!("below {least}"))),
        Ok(s) if s > most => Err(bad(&format!("above {most}"))),
        _ => {
            let error = bad("not a plain number of seconds");
            let bare = text
                .trim()
                .strip_suffix('s')
                .and_then(|bare| f64::from_str(bare.trim_end()).ok());
            Err(match bare {
                Some(s) if (least..=most).contains(&s) => error.hint(format!("write {s}")),
                _ => error,
            })
        }
    }
}

fn time_limit(text: &str) -> Result<Seconds, BadValue> {
    let (least, most) = TIME_LIMIT_S;
    let limit: Seconds = flag("--time-limit", text)?;
    if (least..=most).contains(&limit.0) {
        return Ok(limit);
    }
    let accepted = format!("{least}s to {most}s, such as 60s or 10min");
    Err(BadValue::new("--time-limit", text, "out of range", accepted))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: BenchArgs,
    }

    fn plan(line: &str) -> Result<BenchPlan, Failure> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Line::try_parse_from(words).expect("clap accepts it").args.plan()
    }

    #[test]
    fn nothing_given_repeats_the_published_measurements() {
        let plan = plan("").unwrap();
        let names: Vec<&str> = plan.subjects.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, USUAL);
        assert_eq!(plan.loads, Loads::usual());
        assert_eq!((plan.runs, plan.closed_s, plan.open_s), (3, 3.0, 10.0));
        assert_eq!(plan.time_limit, None);
    }

    #[test]
    fn settings_keep_their_order_and_come_once() {
        let plan = plan("bcrypt:12 owasp-19m bcrypt:12 --preset bcrypt-10 --setting argon2id:t=1,m=64,p=1").unwrap();
        let names: Vec<&str> = plan.subjects.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["bcrypt:12", "owasp-19m", "bcrypt-10", "argon2id:m=64,t=1,p=1"]);
    }

    #[test]
    fn one_load_replaces_the_usual_ones() {
        let loads = plan("--clients 4,4,2").unwrap().loads;
        assert_eq!((loads.clients.as_slice(), loads.single), ([4, 2].as_slice(), false));
        let loads = plan("--rate 5/s,60/min,1/s").unwrap().loads;
        assert_eq!(loads.rates.iter().map(|r| r.per_s()).collect::<Vec<_>>(), [5.0, 1.0]);
        assert!(plan("--lanes 1,2").unwrap().loads.only_lanes());
    }

    #[test]
    fn lists_are_repeated_as_a_whole() {
        let failure = plan("--clients 1,x").unwrap_err();
        assert!(
            failure.line.starts_with("--clients \"1,x\": \"x\": not a whole"),
            "{failure:?}"
        );
        let long = (1..=65).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        assert!(
            plan(&format!("--clients {long}"))
                .unwrap_err()
                .line
                .contains("at most 64")
        );
    }
}
