//! What the operator allows: latency, memory, and peak logins.

use crate::units::{BadValue, Bytes, Millis, Rate, Share};

/// The operator's limits and what is set aside for the application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Most time a login may take, at [`Self::quantile`].
    pub latency: Millis,
    /// The quantile of latency that must keep within it, in (0, 1).
    pub quantile: f64,
    /// What the login service may use.
    pub memory: Bytes,
    /// Its idle total, all workers.
    pub idle_memory: Bytes,
    /// CPU time of the rest of a login.
    pub app_cpu: Millis,
    /// Most logins a second, right and wrong passwords alike.
    pub peak: Rate,
    /// Share of CPUs and memory that stays free.
    pub headroom: Share,
    /// Hashes in flight, where the server fixes it.
    pub workers: Option<u32>,
}

impl Budget {
    /// Default latency budget.
    pub const LATENCY: Millis = Millis(250.0);
    /// Least and greatest latency budget, in ms.
    pub const LATENCY_MS: (f64, f64) = (1.0, 60_000.0);
    /// Default quantile.
    pub const QUANTILE: f64 = 0.95;
    /// Least and greatest quantile. Higher ones need more arrivals than a run has.
    pub const QUANTILES: (f64, f64) = (0.5, 0.99);
    /// Default headroom.
    pub const HEADROOM: Share = Share(0.1);
    /// Most workers.
    pub const MAX_WORKERS: u32 = 1024;
    /// Least memory budget: OWASP's smallest Argon2id row is 7 MiB.
    pub const MIN_MEMORY: Bytes = Bytes(1 << 20);

    /// Checks that the figures fit together.
    ///
    /// # Errors
    /// When memory is below 1 MiB, or idle memory leaves nothing of it.
    pub fn check(&self) -> Result<(), BadValue> {
        if self.memory < Self::MIN_MEMORY {
            return Err(BadValue::new(
                "--mem",
                self.memory.to_string(),
                "too small to hash in",
                "1MiB or more",
            ));
        }
        if self.idle_memory >= self.hash_memory_and_idle() {
            let accepted = format!("less than {} (--mem less headroom)", self.hash_memory_and_idle());
            let input = self.idle_memory.to_string();
            return Err(BadValue::new(
                "--idle-mem",
                input,
                "leaves no memory for hashes",
                accepted,
            ));
        }
        Ok(())
    }

    /// Memory less headroom: what idle service and hashes may hold together.
    pub fn hash_memory_and_idle(&self) -> Bytes {
        self.memory.scaled(1.0 - self.headroom.0)
    }

    /// What the hashes in flight may hold.
    pub fn hash_memory(&self) -> Bytes {
        Bytes(self.hash_memory_and_idle().0.saturating_sub(self.idle_memory.0))
    }
}
