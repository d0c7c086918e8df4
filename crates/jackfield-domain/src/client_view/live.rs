//! The reply in flight, as displayed to a client.

use std::sync::Arc;

use crate::block::{Block, Content, RanBy};
use crate::client_view::ClientEvent;
use crate::delta::{BlockStart, Delta};
use crate::ids::ToolCallId;
use crate::message::Message;
use crate::round_break::RoundBreak;
use crate::text_event::{TextEvent, TextEventKind, TextKind, TextStart};
use crate::tool_input::JsonInput;
use crate::turn::Turn;

/// One attempt at a reply. It is held back until it has visible content, so an attempt that fails before that
/// is retried without the client noticing.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveAttempt {
    /// The client tool calls that were streamed, in order.
    calls: Vec<ToolCallId>,
    /// Events that are held back.
    held: Vec<ClientEvent>,
    is_shown: bool,
    /// Whether earlier rounds were displayed and this one has no text yet.
    needs_round_break: bool,
    /// The index of its first block, once it has one.
    first_index: Option<u32>,
    /// The open block; `None` if it is not displayed.
    open: Option<LiveBlock>,
    /// The index of a tool call with malformed arguments. Its end and everything after it are held back until
    /// the turn's outcome is known.
    unreadable: Option<u32>,
    /// The bytes displayed of each text block that is not blank.
    text_lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
struct LiveBlock {
    index: u32,
    is_blank: bool,
    kind: LiveBlockKind,
}

#[derive(Clone, Debug)]
enum LiveBlockKind {
    /// A client tool call, with its JSON arguments so far.
    Arguments(String),
    /// A client tool call with text input.
    Input,
    /// Any other block.
    Other,
    /// Text, with its length in bytes.
    Words(usize),
}

impl LiveAttempt {
    /// An attempt that follows this many blocks.
    pub(super) fn after_blocks(blocks: u32) -> Self {
        Self {
            needs_round_break: blocks > 0,
            ..Self::default()
        }
    }

    /// Adds a piece of the reply.
    pub(super) fn push(
        &mut self,
        piece: &TextEvent,
        turn: &Turn,
        next: &mut u32,
        events: &mut Vec<ClientEvent>,
    ) {
        match &piece.kind {
            TextEventKind::Started(started) => {
                // Other calls are displayed once they are decided.
                if let Some((start, call)) = client_block_start(started, turn) {
                    let is_visible =
                        matches!(start, BlockStart::ToolCall { .. } | BlockStart::Whole(_));
                    let index = self.start(start, call, next);
                    if let TextStart::Text {
                        initial_state: Some(state),
                    }
                    | TextStart::Thinking {
                        initial_state: Some(state),
                        ..
                    } = started
                    {
                        let state = state.clone();
                        self.held
                            .push(delta_event(Delta::StateSet { index, state }));
                    }
                    if is_visible {
                        self.flush(events);
                    }
                }
            }
            TextEventKind::Text { kind: of, text } => {
                if let Some(open) = &mut self.open {
                    let index = open.index;
                    open.is_blank &= text.trim().is_empty();
                    match &mut open.kind {
                        LiveBlockKind::Arguments(arguments) => arguments.push_str(text),
                        LiveBlockKind::Words(words) => *words += text.len(),
                        LiveBlockKind::Input | LiveBlockKind::Other => {}
                    }
                    let text = Arc::clone(text);
                    self.held.push(delta_event(match of {
                        TextKind::Arguments => Delta::ArgumentsAppended { index, text },
                        TextKind::Refusal | TextKind::Text | TextKind::Thinking => {
                            Delta::TextAppended { index, text }
                        }
                    }));
                    self.flush(events);
                }
            }
            TextEventKind::Ended {
                annotations,
                opaque,
            } => {
                if let Some(open) = &self.open {
                    let index = open.index;
                    if let LiveBlockKind::Arguments(arguments) = &open.kind
                        && JsonInput::parse(arguments).object().is_err()
                    {
                        self.unreadable.get_or_insert(index);
                    }
                    let annotations = annotations.iter().cloned();
                    self.held.extend(annotations.map(|annotation| {
                        delta_event(Delta::AnnotationAdded { index, annotation })
                    }));
                    let states = opaque.iter().cloned();
                    self.held
                        .extend(states.map(|state| delta_event(Delta::StateSet { index, state })));
                    self.close();
                }
            }
        }
        if self.is_shown {
            self.flush(events);
        }
    }

    /// The reply is complete. Returns the client tool calls that were streamed.
    pub(super) fn finish(&mut self, events: &mut Vec<ClientEvent>) -> Vec<ToolCallId> {
        self.flush(events);
        std::mem::take(&mut self.calls)
    }

    /// Whether events are held back behind a call with malformed arguments.
    pub(super) const fn is_holding(&self) -> bool {
        self.unreadable.is_some()
    }

    /// Displays everything: the client's reply ends with malformed arguments.
    pub(super) fn release(&mut self, events: &mut Vec<ClientEvent>) {
        self.unreadable = None;
        self.flush(events);
    }

