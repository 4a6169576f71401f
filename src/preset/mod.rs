//! Named settings with their sources: what standards recommend and what frameworks do unless told otherwise.
//!
//! The data is in `profiles/*.toml`, compiled in. [`parse()`] reads the same form from a user's own file.

mod parse;
mod write;

pub use parse::{PresetError, parse};
pub use write::to_toml;

use std::sync::LazyLock;

use crate::setting::Setting;

/// The files that come with the program: `(name, text)`.
const BUILTIN: [(&str, &str); 3] = [
    ("profiles/guidance.toml", include_str!("../../profiles/guidance.toml")),
    ("profiles/django.toml", include_str!("../../profiles/django.toml")),
    ("profiles/defaults.toml", include_str!("../../profiles/defaults.toml")),
];

/// A setting that somebody recommends or ships.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Short name: lower-case letters, digits and hyphens.
    pub name: String,
    /// The setting.
    pub setting: Setting,
    /// Who uses it and since when, in one line.
    pub description: String,
    /// The document that states it.
    pub source: String,
    /// The document's address; empty where it has none (a house rule).
    pub url: String,
    /// When the document said so: `YYYY`, `YYYY-MM` or `YYYY-MM-DD`. For documents that change without notice, when it was last seen to say so.
    pub date: String,
    /// Does the source call it the family's minimum? Shown to people; the floors themselves are in the `strength` module.
    pub minimum: bool,
}

/// The presets that come with the program, in the order of the files.
///
/// # Panics
/// Never: the data is compiled in, and a test reads it.
pub fn builtin() -> &'static [Preset] {
    static ALL: LazyLock<Vec<Preset>> = LazyLock::new(|| {
        BUILTIN
            .iter()
            .flat_map(|(name, text)| parse(text, name).expect("compiled-in presets are well formed"))
            .collect()
    });
    &ALL
}

/// The preset of that name among those that come with the program.
pub fn named(name: &str) -> Option<&'static Preset> {
    builtin().iter().find(|p| p.name == name)
}

/// `known` presets with a user's own added.
///
/// # Errors
/// When a name is taken already: a name that means two things in two runs cannot be cited.
pub fn with_own(known: &[Preset], own: Vec<Preset>, origin: &str) -> Result<Vec<Preset>, PresetError> {
    let mut all = known.to_vec();
    for preset in own {
        if all.iter().any(|p| p.name == preset.name) {
            return Err(PresetError::taken(origin, &preset.name));
        }
        all.push(preset);
    }
    Ok(all)
}
