//! Limits how long turns wait for a server: it starts and lists its tools in the background, and turns offer what
//! is ready.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolHints, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::{
    Completion, CompletionRequest, ContextChanges, ContextError, ContextErrorKind, ContextSource,
    PromptArguments, PromptMessages, PromptSpec, ResourceContents, ResourceList,
};
use jackfield_ports::question_handler::QuestionHandler;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::servers::managed_server::ManagedServer;

/// A server as turns use it. A listing that exceeds the wait continues in the background, and later listings do
/// not wait for it. The waits for a failing server share one budget until it has listed its tools.
pub(crate) struct Prompt {
    /// Help about longer waits, for readers who can configure that.
    advice: &'static str,
    /// Whether a listing continues in the background.
    late: watch::Sender<bool>,
    calls: OpenCalls,
    pub(crate) running: Arc<ManagedServer>,
    pub(crate) wait: Duration,
    waits: Arc<Mutex<StartWaits>>,
}

/// The state of waiting for a server.
#[derive(Default)]
struct StartWaits {
    /// Why the last listing failed.
    fault: Option<String>,
    /// The tools of its last successful listing.
    last: Option<Vec<ToolSpec>>,
    /// The start of the current wait.
    since: Option<Instant>,
    /// The time spent on failed waits since the last successful listing.
    spent: Duration,
    /// Why the tools of the last listing are offered instead of the current ones.
    stale: Option<String>,
}

impl StartWaits {
    /// The remaining time of this wait.
    fn begin(&mut self, wait: Duration) -> Duration {
        let since = *self.since.get_or_insert_with(Instant::now);
        wait.saturating_sub(self.spent + since.elapsed())
    }

    fn end(&mut self, listed: &Result<Vec<ToolSpec>, ToolError>) {
        match listed {
            Ok(tools) => {
                *self = Self {
                    last: Some(tools.clone()),
                    ..Self::default()
                };
            }
            Err(error) => {
                let waited = self.since.take().map(|since| since.elapsed());
                self.spent += waited.unwrap_or_default();
                self.fault = Some(error.failure.message.clone());
            }
        }
    }
}

impl Prompt {
    /// A server with this wait.
    pub(crate) fn new(running: ManagedServer, wait: Duration, redact_details: bool) -> Self {
        Self {
            advice: if redact_details { "" } else { ADVICE },
            late: watch::Sender::new(false),
            calls: OpenCalls::default(),
            running: Arc::new(running),
            wait,
            waits: Arc::default(),
        }
    }

    /// Waits for the end of a listing in the background.
    pub(crate) async fn wait_for_listing(&self) {
        let mut late = self.late.subscribe();
        let _over = late.wait_for(|late| !late).await;
    }

    /// Ends the server for good, after its open calls, but no later than after `limit`. New calls are refused at
    /// once.
    pub(crate) async fn retire(&self, limit: Duration) {
        self.calls.close();
        let _late = timeout(limit, self.calls.wait_until_done()).await;
        self.running.mcp.stop().await;
    }

    /// The failure of a call after the server was replaced.
    fn replaced(&self) -> String {
        format!(
            "the configuration of the server `{}` has changed since this turn began: the next turn has it as it is now",
            self.id()
        )
    }

    fn open_context(&self) -> Result<(&dyn ContextSource, OpenCall<'_>), ContextError> {
        let open = self.calls.begin();
        open.and_then(|open| Some((self.running.context()?, open)))
            .ok_or_else(|| ContextError::new(ContextErrorKind::Unavailable, self.replaced()))
    }

    fn lock_waits(&self) -> MutexGuard<'_, StartWaits> {
        lock(&self.waits)
    }

    /// The tools offered if the server has not listed them in time.
    fn fallback_tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let mut waits = self.lock_waits();
        let why = match &waits.fault {
            Some(fault) => format!("{fault}; it is tried again in the background"),
            None => format!(
                "the server `{}` has not listed its tools within {} s, and goes on in the background{}",
                self.id(),
                self.wait.as_secs_f64(),
                self.advice,
            ),
        };
        match waits.last.clone() {
            Some(tools) => {
                waits.stale = Some(format!("{why}; the tools that it had are offered"));
                Ok(tools)
            }
            None => Err(ToolFailure::not_sent(ToolFailureKind::Unavailable, why).into()),
        }
    }
}

