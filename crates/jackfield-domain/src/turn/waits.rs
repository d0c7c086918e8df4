//! The open waits of a turn, and how the end of one changes its call.

use std::sync::Arc;

use crate::approval::SessionGrant;
use crate::block::ToolCall;
use crate::digest::Digest;
use crate::ids::{ToolAttempt, ToolCallId, WaitId};
use crate::tool::CatalogEntry;
use crate::tool_input::{JsonInput, ToolInput};
use crate::turn::{CallGrant, CallState, RunningCall, Stage, Turn};
use crate::wait::{Answer, Approval, UnknownAnswer, Wait, WaitEnd, WaitKind};

impl Turn {
    /// All open waits, in the order of their calls.
    pub fn waits(&self) -> impl Iterator<Item = &Wait> {
        let of_calls = self.calls().iter().filter_map(|call| match &call.state {
            CallState::Waiting(wait) => Some(wait),
            CallState::Closed(_)
            | CallState::Granted(_)
            | CallState::Lost
            | CallState::Queued
            | CallState::Running(_) => None,
        });
        of_calls.chain(&self.pause)
    }

    /// The call with this id, if it belongs to the current batch.
    #[must_use]
    pub fn open_call(&self, id: &ToolCallId) -> Option<&Arc<ToolCall>> {
        self.calls()
            .iter()
            .find(|call| call.call.id == *id)
            .map(|call| &call.call)
    }

    /// The tool that a wait is about, and the arguments of its call.
    #[must_use]
    pub fn call_for_wait(&self, wait: &Wait) -> Option<(&CatalogEntry, &ToolInput)> {
        let call = self.calls().iter().find(|call| call.call.id == wait.call)?;
        let tool = self.setup.catalog.tool(call.call.name.as_str())?;
        Some((tool, call.edited.as_deref().unwrap_or(&call.call.input)))
    }

    pub(super) fn close_wait(&mut self, id: &WaitId, end: &WaitEnd, subject: Option<Digest>) {
        self.pause.take_if(|pause| pause.id == *id);
        let Stage::Tools(batch) = &mut self.stage else {
            return;
        };
        for call in &mut batch.calls {
            let CallState::Waiting(wait) = &call.state else {
                continue;
            };
            if wait.id != *id {
                continue;
            }
            let WaitEnd::Answered { answer, by, .. } = end else {
                call.state = CallState::Lost;
                return;
            };
            if let Answer::ClientResult(client_result) = answer {
                self.client_ledger
                    .add_result(&call.call.id, &client_result.result);
            }
            let tool = self.setup.catalog.tool(call.call.name.as_str());
            let granted = || {
                CallState::Granted(CallGrant {
                    subject,
                    wait: id.clone(),
                })
            };
            call.state = match (answer, &wait.kind) {
                (
                    Answer::Approval(Approval::Granted {
                        edited,
                        for_session,
                    }),
                    _,
                ) => {
                    // For a call that was edited before, the approval was for the edited arguments.
                    if let Some(fields) = edited.as_deref() {
                        let input = ToolInput::Json(JsonInput::from(fields.clone()));
                        call.edited = Some(Arc::new(input));
                    }
                    if let (true, Some(tool)) = (*for_session, tool) {
                        let grant = SessionGrant {
                            by: Arc::clone(by),
                            digest: tool.digest,
                            wait: id.clone(),
                        };
                        self.grants.add(tool.origin.clone(), grant);
                    }
                    granted()
                }
                // The person knows about the call, and approves this attempt.
                (Answer::UnknownOutcome(UnknownAnswer::Retry), _) => granted(),
                (Answer::Elicitation(answer), WaitKind::Elicitation { handle, .. }) => {
                    CallState::Running(RunningCall {
                        answer: Some(answer.clone()),
                        attempt: ToolAttempt {
                            call: call.call.id.clone(),
                            attempt: call.attempts,
                        },
                        handle: Some(handle.clone()),
                        may_repeat: false,
                        time_limit: tool
                            .and_then(|tool| tool.time_limit)
                            .unwrap_or(self.setup.limits.tool_call),
                    })
                }
                // The same step closes the call with the answer.
                (
                    Answer::Approval(Approval::Denied { .. })
                    | Answer::ClientResult(_)
                    | Answer::Elicitation(_)
                    | Answer::UnknownOutcome(UnknownAnswer::Landed(_) | UnknownAnswer::Report),
                    _,
                ) => CallState::Lost,
            };
            return;
        }
    }
}
