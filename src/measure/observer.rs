//! Who is told about progress.

/// Hears of stages as they begin. The library itself never prints.
pub trait Observer {
    /// A stage begins that should take `expected_s` seconds.
    fn stage(&mut self, name: &str, expected_s: f64);
    /// Something worth a line.
    fn note(&mut self, text: &str);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn stage(&mut self, _name: &str, _expected_s: f64) {}
    fn note(&mut self, _text: &str) {}
}
