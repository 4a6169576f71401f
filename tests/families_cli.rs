//! `--algorithm` from outside: only the families that were asked for are looked at.

use assert_cmd::Command;

/// What is said about a budget that nothing keeps, which ends after the calibration.
fn refused(algorithm: &str) -> String {
    let mut command = Command::cargo_bin("hashtune").unwrap();
    let args = ["--budget-ms", "1", "--peak", "100000/s", "--mem", "64MiB", "--quick"];
    let assert = command.args(args).args(["--algorithm", algorithm]).assert();
    let output = assert.code(1).stdout("").get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn fips_means_pbkdf2_and_nothing_else() {
    let text = refused("fips");
    for family in ["pbkdf2-sha256", "pbkdf2-sha512"] {
        assert!(text.contains(&format!("calibrating {family}")), "{text}");
    }
    for family in ["argon2id", "scrypt", "bcrypt"] {
        assert!(!text.contains(&format!("calibrating {family}")), "{text}");
        assert!(
            !text.contains(&format!("owasp-{family}")) && !text.contains(&format!("{family}:")),
            "{text}"
        );
    }
}

#[test]
fn a_list_is_taken_as_it_is() {
    let text = refused("scrypt,pbkdf2-sha512");
    assert!(
        text.contains("calibrating scrypt") && text.contains("calibrating pbkdf2-sha512"),
        "{text}"
    );
    for family in ["argon2id", "bcrypt", "pbkdf2-sha256"] {
        assert!(!text.contains(&format!("calibrating {family}")), "{text}");
    }
}
