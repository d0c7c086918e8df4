//! Encodes the deltas of a reply as chunks for a client.

use std::collections::VecDeque;
use std::sync::Arc;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::round_break::RoundBreak;
use jackfield_domain::server_tool::ServerTool;
use serde_json::Value;

use super::annotation_buffer::AnnotationBuffer;
use super::chunks::{ChunkHead, call_delta, choice, event, server_call_delta, text_delta};
use super::pending_block::{Kind, PendingBlock, fragment_delta};
use crate::chat::reply::ending::{ContentFlags, finish_word, usage_to_wire};
use crate::chat::reply::{is_audio, server_tools, state};
use crate::chat::request::in_words;
use crate::chat::{DIALECT, wire};
use crate::error;

/// Writes one streamed reply, delta by delta.
///
/// The role comes first, the finish reason in a chunk of its own, usage only on request, and `[DONE]` last. Server
/// tools are reported as [`wire::ServerCalls`]. Blocks are written strictly one after another: deltas of a later
/// block wait until the earlier ones have ended. Content that this dialect cannot express is left out, as
/// [`crate::chat::reply::to_wire`] notes for the whole reply. Deltas that match no open block are ignored.
#[derive(Debug)]
pub struct Encoder {
    begun: bool,
    calls: u32,
    head: ChunkHead,
    content_flags: ContentFlags,
    id: String,
    /// The kind of the last block written.
    last_kind: Option<Kind>,
    include_reasoning: bool,
    annotations: AnnotationBuffer,
    /// The ids of server tool calls.
    server_calls: Vec<String>,
    /// Whether audio was written: a message can hold only one.
    audio_written: bool,
    text_written: bool,
    include_usage: bool,
    pending_blocks: VecDeque<PendingBlock>,
}

impl Encoder {
    /// An encoder for the reply with this id that began at `created`, in seconds since 1970; `model` is the name
    /// that the client knows.
    #[must_use]
    pub fn new(id: impl Into<String>, model: impl Into<String>, created: u64) -> Self {
        let id = id.into();
        Self {
            begun: false,
            calls: 0,
            head: ChunkHead::new(id.clone(), model.into(), created),
            content_flags: ContentFlags::default(),
            id,
            last_kind: None,
            include_reasoning: true,
            annotations: AnnotationBuffer::default(),
            server_calls: Vec::new(),
            audio_written: false,
            text_written: false,
            include_usage: false,
            // Usually blocks come one after another.
            pending_blocks: VecDeque::with_capacity(1),
        }
    }

    /// Adds usage at the end, which clients request with `stream_options.include_usage`.
    #[must_use]
    pub const fn with_usage(mut self) -> Self {
        self.include_usage = true;
        self
    }

    /// Omits reasoning, for which the vendor has no field.
    #[must_use]
    pub const fn without_reasoning(mut self) -> Self {
        self.include_reasoning = false;
        self
    }

    /// The first event, unless it was written already: for servers that send it before any delta.
    pub fn begin(&mut self) -> Vec<SseEvent> {
        if self.begun {
            return Vec::new();
        }
        self.begun = true;
        vec![self.chunk(wire::Delta {
            role: Some("assistant".to_owned()),
            content: Some(String::new()),
            ..wire::Delta::default()
        })]
    }

    /// The events for a delta. A call gets its upstream id, or an id of this stream if it has none.
    pub fn push(&mut self, delta: &Delta) -> Vec<SseEvent> {
        self.push_as(delta, None)
    }

    /// The events for a delta; `call` is the id of the call that starts with it.
    pub fn push_as(&mut self, delta: &Delta, call: Option<&ToolCallId>) -> Vec<SseEvent> {
        let mut out = self.begin();
        match delta {
            Delta::BlockStarted { index, start } => self.pending_blocks.push_back(PendingBlock {
                call: call.map(|id| id.as_str().to_owned()),
                ended: false,
                index: *index,
                pieces: Vec::new(),
                annotations: Vec::new(),
                start: start.clone(),
                state_written: false,
                states: Vec::new(),
                written_as: None,
            }),
            Delta::AnnotationAdded { index, annotation } => {
                if let Some(block) = self.open_block(*index)
                    && *annotation.dialect == *DIALECT
                    && annotation.json.is_object()
                {
                    block.annotations.push(annotation.json.clone());
                }
            }
            Delta::ArgumentsAppended { index, text } | Delta::TextAppended { index, text } => {
                if let Some(block) = self.open_block(*index)
                    && !text.is_empty()
                {
                    block.pieces.push(Arc::clone(text));
                }
            }
            Delta::BlockEnded { index } => {
                if let Some(block) = self.open_block(*index) {
                    block.ended = true;
                }
            }
            Delta::StateSet { index, state } => {
                if let Some(block) = self.open_block(*index) {
                    block.states.retain(|known| known.kind != state.kind);
                    block.states.push(state.clone());
                }
            }
        }
        self.flush(&mut out);
        out
    }

