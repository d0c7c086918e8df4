//! The end of an input that another process reads.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until no process holds the writing end of this pipe any more, however much there is to read.
pub(super) fn wait(input: BorrowedFd<'_>) {
    while !is_closed(input, LONGEST) {}
}

/// Waits for that, for at most this time. A pipe that cannot be watched counts as closed.
fn is_closed(input: BorrowedFd<'_>, longest: Option<Timespec>) -> bool {
    // Linux reports a hangup in any case. XNU has to be asked for it.
    let mut watched = [PollFd::from_borrowed_fd(input, PollFlags::HUP)];
    match poll(&mut watched, longest.as_ref()) {
        Ok(0) | Err(Errno::INTR) => false,
        Ok(_) | Err(_) => true,
    }
}

/// How long one call may wait. After input came, the same call of XNU reports no hangup any more; the next one does
/// (`poll_nocancel` and `poll_callback` in its `bsd/kern/sys_generic.c`, 2026-11-27).
const LONGEST: Option<Timespec> = if cfg!(target_os = "linux") {
    None
} else {
    Some(Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    })
};

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    use super::{Timespec, is_closed, wait};

    #[test]
    fn unread_input_is_no_end_of_it() {
        let (input, mut output) = std::io::pipe().unwrap();
        output.write_all(b"unread").unwrap();
        let at_once = Some(Timespec::default());
        assert!(!is_closed(input.as_fd(), at_once));
        drop(output);
        assert!(is_closed(input.as_fd(), at_once));
        wait(input.as_fd());
    }
}
