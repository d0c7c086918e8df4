//! The keeper: resumes sessions that other processes left open, and sessions whose waits were answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::policy::Policy;
use jackfield_domain::session::Session;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_loop::MAX_SLEEP;
use jackfield_ports::journal::Journal as _;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::drive_outcome::DriveOutcome;
use crate::error::{EngineError, chain};
use crate::news::{Observer, ObserverEvent};
use crate::notices::SessionNotice;
use crate::options::Durability;
use crate::patience::retry_until_reachable;
use crate::paused::RoomWatch;
use crate::resume::{ResumeSession, is_cancelled};
use crate::state::Engine;

/// The options of a keeper.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// The maximum number of turns that the keeper drives at once; at least one. Turns that clients are waiting
    /// for go first, and may exceed the limit.
    pub max_concurrent: usize,
    /// The policy now in force. It can only restrict the turns' own.
    pub policy: Policy,
    /// The maximum time between queries for due sessions. It bounds the delay until a delivery from another
    /// process is noticed.
    pub poll_interval: Duration,
}

impl KeeperOptions {
    /// The default options with this policy.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self {
            max_concurrent: 256,
            poll_interval: Duration::from_secs(1),
            policy,
        }
    }
}

/// A session that a keeper resumed.
#[derive(Debug)]
pub struct KeptSession {
    /// The outcome. A session that is parked or could not be driven is left alone for a while.
    pub outcome: Result<DriveOutcome, EngineError>,
    /// The session.
    pub session: SessionId,
}

/// A background task that resumes the sessions of an engine's journal when they are due.
///
/// A turn that only waits uses no resources: the journal knows when it is due. Dropping the keeper stops it;
/// the turns that it drives are interrupted as by a crash.
pub struct Keeper {
    task: JoinHandle<()>,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Engine {
    /// Keeps the sessions of this engine's journal until the keeper is dropped. `tell` is called with the
    /// outcome of each session, and must not block. Sessions that another driver resumed first are not
    /// reported.
    ///
    /// Only processes that should recover sessions left by others need a keeper. Requires a Tokio runtime.
    #[must_use = "dropping the keeper ends it"]
    pub fn spawn_keeper(
        &self,
        options: KeeperOptions,
        on_outcome: impl FnMut(KeptSession) + Send + 'static,
    ) -> Keeper {
        let state = KeeperState {
            inbox_watches: JoinSet::new(),
            engine: self.clone(),
            resting: BTreeMap::new(),
            room: RoomWatch::default(),
            options,
            queue: VecDeque::new(),
            running: BTreeMap::new(),
            sessions: BTreeSet::new(),
            starting: JoinSet::new(),
            tasks: JoinSet::new(),
            on_outcome: Box::new(on_outcome),
        };
        Keeper {
            task: tokio::spawn(state.run()),
        }
    }
}

struct KeeperState {
    /// Waits for deliveries to parked sessions; a delivery may be a cancel.
    inbox_watches: JoinSet<SessionId>,
    engine: Engine,
    /// Sessions that could not be driven, and rest for a while.
    resting: BTreeMap<SessionId, RestingSession>,
    options: KeeperOptions,
    /// Sessions that were due at the last query and are not resumed yet.
    queue: VecDeque<SessionId>,
    running: BTreeMap<Id, SessionId>,
    /// Turns that wait for room in a budget.
    room: RoomWatch,
    /// The sessions in `running`.
    sessions: BTreeSet<SessionId>,
    /// One task per turn that is being resumed; ends when the turn's first step is committed.
    starting: JoinSet<()>,
    tasks: JoinSet<Result<DriveOutcome, EngineError>>,
    on_outcome: Box<dyn FnMut(KeptSession) + Send>,
}

/// A session that is left alone for a while.
struct RestingSession {
    pause: Duration,
    until: Instant,
}

impl KeeperState {
    async fn run(mut self) {
        let shared = Arc::clone(&self.engine.shared);
        let mut notices = shared.notices.subscribe();
        loop {
            let sleep = self.resume_due().await;
            tokio::select! {
                Some(joined) = self.tasks.join_next_with_id() => self.joined(joined),
                Some(_) = self.starting.join_next() => {}
                Some(Ok(session)) = self.inbox_watches.join_next() => {
                    self.resting.remove(&session);
                }
                noticed = notices.recv() => {
                    self.notice(noticed);
                    // One pass handles several notices.
                    while let Ok(notice) = notices.try_recv() {
                        self.notice(Ok(notice));
                    }
                }
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    fn notice(&mut self, noticed: Result<SessionNotice, RecvError>) {
        match noticed {
            Ok(SessionNotice::Delivered(session)) => _ = self.resting.remove(&session),
            // Missed notices do no harm: due sessions are queried in any case.
            Ok(SessionNotice::Released | SessionNotice::Prioritized)
            | Err(RecvError::Closed | RecvError::Lagged(_)) => {}
        }
    }

    /// Resumes the sessions that may be resumed now. Returns how long the keeper can sleep.
    async fn resume_due(&mut self) -> Duration {
        if self.engine.is_draining() {
            return MAX_SLEEP;
        }
        let shared = &self.engine.shared;
        if shared.write_health.is_failing() && self.engine.check_writable().await.is_err() {
            // Turns that are resumed now would be interrupted again.
            return AFTER_AN_ERROR;
        }
        for session in self.engine.shared.notices.take_prioritized() {
            if self.may_start(&session) {
                self.start(session);
            }
        }
        loop {
            while self.has_room()
                && self.starting.len() < MAX_STARTING
                && let Some(session) = self.queue.pop_front()
            {
                if self.may_start(&session) {
                    self.start(session);
                }
            }
            if !self.queue.is_empty() || !self.has_room() {
                // Sleep until a turn has ended or has been resumed.
                return MAX_SLEEP;
            }
            if let Some(sleep) = self.queue_due().await {
                return sleep;
            }
        }
    }

    /// Queues the due sessions that may be resumed; if there are none, returns how long to sleep.
    async fn queue_due(&mut self) -> Option<Duration> {
        self.room.look(&self.engine).await;
        let every = self.options.poll_interval;
        let at = Instant::now();
        // Entries that were not due for this long belong to sessions that are finished or deleted.
        self.resting.retain(|_, left| at < left.until + MAX_PAUSE);
        let now = self.engine.shared.clock.now().wall;
        // Resting and running sessions may still be due; the page must have room for others.
        let most = PAGE + self.resting.len() + self.running.len();
        let due = match self.engine.shared.journal.due(now, most).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "what is due cannot be read; trying again");
                return Some(AFTER_AN_ERROR.max(every));
            }
        };
        let sessions = due.sessions.into_iter();
        self.queue = sessions.filter(|session| self.may_start(session)).collect();
        if !self.queue.is_empty() {
            return None;
        }
        let next = due.next.map(|next| time_until(next, now));
        let next = next.filter(|next| !next.is_zero());
        Some(next.unwrap_or(every).min(every))
    }