    /// The reply was interrupted with this stored part: displays the rest of its text.
    pub(super) fn interrupt(
        &mut self,
        partial: Option<&Message>,
        next: &mut u32,
        events: &mut Vec<ClientEvent>,
    ) {
        let Some(partial) = partial else {
            return;
        };
        if let Some(unreadable) = self.unreadable.take() {
            let ends = |shown: &ClientEvent| matches!(shown, ClientEvent::Piece { delta: Delta::BlockEnded { index }, .. } if *index == unreadable);
            self.held.retain(|shown| !ends(shown));
        }
        self.flush(events);
        let mut words = partial.blocks.iter().skip(self.text_lengths.len());
        match self.open.as_ref().map(|open| (open.index, &open.kind)) {
            Some((index, LiveBlockKind::Words(streamed))) => {
                let rest = words.next().map(text_of);
                let rest = rest
                    .and_then(|text| text.get(*streamed..))
                    .unwrap_or_default();
                self.push_text(index, rest);
                self.close();
            }
            Some((_, LiveBlockKind::Other)) => self.close(),
            // The call stays incomplete for the client.
            Some((_, LiveBlockKind::Arguments(_) | LiveBlockKind::Input)) => self.open = None,
            None => {}
        }
        for block in words {
            let index = self.start(BlockStart::Text, None, next);
            self.push_text(index, text_of(block));
            self.close();
        }
        events.append(&mut self.held);
    }

    /// Discards the attempt. Returns whether part of it was displayed.
    pub(super) fn discard(&mut self, next: &mut u32) -> bool {
        let attempt = std::mem::take(self);
        if let (Some(first), false) = (attempt.first_index, attempt.is_shown) {
            *next = first;
        }
        attempt.is_shown
    }

    fn flush(&mut self, events: &mut Vec<ClientEvent>) {
        self.is_shown = true;
        if self.unreadable.is_none() {
            // Usually `shown` is empty, and its allocation is replaced.
            if events.is_empty() {
                *events = std::mem::take(&mut self.held);
            } else {
                events.append(&mut self.held);
            }
        }
    }

    fn start(&mut self, start: BlockStart, call: Option<ToolCallId>, next: &mut u32) -> u32 {
        let index = *next;
        *next += 1;
        self.first_index.get_or_insert(index);
        let is_text = matches!(start, BlockStart::Text);
        let kind = match &start {
            BlockStart::Text => LiveBlockKind::Words(0),
            BlockStart::ToolCall {
                ran_by: RanBy::Client,
                json,
                ..
            } => {
                self.calls.extend(call.clone());
                if *json {
                    LiveBlockKind::Arguments(String::new())
                } else {
                    LiveBlockKind::Input
                }
            }
            BlockStart::Refusal
            | BlockStart::Thinking { .. }
            | BlockStart::ToolCall { .. }
            | BlockStart::Whole(_) => LiveBlockKind::Other,
        };
        self.open = Some(LiveBlock {
            index,
            is_blank: true,
            kind,
        });
        let delta = Delta::BlockStarted { index, start };
        self.held.push(ClientEvent::Piece { call, delta });
        if is_text && std::mem::take(&mut self.needs_round_break) {
            let state = RoundBreak::state();
            self.held
                .push(delta_event(Delta::StateSet { index, state }));
        }
        index
    }

    fn push_text(&mut self, index: u32, text: &str) {
        if !text.is_empty() {
            let text = text.into();
            self.held
                .push(delta_event(Delta::TextAppended { index, text }));
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let index = open.index;
            self.held.push(delta_event(Delta::BlockEnded { index }));
            if let (LiveBlockKind::Words(words), false) = (open.kind, open.is_blank) {
                self.text_lengths.push(words);
            }
        }
    }
}

const fn delta_event(delta: Delta) -> ClientEvent {
    ClientEvent::Piece { call: None, delta }
}

/// The start of a block that is streamed, with the id of its call; `None` if the block is not streamed.
fn client_block_start(
    started: &TextStart,
    turn: &Turn,
) -> Option<(BlockStart, Option<ToolCallId>)> {
    Some(match started {
        TextStart::Call {
            by_provider,
            id,
            json,
            name,
            upstream,
        } => {
            let ran_by = if *by_provider {
                RanBy::Provider
            } else if turn.streams_call(name.as_str(), *json) {
                RanBy::Client
            } else {
                return None;
            };
            let start = BlockStart::ToolCall {
                json: *json,
                name: name.as_str().into(),
                ran_by,
                upstream: upstream.clone(),
            };
            (start, Some(id.clone()))
        }
        TextStart::Refusal => (BlockStart::Refusal, None),
        TextStart::Text { .. } => (BlockStart::Text, None),
        TextStart::Thinking { redacted, .. } => (
            BlockStart::Thinking {
                redacted: *redacted,
            },
            None,
        ),
        TextStart::Whole(content) => (BlockStart::Whole(content.clone()), None),
    })
}

fn text_of(block: &Block) -> &str {
    match &block.content {
        Content::Text(text) => &text.text,
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => "",
    }
}
