//! Hashes with the RustCrypto crates and `bcrypt`, in this process.

mod argon;
mod lanes;
mod others;
#[cfg(test)]
mod vectors;

use std::hint::black_box;
use std::sync::OnceLock;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Engine, EngineError, Pages, Slot, malloc};
use crate::setting::{Bcrypt, Setting};
use crate::units::Bytes;
use argon::ArgonKernel;
use others::{BcryptKernel, Pbkdf2Kernel, ScryptKernel};

/// Bytes of output, as every service stores them by default.
const OUTPUT: usize = 32;
/// Bytes of salt (RFC 9106, section 3.1: 16 is recommended).
const SALT: usize = 16;
/// Bytes of a made-up password: a usual length. No cost depends on it.
const PASSWORD: usize = 20;
const _: () = assert!(PASSWORD < Bcrypt::MAX_INPUT);

/// The engine in this process, with a page behaviour.
#[derive(Debug)]
pub struct Native {
    pages: Pages,
    /// Slots keep their memory for as long as they live, whatever `pages` says: for peak memory.
    hold: bool,
    /// Sizes from here on are fresh in the C library; `None` inside when it keeps all. Probed at first need.
    threshold: OnceLock<Option<Bytes>>,
}

impl Native {
    /// An engine whose Argon2 memory behaves as `pages`.
    pub const fn new(pages: Pages) -> Self {
        Self {
            pages,
            hold: false,
            threshold: OnceLock::new(),
        }
    }

    /// An engine whose slots hold the memory of their last hash until they are dropped.
    pub(super) const fn holding(pages: Pages) -> Self {
        Self {
            pages,
            hold: true,
            threshold: OnceLock::new(),
        }
    }

    /// The page behaviour.
    pub const fn pages(&self) -> Pages {
        self.pages
    }

    /// The size from which on the C library maps fresh memory for every allocation, in whole MiB; `None` when it keeps all
    /// that was probed (64 MiB). The first call takes some 60 ms of CPU time.
    pub fn fresh_from(&self) -> Option<Bytes> {
        *self.threshold.get_or_init(|| {
            // In a thread of its own: a service's hashes run in threads, and glibc's rules differ between arenas.
            let probe = std::thread::Builder::new().spawn(malloc::system_threshold);
            probe.map_or(None, |thread| thread.join().unwrap_or(None))
        })
    }

    /// What `pages` means for one hash of this size.
    fn behaviour(&self, size: Bytes) -> Behaviour {
        let kept = match self.pages {
            _ if self.hold => true,
            Pages::Fresh | Pages::Huge => false,
            Pages::Reused => true,
            Pages::Deployed => self.fresh_from().is_none_or(|from| size < from),
        };
        Behaviour {
            kept,
            huge: self.pages == Pages::Huge,
        }
    }
}

/// How the memory of one slot behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Behaviour {
    kept: bool,
    huge: bool,
}

impl Engine for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn slot(&self, setting: &Setting) -> Result<Box<dyn Slot>, EngineError> {
        let behaviour = self.behaviour(setting.memory_cost());
        let kernel: Box<dyn Kernel> = match setting {
            Setting::Argon2id(a) => Box::new(ArgonKernel::new(*a, behaviour)?),
            Setting::Scrypt(s) => Box::new(ScryptKernel::new(*s, self.hold)?),
            Setting::Bcrypt(b) => Box::new(BcryptKernel(*b)),
            Setting::Pbkdf2(p) => Box::new(Pbkdf2Kernel(*p)),
        };
        Ok(Box::new(NativeSlot {
            kernel,
            random: StdRng::from_rng(&mut rand::rng()),
        }))
    }

    fn keeps_memory(&self, setting: &Setting) -> bool {
        matches!(setting, Setting::Argon2id(_)) && self.behaviour(setting.memory_cost()).kept
    }
}

/// One family's function with its parameters and memory.
trait Kernel: Send {
    /// Hashes `password` with `salt` into `out`.
    fn derive(&mut self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), EngineError>;

    /// See [`Slot::lanes_cpu_s`].
    fn lanes_cpu_s(&self) -> f64 {
        0.0
    }
}

struct NativeSlot {
    kernel: Box<dyn Kernel>,
    random: StdRng,
}

impl Slot for NativeSlot {
    fn hash(&mut self) -> Result<(), EngineError> {
        let mut password = [0; PASSWORD];
        let mut salt = [0; SALT];
        self.random.fill_bytes(&mut password);
        // bcrypt's input ends at a NUL.
        for byte in &mut password {
            *byte = (*byte).max(1);
        }
        self.random.fill_bytes(&mut salt);
        let mut out = [0; OUTPUT];
        self.kernel.derive(&password, &salt, &mut out)?;
        // The result is used, so that no hash can be left out.
        black_box(&out);
        Ok(())
    }

    fn lanes_cpu_s(&self) -> f64 {
        self.kernel.lanes_cpu_s()
    }
}

/// A library's refusal as an [`EngineError`].
fn refused(setting: Setting, reason: impl ToString) -> EngineError {
    EngineError::Refused {
        setting: setting.to_string(),
        reason: reason.to_string(),
    }
}