#[async_trait]
impl Toolbox for Prompt {
    fn id(&self) -> &ToolboxId {
        self.running.id()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        if self.running.offers_nothing() {
            return Ok(Vec::new());
        }
        if self.calls.is_closed() {
            let kind = ToolFailureKind::Unavailable;
            return Err(ToolFailure::not_sent(kind, self.replaced()).into());
        }
        if *self.late.borrow() {
            return self.fallback_tools();
        }
        let remaining = self.lock_waits().begin(self.wait);
        let running = Arc::clone(&self.running);
        let mut listing = Box::pin(async move { running.list().await });
        if let Ok(listed) = timeout(remaining, &mut listing).await {
            self.lock_waits().end(&listed);
            return listed;
        }
        // Of concurrent listings, one continues for all.
        if !self.late.send_replace(true) {
            if self.lock_waits().fault.is_none() {
                tracing::warn!(server = %self.id(), "an MCP server is waited for no longer");
            }
            let (late, waits) = (BackgroundList(self.late.clone()), Arc::clone(&self.waits));
            tokio::spawn(async move {
                let listed = listing.await;
                lock(&waits).end(&listed);
                drop(late);
            });
        }
        self.fallback_tools()
    }

    async fn wait_until_listed(&self) {
        self.wait_for_listing().await;
    }

    fn instructions(&self) -> Option<String> {
        self.running.instructions()
    }

    fn problems(&self) -> Vec<String> {
        let stale = self.lock_waits().stale.clone();
        let problems = self.running.problems();
        stale.into_iter().chain(problems).collect()
    }

    fn skipped_tools(&self) -> Vec<String> {
        self.running.skipped_tools()
    }

    fn hints(&self) -> Vec<(Arc<str>, ToolHints)> {
        self.running.hints()
    }

    fn context(&self) -> Option<&dyn ContextSource> {
        let has_context = self.running.context().is_some() && !self.calls.is_closed();
        has_context.then_some(self)
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let Some(_open) = self.calls.begin() else {
            let kind = ToolFailureKind::Unavailable;
            return Err(ToolFailure::not_sent(kind, self.replaced()).into());
        };
        self.running.call(run, call, events).await
    }

    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let Some(_open) = self.calls.begin() else {
            let kind = ToolFailureKind::Unavailable;
            return Err(ToolFailure::unknown(kind, self.replaced()).into());
        };
        self.running.resume(handle, answer, call, events).await
    }

    fn abandon(&self, handle: &JobHandle) {
        self.running.abandon(handle);
    }
}

/// Requests count as calls: a server that was replaced ends after them, and must not start again for another one.
#[async_trait]
impl ContextSource for Prompt {
    async fn resources(&self) -> Result<ResourceList, ContextError> {
        let (context, _open) = self.open_context()?;
        context.resources().await
    }

    async fn read(
        &self,
        uri: &str,
        max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<ResourceContents, ContextError> {
        let (context, _open) = self.open_context()?;
        context.read(uri, max_bytes, questions).await
    }

    async fn prompts(&self) -> Result<Vec<PromptSpec>, ContextError> {
        let (context, _open) = self.open_context()?;
        context.prompts().await
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &PromptArguments,
        max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<PromptMessages, ContextError> {
        let (context, _open) = self.open_context()?;
        context.prompt(name, arguments, max_bytes, questions).await
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ContextError> {
        let (context, _open) = self.open_context()?;
        context.complete(request).await
    }

    /// Counts as no call: a server that was replaced does not wait for it.
    async fn watch(&self, uris: &[Arc<str>], changes: &mut dyn ContextChanges) -> ContextError {
        let replaced = || ContextError::new(ContextErrorKind::Unavailable, self.replaced());
        let Some(context) = self.running.context() else {
            return replaced();
        };
        tokio::select! {
            ended = context.watch(uris, changes) => ended,
            () = self.calls.wait_until_closed() => replaced(),
        }
    }
}

/// The number of open calls, and whether more are refused.
struct OpenCalls(watch::Sender<(usize, bool)>);

impl Default for OpenCalls {
    fn default() -> Self {
        Self(watch::Sender::new((0, false)))
    }
}

impl OpenCalls {
    /// Opens a call, which its guard ends; `None` if calls are refused.
    fn begin(&self) -> Option<OpenCall<'_>> {
        let is_open = self.0.send_if_modified(|(open, closed)| {
            if !*closed {
                *open += 1;
            }
            !*closed
        });
        is_open.then_some(OpenCall(self))
    }

    fn close(&self) {
        self.0.send_modify(|(_, closed)| *closed = true);
    }

    fn is_closed(&self) -> bool {
        self.0.borrow().1
    }

    async fn wait_until_closed(&self) {
        let mut calls = self.0.subscribe();
        let _closed = calls.wait_for(|(_, closed)| *closed).await;
    }

    async fn wait_until_done(&self) {
        let mut calls = self.0.subscribe();
        let _done = calls.wait_for(|(open, _)| *open == 0).await;
    }
}

struct OpenCall<'a>(&'a OpenCalls);

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|(open, _)| *open -= 1);
    }
}

/// Marks a listing in the background, until it ends in any way.
struct BackgroundList(watch::Sender<bool>);

impl Drop for BackgroundList {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

fn lock(waits: &Mutex<StartWaits>) -> MutexGuard<'_, StartWaits> {
    waits.lock().unwrap_or_else(PoisonError::into_inner)
}

const ADVICE: &str = "; raise `start_wait` under [mcp] to wait longer";
