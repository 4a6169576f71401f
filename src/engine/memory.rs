//! Memory for one Argon2 hash, from the kernel directly.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::slice;

use argon2::Block;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::{EngineError, Pages};
use crate::units::Bytes;

/// Size and alignment of a huge page on x86-64 and (with 4 KiB pages) AArch64.
const HUGE: usize = 2 << 20;
/// Argon2's block, RFC 9106 section 3.2.
const BLOCK: usize = 1024;
const _: () = assert!(size_of::<Block>() == BLOCK && align_of::<Block>() <= 4096);

/// An anonymous private mapping, unmapped on drop. It is zero pages until written to.
#[derive(Debug)]
pub struct Mapping {
    /// What `mmap` returned, and its length.
    base: NonNull<c_void>,
    mapped: usize,
    /// Where the blocks begin (2 MiB-aligned for huge pages).
    start: NonNull<Block>,
    blocks: usize,
}

// SAFETY: the mapping is owned by this value alone, as a `Vec<Block>` owns its heap memory.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `kib` blocks of 1 KiB.
    ///
    /// # Errors
    /// When the kernel refuses memory (for example under `ulimit -v`) or has no huge pages.
    pub fn new(kib: u32, huge: bool) -> Result<Self, EngineError> {
        let size = Bytes::from_kib(kib.into());
        let blocks = kib as usize;
        let len = blocks * BLOCK;
        // Whole huge pages, and room to shift the start to their alignment. Untouched pages cost nothing.
        let mapped = if huge { len.next_multiple_of(HUGE) + HUGE } else { len };
        // SAFETY: an anonymous mapping at an address of the kernel's choice aliases nothing.
        let mapping = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let refused = |reason: String| EngineError::Memory { size, reason };
        let base = mapping.map_err(|e| refused(e.to_string()))?;
        let shift = if huge { base.align_offset(HUGE) } else { 0 };
        let start = base.wrapping_byte_add(shift);
        let (Some(base), Some(start_block)) = (NonNull::new(base), NonNull::new(start.cast::<Block>())) else {
            return Err(refused("mapped at address 0".into()));
        };
        let made = Self {
            base,
            mapped,
            start: start_block,
            blocks,
        };
        if huge {
            // SAFETY: the range lies within the mapping just made; the advice changes only the size of its pages.
            unsafe { madvise(start, len.next_multiple_of(HUGE), Advice::LinuxHugepage) }.map_err(|e| {
                EngineError::Pages {
                    pages: Pages::Huge,
                    reason: e.to_string(),
                }
            })?;
        }
        Ok(made)
    }

    /// The memory as Argon2 blocks.
    pub fn blocks(&mut self) -> &mut [Block] {
        // SAFETY: `start` is page-aligned, so at least 64-byte-aligned; `blocks` x 1 KiB from it lie within the mapping,
        // which is readable and writable and lives as long as `self`, borrowed mutably here. Anonymous pages read as
        // zero, and any bit pattern is a valid `Block` (an array of u64).
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.blocks) }
    }

    /// Writes to every page, so that the kernel has provided all of them.
    pub fn touch(&mut self) {
        for block in self.blocks().iter_mut().step_by(4096 / BLOCK) {
            // Volatile, so that a write of what is there already is not removed.
            // SAFETY: a valid, exclusive reference.
            unsafe { ptr::write_volatile(&raw mut block.as_mut()[0], 1) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `mmap` returned, and no reference into it outlives `self`. A failure would only leak.
        let _ = unsafe { munmap(self.base.as_ptr(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zero_writable_and_aligned() {
        for huge in [false, true] {
            let mut mapping = match Mapping::new(3000, huge) {
                Err(EngineError::Pages { .. }) if huge => continue, // a kernel without huge pages
                other => other.unwrap(),
            };
            let blocks = mapping.blocks();
            assert_eq!(blocks.len(), 3000);
            assert!(blocks.iter().all(|b| b.as_ref().iter().all(|w| *w == 0)));
            let align = if huge { HUGE } else { 64 };
            assert_eq!(blocks.as_ptr().addr() % align, 0);
            mapping.touch();
            assert_eq!(mapping.blocks()[2996].as_ref()[0], 1);
        }
    }

    #[test]
    fn a_refusal_is_an_error_with_the_size() {
        // 4 TiB less one block is more than x86-64's overcommit heuristic grants on any machine that runs tests.
        let error = Mapping::new(u32::MAX, false).unwrap_err();
        assert!(
            matches!(&error, EngineError::Memory { size, .. } if *size == Bytes::from_kib(u32::MAX.into())),
            "{error}"
        );
    }
}
