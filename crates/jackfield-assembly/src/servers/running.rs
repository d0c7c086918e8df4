//! The toolboxes of configured servers: one that can be started, and one that cannot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::ToolSpec;
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_tools_mcp::{Fault, McpToolbox};

use crate::servers::memory::Memory;
use crate::servers::pins::Pins;

/// A server that can be started, with its words of the last list.
pub(crate) struct Running {
    instructions: Mutex<Option<String>>,
    lazy: bool,
    /// Whether its tools were had from itself once, so that it keeps its place when it is down.
    listed: AtomicBool,
    pub(crate) mcp: McpToolbox,
    memory: Option<Memory>,
    pub(crate) pins: Arc<Pins>,
}

impl Running {
    pub(crate) fn new(mcp: McpToolbox, memory: Option<Memory>, pins: Pins, lazy: bool) -> Self {
        let pins = Arc::new(pins);
        let mcp = mcp.gated(Arc::clone(&pins) as _);
        let (mcp, said) = match memory.as_ref().and_then(Memory::recall) {
            Some((remembered, said)) => (mcp.remembering(remembered), said),
            None => (mcp, None),
        };
        Self {
            instructions: Mutex::new(said),
            lazy,
            listed: AtomicBool::new(false),
            mcp,
            memory,
            pins,
        }
    }

    /// Takes down what a server that runs says of itself.
    async fn take_down(&self) {
        if !matches!(
            self.mcp.state(),
            jackfield_tools_mcp::ServerState::Ready { .. }
        ) {
            return;
        }
        let said = self.mcp.instructions().await;
        if let (Some(memory), Some(remembered)) = (&self.memory, self.mcp.remembered()) {
            memory.keep(&remembered, said.as_deref());
        }
        *self
            .instructions
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = said;
    }
}

#[async_trait]
impl Toolbox for Running {
    fn id(&self) -> &ToolboxId {
        self.mcp.id()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        if !self.lazy && !self.listed.load(Ordering::Relaxed) {
            // What is remembered spares it questions, but nobody is offered what does not run.
            self.mcp.start().await.map_err(|fault| {
                let id = self.mcp.id();
                let message = format!("the server `{id}` is not available: {fault}");
                ToolFailure::not_sent(ToolFailureKind::Unavailable, message)
            })?;
        }
        let tools = self.mcp.list().await?;
        self.listed.store(true, Ordering::Relaxed);
        self.take_down().await;
        match self.pins.fault() {
            Some(fault) => Err(ToolFailure::not_sent(ToolFailureKind::Unavailable, fault).into()),
            None => Ok(tools),
        }
    }

    fn instructions(&self) -> Option<String> {
        let said = self.instructions.lock();
        said.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn problems(&self) -> Vec<String> {
        self.mcp.problems()
    }

    async fn call(&self, run: &ToolRun, events: &mut dyn ToolEvents) -> Result<ToolEnd, ToolError> {
        let ended = self.mcp.call(run, events).await;
        // The first call of a lazy server is what starts it.
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

/// A server that cannot even be started, so that whoever lists tools is told.
pub(crate) struct Wrong {
    pub(crate) fault: Fault,
    pub(crate) id: ToolboxId,
}

impl Wrong {
    fn error(&self) -> ToolError {
        let message = format!("the server `{}` is not available: {}", self.id, self.fault);
        ToolFailure::not_sent(ToolFailureKind::Unavailable, message).into()
    }
}

#[async_trait]
impl Toolbox for Wrong {
    fn id(&self) -> &ToolboxId {
        &self.id
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
