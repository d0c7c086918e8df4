//! Calls whose server waits for an answer of a person, in the older era: the call stays open meanwhile, so it belongs to
//! this process alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::link::Outgoing;
use crate::message::ServerQuestion;
use crate::request::PendingRequest;

/// The held calls of one connection.
pub(crate) struct HeldCalls {
    calls: Mutex<HashMap<String, Box<HeldCall>>>,
    /// Replies to questions of the server.
    replies: mpsc::Sender<Outgoing>,
}

pub(crate) struct HeldCall {
    pub(crate) question: ServerQuestion,
    pub(crate) request: PendingRequest,
}

impl HeldCalls {
    pub(crate) fn new(replies: mpsc::Sender<Outgoing>) -> Self {
        Self {
            calls: Mutex::default(),
            replies,
        }
    }

    /// Keeps a call for [`MAX_WAIT`], and returns the name by which it is found again. Then it is given
    /// up.
    ///
    /// # Errors
    ///
    /// The call, if too many wait already, or if the operating system gives no random numbers.
    pub(crate) fn keep(self: &Arc<Self>, call: Box<HeldCall>) -> Result<String, Box<HeldCall>> {
        // An answer that comes late must find no call of a later connection or of another process.
        let mut random = [0; 16];
        if getrandom::fill(&mut random).is_err() {
            return Err(call);
        }
        let name = format!("{:032x}", u128::from_be_bytes(random));
        let mut held = self.lock();
        if held.len() >= MAX_CALLS {
            return Err(call);
        }
        held.insert(name.clone(), call);
        drop(held);
        let (calls, late) = (Arc::downgrade(self), name.clone());
        tokio::spawn(async move {
            sleep(MAX_WAIT).await;
            if let Some(calls) = calls.upgrade() {
                calls.give_up(&late);
            }
        });
        Ok(name)
    }

    /// The call of this name, if it still waits.
    pub(crate) fn take(&self, name: &str) -> Option<Box<HeldCall>> {
        self.lock().remove(name)
    }

    /// Answers the question of the call of this name with a cancel, and cancels the call at the server. It must be called
    /// within a runtime.
    pub(crate) fn give_up(&self, name: &str) {
        if let Some(call) = self.take(name) {
            // A server that takes no replies gets the cancellation alone.
            let dismissed = Outgoing::new(call.question.dismiss());
            let _full = self.replies.try_send(dismissed);
        }
    }

    /// Whether the call of this name still waits.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Box<HeldCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most calls that wait at once.
const MAX_CALLS: usize = 64;
/// The longest wait for a person.
const MAX_WAIT: Duration = Duration::from_secs(3600);
