//! `hashtune presets`: all presets, strongest first within each family, with their sources.

use std::io::{self, Write};
use std::path::PathBuf;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets as styles};
use hashtune::preset::{Preset, to_toml};
use hashtune::strength::{self, Attacker, PerSecond};
use hashtune::units::{Bytes, Short};
use serde::Serialize;

use super::sources;
use crate::cli::Profile;
use crate::failure::Failure;

/// Arguments of `hashtune presets`.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct PresetsArgs {
    /// The form of the list
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,

    /// A TOML file of presets to list besides; may be repeated
    ///
    /// `--format toml` prints the form. Names that are built in cannot be used again.
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,

    /// Whose guesses per second are shown, by name or file [default: rtx-4090]
    #[arg(long, value_name = "NAME|FILE")]
    attacker: Option<String>,
}

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ListFormat {
    /// A table
    Text,
    /// Presets as they are read with --profile
    Toml,
    /// Presets with their strength
    Json,
}

/// Lists the presets on `out`.
///
/// # Errors
/// A file that cannot be read or understood, an unknown attacker, or a write that fails.
pub fn run(args: &PresetsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let attacker = sources::attacker(args.attacker.as_deref())?;
    let mut presets = sources::presets(&args.profile.iter().cloned().map(Profile::File).collect::<Vec<_>>())?;
    sort(&mut presets, &attacker);
    match args.format {
        ListFormat::Text => text(&presets, &attacker, out),
        ListFormat::Toml => out.write_all(to_toml(&presets).as_bytes()),
        ListFormat::Json => json(&presets, &attacker, out),
    }
    .map_err(|e| Failure::io("the list", &e))
}

/// OWASP's order of families, then the strongest first.
fn sort(presets: &mut [Preset], attacker: &Attacker) {
    presets.sort_by(|a, b| {
        let family = |p: &Preset| (strength::family_order(p.setting.algorithm()), p.setting.algorithm());
        family(a)
            .cmp(&family(b))
            .then(attacker.rank(&a.setting).total_cmp(&attacker.rank(&b.setting)))
            .then_with(|| a.name.cmp(&b.name))
    });
}

fn text(presets: &[Preset], attacker: &Attacker, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table
        .load_style(styles::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header([
            "preset",
            "setting",
            "memory",
            "guesses",
            "",
            "x minimum",
            "floor",
            "source",
        ]);
    for preset in presets {
        let bound = attacker.guesses(&preset.setting).bound;
        let above = strength::at_or_above_floor(&preset.setting);
        table.add_row([
            preset.name.clone(),
            preset.setting.to_string(),
            memory(preset),
            PerSecond(bound.per_s).to_string(),
            bound.label.to_string(),
            Short(strength::floor_ratio(&preset.setting)).to_string(),
            if above { "reached" } else { "below" }.to_owned(),
            format!("{}, {}", preset.source, preset.date),
        ]);
    }
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    for column in [2, 3, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(out)?;
    writeln!(
        out,
        "Strongest first within a family. guesses: at most, by {}.\nx minimum: rank of the family's OWASP minimum / rank of \
         this; {RANK}.\nAddresses and descriptions: --format toml or json.",
        attacker.description()
    )
}

/// The metric, for wherever a rank is shown.
pub(super) const RANK: &str = "the rank is the geometric mean of the guesses of a graphics card limited by memory \
bandwidth and of custom hardware limited by memory x time (bcrypt and PBKDF2: of the card alone)";

fn memory(preset: &Preset) -> String {
    match preset.setting.memory_cost() {
        Bytes(0) => "-".to_owned(),
        bytes => bytes.to_string(),
    }
}

/// The list in JSON. The schema's version grows when a key changes its meaning.
#[derive(Serialize)]
struct List<'a> {
    schema: &'static str,
    attacker: &'a str,
    attacker_description: &'a str,
    usd_per_hour: f64,
    rank: &'static str,
    presets: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    algorithm: &'static str,
    setting: String,
    encoded: String,
    memory_bytes: u64,
    guesses_per_s: f64,
    guesses_label: &'static str,
    guesses_why: String,
    guesses_per_s_tools: f64,
    tools_label: &'static str,
    usd_per_2_32_guesses: f64,
    rank_guesses_per_s: f64,
    floor_ratio: f64,
    at_or_above_floor: bool,
    minimum: bool,
    description: &'a str,
    source: &'a str,
    url: &'a str,
    date: &'a str,
}

fn json(presets: &[Preset], attacker: &Attacker, out: &mut dyn Write) -> io::Result<()> {
    let list = List {
        schema: "hashtune-presets-1",
        attacker: attacker.name(),
        attacker_description: attacker.description(),
        usd_per_hour: attacker.price().usd_per_hour,
        rank: RANK,
        presets: presets.iter().map(|p| row(p, attacker)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &list)?;
    writeln!(out)
}

fn row<'a>(preset: &'a Preset, attacker: &Attacker) -> Row<'a> {
    let setting = &preset.setting;
    let guesses = attacker.guesses(setting);
    Row {
        name: &preset.name,
        algorithm: setting.algorithm().name(),
        setting: setting.to_string(),
        encoded: setting.encoded(),
        memory_bytes: setting.memory_cost().0,
        guesses_per_s: guesses.bound.per_s,
        guesses_label: guesses.bound.label.name(),
        guesses_why: guesses.bound.why,
        guesses_per_s_tools: guesses.tools.per_s,
        tools_label: guesses.tools.label.name(),
        usd_per_2_32_guesses: attacker.dollars_per_2_32(setting).bound,
        rank_guesses_per_s: attacker.rank(setting),
        floor_ratio: strength::floor_ratio(setting),
        at_or_above_floor: strength::at_or_above_floor(setting),
        minimum: preset.minimum,
        description: &preset.description,
        source: &preset.source,
        url: &preset.url,
        date: &preset.date,
    }
}
