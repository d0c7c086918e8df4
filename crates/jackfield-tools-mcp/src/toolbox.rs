//! The toolbox of one MCP server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use async_trait::async_trait;
use jackfield_domain::failure::{Disposition, ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolHints, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::ContextSource;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::call::{CallLimits, ServerCall};
use crate::connection::ServerConnection;
use crate::era::Era;
use crate::error::ServerFault;
use crate::gate::{DefinitionGate, review};
use crate::jobs::JobHandleForm;
use crate::listing::{Listing, definitions, usable_tools};
use crate::mapping::definition::{self, MappedTool};
use crate::run::{CallRun, TaskCancel};
use crate::state::{ServerMemory, ServerState};
use crate::supervisor::{ServerHandle, Supervisor, SupervisorCommand};

mod connections;
mod set_up;

/// One MCP server, over standard input and output or over Streamable HTTP.
///
/// It is started by [`start`](Self::start), or by the first request that needs it: a list, unless its tools are
/// [remembered](Self::remembering), or a call. It is restarted after it has ended by itself, with growing pauses.
/// It is ended by [`stop`](Self::stop), and when the toolbox is dropped; its descendants are ended with it where
/// there is a [guard](crate::guard).
///
/// All methods must be called within a Tokio runtime.
pub struct McpToolbox {
    commands: OnceLock<mpsc::Sender<SupervisorCommand>>,
    /// The connections, the newest last. Those before have lost their sessions, and have requests in flight still.
    connections: Mutex<Vec<Weak<ServerConnection>>>,
    gate: Option<Arc<dyn DefinitionGate>>,
    /// The tools last offered: listed by this process, or remembered.
    offered: Mutex<Option<OfferedTools>>,
    listing_count: AtomicU64,
    problems: Mutex<Vec<String>>,
    skipped: Mutex<Vec<String>>,
    pub(crate) shared: Arc<ServerHandle>,
}

/// The tools that a server offered.
#[derive(Clone)]
struct OfferedTools {
    defined: Arc<[MappedTool]>,
    era: Era,
}

impl McpToolbox {
    /// The data to remember for the next start, once available.
    #[must_use]
    pub fn remembered(&self) -> Option<ServerMemory> {
        let known = lock(&self.offered).clone()?;
        Some(ServerMemory {
            definitions: definitions(&known.defined),
            era: known.era,
        })
    }

    /// The number of times that this process has listed the tools. While it is unchanged, the data to
    /// [remember](Self::remembered) and the [instructions](Self::instructions) are unchanged, too.
    #[must_use]
    pub fn times_listed(&self) -> u64 {
        self.listing_count.load(Ordering::Relaxed)
    }

    /// Whether the server declares that this tool only reads, whether or not its hints are trusted.
    #[must_use]
    pub fn declares_read_only(&self, tool: &str) -> bool {
        let known = lock(&self.offered).clone();
        let mut defined = known.iter().flat_map(|known| known.defined.iter());
        let found = defined.find(|one| *one.tool.name == *tool);
        // Trusted, it would be taken at its word.
        let hints = found.and_then(|one| definition::hints(&one.definition, true));
        hints.is_some_and(|hints| hints.read_only == Some(true))
    }

    /// Starts the server, and waits until it is running. Several servers may be started concurrently. Dropping the
    /// future does not cancel the start.
    ///
    /// # Errors
    ///
    /// Why it is not running.
    pub async fn start(&self) -> Result<(), ServerFault> {
        self.connection(None).await.map(drop)
    }

    /// Stops the server, within [`ClientSettings::grace`](crate::ClientSettings::grace). The next request starts it again.
    pub async fn stop(&self) {
        let Some(demands) = self.commands.get() else {
            return;
        };
        // Requests from here on wait for another server than the one that is being stopped.
        lock(&self.connections).clear();
        let (reply, done) = oneshot::channel();
        if demands.send(SupervisorCommand::Stop(reply)).await.is_ok() {
            let _ended = done.await;
        }
    }

    #[must_use]
    pub fn state(&self) -> ServerState {
        self.shared.state.borrow().clone()
    }

    /// The last lines on standard error, the oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.shared.log.lines()
    }

    /// The server's instructions on how to use its tools, if it is running and has sent some. Trust them no more
    /// than the server.
    pub async fn instructions(&self) -> Option<String> {
        let running = matches!(self.state(), ServerState::Ready { .. });
        let connection = if running {
            self.connection(None).await.ok()
        } else {
            None
        };
        connection?.info.instructions.clone()
    }

    fn commands(&self) -> &mpsc::Sender<SupervisorCommand> {
        self.commands.get_or_init(|| {
            let (sender, demands) = mpsc::channel(COMMAND_QUEUE);
            tokio::spawn(Supervisor::new(Arc::clone(&self.shared), demands).run());
            sender
        })
    }

    /// The tools of a running server.
    async fn listing(&self, connection: &ServerConnection) -> Result<Arc<Listing>, String> {
        let listings_before = connection.listing_count();
        let known = connection.listing.read().await.clone();
        if let Some(listing) = known.filter(|listing| connection.is_fresh(listing)) {
            return Ok(listing);
        }
        let mut slot = connection.listing.write().await;
        // Another request may have listed them meanwhile. A list requested after this method began is as good as a
        // new one, so many concurrent requests cause two listings at most.
        let is_current = |listing: &Listing| {
            connection.is_fresh(listing)
                || listing.is_requested_after(listings_before)
                    && listing.is_unchanged(connection.changes())
        };
        if let Some(listing) = slot.as_ref().filter(|listing| is_current(listing)) {
            return Ok(Arc::clone(listing));
        }
        let shared = &self.shared;
        let (config, settings, previous) = (&shared.config, &shared.settings, slot.as_deref());
        let listing = connection.list_tools(config, settings, previous).await?;
        let listing = Arc::new(listing.reviewed(self.gate.as_ref()).await);
        *slot = Some(Arc::clone(&listing));
        drop(slot);
        *lock(&self.problems) = listing.review.problems.clone();
        *lock(&self.skipped) = listing.skipped_tools();
        *lock(&self.offered) = Some(OfferedTools {
            defined: Arc::clone(&listing.defined),
            era: connection.era,
        });
        self.listing_count.fetch_add(1, Ordering::Relaxed);
        Ok(listing)
    }

    /// The tools of a running server, listed in a new session if the server has forgotten the present one.
    async fn listed(&self, connection: &mut Arc<ServerConnection>) -> Result<Arc<Listing>, String> {
        let listed = self.listing(connection).await;
        if listed.is_ok() || !connection.has_lost_session() {
            return listed;
        }
        let opened = self.open_connection(None).await;
        *connection = opened.map_err(|fault| fault.to_string())?;
        self.listing(connection).await
    }

    /// The same list after another review, if a part was refused: a person may have accepted it since.
    async fn review_again(
        &self,
        connection: &ServerConnection,
        listing: Arc<Listing>,
    ) -> Arc<Listing> {
        if listing.review.refused.is_empty() {
            return listing;
        }
        let again = Listing::clone(&listing).reviewed(self.gate.as_ref()).await;
        let again = Arc::new(again);
        let mut slot = connection.listing.write().await;
        // A newer list has had its own review.
        if slot
            .as_ref()
            .is_some_and(|slot| Arc::ptr_eq(slot, &listing))
        {
            *slot = Some(Arc::clone(&again));
            *lock(&self.problems) = again.review.problems.clone();
        }
        again
    }

    /// The tools known without a request to the server, and the problems to report.
    async fn offered_tools(&self) -> Option<(Vec<ToolSpec>, Vec<String>)> {
        let defined = Arc::clone(&lock(&self.offered).as_ref()?.defined);
        let admitted = |one: &&MappedTool| self.shared.config.tools.admit(&one.tool.name);
        let defined: Vec<MappedTool> = defined.iter().filter(admitted).cloned().collect();
        let review = review(self.gate.as_ref(), definitions(&defined)).await;
        Some((usable_tools(&defined, &review), review.problems))
    }

    /// The failure of a call whose tool does not exist.
    async fn unknown_tool(&self, connection: &ServerConnection, tool: &str) -> Option<ToolFailure> {
        let shared = &self.shared;
        // An unknown tool makes the server list its tools once more; a server need not support lists.
        let listed = {
            let known = connection.listing.read().await.clone();
            known.filter(|listing| listing.is_unchanged(connection.changes()))
        };
        let listed = match listed {
            Some(listing) => Some(listing),
            None => match self.listing(connection).await {
                Ok(listing) => Some(listing),
                // Definitions that the gate could not review may have changed.
                Err(reason) if self.gate.is_some() => return Some(self.unlisted(&reason)),
                Err(_) => None,
            },
        };
        let refused = listed.as_ref();
        if let Some(why) = refused.and_then(|listing| listing.review.refused.get(tool)) {
            let kind = ToolFailureKind::UnknownTool;
            return Some(ToolFailure::not_sent(kind, why));
        }
        let exists = listed.is_none_or(|listing| listing.has(tool));
        (!exists || !shared.config.tools.admit(tool)).then(|| {
            ToolFailure::not_sent(
                ToolFailureKind::UnknownTool,
                format!("the server `{}` has no tool `{tool}`", shared.config.id),
            )
        })
    }

    fn unavailable(&self, fault: &ServerFault) -> ToolFailure {
        ToolFailure::not_sent(ToolFailureKind::Unavailable, self.down_message(fault))
    }

    fn unlisted(&self, reason: &str) -> ToolFailure {
        let message = format!("the server `{}`: {reason}", self.shared.config.id);
        ToolFailure::not_sent(ToolFailureKind::Unavailable, message)
    }

    pub(crate) fn down_message(&self, fault: &ServerFault) -> String {
        let id = &self.shared.config.id;
        if self.shared.settings.expose_faults {
            format!("the server `{id}` is not available: {fault}")
        } else {
            format!("the server `{id}` is not available, and the log says why")
        }
    }
}

