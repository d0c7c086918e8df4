//! The setting of the clauses: a toolbox, and runs of its tools.
#![expect(clippy::expect_used, reason = "a clause ends where its toolbox fails")]

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::ToolFailure;
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{Safety, ToolOrigin};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{LateOutcomeHandler, ToolEnd, ToolEvents, Toolbox};
use serde_json::json;
use tokio::sync::mpsc;

use super::threads::with_timeout;
use super::{SampleCall, ToolboxHarness};

/// A fresh toolbox.
pub(super) struct ToolboxScene<H> {
    pub(super) harness: H,
    /// The calls so far, each with its outcome.
    log: Mutex<Vec<String>>,
    pub(super) toolbox: Arc<dyn Toolbox>,
}

/// A clause that fails shows the calls before its failure.
impl<H> Drop for ToolboxScene<H> {
    #[expect(clippy::print_stderr, reason = "the output of a test that fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log.get_mut().unwrap_or_else(PoisonError::into_inner);
            for call in log.iter().skip(log.len().saturating_sub(SHOWN)) {
                eprintln!("called {call}");
            }
        }
    }
}

impl<H: ToolboxHarness> ToolboxScene<H> {
    pub(super) async fn begin() -> Self {
        let harness = H::fresh().await;
        let (log, toolbox) = (Mutex::default(), harness.toolbox());
        Self {
            harness,
            log,
            toolbox,
        }
    }

    /// A run of a call with this id, which must be unique.
    pub(super) fn run(&self, id: &str, call: SampleCall) -> ToolRun {
        let SampleCall { arguments, tool } = call;
        let fields = arguments.as_object().expect("arguments are an object");
        let call = ToolCallId::parse(id).expect("a valid id");
        ToolRun {
            fresh: false,
            input: ToolInput::Json(JsonInput::from(fields.clone())),
            key: IdempotencyKey::derive(&call),
            attempt: ToolAttempt { call, attempt: 1 },
            max_bytes: 1 << 20,
            time_limit: Duration::from_secs(30),
            tool: ToolOrigin {
                tool,
                toolbox: self.toolbox.id().clone(),
            },
        }
    }

    /// The end of a run, which must arrive.
    pub(super) async fn end(&self, run: &ToolRun) -> Result<ToolEnd, ToolFailure> {
        self.end_in(run, &CallContext::default()).await
    }

    /// As [`end`](Self::end), in these circumstances.
    pub(super) async fn end_in(
        &self,
        run: &ToolRun,
        call: &CallContext,
    ) -> Result<ToolEnd, ToolFailure> {
        let end = with_timeout(self.toolbox.call(run, call, &mut ())).await;
        let end = end.map_err(|error| error.failure);
        self.record(run, &end);
        end
    }

    /// Keeps a call for the message of a clause that fails.
    pub(super) fn record(&self, run: &ToolRun, end: &impl Debug) {
        let (tool, arguments) = (&run.tool.tool, json!(run.arguments()));
        let (key, attempt) = (&run.key, &run.attempt);
        let (call, attempt) = (&attempt.call, attempt.attempt);
        let told =
            format!("`{tool}` {arguments} as {call}, attempt {attempt}, key {key}:\n  {end:?}");
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(told);
    }

    /// The result of a run, which must have one.
    pub(super) async fn result(&self, run: &ToolRun) -> ToolResult {
        match self.end(run).await {
            Ok(ToolEnd::Finished(result)) => result,
            other @ (Ok(ToolEnd::Asked { .. }) | Err(_)) => panic!("{other:?} from {run:?}"),
        }
    }

    /// The effects so far, with those of tasks that a call has left behind.
    pub(super) async fn effects(&self) -> Vec<String> {
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
        with_timeout(self.harness.effects()).await.expect(EFFECTS)
    }

    /// The calls among these whose tools make this promise. Each tool of the list that makes it must have one.
    pub(super) async fn promised(&self, safety: Safety, calls: Vec<SampleCall>) -> Vec<SampleCall> {
        let list = with_timeout(self.toolbox.list()).await.expect("a list");
        let promise = |tool: &str| {
            let spec = list.iter().find(|spec| *spec.name == *tool);
            spec.is_some_and(|spec| spec.safety == safety)
        };
        for spec in list.iter().filter(|spec| spec.safety == safety) {
            let is_called = calls.iter().any(|call| call.tool == spec.name);
            assert!(
                is_called,
                "`{}` is {safety:?}, and the harness has no call of it to test that",
                spec.name
            );
        }
        let calls = calls.into_iter();
        calls.filter(|call| promise(&call.tool)).collect()
    }

    pub(super) fn runs(&self) -> usize {
        self.harness.runs().expect(RUNS)
    }

    /// Waits until a tool is running, or until none is.
    pub(super) async fn wait_until_running(&self, running: bool) {
        let poll = async {
            while self.harness.is_running().expect(IS_RUNNING) != running {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        with_timeout(poll).await;
    }
}

/// Receives the late outcome of a dropped call.
pub(super) struct LateListener(pub(super) mpsc::UnboundedSender<ToolResult>);

#[async_trait]
impl ToolEvents for LateListener {
    async fn on_accepted(&mut self, _handle: JobHandle) {}

    fn late_outcome(&self) -> Option<LateOutcomeHandler> {
        let sender = self.0.clone();
        Some(LateOutcomeHandler::new(move |result| {
            let _gone = sender.send(result);
        }))
    }

    async fn on_progress(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

/// How many of the last calls a failure shows.
const SHOWN: usize = 6;

/// How often other tasks may run before effects are looked at.
const YIELDS: usize = 32;

// Messages for calls that a harness does not provide.
pub(super) const ACTING: &str = "`acting` of the harness has calls of each tool that is `Idempotent`; \
     without such a tool, except this clause";
pub(super) const CRASHING: &str = "`crashing` of the harness is a call whose tool crashes; without such a tool, except this clause";
const EFFECTS: &str = "`effects` of the harness has the effects of the calls so far; where nothing has an effect, except this clause";
pub(super) const FAILING: &str = "`failing` of the harness is a call that its tool fails; without such a tool, except this clause";
const IS_RUNNING: &str = "`is_running` of the harness tells whether a tool runs; where nobody can know, except this clause";
pub(super) const LASTING: &str = "`lasting` of the harness is a call that runs until it is cancelled; \
     without such a tool, except this clause";
pub(super) const OUTLIVING: &str = "`outliving` of the harness is a call whose outcome comes after it was \
     dropped; without such a tool, except this clause";
pub(super) const READ_ONLY: &str = "`read_only` of the harness has calls of each tool that is `ReadOnly`; \
     without such a tool, except this clause";
pub(super) const RESTARTED: &str = "`restarted` of the harness is the toolbox of the next process; \
     where nothing outlives a process, except this clause";
const RUNS: &str =
    "`runs` of the harness counts how often tools ran; where nobody can count, except this clause";