    /// Whether one more turn may be driven.
    fn has_room(&self) -> bool {
        self.tasks.len() < self.options.max_concurrent.max(1)
    }

    /// Whether a session is neither resting nor driven in this process.
    fn may_start(&self, session: &SessionId) -> bool {
        let at = Instant::now();
        let is_resting = self
            .resting
            .get(session)
            .is_some_and(|left| at < left.until);
        let is_driven = || {
            self.engine
                .shared
                .driven_sessions
                .progress(session)
                .is_some()
        };
        !is_resting && !self.sessions.contains(session) && !is_driven()
    }

    fn start(&mut self, session: SessionId) {
        let (engine, policy) = (self.engine.clone(), self.options.policy.clone());
        let resume = ResumeSession::new(session.clone(), policy);
        let (commits, committed) = oneshot::channel();
        let task = self.tasks.spawn(async move {
            engine
                .resume_for_keeper(resume, StartWatch(Some(commits)))
                .await
        });
        // A longer start does not use the CPU: it waits, for instance for a tool server to start.
        let started = tokio::time::timeout(MAX_START, committed);
        self.starting.spawn(async move { _ = started.await });
        self.sessions.insert(session.clone());
        self.running.insert(task.id(), session);
    }

    fn joined(&mut self, joined: Result<(Id, Result<DriveOutcome, EngineError>), JoinError>) {
        let (id, outcome) = match joined {
            Ok((id, driven)) => (id, Some(driven)),
            Err(error) => {
                tracing::error!("a session could not be kept: {error}");
                (error.id(), None)
            }
        };
        let Some(session) = self.running.remove(&id) else {
            return;
        };
        self.sessions.remove(&session);
        let driven_elsewhere = matches!(
            outcome,
            Some(Err(
                EngineError::Busy { .. } | EngineError::NothingOpen { .. }
            ))
        );
        if driven_elsewhere {
            // Another driver was faster; this is not an error.
            let pause = AFTER_AN_ERROR;
            let until = Instant::now() + pause;
            self.resting
                .insert(session, RestingSession { pause, until });
            return;
        }
        if matches!(outcome, Some(Ok(_))) {
            self.resting.remove(&session);
        } else {
            let is_parked = matches!(outcome, Some(Err(EngineError::Parked { .. })));
            let before = self.resting.get(&session).map(|left| left.pause);
            // A journal failure is not the session's fault: retry soon after the journal recovers.
            let is_of_journal = matches!(&outcome, Some(Err(error)) if error.is_journal_failure());
            let longest = if is_of_journal {
                AFTER_AN_OUTAGE
            } else {
                MAX_PAUSE
            };
            let pause = match before {
                _ if is_parked => MAX_PAUSE,
                Some(before) => (before * 2).min(longest),
                None => AFTER_AN_ERROR,
            };
            let until = Instant::now() + pause;
            self.resting
                .insert(session.clone(), RestingSession { pause, until });
            if is_parked && self.inbox_watches.len() < MAX_WATCHED {
                let (engine, session) = (self.engine.clone(), session.clone());
                self.inbox_watches.spawn(async move {
                    engine.wait_for_delivery(&session).await;
                    session
                });
            }
        }
        if let Some(driven) = outcome {
            (self.on_outcome)(KeptSession {
                outcome: driven,
                session,
            });
        }
    }
}

impl Engine {
    /// Resumes a session for a keeper.
    async fn resume_for_keeper(
        &self,
        resume: ResumeSession,
        mut starting: StartWatch,
    ) -> Result<DriveOutcome, EngineError> {
        let _kept = self.shared.shutdown.keeper_turns.token();
        let driven = pin!(self.resume_existing(resume, &mut starting));
        let driven = self.shared.shutdown.unless_stopped(driven).await;
        let driven = driven.unwrap_or(Err(EngineError::Draining));
        if let Ok(DriveOutcome::Finished(report)) = &driven
            && self.durability(&report.session) == Durability::Ephemeral
        {
            let (engine, session, turn) =
                (self.clone(), report.session.clone(), report.turn.clone());
            tokio::spawn(async move { engine.delete_when_delivered(&session, &turn).await });
        }
        driven
    }

