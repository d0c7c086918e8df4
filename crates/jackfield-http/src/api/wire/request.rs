//! Wire types of requests: messages with their options, client results, and answers to questions.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::block::Block;
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::given::LimitsGiven;
use super::parts::{MessagePart, PartGiven};
use super::settings::SettingsGiven;
use crate::api::problem::ProblemDetails;

/// A message, and how it is to be answered.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = PostTurn, example = json!({ "message": "What is 15% of 2500?", "mode": "wait" }))]
#[serde(deny_unknown_fields)]
pub(crate) struct PostTurn {
    /// The message, as text. This or `content` has to be there.
    pub(crate) message: Option<String>,
    /// The message in parts, where it is more than text.
    pub(crate) content: Option<Vec<PartGiven>>,
    /// How the answer is delivered; default `wait`.
    #[serde(default)]
    pub(crate) mode: Mode,
    /// The model: an assistant, an alias, or `provider/model`; default: the assistant `jackfield`.
    pub(crate) model: Option<String>,
    /// The system prompt, in place of the configured one.
    pub(crate) system: Option<String>,
    /// Client tools: the client gets the calls and posts the results.
    #[serde(default)]
    pub(crate) tools: Vec<ToolGiven>,
    /// Which of the gateway's tools are offered: patterns over `server/tool`, with `*` for any text. By default
    /// all of the assistant, and of a plain model those that the gateway offers; none if the client brings tools
    /// and names no assistant.
    pub(crate) server_tools: Option<Vec<String>>,
    /// Which tools may or have to be called.
    pub(crate) tool_choice: Option<ToolChoiceGiven>,
    /// How the model is to answer.
    #[serde(default)]
    pub(crate) settings: SettingsGiven,
    /// Limits of the turn, which lower those that are configured.
    #[serde(default)]
    pub(crate) limits: LimitsGiven,
    /// What becomes of the message if the session is at work on another turn.
    #[serde(default)]
    pub(crate) if_busy: IfBusy,
    /// What usage is summed by, as in `X-Jackfield-Tags`, whose tags win. What is no text is no tag.
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub(crate) tags: Value,
    /// Who asks, if several people use one token: a name that says nothing of them.
    #[schema(max_length = 128)]
    pub(crate) user: Option<String>,
}

/// How an answer is to come.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// At once, with its URL: the turn goes on in the background.
    Background,
    /// As server-sent events, until the turn has ended or only waits.
    Stream,
    /// When the turn has ended, or only waits.
    #[default]
    Wait,
}

/// What becomes of a message to a session that is at work.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IfBusy {
    /// The turn is cancelled, and the message begins the next one.
    Cancel,
    /// It waits until the turn is over.
    Queue,
    /// It is refused.
    #[default]
    Refuse,
}

/// A tool that the client runs.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ClientTool)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolGiven {
    /// Its name: letters, digits, `_` and `-`.
    #[schema(max_length = 64)]
    pub(crate) name: String,
    /// What it does and when to use it.
    #[serde(default)]
    description: String,
    /// The JSON Schema of its arguments: of an object.
    #[schema(value_type = Object)]
    input_schema: Map<String, Value>,
    /// The JSON Schema of its structured results.
    #[schema(value_type = Option<Object>)]
    output_schema: Option<Map<String, Value>>,
    /// Whether the provider is to enforce the schema of the arguments.
    strict: Option<bool>,
}

/// Which tools may or have to be called.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ToolChoice)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolChoiceGiven {
    /// Whether any may, one has to, or none may be called.
    mode: ChoiceMode,
    /// Only these; default: all.
    tools: Option<Vec<String>>,
}

/// Whether tools may be called.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChoiceMode {
    /// As the model sees fit.
    Auto,
    /// They may not.
    None,
    /// At least one has to be.
    Required,
}

/// Results of the client's tools, and how the turn is to go on.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PostResults, example = json!({ "results": [{ "call": "call_0123456789abcdef01234567", "text": "579" }] }))]
#[serde(deny_unknown_fields)]
pub(crate) struct PostResults {
    /// A result for each call that the turn waits for.
    pub(crate) results: Vec<ResultGiven>,
    /// How the answer is delivered; default `wait`.
    #[serde(default)]
    pub(crate) mode: Mode,
}

