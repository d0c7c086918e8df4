//! The driver of a turn: commits, then performs, then notifies. It makes no decisions about the turn.

mod rewind;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, InputKind, TurnEnd};
use jackfield_domain::time::{MonoTime, Now};
use jackfield_domain::tool_loop::{Input, MAX_SLEEP, Step, ToolLoop};
use jackfield_domain::turn_log::TurnLog;
use jackfield_domain::wait::{Delivery, in_processing_order};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::journal::{Journal as _, Loaded};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::alarm::Alarm;
use crate::batch::{BatchEvent, BatchUndo, StepBatch};
use crate::commit::{CommitOutcome, Ledger};
use crate::crash;
use crate::drive_outcome::{DriveOutcome, WaitingTurn};
use crate::driven_sessions::{DrivenGuard, SessionProgress};
use crate::error::{EngineError, chain};
use crate::events::TaskEvent;
use crate::feeds::FeedWriter;
use crate::news::{Observer, ObserverEvent};
use crate::ownership::OwnedTurn;
use crate::perform::{Workers, passed};
use crate::report::TurnReport;
use crate::state::EngineState;
use crate::target_watch::TargetWatch;
use crate::turn_budgets::TurnBudgets;
use crate::turn_observer::{EndedTurn, ObservedSteps};

/// Drives one turn to its end.
pub(crate) struct Driver<'o> {
    alarm: Alarm,
    /// The budgets that its model calls count for, if there are any.
    budgets: Option<TurnBudgets>,
    inbox: Option<Inbox>,
    ledger: Ledger,
    /// The log of the turn so far, for its report.
    log: Option<TurnLog>,
    observer: &'o mut dyn Observer,
    observed_steps: ObservedSteps,
    /// Publishes the turn's progress within the process.
    progress: watch::Sender<SessionProgress>,
    reloads: u32,
    shared: Arc<EngineState>,
    feed_writer: FeedWriter,
    targets: TargetWatch,
    turn: ToolLoop,
    wake: Option<MonoTime>,
    /// The wake-up instant that was last fed to the loop.
    last_wake: Option<MonoTime>,
    pub(crate) workers: Workers,
}

/// The next deliveries.
type Inbox = Pin<Box<dyn Future<Output = Vec<Delivery>> + Send>>;

/// An event that a driver waits for.
enum DriverEvent {
    Deliveries(Vec<Delivery>),
    Event(TaskEvent),
    Woke,
}

impl<'o> Driver<'o> {
    pub(crate) fn new(
        shared: &Arc<EngineState>,
        OwnedTurn {
            asks,
            ownership,
            targets,
            toolboxes,
            turn,
        }: OwnedTurn,
        loaded: &Loaded,
        feed_writer: FeedWriter,
        observer: &'o mut dyn Observer,
        driven_guard: &DrivenGuard,
    ) -> Self {
        let shared = Arc::clone(shared);
        let context = CallContext::new(ownership.deadline());
        let workers = Workers::new(Arc::clone(&shared), toolboxes, &turn, context, asks);
        Self {
            alarm: Alarm::default(),
            budgets: TurnBudgets::of(&shared, &turn),
            inbox: None,
            ledger: Ledger::new(&shared, turn.session(), ownership, loaded),
            log: None,
            observer,
            observed_steps: ObservedSteps::new(!shared.turn_observers.is_empty()),
            progress: driven_guard.progress.clone(),
            reloads: 0,
            shared,
            feed_writer,
            targets,
            turn,
            wake: None,
            last_wake: None,
            workers,
        }
    }

    /// Adds the earlier steps of the turn to its report.
    pub(crate) fn report_earlier_steps(&mut self, steps: &[Envelope]) {
        for step in steps {
            self.observed_steps.push(step);
            if let Some(budgets) = &mut self.budgets {
                budgets.track(step);
            }
            for fact in &step.facts {
                TurnLog::track(&mut self.log, fact, step.now);
            }
        }
    }

