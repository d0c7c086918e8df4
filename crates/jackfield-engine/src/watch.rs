//! Watchers: they read the events of a session from a cursor on, regardless of which process drives it.
//!
//! A driver in this process publishes its committed steps and the reply in flight in a shared feed; a watcher
//! has no queue, only a position in the feed. Sessions that other processes drive are read from the journal,
//! and their text appears when the reply is recorded.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::cursor::Cursor;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::session::Session;
use jackfield_domain::session_events::{EventStream, SessionEvent};
use jackfield_domain::turn::Turn;
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_ports::journal::{Journal as _, JournalError};
use tokio::sync::watch;

use crate::error::{EngineError, ParkReason};
use crate::feeds::{Feed, RunningCall, count};
use crate::state::{Engine, EngineState};

impl Engine {
    /// Watches a session from a cursor on: [`Cursor::START`], or a cursor from a watcher of any process.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session does not exist or cannot be read; [`EngineError::ForeignCursor`]
    /// if the cursor does not belong to the session.
    pub async fn watch(&self, session: SessionId, cursor: Cursor) -> Result<Watcher, EngineError> {
        let steps = self.shared.journal.load(&session).await?.steps;
        let mut watcher = self.watcher(session, cursor);
        watcher.feed(steps);
        watcher.events.check()?;
        Ok(watcher)
    }

    /// A watcher of a turn from its opening on, given the session's steps. If no step opens the turn, it starts
    /// after all of them.
    pub(crate) fn turn_watcher(
        &self,
        session: &SessionId,
        turn: &TurnId,
        steps: &[Envelope],
    ) -> Watcher {
        let opens =
            |fact: &Fact| matches!(fact, Fact::TurnOpened { turn: opened, .. } if opened == turn);
        let is_its = |step: &Envelope| step.facts.iter().any(opens);
        let place = steps.iter().rposition(is_its).unwrap_or(steps.len());
        let (earlier, of_turn) = steps.split_at_checked(place).unwrap_or((steps, &[]));
        let offset = of_turn
            .first()
            .and_then(|step| step.facts.iter().position(opens));
        let before = count(earlier);
        let cursor = Cursor::after_facts(before + offset.unwrap_or(0) as u64);
        let mut watcher = self.watcher(session.clone(), cursor);
        watcher.is_of_turn = true;
        watcher.events.skip(before);
        watcher.steps = earlier.len() as u64;
        watcher.feed(of_turn.iter().cloned());
        watcher.feed_receiver = self.shared.feeds.subscribe(session);
        watcher
    }

    fn watcher(&self, session: SessionId, cursor: Cursor) -> Watcher {
        Watcher {
            following: None,
            feed_receiver: None,
            is_of_turn: false,
            parked: None,
            skips_live_text: false,
            session,
            shared: Arc::clone(&self.shared),
            steps: 0,
            events: EventStream::new(cursor),
        }
    }
}

/// Watches one session. Dropping it has no effect on the session.
pub struct Watcher {
    following: Option<FollowFuture>,
    feed_receiver: Option<watch::Receiver<Feed>>,
    /// Whether it waits for what becomes of a turn.
    is_of_turn: bool,
    parked: Option<ParkedFuture>,
    skips_live_text: bool,
    session: SessionId,
    shared: Arc<EngineState>,
    /// The number of steps that `teller` was fed.
    steps: u64,
    events: EventStream,
}

/// Why the turn is parked, once it is.
type ParkedFuture = Pin<Box<dyn Future<Output = EngineError> + Send>>;