/// The result of a client's tool.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ClientResult)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultGiven {
    /// The call.
    pub(crate) call: String,
    /// What it came to, as text.
    text: Option<String>,
    /// What it came to, in parts.
    content: Option<Vec<PartGiven>>,
    /// The same as JSON.
    structured: Option<Value>,
    /// Whether the tool failed.
    #[serde(default)]
    is_error: bool,
}

/// Yes to a question about a call.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allow {
    /// For a call of unknown outcome: that it runs again, although it may act a second time. One without effects needs no
    /// such word.
    #[serde(default)]
    pub(crate) again: bool,
    /// Other arguments to run it with; the model's call keeps its own.
    #[schema(value_type = Option<Object>)]
    pub(crate) arguments: Option<Map<String, Value>>,
    /// Whether all later calls of this tool may run too, in this session and until its definition changes.
    #[serde(default)]
    pub(crate) for_session: bool,
    /// The answer to a tool's own question: an object, as its schema says.
    #[schema(value_type = Option<Object>)]
    pub(crate) content: Option<Map<String, Value>>,
}

/// No to a question about a call.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deny {
    /// Why, for the model.
    #[schema(max_length = 10_000)]
    pub(crate) reason: Option<String>,
}

/// Where a session is to be forked.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fork {
    /// The turn, by its number; default: the last ended one.
    pub(crate) turn: Option<u32>,
    /// Its round, from 1; default: its end.
    pub(crate) round: Option<u32>,
}

/// What to change of a session.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = EditSession, example = json!({ "title": "Plans for May", "pinned": true }))]
#[serde(deny_unknown_fields)]
pub(crate) struct EditSession {
    /// Whether it is put away.
    pub(crate) archived: Option<bool>,
    /// Whether it comes first in lists.
    pub(crate) pinned: Option<bool>,
    /// Its title, in one line; an empty one is none, and the beginning of its first message is shown again.
    #[schema(max_length = 200)]
    pub(crate) title: Option<String>,
}

/// A new session. There is nothing to say of one yet.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSession {}

impl PostTurn {
    /// A message as text, for this model.
    pub(crate) fn of_message(message: String, model: Option<String>) -> Self {
        Self {
            message: Some(message),
            model,
            ..Self::default()
        }
    }

    /// The message of the user.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn take_message(&mut self) -> Result<Vec<MessagePart>, ProblemDetails> {
        let blocks = match (self.message.take(), self.content.take()) {
            (Some(_), Some(_)) => {
                let why = "give the message as `message` or as `content`, not as both";
                return Err(ProblemDetails::field("/content", why));
            }
            (None, None) => {
                let why = "there is no message: give `message`, or `content` for more than text";
                return Err(ProblemDetails::field("/message", why));
            }
            (Some(text), None) if text.trim().is_empty() => {
                return Err(ProblemDetails::field("/message", "the message is empty"));
            }
            (Some(text), None) => vec![MessagePart::Block(Block::text(text))],
            (None, Some(parts)) if parts.is_empty() => {
                return Err(ProblemDetails::field(
                    "/content",
                    "the message has no parts",
                ));
            }
            (None, Some(parts)) => {
                let parts = parts.into_iter().enumerate();
                let blocks = parts.map(|(at, part)| part.message_part(&format!("/content/{at}")));
                blocks.collect::<Result<_, _>>()?
            }
        };
        Ok(blocks)
    }

    /// The client tools.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn take_tools(&mut self) -> Result<Vec<Arc<ToolDefinition>>, ProblemDetails> {
        if self.tools.len() > MAX_TOOLS {
            let why = format!(
                "at most {MAX_TOOLS} tools can be brought, not {}",
                self.tools.len()
            );
            return Err(ProblemDetails::field("/tools", why));
        }
        let mut seen = BTreeSet::new();
        let tools = std::mem::take(&mut self.tools).into_iter().enumerate();
        tools
            .map(|(at, tool)| {
                let place = format!("/tools/{at}");
                if !seen.insert(tool.name.clone()) {
                    let why = format!("there are two tools `{}`", tool.name);
                    return Err(ProblemDetails::field(format!("{place}/name"), why));
                }
                tool.definition(&place).map(Arc::new)
            })
            .collect()
    }
}

