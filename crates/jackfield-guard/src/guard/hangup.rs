//! The end of an input that another process reads.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until no process holds the writing end of this pipe any more, however much there is to read.
pub(super) fn wait(input: BorrowedFd<'_>) {
    while !is_closed(input, LONGEST) {}
}

/// Waits for that, for at most this time. A pipe that cannot be watched counts as closed.
#[must_use]
pub fn is_closed(input: BorrowedFd<'_>, longest: Option<Duration>) -> bool {
    // Linux reports a hangup in any case. XNU has to be asked for it.
    let mut watched = [PollFd::from_borrowed_fd(input, PollFlags::HUP)];
    let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
    match poll(&mut watched, longest.as_ref()) {
        Ok(0) | Err(Errno::INTR) => false,
        Ok(_) | Err(_) => true,
    }
}

/// How long one call may wait. After input came, the same call of XNU reports no hangup any more; the next one does
/// (`poll_nocancel` and `poll_callback` in its `bsd/kern/sys_generic.c`, 2026-11-27).
const LONGEST: Option<Duration> = if cfg!(target_os = "linux") {
    None
} else {
    Some(Duration::from_millis(100))
};
