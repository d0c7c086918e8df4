//! The toolboxes of configured servers: startable ones, and broken ones.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolHints, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::ContextSource;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_tools_mcp::{McpToolbox, ServerFault};

use crate::servers::McpServerEntry;
use crate::servers::memory::ToolListFile;
use crate::servers::pins::Pins;

/// A server that can be started, with its instructions from the last listing.
pub(crate) struct ManagedServer {
    lazy: bool,
    /// Whether it has listed its tools once, so that it keeps its place when it is down.
    listed: AtomicBool,
    pub(crate) mcp: McpToolbox,
    memory: Option<Arc<ToolListFile>>,
    offers_nothing: bool,
    /// Whether its patterns name the tools that it offers: its resources and prompts are not offered then, as no
    /// pattern names them.
    offers_only_tools: bool,
    pub(crate) pins: Arc<Pins>,
    /// How often it had listed its tools when its instructions were last recorded.
    recorded_listing: AtomicU64,
    start_report: StartReport,
    instructions: Mutex<ServerInstructions>,
}

/// The instructions of a server.
#[derive(Default)]
struct ServerInstructions {
    /// Whether models may see them.
    admitted: bool,
    /// Empty if there are none; `None` if unknown.
    text: Option<String>,
}

impl ManagedServer {
    pub(crate) fn new(
        mcp: McpToolbox,
        memory: Option<ToolListFile>,
        pins: Pins,
        config: &McpServerEntry,
        start_report: StartReport,
    ) -> Self {
        let pins = Arc::new(pins);
        let mcp = mcp.gated(Arc::clone(&pins) as _);
        let (mcp, said) = match memory.as_ref().and_then(ToolListFile::load) {
            Some((remembered, said)) => {
                (mcp.remembering(remembered), Some(said.unwrap_or_default()))
            }
            None => (mcp, None),
        };
        Self {
            lazy: config.lazy,
            listed: AtomicBool::new(false),
            mcp,
            memory: memory.map(Arc::new),
            offers_nothing: config.tools.admit_nothing(),
            offers_only_tools: config.tools.admit_some(),
            pins,
            recorded_listing: AtomicU64::new(0),
            start_report,
            instructions: Mutex::new(ServerInstructions {
                admitted: false,
                text: said,
            }),
        }
    }

    /// Records the instructions of a running server if it has listed its tools since the last time: most calls
    /// follow the same list, and a list can be long.
    async fn record_instructions(&self) {
        let times = self.mcp.times_listed();
        if self.recorded_listing.load(Ordering::Relaxed) == times
            || !matches!(
                self.mcp.state(),
                jackfield_tools_mcp::ServerState::Ready { .. }
            )
        {
            return;
        }
        let text = self.mcp.instructions().await;
        if let (Some(memory), Some(remembered)) = (&self.memory, self.mcp.remembered()) {
            let (memory, said) = (Arc::clone(memory), text.clone());
            // Blocking: it writes, and compares what can be megabytes.
            let kept = tokio::task::spawn_blocking(move || memory.store(remembered, said));
            let _what_is_not_kept_is_asked_for_again = kept.await;
        }
        self.recorded_listing.store(times, Ordering::Relaxed);
        let text = Some(text.unwrap_or_default());
        let mut instructions = self.lock_instructions();
        if instructions.text != text {
            *instructions = ServerInstructions {
                admitted: false,
                text,
            };
        }
    }

    /// Checks whether models may see the instructions, unless they are already admitted.
    async fn review_instructions(&self) {
        let said = {
            let instructions = self.lock_instructions();
            instructions.text.clone().filter(|_| !instructions.admitted)
        };
        let Some(said) = said else {
            return;
        };
        let (pins, text) = (Arc::clone(&self.pins), said.clone());
        let is_admitted = tokio::task::spawn_blocking(move || pins.admit(&text)).await;
        let mut instructions = self.lock_instructions();
        if instructions.text == Some(said) {
            instructions.admitted = is_admitted.unwrap_or_default();
        }
    }

    /// Whether its patterns exclude every tool: it is not started to list them.
    pub(crate) fn offers_nothing(&self) -> bool {
        self.offers_nothing
    }