#[async_trait]
impl Toolbox for McpToolbox {
    fn id(&self) -> &ToolboxId {
        &self.shared.config.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        // A server that no request has needed yet is not started if its tools are known.
        if self.commands.get().is_none()
            && let Some((tools, problems)) = self.offered_tools().await
        {
            *lock(&self.problems) = problems;
            return Ok(tools);
        }
        let fault = match self.open_connection(None).await {
            Ok(mut connection) => match self.listed(&mut connection).await {
                Ok(listing) => {
                    let listing = self.review_again(&connection, listing).await;
                    return Ok(listing.tools());
                }
                Err(reason) => return Err(self.unlisted(&reason).into()),
            },
            Err(fault) => fault,
        };
        // A server that is down for a while stays in the catalog: a catalog that changes costs more.
        match self.offered_tools().await {
            Some((tools, mut problems)) => {
                let down = self.down_message(&fault);
                problems.insert(0, format!("{down}; the tools that it had are offered"));
                *lock(&self.problems) = problems;
                Ok(tools)
            }
            None => Err(self.unavailable(&fault).into()),
        }
    }

    fn problems(&self) -> Vec<String> {
        lock(&self.problems).clone()
    }

    fn skipped_tools(&self) -> Vec<String> {
        lock(&self.skipped).clone()
    }

