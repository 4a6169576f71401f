//! Sentences for people, made from the record.

use hashtune::bench::Doubt;
use hashtune::report::{Basis, Hash, Limit, Report};
use hashtune::units::{Bytes, Rate, Share, Short};
use hashtune::verdict::Quantile;

use crate::cli::Assumed;

/// `assumed: --quantile 0.95, --headroom 10%`.
pub(super) fn assumed(assumed: &[Assumed]) -> String {
    let list: Vec<String> = assumed.iter().map(|a| format!("{} {}", a.flag, a.value)).collect();
    format!("assumed: {}", list.join(", "))
}

/// What the record does not hold.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// The next best that should fit.
    pub runner_up: Option<&'a str>,
    /// Workers x memory_cost.
    pub by_parameters: Bytes,
    /// The kernel's own charge in a measuring group, or why there was none.
    pub cgroup: Result<Bytes, &'a str>,
    /// Arrivals that the queue bound would have refused.
    pub refused: usize,
}

/// One text and remedy a code, in the order of appearance.
pub(super) fn disturbances(doubts: &[Doubt]) -> Vec<(String, String)> {
    let mut codes: Vec<&str> = Vec::new();
    for doubt in doubts {
        if !codes.contains(&doubt.code) {
            codes.push(doubt.code);
        }
    }
    let line = |code: &str| {
        let mut alike = doubts.iter().filter(|d| d.code == code);
        let first = alike.next()?;
        let place = match (&first.name, &first.what, first.run) {
            (Some(name), Some(what), Some(run)) => format!("{name}, {what}, run {run}: "),
            (Some(name), Some(what), None) => format!("{name}, {what}: "),
            _ => String::new(),
        };
        let more = match alike.count() {
            0 => String::new(),
            n => format!(", and {n} more of this kind"),
        };
        Some((format!("{place}{} ({code}{more})", first.text), first.remedy.clone()))
    };
    codes.into_iter().filter_map(line).collect()
}

/// `p95` for 0.95.
pub(super) fn quantile(share: f64) -> String {
    Quantile(share).to_string()
}

/// What to deploy, how it does at the peak, what it needs, how strong it is, and why it is not stronger.
pub(super) fn recommendation(report: &Report, beside: &Beside) -> [String; 5] {
    [
        setting(&report.hash),
        latency(report),
        needs(report, beside),
        strength(report),
        format!(
            "{}; runner-up: {}",
            binding(report.binding.limit),
            beside.runner_up.unwrap_or("none")
        ),
    ]
}

fn setting(hash: &Hash) -> String {
    match hash {
        Hash::Argon2id {
            memory_kib,
            time_cost,
            parallelism,
            encoded,
            ..
        } => {
            let memory = Bytes::from_kib(u64::from(*memory_kib));
            format!("argon2id with {memory} ({memory_kib} KiB), t={time_cost}, p={parallelism}: {encoded}")
        }
        Hash::Bcrypt { cost, encoded } => format!("bcrypt with cost {cost}: {encoded}"),
        Hash::Scrypt { n, r, p, encoded } => format!("scrypt with N={n}, r={r}, p={p}: {encoded}"),
        Hash::Pbkdf2Sha256 { iterations, encoded } => {
            format!("pbkdf2-sha256 with {iterations} iterations: {encoded}")
        }
        Hash::Pbkdf2Sha512 { iterations, encoded } => {
            format!("pbkdf2-sha512 with {iterations} iterations: {encoded}")
        }
    }
}

fn latency(report: &Report) -> String {
    let (seen, asked) = (&report.measured, &report.budget);
    let peak = Rate::new(asked.peak_per_s.get()).map_or_else(|_| String::new(), |rate| rate.to_string());
    let basis = match seen.basis {
        Basis::Measured => "measured",
        Basis::Simulated => "simulated",
    };
    format!(
        "latency: {} at {peak} is {} ms ({} to {}, {basis}) of {} ms; one login alone takes {} ms",
        quantile(asked.quantile.get()),
        Short(seen.latency_ms.get()),
        Short(seen.latency_ms_low.get()),
        Short(seen.latency_ms_high.get()),
        Short(asked.latency_ms.get()),
        Short(seen.single_ms.get()),
    )
}

fn needs(report: &Report, beside: &Beside) -> String {
    let (seen, asked, pool) = (&report.measured, &report.budget, &report.pool);
    let share = |part: f64, whole: f64| Share(part / whole.max(f64::MIN_POSITIVE));
    format!(
        "load: {} of the ceiling of {}/s on {} CPU{}; at most {} at once and {} waiting{}; peak memory {} above idle ({} by parameters, {}) of {}",
        share(asked.peak_per_s.get(), seen.ceiling_per_s.get()),
        Short(seen.ceiling_per_s.get()),
        Short(report.host.usable_cpus.get()),
        if report.host.usable_cpus.get() == 1.0 { "" } else { "s" },
        pool.max_in_flight,
        pool.max_queued,
        turned_away(beside.refused, seen.arrivals),
        Bytes(seen.peak_memory_bytes),
        beside.by_parameters,
        match beside.cgroup {
            Ok(charged) => format!("{charged} in a measuring group"),
            Err(why) => format!("no measuring group: {why}"),
        },
        Bytes(asked.memory_bytes),
    )
}

