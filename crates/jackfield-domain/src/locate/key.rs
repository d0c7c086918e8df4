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
    brought: BTreeMap<(usize, usize), KeyedResult>,
    /// The position of each of the model's calls.
    called: HashMap<ToolCallId, usize>,
    calls: Sha256,
    side: Speaker,
    words: NormalizedText,
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
    Said(NormalizedText),
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
            brought: BTreeMap::new(),
            called: HashMap::new(),
            calls: Sha256::new(),
            side: Speaker::Nobody,
            words: NormalizedText::default(),
        }
    }

    /// Adds a message as the client has it. Returns whether it has content; a message without content does not
    /// change the key.
    pub(crate) fn message(&mut self, message: &Message) -> bool {
        let mut says = false;
        for block in &message.blocks {
            says |= match message.role {
                Role::Assistant => self.model_block(&block.content),
                Role::System => false,
                Role::Tool | Role::User => self.client_block(&block.content),
            };
        }
        says
    }

    /// Adds text of the model. Returns whether there is any.
    pub(crate) fn said(&mut self, text: &str) -> bool {
        let says = !text.trim().is_empty();
        if says {
            self.turn_to(Speaker::Model);
            self.words.text(text);
        }
        says
    }

    /// Adds a client tool call of the model.
    pub(crate) fn called(&mut self, call: &ToolCall) {
        self.turn_to(Speaker::Model);
        self.calls
            .update(Digest::of_parts([call.id.as_str()]).as_bytes());
        self.calls.update(of_input(&call.input).as_bytes());
        let place = self.called.len();
        self.called.entry(call.id.clone()).or_insert(place);
    }

    /// Adds the result of a call, as a digest from [`of_result`].
    pub(crate) fn brought(&mut self, call: &ToolCallId, content: Digest) {
        self.outcome(call, OutcomeText::Known(content));
    }

    /// The key of everything so far.
    pub(crate) fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        hash.update(self.before.as_bytes());
        match self.side {
            Speaker::Nobody => return self.before,
            Speaker::Client => {
                hash.update(b"client");
                for brought in self.brought.values() {
                    hash.update(Digest::of_parts([brought.call.as_str()]).as_bytes());
                    hash.update(brought.content.digest().as_bytes());
                }
            }
            Speaker::Model => {
                hash.update(b"model");
                hash.update(self.calls.clone().finalize());
            }
        }
        hash.update(self.words.digest().as_bytes());
        Digest::from_bytes(hash.finalize().into())
    }

    fn model_block(&mut self, content: &Content) -> bool {
        match content {
            Content::Refusal(text) => self.said(text),
            Content::Text(text) => self.said(&text.text),
            Content::ToolCall(call) => {
                let is_its = call.ran_by != RanBy::Provider;
                if is_its {
                    self.called(call);
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

    fn client_block(&mut self, content: &Content) -> bool {
        match content {
            Content::Audio(audio) => self.client_medium(&audio.source),
            Content::Document(document) => self.client_medium(&document.source),
            Content::Image(image) => self.client_medium(&image.source),
            Content::Opaque(block) => match &block.fallback {
                Some(fallback) => self.client_text(fallback),
                None => false,
            },
            Content::Refusal(text) => self.client_text(text),
            Content::Text(text) => self.client_text(&text.text),
            Content::Thinking(_) | Content::ToolCall(_) => false,
            Content::ToolOutcome(outcome) => {
                let mut said = NormalizedText::default();
                said.result(&outcome.result);
                self.outcome(&outcome.call, OutcomeText::Said(said));
                true
            }
        }
    }

    fn client_medium(&mut self, source: &MediaSource) -> bool {
        self.client().medium(source);
        true
    }

    fn client_text(&mut self, text: &str) -> bool {
        let says = !text.trim().is_empty();
        if says {
            self.client().text(text);
        }
        says
    }

    /// The destination for the client's text: the last result, if there is one in this message.
    fn client(&mut self) -> &mut NormalizedText {
        self.turn_to(Speaker::Client);
        let last = self.brought.values_mut().next_back();
        match last.map(|brought| &mut brought.content) {
            Some(OutcomeText::Said(said)) => said,
            Some(OutcomeText::Known(_)) | None => &mut self.words,
        }
    }

    fn outcome(&mut self, call: &ToolCallId, content: OutcomeText) {
        self.turn_to(Speaker::Client);
        let place = self.called.get(call).copied().unwrap_or(usize::MAX);
        let nth = self.brought.len();
        let call = call.clone();
        self.brought
            .insert((place, nth), KeyedResult { call, content });
    }

    fn turn_to(&mut self, side: Speaker) {
        if self.side == side {
            return;
        }
        self.before = self.digest();
        self.side = side;
        self.brought.clear();
        self.calls = Sha256::new();
        self.words = NormalizedText::default();
        if side == Speaker::Model {
            self.called.clear();
        }
    }
}

impl OutcomeText {
    fn digest(&self) -> Digest {
        match self {
            Self::Known(digest) => *digest,
            Self::Said(said) => said.digest(),
        }
    }
}

/// Text without whitespace, with digests of other content in between.
#[derive(Clone, Debug, Default)]
struct NormalizedText(Sha256);

impl NormalizedText {
    fn text(&mut self, text: &str) {
        if text.is_ascii() {
            return self.plain(text);
        }
        for word in text.split_whitespace() {
            self.0.update(word);
        }
    }

    /// Like `text`, for ASCII. Most text is ASCII, and each request repeats the whole history.
    fn plain(&mut self, text: &str) {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let mut letters = Vec::with_capacity(text.len());
        letters.extend(text.bytes().filter(|byte| !is_space(byte)));
        self.0.update(&letters);
    }

    fn medium(&mut self, source: &MediaSource) {
        let digest = match source {
            MediaSource::Base64 { data, .. } => Digest::of(data.as_bytes()),
            MediaSource::File { id, .. } => Digest::of_parts(["file", id]),
            MediaSource::Text(text) | MediaSource::Url(text) => Digest::of(text.as_bytes()),
        };
        self.other(&digest);
    }

    /// Adds content other than text; the leading space cannot occur in normalized text.
    fn other(&mut self, digest: &Digest) {
        self.0.update(b" ");
        self.0.update(digest.as_bytes());
    }

    fn result(&mut self, result: &ToolResult) {
        result.content.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &OutcomePart) {
        match part {
            OutcomePart::Audio(audio) => self.medium(&audio.source),
            OutcomePart::Document(document) => self.medium(&document.source),
            OutcomePart::Image(image) => self.medium(&image.source),
            OutcomePart::Text(text) => self.text(text),
        }
    }

    fn digest(&self) -> Digest {
        Digest::from_bytes(self.0.clone().finalize().into())
    }
}

/// The digest of a result's content.
pub(crate) fn of_result(result: &ToolResult) -> Digest {
    let mut said = NormalizedText::default();
    said.result(result);
    said.digest()
}

/// The digests of all proper prefixes of a result's content.
pub(crate) fn of_beginnings(result: &ToolResult) -> Vec<Digest> {
    let Some((_, parts)) = result.content.split_last() else {
        return Vec::new();
    };
    let mut said = NormalizedText::default();
    let after = |part| {
        said.part(part);
        said.digest()
    };
    parts.iter().map(after).collect()
}

/// The number of parts at the end of a result that were already part of the result with digest `brought`, if
/// the two differ in nothing else. At most `words` parts count; of several possible numbers, the largest.
pub(crate) fn said_before(result: &ToolResult, words: usize, brought: Digest) -> Option<usize> {
    let own = result.content.len().checked_sub(words)?;
    let (own, words) = result.content.split_at(own);
    let mut said = NormalizedText::default();
    own.iter().for_each(|part| said.part(part));
    let mut known = (said.digest() == brought).then_some(0);
    for (place, part) in (1..).zip(words) {
        said.part(part);
        if said.digest() == brought {
            known = Some(place);
        }
    }
    known
}

/// The digest of a call's arguments: equal for JSON that differs only in key order, whitespace or number
/// format.
fn of_input(input: &ToolInput) -> Digest {
    match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => {
                let mut text = String::new();
                write_object(fields, &mut text);
                Digest::of(text.as_bytes())
            }
            Err(_) => of_text(input.raw()),
        },
        ToolInput::Text(text) => of_text(text),
    }
}

fn of_text(text: &str) -> Digest {
    let mut said = NormalizedText::default();
    said.text(text);
    said.digest()
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
