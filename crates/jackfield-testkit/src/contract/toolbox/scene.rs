//! The setting of the clauses: a toolbox, and runs of its tools.
#![expect(clippy::expect_used, reason = "a clause ends where its toolbox fails")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::ToolFailure;
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::JobHandle;
use jackfield_ports::toolbox::{Afterwards, ToolEnd, ToolEvents, Toolbox};

use tokio::sync::mpsc;

use super::{SampleCall, ToolboxHarness};

/// A fresh toolbox.
pub(super) struct ToolboxScene<H> {
    pub(super) harness: H,
    pub(super) toolbox: Arc<dyn Toolbox>,
}

impl<H: ToolboxHarness> ToolboxScene<H> {
    pub(super) async fn begin() -> Self {
        let harness = H::fresh().await;
        let toolbox = harness.toolbox();
        Self { harness, toolbox }
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
        let end = with_timeout(self.toolbox.call(run, &mut ())).await;
        end.map_err(|error| error.failure)
    }

    /// The result of a run, which must have one.
    pub(super) async fn result(&self, run: &ToolRun) -> ToolResult {
        match self.end(run).await {
            Ok(ToolEnd::Finished(result)) => result,
            other @ (Ok(ToolEnd::Asked { .. }) | Err(_)) => panic!("{other:?} from {run:?}"),
        }
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
    async fn accepted(&mut self, _handle: JobHandle) {}

    fn afterwards(&self) -> Option<Afterwards> {
        let sender = self.0.clone();
        Some(Afterwards::new(move |result| {
            let _gone = sender.send(result);
        }))
    }

    async fn progressed(&mut self, _done: f64, _of: Option<f64>, _message: Option<String>) {}
}

/// Awaits an answer with a time limit, so that a toolbox that never answers fails here instead of hanging.
pub(super) async fn with_timeout<T>(answer: impl Future<Output = T>) -> T {
    let answered = tokio::time::timeout(Duration::from_secs(20), answer).await;
    answered.expect("an answer within 20 seconds")
}

// Messages for calls that a harness does not provide.
pub(super) const CRASHING: &str = "`crashing` of the harness is a call whose tool crashes; without such a tool, except this clause";
pub(super) const FAILING: &str = "`failing` of the harness is a call that its tool fails; without such a tool, except this clause";
const IS_RUNNING: &str = "`is_running` of the harness tells whether a tool runs; where nobody can know, except this clause";
pub(super) const LASTING: &str = "`lasting` of the harness is a call that runs until it is cancelled; \
     without such a tool, except this clause";
pub(super) const OUTLIVING: &str = "`outliving` of the harness is a call whose outcome comes after it was \
     dropped; without such a tool, except this clause";
const RUNS: &str =
    "`runs` of the harness counts how often tools ran; where nobody can count, except this clause";
