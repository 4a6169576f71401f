//! An interval for the long-run quantile, from one run.
/// A
pub struct Interval;
/// A
pub struct Run;
/// A
pub fn interval() {}
