//! Text to values: everything about the arguments that can be checked without looking at the machine.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use hashtune::budget::Budget;
use hashtune::caveat::Caveat;
use hashtune::engine::Pages;
use hashtune::export;
use hashtune::hash_string;
use hashtune::preset;
use hashtune::recommend::Bounds;
use hashtune::recommend::grid::MAX_PASSES;
use hashtune::setting::{self, Algorithm, Argon2id, Setting};
use hashtune::units::{BadValue, Bytes, Millis, Rate, Seconds, Share};

use super::{Floor, Format, Job};
use crate::failure::Failure;

/// A checked command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub latency: Millis,
    pub quantile: f64,
    /// `None`: missing. Said after everything that is wrong: that is worth more to know.
    pub peak: Option<Rate>,
    /// `None`: to be found from the host.
    pub memory: Option<Bytes>,
    pub idle_memory: Bytes,
    pub app_cpu: Millis,
    pub headroom: Share,
    /// `None`: as few as fit.
    pub workers: Option<u32>,
    /// In OWASP's order, each once.
    pub algorithms: Vec<Algorithm>,
    pub profiles: Vec<Profile>,
    /// `None`: the built-in one.
    pub attacker: Option<String>,
    pub pages: Pages,
    /// What may be proposed, the floor among it.
    pub bounds: Bounds,
    pub force_memory: bool,
    pub quick: bool,
    /// `None`: all that may be used.
    pub cpus: Option<u32>,
    pub nice: bool,
    pub timings: bool,
    pub explain: bool,
    /// The setting in use.
    pub current: Option<Setting>,
    pub compare: bool,
    pub time_limit: Seconds,
    pub seed: u64,
    /// `None`: standard output.
    pub output: Option<PathBuf>,
    pub format: export::Format,
    pub quiet: bool,
    /// What was not given, in the order of the help.
    pub assumed: Vec<Assumed>,
}

/// A flag that was not given, and the value taken in its place, as it would be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumed {
    pub flag: &'static str,
    pub value: Cow<'static, str>,
}

/// Where a further preset comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// One that is built in.
    Name(String),
    /// A file of presets.
    File(PathBuf),
}

/// The time limit of `--quick`: a third of it for learning, a third for the peak, the rest in reserve for a second try.
const QUICK_LIMIT: &str = "20s";
/// Shortest and longest time limit, in seconds.
const TIME_LIMIT_S: (f64, f64) = (1.0, 3600.0);

