//! Recovery with a toolbox that is not ready yet, such as an MCP server that starts slowly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use jackfield_domain::fact::CallEnd;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{Safety, ToolSpec};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;

use crate::fixture::{Log, OneTool, engine};
use crate::resuming::{crash_in_a_tool, ends, model, over, resume};

/// Lists its tools only when its start in the background is over.
struct Slow<T> {
    is_ready: AtomicBool,
    toolbox: T,
}

#[async_trait]
impl<T: Toolbox> Toolbox for Slow<T> {
    fn id(&self) -> &ToolboxId {
        self.toolbox.id()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        if self.is_ready.load(Ordering::SeqCst) {
            return self.toolbox.list().await;
        }
        Err(ToolFailure::not_sent(ToolFailureKind::Unavailable, "it starts").into())
    }

    async fn wait_until_listed(&self) {
        self.is_ready.store(true, Ordering::SeqCst);
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        self.toolbox.call(run, call, events).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_recovered_turn_waits_for_a_toolbox_that_starts_and_is_not_parked() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::Unknown).await;
    let log = Log::default();
    let toolbox = Slow {
        is_ready: AtomicBool::new(false),
        toolbox: OneTool::new(&log, |_| async { ToolResult::text("done") }),
    };
    let engine = engine(model(&log), toolbox, journal);
    let report = over(engine.resume(resume(), &mut ()).await);
    assert_eq!(ends(&report), [CallEnd::Reported, CallEnd::Ran]);
}
