//! Performs the actions of the loop in tasks, and returns their events.

pub(crate) mod tool;

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::find_tools;
use jackfield_domain::ids::{ToolAttempt, ToolboxId};
use jackfield_domain::request::Attempt;
use jackfield_domain::setup::Setup;
use jackfield_domain::tool::{Catalog, CatalogEntry, ToolOrigin};
use jackfield_domain::tool_loop::{Action, Input, ToolLoop};
use jackfield_domain::trace::TurnSpan;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::lease::LeaseDeadline;
use jackfield_ports::toolbox::ToolEnd;
use jackfield_ports::toolbox_source::ToolboxSet;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use self::tool::{declined, resume_tool, run_tool};
use crate::call_traces::{CallTraces, ObservedCalls};
use crate::crash;
use crate::events::{TaskEvent, ToolEventSender, TurnRef, send, send_event};
use crate::late::LateOutcomeSender;
use crate::model_call::ModelCall;
use crate::options::Durability;
use crate::pending_approvals::PendingApprovals;
use crate::sampler::Sampler;
use crate::shutdown::stop;
use crate::state::{Engine, EngineState};
use crate::tool_cache::CacheLookup;
use crate::tool_search;
use crate::toolboxes;
use crate::turn_budgets;

/// The model call and the tasks of one turn. Dropping it aborts all of them.
pub(crate) struct Workers {
    approvals: PendingApprovals,
    /// Whether a person can be asked. Otherwise questions of tools are declined.
    asks: bool,
    pub(crate) model_call: ModelCall,
    catalog: Arc<Catalog>,
    crashes: VecDeque<TaskEvent>,
    setup: Arc<Setup>,
    events: mpsc::Receiver<TaskEvent>,
    late: LateOutcomeSender,
    /// That of the ownership of the session.
    pub(crate) context: CallContext,
    /// What its tool calls asked MCP servers.
    pub(crate) observed: ObservedCalls,
    turn_ref: TurnRef,
    running: HashMap<Id, (ToolAttempt, AbortHandle)>,
    sender: mpsc::Sender<TaskEvent>,
    shared: Arc<EngineState>,
    /// Whether to stream replies from the model, regardless of the turn's setup.
    pub(crate) streams: bool,
    tasks: JoinSet<()>,
    toolboxes: Arc<ToolboxSet>,
    traces: CallTraces,
}

impl Workers {
    pub(crate) fn new(
        shared: Arc<EngineState>,
        toolboxes: Arc<ToolboxSet>,
        turn: &ToolLoop,
        context: CallContext,
        asks: bool,
    ) -> Self {
        let (sender, events) = mpsc::channel(QUEUE);
        let turn_ref = TurnRef {
            session: turn.session().clone(),
            turn: turn.turn().id().clone(),
        };
        Self {
            approvals: PendingApprovals::new(),
            asks,
            model_call: ModelCall::new(&turn_ref),
            catalog: Arc::clone(&turn.turn().setup().catalog),
            crashes: VecDeque::new(),
            setup: Arc::clone(turn.turn().setup()),
            events,
            late: LateOutcomeSender::new(&shared, turn.session()),
            context,
            observed: ObservedCalls::new(&shared),
            turn_ref,
            running: HashMap::new(),
            sender,
            traces: CallTraces::of(&shared, turn.turn()),
            shared,
            streams: false,
            tasks: JoinSet::new(),
            toolboxes,
        }
    }

    /// Workers for the same turn, without any tasks.
    pub(crate) fn renewed(&self, turn: &ToolLoop) -> Self {
        let (shared, toolboxes) = (Arc::clone(&self.shared), Arc::clone(&self.toolboxes));
        Self {
            observed: self.observed.clone(),
            ..Self::new(shared, toolboxes, turn, self.context.clone(), self.asks)
        }
    }

    /// Aborts all tasks, and waits briefly for them to end.
    pub(crate) async fn stop(mut self) {
        self.abort_all().await;
    }

    /// Like [`stop`](Self::stop), but the workers can be used again.
    pub(crate) async fn abort_all(&mut self) {
        self.model_call.stop();
        stop(&mut self.tasks).await;
    }