    /// The last events of a complete reply.
    #[must_use]
    pub fn finish(mut self, end: &ReplyEnd) -> Vec<SseEvent> {
        let mut out = self.begin();
        for block in &mut self.pending_blocks {
            block.ended = true;
        }
        self.flush(&mut out);
        self.write_annotations(&mut out);
        if self.include_reasoning
            && let Some(details) = state::of_dialect(&end.opaque, state::REASONING_DETAILS)
        {
            out.push(self.chunk(wire::Delta {
                reasoning_details: Some(details.clone()),
                ..wire::Delta::default()
            }));
        }
        let reason = finish_word(&end.finish, self.content_flags);
        out.push(self.event(vec![choice(wire::Delta::default(), Some(reason))], None));
        if self.include_usage
            && let Some(usage) = &end.usage
        {
            out.push(self.event(Vec::new(), Some(usage_to_wire(usage))));
        }
        out.push(SseEvent {
            data: "[DONE]".to_owned(),
            event: None,
        });
        out
    }

    /// The last event of an interrupted reply. Nothing follows it, so that clients do not take the reply for
    /// complete.
    #[must_use]
    pub fn fail(self, failure: &ModelFailure) -> SseEvent {
        let (_, body) = error::to_wire(failure);
        event(&body)
    }

    fn open_block(&mut self, index: u32) -> Option<&mut PendingBlock> {
        let mut blocks = self.pending_blocks.iter_mut().rev();
        blocks.find(|block| block.index == index && !block.ended)
    }

    /// Writes what is available of the first block, and of the following ones once it has ended.
    fn flush(&mut self, out: &mut Vec<SseEvent>) {
        while let Some(mut block) = self.pending_blocks.pop_front() {
            self.write_block(&mut block, out);
            if !block.ended {
                self.pending_blocks.push_front(block);
                return;
            }
            if let Some(kind) = block.written_as {
                self.last_kind = Some(kind);
            }
        }
    }

    fn write_block(&mut self, block: &mut PendingBlock, out: &mut Vec<SseEvent>) {
        if block.written_as.is_none() && !self.begin_block(block, out) {
            return;
        }
        let Some(kind) = block.written_as else { return };
        if kind == Kind::Thinking && !self.include_reasoning {
            block.pieces.clear();
            return;
        }
        for text in std::mem::take(&mut block.pieces) {
            if kind == Kind::Text {
                out.push(self.head.text_chunk(&text));
            } else {
                out.extend(
                    fragment_delta(kind, &block.start, &text).map(|delta| self.chunk(delta)),
                );
            }
        }
        if block.ended {
            self.end_block(block, kind, out);
        }
    }

    /// Writes what is known only at the end of a block.
    fn end_block(&mut self, block: &mut PendingBlock, kind: Kind, out: &mut Vec<SseEvent>) {
        if kind == Kind::Text {
            self.annotations.add(std::mem::take(&mut block.annotations));
        }
        if matches!(kind, Kind::Call(_))
            && !block.state_written
            && let Some(extra) = state::of_dialect(&block.states, state::EXTRA_CONTENT)
            // SDKs require a `function` in every fragment of a call.
            && let Some(mut delta) = fragment_delta(kind, &block.start, "")
        {
            for call in delta.tool_calls.iter_mut().flatten() {
                call.extra_content = Some(extra.clone());
            }
            out.push(self.chunk(delta));
        }
    }

    /// Writes the annotations on the text so far.
    fn write_annotations(&mut self, out: &mut Vec<SseEvent>) {
        if let Some(remarks) = self.annotations.take() {
            out.push(self.chunk(wire::Delta {
                annotations: Some(remarks),
                ..wire::Delta::default()
            }));
        }
    }

