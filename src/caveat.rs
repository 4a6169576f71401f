//! Typed doubts: what may make a figure wrong, by how much, and what to do about it.
//!
//! One list serves the host probe and the measurements, so that a doubt is printed and exported in the same words.

/// The codes of an enum's variants from one table, so that none of them is missing in the list of all. The variant after the
/// semicolon has the codes of the doubt within.
macro_rules! codes {
    ($($variant:ident => $code:literal),* $(,)? $(; $nested:ident)?) => {
        /// Every code of this enum's own, in the order of the variants.
        pub const CODES: &[&str] = &[$($code),*];

        /// The stable name, as exported.
        pub const fn code(&self) -> &'static str {
            match self {
                $(Self::$variant { .. } => $code,)*
                $(Self::$nested { doubt, .. } => doubt.code(),)?
            }
        }
    };
}

mod setting;

pub use setting::SettingDoubt;

use crate::units::{Bytes, Millis, Rate, Short};

/// A doubt about an answer. The codes are a public interface; so are the warning codes of the host probe among them.
#[derive(Debug, Clone, PartialEq)]
pub enum Caveat {
    /// The usable CPUs are not a whole number.
    CpuFraction { cpus: f64 },
    /// A finite hard memory limit lies above the machine's memory.
    LimitAboveRam { limit: Bytes, total: Bytes },
    /// The kernel throttles (and reclaims) before the hard limit is reached.
    MemoryHighBelowMax { high: Bytes, usable: Bytes },
    /// No cgroup hierarchy is mounted.
    NoCgroup,
    /// There is no `/proc`.
    NoProc,
    /// A limit file held something that could not be understood and was skipped.
    MalformedFile { path: String, content: String },
    /// A limit file exists but could not be read.
    UnreadableFile { path: String, error: String },
    /// The process's own cgroup directory could not be found for a controller.
    CgroupPathNotFound { controller: String, path: String },
    /// The process lies outside the mounted part of the hierarchy.
    CgroupOutsideNamespace { controller: String, path: String },
    /// The mount does not start at the real root: more limits may exist above it.
    AncestorsHidden { controller: String },
    /// lxcfs replaces files of `/proc` or `/sys`.
    ProcVirtualized { path: String },

    /// The memory budget was not given.
    MemoryAssumed { memory: Bytes, from: String },
    /// The service's idle memory was not given: 0 was assumed.
    IdleMemoryAssumed,
    /// The CPU time of the rest of a login was not given: 0 was assumed.
    AppCpuAssumed,
    /// The operator confined the run to fewer CPUs than may be used.
    CpusCapped { used: f64, usable: f64 },
    /// The operator's memory exceeds what the host allows; the smaller was used.
    MemoryAboveHost { asked: Bytes, usable: Bytes },
    /// The operator's memory exceeds what the host allows, and was used all the same.
    MemoryForced { asked: Bytes, usable: Bytes },

    /// A resource limit of the process itself leaves less than the memory budget to measure in.
    OwnMemoryLimit {
        free: Bytes,
        limit: &'static str,
        memory: Bytes,
    },

    /// The kernel stopped the process for its CPU quota while measuring.
    CpuThrottled { throttled: u64, periods: u64, seconds: f64 },
    /// The hypervisor gave CPU time to others while measuring.
    StolenTime { share: f64 },
    /// CPU time that the hashes were due did not reach them, and no counter says who had it.
    LostTime { share: f64 },
    /// Other processes used CPU time while measuring.
    BusyHost { cpus: f64 },
    /// Tasks waited for memory while measuring (pressure stall information).
    MemoryPressure { share: f64 },
    /// The CPUs' clock differs between measurements.
    FrequencyChanged { from_mhz: f64, to_mhz: f64 },
    /// The load average was high before measuring began.
    LoadedBefore { load: f64, cpus: f64 },
    /// Two measurements of the same thing disagree.
    Noisy {
        what: String,
        first: Millis,
        second: Millis,
    },
    /// Others took much of the CPU time, also when it was measured once more.
    StillDisturbed { share: f64 },
    /// Hashes whose CPU time was far from what was usual. They are counted like all others.
    Outliers {
        count: usize,
        of: usize,
        least: Millis,
        most: Millis,
    },
    /// The interval is wide: the samples do not tell the quantile well.
    WideInterval { low: Millis, high: Millis },
    /// Fewer arrivals than the quantile needs.
    TooFewArrivals { arrivals: usize, wanted: usize },
    /// Hashes started late though a worker was idle.
    GeneratorLate { p99: Millis },
    /// The benchmark's own CPU time beside the hashes was not small.
    GeneratorCpu { share: f64 },
    /// The first hashes were faster than the later ones.
    Turbo { early: Millis, late: Millis },
    /// The peak was simulated from measured service times.
    SimulatedPeak { peak: Rate, hashes: usize },
    /// The peak memory could not be measured; the estimate stands in.
    MemoryApproximate { why: String },
    /// Memory for the measurement was short: something was left out.
    MemoryTight { what: String, need: Bytes, free: Bytes },
    /// Time ran out before all that was planned was measured.
    TimeShort { left_out: String },
    /// Something is odd about a setting that was asked for, called `what`.
    OddSetting { what: String, doubt: SettingDoubt },
    /// The bound of the queue turns a share of the logins away at the peak.
    LoginsRefused {
        refused: usize,
        arrivals: usize,
        max_queued: u32,
    },
    /// The engine is not the library that will be deployed.
    LibraryCost { library: String, ratio: (f64, f64) },
    /// bcrypt reads 72 bytes of a password.
    BcryptInputLimit,
    /// The recommendation lies under the family's floor, on request.
    BelowFloor { floor_ratio: f64 },
}

