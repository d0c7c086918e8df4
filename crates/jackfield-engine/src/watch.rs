//! Watching: a session is told to anybody who has a cursor, whoever drives it.
//!
//! Where a turn is driven in this process, its driver keeps what it has committed and the reply that is
//! under way where all watchers can read it; a watcher has no queue, only its place in there. What is
//! driven elsewhere is read from the journal, and its text is told when the reply is recorded.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::session::Session;
use jackfield_domain::session_events::{EventStream, SessionEvent};
use jackfield_ports::journal::JournalError;
use tokio::sync::watch;

use crate::engine::{Engine, EngineState};
use crate::error::EngineError;
use crate::perform::chain;

impl Engine {
    /// Watches a session from a cursor on: [`Cursor::START`], or one that a watcher gave, in whatever
    /// process that was.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if there is no such session, or it cannot be read;
    /// [`EngineError::ForeignCursor`] if the cursor is none of this session.
    pub async fn watch(&self, session: SessionId, cursor: Cursor) -> Result<Watcher, EngineError> {
        let steps = self.shared.journal.load(&session).await?.steps;
        let mut watcher = self.watcher(session, cursor);
        watcher.feed(steps);
        watcher.teller.check()?;
        Ok(watcher)
    }

    /// A watcher of a turn from its opening on, where these are the steps that there are; behind them all
    /// where none of them opens it.
    pub(crate) fn watcher_of(
        &self,
        session: &SessionId,
        turn: &TurnId,
        steps: &[Envelope],
    ) -> Watcher {
        let opens =
            |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: opened, .. } if opened == turn);
        let is_its = |step: &Envelope| step.facts.iter().any(opens);
        let place = steps.iter().rposition(is_its).unwrap_or(steps.len());
        let (known, of_turn) = steps.split_at_checked(place).unwrap_or((steps, &[]));
        let inside = of_turn
            .first()
            .and_then(|step| step.facts.iter().position(opens));
        let before = count(known);
        let cursor = Cursor::behind_facts(before + inside.unwrap_or(0) as u64);
        let mut watcher = self.watcher(session.clone(), cursor);
        watcher.teller.skip(before);
        watcher.steps = known.len() as u64;
        watcher.feed(of_turn.iter().cloned());
        watcher.heard = self.shared.speeches.of(session);
        watcher
    }

    fn watcher(&self, session: SessionId, cursor: Cursor) -> Watcher {
        Watcher {
            following: None,
            heard: None,
            provider_request: None,
            session,
            shared: Arc::clone(&self.shared),
            steps: 0,
            teller: EventStream::new(cursor),
        }
    }
}

/// Watches one session. Dropping it ends the watching, and nothing else.
pub struct Watcher {
    following: Option<FollowFuture>,
    heard: Option<watch::Receiver<Feed>>,
    provider_request: Option<Arc<str>>,
    session: SessionId,
    shared: Arc<EngineState>,
    /// How many steps the teller was fed.
    steps: u64,
    teller: EventStream,
}

/// The steps that come next.
type FollowFuture = Pin<Box<dyn Future<Output = Result<Vec<Envelope>, JournalError>> + Send>>;

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
    /// [`EngineError::Journal`] if the session is gone or cannot be read, and [`EngineError::NotCommitted`] if
    /// its turn was broken off, as the journal could not be written; the next call tries again.
    pub async fn next(&mut self) -> Result<(Cursor, SessionEvent), EngineError> {
        loop {
            if let Some(told) = self.next_so_far() {
                return Ok(told);
            }
            let broken = |heard: &watch::Receiver<Feed>| heard.borrow().broken_off.clone();
            if let Some(why) = self.heard.as_ref().and_then(broken) {
                self.heard = None;
                return Err(EngineError::NotCommitted { why });
            }
            // What is driven here need not be read: the journal is asked about what others drive.
            let is_heard = self
                .heard
                .as_ref()
                .is_some_and(|heard| heard.borrow().from(self.steps).is_some());
            let following = if is_heard {
                None
            } else {
                Some(self.following.get_or_insert_with(|| {
                    let (journal, session) =
                        (Arc::clone(&self.shared.journal), self.session.clone());
                    let from = self.steps;
                    Box::pin(async move { journal.follow(&session, from).await })
                }))
            };
            let following = async {
                match following {
                    Some(following) => following.await,
                    None => std::future::pending().await,
                }
            };
            // In a box, as it is seldom looked at, and never where the turn is driven here.
            let stalled = self.heard.is_none();
            let stalled = stalled.then(|| Box::pin(self.shared.stalled(&self.session)));
            let stalled = async {
                match stalled {
                    Some(stalled) => stalled.await,
                    None => std::future::pending().await,
                }
            };
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
                },
                error = stalled => return Err(error),
            }
        }
    }

    /// What is told next, if it is there already.
    pub fn next_so_far(&mut self) -> Option<(Cursor, SessionEvent)> {
        if let Some(told) = self.teller.next() {
            return Some(told);
        }
        let heard = match &mut self.heard {
            Some(heard) => heard,
            empty @ None => empty.insert(self.shared.speeches.of(&self.session)?),
        };
        let speech = heard.borrow_and_update();
        if speech.provider_request.is_some() {
            self.provider_request.clone_from(&speech.provider_request);
        }
        if let Some(steps @ [_, ..]) = speech.from(self.steps) {
            // What the journal was asked about is known by now.
            self.following = None;
            self.steps += steps.len() as u64;
            for step in steps {
                self.teller.feed(Envelope::clone(step));
            }
            if let Some(told) = self.teller.next() {
                return Some(told);
            }
        }
        self.teller.next_of(speech.facts, speech.reply.as_ref()?)
    }

    /// The provider's own id of the newest model request of the turn, where the turn is driven in this process and
    /// the provider gave one.
    #[must_use]
    pub fn provider_request(&self) -> Option<&str> {
        self.provider_request.as_deref()
    }

    /// Whether everything was told that is known, and no turn is open.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.teller.is_at_rest()
    }

    fn feed(&mut self, steps: impl IntoIterator<Item = Envelope>) {
        for step in steps {
            self.steps += 1;
            self.teller.feed(step);
        }
    }
}

