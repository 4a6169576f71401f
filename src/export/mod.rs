//! A report as text. Exporters are functions of a report and a writer; they decide nothing.

pub mod bench;
pub mod json;
pub mod toml;

use std::io::{self, Write};

use crate::report::Report;

/// The text forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// To read and to deploy.
    #[default]
    Toml,
    /// For programs.
    Json,
}

impl Format {
    /// Writes the report in this form.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn write(self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Toml => toml::write(report, out),
            Self::Json => json::write(report, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::{Doubt, Hash};
    use crate::setting::Setting;

    /// The issue's own example, with made-up figures.
    const EXAMPLE: &str = include_str!("../../tests/data/report.toml");

    fn example() -> Report {
        toml::read(EXAMPLE).unwrap()
    }

    fn text(format: Format, report: &Report) -> String {
        let mut out = Vec::new();
        format.write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_form_as_a_whole() {
        insta::assert_snapshot!("toml", text(Format::Toml, &example()));
        insta::assert_snapshot!("json", text(Format::Json, &example()));
    }

    #[test]
    fn each_family_has_its_keys() {
        let families = [
            "argon2id:m=65536,t=3,p=4",
            "bcrypt:12",
            "scrypt:n=131072,r=8,p=1",
            "pbkdf2-sha256:600000",
            "pbkdf2-sha512:210000",
        ];
        let shown: Vec<String> = families
            .iter()
            .map(|family| {
                let hash = Hash::from(&family.parse::<Setting>().unwrap());
                let report = Report { hash, ..example() };
                let toml = text(Format::Toml, &report);
                assert_eq!(toml::read(&toml).unwrap(), report);
                let (_, from_hash) = toml.split_once("[hash]\n").unwrap();
                from_hash.split_once("\n\n[pool]").unwrap().0.to_owned()
            })
            .collect();
        insta::assert_snapshot!("families", shown.join("\n\n"));
    }

    #[test]
    fn a_report_without_doubts_keeps_its_order() {
        let report = Report {
            considered: vec![],
            caveat: vec![],
            ..example()
        };
        let toml = text(Format::Toml, &report);
        assert!(toml.starts_with("schema = 1\n\n[hash]\n"), "{toml}");
        assert!(!toml.contains("caveat =") && !toml.contains("[[caveat]]"), "{toml}");
        assert_eq!(toml::read(&toml).unwrap(), report);
    }

    fn with_text(text: &str) -> Report {
        let mut report = example();
        text.clone_into(&mut report.host.cpu_model);
        text.clone_into(&mut report.considered[0].name);
        report.caveat.push(Doubt {
            code: "noisy".into(),
            text: text.into(),
            remedy: text.into(),
        });
        report
    }

    fn survives(name: &str) {
        let report = with_text(name);
        let toml = text(Format::Toml, &report);
        assert_eq!(toml::read(&toml).unwrap(), report, "{toml}");
        assert_eq!(text(Format::Toml, &toml::read(&toml).unwrap()), toml);
        let json: Report = serde_json::from_str(&text(Format::Json, &report)).unwrap();
        assert_eq!(json, report);
    }

    #[test]
    fn awkward_names_are_escaped() {
        for name in [
            "\"",
            "'",
            "'''",
            "\"\"\"",
            "a\nb",
            "a\r\nb",
            "\u{0}\u{1b}[31m\u{7f}",
            "\\",
            "ünï → 密碼 🦀",
            "# no comment",
            "[x]",
            "",
            "\u{2028}\u{feff}",
        ] {
            survives(name);
            let toml = text(Format::Toml, &with_text(name));
            let raw = |c: char| c.is_control() && c != '\n';
            assert!(!toml.contains(raw), "{toml:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_round_trips(name in any::<String>()) {
            survives(&name);
        }
    }
}
