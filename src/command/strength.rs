//! `hashtune strength`: what an attacker gets against a setting or a stored hash, without measuring anything.

use std::io::{self, BufRead, Write};

use hashtune::caveat::SettingDoubt;
use hashtune::hash_string::{self, Cost, Stored};
use hashtune::preset;
use hashtune::setting::{self, Algorithm, Argon2id, Bcrypt, Setting};
use hashtune::strength::{self, Attacker, PerSecond};
use hashtune::units::{Bytes, Short};

use super::presets::RANK;
use super::sources;
use crate::failure::Failure;

/// Arguments of `hashtune strength`.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct StrengthArgs {
    /// A setting, a preset's name or a stored hash; - reads them from standard input, one a line
    ///
    /// Settings: argon2id:m=65536,t=3,p=4 (m in KiB), bcrypt:12, scrypt:n=131072,r=8,p=1, pbkdf2-sha256:600000. Put a hash in
    /// single quotes, or the shell takes its $ for variables. Others on the machine can see arguments, but not standard input.
    #[arg(value_name = "SETTING|HASH", required = true)]
    what: Vec<String>,

    /// The attacker, by name or file [default: rtx-4090]
    #[arg(long, value_name = "NAME|FILE")]
    attacker: Option<String>,
}

/// Something to explain.
enum Subject {
    Setting { name: Option<String>, setting: Setting },
    Hash(Box<Stored>),
}

/// Explains each setting or hash on `out`. All are read before anything is written.
///
/// # Errors
/// The first one that cannot be understood, an unknown attacker, or a write that fails.
pub fn run(args: &StrengthArgs, out: &mut dyn Write) -> Result<(), Failure> {
    run_with(args, &mut io::stdin().lock(), out)
}

fn run_with(args: &StrengthArgs, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), Failure> {
    let attacker = sources::attacker(args.attacker.as_deref())?;
    let mut subjects = Vec::new();
    for (place, text) in args.what.iter().enumerate() {
        if text == "-" {
            let before = subjects.len();
            for (line, text) in input.lines().enumerate() {
                let text = text.map_err(|e| Failure::io("standard input", &e))?;
                if !text.trim().is_empty() {
                    subjects.push(subject(&text, &format!("line {}", line + 1))?);
                }
            }
            if subjects.len() == before {
                return Err(Failure::new("standard input: holds neither a setting nor a hash")
                    .hint("one a line, such as: echo bcrypt:12 | hashtune strength -"));
            }
        } else {
            subjects.push(subject(text, &format!("argument {}", place + 1))?);
        }
    }
    explain_all(&subjects, &attacker, out).map_err(|e| Failure::io("the explanation", &e))
}

/// A setting, a preset's name or a hash. A hash is never repeated in an error.
fn subject(text: &str, place: &str) -> Result<Subject, Failure> {
    let text = text.trim();
    if let Some(preset) = preset::named(text) {
        return Ok(Subject::Setting {
            name: Some(format!("{} ({})", preset.name, preset.description)),
            setting: preset.setting,
        });
    }
    let family = text.split(':').next().unwrap_or_default();
    if !text.contains('$') && family.parse::<Algorithm>().is_ok() {
        let setting = text.parse()?;
        return Ok(Subject::Setting { name: None, setting });
    }
    match hash_string::parse(text) {
        Ok(stored) => Ok(Subject::Hash(Box::new(stored))),
        Err(error) => Err(Failure::new(format!("{place}: {error}")).hint(format!(
            "a stored hash in single quotes, a preset's name, or {}",
            setting::FORM
        ))),
    }
}

fn explain_all(subjects: &[Subject], attacker: &Attacker, out: &mut dyn Write) -> io::Result<()> {
    for subject in subjects {
        match subject {
            Subject::Setting { name, setting } => {
                writeln!(out, "{setting}")?;
                if let Some(name) = name {
                    line(out, "preset", name)?;
                }
                explain(setting, attacker, out)?;
                remark(&remarks(setting), out)?;
            }
            Subject::Hash(stored) => explain_hash(stored, attacker, out)?,
        }
        writeln!(out)?;
    }
    let price = attacker.price();
    line(out, "attacker", attacker.description())?;
    line(
        out,
        "price",
        &format!("${} an hour ({}, {})", price.usd_per_hour, price.source, price.date),
    )?;
    line(out, "metric", RANK)
}

/// One labelled line.
fn line(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {label:<13} {text}")
}

