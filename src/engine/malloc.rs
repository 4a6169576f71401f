//! From which size on does the C library map fresh memory for every allocation?
//!
//! glibc (malloc/malloc.c, "dynamic mmap threshold"): an allocation is mapped when it reaches a threshold of 128 KiB, and
//! freeing a mapped chunk of at most 32 MiB raises the threshold to its size, so that the next one comes from the heap and
//! stays there. So the third allocation of a size tells: up to some size it finds its pages, from there on the kernel has
//! to provide them again. musl maps everything from 128 KiB; other allocators have rules of their own. Hence a probe.

use std::alloc::{GlobalAlloc, Layout, System};
#[cfg(target_env = "gnu")]
use std::ffi::{CStr, c_char};
use std::fs;
use std::hint::black_box;
use std::ptr;

use rustix::mm::{Advice, madvise};

use super::advice::Libc;
use crate::units::Bytes;

/// Largest size that is probed. No common C library keeps more.
const LARGEST_MIB: u64 = 64;
const PAGE: usize = 4096;

/// The smallest size in whole MiB that is fresh each time, or `None` when 64 MiB are kept.
///
/// `third_faults` allocates and touches a size (in MiB) three times and returns the page faults of the third.
pub fn threshold(mut third_faults: impl FnMut(u64) -> u64) -> Option<Bytes> {
    // A fresh allocation faults once a page: 256 times for each MiB, or every 2 MiB where the kernel gives huge pages.
    // A single fault may be a stray one.
    let mut fresh = |mib: u64| third_faults(mib) >= (mib / 4).max(2);
    // Sizes are kept up to a threshold and fresh from there, so bisect: `kept` is kept, `mapped` is fresh.
    let (mut kept, mut mapped) = (0, LARGEST_MIB + 1);
    // The middle first: fresh sizes cost most to probe, and 64 MiB is only probed when all below are kept.
    while mapped - kept > 1 {
        let middle = kept.midpoint(mapped);
        if fresh(middle) {
            mapped = middle;
        } else {
            kept = middle;
        }
    }
    (mapped <= LARGEST_MIB).then(|| Bytes::from_kib(mapped * 1024))
}

/// [`threshold`] of the C library that this program is linked to (Rust's [`System`] is its `malloc`).
pub fn system_threshold() -> Option<Bytes> {
    let found = threshold(third_faults);
    let kept = found.map_or(LARGEST_MIB, |fresh| (fresh.0 >> 20) - 1);
    give_back(kept);
    found
}

/// Returns the pages of the largest size that was kept: otherwise this process would hold them to its end. (glibc's
/// `malloc_trim` leaves the top of a thread's arena as it is, and that is where they are.)
fn give_back(mib: u64) {
    let Some(layout) = layout(mib) else { return };
    // SAFETY: the layout's size is not zero.
    let memory = unsafe { System.alloc(layout) };
    if memory.is_null() {
        return;
    }
    let skip = memory.align_offset(PAGE);
    let len = (layout.size() - skip) / PAGE * PAGE;
    // SAFETY: whole pages inside an allocation of our own, of which nothing is read again: they become zero pages. The
    // allocator's own data lies before and behind it.
    let _ = unsafe { madvise(memory.add(skip).cast(), len, Advice::LinuxDontNeed) };
    // SAFETY: allocated just above with the same layout.
    unsafe { System.dealloc(memory, layout) };
}

/// Aligned to 16, Rust passes a request to `malloc` itself; beyond, to `posix_memalign`, which works differently.
fn layout(mib: u64) -> Option<Layout> {
    let size = usize::try_from(mib << 20).ok().filter(|size| *size > 0)?;
    Layout::from_size_align(size, 16).ok()
}

fn third_faults(mib: u64) -> u64 {
    let Some(layout) = layout(mib) else {
        return u64::MAX;
    };
    let mut before = 0;
    for round in 0..3 {
        if round == 2 {
            before = minor_faults();
        }
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { System.alloc(layout) };
        // The compiler knows `malloc` and `free`: it removes a pair whose memory nobody looks at, and the first round with it.
        let memory = black_box(memory);
        if memory.is_null() {
            return u64::MAX; // what cannot be had cannot be kept
        }
        if round > 0 {
            for offset in (0..layout.size()).step_by(PAGE) {
                // SAFETY: within the allocation. Volatile, so that the write is not removed.
                unsafe { ptr::write_volatile(memory.add(offset), 1) };
            }
        }
        // SAFETY: allocated just above with the same layout, and not used afterwards.
        unsafe { System.dealloc(memory, layout) };
    }
    minor_faults().saturating_sub(before)
}

/// Minor faults of this thread so far: field 10 of its `stat` (proc(5)), the same as `getrusage(RUSAGE_THREAD)`.
fn minor_faults() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    // The command's name may hold spaces and brackets: count from the last bracket, which ends field 2.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().nth(7).and_then(|f| f.parse().ok()).unwrap_or(0)
}

/// The C library that this program runs with: the version found, not the one it was built for.
#[cfg(target_env = "gnu")]
pub fn libc() -> Libc {
    unsafe extern "C" {
        safe fn gnu_get_libc_version() -> *const c_char;
    }
    // SAFETY: gnu_get_libc_version(3) returns a static string that ends with a zero byte.
    let version = unsafe { CStr::from_ptr(gnu_get_libc_version()) };
    Libc::from_glibc_version(&version.to_string_lossy())
}

/// The C library that this program runs with.
#[cfg(not(target_env = "gnu"))]
pub const fn libc() -> Libc {
    if cfg!(target_env = "musl") {
        Libc::Musl
    } else {
        Libc::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allocator that keeps sizes below `limit` MiB and counts a fault for each page of `page_kib`.
    fn keeps_below(limit: u64, page_kib: u64) -> impl FnMut(u64) -> u64 {
        move |mib| if mib < limit { 1 } else { mib * 1024 / page_kib }
    }

    #[test]
    fn the_rule_finds_any_threshold() {
        for limit in 2..=LARGEST_MIB {
            for page_kib in [4, 2048] {
                // Below 4 MiB one huge page more or less cannot be told from a stray fault.
                if limit >= 4 || page_kib == 4 {
                    let found = threshold(keeps_below(limit, page_kib));
                    assert_eq!(found, Some(Bytes(limit << 20)), "{limit} MiB, pages of {page_kib} KiB");
                }
            }
        }
    }

    #[test]
    fn an_allocator_that_maps_everything_and_one_that_keeps_everything() {
        assert_eq!(threshold(|mib| mib * 256), Some(Bytes(1 << 20)));
        assert_eq!(threshold(|_| 0), None);
    }

    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    #[test]
    fn glibc_keeps_below_32_mib() {
        // In a thread of its own: so it is in a service, and other tests' allocations do not disturb its arena.
        let found = std::thread::spawn(system_threshold).join().unwrap();
        assert_eq!(found, Some(Bytes(32 << 20)));
    }
}
