//! Presets that the operator brings along.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::cli::Profile;
use crate::failure::Failure;

/// Largest file that is read. All built-in presets together are far smaller.
const MAX_BYTES: u64 = 1 << 20;

/// A preset that was asked for, before its parameters are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One that is built in.
    Name(String),
    /// A file's text, and the file's name for errors.
    Text { origin: String, text: String },
}

/// Reads the files among the profiles.
///
/// # Errors
/// When a file cannot be read, is too large, or is no text.
//
// SEAM: the text goes to `preset::parse(&text, &origin)`, the name to `preset::named(&name)`.
pub fn read(profiles: &[Profile]) -> Result<Vec<Found>, Failure> {
    profiles.iter().map(find).collect()
}

fn find(profile: &Profile) -> Result<Found, Failure> {
    match profile {
        Profile::Name(name) => Ok(Found::Name(name.clone())),
        Profile::File(path) => {
            let origin = path.display().to_string();
            let text = text(path).map_err(|error| {
                Failure::io(format!("--profile \"{origin}\""), &error)
                    .hint("name a TOML file of presets; hashtune presets lists those that are built in")
            })?;
            Ok(Found::Text { origin, text })
        }
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
        let failure = read(&[Profile::File("/dev/zero".into())]).unwrap_err();
        assert!(
            failure.line.contains("/dev/zero") && failure.line.contains("larger"),
            "{failure:?}"
        );
    }
}
