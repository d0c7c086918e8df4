//! Reads and prompts whose server asks something first (MCP 2026-07-28, "Multi Round-Trip Requests", read 2026-11-27).

use std::sync::Arc;

use jackfield_domain::wait::ElicitationAnswer;
use jackfield_ports::context_source::{ContextError, ContextErrorKind};
use jackfield_ports::question_handler::QuestionHandler;
use rmcp::model::{ClientRequest, InputResponses};
use serde_json::Value;
use tokio::time::sleep;

use crate::connection::ServerConnection;
use crate::questions::{AllowedQuestions, Questions, Refusal};
use crate::roots;
use crate::run::{MAX_ROUNDS, REPEAT_PAUSE};
use crate::toolbox::McpToolbox;

/// What a request that is sent again brings along.
#[derive(Default)]
pub(super) struct ContextInput {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

impl McpToolbox {
    /// The result of a request, after the server has asked what it wants to know.
    pub(super) async fn answer_asking(
        &self,
        connection: &Arc<ServerConnection>,
        request: &(dyn Fn(ContextInput) -> ClientRequest + Send + Sync),
        max_bytes: usize,
        handler: &mut dyn QuestionHandler,
    ) -> Result<Value, ContextError> {
        let mut input = ContextInput::default();
        let mut declined = None;
        let askable = handler.askable();
        let meta = connection.caller_meta(askable);
        // Each elicitation that is declined is named in the error.
        let allowed = AllowedQuestions {
            forms: connection.allowed.forms,
            pages: connection.allowed.pages,
            ..connection.allowed_to(askable)
        };
        for _ in 0..MAX_ROUNDS {
            let (request, meta) = (request(input), Some(meta.clone()));
            let answered = self.answer_with(connection, request, meta, max_bytes);
            let answered = answered.await;
            let answer = answered.map_err(|mut error| {
                if let Some(asked) = &declined {
                    error.message =
                        format!("{}; it asked, and got no answer: {asked}", error.message);
                }
                error
            })?;
            match answer.get("resultType").and_then(Value::as_str) {
                None | Some("complete") => return Ok(answer),
                Some("input_required") => {}
                Some(_) => return Err(self.unreadable("its answer")),
            }
            let mut questions = Questions::from_answer(&answer);
            let roots = match &*connection.roots {
                [] if allowed.roots && questions.want_roots() => {
                    Some(roots::result_of(handler.roots().await))
                }
                [] => None,
                own => Some(roots::list_result(own)),
            };
            let settled = questions.settle(roots.as_ref(), allowed);
            settled.map_err(|refusal| self.no_message(&refusal.reason))?;
            loop {
                let next = questions.next(allowed).map_err(|failure| {
                    self.context_error(ContextErrorKind::ProtocolViolation, &failure.message)
                })?;
                let Some(question) = next else {
                    break;
                };
                match (handler.answer(&question).await, question.sampling) {
                    (ElicitationAnswer::Accepted(message), Some(_)) => {
                        questions.give(Arc::unwrap_or_clone(message));
                    }
                    (ElicitationAnswer::Declined, Some(_)) => {
                        return Err(self.no_message(&Refusal::rejected().reason));
                    }
                    (ElicitationAnswer::Dismissed, Some(_)) => {
                        return Err(self.no_message("the client gave none"));
                    }
                    (answer, None) => {
                        if !matches!(answer, ElicitationAnswer::Accepted(_)) {
                            declined = Some(question.message);
                        }
                        // No elicitation is refused.
                        let _none = questions.answer(&answer, &mut ()).await;
                    }
                }
            }
            if questions.answers.is_empty() {
                // The server only wants the request to be repeated.
                sleep(REPEAT_PAUSE).await;
            }
            let state = answer.get("requestState").and_then(Value::as_str);
            input = ContextInput {
                responses: serde_json::from_value(questions.answers.into()).ok(),
                state: state.map(str::to_owned),
            };
        }
        let why = "it asks and asks";
        Err(self.context_error(ContextErrorKind::ProtocolViolation, why))
    }

    fn no_message(&self, why: &str) -> ContextError {
        let why = format!("it asks for a message of a model, and gets none: {why}");
        self.context_error(ContextErrorKind::Unsupported, &why)
    }
}
