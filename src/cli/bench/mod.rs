//! The flags of `hashtune bench`, as text: the plan's parsers say better than clap's what is wrong with a value.

mod plan;

use std::path::PathBuf;

pub use plan::{BenchPlan, subjects};

/// Arguments of `hashtune bench`, as text.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct BenchArgs {
    /// A preset's name or a setting [default: django-argon2 rfc9106-second owasp-19m]
    ///
    /// Settings: argon2id:m=65536,t=3,p=4 (m in KiB), bcrypt:12, scrypt:n=131072,r=8,p=1, pbkdf2-sha256:600000. `hashtune
    /// presets` lists the names.
    #[arg(value_name = "PRESET|SETTING")]
    what: Vec<String>,

    /// A preset to measure besides; may be repeated
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    preset: Vec<String>,

    /// A setting to measure besides; may be repeated
    #[arg(long, value_name = "SETTING", allow_hyphen_values = true)]
    setting: Vec<String>,

    /// Lone hashes, one after another
    #[arg(long, help_heading = "Loads")]
    single: bool,

    /// Hashes released together, as 10; several with commas
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = "Loads")]
    burst: Option<String>,

    /// Clients that log in without pauses, as 1,2,4,8,16
    ///
    /// A closed loop: as many hashes are in flight as there are clients. Without any of the flags under Loads: --single
    /// --burst 10 --clients 1,2,4,8,16.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = "Loads")]
    clients: Option<String>,

    /// Random arrivals at these rates, as 5/s,10/s,20/s
    ///
    /// An open loop: a slow hash cannot slow its own arrivals. Those that find all workers busy wait.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = "Loads")]
    rate: Option<String>,

    /// Lone Argon2id hashes with other lanes, as 1,2,4,8
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = "Loads")]
    lanes: Option<String>,

    /// Most hashes in flight with --rate, and in the peak memory [default: 2 x CPUs + 1]
    ///
    /// The default is gunicorn's advice. Bursts and clients put all their hashes in flight, whatever this says.
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Your service")]
    workers: Option<String>,

    /// CPU time of the rest of a login, in ms, spent after each hash [default: 0]
    #[arg(long, value_name = "MS", allow_hyphen_values = true, help_heading = "Your service")]
    app_cpu_ms: Option<String>,

    /// How the deployed library gets a hash's memory [default: deployed]
    ///
    /// deployed: as this system's C library does it. fresh: zeroed by the kernel for each hash. huge: fresh, in huge pages.
    /// reused: kept between hashes.
    #[arg(long, value_name = "PAGES", help_heading = "Your service")]
    pages: Option<String>,

    /// How often everything is measured; figures are medians with lowest and highest [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "The run")]
    runs: Option<String>,

    /// Length of a load in seconds [default: 3 with clients, 10 with a rate]
    ///
    /// Lone hashes take about half of the former, bursts about all of it.
    #[arg(long, value_name = "S", allow_hyphen_values = true, help_heading = "The run")]
    seconds: Option<String>,

    /// Use at most N CPUs, to measure beside production [default: all that may be used]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "The run")]
    cpus: Option<String>,

    /// Give way to other processes (niceness 10)
    #[arg(long, help_heading = "The run")]
    nice: bool,

    /// Most time for the whole benchmark, as 60s or 2min [default: none]
    ///
    /// What was measured until then is printed, with what was left out. It is kept between hashes: one that has begun ends.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "The run")]
    time_limit: Option<String>,

    /// Seed of the arrivals, for runs that can be repeated [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "The run")]
    seed: Option<String>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// The form of the figures [default: text]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    format: Option<Form>,

    /// Print nothing but the figures and errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  Three known settings alone, ten at once, and with 1 to 16 clients:
    hashtune bench

  What lanes do, and what they do not:
    hashtune bench argon2id:m=102400,t=2,p=8 --lanes 1,2,4,8

  Two settings at three rates on a server with 9 workers, as CSV:
    hashtune bench owasp-19m bcrypt:12 --rate 5/s,10/s,20/s --workers 9 --format csv -o rates.csv";

/// The names of the exporters on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Tables
    Text,
    /// The whole record
    Json,
    /// One line a load
    Csv,
}