impl Plan {
    pub(super) fn new(job: &Job) -> Result<Self, Failure> {
        let mut assumed = Vec::new();
        let mut or = |flag, given: &Option<String>, default: &'static str| {
            given.clone().unwrap_or_else(|| {
                assumed.push(Assumed {
                    flag,
                    value: default.into(),
                });
                default.to_owned()
            })
        };
        let (least, most) = Budget::LATENCY_MS;
        let latency = or("--budget-ms", &job.budget_ms, "250");
        let latency = Millis::parse_within("--budget-ms", &latency, least, most)?;
        let quantile = quantile(&or("--quantile", &job.quantile, "0.95"))?;
        let idle_memory = flag("--idle-mem", &or("--idle-mem", &job.idle_mem, "0B"))?;
        let app_cpu = app_cpu(&or("--app-cpu-ms", &job.app_cpu_ms, "0"), latency)?;
        let headroom = flag("--headroom", &or("--headroom", &job.headroom, "10%"))?;
        let families = if job.libsodium { "argon2id" } else { "argon2id,bcrypt" };
        let families = or("--algorithm", &job.algorithm, families);
        let algorithms = algorithms(&families)?;
        if job.libsodium && algorithms != [Algorithm::Argon2id] {
            let reason = "crypto_pwhash of libsodium has Argon2id alone";
            return Err(BadValue::new("--algorithm", families, reason, "argon2id beside --libsodium").into());
        }
        if job.floor.is_none() {
            or("--floor", &None, "owasp");
        }
        let time_limit = time_limit(&or(
            "--time-limit",
            &job.time_limit,
            if job.quick { QUICK_LIMIT } else { "60s" },
        ))?;
        let seed = whole("--seed", &or("--seed", &job.seed, "1"), 0, u64::MAX)?;
        let memory = job.mem.as_deref().map(|text| flag("--mem", text)).transpose()?;
        let workers = optional_count("--workers", &job.workers, Budget::MAX_WORKERS)?;
        let cpus = optional_count("--cpus", &job.cpus, 4096)?;
        let pages = flag("--pages", &or("--pages", &job.pages, "deployed"))?;
        let profiles = job
            .profile
            .iter()
            .map(|value| profile(value))
            .collect::<Result<_, _>>()?;
        let plan = Self {
            latency,
            quantile,
            peak: job.peak.as_deref().map(|text| flag("--peak", text)).transpose()?,
            memory,
            idle_memory,
            app_cpu,
            headroom,
            workers,
            algorithms,
            profiles,
            attacker: job.attacker.clone(),
            pages,
            bounds: bounds(job)?,
            force_memory: job.force_mem,
            quick: job.quick,
            cpus,
            nice: job.nice,
            timings: job.timings,
            explain: job.explain,
            current: job.current.as_deref().map(current).transpose()?,
            compare: job.compare,
            time_limit,
            seed,
            output: job.output.clone(),
            format: match job.format {
                Some(Format::Json) => export::Format::Json,
                Some(Format::Toml) | None => export::Format::Toml,
            },
            quiet: job.quiet,
            assumed,
        };
        plan.check_memory(job)?;
        Ok(plan)
    }

    /// The budget, with the memory that was given or, failing that, what the host allows.
    ///
    /// # Errors
    /// When the peak is missing, the memory is too little, or the idle service leaves nothing of it.
    pub fn budget(&self, memory: Bytes) -> Result<Budget, Failure> {
        let missing = || {
            Failure::new("--peak is missing: only you know how many logins a second arrive when it is busiest")
                .hint("hashtune --budget-ms 250 --peak 20/s --mem 1GiB")
        };
        let budget = self.budget_for(memory, self.peak.ok_or_else(missing)?);
        budget.check()?;
        Ok(budget)
    }

    fn budget_for(&self, memory: Bytes, peak: Rate) -> Budget {
        Budget {
            latency: self.latency,
            quantile: self.quantile,
            memory,
            idle_memory: self.idle_memory,
            app_cpu: self.app_cpu,
            peak,
            headroom: self.headroom,
            workers: self.workers,
        }
    }

    /// The doubts that follow from what was not given (that of `--mem` needs the host).
    pub fn caveats(&self) -> Vec<Caveat> {
        let not_given = |flag: &str| self.assumed.iter().any(|a| a.flag == flag);
        [
            ("--idle-mem", Caveat::IdleMemoryAssumed),
            ("--app-cpu-ms", Caveat::AppCpuAssumed),
        ]
        .into_iter()
        .filter(|(flag, _)| not_given(flag))
        .map(|(_, caveat)| caveat)
        .collect()
    }

    /// Checks the sizes against each other, and repeats them as they were typed.
    fn check_memory(&self, job: &Job) -> Result<(), BadValue> {
        let Some(memory) = self.memory else { return Ok(()) };
        let least = Bytes::from_kib(self.bounds.min_memory_kib.into());
        if least > memory {
            let typed = job.min_memory.clone().unwrap_or_default();
            return Err(BadValue::new(
                "--min-memory",
                typed,
                "more than --mem",
                format!("at most {memory}"),
            ));
        }
        let typed = |flag: &str| match flag {
            "--mem" => job.mem.clone(),
            "--idle-mem" => job.idle_mem.clone(),
            _ => None,
        };
        // No check of memory looks at the peak.
        let peak = Rate::new(1.0)?;
        self.budget_for(memory, peak).check().map_err(|bad| BadValue {
            input: typed(&bad.what).unwrap_or_else(|| bad.input.clone()),
            ..bad
        })
    }
}

/// Parses a quantity; a refusal names the flag.
pub(super) fn flag<T: FromStr<Err = BadValue>>(name: &str, text: &str) -> Result<T, BadValue> {
    text.parse().map_err(|bad| BadValue {
        what: name.to_owned(),
        ..bad
    })
}

fn quantile(text: &str) -> Result<f64, BadValue> {
    let (least, most) = Budget::QUANTILES;
    let form = format!("a number from {least} to {most}, such as 0.95");
    let bad = |reason: &str| BadValue::new("--quantile", text, reason, form.clone());
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
    match number(text.trim()) {
        Some(q) if (least..=most).contains(&q) => return Ok(q),
        Some(q) if q < least => return Err(bad(&format!("below {least}"))),
        Some(q) if q <= 1.0 => return Err(bad(&format!("above {most}"))),
        _ => {}
    }
    // `95`, `95%` and `p95` are what people say.
    let percent = text.trim().trim_start_matches('p').trim_end_matches('%');
    match number(percent).map(|p| p / 100.0) {
        Some(q) if (least..=most).contains(&q) => Err(bad("not a share of 1").hint(format!("write {q}"))),
        _ => Err(bad("not a share of 1")),
    }
}

fn app_cpu(text: &str, latency: Millis) -> Result<Millis, BadValue> {
    let app_cpu = Millis::parse_within("--app-cpu-ms", text, 0.0, Budget::LATENCY_MS.1)?;
    if app_cpu >= latency {
        let accepted = format!("less than --budget-ms, {}", latency.0);
        return Err(BadValue::new(
            "--app-cpu-ms",
            text,
            "leaves no time for a hash",
            accepted,
        ));
    }
    Ok(app_cpu)
}

