//! Watching: a session is told to anybody who has a cursor, whoever drives it.
//!
//! Facts come from the journal, for watchers in the process that drives a turn and elsewhere alike.
//! Where a turn is driven in this process, its driver keeps the reply that is under way where all
//! watchers can read it; a watcher has no queue, only its place in there. Elsewhere the text is told
//! when the reply is recorded.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::telling::{Teller, Told};
use jackfield_ports::journal::{Journal, JournalError};
use tokio::sync::watch;

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Watches a session from a cursor on: [`Cursor::START`], or one that a watcher gave, in whatever
    /// process that was.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or it cannot be read;
    /// [`EngineError::ForeignCursor`] if the cursor is none of this session.
    pub async fn watch(&self, session: SessionId, cursor: Cursor) -> Result<Watcher, EngineError> {
        let journal = Arc::clone(&self.shared.journal);
        let steps = journal.load(&session).await?.steps;
        let mut watcher = Watcher {
            following: None,
            heard: None,
            journal,
            session,
            speeches: Arc::clone(&self.shared.speeches),
            steps: 0,
            teller: Teller::new(cursor),
        };
        watcher.feed(steps);
        watcher.teller.check()?;
        Ok(watcher)
    }
}

/// Watches one session. Dropping it ends the watching, and nothing else.
pub struct Watcher {
    following: Option<Following>,
    heard: Option<watch::Receiver<Speech>>,
    journal: Arc<dyn Journal>,
    session: SessionId,
    speeches: Arc<Speeches>,
    /// How many steps the teller was fed.
    steps: u64,
    teller: Teller,
}

/// The steps that come next.
type Following = Pin<Box<dyn Future<Output = Result<Vec<Envelope>, JournalError>> + Send>>;

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("cursor", &self.teller.cursor())
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Watcher {
    /// What is told next, and the cursor with which another watcher goes on behind it. Waits until
    /// there is something. Can be dropped at any time without losing anything.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session is gone or cannot be read; the next call tries again.
    pub async fn next(&mut self) -> Result<(Cursor, Told), EngineError> {
        loop {
            if let Some(told) = self.next_so_far() {
                return Ok(told);
            }
            let following = self.following.get_or_insert_with(|| {
                let (journal, session) = (Arc::clone(&self.journal), self.session.clone());
                let from = self.steps;
                Box::pin(async move { journal.follow(&session, from).await })
            });
            let heard = async {
                match &mut self.heard {
                    Some(heard) => heard.changed().await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // What is recorded comes first.
                biased;
                steps = following => {
                    self.following = None;
                    self.feed(steps?);
                }
                goes_on = heard => if !goes_on {
                    // Its driver is gone; another one would be found by the facts that it writes.
                    self.heard = None;
                }
            }
        }
    }

    /// What is told next, if it is there already.
    pub fn next_so_far(&mut self) -> Option<(Cursor, Told)> {
        if let Some(told) = self.teller.next() {
            return Some(told);
        }
        let heard = match &mut self.heard {
            Some(heard) => heard,
            empty @ None => empty.insert(self.speeches.of(&self.session)?),
        };
        let speech = heard.borrow_and_update();
        self.teller.next_of(speech.facts, speech.reply.as_ref()?)
    }

    /// Whether everything was told that is known, and no turn is open.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.teller.is_at_rest()
    }

    fn feed(&mut self, steps: Vec<Envelope>) {
        self.steps += steps.len() as u64;
        steps.into_iter().for_each(|step| self.teller.feed(step));
    }
}

/// The replies that are under way in this process, by session.
#[derive(Debug, Default)]
pub(crate) struct Speeches(Mutex<BTreeMap<SessionId, watch::Receiver<Speech>>>);

/// A reply that is under way.
#[derive(Debug, Default)]
pub(crate) struct Speech {
    /// How many facts of the session there were when the attempt had been opened.
    facts: u64,
    reply: Option<ReplyAccumulator>,
}

impl Speeches {
    /// Where the replies of a session can be read from now on.
    pub(crate) fn begin(self: &Arc<Self>, session: &SessionId, steps: &[Envelope]) -> Speaker {
        let (said, heard) = watch::channel(Speech::default());
        self.lock().insert(session.clone(), heard);
        Speaker {
            facts: count(steps),
            said,
            session: session.clone(),
            speeches: Arc::clone(self),
        }
    }

    fn of(&self, session: &SessionId) -> Option<watch::Receiver<Speech>> {
        self.lock().get(session).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, watch::Receiver<Speech>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side of a driver: keeps the reply that is under way for whoever watches. Never waits.
#[derive(Debug)]
pub(crate) struct Speaker {
    facts: u64,
    said: watch::Sender<Speech>,
    session: SessionId,
    speeches: Arc<Speeches>,
}

impl Speaker {
    /// A fact that is committed.
    pub(crate) fn see(&mut self, fact: &Fact, turn: &TurnId) {
        self.facts += 1;
        match fact {
            Fact::ModelCallStarted { attempt, .. } => {
                let reply = Some(ReplyAccumulator::new(turn.clone(), *attempt));
                let facts = self.facts;
                self.said.send_replace(Speech { facts, reply });
            }
            // From here on it is in the journal, or void.
            Fact::ModelCallEnded { .. } | Fact::ReplyReceived { .. } => {
                self.said.send_if_modified(|speech| {
                    speech.reply = None;
                    false
                });
            }
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => {}
        }
    }

    /// A piece of the reply that is under way.
    pub(crate) fn say(&self, attempt: ModelAttempt, delta: &Delta) {
        self.said.send_modify(|speech| {
            if let Some(reply) = &mut speech.reply
                && reply.attempt() == attempt
            {
                // The loop has taken it, and so does this one.
                let _taken = reply.push(delta);
            }
        });
    }

    /// The driver has loaded the session again.
    pub(crate) fn reloaded(&mut self, steps: &[Envelope]) {
        self.facts = count(steps);
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        // Before its channel closes, so that nobody finds a closed one.
        self.speeches.lock().remove(&self.session);
    }
}

fn count(steps: &[Envelope]) -> u64 {
    steps.iter().map(|step| step.facts.len() as u64).sum()
}