fn explain_hash(stored: &Stored, attacker: &Attacker, out: &mut dyn Write) -> io::Result<()> {
    let variant = stored.variant.as_ref().map(|v| format!(" ({v})")).unwrap_or_default();
    match &stored.setting {
        Some(setting) => writeln!(out, "{setting}")?,
        None => writeln!(out, "{}{variant}", stored.kdf)?,
    }
    line(out, "stored as", &format!("{}{variant}", stored.kdf))?;
    let bytes = |len: Option<usize>| len.map_or_else(|| "not told".to_owned(), |n| format!("{n} bytes"));
    line(
        out,
        "lengths",
        &format!("salt {}, hash {}", bytes(stored.salt_len), bytes(stored.output_len)),
    )?;
    if let Some(prehash) = stored.prehash {
        line(out, "hashed first", prehash.name())?;
    }
    match &stored.setting {
        Some(setting) => {
            explain(setting, attacker, out)?;
            // A digest of the password never exceeds bcrypt's 72 bytes.
            if stored.prehash.is_none() {
                remark(&remarks(setting), out)?;
            }
        }
        None => {
            line(out, "parameters", &cost(stored.cost))?;
            line(
                out,
                "guesses",
                "no figure: the model covers Argon2id 1.3, scrypt, bcrypt and PBKDF2 with SHA-2",
            )?;
        }
    }
    for note in &stored.notes {
        line(out, "note", &note.text())?;
    }
    Ok(())
}

/// The parameters of a family that has no setting.
fn cost(cost: Cost) -> String {
    match cost {
        Cost::Argon2 {
            memory_kib,
            time_cost,
            lanes,
        } => format!("m={memory_kib} KiB, t={time_cost}, p={lanes}"),
        Cost::Scrypt { n, r, p } => format!("N={n}, r={r}, p={p}"),
        Cost::Bcrypt(cost) => format!("cost {cost}"),
        Cost::Iterations(n) => format!("{n} iterations"),
        Cost::Phpass(cost) => format!("2^{cost} iterations"),
        Cost::None => "none".to_owned(),
    }
}

fn explain(setting: &Setting, attacker: &Attacker, out: &mut dyn Write) -> io::Result<()> {
    for (label, text) in parameters(setting) {
        line(out, label, &text)?;
    }
    let guesses = attacker.guesses(setting);
    let figure = |f: &strength::Figure| format!("{} ({})", PerSecond(f.per_s), f.label);
    let dollars = attacker.dollars_per_2_32(setting);
    line(out, "guesses", &format!("{} at most", figure(&guesses.bound)))?;
    let cost = if guesses.tools == guesses.bound {
        format!("${}", Short(dollars.bound))
    } else {
        line(
            out,
            "",
            &format!("{} with today's public tools", figure(&guesses.tools)),
        )?;
        format!(
            "${} at least, ${} with today's public tools",
            Short(dollars.bound),
            Short(dollars.tools)
        )
    };
    line(out, "basis", &guesses.bound.why)?;
    line(out, "2^32 guesses", &cost)?;
    let algorithm = setting.algorithm();
    let ratio = Short(strength::floor_ratio(setting));
    line(
        out,
        "rank",
        &format!(
            "{}, {ratio} times the strength of {}",
            PerSecond(attacker.rank(setting)),
            strength::minimum(algorithm)
        ),
    )?;
    let place = if strength::at_or_above_floor(setting) {
        "reached"
    } else {
        "NOT reached"
    };
    line(
        out,
        "floor",
        &format!("{place}: {}", strength::floor_in_words(algorithm)),
    )?;
    Ok(())
}

fn remark(remarks: &[String], out: &mut dyn Write) -> io::Result<()> {
    remarks.iter().try_for_each(|remark| line(out, "note", remark))
}

/// The parameters, one a line.
fn parameters(setting: &Setting) -> Vec<(&'static str, String)> {
    match setting {
        Setting::Argon2id(a) => vec![
            ("memory", kib(a.memory_kib())),
            ("passes", a.time_cost().to_string()),
            (
                "lanes",
                format!(
                    "{} (they count for nothing here: an attacker fills all cores anyway)",
                    a.lanes()
                ),
            ),
        ],
        Setting::Scrypt(s) => vec![
            ("N, r, p", format!("{} (2^{}), {}, {}", s.n(), s.log_n(), s.r(), s.p())),
            ("memory", s.memory().to_string()),
        ],
        Setting::Bcrypt(b) => vec![("cost", format!("{} (2^{} rounds)", b.cost(), b.cost()))],
        Setting::Pbkdf2(p) => vec![(
            "iterations",
            format!("{} of HMAC-{}", p.iterations(), p.digest().name()),
        )],
    }
}

/// m in KiB and in MiB.
fn kib(kib: u32) -> String {
    format!("{kib} KiB ({} MiB)", Short(f64::from(kib) / 1024.0))
}