impl ToolGiven {
    fn definition(self, place: &str) -> Result<ToolDefinition, ProblemDetails> {
        let name = ToolName::parse(&self.name)
            .map_err(|error| ProblemDetails::field(format!("{place}/name"), error.to_string()))?;
        Ok(ToolDefinition {
            description: self.description.into(),
            extensions: Vec::new(),
            input: InputFormat::Json(Arc::new(Value::Object(self.input_schema))),
            name,
            output: self
                .output_schema
                .map(|schema| Arc::new(Value::Object(schema))),
            strict: self.strict,
        })
    }
}

impl ToolChoiceGiven {
    /// The tool choice.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn choice(self) -> Result<ToolChoice, ProblemDetails> {
        let names = self.tools.map(|tools| {
            let tools = tools.iter().enumerate();
            let names = tools.map(|(at, name)| {
                let place = format!("/tool_choice/tools/{at}");
                ToolName::parse(name)
                    .map_err(|error| ProblemDetails::field(place, error.to_string()))
            });
            names.collect::<Result<Vec<ToolName>, ProblemDetails>>()
        });
        match (self.mode, names.transpose()?) {
            (ChoiceMode::None, None) => Ok(ToolChoice::Forbidden),
            (ChoiceMode::None, Some(_)) => {
                let why = "where no tool may be called, none can be named";
                Err(ProblemDetails::field("/tool_choice/tools", why))
            }
            (ChoiceMode::Auto, None) => Ok(ToolChoice::Auto),
            (ChoiceMode::Required, None) => Ok(ToolChoice::Required),
            (_, Some(tools)) if tools.is_empty() => {
                let why = "name at least one tool, or leave it out";
                Err(ProblemDetails::field("/tool_choice/tools", why))
            }
            (ChoiceMode::Required, Some(mut tools)) if tools.len() == 1 => {
                Ok(tools.pop().map_or(ToolChoice::Required, ToolChoice::Named))
            }
            (mode, Some(tools)) => Ok(ToolChoice::Only {
                required: mode == ChoiceMode::Required,
                tools,
            }),
        }
    }
}

impl PostResults {
    /// The results, by call.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] that names the field.
    pub(crate) fn into_results(self) -> Result<Vec<(ToolCallId, ToolResult)>, ProblemDetails> {
        if self.results.is_empty() {
            return Err(ProblemDetails::field("/results", "there are no results"));
        }
        let mut seen = BTreeSet::new();
        let results = self.results.into_iter().enumerate();
        results
            .map(|(at, result)| {
                let place = format!("/results/{at}");
                let call = ToolCallId::parse(&result.call).map_err(|error| {
                    ProblemDetails::field(format!("{place}/call"), error.to_string())
                })?;
                if !seen.insert(call.clone()) {
                    let why = format!("there are two results for call {call}");
                    return Err(ProblemDetails::field(format!("{place}/call"), why));
                }
                Ok((call, result.result(&place)?))
            })
            .collect()
    }
}

impl ResultGiven {
    fn result(self, place: &str) -> Result<ToolResult, ProblemDetails> {
        let content = match (self.text, self.content) {
            (Some(_), Some(_)) => {
                let why = "give the result as `text` or as `content`, not as both";
                return Err(ProblemDetails::field(format!("{place}/content"), why));
            }
            (Some(text), None) => vec![OutcomePart::Text(text.into())],
            (None, Some(parts)) => {
                let parts = parts.into_iter().enumerate();
                let parts = parts.map(|(at, part)| part.outcome(&format!("{place}/content/{at}")));
                parts.collect::<Result<_, _>>()?
            }
            (None, None) => match &self.structured {
                // A model reads text, so a result with only JSON is passed as text.
                Some(json) => vec![OutcomePart::Text(json.to_string().into())],
                None => {
                    let why = "there is no result: give `text`, `content` or `structured`";
                    return Err(ProblemDetails::field(format!("{place}/text"), why));
                }
            },
        };
        Ok(ToolResult {
            content,
            is_error: self.is_error,
            structured: self.structured.map(Arc::new),
        })
    }
}

/// The maximum number of client tools.
const MAX_TOOLS: usize = 1_000;