impl EngineState {
    /// Waits until the open turn of a session cannot go on: nobody here is at work on it, it does not only
    /// wait, and the journal fails.
    async fn stalled(&self, session: &SessionId) -> EngineError {
        loop {
            self.writes.failing().await;
            let loaded = match self.journal.load(session).await {
                Ok(loaded) => loaded,
                Err(error) => return error.into(),
            };
            let facts = loaded.steps.iter().flat_map(|step| &step.facts);
            let folded = Session::fold(session.clone(), facts);
            let is_at_work = folded.open_turn().is_some_and(|turn| !turn.only_waits());
            if is_at_work && self.occupied.driven(session).is_none() {
                let why = "the journal cannot be written".into();
                return EngineError::NotCommitted { why };
            }
            tokio::time::sleep(STALLED_POLL).await;
        }
    }
}

/// What is driven in this process, by session.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<BTreeMap<SessionId, watch::Receiver<Feed>>>);

/// What a driver has committed, and the reply that is under way.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// Why its driver stopped, if the journal failed.
    broken_off: Option<Arc<str>>,
    /// How many facts of the session there were when the attempt had been opened.
    facts: u64,
    /// The number of the first of the steps.
    first: u64,
    /// The provider's own id of the newest model request.
    provider_request: Option<Arc<str>>,
    reply: Option<ReplyAccumulator>,
    /// Every step since the driver began: whoever watches here need not read them from the journal.
    steps: Vec<Arc<Envelope>>,
}

impl Feed {
    /// The steps from this number on, if it has them all.
    fn from(&self, number: u64) -> Option<&[Arc<Envelope>]> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.steps.get(place..)
    }
}

impl Feeds {
    /// Where a session that has these steps can be heard from now on.
    pub(crate) fn begin(self: &Arc<Self>, session: &SessionId, steps: &[Envelope]) -> FeedWriter {
        let (said, heard) = watch::channel(Feed {
            first: steps.len() as u64,
            ..Feed::default()
        });
        self.lock().insert(session.clone(), heard);
        FeedWriter {
            facts: count(steps),
            said,
            session: session.clone(),
            speeches: Arc::clone(self),
        }
    }

    fn of(&self, session: &SessionId) -> Option<watch::Receiver<Feed>> {
        self.lock().get(session).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, watch::Receiver<Feed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side of a driver: keeps what it has committed, and the reply that is under way, for whoever
/// watches. Never waits.
#[derive(Debug)]
pub(crate) struct FeedWriter {
    facts: u64,
    said: watch::Sender<Feed>,
    session: SessionId,
    speeches: Arc<Feeds>,
}

impl FeedWriter {
    /// A step that is committed.
    pub(crate) fn step(&mut self, step: &Envelope, turn: &TurnId) {
        let facts = &mut self.facts;
        self.said.send_modify(|speech| {
            for fact in &step.facts {
                *facts += 1;
                speech.see(fact, *facts, turn);
            }
            speech.steps.push(Arc::new(step.clone()));
        });
    }

    /// A piece of the reply that is under way.
    pub(crate) fn push(&self, attempt: ModelAttempt, delta: &Delta) {
        self.said.send_modify(|speech| {
            if let Some(reply) = &mut speech.reply
                && reply.attempt() == attempt
            {
                // The loop has taken it, and so does this one.
                let _taken = reply.push(delta);
            }
        });
    }

    /// The provider's own id of the model request that is under way.
    pub(crate) fn provider_request(&self, id: Arc<str>) {
        self.said
            .send_modify(|speech| speech.provider_request = Some(id));
    }

    /// The driver stops because of this. Where the journal fails, it cannot be known when the turn goes on:
    /// whoever hears it is told so instead of waiting, and others look elsewhere.
    pub(crate) fn stops(&mut self, error: &EngineError) {
        if error.is_of_journal() {
            self.speeches.lock().remove(&self.session);
            let why = chain(error).into();
            self.said
                .send_modify(|speech| speech.broken_off = Some(why));
        }
    }

    /// The driver has loaded the session again.
    pub(crate) fn reloaded(&mut self, steps: &[Envelope]) {
        self.facts = count(steps);
    }
}

impl Feed {
    /// A fact that is committed, and how many there are with it.
    fn see(&mut self, fact: &Fact, facts: u64, turn: &TurnId) {
        match fact {
            Fact::ModelCallStarted { attempt, .. } => {
                self.facts = facts;
                self.reply = Some(ReplyAccumulator::new(turn.clone(), *attempt));
            }
            // From here on it is in a step, or void.
            Fact::ModelCallEnded { .. } | Fact::ReplyReceived { .. } => self.reply = None,
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
}

impl Drop for FeedWriter {
    fn drop(&mut self) {
        // Before its channel closes, so that nobody finds a closed one.
        self.speeches.lock().remove(&self.session);
    }
}

/// How long a turn that may not go on is left alone before it is looked at again.
const STALLED_POLL: Duration = Duration::from_secs(1);

fn count(steps: &[Envelope]) -> u64 {
    steps.iter().map(|step| step.facts.len() as u64).sum()
}
