//! The toolboxes of configured servers: startable ones, and broken ones.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolHints, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
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
    pub(crate) pins: Arc<Pins>,
    /// How often it had listed its tools when its instructions were last recorded.
    taken: AtomicU64,
    telling: StartReport,
    words: Mutex<ServerInstructions>,
}

/// The instructions of a server.
#[derive(Default)]
struct ServerInstructions {
    /// Whether models may see them.
    admitted: bool,
    /// Empty if there are none; `None` if unknown.
    said: Option<String>,
}

impl ManagedServer {
    pub(crate) fn new(
        mcp: McpToolbox,
        memory: Option<ToolListFile>,
        pins: Pins,
        config: &McpServerEntry,
        telling: StartReport,
    ) -> Self {
        let pins = Arc::new(pins);
        let mcp = mcp.gated(Arc::clone(&pins) as _);
        let (mcp, said) = match memory.as_ref().and_then(ToolListFile::recall) {
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
            pins,
            taken: AtomicU64::new(0),
            telling,
            words: Mutex::new(ServerInstructions {
                admitted: false,
                said,
            }),
        }
    }

    /// Records the instructions of a running server if it has listed its tools since the last time: most calls
    /// follow the same list, and a list can be long.
    async fn take_down(&self) {
        let times = self.mcp.times_listed();
        if self.taken.load(Ordering::Relaxed) == times
            || !matches!(
                self.mcp.state(),
                jackfield_tools_mcp::ServerState::Ready { .. }
            )
        {
            return;
        }
        let said = self.mcp.instructions().await;
        if let (Some(memory), Some(remembered)) = (&self.memory, self.mcp.remembered()) {
            let (memory, said) = (Arc::clone(memory), said.clone());
            // Blocking: it writes, and compares what can be megabytes.
            let kept = tokio::task::spawn_blocking(move || memory.keep(remembered, said));
            let _what_is_not_kept_is_asked_for_again = kept.await;
        }
        self.taken.store(times, Ordering::Relaxed);
        let said = Some(said.unwrap_or_default());
        let mut words = self.words();
        if words.said != said {
            *words = ServerInstructions {
                admitted: false,
                said,
            };
        }
    }

    /// Checks whether models may see the instructions, unless they are already admitted.
    async fn weigh(&self) {
        let said = {
            let words = self.words();
            words.said.clone().filter(|_| !words.admitted)
        };
        let Some(said) = said else {
            return;
        };
        let (pins, text) = (Arc::clone(&self.pins), said.clone());
        let looked = tokio::task::spawn_blocking(move || pins.admit(&text)).await;
        let mut words = self.words();
        if words.said == Some(said) {
            words.admitted = looked.unwrap_or_default();
        }
    }

    /// Whether its patterns exclude every tool: it is not started to list them.
    pub(crate) fn offers_nothing(&self) -> bool {
        self.offers_nothing
    }

    fn words(&self) -> MutexGuard<'_, ServerInstructions> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
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
            started.map_err(|fault| self.telling.down(&fault))?;
        }
        let tools = self.mcp.list().await?;
        self.listed.store(true, Ordering::Relaxed);
        self.take_down().await;
        self.weigh().await;
        match self.pins.fault() {
            Some(fault) => Err(self.telling.told(fault)),
            None => Ok(tools),
        }
    }

    fn instructions(&self) -> Option<String> {
        let words = self.words();
        words.said.clone().filter(|_| words.admitted)
    }

    fn problems(&self) -> Vec<String> {
        let problems = self.pins.withheld().into_iter();
        problems.chain(self.mcp.problems()).collect()
    }

    fn hints(&self) -> Vec<(Arc<str>, ToolHints)> {
        self.mcp.hints()
    }

    async fn call(&self, run: &ToolRun, events: &mut dyn ToolEvents) -> Result<ToolEnd, ToolError> {
        let ended = self.mcp.call(run, events).await;
        // The first call of a lazy server starts it.
        self.take_down().await;
        ended
    }

    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        self.mcp.resume(handle, answer, events).await
    }
}

/// Reports that a server cannot be used.
pub(crate) struct StartReport {
    /// Whether only the log has the reason, because clients are on other machines.
    discreet: bool,
    id: ToolboxId,
    /// The last logged reason, so that not every request logs it again.
    logged: Mutex<Option<String>>,
}

impl StartReport {
    pub(crate) fn new(id: ToolboxId, discreet: bool) -> Self {
        Self {
            discreet,
            id,
            logged: Mutex::default(),
        }
    }

    /// The error for a server that did not start; logged already.
    fn down(&self, fault: &ServerFault) -> ToolError {
        if self.discreet {
            self.untold()
        } else {
            self.unavailable(fault)
        }
    }

    fn unavailable(&self, fault: &ServerFault) -> ToolError {
        self.told(format!(
            "the server `{}` is not available: {fault}",
            self.id
        ))
    }

    fn told(&self, why: String) -> ToolError {
        if !self.discreet {
            return ToolFailure::not_sent(ToolFailureKind::Unavailable, why).into();
        }
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.as_ref() != Some(&why) {
            tracing::warn!(server = %self.id, why, "an MCP server cannot be used");
            *logged = Some(why);
        }
        self.untold()
    }

    fn untold(&self) -> ToolError {
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
    pub(crate) telling: Arc<StartReport>,
}

impl BrokenServer {
    fn error(&self) -> ToolError {
        self.telling.unavailable(&self.fault)
    }
}

#[async_trait]
impl Toolbox for BrokenServer {
    fn id(&self) -> &ToolboxId {
        &self.telling.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Err(self.error())
    }

    async fn call(
        &self,
        _run: &ToolRun,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        Err(self.error())
    }
}