    /// Drives the turn from this step on, then releases the session. Stops at the end of the turn or, unless
    /// `stay` is set, when the turn only waits.
    pub(crate) async fn run(
        &mut self,
        first: Step,
        input: InputKind,
        now: Now,
        stay: bool,
    ) -> Result<DriveOutcome, EngineError> {
        let driven = self.drive(first, input, now, stay).await;
        if let Err(error) = &driven {
            // No task may be running when the next owner begins.
            self.workers.abort_all().await;
            self.feed_writer.close_on_error(error);
        }
        self.ledger.release().await;
        driven
    }

    async fn drive(
        &mut self,
        first: Step,
        input: InputKind,
        now: Now,
        stay: bool,
    ) -> Result<DriveOutcome, EngineError> {
        let mut batch = StepBatch::default();
        self.add(first, input, now, &mut batch);
        loop {
            self.commit_batch(batch).await?;
            if let Some(end) = self.turn.turn().end().cloned() {
                self.commit_late_events().await;
                self.notify_turn_observers();
                return Ok(DriveOutcome::Finished(Box::new(self.finish(end))));
            }
            let can_release = !stay && self.turn.only_waits();
            if can_release && !self.is_overdue() && !self.workers.has_pending_approvals() {
                return Ok(DriveOutcome::Waiting(WaitingTurn::of(&self.turn)));
            }
            batch = self.next_batch().await;
        }
    }

    /// Commits events that arrived while the end was being committed, so that their usage counts; they change
    /// nothing else.
    async fn commit_late_events(&mut self) {
        let Some(first) = self.workers.try_next() else {
            return;
        };
        let (mut batch, before) = (StepBatch::default(), self.turn.clone());
        self.feed_all(DriverEvent::Event(first), &mut batch);
        if batch.steps.is_empty() {
            return;
        }
        match self.ledger.commit(&mut batch.steps).await {
            CommitOutcome::Committed => self.publish(&batch),
            CommitOutcome::Answered | CommitOutcome::Failed { .. } => {
                self.turn = before;
                let session = self.turn.session();
                tracing::warn!(%session, "what came after the end of a turn could not be kept");
            }
        }
    }

    fn notify_turn_observers(&mut self) {
        let observers = &self.shared.turn_observers;
        if observers.is_empty() {
            return;
        }
        let session = self.turn.session().clone();
        let turn = EndedTurn {
            requests: self.workers.observed.take(),
            durability: self.shared.journal.durability(&session),
            session,
            steps: self.observed_steps.take(),
        };
        observers
            .iter()
            .for_each(|observer| observer.turn_ended(&turn));
    }

    /// Whether the wake-up instant has passed.
    fn is_overdue(&self) -> bool {
        let now = self.shared.clock.now().mono;
        self.wake.is_some_and(|wake| wake <= now)
    }

    fn finish(&mut self, end: TurnEnd) -> TurnReport {
        let session = self.turn.session().clone();
        TurnReport::new(session, self.turn.turn(), self.log.as_ref(), end)
    }

    /// Commits a batch, then performs its actions, then notifies observers.
    async fn commit_batch(&mut self, mut batch: StepBatch) -> Result<(), EngineError> {
        let mut lease_passed = false;
        while !batch.steps.is_empty() {
            let committed = if self.settle(&batch).await {
                let committing = self.ledger.commit(&mut batch.steps);
                let (committed, has_passed) = self.workers.run_alongside(committing).await;
                lease_passed |= has_passed;
                committed
            } else {
                CommitOutcome::Failed {
                    refusal: None,
                    why: "what a model call used could not be stored for its budgets".into(),
                }
            };
            batch = match committed {
                CommitOutcome::Committed => break,
                CommitOutcome::Answered => self.replay_with_answer(batch).await?,
                CommitOutcome::Failed { refusal, why } => {
                    lease_passed = false;
                    self.reload(batch, refusal, why).await?
                }
            };
        }
        batch.lease_passed |= lease_passed;
        self.progress.send_if_modified(|known| {
            let turn = self.turn.turn();
            let (is_over, only_waits) = (turn.end().is_some(), turn.only_waits());
            let id = Some(turn.id());
            let is_new = known.is_over != is_over
                || known.only_waits != only_waits
                || known.turn.as_ref() != id;
            if is_new {
                *known = SessionProgress {
                    is_over,
                    only_waits,
                    turn: id.cloned(),
                };
            }
            is_new
        });
        let actions = std::mem::take(&mut batch.actions);
        if batch.lease_passed && self.turn.turn().end().is_none() {
            return Err(EngineError::stale());
        }
        if self.workers.is_any_outward(&actions) {
            self.ledger.check_lease()?;
        }
        if let Some(budgets) = &self.budgets {
            self.workers.model_call.opened_at = budgets.opened();
        }
        self.workers.request_approvals(&self.turn, &actions);
        self.workers.perform(actions);
        crash::point("before-tell");
        self.publish(&batch);
        crash::point("after-tell");
        Ok(())
    }

