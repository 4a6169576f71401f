//! Attackers and files that an operator names.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use hashtune::preset::{self, Preset, PresetError};
use hashtune::strength::Attacker;

use crate::cli::Profile;
use crate::failure::Failure;

/// Largest file that is read. All built-in presets together are far smaller.
const MAX_BYTES: u64 = 1 << 20;

/// The attacker of a `--attacker NAME|FILE`: what ends in `.toml` or holds a slash is a file.
///
/// # Errors
/// An unknown name, or a file that cannot be read or understood.
pub fn attacker(named: Option<&str>) -> Result<Cow<'static, Attacker>, Failure> {
    let Some(name) = named else {
        return Ok(Cow::Borrowed(Attacker::builtin()));
    };
    if name.ends_with(".toml") || name.contains('/') {
        let text = read("--attacker", Path::new(name))?;
        return Attacker::parse(&text, name)
            .map(Cow::Owned)
            .map_err(|e| Failure::new(e.to_string()));
    }
    Attacker::named(name).map(Cow::Borrowed).ok_or_else(|| {
        let names: Vec<&str> = Attacker::all().iter().map(Attacker::name).collect();
        Failure::new(format!("--attacker \"{}\": unknown", name.escape_debug())).hint(format!(
            "known: {}; a value that ends in .toml or holds a slash is a file",
            names.join(", ")
        ))
    })
}

/// The built-in presets, with the operator's own added. Naming a built-in one changes nothing: all are judged anyway.
///
/// # Errors
/// An unknown name, a file that cannot be read or understood, or a name that is taken.
pub fn presets(profiles: &[Profile]) -> Result<Vec<Preset>, Failure> {
    let mut all = preset::builtin().to_vec();
    for profile in profiles {
        match profile {
            Profile::Name(name) if all.iter().any(|p| p.name == *name) => {}
            Profile::Name(name) => {
                return Err(Failure::new(format!(
                    "--profile \"{}\": no preset has this name",
                    name.escape_debug()
                ))
                .hint("hashtune presets lists them; a value that ends in .toml or holds a slash is a file"));
            }
            Profile::File(path) => {
                let origin = path.display().to_string();
                let text = read("--profile", path)?;
                let own = preset::parse(&text, &origin).map_err(refused)?;
                all = preset::with_own(&all, own, &origin).map_err(refused)?;
            }
        }
    }
    Ok(all)
}

fn refused(error: PresetError) -> Failure {
    let failure = Failure::new(format!("--profile {error}"));
    match error.bad.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn read(flag: &str, path: &Path) -> Result<String, Failure> {
    text(path).map_err(|e| Failure::io(format!("{flag} \"{}\"", path.display()), &e))
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

    #[test]
    fn unknown_names_are_refused_and_known_ones_change_nothing() {
        let named = |name: &str| presets(&[Profile::Name(name.into())]);
        assert_eq!(named("owasp-19m").unwrap().len(), preset::builtin().len());
        assert!(named("owasp-20m").unwrap_err().line.contains("owasp-20m"));
    }
}
