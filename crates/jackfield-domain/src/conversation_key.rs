//! The key of a conversation: equal for histories with equal content, regardless of how a client writes them.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};

use serde_json::{Map, Value};

use crate::block::{Content, RanBy, ToolCall};
use crate::digest::Digest;
use crate::ids::ToolCallId;
use crate::media::MediaSource;
use crate::message::{Message, Role};
use crate::outcome::{OutcomePart, ToolResult};
use crate::tool_input::ToolInput;

/// Computes the key of a conversation, message by message.
///
/// Consecutive messages of one side count as one, and whitespace is ignored. Of a model's messages, only the
/// text and the calls count, except provider tool calls.
#[derive(Clone, Debug)]
pub(crate) struct ConversationKey {
    /// The key of everything before the current side's messages.
    before: Digest,
    /// The results, sorted by the position of their calls, then by arrival.
    results: BTreeMap<(usize, usize), KeyedResult>,
    /// The position of each of the model's calls.
    call_positions: HashMap<ToolCallId, usize>,
    calls: Sha256,
    side: Speaker,
    text: NormalizedText,
}

/// The side of the conversation whose messages are being added.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Speaker {
    Client,
    Model,
    Nobody,
}

/// The result of a call.
#[derive(Clone, Debug)]
struct KeyedResult {
    call: ToolCallId,
    content: OutcomeText,
}

/// The content of a result: still being added, or its digest.
#[derive(Clone, Debug)]
enum OutcomeText {
    Known(Digest),
    Pending(NormalizedText),
}

impl ConversationKey {
    /// The key of an empty conversation.
    pub(crate) fn new() -> Self {
        Self::after(Digest::of_parts(["conversation"]))
    }

    /// Continues a conversation that has this key; the next message starts a new side.
    pub(crate) fn after(before: Digest) -> Self {
        Self {
            before,
            results: BTreeMap::new(),
            call_positions: HashMap::new(),
            calls: Sha256::new(),
            side: Speaker::Nobody,
            text: NormalizedText::default(),
        }
    }

    /// Adds a message as the client has it. Returns whether it has content; a message without content does not
    /// change the key.
    pub(crate) fn push_message(&mut self, message: &Message) -> bool {
        let mut has_content = false;
        for block in &message.blocks {
            has_content |= match message.role {
                Role::Assistant => self.push_model_block(&block.content),
                Role::System => false,
                Role::Tool | Role::User => self.push_client_block(&block.content),
            };
        }
        has_content
    }

    /// Adds text of the model. Returns whether there is any.
    pub(crate) fn push_text(&mut self, text: &str) -> bool {
        let has_text = !text.trim().is_empty();
        if has_text {
            self.switch_to(Speaker::Model);
            self.text.push_text(text);
        }
        has_text
    }

    /// Adds a client tool call of the model.
    pub(crate) fn push_call(&mut self, call: &ToolCall) {
        self.switch_to(Speaker::Model);
        self.calls
            .update(Digest::of_parts([call.id.as_str()]).as_bytes());
        self.calls.update(input_digest(&call.input).as_bytes());
        let place = self.call_positions.len();
        self.call_positions.entry(call.id.clone()).or_insert(place);
    }

    /// Adds the result of a call, as a digest from [`result_digest`].
    pub(crate) fn push_result(&mut self, call: &ToolCallId, content: Digest) {
        self.push_outcome(call, OutcomeText::Known(content));
    }

    /// The key of everything before the messages of the present side.
    pub(crate) const fn before(&self) -> Digest {
        self.before
    }

    /// The key of everything so far.
    pub(crate) fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        hash.update(self.before.as_bytes());
        match self.side {
            Speaker::Nobody => return self.before,
            Speaker::Client => {
                hash.update(b"client");
                for result in self.results.values() {
                    hash.update(Digest::of_parts([result.call.as_str()]).as_bytes());
                    hash.update(result.content.digest().as_bytes());
                }
            }
            Speaker::Model => {
                hash.update(b"model");
                hash.update(self.calls.clone().finalize());
            }
        }
        hash.update(self.text.digest().as_bytes());
        Digest::from_bytes(hash.finalize().into())
    }

    fn push_model_block(&mut self, content: &Content) -> bool {
        match content {
            Content::Refusal(text) => self.push_text(text),
            Content::Text(text) => self.push_text(&text.text),
            Content::ToolCall(call) => {
                let is_its = call.ran_by != RanBy::Provider;
                if is_its {
                    self.push_call(call);
                }
                is_its
            }
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Thinking(_)
            | Content::ToolOutcome(_) => false,
        }
    }

    fn push_client_block(&mut self, content: &Content) -> bool {
        match content {
            Content::Audio(audio) => self.push_client_media(&audio.source),
            Content::Document(document) => self.push_client_media(&document.source),
            Content::Image(image) => self.push_client_media(&image.source),
            Content::Opaque(block) => match &block.fallback {
                Some(fallback) => self.push_client_text(fallback),
                None => false,
            },
            Content::Refusal(text) => self.push_client_text(text),
            Content::Text(text) => self.push_client_text(&text.text),
            Content::Thinking(_) | Content::ToolCall(_) => false,
            Content::ToolOutcome(outcome) => {
                let mut normalized = NormalizedText::default();
                normalized.push_result(&outcome.result);
                self.push_outcome(&outcome.call, OutcomeText::Pending(normalized));
                true
            }
        }
    }

    fn push_client_media(&mut self, source: &MediaSource) -> bool {
        self.client_text_mut().push_media(source);
        true
    }

    fn push_client_text(&mut self, text: &str) -> bool {
        let has_text = !text.trim().is_empty();
        if has_text {
            self.client_text_mut().push_text(text);
        }
        has_text
    }

    /// The destination for the client's text: the last result, if there is one in this message.
    fn client_text_mut(&mut self) -> &mut NormalizedText {
        self.switch_to(Speaker::Client);
        let last = self.results.values_mut().next_back();
        match last.map(|brought| &mut brought.content) {
            Some(OutcomeText::Pending(text)) => text,
            Some(OutcomeText::Known(_)) | None => &mut self.text,
        }
    }

    fn push_outcome(&mut self, call: &ToolCallId, content: OutcomeText) {
        self.switch_to(Speaker::Client);
        let place = self.call_positions.get(call).copied().unwrap_or(usize::MAX);
        let nth = self.results.len();
        let call = call.clone();
        self.results
            .insert((place, nth), KeyedResult { call, content });
    }

    fn switch_to(&mut self, side: Speaker) {
        if self.side == side {
            return;
        }
        self.before = self.digest();
        self.side = side;
        self.results.clear();
        self.calls = Sha256::new();
        self.text = NormalizedText::default();
        if side == Speaker::Model {
            self.call_positions.clear();
        }
    }
}

