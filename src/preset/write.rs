//! Writes presets in the form that [`super::parse()`] reads.

use std::fmt::Write;

use toml::Value;

use super::Preset;
use crate::setting::Setting;

/// The presets as TOML.
pub fn to_toml<'a>(presets: impl IntoIterator<Item = &'a Preset>) -> String {
    let mut out = String::new();
    for preset in presets {
        if !out.is_empty() {
            out.push('\n');
        }
        table(&mut out, preset).expect("writing to a string does not fail");
    }
    out
}

fn table(out: &mut String, preset: &Preset) -> std::fmt::Result {
    let quoted = |text: &str| Value::String(text.to_owned());
    writeln!(out, "[[preset]]")?;
    writeln!(out, "name = {}", quoted(&preset.name))?;
    writeln!(out, "algorithm = \"{}\"", preset.setting.algorithm())?;
    match &preset.setting {
        Setting::Argon2id(a) => writeln!(
            out,
            "memory_kib = {}\ntime_cost = {}\nparallelism = {}",
            a.memory_kib(),
            a.time_cost(),
            a.lanes()
        )?,
        Setting::Scrypt(s) => writeln!(out, "n = {}\nr = {}\np = {}", s.n(), s.r(), s.p())?,
        Setting::Bcrypt(b) => writeln!(out, "cost = {}", b.cost())?,
        Setting::Pbkdf2(p) => writeln!(out, "iterations = {}", p.iterations())?,
    }
    writeln!(out, "description = {}", quoted(&preset.description))?;
    writeln!(out, "source = {}", quoted(&preset.source))?;
    if !preset.url.is_empty() {
        writeln!(out, "url = {}", quoted(&preset.url))?;
    }
    writeln!(out, "date = \"{}\"", preset.date)?;
    if preset.minimum {
        writeln!(out, "minimum = true")?;
    }
    Ok(())
}