    /// Settles the model calls that end in this batch, if they count for budgets. Returns whether it may be committed.
    async fn settle(&mut self, batch: &StepBatch) -> bool {
        let Some(budgets) = &mut self.budgets else {
            return true;
        };
        // A call that is reserving would otherwise do so after it was settled, or wait within a transaction that the
        // settlement waits for.
        self.workers.model_call.abort_ended(&batch.steps);
        budgets.settle(&self.shared, &self.turn, &batch.steps).await
    }

    fn publish(&mut self, batch: &StepBatch) {
        for event in &batch.events {
            match event {
                BatchEvent::Delta {
                    attempt,
                    call,
                    delta,
                } => {
                    let (attempt, call) = (*attempt, call.clone());
                    self.feed_writer.push(attempt, delta);
                    self.observer.on_event(ObserverEvent::Delta {
                        attempt,
                        call,
                        delta,
                    });
                }
                BatchEvent::Notice(news) => {
                    self.feed_writer.progress(news.progress());
                    news.notify(self.observer);
                }
                BatchEvent::Step(place) => {
                    let Some(step) = batch.steps.get(*place) else {
                        continue;
                    };
                    self.feed_writer.step(step, self.turn.turn().id());
                    self.observed_steps.push(step);
                    for fact in &step.facts {
                        TurnLog::track(&mut self.log, fact, step.now);
                        self.observer.on_event(ObserverEvent::Fact {
                            fact,
                            now: step.now,
                        });
                    }
                }
            }
        }
    }

    /// Waits for an event, and feeds it to the loop with all others that have arrived by then.
    async fn next_batch(&mut self) -> StepBatch {
        let mut batch = StepBatch::default();
        if self.turn.turn().waits().next().is_some() {
            batch.undo = Some(Box::new(BatchUndo {
                inputs: Vec::new(),
                turn: self.turn.clone(),
            }));
        }
        let event = self.next_event().await;
        self.feed_all(event, &mut batch);
        // Only tool calls that finish while others run are coalesced; new work and ends never wait.
        let deadline = Instant::now() + COALESCE_WINDOW;
        while !batch.steps.is_empty()
            && batch.actions.is_empty()
            && Instant::now() < deadline
            && let Ok(event) = tokio::time::timeout_at(deadline, self.next_event()).await
        {
            self.feed_all(event, &mut batch);
        }
        batch
    }

    /// Feeds an event and all others that have arrived. An outcome is fed before the clock, whose deadline
    /// would abandon the call. Usage that arrives with the end is counted.
    fn feed_all(&mut self, first: DriverEvent, batch: &mut StepBatch) {
        let woke = matches!(first, DriverEvent::Woke);
        if !woke {
            self.feed(first, batch);
        }
        for _ in 0..MAX_EVENTS_PER_BATCH {
            let Some(event) = self.workers.try_next() else {
                break;
            };
            self.feed(DriverEvent::Event(event), batch);
        }
        if woke {
            self.feed(DriverEvent::Woke, batch);
        }
    }