    fn hints(&self) -> Vec<(Arc<str>, ToolHints)> {
        let known = lock(&self.offered).clone();
        let trusted = self.shared.config.trusted;
        let defined = known.iter().flat_map(|known| known.defined.iter());
        let hints = defined.filter_map(|one| {
            let hints = definition::hints(&one.definition, trusted)?;
            Some((Arc::clone(&one.tool.name), hints))
        });
        hints.collect()
    }

    fn context(&self) -> Option<&dyn ContextSource> {
        Some(self)
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let Some(arguments) = run.arguments() else {
            let kind = ToolFailureKind::InvalidArguments;
            return Err(ToolFailure::not_sent(kind, "the tools of MCP take a JSON object").into());
        };
        let ended = self.call_once(run, arguments, call, events).await;
        let (connection, refused) = match ended {
            Ok(end) => return Ok(end),
            Err(failed) => failed,
        };
        if connection.is_some_and(|connection| may_mend(&connection, &refused)) {
            let again = self.call_once(run, arguments, call, events).await;
            return again.map_err(|(_, failed)| failed);
        }
        Err(refused)
    }

    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let job = JobHandleForm::from_handle(handle)?;
        let connection = self.connection_for(&job).await?;
        let ended = self.resume_on(&connection, job.clone(), answer, call, events);
        match (ended.await, &job) {
            // It is sent again with what a person has said, and was refused.
            (Err(refused), JobHandleForm::InputRequired(_)) if may_mend(&connection, &refused) => {
                let connection = self.connection_for(&job).await?;
                let again = self.resume_on(&connection, job, answer, call, events);
                again.await
            }
            (ended, _) => ended,
        }
    }

    /// A call of the older era that is held open is cancelled at its server, and so are its question and a task.
    fn abandon(&self, handle: &JobHandle) {
        match JobHandleForm::from_handle(handle) {
            Ok(JobHandleForm::Held(held)) => {
                if let Some(connection) = self.holder(&held.name) {
                    connection.held.give_up(&held.name);
                }
            }
            Ok(JobHandleForm::Task(task)) => {
                if let Some(connection) = self.newest_connection() {
                    drop(TaskCancel::new(&connection, &task, &CallContext::default()));
                }
            }
            Ok(JobHandleForm::InputRequired(_)) | Err(_) => {}
        }
    }
}