    fn lock_instructions(&self) -> MutexGuard<'_, ServerInstructions> {
        self.instructions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for ManagedServer {
    fn id(&self) -> &ToolboxId {
        self.mcp.id()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        if !self.lazy && !self.listed.load(Ordering::Relaxed) {
            // The cached list saves requests, but only a running server is offered.
            let started = self.mcp.start().await;
            started.map_err(|fault| self.start_report.start_error(&fault))?;
        }
        let tools = self.mcp.list().await?;
        self.listed.store(true, Ordering::Relaxed);
        self.record_instructions().await;
        self.review_instructions().await;
        match self.pins.fault() {
            Some(fault) => Err(self.start_report.report(fault)),
            None => Ok(tools),
        }
    }

    fn instructions(&self) -> Option<String> {
        let instructions = self.lock_instructions();
        instructions.text.clone().filter(|_| instructions.admitted)
    }

    fn problems(&self) -> Vec<String> {
        let problems = self.pins.withheld().into_iter();
        problems.chain(self.mcp.problems()).collect()
    }

    fn skipped_tools(&self) -> Vec<String> {
        self.mcp.skipped_tools()
    }

    fn hints(&self) -> Vec<(Arc<str>, ToolHints)> {
        self.mcp.hints()
    }

    fn context(&self) -> Option<&dyn ContextSource> {
        self.mcp.context().filter(|_| !self.offers_only_tools)
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let ended = self.mcp.call(run, call, events).await;
        // The first call of a lazy server starts it.
        self.record_instructions().await;
        ended
    }

    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        self.mcp.resume(handle, answer, call, events).await
    }

    fn abandon(&self, handle: &JobHandle) {
        self.mcp.abandon(handle);
    }
}

/// Reports that a server cannot be used.
pub(crate) struct StartReport {
    /// Whether only the log has the reason, because clients are on other machines.
    redact_details: bool,
    id: ToolboxId,
    /// The last logged reason, so that not every request logs it again.
    logged: Mutex<Option<String>>,
}

impl StartReport {
    pub(crate) fn new(id: ToolboxId, redact_details: bool) -> Self {
        Self {
            redact_details,
            id,
            logged: Mutex::default(),
        }
    }

    /// The error for a server that did not start; logged already.
    fn start_error(&self, fault: &ServerFault) -> ToolError {
        if self.redact_details {
            self.redacted_error()
        } else {
            self.unavailable(fault)
        }
    }

    fn unavailable(&self, fault: &ServerFault) -> ToolError {
        self.report(format!(
            "the server `{}` is not available: {fault}",
            self.id
        ))
    }

    fn report(&self, why: String) -> ToolError {
        if !self.redact_details {
            return ToolFailure::not_sent(ToolFailureKind::Unavailable, why).into();
        }
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.as_ref() != Some(&why) {
            tracing::warn!(server = %self.id, why, "an MCP server cannot be used");
            *logged = Some(why);
        }
        self.redacted_error()
    }

    fn redacted_error(&self) -> ToolError {
        let message = format!(
            "the server `{}` is not available, and the log says why",
            self.id
        );
        ToolFailure::not_sent(ToolFailureKind::Unavailable, message).into()
    }
}

/// A server that cannot be started, which reports that when tools are listed.
pub(crate) struct BrokenServer {
    pub(crate) fault: ServerFault,
    pub(crate) start_report: Arc<StartReport>,
}

impl BrokenServer {
    /// A server with this fault, which those who see its tools may know.
    pub(crate) fn new(id: ToolboxId, fault: ServerFault) -> Self {
        Self {
            fault,
            start_report: Arc::new(StartReport::new(id, false)),
        }
    }

    fn error(&self) -> ToolError {
        self.start_report.unavailable(&self.fault)
    }
}

#[async_trait]
impl Toolbox for BrokenServer {
    fn id(&self) -> &ToolboxId {
        &self.start_report.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Err(self.error())
    }

    async fn call(
        &self,
        _run: &ToolRun,
        _call: &CallContext,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        Err(self.error())
    }
}
