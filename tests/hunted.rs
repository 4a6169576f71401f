//! What would make a figure wrong, looked for on the running machine. In a process of its own, since it reads the process's
//! CPU clock and page faults; its tests take turns for the same reason. No duration is asserted.

mod common;

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use common::{World, budget, request, two_cpus};
use hashtune::engine::{Native, Pages};
use hashtune::measure::{CounterReading, Load, Measure, MeasureError, Measurement, PeakMemory, Runner, Silent};
use hashtune::recommend::{Answer, Recommendation, recommend};
use hashtune::setting::Setting;
use hashtune::units::Millis;

static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever offers the logins shares the CPUs with the hashes: its own CPU time is measured, and is under 1 %.
#[test]
fn the_generator_takes_less_than_a_hundredth_of_the_cpu() {
    let _alone = alone();
    let load = Load::Open {
        arrivals: (0..60).map(|i| f64::from(i) * 0.02).collect(),
        workers: 4,
    };
    let own = || {
        let mut runner = Runner::new(Arc::new(Native::new(Pages::Fresh)), 2.0);
        let m = runner.measure(&"bcrypt:8".parse().unwrap(), &load).unwrap();
        let hashes: f64 = m.samples.iter().map(|s| s.thread_cpu).sum();
        (m.cpu_s - hashes) / m.cpu_s
    };
    // A hypervisor that takes a CPU away amid a wake-up adds to the generator's time, and nothing takes any away: the least counts.
    let least = (0..5).map(|_| own()).fold(f64::INFINITY, f64::min);
    assert!(least < 0.01, "{least}");
}

/// Field 10 of `stat` (proc(5)), all threads.
fn page_faults() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(7).unwrap().parse().unwrap()
}

/// The counters are read after the warm-up and after the last hash: kept memory was touched before, all of it and in each slot,
/// while fresh memory faults inside the timed hashes.
#[test]
fn the_warm_up_faults_all_pages_of_kept_memory() {
    let _alone = alone();
    let (kib, slots, hashes) = (16_384_u64, 3, 6);
    let setting: Setting = format!("argon2id:m={kib},t=1,p=1").parse().unwrap();
    let faults = |pages| {
        let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
        let readings = seen.clone();
        let mut runner = Runner::new(Arc::new(Native::new(pages)), 2.0).counters(move || {
            readings.lock().unwrap().push(page_faults());
            CounterReading::default()
        });
        let load = Load::Closed {
            clients: slots,
            hashes,
            seconds: 60.0,
        };
        runner.measure(&setting, &load).unwrap();
        let seen = seen.lock().unwrap();
        seen[1] - seen[0]
    };
    let one_hash = kib / 4;
    let kept = faults(Pages::Reused);
    assert!(kept < one_hash / 4, "{kept} faults, one hash has {one_hash} pages");
    // Where the kernel gives huge pages to all there are few faults to see.
    let always =
        fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").is_ok_and(|s| s.contains("[always]"));
    let fresh = faults(Pages::Fresh);
    assert!(always || fresh > one_hash * u64::from(hashes) / 2, "{fresh}");
}

/// A machine of formulas whose measurements pass through a fault.
struct Faulty<F>(World, F);

impl<F: FnMut(&mut Measurement)> Measure for Faulty<F> {
    fn measure(&mut self, setting: &Setting, load: &Load) -> Result<Measurement, MeasureError> {
        let mut measured = self.0.measure(setting, load)?;
        (self.1)(&mut measured);
        Ok(measured)
    }

    fn peak_memory(&mut self, setting: &Setting, workers: u32) -> Result<PeakMemory, MeasureError> {
        self.0.peak_memory(setting, workers)
    }

    fn elapsed_s(&self) -> f64 {
        self.0.elapsed_s()
    }
}

fn answered(fault: fn(&mut Measurement)) -> Recommendation {
    let mut asked = request(budget(250.0, 20.0, 1024, None), two_cpus());
    // Of a hash with lanes no clock tells its own CPU time.
    asked.bounds.max_lanes = 1;
    let mut world = Faulty(World::new(two_cpus(), Millis(0.0)), fault);
    match recommend(&asked, &mut world, &mut Silent).unwrap().answer {
        Answer::Fits(pick) => *pick,
        other => panic!("{other:?}"),
    }
}

/// One hash at the peak that seems to have taken a hundredth of the CPU, by both clocks: no figure gets better by more than its share
/// of the hashes.
#[test]
fn one_bogus_fast_hash_moves_no_more_than_its_share() {
    let _alone = alone();
    let honest = answered(|_| {});
    let bogus = answered(|m| {
        if let Load::Open { .. } = m.load {
            let sample = &mut m.samples[50];
            m.cpu_s -= 0.99 * sample.thread_cpu;
            sample.thread_cpu *= 0.01;
            sample.finished = sample.started + 0.000_1;
            assert_eq!(m.outliers().len(), 1);
        }
    });
    assert_eq!(bogus.setting, honest.setting);
    let share = 1.0 / honest.evidence.arrivals as f64;
    let moved = |a: f64, b: f64| (a / b - 1.0).abs();
    assert!(moved(bogus.evidence.cost.loaded_s, honest.evidence.cost.loaded_s) <= share);
    assert!(moved(bogus.evidence.ceiling.per_s(), honest.evidence.ceiling.per_s()) <= share);
    // The p95 may lose one rank of some 200, no more.
    assert!(moved(bogus.evidence.latency.estimate, honest.evidence.latency.estimate) < 0.05);
}

/// A turbo that ends while the program learns costs: a setting that was calibrated in its time and measured again later disagrees.
#[test]
fn a_turbo_between_measurements_is_a_doubt() {
    let _alone = alone();
    let current: Setting = "argon2id:m=19456,t=2,p=1".parse().unwrap();
    let mut asked = request(budget(250.0, 20.0, 1024, None), two_cpus());
    asked.current = Some(current);
    let noisy = |faster: f64| {
        let mut measured = 0;
        let turbo = |m: &mut Measurement| {
            measured += 1;
            if measured <= 10 {
                m.samples.iter_mut().for_each(|s| s.thread_cpu *= faster);
                m.cpu_s *= faster;
            }
        };
        let mut world = Faulty(World::new(two_cpus(), Millis(0.0)), turbo);
        let caveats = recommend(&asked, &mut world, &mut Silent).unwrap().caveats;
        caveats
            .iter()
            .any(|c| c.code() == "noisy" && c.text().contains(&current.to_string()))
    };
    assert!(noisy(0.9));
    assert!(!noisy(1.0) && !noisy(0.96), "within what measurements differ by");
}