impl McpToolbox {
    /// Makes a call on the present connection, which a failure comes with.
    async fn call_once(
        &self,
        run: &ToolRun,
        arguments: &Map<String, Value>,
        context: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, (Option<Arc<ServerConnection>>, ToolError)> {
        let fresh_for = run.fresh.then_some(&run.attempt.call);
        let connection = self.open_connection(fresh_for).await;
        let connection = connection.map_err(|fault| (None, self.unavailable(&fault).into()))?;
        if let Some(missing) = self.unknown_tool(&connection, &run.tool.tool).await {
            return Err((Some(connection), missing.into()));
        }
        let call = ServerCall {
            arguments: arguments.clone(),
            key: run.key.clone(),
            tool: run.tool.tool.to_string(),
        };
        connection.begin_call(&run.attempt.call);
        let call_run = CallRun {
            allowed: connection.allowed_to(events.askable()),
            context,
            connection: &connection,
            limits: self.limits(run),
            max_bytes: run.max_bytes,
        };
        let ended = call_run.begin(call, events).await;
        if ended.is_ok() {
            connection.end_call(&run.attempt.call);
        }
        ended.map_err(|failed| (Some(connection), failed))
    }

    /// Takes a call up on this connection.
    async fn resume_on(
        &self,
        connection: &ServerConnection,
        job: JobHandleForm,
        answer: Option<&ElicitationAnswer>,
        context: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let config = &self.shared.config;
        let call_run = CallRun {
            allowed: connection.allowed_to(events.askable()),
            context,
            connection,
            limits: CallLimits::new(config.max_duration(), config.call_limit),
            max_bytes: 0,
        };
        call_run.resume(job, answer, events).await
    }

    fn limits(&self, run: &ToolRun) -> CallLimits {
        let config = &self.shared.config;
        CallLimits::new(config.max_duration().min(run.time_limit), config.call_limit)
    }
}

/// Whether the server has refused a call because it has forgotten the session, or because our list of its tools is old.
/// So the call was not made.
fn may_mend(connection: &ServerConnection, refused: &ToolError) -> bool {
    let is_refused = refused.failure.disposition == Disposition::NotSent;
    is_refused && (connection.has_lost_session() || connection.take_refused_headers())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The length of the queue to the supervisor.
const COMMAND_QUEUE: usize = 64;
