//! What to set, outside the program that hashes, against page faults: pure rules over facts that the caller has found.
//!
//! Every line was tried with argon2-cffi under glibc 2.36 (`tests/deployed_python.rs`, `docs/pages.md`), jemalloc's with
//! 5.3.0 preloaded there.

use std::fmt;
use std::str::FromStr;

use crate::units::{BadValue, Bytes, Share};

/// The share of CPU from which on page faults are worth a word.
pub const MATTERS: f64 = 0.05;
/// glibc's `HEAP_MAX_SIZE` on 64-bit machines: no arena but the main one holds a block of this size, headers included.
const ARENA_HEAP: Bytes = Bytes(64 << 20);
/// Never reached: freed memory is not given back.
const KEEP: &str = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592";
const ONE_ARENA: &str = "glibc.malloc.arena_max=1";
const HUGE: &str = "glibc.malloc.hugetlb=1";

/// The C library whose `malloc` the service uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    /// glibc with its version, major and minor.
    Glibc(u32, u32),
    /// musl (Alpine).
    Musl,
    /// Another one, or unknown.
    Other,
}

impl Libc {
    /// From glibc's own words, such as `2.36` or `2.36-9+deb12u14`.
    pub fn from_glibc_version(text: &str) -> Self {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Self::Glibc(major, minor),
            _ => Self::Other,
        }
    }

    fn glibc_from(self, minor: u32) -> bool {
        matches!(self, Self::Glibc(a, b) if (a, b) >= (2, minor))
    }
}

/// What `/sys/kernel/mm/transparent_hugepage/enabled` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thp {
    /// Huge pages without asking.
    Always,
    /// Huge pages for memory that asks for them.
    Madvise,
    /// None.
    Never,
}

impl FromStr for Thp {
    type Err = BadValue;

    /// Reads the kernel's form, `always [madvise] never`, or the chosen word alone.
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        match chosen.map_or(text.trim(), |(word, _)| word) {
            "always" => Ok(Self::Always),
            "madvise" => Ok(Self::Madvise),
            "never" => Ok(Self::Never),
            _ => Err(BadValue::new(
                "huge page mode",
                text.trim(),
                "unknown",
                "the kernel's form, such as \"always [madvise] never\"",
            )),
        }
    }
}

/// Threads of one worker process that hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashThreads {
    /// The main thread alone, as in gunicorn's `sync` workers or PHP-FPM.
    Single,
    /// Several, or one that is not the main thread: thread pools, async servers.
    Many,
    /// The operator did not say.
    Unknown,
}

/// What the rules look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageFacts {
    /// The service's C library.
    pub libc: Libc,
    /// `None` where the kernel has no such file.
    pub thp: Option<Thp>,
    /// Threads that hash in one worker process.
    pub threads: HashThreads,
    /// Memory of one hash.
    pub memory: Bytes,
    /// The deployed library gets fresh memory for each hash of this size.
    pub fresh: bool,
    /// Share of a hash's CPU time under load that kept memory would save.
    pub tax: Share,
    /// Share that huge pages would save, where that was measured.
    pub huge: Option<Share>,
}

/// One thing that can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The stable name, as exported.
    pub code: &'static str,
    /// Exactly what to set: an environment line, or a command.
    pub set: String,
    /// When it works.
    pub applies: String,
    /// What it costs.
    pub price: String,
    /// Share of a hash's CPU time that it should save: measured here with the native engine. `None`: measure it.
    pub saves: Option<Share>,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}; price: {}", self.set, self.applies, self.price)?;
        match self.saves {
            Some(saves) => write!(f, "; saves about {saves} of the hash's CPU)"),
            None => f.write_str("; gain not measured)"),
        }
    }
}

/// What applies here, the cheapest first. One line is to be chosen: a process has one `GLIBC_TUNABLES`.
///
/// Empty when memory is kept anyway, or when nothing above [`MATTERS`] would be saved.
pub fn advise(facts: &PageFacts) -> Vec<Advice> {
    if !facts.fresh || facts.tax.0.max(facts.huge.map_or(0.0, |h| h.0)) <= MATTERS {
        return Vec::new();
    }
    match facts.libc {
        Libc::Glibc(..) => glibc(facts),
        Libc::Musl => vec![
            jemalloc(
                facts,
                "musl: its malloc maps fresh memory from 128 KiB and has no settings",
            ),
            Advice {
                code: "glibc-image",
                set: "base the image on glibc (for example debian:stable-slim) and run hashtune in it again".into(),
                applies: "musl".into(),
                price: "a larger image".into(),
                saves: None,
            },
        ],
        Libc::Other => vec![jemalloc(facts, "an allocator that hashtune does not know")],
    }
}

