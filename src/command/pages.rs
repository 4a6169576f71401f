//! `hashtune pages`: what fresh memory costs each hash of a setting on this machine, and what to set against it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use comfy_table::{CellAlignment, Table, presets as styles};
use hashtune::bench::Subject;
use hashtune::engine::Native;
use hashtune::engine::advice::HashThreads;
use hashtune::host::{self, Host};
use hashtune::measure::PageTax;
use hashtune::report::Doubt;
use hashtune::setting::Algorithm;
use hashtune::units::{Bytes, Millis, Share};
use serde::Serialize;

use super::{machine, tax};
use crate::cli;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Settings where nothing is named: one whose memory glibc keeps, and two whose memory it does not.
const USUAL: [&str; 3] = ["owasp-19m", "owasp-46m", "rfc9106-second"];

/// Arguments of `hashtune pages`.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct PagesArgs {
    /// A preset's name or an Argon2id setting [default: owasp-19m owasp-46m rfc9106-second]
    #[arg(value_name = "PRESET|SETTING")]
    what: Vec<String>,

    /// Where one process of the service hashes: decides which advice holds
    ///
    /// main: in the main thread alone, as in gunicorn's sync workers or PHP-FPM. pool: in other threads.
    #[arg(long, value_name = "WHERE", value_enum)]
    threads: Option<Threads>,

    /// The form of the figures
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Threads {
    /// The main thread alone
    Main,
    /// Other threads
    Pool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// A table, and what to set
    Text,
    /// The figures and the advice
    Json,
}

/// One setting. Times in ms of CPU a hash with every CPU busy, shares of the deployed figure.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    setting: String,
    #[serde(skip)]
    memory: Bytes,
    /// Whether the C library asks the kernel for fresh memory for every hash of this size.
    fresh: bool,
    deployed_ms: f64,
    fresh_ms: f64,
    huge_ms: Option<f64>,
    reused_ms: f64,
    tax: f64,
    huge_saves: Option<f64>,
    advice: Vec<Line>,
}

/// One thing to set.
#[derive(Debug, Serialize)]
struct Line {
    code: &'static str,
    set: String,
    applies: String,
    price: String,
    saves: Option<f64>,
}

/// Measures and writes.
///
/// # Errors
/// A name or setting that is none, a family other than Argon2id, or what kept a setting from being measured.
pub fn run(args: &PagesArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let subjects = subjects(&args.what)?;
    let host = host::probe(Path::new("/"));
    let threads = match args.threads {
        Some(Threads::Main) => HashThreads::Single,
        Some(Threads::Pool) => HashThreads::Many,
        None => HashThreads::Unknown,
    };
    doubts(&subjects, &host);
    let rows: Vec<Row> = subjects
        .iter()
        .map(|subject| row(subject, threads, &host))
        .collect::<Result<_, _>>()?;
    match args.format {
        Form::Text => text(&rows, out),
        Form::Json => serde_json::to_writer_pretty(&mut *out, &rows)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    }
    .map_err(|e| Failure::io("the figures", &e))
}

fn subjects(what: &[String]) -> Result<Vec<Subject>, Failure> {
    let subjects = if what.is_empty() {
        cli::subjects(&USUAL.map(str::to_owned))?
    } else {
        cli::subjects(what)?
    };
    let other = subjects.iter().find(|s| s.setting.algorithm() != Algorithm::Argon2id);
    other.map_or(Ok(()), |s| Err(no_argon2id(s)))?;
    Ok(subjects)
}

/// What makes figures of this host doubtful, and settings that look like a slip.
fn doubts(subjects: &[Subject], host: &Host) {
    let (cpus, _) = machine::cpus(host);
    let mut caveats = host.warnings.clone();
    caveats.extend(host.loaded_before(cpus));
    for subject in subjects {
        caveats.extend(subject.setting.caveats(&subject.name, f64::INFINITY));
    }
    let doubts: Vec<Doubt> = caveats.iter().map(Doubt::from).collect();
    Terminal::new(false).caveats(&doubts);
}

fn no_argon2id(subject: &Subject) -> Failure {
    let family = subject.setting.algorithm();
    Failure::new(format!(
        "\"{}\" is {family}: expected an Argon2id setting",
        subject.name
    ))
    .hint("the other families' memory does not depend on how the C library gets it")
}