/// The next steps.
type FollowFuture = Pin<Box<dyn Future<Output = Result<Vec<Envelope>, JournalError>> + Send>>;

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("cursor", &self.events.cursor())
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Watcher {
    /// The next event, and the cursor at which another watcher can continue after it. Waits for an event.
    /// Cancel-safe: no event is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the session was deleted or cannot be read, and [`EngineError::NotCommitted`]
    /// if its turn was interrupted because the journal could not be written; the next call tries again. That of one turn
    /// also [`EngineError::Parked`], if it is parked.
    pub async fn next(&mut self) -> Result<(Cursor, SessionEvent), EngineError> {
        loop {
            if let Some(event) = self.try_next() {
                return Ok(event);
            }
            let stop_reason = |feed: &watch::Receiver<Feed>| feed.borrow().stop_reason.clone();
            if let Some(why) = self.feed_receiver.as_ref().and_then(stop_reason) {
                self.feed_receiver = None;
                return Err(EngineError::NotCommitted { why });
            }
            // Steps of a driver in this process come from its feed; the journal is read only for those of other
            // processes.
            let has_steps = self
                .feed_receiver
                .as_ref()
                .is_some_and(|feed| feed.borrow().steps_from(self.steps).is_some());
            let following = if has_steps {
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
            // Boxed to keep the future small: it is rarely polled, and never while the turn is driven here.
            let stalled = self.feed_receiver.is_none();
            let stalled = stalled.then(|| Box::pin(self.shared.wait_until_stalled(&self.session)));
            let stalled = async {
                match stalled {
                    Some(stalled) => stalled.await,
                    None => std::future::pending().await,
                }
            };
            let parked = if self.is_of_turn && self.feed_receiver.is_none() {
                Some(self.parked.get_or_insert_with(|| {
                    let (shared, session) = (Arc::clone(&self.shared), self.session.clone());
                    Box::pin(async move { shared.wait_until_parked(&session).await })
                }))
            } else {
                None
            };
            let parked = async {
                match parked {
                    Some(parked) => parked.await,
                    None => std::future::pending().await,
                }
            };
            let feed_changed = async {
                match &mut self.feed_receiver {
                    Some(feed) => feed.changed().await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // Recorded steps come first.
                biased;
                steps = following => {
                    self.following = None;
                    self.feed(steps?);
                }
                is_open = feed_changed => if !is_open {
                    // The driver is gone; the facts of a later driver lead to its feed.
                    self.feed_receiver = None;
                },
                error = stalled => return Err(error),
                error = parked => {
                    self.parked = None;
                    return Err(error);
                }
            }
        }
    }

    /// The next event, if one is available.
    pub fn try_next(&mut self) -> Option<(Cursor, SessionEvent)> {
        if let Some(event) = self.events.next() {
            return Some(event);
        }
        let receiver = match &mut self.feed_receiver {
            Some(receiver) => receiver,
            empty @ None => empty.insert(self.shared.feeds.subscribe(&self.session)?),
        };
        let feed = receiver.borrow_and_update();
        if let Some(steps @ [_, ..]) = feed.steps_from(self.steps) {
            // The feed has these steps, so the pending journal reads are obsolete.
            self.following = None;
            self.parked = None;
            self.steps += steps.len() as u64;
            for step in steps {
                self.events.feed(Envelope::clone(step));
            }
            if let Some(event) = self.events.next() {
                return Some(event);
            }
        }
        let reply = feed.reply.as_ref().filter(|_| !self.skips_live_text)?;
        self.events.next_live_piece(feed.facts, reply)
    }

    /// From now on, a reply is told when it is recorded, and not while it is written.
    pub fn skip_live_text(&mut self) {
        self.skips_live_text = true;
    }

    /// The provider's id of the newest model request of the turn, if the turn is driven in this process and the
    /// provider sent one.
    #[must_use]
    pub fn provider_request(&self) -> Option<Arc<str>> {
        self.feed_receiver
            .as_ref()?
            .borrow()
            .provider_request
            .clone()
    }

    /// How far the calls are that run, if the turn is driven in this process. Progress has no cursor and wakes no
    /// watcher: a caller that shows it asks again.
    #[must_use]
    pub fn progress(&self) -> Vec<RunningCall> {
        let feed = self.feed_receiver.as_ref().map(watch::Receiver::borrow);
        feed.map_or_else(Vec::new, |feed| feed.progress.values().cloned().collect())
    }

    /// Whether all known events were returned and no turn is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.events.is_idle()
    }

    /// Whether a turn is open, as far as the session is known; events of it may still have to be returned.
    #[must_use]
    pub const fn has_open_turn(&self) -> bool {
        self.events.has_open_turn()
    }

    fn feed(&mut self, steps: impl IntoIterator<Item = Envelope>) {
        self.parked = None;
        for step in steps {
            self.steps += 1;
            self.events.feed(step);
        }
    }
}

impl EngineState {
    /// Waits until the open turn of a session is parked, and on no process's hands any more.
    async fn wait_until_parked(&self, session: &SessionId) -> EngineError {
        loop {
            let query = SessionQuery {
                limit: 1,
                session: Some(session.clone()),
                ..SessionQuery::default()
            };
            // A journal that cannot be read has no news.
            if let Ok(rows) = self.journal.sessions(&query).await {
                let row = rows.into_iter().next();
                let open = row.and_then(|row| Some((row.owned, row.open?)));
                let Some((is_owned, open)) = open.filter(|(_, open)| open.parked) else {
                    // Nothing parks it before its next step, with which a watcher looks again.
                    return std::future::pending().await;
                };
                // Its last try may be under way.
                if !is_owned && self.driven_sessions.progress(session).is_none() {
                    return self.parked(session, open.turn).await;
                }
            }
            tokio::time::sleep(STALLED_POLL).await;
        }
    }

    async fn parked(&self, session: &SessionId, turn: TurnId) -> EngineError {
        let loaded = match self.journal.load(session).await {
            Ok(loaded) => loaded,
            Err(error) => return error.into(),
        };
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let times = folded.open_turn().map_or(0, Turn::resumes_without_progress);
        let why = if loaded.restored {
            ParkReason::Restored
        } else {
            ParkReason::NoProgress { times }
        };
        EngineError::Parked {
            session: session.clone(),
            turn,
            why: Box::new(why),
        }
    }

    /// Waits until the open turn of a session cannot continue: it has work to do, no task of this process
    /// drives it, and the journal fails.
    async fn wait_until_stalled(&self, session: &SessionId) -> EngineError {
        loop {
            self.write_health.wait_for_failure().await;
            let loaded = match self.journal.load(session).await {
                Ok(loaded) => loaded,
                Err(error) => return error.into(),
            };
            let facts = loaded.steps.iter().flat_map(|step| &step.facts);
            let folded = Session::fold(session.clone(), facts);
            let is_at_work = folded.open_turn().is_some_and(|turn| !turn.only_waits());
            if is_at_work && self.driven_sessions.progress(session).is_none() {
                let why = "the journal cannot be written".into();
                return EngineError::NotCommitted { why };
            }
            tokio::time::sleep(STALLED_POLL).await;
        }
    }
}

/// The pause between checks of a stalled turn.
const STALLED_POLL: Duration = Duration::from_secs(1);
