//! Taking a question back from a person who has not begun to answer it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes questions back.
#[derive(Debug, Default)]
pub(crate) struct Withdrawal {
    asked: u64,
    shared: Arc<WithdrawalState>,
}

/// A question, as whoever reads its answer knows it.
#[derive(Debug)]
pub struct ReadQuestion {
    number: u64,
    shared: Arc<WithdrawalState>,
}

#[derive(Debug, Default)]
struct WithdrawalState {
    bell: unix::Bell,
    /// The questions up to this one are taken back.
    withdrawn: AtomicU64,
}

impl Withdrawal {
    /// The next question.
    pub(crate) fn open(&mut self) -> ReadQuestion {
        self.asked += 1;
        ReadQuestion {
            number: self.asked,
            shared: Arc::clone(&self.shared),
        }
    }

    /// Takes back every question so far.
    pub(crate) fn withdraw(&self) {
        self.shared.withdrawn.store(self.asked, Ordering::SeqCst);
        self.shared.bell.ring();
    }
}

impl ReadQuestion {
    /// A question that nobody takes back.
    #[must_use]
    pub fn for_good() -> Self {
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
    /// Waits until there is something to read, or the question is taken back; says whether it still stands.
    pub(crate) fn waits_for(&self, input: &impl std::os::fd::AsFd) -> bool {
        while !self.is_withdrawn() {
            if self.shared.bell.or(input) {
                return !self.is_withdrawn();
            }
        }
        false
    }
}

#[cfg(not(unix))]
impl ReadQuestion {
    /// Whether the question still stands: it cannot be taken back from whoever reads already.
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

    /// What wakes a thread that waits for input.
    #[derive(Debug)]
    pub(super) struct Bell(Option<(UnixStream, UnixStream)>);

    impl Default for Bell {
        fn default() -> Self {
            // Without one, a question stands until it is answered.
            Self(UnixStream::pair().ok().filter(|(rings, hears)| {
                let quiet = |end: &UnixStream| end.set_nonblocking(true).is_ok();
                quiet(rings) && quiet(hears)
            }))
        }
    }

    impl Bell {
        pub(super) fn ring(&self) {
            if let Some((rings, _)) = &self.0 {
                // One that is full rings already.
                let _rung = (&*rings).write(&[0]);
            }
        }

        /// Waits for input or the bell; says whether there is input.
        pub(super) fn or(&self, input: &impl AsFd) -> bool {
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
    /// Nothing can be woken.
    #[derive(Debug, Default)]
    pub(super) struct Bell;

    impl Bell {
        pub(super) fn ring(&self) {}
    }
}