fn time_limit(text: &str) -> Result<Seconds, BadValue> {
    let (least, most) = TIME_LIMIT_S;
    let limit: Seconds = flag("--time-limit", text)?;
    if (least..=most).contains(&limit.0) {
        return Ok(limit);
    }
    let accepted = format!("{least}s to {most}s, such as 60s or 2min");
    Err(BadValue::new("--time-limit", text, "out of range", accepted))
}

fn bounds(job: &Job) -> Result<Bounds, BadValue> {
    let lanes = optional_count("--max-lanes", &job.max_lanes, Argon2id::MAX_LANES)?;
    let passes = optional_count("--max-time-cost", &job.max_time_cost, MAX_PASSES)?;
    let memory: Option<Bytes> = job
        .min_memory
        .as_deref()
        .map(|text| flag("--min-memory", text))
        .transpose()?;
    Ok(Bounds {
        max_lanes: if job.libsodium {
            1
        } else {
            lanes.unwrap_or(Argon2id::MAX_LANES)
        },
        max_time_cost: passes.unwrap_or(MAX_PASSES),
        min_memory_kib: memory.map_or(0, |m| u32::try_from(m.0.div_ceil(1024)).unwrap_or(u32::MAX)),
        below_floor: job.floor == Some(Floor::None),
    })
}

fn optional_count(name: &str, given: &Option<String>, most: u32) -> Result<Option<u32>, BadValue> {
    given.as_deref().map(|text| count(name, text, most)).transpose()
}

/// A setting as it is typed, or the one of a stored hash.
fn current(text: &str) -> Result<Setting, BadValue> {
    let accepted = format!("a stored hash, a preset's name, or {}", setting::FORM);
    let refused = |reason: String| BadValue::new("--current", text, reason, accepted.clone());
    let as_typed = match text.parse() {
        Ok(setting) => return Ok(setting),
        Err(error) => match preset::named(text.trim()) {
            Some(preset) => return Ok(preset.setting),
            None => error,
        },
    };
    // Hashes are quoted from their end of the parameters on as little as can be: the input may hold a real one.
    if !text.contains('$') && !text.starts_with('{') {
        return Err(BadValue {
            hint: as_typed.hint,
            ..refused(as_typed.reason)
        });
    }
    let hidden = |reason: String| BadValue::new("--current", "(a stored hash)", reason, accepted.clone());
    let stored = hash_string::parse(text).map_err(|error| hidden(error.to_string()))?;
    stored.setting.ok_or_else(|| {
        hidden(format!(
            "{} is not one of the families measured here",
            stored.kdf.name()
        ))
    })
}

pub(super) fn count(name: &str, text: &str, most: u32) -> Result<u32, BadValue> {
    let count = whole(name, text, 1, most.into())?;
    Ok(u32::try_from(count).unwrap_or(most))
}

pub(super) fn whole(name: &str, text: &str, least: u64, most: u64) -> Result<u64, BadValue> {
    let bad = |reason: String| BadValue::new(name, text, reason, format!("a whole number from {least} to {most}"));
    match text.trim().parse::<u64>() {
        Ok(n) if n < least => Err(bad(format!("below {least}"))),
        Ok(n) if n > most => Err(bad(format!("above {most}"))),
        Ok(n) => Ok(n),
        Err(e) if *e.kind() == std::num::IntErrorKind::PosOverflow => Err(bad(format!("above {most}"))),
        Err(_) if text.trim().parse::<i128>().is_ok() => Err(bad(format!("below {least}"))),
        Err(_) => Err(bad("not a whole number".into())),
    }
}

fn algorithms(text: &str) -> Result<Vec<Algorithm>, BadValue> {
    let mut asked = Vec::new();
    for word in text.split(',').map(str::trim) {
        if word == "fips" {
            asked.extend([Algorithm::Pbkdf2Sha256, Algorithm::Pbkdf2Sha512]);
            continue;
        }
        asked.push(word.parse().map_err(|bad: BadValue| BadValue {
            what: "--algorithm".into(),
            input: text.to_owned(),
            reason: format!("\"{word}\" is not known"),
            accepted: format!("{}; fips for both PBKDF2; several with commas", bad.accepted),
            ..bad
        })?);
    }
    Ok(Algorithm::ALL.into_iter().filter(|a| asked.contains(a)).collect())
}

fn profile(value: &OsStr) -> Result<Profile, BadValue> {
    let bytes = value.as_encoded_bytes();
    if bytes.contains(&b'/') || bytes.ends_with(b".toml") {
        return Ok(Profile::File(value.into()));
    }
    match value.to_str() {
        Some(name) if !name.trim().is_empty() => Ok(Profile::Name(name.to_owned())),
        _ => Err(BadValue::new(
            "--profile",
            value.to_string_lossy(),
            "not a name",
            "a preset's name, or a file that ends in .toml",
        )),
    }
}
