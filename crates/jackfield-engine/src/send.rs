//! Sends a message to a session, which may be busy.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::compaction::WindowList;
use jackfield_domain::fact::InputKind;
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::policy::Policy;
use jackfield_domain::request::ModelRef;
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{InputCount, Setup};
use jackfield_domain::target::Target;
use jackfield_domain::turn::Turn;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_ports::journal::{Journal as _, JournalError, Loaded};
use tokio::time::Instant;

use crate::catalog::{self, ToolOffer};
use crate::drive_outcome::DriveOutcome;
use crate::driven_sessions::{DrivenGuard, SessionProgress};
use crate::driver::Driver;
use crate::error::EngineError;
use crate::news::{Observer, ObserverEvent};
use crate::options::{Durability, SecondMessage, SendMessage, TurnOptions};
use crate::ownership::{OwnedTurn, PreparedTurn, SessionOwnership};
use crate::report::TurnReport;
use crate::resume::ResumeSession;
use crate::route_targets::TurnTargets;
use crate::state::Engine;
use crate::target_watch::{BreakerLook, TargetWatch};
use crate::tool_search;

impl Engine {
    /// Sends a message and drives its turn to the end.
    ///
    /// If the session is busy, the [`TurnOptions`] decide what happens to the message. A turn that only waits
    /// is superseded. An open turn without a driver, because its process ended, is not recovered here: unless
    /// it is to be cancelled, the message is refused.
    ///
    /// To cancel the turn in an orderly way, use [`Engine::deliver`] with a cancel: the turn then ends in one
    /// step, and each call gets a result. Dropping the future interrupts the turn as a crash would: running
    /// calls are aborted, and the turn stays open in its journal.
    ///
    /// # Errors
    ///
    /// [`EngineError::Busy`] and [`EngineError::LeftOpen`] if the session has an open turn; any other
    /// [`EngineError`] if the turn could not be driven. A turn that failed is reported, not an error.
    pub async fn send(
        &self,
        message: SendMessage,
        observer: &mut dyn Observer,
    ) -> Result<TurnReport, EngineError> {
        let _under_way = self.shared.shutdown.track_turn()?;
        let PreparedTurn {
            driven_guard: busy,
            loaded,
            now,
            owned,
            problems,
            step,
        } = self.prepare(message, observer).await?;
        for problem in &problems {
            observer.on_event(ObserverEvent::Unavailable { problem });
        }
        let session = owned.turn.session().clone();
        let feed_writer = self.shared.feeds.begin(&session, &loaded.steps);
        let mut driver = Driver::new(&self.shared, owned, &loaded, feed_writer, observer, &busy);
        match driver.run(step, InputKind::Began, now, true).await? {
            DriveOutcome::Finished(report) => Ok(*report),
            // Not expected: with `stay`, `run` does not return while the turn waits.
            DriveOutcome::Waiting(waiting) => Err(EngineError::LeftOpen {
                session,
                turn: waiting.turn,
            }),
        }
    }

