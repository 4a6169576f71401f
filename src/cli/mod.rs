//! The command line. Parsing is pure: it touches no file, no clock and no host, and ends in a [`Plan`].

mod bench;
mod plan;
mod refusal;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub use bench::{BenchArgs, BenchPlan, subjects};
pub use plan::{Assumed, Plan, Profile};

use crate::command::pages::PagesArgs;
use crate::command::presets::PresetsArgs;
use crate::command::probe::ProbeArgs;
use crate::command::strength::StrengthArgs;
use crate::failure::Failure;

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Help or version, to be shown as it is (with ANSI styles).
    Show(String),
    /// The main job.
    Recommend(Box<Plan>),
    /// A part of it on its own.
    Part(Command),
}

/// Reads the command line, the program's name first.
///
/// # Errors
/// Any fault in it, in one line and a hint.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let args: Vec<OsString> = args.into_iter().collect();
    match Args::try_parse_from(&args) {
        Ok(Args {
            command: Some(part), ..
        }) => Ok(Request::Part(part)),
        Ok(Args { job, .. }) => Ok(Request::Recommend(Box::new(Plan::new(&job)?))),
        Err(error) if !error.use_stderr() => Ok(Request::Show(error.render().ansi().to_string())),
        Err(error) => Err(refusal::explain(&error, &args)),
    }
}

const EXAMPLES: &str = "\
Examples:
  The strongest setting for 20 logins a second, at most 250 ms each, in 1 GiB:
    hashtune --budget-ms 250 --peak 20/s --mem 1GiB > hashtune.toml

  For a synchronous server with 9 workers that hold 300 MiB when idle:
    hashtune --peak 1200/min --mem 1GiB --workers 9 --idle-mem 300MiB

  bcrypt only, as JSON, with a preset of your own beside the built-in ones:
    hashtune --peak 5/s --algorithm bcrypt --profile ours.toml --format json -o ours.json

Exit codes: 0 a setting fits, 1 nothing fits, 2 could not tell or bad usage";

/// Finds the strongest password-hash setting that this machine can really serve.
///
/// Probes what this process may use, measures real hashes under concurrency, and prints the strongest setting that keeps
/// within three budgets: latency, memory, and peak logins per second. The answer goes to standard output as TOML;
/// everything for people goes to standard error.
#[derive(Debug, Parser)]
#[command(
    name = "hashtune",
    version,
    override_usage = "hashtune --peak <RATE> [OPTIONS]\n       hashtune <COMMAND>",
    after_long_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    infer_long_args = false
)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    job: Job,
}

/// The parts of the main job on their own.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Show what this process may use, and which file decided it
    Probe(ProbeArgs),
    /// List the presets with their sources
    Presets(PresetsArgs),
    /// Measure settings under loads, and print the figures
    Bench(Box<BenchArgs>),
    /// Measure what fresh memory costs a hash here, and say what to set against it
    Pages(PagesArgs),
    /// Explain what an attacker gets against a setting
    Strength(StrengthArgs),
    /// Hash on request; started by hashtune itself
    #[command(hide = true)]
    Worker,
}

/// The flags of the main job, as text: the plan's parsers say better than clap's what is wrong with a value.
#[derive(Debug, clap::Args)]
struct Job {
    /// Most time a login may take, in ms, at the quantile [default: 250]
    ///
    /// From 1 to 60000. It counts from the instant at which the login arrives, so waiting for a worker is part of it.
    #[arg(long, value_name = "MS", allow_hyphen_values = true, help_heading = "Budgets")]
    budget_ms: Option<String>,

    /// Most logins a second, minute or hour, as 20/s or 1200/min; required
    ///
    /// Wrong passwords count: they cost as much. Take the busiest minute of your logs, and a margin.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, help_heading = "Budgets")]
    peak: Option<String>,

    /// What the login service may use, as 512MiB or 1GiB [default: what the host allows]
    ///
    /// Without it the memory limit of this process is taken, or half of the available memory where there is none.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Budgets")]
    mem: Option<String>,

    /// Plan with --mem even where this process may use less of it
    ///
    /// Without it the smaller of both is used, and said. What does not fit here cannot be measured here.
    #[arg(long, requires = "mem", help_heading = "Budgets")]
    force_mem: bool,

    /// The quantile of latency that must keep within the budget, 0.5 to 0.99 [default: 0.95]
    #[arg(long, value_name = "Q", allow_hyphen_values = true, help_heading = "Budgets")]
    quantile: Option<String>,

    /// Hashes that can run at once [default: as few as fit]
    ///
    /// Synchronous servers: processes x threads. Asynchronous ones: the size of the pool that hashes, for Node 4 unless
    /// UV_THREADPOOL_SIZE says otherwise. Without it the smallest number that keeps the budget is found and printed.
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Your service")]
    workers: Option<String>,

    /// Memory that the service holds when idle, all workers [default: 0B]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Your service")]
    idle_mem: Option<String>,

    /// CPU time of the rest of a login, in ms [default: 0]
    ///
    /// Log in 100 times with a fast test hasher and divide the service's CPU time by 100.
    #[arg(long, value_name = "MS", allow_hyphen_values = true, help_heading = "Your service")]
    app_cpu_ms: Option<String>,