impl Caveat {
    codes! {
        CpuFraction => "cpu-fraction",
        LimitAboveRam => "limit-above-ram",
        MemoryHighBelowMax => "memory-high-below-max",
        NoCgroup => "no-cgroup",
        NoProc => "no-proc",
        MalformedFile => "malformed-file",
        UnreadableFile => "unreadable-file",
        CgroupPathNotFound => "cgroup-path-not-found",
        CgroupOutsideNamespace => "cgroup-outside-namespace",
        AncestorsHidden => "ancestors-hidden",
        ProcVirtualized => "proc-virtualized",
        MemoryAssumed => "memory-assumed",
        IdleMemoryAssumed => "idle-memory-assumed",
        AppCpuAssumed => "app-cpu-assumed",
        CpusCapped => "cpus-capped",
        MemoryAboveHost => "memory-above-host",
        MemoryForced => "memory-forced",
        OwnMemoryLimit => "own-memory-limit",
        CpuThrottled => "cpu-throttled",
        StolenTime => "stolen-time",
        LostTime => "lost-time",
        BusyHost => "busy-host",
        MemoryPressure => "memory-pressure",
        FrequencyChanged => "frequency-changed",
        LoadedBefore => "loaded-before",
        Noisy => "noisy",
        StillDisturbed => "still-disturbed",
        Outliers => "outliers",
        WideInterval => "wide-interval",
        TooFewArrivals => "too-few-arrivals",
        GeneratorLate => "generator-late",
        GeneratorCpu => "generator-cpu",
        Turbo => "turbo",
        SimulatedPeak => "simulated-peak",
        MemoryApproximate => "memory-approximate",
        MemoryTight => "memory-tight",
        TimeShort => "time-short",
        LoginsRefused => "logins-refused",
        LibraryCost => "library-cost",
        BcryptInputLimit => "bcrypt-input-limit",
        BelowFloor => "below-floor";
        OddSetting
    }

    /// What was seen, with its figures.
    pub fn text(&self) -> String {
        match self {
            Self::CpuFraction { cpus } => format!("the usable CPUs are a fraction, {}", Short(*cpus)),
            Self::LimitAboveRam { limit, total } => format!("the memory limit {limit} is above the machine's {total}"),
            Self::MemoryHighBelowMax { high, usable } => {
                format!("memory.high slows the process down at {high}, below the {usable} it may use")
            }
            Self::NoCgroup => "no cgroup hierarchy is mounted: limits, if any, cannot be seen".into(),
            Self::NoProc => "there is no /proc: no limit could be looked up".into(),
            Self::MalformedFile { path, content } => {
                format!("{path} could not be understood and was skipped: {content:?}")
            }
            Self::UnreadableFile { path, error } => format!("{path} could not be read: {error}"),
            Self::CgroupPathNotFound { controller, path } => {
                format!("the {controller} cgroup {path} could not be found: its limits were not read")
            }
            Self::CgroupOutsideNamespace { controller, path } => {
                format!("the {controller} cgroup {path} lies outside what is mounted here")
            }
            Self::AncestorsHidden { controller } => {
                format!("the {controller} cgroup mount does not start at the root: limits above it cannot be seen")
            }
            Self::ProcVirtualized { path } => format!("lxcfs stands in for {path}"),
            Self::MemoryAssumed { memory, from } => format!("--mem was not given: {memory}, {from}, was assumed"),
            Self::IdleMemoryAssumed => "--idle-mem was not given: the service's own memory was taken as 0".into(),
            Self::AppCpuAssumed => "--app-cpu-ms was not given: the rest of a login was taken as 0 ms of CPU".into(),
            Self::CpusCapped { used, usable } => {
                format!(
                    "planned for {} of the {} CPUs, as --cpus asked",
                    Short(*used),
                    Short(*usable)
                )
            }
            Self::MemoryAboveHost { asked, usable } => {
                format!("--mem {asked} is more than the {usable} this process may use: {usable} was used")
            }
            Self::MemoryForced { asked, usable } => {
                format!("--mem {asked} is more than the {usable} this process may use, and was used all the same")
            }
            Self::OwnMemoryLimit { free, limit, memory } => {
                format!("this process's own limit ({limit}) leaves {free} to measure in, of the {memory} planned with")
            }
            _ => self.measured_text(),
        }
    }