    /// Makes the decisions that precede a turn. Commits nothing yet.
    pub(crate) async fn prepare(
        &self,
        message: SendMessage,
        observer: &mut dyn Observer,
    ) -> Result<PreparedTurn, EngineError> {
        let SendMessage {
            opening,
            mut options,
            session,
        } = message;
        let route = self.route_of(&options)?;
        let mut providers = BTreeSet::new();
        for model in options.targets(route.as_deref()) {
            self.model(&model.provider)?;
            providers.insert(Arc::clone(&model.provider));
            let needs_price = options.allowance.cost.is_some() && !options.allowance.unpriced;
            if needs_price && options.prices.get(model).is_none() {
                let model = model.clone();
                return Err(EngineError::Unpriced { model });
            }
        }
        let mut busy_policy = BusyPolicy {
            expected_turns: options.expected_turns,
            if_busy: options.if_busy,
            observer,
            was_notified: false,
        };
        let driven_guard = self.acquire_session(&session, &mut busy_policy).await?;
        let toolboxes = self.toolboxes(&options).await;
        let mut offered = self.offer(&options, &toolboxes).await;
        self.add_own_tools(&options, &providers, &mut offered.catalog);
        let problems = std::mem::take(&mut offered.problems);
        let own_keys = self.own_keys(options.caller.as_deref()).await?;
        let IdleSession {
            folded,
            loaded,
            ownership,
        } = self
            .own_idle(&session, &mut busy_policy, &driven_guard)
            .await?;
        if !options.policy.can_ask {
            catalog::apply_session_grants(&mut offered.catalog, folded.grants(), &options.policy);
        }
        // A remote client cannot change the policy, so its model gets no tool that could never run.
        if options.caller.is_some() {
            offered.remove_denied();
        }
        tool_search::defer(&mut offered.catalog, &options, &folded, &opening);
        let now = self.shared.clock.now();
        let targets = match &route {
            Some(route) => {
                let catalog = &offered.catalog;
                Some(self.turn_targets(route, &options, &folded, &opening, catalog, now)?)
            }
            None => None,
        };
        let recent = targets.as_ref().and_then(|targets| targets.recent.clone());
        let mut base = folded.next_turn();
        self.add_listed_window(&mut options, base.counted).await;
        let asks = options.policy.can_ask;
        options.pauses &= self.durability(&session) == Durability::Durable;
        let setup = setup(options, offered, targets, own_keys);
        let now = self.shared.clock.now();
        let routes = &self.shared.routes;
        let look = BreakerLook::at_setup(routes, &setup, now);
        base.breakers = look.as_ref().map_or_else(Vec::new, BreakerLook::snapshots);
        let mut targets = TargetWatch::new(routes, recent);
        targets.leave_out(&setup.own_keys);
        let (turn, step) = SendMessageUseCase::begin(base, opening, setup, now);
        targets.follow(look, &step, now);
        Ok(PreparedTurn {
            driven_guard,
            loaded,
            now,
            owned: OwnedTurn {
                asks,
                ownership,
                targets,
                toolboxes,
                turn,
            },
            problems,
            step,
        })
    }

    /// Adds the window that the provider lists for the model of a turn, if the turn may compact its conversation, the
    /// window is not configured, and the conversation is long enough to matter.
    async fn add_listed_window(&self, options: &mut TurnOptions, counted: Option<InputCount>) {
        let is_long = counted.is_some_and(|counted| counted.tokens >= MIN_TOKENS);
        if !is_long || options.compaction.is_none() || options.windows.get(&options.model).is_some()
        {
            return;
        }
        let Ok(provider) = self.model(&options.model.provider) else {
            return;
        };
        let windows = &self.shared.listed_windows;
        if let Some(tokens) = windows.find(&options.model, &**provider).await {
            let mut windows = WindowList::clone(&options.windows);
            windows.set(options.model.clone(), tokens);
            options.windows = Arc::new(windows);
        }
    }

    /// Marks a session as driven here, once no other task drives it.
    async fn acquire_session(
        &self,
        session: &SessionId,
        busy_policy: &mut BusyPolicy<'_>,
    ) -> Result<DrivenGuard, EngineError> {
        let occupied = &self.shared.driven_sessions;
        let queue = occupied.queues.get(session);
        let _first = match busy_policy.if_busy {
            SecondMessage::Queue => match queue.try_lock() {
                Ok(first) => Some(first),
                Err(_) => {
                    busy_policy.notify_queued(session);
                    Some(queue.lock().await)
                }
            },
            SecondMessage::Cancel | SecondMessage::Refuse => None,
        };
        loop {
            let mut driven = match occupied.try_acquire(session) {
                Ok(busy) => return Ok(busy),
                Err(driven) => driven,
            };
            let SessionProgress {
                is_over,
                only_waits,
                turn,
            } = driven.borrow_and_update().clone();
            match (busy_policy.if_busy, turn) {
                // A client may see the turn's end before the session is released.
                _ if is_over => {}
                (_, Some(turn)) if busy_policy.is_overtaken_by(session, &turn) => {
                    return Err(self.busy_error(session.clone()).await);
                }
                (manner, Some(turn)) if only_waits || manner == SecondMessage::Cancel => {
                    self.cancel_superseded(session, &turn).await?;
                }
                (SecondMessage::Cancel, _) => {}
                (SecondMessage::Queue, _) => busy_policy.notify_queued(session),
                (SecondMessage::Refuse, _) => return Err(self.busy_error(session.clone()).await),
            }
            // The turn has made progress, or is no longer driven.
            let _over = driven.changed().await;
        }
    }

