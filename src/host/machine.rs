//! Facts about the machine that limit nothing but explain a figure: CPU model, caches, kernel settings.

use super::cpulist::CpuList;
use super::reader::Reader;
use super::values;
use crate::units::Bytes;

pub(super) const CPUINFO: &str = "proc/cpuinfo";
/// Labels that name the CPU in `/proc/cpuinfo`, by architecture.
pub(super) const MODEL_LABELS: [&str; 4] = ["model name", "cpu model", "Processor", "cpu"];
/// No CPU has more levels and kinds of cache than this.
const MAX_CACHES: usize = 8;

/// One cache of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// 1, 2, 3 ...
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size.
    pub size: Bytes,
    /// How many logical CPUs share it, where known.
    pub shared_by: Option<u32>,
}

/// What could be read about the machine; a virtual machine shows little.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Machine {
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// Logical CPUs per core: 2 with hyper-threading.
    pub threads_per_core: Option<u32>,
    /// The caches of one CPU, as the kernel lists them.
    pub caches: Vec<Cache>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
    /// The frequency governor, such as `performance` or `powersave`.
    pub governor: Option<String>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
}

/// Reads the facts of the machine, those of a CPU from `cpu` (0 where it is not known).
pub(super) fn read(reader: &Reader, cpu: Option<u32>) -> Machine {
    let dir = format!("sys/devices/system/cpu/cpu{}", cpu.unwrap_or(0));
    let siblings = reader.content(format!("{dir}/topology/thread_siblings_list"));
    Machine {
        cpu_model: cpu_model(reader),
        threads_per_core: siblings.and_then(|text| count(&text)),
        caches: (0..MAX_CACHES)
            .map_while(|i| cache(reader, &format!("{dir}/cache/index{i}")))
            .collect(),
        kernel: line(reader, "proc/sys/kernel/osrelease"),
        transparent_hugepages: line(reader, "sys/kernel/mm/transparent_hugepage/enabled").and_then(|l| chosen(&l)),
        governor: line(reader, &format!("{dir}/cpufreq/scaling_governor")),
        load_average: load_average(reader),
    }
}

fn cpu_model(reader: &Reader) -> Option<String> {
    let from_file = reader.content(CPUINFO).and_then(|text| {
        MODEL_LABELS
            .iter()
            .find_map(|label| words(values::labelled(&text, label)?))
    });
    if from_file.is_some() || !reader.is_live() {
        return from_file;
    }
    // ARM kernels give part numbers, and macOS has no such file; sysinfo knows the names.
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_cpu_list(sysinfo::CpuRefreshKind::nothing());
    words(system.cpus().first()?.brand().as_bytes())
}

fn cache(reader: &Reader, dir: &str) -> Option<Cache> {
    let level = values::number(reader.content(format!("{dir}/level"))?.trim_ascii())?;
    let size = reader.content(format!("{dir}/size"))?;
    let shared = reader.content(format!("{dir}/shared_cpu_list"));
    Some(Cache {
        level: u32::try_from(level).ok()?,
        kind: line(reader, &format!("{dir}/type"))?,
        size: cache_size(size.trim_ascii())?,
        shared_by: shared.and_then(|text| count(&text)),
    })
}

/// `32K`; larger ones are in K as well, but M is understood.
fn cache_size(text: &[u8]) -> Option<Bytes> {
    let (unit, digits) = text.split_last()?;
    let factor = match unit {
        b'K' => 1 << 10,
        b'M' => 1 << 20,
        _ => return None,
    };
    values::number(digits)?.checked_mul(factor).map(Bytes)
}

/// The three load averages.
pub(super) fn load_average(reader: &Reader) -> Option<[f64; 3]> {
    let text = line(reader, "proc/loadavg")?;
    let mut figures = text
        .split(' ')
        .map_while(|f| f.parse().ok().filter(|l: &f64| l.is_finite()));
    Some([figures.next()?, figures.next()?, figures.next()?])
}

/// The word in brackets.
fn chosen(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn count(text: &[u8]) -> Option<u32> {
    CpuList::parse(text).filter(|l| !l.is_empty()).map(|l| l.count())
}

/// The first line, where it has any text.
fn line(reader: &Reader, path: &str) -> Option<String> {
    let text = reader.content(path)?;
    words(text.split(|&b| b == b'\n').next()?)
}

/// Readable text with single blanks, or nothing.
fn words(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let clean = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!clean.is_empty()).then_some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn facts_are_read_below_the_root() {
        let root = tempfile::tempdir().unwrap();
        let cpu = "sys/devices/system/cpu/cpu2";
        for (path, text) in [
            (
                CPUINFO,
                "processor\t: 0\nvendor_id\t: X\nmodel name\t: Fast  CPU @ 3GHz\n".to_owned(),
            ),
            ("proc/sys/kernel/osrelease", "6.1.0\n".to_owned()),
            ("proc/loadavg", "0.50 1.00 2.25 1/200 99\n".to_owned()),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n".to_owned(),
            ),
            (&format!("{cpu}/topology/thread_siblings_list"), "2-3\n".to_owned()),
            (&format!("{cpu}/cpufreq/scaling_governor"), "powersave\n".to_owned()),
            (&format!("{cpu}/cache/index0/level"), "1\n".to_owned()),
            (&format!("{cpu}/cache/index0/type"), "Data\n".to_owned()),
            (&format!("{cpu}/cache/index0/size"), "48K\n".to_owned()),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = read(&Reader::new(root.path()), Some(2));
        assert_eq!(machine.cpu_model.as_deref(), Some("Fast CPU @ 3GHz"));
        assert_eq!(machine.threads_per_core, Some(2));
        assert_eq!(machine.kernel.as_deref(), Some("6.1.0"));
        assert_eq!(machine.transparent_hugepages.as_deref(), Some("madvise"));
        assert_eq!(machine.governor.as_deref(), Some("powersave"));
        assert_eq!(machine.load_average, Some([0.5, 1.0, 2.25]));
        assert_eq!(machine.caches.len(), 1);
        assert_eq!(
            (machine.caches[0].size, machine.caches[0].shared_by),
            (Bytes(48 << 10), None)
        );
        assert_eq!(read(&Reader::new(&root.path().join("none")), None), Machine::default());
    }
}
