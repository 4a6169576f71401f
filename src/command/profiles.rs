//! Presets that the operator brings along.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use hashtune::preset::{self, Preset};

use crate::cli::Profile;
use crate::failure::Failure;

/// Largest file that is read. All built-in presets together are far smaller.
const MAX_BYTES: u64 = 1 << 20;

/// The built-in presets, with the operator's own added. Naming a built-in one changes nothing: all are judged anyway.
///
/// # Errors
/// When a name is not known, or a file cannot be read, is too large, is no text, or holds a preset that is out of bounds.
pub fn presets(profiles: &[Profile]) -> Result<Vec<Preset>, Failure> {
    let mut all = preset::builtin().to_vec();
    for profile in profiles {
        match profile {
            Profile::Name(name) if all.iter().any(|p| p.name == *name) => {}
            Profile::Name(name) => {
                return Err(Failure::new(format!("--profile \"{name}\": no preset has this name"))
                    .hint("hashtune presets lists them; a file's name ends in .toml"));
            }
            Profile::File(path) => all.extend(from_file(path, &all)?),
        }
    }
    Ok(all)
}

fn from_file(path: &Path, known: &[Preset]) -> Result<Vec<Preset>, Failure> {
    let origin = path.display().to_string();
    let refused = |reason: String| Failure::new(format!("--profile {reason}"));
    let text = text(path).map_err(|error| {
        Failure::io(format!("--profile \"{origin}\""), &error)
            .hint("name a TOML file of presets; hashtune presets lists those that are built in")
    })?;
    let own = preset::parse(&text, &origin).map_err(|error| refused(error.to_string()))?;
    match own.iter().find(|p| known.iter().any(|k| k.name == p.name)) {
        Some(taken) => Err(refused(format!("\"{origin}\": the name {} is taken", taken.name))),
        None => Ok(own),
    }
}

fn text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    // Bounded, for the path may be a device without end.
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("larger than 1 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_end_are_refused() {
        let failure = presets(&[Profile::File("/dev/zero".into())]).unwrap_err();
        assert!(
            failure.line.contains("/dev/zero") && failure.line.contains("larger"),
            "{failure:?}"
        );
    }
}