    /// Takes the ownership of a session without an open turn, or whose open turn may be ended for the message.
    async fn own_idle(
        &self,
        session: &SessionId,
        busy_policy: &mut BusyPolicy<'_>,
        driven_guard: &DrivenGuard,
    ) -> Result<IdleSession, EngineError> {
        loop {
            let ownership = match SessionOwnership::take(&self.shared, session).await {
                Ok(owned) => owned,
                Err(error @ JournalError::Owned { .. }) => {
                    self.wait_for_ownership(session, busy_policy, error).await?
                }
                Err(error) => return Err(self.shared.write_error(error)),
            };
            let loaded = self.shared.journal.load(session).await?;
            let facts = loaded.steps.iter().flat_map(|step| &step.facts);
            let folded = Session::fold(session.clone(), facts);
            if !busy_policy.expects(folded.turns()) {
                let mut ownership = ownership;
                ownership.release().await;
                return Err(self.busy_error(session.clone()).await);
            }
            let Some(turn) = folded.open_turn() else {
                return Ok(IdleSession {
                    folded,
                    loaded,
                    ownership,
                });
            };
            Box::pin(self.end_open_turn(
                session,
                turn,
                ownership,
                busy_policy.if_busy,
                driven_guard,
            ))
            .await?;
        }
    }

    /// Ends the open turn of a session that is owned here, if it may be ended for the message.
    async fn end_open_turn(
        &self,
        session: &SessionId,
        turn: &Turn,
        mut ownership: SessionOwnership,
        if_busy: SecondMessage,
        driven_guard: &DrivenGuard,
    ) -> Result<(), EngineError> {
        if if_busy != SecondMessage::Cancel && !turn.only_waits() {
            let (session, turn) = (session.clone(), turn.id().clone());
            ownership.release().await;
            return Err(EngineError::LeftOpen { session, turn });
        }
        self.cancel_superseded(session, turn.id()).await?;
        // The cancel is in the inbox, so the policy is irrelevant.
        let resume = ResumeSession::new(session.clone(), Policy::default());
        self.resume_owned(resume, ownership, driven_guard, &mut ())
            .await?;
        Ok(())
    }

    /// Takes the ownership of a session that another process owns, as this error says. The turn there is
    /// handled like one in this process.
    async fn wait_for_ownership(
        &self,
        session: &SessionId,
        busy_policy: &mut BusyPolicy<'_>,
        mut error: JournalError,
    ) -> Result<SessionOwnership, EngineError> {
        let started = Instant::now();
        let mut pause = FIRST_POLL;
        loop {
            let loaded = self.shared.journal.load(session).await?;
            let facts = loaded.steps.iter().flat_map(|step| &step.facts);
            let folded = Session::fold(session.clone(), facts);
            if !busy_policy.expects(folded.turns()) {
                return Err(self.busy_error(session.clone()).await);
            }
            match (busy_policy.if_busy, folded.open_turn()) {
                (manner, Some(turn)) if turn.only_waits() || manner == SecondMessage::Cancel => {
                    self.cancel_superseded(session, turn.id()).await?;
                }
                // The other process is about to begin or release a turn.
                (SecondMessage::Cancel, _) => {}
                (SecondMessage::Queue, _) => busy_policy.notify_queued(session),
                (SecondMessage::Refuse, _) => return Err(self.busy_error(session.clone()).await),
            }
            // An owner that does not react to the cancel has stopped.
            if busy_policy.if_busy != SecondMessage::Queue && started.elapsed() >= TIME_LIMIT {
                tracing::debug!(%error, "the other process does not let go of the session");
                return Err(self.busy_error(session.clone()).await);
            }
            // There is no notification for a released session, so poll.
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_POLL);
            error = match SessionOwnership::take(&self.shared, session).await {
                Ok(owned) => return Ok(owned),
                Err(error @ JournalError::Owned { .. }) => error,
                Err(error) => return Err(self.shared.write_error(error)),
            };
        }
    }

    /// Delivers a cancel because of a new message.
    async fn cancel_superseded(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<(), EngineError> {
        // The id is the same for all such messages, so the turn gets one cancel.
        let Ok(id) = DeliveryId::parse(&format!("second-{turn}")) else {
            return Ok(());
        };
        let (cause, turn) = (CancelCause::Superseded, turn.clone());
        let body = DeliveryBody::Cancel { cause, turn };
        self.deliver(session, id, "a later message", body).await?;
        Ok(())
    }

    /// The error that names the turn on which a session is busy: the open one, or the one that is about to
    /// begin.
    pub(crate) async fn busy_error(&self, session: SessionId) -> EngineError {
        let loaded = match self.shared.journal.load(&session).await {
            Ok(loaded) => loaded,
            Err(JournalError::UnknownSession { .. }) => Loaded::default(),
            Err(error) => return error.into(),
        };
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(session.clone(), facts);
        let open = folded.open_turn().map(|turn| turn.id().clone());
        let turn = open.unwrap_or_else(|| TurnId::derive(&session, folded.turns() + 1));
        EngineError::Busy { session, turn }
    }

    /// Takes the ownership of a session; [`EngineError::Busy`] if another process owns it.
    pub(crate) async fn own(&self, session: &SessionId) -> Result<SessionOwnership, EngineError> {
        match SessionOwnership::take(&self.shared, session).await {
            Ok(owned) => Ok(owned),
            Err(JournalError::Owned { session }) => Err(self.busy_error(session).await),
            Err(error) => Err(self.shared.write_error(error)),
        }
    }
}

