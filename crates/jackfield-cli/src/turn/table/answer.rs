//! Parses the answers that a person types.

use std::sync::Arc;

use jackfield_domain::block::ToolCall;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::{Answer, Approval, UnknownAnswer, Wait, WaitKind};
use serde_json::{Map, Value};

use super::texts::{NOBODY, NOT_EDITED};
use super::{PendingQuestion, QuestionTable};
use crate::approval::{self, ApprovalChoice};
use crate::person::PersonAnswer;
use crate::render::words;

/// A parsed answer.
pub(super) enum ParsedAnswer {
    /// An answer to the question.
    Answer(Answer),
    /// A request to end the turn.
    Cancel,
    /// A request to edit the arguments, with this initial text.
    Edit(String),
    /// Unclear: the question is asked again, with this reason.
    Unclear(Option<String>),
}

impl QuestionTable<'_> {
    /// Parses what the person typed at a question.
    pub(super) fn parse_answer(
        &mut self,
        pending: &PendingQuestion,
        input: PersonAnswer,
    ) -> ParsedAnswer {
        let line = match input {
            PersonAnswer::Interrupted if pending.arguments => return ParsedAnswer::Unclear(None),
            PersonAnswer::Interrupted => return ParsedAnswer::Cancel,
            PersonAnswer::Gone if pending.wait.kind == WaitKind::UnknownOutcome => {
                return ParsedAnswer::Answer(Answer::UnknownOutcome(UnknownAnswer::Report));
            }
            PersonAnswer::Gone => {
                let reason = NOBODY.into();
                return ParsedAnswer::Answer(Answer::Approval(Approval::Denied { reason }));
            }
            PersonAnswer::Line(line) => line,
        };
        let wait = &pending.wait;
        if pending.arguments {
            return self.edited(wait, &line);
        }
        if wait.kind == WaitKind::UnknownOutcome {
            return match line.trim().to_lowercase().as_str() {
                "r" | "run" => ParsedAnswer::Answer(Answer::UnknownOutcome(UnknownAnswer::Retry)),
                "t" | "tell" => ParsedAnswer::Answer(Answer::UnknownOutcome(UnknownAnswer::Report)),
                _ => ParsedAnswer::Unclear(None),
            };
        }
        match approval::parse(&line) {
            Some(ApprovalChoice::All) => granted(None, true),
            Some(ApprovalChoice::Deny(reason)) => {
                ParsedAnswer::Answer(Answer::Approval(Approval::Denied {
                    reason: reason.into(),
                }))
            }
            Some(ApprovalChoice::Edit(arguments)) if arguments.is_empty() => {
                match self.current_arguments(wait) {
                    Some(sent) => ParsedAnswer::Edit(words::typed(sent)),
                    None => ParsedAnswer::Unclear(Some(NOT_EDITED.to_owned())),
                }
            }
            Some(ApprovalChoice::Edit(arguments)) => self.edited(wait, &arguments),
            Some(ApprovalChoice::Once) => granted(None, false),
            None => ParsedAnswer::Unclear(None),
        }
    }

    /// Allows the call with these arguments, if they are valid.
    fn edited(&self, wait: &Wait, arguments: &str) -> ParsedAnswer {
        let Some(sent) = self.current_arguments(wait) else {
            return ParsedAnswer::Unclear(Some(NOT_EDITED.to_owned()));
        };
        let arguments = arguments.trim();
        if arguments.is_empty() {
            return ParsedAnswer::Unclear(None);
        }
        let typed = JsonInput::parse(arguments);
        match typed.object() {
            Ok(fields) if sent == &**fields => granted(None, false),
            Ok(fields) => granted(Some(Arc::clone(fields)), false),
            Err(_) => ParsedAnswer::Unclear(Some(format!(
                "these are no arguments, which are a JSON object: {arguments}"
            ))),
        }
    }

    /// The arguments of the call as JSON: as they are sent, and not as the model wrote them, as those may repeat
    /// a name.
    pub(super) fn current_arguments(&self, wait: &Wait) -> Option<&Map<String, Value>> {
        match &self.call(wait)?.input {
            ToolInput::Json(input) => input.object().ok().map(|fields| &**fields),
            ToolInput::Text(_) => None,
        }
    }

    pub(super) fn call(&self, wait: &Wait) -> Option<&ToolCall> {
        let found = self.calls.iter().rev().find(|call| call.id == wait.call);
        found.map(|call| &**call)
    }
}

fn granted(edited: Option<Arc<Map<String, Value>>>, for_session: bool) -> ParsedAnswer {
    ParsedAnswer::Answer(Answer::Approval(Approval::Granted {
        edited,
        for_session,
    }))
}
