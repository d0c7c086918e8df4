//! Reads and prompts whose server asks something first (MCP 2026-07-28, "Multi Round-Trip Requests", read 2026-11-27).

use std::sync::Arc;

use jackfield_domain::wait::ElicitationAnswer;
use jackfield_ports::context_source::{ContextError, ContextErrorKind};
use jackfield_ports::question_handler::QuestionHandler;
use rmcp::model::{ClientRequest, InputResponses};
use serde_json::Value;
use tokio::time::sleep;

use crate::connection::ServerConnection;
use crate::questions::{AllowedQuestions, Questions};
use crate::run::{MAX_ROUNDS, REPEAT_PAUSE};
use crate::toolbox::McpToolbox;

/// What a request that is sent again brings along.
#[derive(Default)]
pub(super) struct ContextInput {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

impl McpToolbox {
    /// The result of a request, after the server has asked what it wants to know. Messages of a model are not given: they
    /// belong to turns.
    pub(super) async fn answer_asking(
        &self,
        connection: &Arc<ServerConnection>,
        request: &(dyn Fn(ContextInput) -> ClientRequest + Send + Sync),
        max_bytes: usize,
        handler: &mut dyn QuestionHandler,
    ) -> Result<Value, ContextError> {
        let mut input = ContextInput::default();
        let mut declined = None;
        for _ in 0..MAX_ROUNDS {
            let answered = self.answer(connection, request(input), max_bytes).await;
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
            let allowed = AllowedQuestions {
                sampling: false,
                ..connection.allowed
            };
            let mut questions = Questions::from_answer(&answer);
            let settled = questions.settle(&connection.roots, allowed);
            settled.map_err(|_| {
                let why = "it asks for a message of a model, which only calls of tools may get";
                self.context_error(ContextErrorKind::Unsupported, why)
            })?;
            loop {
                let next = questions.next(allowed).map_err(|failure| {
                    self.context_error(ContextErrorKind::ProtocolViolation, &failure.message)
                })?;
                let Some(question) = next else {
                    break;
                };
                let answer = handler.answer(&question).await;
                if !matches!(answer, ElicitationAnswer::Accepted(_)) {
                    declined = Some(question.message);
                }
                // No elicitation is refused, and nothing else is left.
                let _none = questions.answer(&answer, &mut ()).await;
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
}
