//! A measurement made of samples, for worlds without a clock.

use hashtune::measure::{Disturbance, Load, Measurement, Sample};
use hashtune::setting::Setting;

/// What an analytic engine reports: nothing disturbed it and it has no doubts. Times in seconds.
pub fn measurement(setting: &Setting, load: &Load, samples: Vec<Sample>, wall_s: f64, cpu_s: f64) -> Measurement {
    Measurement {
        setting: *setting,
        load: load.clone(),
        engine: "analytic",
        samples,
        wall_s,
        cpu_s,
        app_cpu_s: 0.0,
        lanes_cpu_s: 0.0,
        disturbance: Disturbance::default(),
        caveats: Vec::new(),
    }
}
