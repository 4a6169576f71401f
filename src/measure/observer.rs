//! How the library tells what it is doing, without printing.

/// Hears of the stages of a run.
pub trait Observer {
    /// A stage begins and will take about this many seconds.
    fn stage(&mut self, name: &str, expected_s: f64);

    /// Something worth a line.
    fn note(&mut self, text: &str);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn stage(&mut self, _: &str, _: f64) {}

    fn note(&mut self, _: &str) {}
}
