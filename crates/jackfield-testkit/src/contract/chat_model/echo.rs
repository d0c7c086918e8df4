//! What a request says on the vendor's wire.

use jackfield_domain::message::Role;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::ToolChoice;
use serde_json::Value;

/// What a request says on the vendor's wire, in the terms of the domain.
///
/// The harness reads it from the recorded bytes, and the contract compares it with the request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Echo {
    /// Which tools may or must be called; `Auto` if the wire does not say.
    pub choice: ToolChoice,
    /// The conversation without the system prompt, in the order of the wire.
    pub parts: Vec<EchoedPart>,
    /// The settings that the wire has, with their values; all others are left at their default.
    pub settings: Settings,
    /// The system prompt; empty if there is none.
    pub system: String,
    /// The tools, in the order of the wire.
    pub tools: Vec<EchoedTool>,
}

/// One part of the conversation in a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EchoedPart {
    /// A call of the model.
    Call(EchoedCall),
    /// The outcome of a call.
    Outcome(EchoedOutcome),
    /// Reasoning of the model; only what the vendor requires back.
    Reasoning(EchoedReasoning),
    /// Text; also that of a refusal.
    Text(EchoedText),
}

/// A call of the model in a request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EchoedCall {
    /// The arguments as text; a JSON value is serialized.
    pub arguments: String,
    /// The id that links it to its outcome.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The vendor's state that goes back with it, such as a signature; `None` if there is none.
    pub state: Option<String>,
}

/// An outcome of a call in a request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EchoedOutcome {
    /// The id of its call.
    pub id: String,
    /// Whether it is marked as an error, in another way than by its text.
    pub is_error: bool,
    /// Its text.
    pub text: String,
    /// The name of the tool; `None` if there is none.
    pub tool: Option<String>,
}

/// A reasoning block in a request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EchoedReasoning {
    /// The vendor's state, such as a signature; `None` if the vendor has none.
    pub state: Option<String>,
    /// The text; `None` if the vendor does not require it back.
    pub text: Option<String>,
}

/// A text in a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EchoedText {
    /// Its author.
    pub role: Role,
    /// The vendor's state that goes back with it; `None` if there is none.
    pub state: Option<String>,
    /// The text.
    pub text: String,
}

/// A tool in a request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EchoedTool {
    /// Its description.
    pub description: String,
    /// Its name.
    pub name: String,
    /// The schema of its arguments, as sent; `None` if it takes free text.
    pub schema: Option<Value>,
    /// Whether the provider should enforce the schema; `None` if the wire does not say.
    pub strict: Option<bool>,
}

/// The parts of a request for which not every vendor has a place, though nothing is lost without it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum RequestPart {
    /// The id of a call and its outcome: they belong together by their order.
    CallId,
    /// The media type of an image: the server recognizes it by its bytes.
    MediaType,
    /// The name of the tool of an outcome: its call's id says it.
    OutcomeTool,
}

impl Echo {
    /// Adds a text of this author, without state.
    pub fn say(&mut self, role: Role, text: impl Into<String>) {
        let text = text.into();
        self.parts.push(EchoedPart::Text(EchoedText {
            role,
            state: None,
            text,
        }));
    }

    /// The calls, in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &EchoedCall> {
        self.parts.iter().filter_map(|part| match part {
            EchoedPart::Call(call) => Some(call),
            EchoedPart::Outcome(_) | EchoedPart::Reasoning(_) | EchoedPart::Text(_) => None,
        })
    }

    /// The outcomes, in order.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = &EchoedOutcome> {
        self.parts.iter().filter_map(|part| match part {
            EchoedPart::Outcome(outcome) => Some(outcome),
            EchoedPart::Call(_) | EchoedPart::Reasoning(_) | EchoedPart::Text(_) => None,
        })
    }

    /// The reasoning, in order.
    pub(super) fn reasoning(&self) -> impl Iterator<Item = &EchoedReasoning> {
        self.parts.iter().filter_map(|part| match part {
            EchoedPart::Reasoning(reasoning) => Some(reasoning),
            EchoedPart::Call(_) | EchoedPart::Outcome(_) | EchoedPart::Text(_) => None,
        })
    }

    /// The model's own texts, in order.
    pub(super) fn model_texts(&self) -> impl Iterator<Item = &EchoedText> {
        self.parts.iter().filter_map(|part| match part {
            EchoedPart::Text(text) if text.role == Role::Assistant => Some(text),
            EchoedPart::Call(_)
            | EchoedPart::Outcome(_)
            | EchoedPart::Reasoning(_)
            | EchoedPart::Text(_) => None,
        })
    }

    /// The ids, names and states that it claims to have read: a request has to contain each as it is.
    pub(super) fn claims(&self) -> Vec<&str> {
        let mut claims: Vec<&str> = Vec::new();
        for part in &self.parts {
            match part {
                EchoedPart::Call(call) => {
                    claims.extend([&*call.id, &*call.name]);
                    claims.extend(call.state.as_deref());
                }
                EchoedPart::Outcome(outcome) => {
                    claims.push(&outcome.id);
                    claims.extend(outcome.tool.as_deref());
                }
                EchoedPart::Reasoning(reasoning) => claims.extend(reasoning.state.as_deref()),
                EchoedPart::Text(text) => claims.extend(text.state.as_deref()),
            }
        }
        for tool in &self.tools {
            claims.extend([&*tool.name, &*tool.description]);
        }
        claims
    }
}
