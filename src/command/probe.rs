//! `hashtune probe`: what this process may use, and which file decides it.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hashtune::host::{self, Cache, CpuCounters, Host, ProbeRecord};
use hashtune::units::{BadValue, Bytes, Short};

use crate::failure::{Failure, reason};

/// Arguments of `hashtune probe`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ProbeArgs {
    /// Read below DIR instead of /, such as a copy made with --save
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t)]
    pub format: ProbeFormat,
    /// Also copy the files that were read into DIR (new or empty), to probe them elsewhere
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
}

/// How the answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProbeFormat {
    /// For people
    #[default]
    Text,
    /// One key a line
    Toml,
    /// One object
    Json,
}

/// Probes and prints.
///
/// # Errors
/// When the root is no directory, the copy cannot be saved or the answer cannot be written.
pub fn run(args: &ProbeArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let root = root(args)?;
    let host = match &args.save {
        Some(dir) => host::save(&root, dir).map_err(|error| Failure::new(format!("--save: {error}")))?,
        None => host::probe(&root),
    };
    print(&host, args.format, out).map_err(|error| Failure::io("the answer", &error))
}

fn print(host: &Host, format: ProbeFormat, out: &mut dyn Write) -> io::Result<()> {
    let record = ProbeRecord::from(host);
    match format {
        ProbeFormat::Text => text(host, &record, out)?,
        ProbeFormat::Toml => {
            let text = toml::to_string(&record).map_err(io::Error::other)?;
            out.write_all(text.as_bytes())?;
        }
        ProbeFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &record).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// The root as an absolute path, so that `/.` is the running system too.
fn root(args: &ProbeArgs) -> Result<PathBuf, BadValue> {
    let read = || {
        std::fs::read_dir(&args.root)?;
        args.root.canonicalize()
    };
    read().map_err(|error: io::Error| {
        let shown = args.root.display().to_string();
        BadValue::new("--root", shown, reason(&error), "a directory that stands for /")
    })
}

fn text(host: &Host, record: &ProbeRecord, out: &mut dyn Write) -> io::Result<()> {
    cpus(host, record, out)?;
    memory(host, record, out)?;
    writeln!(out, "cgroups           {}", host.cgroup_version)?;
    if !host.limits.is_empty() {
        writeln!(out, "\nlimits seen on the way, innermost first (not every one binds)")?;
        for seen in &host.limits {
            writeln!(out, "  {}: {}", seen.file.display(), seen.limit)?;
        }
    }
    machine(host, out)?;
    if !host.warnings.is_empty() {
        writeln!(out, "\nwarnings")?;
    }
    for warning in &host.warnings {
        writeln!(out, "  {}: {}", warning.code(), warning.text())?;
        writeln!(out, "    remedy: {}", warning.remedy())?;
    }
    Ok(())
}

fn cpus(host: &Host, record: &ProbeRecord, out: &mut dyn Write) -> io::Result<()> {
    let usable = host.usable_cpus.map(|cpus| Short(cpus).to_string());
    answer("usable CPUs", usable, &record.cpu_decided_by, out)?;
    let count = |figure: Option<u32>| figure.map(|n| n.to_string());
    detail("online", count(host.online_cpus), out)?;
    detail("allowed", count(host.affinity_cpus), out)?;
    let quota = host.quota.as_ref();
    let quota = quota.map(|q| format!("{} ({} us every {} us)", Short(q.cpus), q.quota_us, q.period_us));
    detail("quota", quota, out)
}

fn memory(host: &Host, record: &ProbeRecord, out: &mut dyn Write) -> io::Result<()> {
    let size = |figure: Option<Bytes>| figure.map(|b| b.to_string());
    answer(
        "usable memory",
        size(host.usable_memory),
        &record.memory_decided_by,
        out,
    )?;
    detail("machine", size(host.memory_total), out)?;
    detail("limit", size(host.memory_limit), out)?;
    detail("throttled from", size(host.memory_high), out)?;
    detail("swap limit", size(host.swap_limit), out)?;
    detail("with swap", size(host.memory_plus_swap_limit), out)?;
    // A copy holds no figures of use: what they would say about free memory is wrong.
    detail(
        "free now",
        size(host.is_live().then(|| host.memory_free()).flatten()),
        out,
    )
}

fn machine(host: &Host, out: &mut dyn Write) -> io::Result<()> {
    let machine = &host.machine;
    let load = machine.load_average.map(|load| load.map(|l| l.to_string()).join(" "));
    let caches: Vec<_> = machine.caches.iter().map(Cache::to_string).collect();
    let throttle = host
        .is_live()
        .then(|| CpuCounters::read(host).worst_throttle())
        .flatten();
    let facts = [
        ("CPU", machine.cpu_model.clone()),
        ("threads a core", machine.threads_per_core.map(|n| n.to_string())),
        ("caches", (!caches.is_empty()).then(|| caches.join(", "))),
        ("kernel", machine.kernel.clone()),
        ("huge pages", machine.transparent_hugepages.clone()),
        ("governor", machine.governor.clone()),
        ("load average", load),
        (
            "throttled",
            throttle.map(|t| format!("{} of {} periods so far", t.throttled, t.periods)),
        ),
    ];
    if facts.iter().any(|(_, fact)| fact.is_some()) {
        writeln!(out, "\nmachine")?;
    }
    facts.into_iter().try_for_each(|(name, fact)| detail(name, fact, out))
}

fn answer(name: &str, value: Option<String>, file: &str, out: &mut dyn Write) -> io::Result<()> {
    let value = value.unwrap_or_else(|| "unknown".into());
    match file {
        "" => writeln!(out, "{name:<17} {value}"),
        file => writeln!(out, "{name:<17} {value}, decided by {file}"),
    }
}

fn detail(name: &str, value: Option<String>, out: &mut dyn Write) -> io::Result<()> {
    value.map_or(Ok(()), |value| writeln!(out, "  {name:<16}{value}"))
}
