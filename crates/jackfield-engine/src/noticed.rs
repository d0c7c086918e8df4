//! What this process did that a keeper is to look at: told to whoever keeps, and forgotten if nobody does.

use jackfield_domain::ids::SessionId;
use tokio::sync::broadcast;

/// Where it is told.
#[derive(Debug)]
pub(crate) struct Noticed(broadcast::Sender<Notice>);

/// What was done.
#[derive(Clone, Debug)]
pub(crate) enum Notice {
    /// Something was put into the inbox of a session.
    Delivered(SessionId),
    /// A turn was let go of: it may have become due, or has a deadline that nobody knew.
    LetGo,
}

impl Default for Noticed {
    fn default() -> Self {
        Self(broadcast::Sender::new(MOST_UNHEARD))
    }
}

impl Noticed {
    pub(crate) fn delivered(&self, session: &SessionId) {
        if self.0.receiver_count() > 0 {
            // Who stopped keeping in between misses nothing.
            let _nobody = self.0.send(Notice::Delivered(session.clone()));
        }
    }

    pub(crate) fn let_go(&self) {
        let _nobody = self.0.send(Notice::LetGo);
    }

    /// Everything from now on; one that is slow is told that it missed something.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Notice> {
        self.0.subscribe()
    }
}

/// How many notices are kept for a keeper that is slow: then it looks at everything.
const MOST_UNHEARD: usize = 64;