    async fn next_event(&mut self) -> DriverEvent {
        let now = self.shared.clock.now().mono;
        let sleep = match self.wake {
            // A deadline that has passed is handled even if other events keep arriving.
            Some(wake) if wake <= now && self.last_wake != Some(wake) => {
                self.last_wake = Some(wake);
                return DriverEvent::Woke;
            }
            // Only a tampered journal leads here; it must not keep a thread busy.
            Some(wake) if wake <= now => IDLE_WAKE_BACKOFF,
            Some(wake) => wake.since(now).min(MAX_SLEEP),
            None => MAX_SLEEP,
        };
        let until = Instant::now() + sleep;
        let (is_at_work, context) = (self.workers.is_at_work(), self.workers.context.clone());
        let from = self.ledger.seen;
        let inbox = self.inbox.get_or_insert_with(|| {
            let (journal, session) = (
                Arc::clone(&self.shared.journal),
                self.turn.session().clone(),
            );
            Box::pin(async move {
                loop {
                    match journal.inbox(&session, from).await {
                        Ok(deliveries) => return deliveries,
                        Err(error) => {
                            let error = chain(&error);
                            tracing::warn!(%error, "the inbox cannot be read; trying again");
                            tokio::time::sleep(INBOX_PAUSE).await;
                        }
                    }
                }
            })
        });
        tokio::select! {
            // Deliveries first, so that a cancel is handled even among many events.
            biased;
            deliveries = inbox => {
                self.inbox = None;
                DriverEvent::Deliveries(deliveries)
            }
            event = self.workers.next() => DriverEvent::Event(event),
            () = self.alarm.ring(until) => DriverEvent::Woke,
            // What begins slowly, as a server that has to start, would act for a turn that is another one's by then.
            () = passed(context.lease()), if is_at_work => DriverEvent::Event(TaskEvent::LeasePassed),
        }
    }

    fn feed(&mut self, event: DriverEvent, batch: &mut StepBatch) {
        match event {
            DriverEvent::Deliveries(deliveries) => {
                crash::point("delivered");
                self.ledger.seen += deliveries.len() as u64;
                for delivery in in_processing_order(&deliveries) {
                    self.handle(Input::Delivered(delivery.clone()), batch);
                }
            }
            DriverEvent::Event(TaskEvent::Input(input)) => self.handle(*input, batch),
            DriverEvent::Event(TaskEvent::LeasePassed) => batch.lease_passed = true,
            DriverEvent::Event(TaskEvent::Notice(news)) => {
                batch.events.push(BatchEvent::Notice(news));
            }
            DriverEvent::Event(TaskEvent::ProviderRequest(id)) => {
                self.feed_writer.provider_request(id);
            }
            DriverEvent::Woke => self.handle(Input::Woke, batch),
        }
    }

    fn handle(&mut self, input: Input, batch: &mut StepBatch) {
        let now = self.shared.clock.now();
        if let Some(undo) = &mut batch.undo {
            undo.inputs.push(input.clone());
        }
        let delta = if let Input::ReplyDelta { attempt, delta } = &input {
            Some((*attempt, delta.clone()))
        } else {
            None
        };
        let kind = input.kind();
        let step = self.targets.handle(&mut self.turn, input, now);
        if let Some((attempt, delta)) = delta
            && self.turn.calling() == Some(attempt)
        {
            batch.events.push(BatchEvent::Delta {
                attempt,
                call: self.turn.call_id(delta.index()),
                delta,
            });
        }
        self.add(step, kind, now, batch);
    }

    fn add(&mut self, step: Step, input: InputKind, now: Now, batch: &mut StepBatch) {
        self.wake = step.wake;
        batch.add(step, input, now);
    }
}

impl Drop for Driver<'_> {
    /// If the driver is dropped midway: no task may be running when the next owner begins.
    fn drop(&mut self) {
        let tasks = self.workers.take_tasks();
        self.ledger.release_after(tasks);
    }
}

/// How long finished calls are held back for others to join the same append.
const COALESCE_WINDOW: Duration = Duration::from_millis(1);
/// The pause before a loop is woken again that had nothing to do.
const IDLE_WAKE_BACKOFF: Duration = Duration::from_secs(1);
/// The pause before an unreadable inbox is read again.
const INBOX_PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of inputs per append.
const MAX_EVENTS_PER_BATCH: usize = 1024;
