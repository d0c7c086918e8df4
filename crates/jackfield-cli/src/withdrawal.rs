//! Withdraws a question that a person has not begun to answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Withdrawal {
    last_number: u64,
    shared: Arc<WithdrawalState>,
}

/// A question, as seen by the reader of its answer.
#[derive(Debug)]
pub struct ReadQuestion {
    number: u64,
    shared: Arc<WithdrawalState>,
}

#[derive(Debug, Default)]
struct WithdrawalState {
    bell: unix::Bell,
    /// The last question that is withdrawn, with all before it.
    withdrawn: AtomicU64,
}

impl Withdrawal {
    pub(crate) fn open(&mut self) -> ReadQuestion {
        self.last_number += 1;
        ReadQuestion {
            number: self.last_number,
            shared: Arc::clone(&self.shared),
        }
    }

    /// Withdraws all questions so far.
    pub(crate) fn withdraw(&self) {
        self.shared
            .withdrawn
            .store(self.last_number, Ordering::SeqCst);
        self.shared.bell.ring();
    }
}

impl ReadQuestion {
    /// A question that is never withdrawn.
    #[must_use]
    pub fn never_withdrawn() -> Self {
        Withdrawal::default().open()
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    fn is_withdrawn(&self) -> bool {
        self.shared.withdrawn.load(Ordering::SeqCst) >= self.number
    }
}

#[cfg(unix)]
impl ReadQuestion {
    /// Waits for input or the withdrawal of the question; returns whether it is still open.
    pub(crate) fn waits_for(&self, input: &impl std::os::fd::AsFd) -> bool {
        while !self.is_withdrawn() {
            if self.shared.bell.wait_for_input(input) {
                return !self.is_withdrawn();
            }
        }
        false
    }
}

#[cfg(not(unix))]
impl ReadQuestion {
    /// Whether the question is still open. A blocking read cannot be interrupted.
    pub(crate) fn waits_for<T>(&self, _input: &T) -> bool {
        !self.is_withdrawn()
    }
}

#[cfg(unix)]
mod unix {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use rustix::event::{PollFd, PollFlags, poll};

    /// Wakes a thread that waits for input.
    #[derive(Debug)]
    pub(super) struct Bell(Option<(UnixStream, UnixStream)>);

    impl Default for Bell {
        fn default() -> Self {
            // Without a socket pair, a question stays open until it is answered.
            Self(UnixStream::pair().ok().filter(|(rings, hears)| {
                let quiet = |end: &UnixStream| end.set_nonblocking(true).is_ok();
                quiet(rings) && quiet(hears)
            }))
        }
    }

    impl Bell {
        pub(super) fn ring(&self) {
            if let Some((rings, _)) = &self.0 {
                // A full pipe wakes the reader already.
                let _rung = (&*rings).write(&[0]);
            }
        }

        /// Waits for input or the bell; returns whether there is input.
        pub(super) fn wait_for_input(&self, input: &impl AsFd) -> bool {
            let Some((_, hears)) = &self.0 else {
                return true;
            };
            let mut watched = [
                PollFd::new(input, PollFlags::IN),
                PollFd::new(hears, PollFlags::IN),
            ];
            if let Err(error) = poll(&mut watched, None) {
                return error != rustix::io::Errno::INTR;
            }
            let [input, bell] = watched;
            if !bell.revents().is_empty() {
                let _heard = (&*hears).read(&mut [0; 64]);
            }
            !input.revents().is_empty()
        }
    }
}

#[cfg(not(unix))]
mod unix {
    /// No way to wake a thread.
    #[derive(Debug, Default)]
    pub(super) struct Bell;

    impl Bell {
        pub(super) fn ring(&self) {}
    }
}