/// What the bound of the queue does at the peak.
fn turned_away(refused: usize, arrivals: u64) -> String {
    match refused {
        0 => String::new(),
        n => format!(" ({n} of {arrivals} logins came when so many were waiting: refuse them at once)"),
    }
}

fn strength(report: &Report) -> String {
    let strength = &report.strength;
    format!(
        "strength: {} can try {} guesses/s at most; {} times the family's minimum (OWASP)",
        strength.attacker,
        Short(strength.guesses_per_s.get()),
        Short(strength.floor_ratio.get()),
    )
}

pub(super) const fn binding(limit: Limit) -> &'static str {
    match limit {
        Limit::Latency => "limited by latency",
        Limit::Peak => "limited by the peak (CPU)",
        Limit::Memory => "limited by memory",
        Limit::None => "limited by nothing that was tried",
    }
}

#[cfg(test)]
mod tests {
    use hashtune::budget::Budget;
    use hashtune::export;
    use hashtune::report::Outcome;
    use hashtune::units::{Millis, Rate};

    use super::super::candidates::{Row, render};
    use super::*;

    const EXAMPLE: &str = include_str!("../../tests/data/report.toml");

    #[test]
    fn five_lines_say_it_all() {
        let report = export::toml::read(EXAMPLE).unwrap();
        let lines = recommendation(
            &report,
            &Beside {
                runner_up: Some("bcrypt:12"),
                by_parameters: Bytes(184 << 20),
                cgroup: Ok(Bytes(185 << 20)),
                refused: 0,
            },
        );
        insta::assert_snapshot!("recommendation", lines.join("\n"));
    }

    fn rows() -> Vec<Row> {
        let row = |name: &str, verdict, reason: &str| Row {
            name: name.into(),
            setting: "argon2id:m=47104,t=2,p=1".parse().unwrap(),
            single: Some(Millis(44.0)),
            latency: Some(Millis(131.2)),
            predicted: false,
            modelled: false,
            ceiling_per_s: Some(44.6),
            memory: Some(Bytes(184 << 20)),
            guesses_per_s: Some(4096.0),
            verdict,
            reason: reason.into(),
        };
        vec![
            row("argon2id:m=47104,t=2,p=1", Outcome::Fits, "chosen"),
            Row {
                predicted: true,
                ..row(
                    "rfc9106-second",
                    Outcome::Exceeds,
                    "tops out at 17.1/s: enough for 5/s, not for 20/s; it would take 5.3 CPUs",
                )
            },
            Row {
                single: None,
                latency: None,
                ceiling_per_s: None,
                memory: None,
                ..row("evil\n\u{1b}[2J", Outcome::Skipped, "")
            },
        ]
    }

    fn budget() -> Budget {
        Budget {
            latency: Millis(250.0),
            quantile: 0.95,
            memory: Bytes(1 << 30),
            idle_memory: Bytes(0),
            app_cpu: Millis(0.0),
            peak: Rate::new(20.0).unwrap(),
            headroom: Share(0.1),
            workers: None,
        }
    }

    #[test]
    fn the_table_wraps_to_the_width() {
        for width in [80, 120] {
            let text = render(&rows(), &budget(), "rtx-4090", Some(width));
            let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
            assert!(widest <= usize::from(width), "{widest}\n{text}");
            insta::assert_snapshot!(format!("table_{width}"), text);
        }
        // Too narrow for any table: still no panic.
        render(&rows(), &budget(), "rtx-4090", Some(10));
    }

    #[test]
    fn in_a_file_a_candidate_is_a_line() {
        let text = render(&rows(), &budget(), "rtx-4090", None);
        let verdict = "exceeds: tops out at 17.1/s: enough for 5/s, not for 20/s; it would take 5.3 CPUs";
        let one = |line: &str| line.contains("rfc9106-second") && line.contains(verdict);
        assert!(text.lines().any(one), "{text}");
    }

    #[test]
    fn assumptions_read_as_typed() {
        let list = [
            Assumed {
                flag: "--quantile",
                value: "0.95".into(),
            },
            Assumed {
                flag: "--headroom",
                value: "10%".into(),
            },
        ];
        assert_eq!(assumed(&list), "assumed: --quantile 0.95, --headroom 10%");
        assert_eq!(
            (quantile(0.95), quantile(0.999), quantile(0.5)),
            ("p95".into(), "p99.9".into(), "p50".into())
        );
    }
}