fn glibc(facts: &PageFacts) -> Vec<Advice> {
    let tunable = facts.libc.glibc_from(35);
    let mut out = Vec::new();
    match facts.thp {
        Some(Thp::Madvise) if tunable => {
            out.push(huge_pages(facts));
            out.push(both(facts));
        }
        Some(Thp::Never) if tunable => out.push(Advice {
            code: "thp-madvise",
            set: format!(
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root, at each boot), then {}",
                line(HUGE)
            ),
            applies: "glibc 2.35 or later; huge pages are switched off on this machine: the tunable alone does nothing"
                .into(),
            price: "for all programs of the machine; only those that ask get huge pages".into(),
            saves: facts.huge,
        }),
        // Always: large mappings have huge pages already. An older glibc has no way to ask; no file: no huge pages.
        _ => {}
    }
    out.push(keep(facts));
    out
}

fn line(tunables: &str) -> String {
    format!("GLIBC_TUNABLES={tunables}")
}

fn huge_pages(facts: &PageFacts) -> Advice {
    Advice {
        code: "hugetlb",
        set: line(HUGE),
        applies: "glibc 2.35 or later, huge pages set to madvise; any number of threads".into(),
        price: "none that stays: the memory is given back after each hash; the kernel must find free 2 MiB pages"
            .into(),
        saves: facts.huge,
    }
}

/// The tunables that keep the memory of these threads, and when that holds.
fn keeping(facts: &PageFacts) -> (String, &'static str) {
    // A block of this size and its header do not fit in the heap of a thread's own arena. Less a MiB, to be sure.
    let too_large = facts.memory.0 + (1 << 20) > ARENA_HEAP.0;
    match facts.threads {
        HashThreads::Single => (KEEP.into(), "hashes run in each process's main thread"),
        HashThreads::Many if too_large => (
            format!("{ONE_ARENA}:{KEEP}"),
            "from 64 MiB in threads: only the main arena can hold such a block",
        ),
        HashThreads::Many => (KEEP.into(), "below 64 MiB in threads"),
        HashThreads::Unknown => (format!("{ONE_ARENA}:{KEEP}"), "hashes run in any threads"),
    }
}

fn resident(facts: &PageFacts) -> String {
    match facts.threads {
        HashThreads::Single => format!("{} stay resident in each worker process", facts.memory),
        _ => format!(
            "{} stay resident for each hash that was ever in flight at once",
            facts.memory
        ),
    }
}

fn arena_price(tunables: &str) -> &'static str {
    if tunables.contains(ONE_ARENA) {
        ", and all threads share one malloc lock (held for moments, not while hashing)"
    } else {
        ""
    }
}

fn keep(facts: &PageFacts) -> Advice {
    let (tunables, applies) = keeping(facts);
    let price = format!("{}{}", resident(facts), arena_price(&tunables));
    let set = if facts.libc.glibc_from(26) {
        line(&tunables)
    } else {
        // Before 2.26 the tunables had other names; these variables are as old as the allocator.
        let arena = if tunables.contains(ONE_ARENA) {
            "MALLOC_ARENA_MAX=1 "
        } else {
            ""
        };
        format!("{arena}MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=8589934592")
    };
    Advice {
        code: "keep",
        set,
        applies: format!("glibc; {applies}"),
        price,
        saves: Some(facts.tax),
    }
}

fn both(facts: &PageFacts) -> Advice {
    // In threads always with the one arena: in arenas of their own glibc asks for no huge pages.
    let (tunables, applies) = match facts.threads {
        HashThreads::Many => (format!("{ONE_ARENA}:{KEEP}"), "hashes run in threads"),
        HashThreads::Single | HashThreads::Unknown => keeping(facts),
    };
    let tunables = format!("{HUGE}:{tunables}");
    Advice {
        code: "hugetlb-keep",
        price: format!("{}{}", resident(facts), arena_price(&tunables)),
        set: line(&tunables),
        applies: format!("glibc 2.35 or later, huge pages set to madvise; {applies}"),
        // Kept and huge saves at least as much as either.
        saves: Some(Share(facts.tax.0.max(facts.huge.map_or(0.0, |h| h.0)))),
    }
}

fn jemalloc(facts: &PageFacts, why: &str) -> Advice {
    Advice {
        code: "jemalloc",
        set: "LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1".into(),
        applies: format!("{why}; jemalloc 5 with its defaults gives back every block from 8 MiB as well"),
        price: format!("{}; another allocator for the whole process", resident(facts)),
        saves: None,
    }
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