    /// The texts of the doubts that arise from measuring.
    fn measured_text(&self) -> String {
        match self {
            Self::CpuThrottled {
                throttled,
                periods,
                seconds,
            } => {
                format!(
                    "the CPU quota stopped the process in {throttled} of {periods} periods, {} s in all",
                    Short(*seconds)
                )
            }
            Self::StolenTime { share } => format!("the hypervisor took {} % of the CPU time", Short(share * 100.0)),
            Self::LostTime { share } => format!(
                "{} % of the CPU time that the hashes were due did not reach them, and no counter says who had it",
                Short(share * 100.0)
            ),
            Self::BusyHost { cpus } => format!("other processes used {} CPUs meanwhile", Short(*cpus)),
            Self::MemoryPressure { share } => {
                format!("tasks waited for memory in {} % of the time", Short(share * 100.0))
            }
            Self::FrequencyChanged { from_mhz, to_mhz } => {
                format!(
                    "the CPUs ran at {} MHz in one measurement and at {} MHz in another",
                    Short(*from_mhz),
                    Short(*to_mhz)
                )
            }
            Self::LoadedBefore { load, cpus } => {
                format!(
                    "the load average was {} on {} CPUs before the run",
                    Short(*load),
                    Short(*cpus)
                )
            }
            Self::Noisy { what, first, second } => {
                let (least, most) = (first.0.min(second.0), first.0.max(second.0));
                let apart = Short((most / least - 1.0) * 100.0);
                format!("{what} was measured as {first} and as {second}: {apart} % apart")
            }
            Self::StillDisturbed { share } => {
                format!(
                    "others took {} % of the CPU time, also when it was measured once more",
                    Short(share * 100.0)
                )
            }
            Self::Outliers { count, of, least, most } => {
                let took = if least == most {
                    least.to_string()
                } else {
                    format!("{least} to {most}")
                };
                format!("{count} of {of} hashes took less than half or more than twice the usual CPU time: {took}")
            }
            Self::WideInterval { low, high } => format!("the quantile is only known to lie between {low} and {high}"),
            Self::TooFewArrivals { arrivals, wanted } => {
                format!("{arrivals} arrivals were measured where {wanted} are wanted")
            }
            Self::GeneratorLate { p99 } => format!("1 % of the hashes started {p99} or more late on an idle worker"),
            Self::GeneratorCpu { share } => {
                format!(
                    "{} % of the CPU time went to the benchmark itself",
                    Short(share * 100.0)
                )
            }
            Self::Turbo { early, late } => format!("the first hashes took {early} of CPU, the last {late}"),
            Self::SimulatedPeak { peak, hashes } => {
                format!(
                    "at {peak} too few logins arrive to measure: the latency was simulated from {hashes} measured hashes"
                )
            }
            Self::MemoryApproximate { why } => format!("the peak memory is an estimate: {why}"),
            Self::MemoryTight { what, need, free } => {
                format!("{what} needs {need} where {free} is free: it was not run")
            }
            Self::TimeShort { left_out } => format!("the time limit left no room for {left_out}"),
            Self::OddSetting { what, doubt } => format!("{what}: {}", doubt.text()),
            Self::LoginsRefused {
                refused,
                arrivals,
                max_queued,
            } => format!(
                "{refused} of {arrivals} logins at the peak came when {max_queued} (max_queued) were waiting: the service would refuse them"
            ),
            Self::LibraryCost {
                library,
                ratio: (low, high),
            } => {
                let ratio = if low < high {
                    format!("{} to {}", Short(*low), Short(*high))
                } else {
                    Short(*low).to_string()
                };
                let side = match (*low > 1.0, *high < 1.0) {
                    (true, _) => ", so the engine is the optimistic one",
                    (_, true) => ", so the engine is the conservative one",
                    _ => "",
                };
                format!(
                    "measured with this program's engine: {library} took {ratio} times its CPU on an Ice Lake Xeon{side} (docs/pages.md)"
                )
            }
            Self::BcryptInputLimit => "bcrypt reads only the first 72 bytes of a password".into(),
            Self::BelowFloor { floor_ratio } => {
                format!("this is {} times as strong as the family's floor", Short(*floor_ratio))
            }
            _ => String::new(),
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::CpuFraction { .. } => "none needed: the fraction is used as it is, never rounded",
            Self::LimitAboveRam { .. } => "lower the limit, or plan with the machine's memory as done here",
            Self::MemoryHighBelowMax { .. } => "keep --mem below memory.high",
            Self::NoCgroup => "give the limits with --mem if a virtual machine or platform sets any",
            Self::NoProc => "run on Linux, or pass --mem",
            Self::MalformedFile { .. } => "read the file by hand and pass --mem if it holds a tighter limit",
            Self::UnreadableFile { .. } => "run with the right to read it, or pass the limit with --mem",
            Self::CgroupPathNotFound { .. } | Self::CgroupOutsideNamespace { .. } => {
                "run inside the service's own container, or pass the limits by hand"
            }
            Self::AncestorsHidden { .. } => "check the pod's or slice's limits and pass --mem if they are tighter",
            Self::ProcVirtualized { .. } => "none needed: the renumbered files are not mixed with the real ones",
            Self::MemoryAssumed { .. } => "pass --mem with what the login service may use",
            Self::IdleMemoryAssumed => "start the service idle, read its cgroup's memory.current (or the sum of Pss), pass it as --idle-mem",
            Self::AppCpuAssumed => {
                "log in 100 times with a fast test hasher, divide the service's CPU time (cpu.stat) by 100, pass it as --app-cpu-ms"
            }
            Self::CpusCapped { .. } => "deploy it to a service with as many CPUs, or measure without --cpus",
            Self::MemoryAboveHost { .. } => "raise the container's limit, or pass --force-mem to plan for another host",
            Self::OwnMemoryLimit { limit, .. } => return format!("run with a higher limit ({limit} unlimited), then repeat"),
            Self::MemoryForced { .. } => "measure again where that much memory is available",
            Self::CpuThrottled { .. } => "none needed where the quota is the one in production; else measure without it",
            Self::StolenTime { .. } | Self::LostTime { .. } => "repeat on a quiet or dedicated host",
            Self::BusyHost { .. } => "stop the other load, or repeat when the host is idle",
            Self::LoadedBefore { .. } => "repeat when the host is idle",
            Self::MemoryPressure { .. } => "free memory, or lower --mem, and repeat",
            Self::FrequencyChanged { .. } => "fix the frequency (governor performance, no turbo), or repeat when the host is warm",
            Self::Noisy { .. } | Self::WideInterval { .. } => "repeat on an idle host, or raise --time-limit",
            Self::TooFewArrivals { .. } => "raise --time-limit, or leave out --quick",
            Self::StillDisturbed { .. } | Self::GeneratorLate { .. } | Self::GeneratorCpu { .. } => "repeat on an idle host",
            Self::Outliers { .. } => "none needed where they are few: they are counted like all others; else repeat on an idle host",
            Self::Turbo { .. } => "plan with the later figure: a busy server has no turbo",
            Self::SimulatedPeak { .. } => "raise --time-limit to measure more arrivals, or check with a load test",
            Self::MemoryApproximate { .. } => "leave more headroom, and watch the service's own peak",
            Self::MemoryTight { .. } => "free memory or raise the limit (the container's, or ulimit -v), then repeat",
            Self::TimeShort { .. } => "raise --time-limit",
            Self::OddSetting { doubt, .. } => return doubt.remedy(),
            Self::LoginsRefused { .. } => {
                "let clients try again after a moment, or ask for more --headroom: a longer queue would only answer too late"
            }
            Self::LibraryCost { ratio: (_, high), .. } if *high < 1.0 => "none needed: the library leaves more room than is shown",
            Self::LibraryCost { .. } => {
                "time one hash of this setting in your library, and pass what it takes beyond cpu_ms as --app-cpu-ms"
            }
            Self::BcryptInputLimit => "refuse longer passwords, or hash them first with HMAC-SHA-256 and base64",
            Self::BelowFloor { .. } => "treat it as a stopgap: add CPUs or time, then measure again",
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_doubt_has_text_and_remedy() {
        let doubts = [
            Caveat::NoCgroup,
            Caveat::IdleMemoryAssumed,
            Caveat::CpuThrottled {
                throttled: 3,
                periods: 10,
                seconds: 0.2,
            },
            Caveat::BcryptInputLimit,
            Caveat::TimeShort {
                left_out: "presets".into(),
            },
        ];
        for doubt in doubts {
            assert!(
                !doubt.text().is_empty() && !doubt.remedy().is_empty(),
                "{}",
                doubt.code()
            );
        }
    }
}
