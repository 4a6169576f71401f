//! Lines that are seen even when the test passes: the harness captures only what its own print macros write.

use std::io::{self, Write};

/// Whether this is CI, where only the kernel may be the reason for a test that does not run.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|v| v == "true" || v == "1")
}

/// Says it on the real standard error.
pub fn say(line: &str) {
    // Nobody to tell when that fails.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Says what does not run, and why.
pub fn skipped(test: &str, why: &str) {
    say(&format!("skipped: {test}: {why}"));
}
