//! What hashes: an engine makes slots, a slot is one hash in flight.
//!
//! Everything that a service makes once (threads, kept memory) belongs to the slot and is made outside the timed part;
//! everything that a service does for each login belongs to [`Slot::hash`].

pub mod advice;
pub mod cleanup;
pub mod clock;
mod malloc;
mod memory;
mod native;
pub mod worker;

pub use malloc::libc;
pub use native::Native;

use std::fmt;
use std::str::FromStr;

use crate::setting::Setting;
use crate::units::{BadValue, Bytes};

/// Something that hashes passwords with a setting.
pub trait Engine: Send + Sync {
    /// The name in reports, for example `native`.
    fn name(&self) -> &'static str;

    /// What one hash in flight owns: memory and, with lanes, its own pool of p threads. Made outside the timed part.
    ///
    /// # Errors
    /// When memory or threads are refused, or the library refuses the setting.
    fn slot(&self, setting: &Setting) -> Result<Box<dyn Slot>, EngineError>;

    /// Whether a slot holds its memory between hashes. Then a check between rounds must not ask for it a second time.
    fn keeps_memory(&self, _setting: &Setting) -> bool {
        false
    }
}

/// One hash in flight. It may be made on one thread and used on another, but hashes on one thread only.
pub trait Slot: Send {
    /// Hashes a made-up password.
    ///
    /// # Errors
    /// When memory is refused, or the library fails.
    fn hash(&mut self) -> Result<(), EngineError>;

    /// CPU seconds that threads of the slot's own have used so far (0 without lanes). Never called while it hashes.
    fn lanes_cpu_s(&self) -> f64 {
        0.0
    }
}

/// Why an engine could not hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The kernel or the allocator refused memory.
    #[error("{size} of memory for one hash was refused: {reason}")]
    Memory {
        /// What was asked for.
        size: Bytes,
        /// The kernel's words.
        reason: String,
    },
    /// Threads for the lanes could not be started.
    #[error("{lanes} threads for one hash could not be started: {reason}")]
    Threads {
        /// Threads asked for.
        lanes: u32,
        /// The system's words.
        reason: String,
    },
    /// The page behaviour that was asked for does not exist here.
    #[error("{pages} pages are not available: {reason}")]
    Pages {
        /// What was asked for.
        pages: Pages,
        /// The kernel's words.
        reason: String,
    },
    /// The hash library refused the setting or the input.
    #[error("{setting} was refused: {reason}")]
    Refused {
        /// The setting.
        setting: String,
        /// The library's words.
        reason: String,
    },
}

/// Where the memory of one Argon2 hash comes from. scrypt's crate takes its own from the C library, whatever this says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pages {
    /// As the C library's `malloc` does it: kept below its threshold for mapping memory, fresh from there.
    #[default]
    Deployed,
    /// Mapped and unmapped for every hash: the kernel zeroes it page by page, inside the timed hash.
    Fresh,
    /// Fresh, in pages of 2 MiB where the kernel has them (`MADV_HUGEPAGE`, as `glibc.malloc.hugetlb=1` asks for).
    Huge,
    /// Mapped once for each slot and touched before.
    Reused,
}

impl Pages {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Deployed, Self::Fresh, Self::Huge, Self::Reused];

    /// The name on the command line and in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deployed => "deployed",
            Self::Fresh => "fresh",
            Self::Huge => "huge",
            Self::Reused => "reused",
        }
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pages {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        Self::ALL
            .into_iter()
            .find(|p| p.name() == text.trim())
            .ok_or_else(|| BadValue::new("page behaviour", text, "unknown", "deployed, fresh, huge or reused"))
    }
}
