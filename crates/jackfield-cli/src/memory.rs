//! The allocator of this process.

/// Lets the allocator of glibc return every large block as soon as it is free. By default it raises the size from which
/// it does so with each large block that is freed, up to 32 MiB, and keeps twice as much for each thread (mallopt(3),
/// `M_MMAP_THRESHOLD`). Other allocators do it by themselves.
pub(crate) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "nothing safe sets it: ADR 0101")]
    // SAFETY: the call changes a number of the allocator, under the allocator's lock; 0, "not set", is no harm.
    let _set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

/// From this size on, in bytes, a block has pages of its own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 256 << 10;
