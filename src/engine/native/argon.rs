//! Argon2id.

use argon2::{Algorithm, Argon2, Params, Version};

use super::lanes::Lanes;
use super::{Behaviour, Kernel, refused};
use crate::engine::EngineError;
use crate::engine::memory::Mapping;
use crate::setting::{Argon2id, Setting};

/// Argon2id with its memory and lanes.
pub struct ArgonKernel {
    setting: Argon2id,
    argon: Argon2<'static>,
    lanes: Lanes,
    behaviour: Behaviour,
    kept: Option<Mapping>,
}

impl ArgonKernel {
    /// Kept memory is mapped and touched here, outside the timed part; threads are started here.
    pub fn new(setting: Argon2id, behaviour: Behaviour) -> Result<Self, EngineError> {
        // No fixed output length: the buffer's counts.
        let params = Params::new(setting.memory_kib(), setting.time_cost(), setting.lanes(), None)
            .map_err(|e| refused(Setting::Argon2id(setting), e))?;
        let mut kept = None;
        if behaviour.kept {
            let mut mapping = Mapping::new(setting.effective_kib(), behaviour.huge)?;
            mapping.touch();
            kept = Some(mapping);
        }
        Ok(Self {
            setting,
            argon: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            lanes: Lanes::new(setting.lanes())?,
            behaviour,
            kept,
        })
    }
}

impl Kernel for ArgonKernel {
    fn derive(&mut self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), EngineError> {
        let mut fresh = None;
        let memory = match &mut self.kept {
            Some(kept) => kept,
            // Mapped here and unmapped at the end of this call: both belong to the hash's time, as in a service.
            None => fresh.insert(Mapping::new(self.setting.effective_kib(), self.behaviour.huge)?),
        };
        let blocks = memory.blocks();
        self.lanes
            .run(|| self.argon.hash_password_into_with_memory(password, salt, out, blocks))
            .map_err(|e| refused(Setting::Argon2id(self.setting), e))
    }

    fn lanes_cpu_s(&self) -> f64 {
        self.lanes.cpu_s()
    }
}
