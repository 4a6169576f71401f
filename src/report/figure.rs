//! The numbers of a report: finite, and rounded in this one place.

use serde::{Deserialize, Serialize};

/// A finite number. NaN and infinity have no form in JSON and mean nothing to a reader, so they cannot get in.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Figure(f64);

impl Figure {
    /// Digits that a measured figure keeps: one more than a good measurement can vouch for.
    const DECIMALS_AFTER_FIRST: usize = 3;

    /// A figure that was given or counted: kept as it is.
    ///
    /// # Errors
    /// NaN or infinity.
    pub fn exact(value: f64) -> Result<Self, NotFinite> {
        if value.is_finite() {
            // Adding zero turns -0.0 into 0.0.
            return Ok(Self(value + 0.0));
        }
        Err(NotFinite(value))
    }

    /// A figure that was measured or computed from measurements: kept to four significant digits.
    ///
    /// # Errors
    /// NaN or infinity.
    pub fn rounded(value: f64) -> Result<Self, NotFinite> {
        // Rounded in decimal, so that the text of the result is as short as it looks.
        let text = format!("{value:.*e}", Self::DECIMALS_AFTER_FIRST);
        Self::exact(text.parse().unwrap_or(value))
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl From<Figure> for f64 {
    fn from(figure: Figure) -> Self {
        figure.0
    }
}

impl TryFrom<f64> for Figure {
    type Error = NotFinite;

    fn try_from(value: f64) -> Result<Self, NotFinite> {
        Self::exact(value)
    }
}

/// A figure that is no number: a fault in what computed it.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("a figure of the report is {0}, which is not a finite number")]
pub struct NotFinite(pub f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_finite_and_short() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Figure::exact(value).is_err() && Figure::rounded(value).is_err());
        }
        let shown: Vec<f64> = [131.2345, 0.012_345_6, 1_234_567.0, 0.0, 44.85]
            .iter()
            .map(|&v| Figure::rounded(v).unwrap().get())
            .collect();
        assert_eq!(shown, [131.2, 0.01235, 1_235_000.0, 0.0, 44.85]);
        assert_eq!(Figure::exact(1.0 / 3.0).unwrap().get(), 1.0 / 3.0);
        assert!(Figure::exact(-0.0).unwrap().get().is_sign_positive());
    }
}
