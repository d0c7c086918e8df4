//! Parses the answers that a person types.

use std::sync::Arc;

use jackfield_domain::block::ToolCall;
use jackfield_domain::tool::{CatalogEntry, Safety};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::{Answer, Approval, ElicitationAnswer, UnknownAnswer, Wait, WaitKind};
use serde_json::{Map, Value};

use super::texts::{NOBODY, NOT_EDITED, NOT_KEPT, NOT_READING};
use super::{AskMode, PendingQuestion, QuestionTable, Stage};
use crate::approval::{self, ApprovalChoice};
use crate::elicitation;
use crate::person::PersonAnswer;
use crate::render::words;

pub(super) enum ParsedAnswer {
    /// An answer to the question.
    Answer(Answer),
    /// An answer to the question, with a remark about what it does beyond.
    Standing(Answer, String),
    /// A request to end the turn.
    Cancel,
    /// A request to edit the arguments, with this initial text.
    Edit(String),
    /// A yes that has to be repeated, for this reason.
    Sure(String),
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
            PersonAnswer::Interrupted if pending.stage == Stage::Arguments => {
                return ParsedAnswer::Unclear(None);
            }
            PersonAnswer::Interrupted => return ParsedAnswer::Cancel,
            PersonAnswer::Gone if pending.wait.kind == WaitKind::UnknownOutcome => {
                return ParsedAnswer::Answer(Answer::UnknownOutcome(UnknownAnswer::Report));
            }
            PersonAnswer::Gone if matches!(pending.wait.kind, WaitKind::Elicitation { .. }) => {
                return ParsedAnswer::Answer(Answer::Elicitation(ElicitationAnswer::Declined));
            }
            PersonAnswer::Gone => {
                let reason = NOBODY.into();
                return ParsedAnswer::Answer(Answer::Approval(Approval::Denied { reason }));
            }
            PersonAnswer::Line(line) => line,
        };
        let wait = &pending.wait;
        if pending.stage == Stage::Arguments {
            return self.edited(wait, &line);
        }
        if wait.kind == WaitKind::UnknownOutcome {
            return match line.trim().to_lowercase().as_str() {
                "r" | "run" => match self.second_effect(wait) {
                    Some(remark) if pending.stage == Stage::Answer => ParsedAnswer::Sure(remark),
                    Some(_) | None => {
                        ParsedAnswer::Answer(Answer::UnknownOutcome(UnknownAnswer::Retry))
                    }
                },
                "t" | "tell" => ParsedAnswer::Answer(Answer::UnknownOutcome(UnknownAnswer::Report)),
                _ => ParsedAnswer::Unclear(None),
            };
        }
        if let WaitKind::Elicitation { question, .. } = &wait.kind {
            return match elicitation::parse(question, line.trim()) {
                Ok(answer) => ParsedAnswer::Answer(Answer::Elicitation(answer)),
                Err(why) => ParsedAnswer::Unclear(why),
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
            Some(ApprovalChoice::Forever) => self.keep_rule(wait),
            Some(ApprovalChoice::Reading) => self.allow_reading(wait),
            Some(ApprovalChoice::Once) => granted(None, false),
            None => ParsedAnswer::Unclear(None),
        }
    }

    /// That the call may act a second time, and what its tool does; `None` if a repetition has no effect.
    fn second_effect(&self, wait: &Wait) -> Option<String> {
        let tool = self.tool(wait);
        if tool.is_some_and(|tool| tool.safety == Safety::ReadOnly) {
            return None;
        }
        let about = tool.map(|tool| words::one_line(&tool.definition.description));
        let about = about.filter(|about| !about.is_empty());
        let about = about.map_or_else(String::new, |about| format!(": {about}"));
        let name = tool.map_or("the call", |tool| tool.definition.name.as_str());
        Some(format!(
            "`{name}` may act a second time{about}; r again runs it, t tells the model"
        ))
    }

    /// Allows the tool by a rule of the configuration, and so for the session, too.
    fn keep_rule(&mut self, wait: &Wait) -> ParsedAnswer {
        let tool = self.tool(wait).cloned();
        let AskMode::Person(person) = &mut self.ask_mode else {
            return ParsedAnswer::Unclear(None);
        };
        let Some(tool) = tool.filter(|_| person.rules().can_be_kept()) else {
            return ParsedAnswer::Unclear(Some(NOT_KEPT.to_owned()));
        };
        let remark = match person.rules_mut().allow(&tool) {
            Ok((pattern, file)) => format!(
                "from now on `{pattern}` runs without a question: see [policy.tools] in {}",
                file.display()
            ),
            Err(error) => {
                format!("allowed for this session only, as the rule cannot be kept: {error}")
            }
        };
        ParsedAnswer::Standing(grant(None, true), remark)
    }

    /// Allows the tools of the server that only read, if this is one.
    fn allow_reading(&mut self, wait: &Wait) -> ParsedAnswer {
        let tool = self.tool(wait).cloned();
        let AskMode::Person(person) = &mut self.ask_mode else {
            return ParsedAnswer::Unclear(None);
        };
        let Some(tool) = tool.filter(|tool| person.rules().only_reads(tool)) else {
            return ParsedAnswer::Unclear(Some(NOT_READING.to_owned()));
        };
        let server = tool.origin.toolbox.clone();
        let remark =
            format!("until the end, tools of `{server}` that only read run without a question");
        person.rules_mut().allow_reading(server);
        ParsedAnswer::Standing(grant(None, false), remark)
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

    /// The tool of the call.
    pub(super) fn tool(&self, wait: &Wait) -> Option<&CatalogEntry> {
        let name = self.call(wait)?.name.as_str();
        self.setup.as_ref()?.catalog.tool(name)
    }

    pub(super) fn call(&self, wait: &Wait) -> Option<&ToolCall> {
        let found = self.calls.iter().rev().find(|call| call.id == wait.call);
        found.map(|call| &**call)
    }
}

fn granted(edited: Option<Arc<Map<String, Value>>>, for_session: bool) -> ParsedAnswer {
    ParsedAnswer::Answer(grant(edited, for_session))
}

const fn grant(edited: Option<Arc<Map<String, Value>>>, for_session: bool) -> Answer {
    Answer::Approval(Approval::Granted {
        edited,
        for_session,
    })
}