/// How to handle a busy session, and the observer to notify of the wait.
struct BusyPolicy<'o> {
    expected_turns: Option<u32>,
    if_busy: SecondMessage,
    observer: &'o mut dyn Observer,
    was_notified: bool,
}

impl BusyPolicy<'_> {
    /// Whether the message may begin a turn after this many.
    fn expects(&self, turns: u32) -> bool {
        self.expected_turns.is_none_or(|expected| expected == turns)
    }

    /// Whether this turn of the session is one that the sender of the message did not see.
    fn is_overtaken_by(&self, session: &SessionId, turn: &TurnId) -> bool {
        let seen = |turns| *turn == TurnId::derive(session, turns);
        self.expected_turns.is_some_and(|turns| !seen(turns))
    }

    /// Notifies the observer once that the message waits.
    fn notify_queued(&mut self, session: &SessionId) {
        if !std::mem::replace(&mut self.was_notified, true) {
            self.observer.on_event(ObserverEvent::Queued { session });
        }
    }
}

/// A session that is owned here and has no open turn.
struct IdleSession {
    folded: Session,
    loaded: Loaded,
    ownership: SessionOwnership,
}

/// The setup of a turn.
fn setup(
    options: TurnOptions,
    offered: ToolOffer,
    targets: Option<TurnTargets>,
    own_keys: Vec<Arc<str>>,
) -> Arc<Setup> {
    // A window is recorded only where the turn decides by it.
    let has_windows = options.compaction.is_some() || targets.is_some();
    let target = |model: ModelRef, first_byte, content_filter| Target {
        content_filter,
        first_byte,
        price: options.prices.get(&model),
        window: options.windows.get(&model).filter(|_| has_windows),
        model,
    };
    let (affinity, mut targets): (_, Vec<Target>) = match targets {
        Some(TurnTargets {
            affinity, targets, ..
        }) => {
            let targets = targets
                .into_iter()
                .map(|one| target(one.model, one.first_byte, one.content_filter));
            (affinity, targets.collect())
        }
        None => {
            let models = std::iter::once(&options.model).chain(&options.fallbacks);
            (
                None,
                models
                    .map(|model| target(model.clone(), None, false))
                    .collect(),
            )
        }
    };
    let fallbacks = targets.split_off(1.min(targets.len()));
    let first = targets
        .pop()
        .unwrap_or_else(|| target(options.model.clone(), None, false));
    let pauses = options.pauses && !options.budgets.is_empty();
    // A reply in one piece has no first piece that could be late.
    let has_limits =
        first.first_byte.is_some() || fallbacks.iter().any(|one| one.first_byte.is_some());
    let whole = options.whole_reply_limit.filter(|_| !has_limits);
    let mut system = options.system;
    system.parts.extend(offered.instructions);
    Arc::new(Setup {
        affinity,
        allowance: options.allowance,
        assistant: options.assistant,
        budgets: options.budgets,
        caller: options.caller,
        can_supersede: options.can_supersede,
        catalog: Arc::new(offered.catalog),
        choice: options.choice,
        compaction: options.compaction,
        limits: options.limits,
        model: first.model,
        own_keys,
        pauses,
        price: first.price,
        settings: Arc::new(options.settings),
        strict: options.strict,
        system: Arc::new(system),
        tools_after_first_round: options.tools_after_first_round,
        whole,
        fallbacks,
        first_byte: first.first_byte,
        given: options.given,
        route: options.route,
        tags: options.tags,
        trace: options.trace,
        window: first.window,
    })
}

/// The tokens from which on a window is looked for: those of the smallest windows in use.
const MIN_TOKENS: u64 = 4096;
/// How long another process has to end a turn after the cancel.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The first pause between attempts to take the ownership; it doubles each time.
const FIRST_POLL: Duration = Duration::from_millis(10);
/// The longest pause.
const MAX_POLL: Duration = Duration::from_millis(500);