/// What an operator should know about a setting.
fn remarks(setting: &Setting) -> Vec<String> {
    match setting {
        Setting::Argon2id(a) => argon2id_remarks(a),
        Setting::Bcrypt(_) => vec![format!(
            "bcrypt reads only the first {} bytes of a password, some libraries refuse longer ones: refuse them, or hash first \
             with HMAC-SHA-256 and base64",
            Bcrypt::MAX_INPUT
        )],
        Setting::Scrypt(s) if s.memory() > Bytes(32 << 20) => {
            let maxmem = 128 * u64::from(s.r()) * u64::from(s.p()) + 128 * u64::from(s.r()) * (s.n() + 2);
            vec![format!(
                "OpenSSL (Python's hashlib, Node) needs maxmem={maxmem} or more: its default stops at 32 MiB"
            )]
        }
        Setting::Scrypt(_) => Vec::new(),
        Setting::Pbkdf2(_) => vec![
            "PBKDF2 takes no memory, so a graphics card is at its best: use it only where FIPS 140 is required"
                .to_owned(),
        ],
    }
}

fn argon2id_remarks(a: &Argon2id) -> Vec<String> {
    // Nothing is measured here: the CPUs do not matter.
    let doubts = Setting::Argon2id(*a).doubts(f64::INFINITY);
    let mut remarks: Vec<String> = doubts.iter().map(SettingDoubt::text).collect();
    if a.memory_kib() < strength::MIN_TUNED_KIB {
        remarks.push(format!(
            "below {} KiB, OWASP's smallest row: passes do not make up for memory",
            strength::MIN_TUNED_KIB
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(what: &[&str], input: &str) -> Result<String, Failure> {
        let args = StrengthArgs {
            what: what.iter().map(|w| (*w).to_owned()).collect(),
            attacker: None,
        };
        let mut out = Vec::new();
        run_with(&args, &mut input.as_bytes(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_value_that_looks_like_bytes_is_questioned() {
        let text = explained(&["argon2id:m=67108864,t=2,p=1"], "").unwrap();
        assert!(
            text.contains("m=67108864 KiB is 64 GiB; 65536 (64 MiB) was meant?"),
            "{text}"
        );
        let failure = explained(&["argon2id:m=268435456,t=3,p=1"], "").unwrap_err();
        assert_eq!(failure.hint.unwrap(), "m is in KiB: write 262144 for 256 MiB");
        let failure = explained(&["argon2id:m=68719476736,t=3,p=1"], "").unwrap_err();
        assert!(failure.hint.unwrap().contains("write 67108864 for 64 GiB"));
        let text = explained(&["rfc9106-first"], "").unwrap();
        assert!(!text.contains("was meant?"), "{text}");
        let text = explained(&["argon2id:m=64,t=3,p=1"], "").unwrap();
        assert!(text.contains("65536 (64 MiB) was meant?"), "{text}");
    }

    #[test]
    fn hashes_come_from_standard_input_too() {
        let hash = "$argon2id$v=19$m=65536,p=4,t=3$JRmG6acvsaIpWiQeWPKAGQ$Wh781uQpB6vSfPKDOI1wLBlU9J+ZtK/uO6bVyfNlNZE";
        let text = explained(&["-"], &format!("{hash}\n\nbcrypt:12\n")).unwrap();
        assert!(text.starts_with("argon2id:m=65536,t=3,p=4\n"), "{text}");
        assert!(
            text.contains("the parameters come as m,p,t") && text.contains("first 72 bytes"),
            "{text}"
        );
        assert!(!text.contains("JRmG6acv") && !text.contains("Wh781"), "{text}");
        let failure = explained(&["-"], "bcrypt:12\nhunter2hunter2\n").unwrap_err();
        assert!(failure.line.starts_with("line 2: ") && !failure.line.contains("hunter2"));
    }

    #[test]
    fn nothing_on_standard_input_is_a_mistake() {
        for input in ["", "\n \n"] {
            let failure = explained(&["bcrypt:12", "-"], input).unwrap_err();
            assert!(
                failure.line.contains("standard input") && failure.hint.is_some(),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn effective_memory_is_told() {
        let text = explained(&["argon2id:m=65537,t=1,p=3"], "").unwrap();
        assert!(text.contains("  basis         at most 98 %"), "{text}");
        assert!(text.contains("only 65532 KiB (64 MiB) are filled"), "{text}");
    }

    #[test]
    fn families_without_a_model_say_so() {
        let text = explained(&["$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/"], "").unwrap();
        assert!(text.contains("no figure") && text.contains("1000 iterations"), "{text}");
    }
}