    /// Aborts the model call, and returns the running tasks.
    pub(crate) fn take_tasks(&mut self) -> JoinSet<()> {
        self.model_call.stop();
        std::mem::take(&mut self.tasks)
    }

    /// Waits for the next event. Cancel-safe: no event is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> TaskEvent {
        loop {
            // Events that a task sent before it panicked come before the panic.
            if !self.crashes.is_empty()
                && let Some(event) = self.try_next()
            {
                return event;
            }
            tokio::select! {
                // A fixed order starves no source: after the first event the driver drains all of them.
                biased;
                event = self.model_call.next() => return event,
                // The workers hold a sender, so the channel never closes.
                Some(event) = self.events.recv() => return event,
                Some(joined) = self.tasks.join_next_with_id() => {
                    let crash = self.joined(joined);
                    self.crashes.extend(crash);
                }
                else => std::future::pending::<()>().await,
            }
        }
    }

    /// The next event, if one is available.
    pub(crate) fn try_next(&mut self) -> Option<TaskEvent> {
        let event = self.model_call.try_next();
        let event = event.or_else(|| self.events.try_recv().ok());
        event.or_else(|| self.crashes.pop_front())
    }

    /// Whether a call is under way.
    pub(crate) fn is_at_work(&self) -> bool {
        self.model_call.is_in_flight() || !self.running.is_empty() || self.has_pending_approvals()
    }

    /// Waits for a commit. Meanwhile calls go on, and all end when the lease passes; returns whether it did.
    pub(crate) async fn run_alongside<T>(&mut self, commit: impl Future<Output = T>) -> (T, bool) {
        let mut commit = pin!(commit);
        let is_at_work = self.is_at_work();
        tokio::select! {
            biased;
            committed = self.model_call.run_alongside(&mut commit) => return (committed, false),
            () = passed(self.context.lease()), if is_at_work => {}
        }
        self.approvals = PendingApprovals::new();
        let ((), committed) = tokio::join!(self.abort_all(), commit);
        (committed, true)
    }

    /// Asks the approver, if there is one, about the approvals that these actions open.
    pub(crate) fn request_approvals(&mut self, turn: &ToolLoop, actions: &[Action]) {
        self.approvals
            .request(&self.shared, &self.sender, turn, actions);
    }

    /// Whether one of these actions has an effect outside of the engine: it asks a model, a tool or the approver.
    pub(crate) fn is_any_outward(&self, actions: &[Action]) -> bool {
        actions.iter().any(|action| match action {
            Action::CallModel { .. } | Action::ResumeTool { .. } | Action::RunTool(_) => true,
            Action::OpenWait(_) => self.shared.approver.is_some(),
            Action::AbandonTool { .. } | Action::Abort(_) | Action::Finish(_) => false,
        })
    }

    /// Whether the approver may still decide.
    pub(crate) fn has_pending_approvals(&self) -> bool {
        self.approvals.has_open()
    }

    /// Performs actions in order. An action that a later one aborts is skipped.
    pub(crate) fn perform(&mut self, actions: Vec<Action>) {
        let mut aborted: Vec<Attempt> = Vec::new();
        let mut runnable: Vec<Action> = Vec::with_capacity(actions.len());
        for action in actions.into_iter().rev() {
            match &action {
                Action::AbandonTool { handle, tool } => {
                    // In another process, or after a change of the configuration, nothing is kept open.
                    let toolbox = toolboxes::find(&self.toolboxes.toolboxes, &tool.toolbox);
                    if let Some(toolbox) = toolbox {
                        toolbox.abandon(handle);
                    }
                }
                Action::Abort(attempt) => {
                    self.abort(attempt);
                    aborted.push(attempt.clone());
                }
                Action::CallModel { .. } | Action::ResumeTool { .. } | Action::RunTool(_) => {
                    if !attempt_of(&action).is_some_and(|attempt| aborted.contains(&attempt)) {
                        runnable.push(action);
                    }
                }
                // Both are recorded by their facts, and need no work.
                Action::Finish(_) | Action::OpenWait(_) => {}
            }
        }
        runnable
            .into_iter()
            .rev()
            .for_each(|action| self.start(action));
    }

    fn start(&mut self, action: Action) {
        let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
        let (attempt, handle) = match action {
            Action::CallModel {
                attempt,
                mut request,
            } => {
                request.whole &= !self.streams;
                if let Some(turn) = &mut request.turn {
                    turn.conversation = self.conversation();
                }
                let span = if attempt.is_compaction() {
                    TurnSpan::Turn
                } else {
                    TurnSpan::Model(attempt)
                };
                let trace = self.traces.context(&span);
                let turn = self.model_call.opened(&self.turn_ref.turn);
                let budgeted = turn_budgets::call(&turn, &self.setup, attempt, &request);
                let (call, context) = (&mut self.model_call, self.context.clone());
                let own_key = self.setup.key_owner(&request.model).cloned();
                call.begin(
                    shared,
                    attempt,
                    request,
                    (budgeted, own_key),
                    trace,
                    context,
                );
                crash::point("between-actions");
                return;
            }
            Action::ResumeTool {
                answer,
                attempt,
                handle,
                tool,
            } => {
                let task_attempt = attempt.clone();
                let trace = self.traces.context(&TurnSpan::Tool(&attempt));
                let (entry, late) = (self.entry(&tool), self.late.clone());
                let (observed, sampler) = (self.observed.clone(), self.sampler(&tool.toolbox));
                let (toolboxes, turn_ref) = (Arc::clone(&self.toolboxes), self.turn_ref.clone());
                let (asks, context) = (self.asks, self.context.clone());
                let task = self.tasks.spawn(async move {
                    let mut events = ToolEventSender {
                        asks,
                        attempt: attempt.clone(),
                        late,
                        observed,
                        sampler,
                        sender: sender.clone(),
                        trace,
                    };
                    let resumed = resume_tool(
                        &shared,
                        &toolboxes,
                        (&tool, entry.as_ref()),
                        (&handle, answer.as_ref()),
                        &context,
                        &mut events,
                    );
                    let mut ended = resumed.await;
                    if !asks {
                        let call = (&tool, entry.as_ref());
                        ended =
                            declined(&shared, &toolboxes, call, ended, &context, &mut events).await;
                    }
                    send_event(&sender, TaskEvent::ended(&turn_ref, attempt, ended)).await;
                });
                (task_attempt, task)
            }
            Action::RunTool(run) => {
                let task_attempt = run.attempt.clone();
                let trace = self.traces.context(&TurnSpan::Tool(&run.attempt));
                let (tool, late) = (self.entry(&run.tool), self.late.clone());
                let (observed, sampler) = (self.observed.clone(), self.sampler(&run.tool.toolbox));
                let (toolboxes, turn_ref) = (Arc::clone(&self.toolboxes), self.turn_ref.clone());
                let (catalog, context) = (Arc::clone(&self.catalog), self.context.clone());
                let asks = self.asks;
                let setup = Arc::clone(&self.setup);
                let task = self.tasks.spawn(async move {
                    let attempt = run.attempt.clone();
                    if let Some(tool) = tool.as_ref().filter(|tool| find_tools::is(tool)) {
                        let ended = tool_search::run(&shared, catalog, tool, &run).await;
                        return send_event(&sender, TaskEvent::ended(&turn_ref, attempt, ended))
                            .await;
                    }
                    let now = shared.clock.now();
                    let cache = &shared.tool_cache;
                    let missed = match cache.look_up(tool.as_ref(), &run, &toolboxes, &setup, now) {
                        CacheLookup::Hit(input) => return send(&sender, input).await,
                        CacheLookup::Miss(missed) => Some(missed),
                        CacheLookup::Uncached => None,
                    };
                    let mut events = ToolEventSender {
                        asks,
                        attempt: attempt.clone(),
                        late,
                        observed,
                        sampler,
                        sender: sender.clone(),
                        trace,
                    };
                    let running = run_tool(
                        &shared,
                        &toolboxes,
                        tool.as_ref(),
                        &run,
                        &context,
                        &mut events,
                    );
                    let mut ended = running.await;
                    if !asks {
                        let call = (&run.tool, tool.as_ref());
                        ended =
                            declined(&shared, &toolboxes, call, ended, &context, &mut events).await;
                    }
                    if let (Some(missed), Ok(ToolEnd::Finished(result))) = (missed, &ended) {
                        cache.keep(missed, turn_ref.cached_call(&attempt.call), result);
                    }
                    send_event(&sender, TaskEvent::ended(&turn_ref, attempt, ended)).await;
                });
                (task_attempt, task)
            }
            Action::AbandonTool { .. }
            | Action::Abort(_)
            | Action::Finish(_)
            | Action::OpenWait(_) => return,
        };
        // A resumed attempt replaces the task that asked a question and ended.
        self.running.retain(|_, (other, _)| *other != attempt);
        self.running.insert(handle.id(), (attempt, handle));
        crash::point("between-actions");
    }

    /// What stands for the session in requests to models. An ephemeral one stands for no conversation: each request of
    /// its client begins another.
    fn conversation(&self) -> Option<Digest> {
        let session = &self.turn_ref.session;
        let is_durable = self.shared.journal.durability(session) == Durability::Durable;
        is_durable.then(|| Digest::of_parts(["conversation", session.as_str()]))
    }

    fn sampler(&self, server: &ToolboxId) -> Sampler {
        Sampler {
            context: self.context.clone(),
            engine: Engine {
                shared: Arc::clone(&self.shared),
            },
            made: 0,
            server: server.clone(),
            setup: Arc::clone(&self.setup),
            turn: self.turn_ref.turn.clone(),
        }
    }

    fn entry(&self, origin: &ToolOrigin) -> Option<CatalogEntry> {
        let mut tools = self.catalog.iter();
        tools.find(|tool| tool.origin == *origin).cloned()
    }

    fn abort(&mut self, attempt: &Attempt) {
        let attempt = match attempt {
            Attempt::Model(attempt) => return self.model_call.abort(*attempt),
            Attempt::Tool(attempt) => attempt,
        };
        self.running.retain(|_, (other, handle)| {
            let is_other = other != attempt;
            if !is_other {
                handle.abort();
            }
            is_other
        });
    }

    /// Removes a task that has ended; a panic is a failure of its call.
    fn joined(&mut self, joined: Result<(Id, ()), JoinError>) -> Option<TaskEvent> {
        let id = match &joined {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let (attempt, _) = self.running.remove(&id)?;
        let crashed = joined.err().filter(JoinError::is_panic)?;
        let TurnRef { session, turn } = &self.turn_ref;
        tracing::error!(%session, %turn, call = %attempt.call, "an adapter crashed: {crashed}");
        let failure = ToolFailure::unknown(ToolFailureKind::Crashed, "the tool crashed");
        Some(TaskEvent::input(Input::ToolFailed { attempt, failure }))
    }
}

fn attempt_of(action: &Action) -> Option<Attempt> {
    match action {
        Action::CallModel { attempt, .. } => Some(Attempt::Model(*attempt)),
        Action::ResumeTool { attempt, .. } => Some(Attempt::Tool(attempt.clone())),
        Action::RunTool(run) => Some(Attempt::Tool(run.attempt.clone())),
        Action::AbandonTool { .. } | Action::Abort(_) | Action::Finish(_) | Action::OpenWait(_) => {
            None
        }
    }
}

/// Waits until a lease has passed.
pub(crate) async fn passed(lease: &LeaseDeadline) {
    loop {
        let Some(at) = lease.instant() else {
            return std::future::pending().await;
        };
        let left = at.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return;
        }
        // It may be ended earlier.
        tokio::time::sleep(left.min(LEASE_LOOK)).await;
    }
}

/// How often a lease is looked at while a call is under way.
const LEASE_LOOK: Duration = Duration::from_millis(250);
/// The capacity of the event channel; network readers wait when it is full.
const QUEUE: usize = 256;