    /// Share of CPUs and memory to keep free, as 10% or 0.1 [default: 10%]
    #[arg(
        long,
        value_name = "SHARE",
        allow_hyphen_values = true,
        help_heading = "Your service"
    )]
    headroom: Option<String>,

    /// Families to choose from, with commas [default: argon2id,bcrypt]
    ///
    /// argon2id, scrypt, bcrypt, pbkdf2-sha256, pbkdf2-sha512, or fips for both PBKDF2. Of those that reach their floor the
    /// first in OWASP's order is recommended: argon2id, scrypt, bcrypt, PBKDF2.
    #[arg(long, value_name = "LIST", help_heading = "Candidates")]
    algorithm: Option<String>,

    /// A preset to consider besides, by name or file; may be repeated
    ///
    /// A value that ends in .toml or holds a slash is a file. `hashtune presets` lists the names.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Candidates")]
    profile: Vec<OsString>,

    /// The least strength that may be recommended [default: owasp]
    #[arg(long, value_name = "FLOOR", value_enum, help_heading = "Candidates")]
    floor: Option<Floor>,

    /// The assumed attacker, by name or file [default: rtx-4090]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Candidates")]
    attacker: Option<String>,

    /// Most lanes (Argon2's p) of a tuned setting [default: the usable CPUs]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Candidates")]
    max_lanes: Option<String>,

    /// Most passes (Argon2's t) of a tuned setting [default: 24]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Candidates")]
    max_time_cost: Option<String>,

    /// Least memory of a tuned Argon2id setting, as 16MiB [default: 7MiB, OWASP's smallest row]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Candidates")]
    min_memory: Option<String>,

    /// Only what libsodium's crypto_pwhash can do: Argon2id with one lane
    #[arg(long, conflicts_with = "max_lanes", help_heading = "Candidates")]
    libsodium: bool,

    /// How the deployed library gets a hash's memory [default: deployed]
    ///
    /// deployed: as this system's C library does it. fresh: zeroed by the kernel for each hash. huge: fresh, in huge pages.
    /// reused: kept between hashes.
    #[arg(long, value_name = "PAGES", help_heading = "Your service")]
    pages: Option<String>,

    /// Finish in about 10 seconds on an idle host, with half the arrivals and a wider interval
    #[arg(long, conflicts_with = "time_limit", help_heading = "The run")]
    quick: bool,

    /// Use at most N CPUs, to measure beside production [default: all that may be used]
    ///
    /// The recommendation is then one for a service with N CPUs.
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "The run")]
    cpus: Option<String>,

    /// Give way to other processes (niceness 10)
    #[arg(long, help_heading = "The run")]
    nice: bool,

    /// Most time for the whole run, as 60s or 2min [default: 60s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "The run")]
    time_limit: Option<String>,

    /// Seed of the arrival schedules, for runs that can be repeated [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "The run")]
    seed: Option<String>,

    /// Write to FILE instead of standard output
    ///
    /// It is replaced as a whole when the run has ended well, and not touched otherwise.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// The form of the report [default: toml]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    format: Option<Format>,

    /// Say why this setting: the price of the next step, what other budgets would be answered, and what huge pages would pay for
    #[arg(long, help_heading = "Output")]
    explain: bool,

    /// The setting in use, as a setting or a stored hash; it is measured and judged as well
    #[arg(long, value_name = "HASH|SETTING", help_heading = "Candidates")]
    current: Option<String>,

    /// Put the current setting beside the recommendation
    #[arg(long, requires = "current", help_heading = "Output")]
    compare: bool,

    /// Show where the time went
    #[arg(long, help_heading = "Output")]
    timings: bool,

    /// Print nothing but the report and errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// What may be recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Floor {
    /// Nothing weaker than OWASP's minimum for the family
    Owasp,
    /// Anything that fits; the report says how weak it is
    None,
}

/// The names of the exporters on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Toml,
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn help(flag: &str) -> String {
        match parse(arguments(&format!("hashtune {flag}"))) {
            Ok(Request::Show(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn clap_accepts_the_definition() {
        Args::command().debug_assert();
    }

    #[test]
    fn help_is_short_or_long() {
        let (short, long) = (help("-h"), help("--help"));
        assert!(short.lines().count() < 70 && !short.contains("Examples:"), "{short}");
        assert!(long.contains("hashtune --budget-ms 250 --peak 20/s --mem 1GiB"));
        for heading in ["Budgets", "Your service", "Candidates", "The run", "Output"] {
            assert!(short.contains(heading) && long.contains(heading), "{heading}");
        }
        assert!(!long.contains("worker  "));
        assert!(help("--version").starts_with("hashtune "));
    }

    #[test]
    fn every_assumed_value_is_stated_in_the_help() {
        let Ok(Request::Recommend(plan)) = parse(arguments("hashtune --peak 20/s")) else {
            panic!("no plan");
        };
        let long = help("--help");
        for assumed in &plan.assumed {
            let stated = format!("[default: {}]", assumed.value);
            assert!(long.contains(&stated), "{} {stated}", assumed.flag);
        }
    }

    #[test]
    fn parts_stand_alone() {
        assert!(matches!(
            parse(arguments("hashtune probe")),
            Ok(Request::Part(Command::Probe(_)))
        ));
        assert!(parse(arguments("hashtune --mem 1GiB probe")).is_err());
    }
}