impl OutcomeText {
    fn digest(&self) -> Digest {
        match self {
            Self::Known(digest) => *digest,
            Self::Pending(text) => text.digest(),
        }
    }
}

/// Text without whitespace, with digests of other content in between.
#[derive(Clone, Debug, Default)]
struct NormalizedText(Sha256);

impl NormalizedText {
    fn push_text(&mut self, text: &str) {
        if text.is_ascii() {
            return self.push_ascii(text);
        }
        for word in text.split_whitespace() {
            self.0.update(word);
        }
    }

    /// Like `text`, for ASCII. Most text is ASCII, and each request repeats the whole history.
    fn push_ascii(&mut self, text: &str) {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let mut letters = Vec::with_capacity(text.len());
        letters.extend(text.bytes().filter(|byte| !is_space(byte)));
        self.0.update(&letters);
    }

    fn push_media(&mut self, source: &MediaSource) {
        let digest = match source {
            MediaSource::Base64 { data, .. } => Digest::of(data.as_bytes()),
            MediaSource::File { id, .. } => Digest::of_parts(["file", id]),
            MediaSource::Text(text) | MediaSource::Url(text) => Digest::of(text.as_bytes()),
        };
        self.push_digest(&digest);
    }

    /// Adds content other than text; the leading space cannot occur in normalized text.
    fn push_digest(&mut self, digest: &Digest) {
        self.0.update(b" ");
        self.0.update(digest.as_bytes());
    }

    fn push_result(&mut self, result: &ToolResult) {
        result.content.iter().for_each(|part| self.push_part(part));
    }

    fn push_part(&mut self, part: &OutcomePart) {
        match part {
            OutcomePart::Audio(audio) => self.push_media(&audio.source),
            OutcomePart::Document(document) => self.push_media(&document.source),
            OutcomePart::Image(image) => self.push_media(&image.source),
            OutcomePart::Text(text) => self.push_text(text),
        }
    }

    fn digest(&self) -> Digest {
        Digest::from_bytes(self.0.clone().finalize().into())
    }
}

/// The digest of a result's content.
pub(crate) fn result_digest(result: &ToolResult) -> Digest {
    let mut normalized = NormalizedText::default();
    normalized.push_result(result);
    normalized.digest()
}

/// The digests of all proper prefixes of a result's content.
pub(crate) fn prefix_digests(result: &ToolResult) -> Vec<Digest> {
    let Some((_, parts)) = result.content.split_last() else {
        return Vec::new();
    };
    let mut normalized = NormalizedText::default();
    let after = |part| {
        normalized.push_part(part);
        normalized.digest()
    };
    parts.iter().map(after).collect()
}

/// The number of parts at the end of a result that were already part of the result with digest `brought`, if
/// the two differ in nothing else. At most `words` parts count; of several possible numbers, the largest.
pub(crate) fn count_known_parts(
    result: &ToolResult,
    words: usize,
    digest: Digest,
) -> Option<usize> {
    let own = result.content.len().checked_sub(words)?;
    let (own, words) = result.content.split_at(own);
    let mut normalized = NormalizedText::default();
    own.iter().for_each(|part| normalized.push_part(part));
    let mut count = (normalized.digest() == digest).then_some(0);
    for (place, part) in (1..).zip(words) {
        normalized.push_part(part);
        if normalized.digest() == digest {
            count = Some(place);
        }
    }
    count
}

/// The digest of a call's arguments: equal for JSON that differs only in key order, whitespace or number
/// format.
fn input_digest(input: &ToolInput) -> Digest {
    match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => {
                let mut text = String::new();
                write_object(fields, &mut text);
                Digest::of(text.as_bytes())
            }
            Err(_) => text_digest(input.raw()),
        },
        ToolInput::Text(text) => text_digest(text),
    }
}

fn text_digest(text: &str) -> Digest {
    let mut normalized = NormalizedText::default();
    normalized.push_text(text);
    normalized.digest()
}

fn write_object(fields: &Map<String, Value>, out: &mut String) {
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (key, value) in fields {
        out.push_str(&Value::from(key.as_str()).to_string());
        write_value(value, out);
    }
    out.push('}');
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_value(item, out);
                out.push(',');
            }
            out.push(']');
        }
        // Clients that parse and rewrite numbers keep no more precision than this.
        Value::Number(number) => match number.as_f64() {
            Some(number) => out.push_str(&number.to_string()),
            None => out.push_str(&number.to_string()),
        },
        Value::Object(fields) => write_object(fields, out),
        Value::Bool(_) | Value::Null | Value::String(_) => out.push_str(&value.to_string()),
    }
}
