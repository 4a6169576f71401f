//! scrypt, bcrypt and PBKDF2: one thread each.

use super::{Kernel, refused};
use crate::engine::EngineError;
use crate::engine::memory::Mapping;
use crate::setting::{Bcrypt, Digest, Pbkdf2, Scrypt, Setting};
use crate::units::Bytes;

/// scrypt. Its crate allocates V itself, through the global allocator, which is the C library's: always "deployed" pages.
pub struct ScryptKernel {
    setting: Scrypt,
    params: scrypt::Params,
    /// In holding mode: stands in for V, which the crate frees at the end of a hash.
    ballast: Option<Option<Mapping>>,
}

impl ScryptKernel {
    pub fn new(setting: Scrypt, hold: bool) -> Result<Self, EngineError> {
        // In holding mode the smallest N: it runs the code, and the ballast holds what the real N would.
        let log_n = if hold { 1 } else { setting.log_n() };
        let params = u8::try_from(log_n)
            .map_err(|e| refused(Setting::Scrypt(setting), e))
            .and_then(|n| {
                scrypt::Params::new(n, setting.r(), setting.p()).map_err(|e| refused(Setting::Scrypt(setting), e))
            })?;
        let made = Self {
            setting,
            params,
            ballast: hold.then_some(None),
        };
        made.check_memory()?;
        Ok(made)
    }

    /// The crate's `vec!` would abort the process where memory is short: ask for as much first. It is not touched, so it
    /// costs two system calls at most.
    fn check_memory(&self) -> Result<(), EngineError> {
        let size = self.setting.memory();
        let ask = || Vec::<u8>::new().try_reserve_exact(usize::try_from(size.0).unwrap_or(usize::MAX));
        ask().map_err(|e| EngineError::Memory {
            size,
            reason: e.to_string(),
        })
    }

    fn hold(&mut self) -> Result<(), EngineError> {
        if let Some(ballast @ None) = &mut self.ballast {
            let Bytes(size) = self.setting.memory();
            let kib = u32::try_from(size.div_ceil(1024)).map_err(|e| refused(Setting::Scrypt(self.setting), e))?;
            ballast.insert(Mapping::new(kib, false)?).touch();
        }
        Ok(())
    }
}

impl Kernel for ScryptKernel {
    fn derive(&mut self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), EngineError> {
        self.check_memory()?;
        scrypt::scrypt(password, salt, &self.params, out).map_err(|e| refused(Setting::Scrypt(self.setting), e))?;
        self.hold()
    }
}

/// bcrypt. Writes the 24 bytes of the algorithm (a stored hash drops the last one) and leaves the rest.
pub struct BcryptKernel(pub Bcrypt);

impl Kernel for BcryptKernel {
    fn derive(&mut self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), EngineError> {
        let refuse = |reason: &str| refused(Setting::Bcrypt(self.0), reason);
        let salt: [u8; 16] = salt.try_into().map_err(|_| refuse("bcrypt's salt has 16 bytes"))?;
        // The crate takes the closing NUL as part of the input and panics beyond 72 bytes.
        let mut input = [0; Bcrypt::MAX_INPUT];
        let with_nul = input
            .get_mut(..=password.len())
            .ok_or_else(|| refuse("more than 71 bytes of password"))?;
        with_nul[..password.len()].copy_from_slice(password);
        let hash = bcrypt::bcrypt(self.0.cost(), salt, with_nul);
        let len = hash.len().min(out.len());
        out[..len].copy_from_slice(&hash[..len]);
        Ok(())
    }
}

/// PBKDF2-HMAC.
pub struct Pbkdf2Kernel(pub Pbkdf2);

impl Kernel for Pbkdf2Kernel {
    fn derive(&mut self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), EngineError> {
        match self.0.digest() {
            Digest::Sha256 => pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, self.0.iterations(), out),
            Digest::Sha512 => pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, self.0.iterations(), out),
        }
        Ok(())
    }
}
