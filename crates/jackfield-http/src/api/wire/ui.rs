//! Wire types of requests of the AI SDK's chat transport.
//!
//! Source: the package `ai` 7.0.173 of npm (`http-chat-transport`, `ui-messages`), read on 2026-11-26. Front ends
//! send more fields than these, and applications add their own; they are ignored.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::{ToolCallId, WaitId};
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::request::ToolGiven;
use crate::api::problem::ProblemDetails;

/// A request of the AI SDK's chat transport: the whole conversation as the front end has it.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UiChat, example = json!({
    "id": "chat-1", "trigger": "submit-message",
    "messages": [{ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "What is 15% of 2500?" }] }]
}))]
#[serde(rename_all = "camelCase")]
pub(crate) struct UiChat {
    /// The chat: a name that the front end chose.
    #[schema(max_length = 200)]
    pub(crate) id: String,
    /// The conversation. The last message is a new one of the user, or the assistant's with answers in its parts.
    pub(crate) messages: Vec<UiMessage>,
    /// `submit-message` or `regenerate-message`.
    #[serde(default)]
    pub(crate) trigger: Option<String>,
    /// The message that is replaced or answered again.
    #[serde(default)]
    pub(crate) message_id: Option<String>,
    /// The model: an assistant, an alias, or `provider/model`; default: the assistant `jackfield`.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// The system prompt, in place of the configured one.
    #[serde(default)]
    pub(crate) system: Option<String>,
    /// Which of the gateway's tools are offered, as for a turn.
    #[serde(default, rename = "server_tools", alias = "serverTools")]
    pub(crate) server_tools: Option<Vec<String>>,
    /// Client tools: the front end gets the calls, and sends the results in the parts of the message.
    #[serde(default)]
    pub(crate) tools: Vec<ToolGiven>,
}

/// A message of the AI SDK.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UiMessage)]
pub(crate) struct UiMessage {
    /// Its id, which the front end chose, or that of the turn that answers.
    #[serde(default)]
    pub(crate) id: String,
    /// Who it is from: `user`, `assistant` or `system`.
    pub(crate) role: String,
    /// Its parts: `text`, `file`, `tool-…`, `dynamic-tool` and others.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    parts: Vec<Value>,
}

/// What a front end answers in the parts of the assistant's message.
#[derive(Debug, Default)]
pub(crate) struct UiAnswers {
    /// Answers to questions: the wait, whether it is a yes, and why not.
    pub(crate) approvals: Vec<(WaitId, bool, String)>,
    pub(crate) results: Vec<(ToolCallId, ToolResult)>,
}

impl UiMessage {
    /// The message of a user.
    ///
    /// # Errors
    ///
    /// [`ProblemDetails`] if it has nothing that can be sent.
    pub(crate) fn to_message(&self, place: &str) -> Result<Message, ProblemDetails> {
        let blocks: Vec<Block> = self.parts.iter().filter_map(block).collect();
        if blocks.is_empty() {
            let why = "the message has no text and no file";
            return Err(ProblemDetails::field(format!("{place}/parts"), why));
        }
        Ok(Message::new(Role::User, blocks))
    }

    /// Its parts as text: equal for messages with equal parts.
    pub(crate) fn content(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(Value::to_string).collect();
        parts.join("\n")
    }

    /// The answers in its parts. Those that were taken before are among them.
    pub(crate) fn answers(&self) -> UiAnswers {
        let mut answers = UiAnswers::default();
        for part in &self.parts {
            let text = |name: &str| part.get(name).and_then(Value::as_str);
            let kind = text("type").unwrap_or_default();
            if kind != "dynamic-tool" && !kind.starts_with("tool-") {
                continue;
            }
            match text("state").unwrap_or_default() {
                "approval-responded" => answers.approvals.extend(approval(part)),
                "output-available" => {
                    let output = part.get("output").unwrap_or(&Value::Null);
                    answers.add_result(text("toolCallId"), output, false);
                }
                "output-error" => {
                    let why = part.get("errorText").unwrap_or(&Value::Null);
                    answers.add_result(text("toolCallId"), why, true);
                }
                _ => {}
            }
        }
        answers
    }
}

impl UiAnswers {
    fn add_result(&mut self, call: Option<&str>, output: &Value, is_error: bool) {
        let Some(call) = call.and_then(|call| ToolCallId::parse(call).ok()) else {
            return;
        };
        let text = output
            .as_str()
            .map_or_else(|| output.to_string(), str::to_owned);
        let structured = (!is_error && !output.is_string()).then(|| Arc::new(output.clone()));
        let result = ToolResult {
            content: vec![OutcomePart::Text(text.into())],
            is_error,
            structured,
        };
        self.results.push((call, result));
    }
}

/// A text or a file of a user.
fn block(part: &Value) -> Option<Block> {
    let text = |name: &str| part.get(name).and_then(Value::as_str);
    match text("type")? {
        "text" => {
            let words = text("text")?;
            (!words.trim().is_empty()).then(|| Block::text(words))
        }
        "file" => {
            let (url, media_type) = (text("url")?, text("mediaType").unwrap_or_default());
            let data = url.strip_prefix("data:").and_then(|data| {
                let (_, data) = data.split_once(";base64,")?;
                Some(MediaSource::Base64 {
                    data: data.into(),
                    media_type: media_type.into(),
                })
            });
            let source = data.unwrap_or_else(|| MediaSource::Url(url.into()));
            let content = if media_type.starts_with("image/") {
                Content::Image(Image {
                    detail: None,
                    source,
                })
            } else {
                Content::Document(Document {
                    cite: false,
                    context: None,
                    source,
                    title: text("filename").map(Into::into),
                })
            };
            Some(content.into())
        }
        _ => None,
    }
}

/// The answer to a question.
fn approval(part: &Value) -> Option<(WaitId, bool, String)> {
    let approval = part.get("approval")?;
    let wait = WaitId::parse(approval.get("id")?.as_str()?).ok()?;
    let reason = approval.get("reason").and_then(Value::as_str);
    let reason: String = reason
        .unwrap_or_default()
        .chars()
        .take(MAX_REASON)
        .collect();
    Some((wait, approval.get("approved")?.as_bool()?, reason))
}

/// The maximum length of a reason, in characters.
const MAX_REASON: usize = 2_000;