fn row(subject: &Subject, threads: HashThreads, host: &Host) -> Result<Row, Failure> {
    let (cpus, _) = machine::cpus(host);
    let runner = |pages| machine::runner(Arc::new(Native::new(pages)), host, cpus, Millis(0.0), f64::INFINITY);
    let refused = |why: &dyn std::fmt::Display| Failure::new(format!("{} ({}): {why}", subject.name, subject.setting));
    let tax = tax::measure(&subject.setting, cpus, runner).map_err(|e| refused(&e))?;
    let tax = tax.ok_or_else(|| no_argon2id(subject))?;
    let advice = tax::advice(&tax, threads, host);
    Ok(Row::new(
        &subject.name,
        &tax,
        advice.into_iter().map(|a| Line {
            code: a.code,
            set: a.set,
            applies: a.applies,
            price: a.price,
            saves: a.saves.map(|s| s.0),
        }),
    ))
}

impl Row {
    fn new(name: &str, tax: &PageTax, advice: impl Iterator<Item = Line>) -> Self {
        let ms = |s: f64| Millis::from_s(s).0;
        Self {
            name: name.to_owned(),
            setting: tax.setting.to_string(),
            memory: tax.setting.memory_cost(),
            fresh: tax.fresh,
            deployed_ms: ms(tax.deployed_s),
            fresh_ms: ms(tax.fresh_s),
            huge_ms: tax.huge_s.as_ref().ok().map(|s| ms(*s)),
            reused_ms: ms(tax.reused_s),
            tax: tax.share().0,
            huge_saves: tax.huge_share().map(|s| s.0),
            advice: advice.collect(),
        }
    }
}

fn text(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(styles::UTF8_HORIZONTAL_ONLY).set_header([
        "setting",
        "memory is",
        "deployed",
        "fresh",
        "huge",
        "kept",
        "tax",
        "huge saves",
    ]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let ms = |ms: f64| Millis(ms).to_string();
    let dash = || "-".to_owned();
    for row in rows {
        table.add_row([
            row.name.clone(),
            if row.fresh { "fresh" } else { "kept" }.to_owned(),
            ms(row.deployed_ms),
            ms(row.fresh_ms),
            row.huge_ms.map_or_else(dash, ms),
            ms(row.reused_ms),
            Share(row.tax).to_string(),
            row.huge_saves.map_or_else(dash, |s| Share(s).to_string()),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(
        out,
        "CPU a hash with every CPU busy, medians of 3 rounds that alternate; tax: the share that kept memory would save"
    )?;
    // The lines differ by size: those for the largest serve the smaller ones, too.
    let largest = rows.iter().filter(|r| !r.advice.is_empty()).max_by_key(|r| r.memory);
    for line in largest.iter().flat_map(|row| &row.advice) {
        let saves = line
            .saves
            .map_or_else(String::new, |s| format!("; saves about {}", Share(s)));
        writeln!(
            out,
            "set {}\n    {}; price: {}{saves}",
            line.set, line.applies, line.price
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hashtune::setting::Setting;

    use super::*;

    #[test]
    fn other_families_are_refused_before_anything_is_measured() {
        let failure = subjects(&["bcrypt:10".to_owned()]).unwrap_err();
        assert!(
            failure.line.contains("bcrypt:10") && failure.line.contains("Argon2id"),
            "{failure:?}"
        );
        assert!(
            subjects(&["owasp-20m".to_owned()])
                .unwrap_err()
                .line
                .contains("owasp-20m")
        );
        assert_eq!(subjects(&[]).unwrap().len(), USUAL.len());
    }

    #[test]
    fn the_table_tells_the_tax_and_what_to_set() {
        let setting: Setting = "argon2id:m=47104,t=1,p=1".parse().unwrap();
        let tax = PageTax {
            setting,
            fresh: true,
            clients: 2,
            deployed_s: 0.060,
            fresh_s: 0.060,
            huge_s: Ok(0.036),
            reused_s: 0.030,
            rounds: vec![0.5; 3],
        };
        let line = Line {
            code: "hugetlb",
            set: "GLIBC_TUNABLES=glibc.malloc.hugetlb=1".into(),
            applies: "here".into(),
            price: "none".into(),
            saves: Some(0.4),
        };
        let rows = [Row::new("owasp-46m", &tax, [line].into_iter())];
        let mut out = Vec::new();
        text(&rows, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
        insta::assert_snapshot!(serde_json::to_string_pretty(&rows).unwrap());
    }
}
