//! Stage and time left: a bar on a terminal, a line a stage elsewhere.

use std::fmt::Write;
use std::time::Duration;

use hashtune::measure::Observer;
use hashtune::units::{Seconds, Short};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::interrupt::{self, Registration};

/// Rarely, for the bar shares the CPUs with what is measured.
const TICK: Duration = Duration::from_millis(500);
const BAR_CELLS: usize = 24;

/// Shows the stages of a run. The bar is gone once this is dropped.
#[derive(Debug)]
pub struct Progress(Shown);

#[derive(Debug)]
enum Shown {
    Nothing,
    Lines,
    Bar {
        bar: ProgressBar,
        _registration: Registration,
    },
}

impl Progress {
    pub(super) fn new(quiet: bool, terminal: bool) -> Self {
        Self(match (quiet, terminal) {
            (true, _) => Shown::Nothing,
            (false, false) => Shown::Lines,
            (false, true) => {
                let bar = ProgressBar::new(0).with_style(style());
                let shown = bar.clone();
                Shown::Bar {
                    bar,
                    _registration: interrupt::on_exit(move || shown.finish_and_clear()),
                }
            }
        })
    }
}

impl Observer for Progress {
    fn stage(&mut self, name: &str, expected_s: f64) {
        let name = super::escaped(name);
        match &self.0 {
            Shown::Nothing => {}
            Shown::Lines => super::line(&stage_line(&name, expected_s)),
            Shown::Bar { bar, .. } => {
                // The length is the expected time in ms; what has passed is taken from the bar's own clock.
                bar.set_message(name);
                bar.reset_elapsed();
                bar.set_length(millis(expected_s));
                bar.enable_steady_tick(TICK);
            }
        }
    }

    fn note(&mut self, text: &str) {
        let text = super::escaped(text);
        match &self.0 {
            Shown::Nothing => {}
            Shown::Lines => super::line(&text),
            Shown::Bar { bar, .. } => bar.println(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar { bar, .. } = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn stage_line(name: &str, expected_s: f64) -> String {
    if expected_s < 1.0 {
        return name.to_owned();
    }
    format!("{name}, about {}", Seconds(expected_s.round()))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e3) as u64
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{cells} {left} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("cells", |state: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&cells(state.elapsed().as_secs_f64(), expected_s(state)));
        })
        .with_key("left", |state: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&left(state.elapsed().as_secs_f64(), expected_s(state)));
        })
}

fn expected_s(state: &ProgressState) -> f64 {
    Duration::from_millis(state.len().unwrap_or(0)).as_secs_f64()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
fn cells(passed_s: f64, expected_s: f64) -> String {
    let share = if expected_s > 0.0 { passed_s / expected_s } else { 0.0 };
    let full = ((share * BAR_CELLS as f64) as usize).min(BAR_CELLS);
    format!("[{}{}]", "#".repeat(full), ".".repeat(BAR_CELLS - full))
}

fn left(passed_s: f64, expected_s: f64) -> String {
    let left = (expected_s - passed_s).ceil();
    if left < 1.0 {
        return "any moment".to_owned();
    }
    format!("{} s left", Short(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_and_never_overflows() {
        assert_eq!(cells(0.0, 10.0), format!("[{}]", ".".repeat(24)));
        assert_eq!(cells(5.0, 10.0), format!("[{}{}]", "#".repeat(12), ".".repeat(12)));
        assert_eq!(cells(99.0, 10.0), format!("[{}]", "#".repeat(24)));
        assert_eq!(cells(1.0, 0.0), cells(0.0, 1.0));
        assert_eq!(
            (left(2.5, 10.0), left(11.0, 10.0)),
            ("8 s left".into(), "any moment".into())
        );
        assert_eq!(stage_line("calibrating", 9.6), "calibrating, about 10 s");
    }

    #[test]
    fn the_template_is_understood() {
        assert!(ProgressStyle::with_template("{cells} {left} {wide_msg}").is_ok());
    }
}