    /// Waits until a parked session has a new delivery, or returns at once if it has a cancel.
    async fn wait_for_delivery(&self, session: &SessionId) {
        let journal = &self.shared.journal;
        let is_over = || self.is_draining();
        let Ok(loaded) = retry_until_reachable(is_over, || journal.load(session)).await else {
            return std::future::pending().await;
        };
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let open = folded.open_turn().map(|turn| turn.id());
        if open.is_some_and(|turn| is_cancelled(turn, &loaded.deliveries)) {
            return;
        }
        let seen = loaded.deliveries.len() as u64;
        if retry_until_reachable(is_over, || journal.inbox(session, seen))
            .await
            .is_err()
        {
            // The session is tried again when its pause is over.
            std::future::pending::<()>().await;
        }
    }
}

/// Observes a turn that is being resumed: the first event means that its first step is committed. The sender is
/// dropped then, or with the turn.
struct StartWatch(Option<oneshot::Sender<()>>);

impl Observer for StartWatch {
    fn on_event(&mut self, _news: ObserverEvent<'_>) {
        self.0 = None;
    }
}

/// The time until `then`; zero if it is past.
fn time_until(then: WallTime, now: WallTime) -> Duration {
    then.since(now)
}

/// The maximum number of parked sessions whose inboxes are watched; others are tried again when their pause is
/// over.
const MAX_WATCHED: usize = 64;
/// The maximum number of turns that start at once: reading, folding and the first commit. Starting uses the
/// CPU, which new requests need too.
const MAX_STARTING: usize = 8;
/// How long a starting turn counts against the limit.
const MAX_START: Duration = Duration::from_millis(250);
/// The number of due sessions that are queried at once.
const PAGE: usize = 256;
/// The first pause after a failure; it doubles each time.
const AFTER_AN_ERROR: Duration = Duration::from_secs(1);
/// The longest pause after a journal failure.
const AFTER_AN_OUTAGE: Duration = Duration::from_secs(5);
/// The longest pause after other failures, and the pause of a parked session.
const MAX_PAUSE: Duration = Duration::from_secs(600);