    /// Writes the start of a block; returns whether there is one, and deltas may follow.
    fn begin_block(&mut self, block: &mut PendingBlock, out: &mut Vec<SseEvent>) -> bool {
        // The state of a call comes between its start and its arguments; and blank text may never become content.
        if !block.ended && !block.has_text() {
            return false;
        }
        match &block.start {
            BlockStart::Refusal if block.has_text() => {
                self.content_flags.refusal = true;
                block.written_as = Some(Kind::Refusal);
            }
            BlockStart::Text if block.has_text() => {
                self.write_separator(RoundBreak::is_marked(&block.states), out);
                block.written_as = Some(Kind::Text);
            }
            BlockStart::Thinking { redacted: false } if block.has_text() => {
                block.written_as = Some(Kind::Thinking);
            }
            BlockStart::Refusal | BlockStart::Text | BlockStart::Thinking { .. } => {}
            BlockStart::ToolCall {
                ran_by: RanBy::Client | RanBy::Engine,
                json,
                name,
                upstream,
            } => {
                // Clients that read calls take the text before them for complete.
                self.write_annotations(out);
                let index = self.calls;
                self.calls += 1;
                self.content_flags.calls = true;
                let upstream = upstream.as_ref().map(|known| &*known.id);
                let upstream = upstream.filter(|id| !id.is_empty()).map(str::to_owned);
                let id = block.call.take().or(upstream);
                let mut wire_call = wire::ToolCall {
                    index: Some(index),
                    id: Some(id.unwrap_or_else(|| format!("call_{}_{index}", self.id))),
                    extra_content: state::of_dialect(&block.states, state::EXTRA_CONTENT).cloned(),
                    ..wire::ToolCall::default()
                };
                block.state_written = wire_call.extra_content.is_some();
                let name = Some((**name).to_owned());
                if *json {
                    wire_call.kind = Some("function".to_owned());
                    wire_call.function = Some(wire::FunctionCall {
                        name,
                        arguments: Value::String(String::new()),
                    });
                    if !block.has_text() {
                        // Clients parse the arguments, so empty ones become an empty object.
                        block.pieces = vec!["{}".into()];
                    }
                } else {
                    wire_call.kind = Some("custom".to_owned());
                    wire_call.custom = Some(wire::CustomCall {
                        name,
                        input: String::new(),
                    });
                }
                out.push(self.chunk(call_delta(wire_call)));
                block.written_as = Some(Kind::Call(index));
            }
            BlockStart::ToolCall {
                ran_by: RanBy::Provider,
                json,
                ..
            } => block.written_as = self.write_server_call(block, *json, out),
            BlockStart::Whole(content) => block.written_as = self.write_whole_block(content, out),
        }
        block.written_as.is_some()
    }

    /// Writes a server tool call once it is complete.
    fn write_server_call(
        &mut self,
        block: &PendingBlock,
        json: bool,
        out: &mut Vec<SseEvent>,
    ) -> Option<Kind> {
        let tool = ServerTool::from_states(&block.states).filter(|_| block.ended)?;
        let raw = block.pieces.concat();
        let arguments = if json {
            server_tools::json_arguments(&raw).to_owned()
        } else {
            raw
        };
        let index = self.server_calls.len();
        let id = match &block.call {
            Some(id) => id.clone(),
            None => format!("call_{}_server_{index}", self.id),
        };
        let mut wire_call = server_tools::call(&id, tool, arguments);
        wire_call.index = u32::try_from(index).ok();
        out.push(self.chunk(server_call_delta(wire_call)));
        self.server_calls.push(id);
        Some(Kind::Other)
    }

    /// Writes an empty line between texts that are separated by another block or belong to different rounds.
    fn write_separator(&mut self, later_round: bool, out: &mut Vec<SseEvent>) {
        if self.text_written && (later_round || self.last_kind != Some(Kind::Text)) {
            out.push(self.chunk(text_delta("\n\n".to_owned())));
        }
        self.text_written = true;
    }

    /// Writes a block that arrives complete.
    fn write_whole_block(&mut self, content: &Content, out: &mut Vec<SseEvent>) -> Option<Kind> {
        let text = match content {
            Content::ToolOutcome(outcome) => {
                let mut ids = self.server_calls.iter();
                let index = ids.position(|id| id == outcome.call.as_str())?;
                let mut wire_call = wire::ServerCall {
                    index: u32::try_from(index).ok(),
                    ..wire::ServerCall::default()
                };
                server_tools::answer(&mut wire_call, &outcome.result);
                out.push(self.chunk(server_call_delta(wire_call)));
                return Some(Kind::Other);
            }
            Content::Opaque(opaque) if is_audio(opaque) && !self.audio_written => {
                self.audio_written = true;
                out.push(self.chunk(wire::Delta {
                    audio: Some(opaque.json.clone()),
                    ..wire::Delta::default()
                }));
                return Some(Kind::Other);
            }
            Content::Opaque(opaque) => opaque.fallback.as_deref().map(str::to_owned),
            Content::Audio(_) | Content::Document(_) | Content::Image(_) => in_words(content),
            Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_) => None,
        };
        let text = text.filter(|text| !text.trim().is_empty())?;
        self.write_separator(false, out);
        out.push(self.chunk(text_delta(text)));
        Some(Kind::Text)
    }

    fn chunk(&self, delta: wire::Delta) -> SseEvent {
        self.event(vec![choice(delta, None)], None)
    }

    fn event(&self, choices: Vec<wire::ChoiceDelta>, usage: Option<wire::Usage>) -> SseEvent {
        self.head.chunk(choices, usage)
    }
}
