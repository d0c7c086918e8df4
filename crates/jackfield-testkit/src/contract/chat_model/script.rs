//! Scripts of a vendor's replies in the terms of the domain, and their wire form.

use std::time::Duration;

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;

use super::Manner;
use crate::server::{Framing, Gate, Response};

/// A reply that a vendor is to send.
#[derive(Clone, Debug, PartialEq)]
pub struct VendorReply {
    /// The blocks, in order.
    pub blocks: Vec<ScriptedBlock>,
    /// The finish reason.
    pub finish: FinishReason,
    /// The manner in which it is sent.
    pub manner: Manner,
    /// The usage.
    pub usage: Usage,
}

/// One block of a scripted reply.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ScriptedBlock {
    /// A call of a text tool.
    CustomCall {
        /// The vendor's id of the call.
        id: String,
        /// The text, in the fragments to send.
        input: Vec<String>,
        /// The tool.
        name: String,
    },
    /// Reasoning.
    Reasoning {
        /// Its text, in the fragments to send; may be empty.
        pieces: Vec<String>,
        /// State that the vendor needs back unchanged, such as a signature or encrypted reasoning; a vendor without
        /// such state omits it.
        state: String,
    },
    /// The model's explanation of a refusal, in the fragments to send.
    Refusal(Vec<String>),
    /// Text.
    Text {
        /// The text, in the fragments to send.
        pieces: Vec<String>,
        /// State that the vendor needs back with this text, as for [`Reasoning`](Self::Reasoning).
        state: Option<String>,
    },
    /// A call of a tool with JSON arguments.
    ToolCall {
        /// The arguments as the model writes them, in the fragments to send.
        arguments: Vec<String>,
        /// The vendor's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// State that the vendor needs back with this call, as for [`Reasoning`](Self::Reasoning).
        state: Option<String>,
    },
}

/// The kinds of blocks that not every vendor sends.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum BlockKind {
    /// [`ScriptedBlock::ToolCall`] with state.
    CallWithState,
    /// [`ScriptedBlock::CustomCall`].
    CustomCall,
    /// [`ScriptedBlock::Reasoning`].
    Reasoning,
    /// [`ScriptedBlock::Refusal`].
    Refusal,
    /// [`ScriptedBlock::Text`] with state.
    TextWithState,
}

impl ScriptedBlock {
    /// A call of a text tool, with its text in fragments.
    #[must_use]
    pub fn custom(id: &str, name: &str, input: &[&str]) -> Self {
        Self::CustomCall {
            id: id.to_owned(),
            input: owned(input),
            name: name.to_owned(),
        }
    }

    /// Reasoning in fragments, with the state that the vendor needs back.
    #[must_use]
    pub fn reasoning(pieces: &[&str], state: &str) -> Self {
        Self::Reasoning {
            pieces: owned(pieces),
            state: state.to_owned(),
        }
    }

    /// A refusal in fragments.
    #[must_use]
    pub fn refusal(pieces: &[&str]) -> Self {
        Self::Refusal(owned(pieces))
    }

    /// Text in fragments.
    #[must_use]
    pub fn text(pieces: &[&str]) -> Self {
        Self::Text {
            pieces: owned(pieces),
            state: None,
        }
    }

    /// A call with its arguments in fragments.
    #[must_use]
    pub fn call(id: &str, name: &str, arguments: &[&str]) -> Self {
        Self::ToolCall {
            arguments: owned(arguments),
            id: id.to_owned(),
            name: name.to_owned(),
            state: None,
        }
    }

    /// The same block with this state, for blocks that may have some.
    #[must_use]
    pub fn with_state(mut self, text: &str) -> Self {
        match &mut self {
            Self::Reasoning { state, .. } => text.clone_into(state),
            Self::Text { state, .. } | Self::ToolCall { state, .. } => {
                *state = Some(text.to_owned());
            }
            Self::CustomCall { .. } | Self::Refusal(_) => {}
        }
        self
    }
}

impl VendorReply {
    /// A reply with these blocks: it ends with `ToolCalls` if there are calls, with `Stop` otherwise.
    #[must_use]
    pub fn from_blocks(blocks: Vec<ScriptedBlock>) -> Self {
        let calls = blocks.iter().any(|block| match block {
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => true,
            ScriptedBlock::Reasoning { .. }
            | ScriptedBlock::Refusal(_)
            | ScriptedBlock::Text { .. } => false,
        });
        Self {
            blocks,
            finish: if calls {
                FinishReason::ToolCalls
            } else {
                FinishReason::Stop
            },
            manner: Manner::Usual,
            usage: Usage {
                cache_read: 10,
                cache_write: 0,
                input: 25,
                output: 7,
                reasoning: 0,
                ..Usage::default()
            },
        }
    }

    /// A reply with text in these fragments.
    #[must_use]
    pub fn text(pieces: &[&str]) -> Self {
        Self::from_blocks(vec![ScriptedBlock::text(pieces)])
    }

    /// The same reply, sent in this manner.
    #[must_use]
    pub fn with_manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }

    /// The same reply with another finish reason.
    #[must_use]
    pub fn finish(mut self, finish: FinishReason) -> Self {
        self.finish = finish;
        self
    }
}

/// A failure that a vendor is to answer with.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScriptedFailure {
    /// The kind of the failure.
    pub kind: ScriptedFailureKind,
    /// The vendor's message.
    pub message: String,
}

/// The kind of a scripted failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScriptedFailureKind {
    /// The key lacks the permission.
    Forbidden,
    /// The request is invalid.
    InvalidRequest,
    /// The model does not exist.
    ModelNotFound,
    /// The server is overloaded.
    Overloaded,
    /// Too many requests; optionally with the delay that the server asks for, in whole seconds.
    RateLimited(Option<Duration>),
    /// The server fails.
    ServerError,
    /// The key is invalid.
    Unauthenticated,
}

impl ScriptedFailure {
    /// A failure with a simple message.
    #[must_use]
    pub fn new(kind: ScriptedFailureKind) -> Self {
        Self {
            kind,
            message: "it did not work".to_owned(),
        }
    }
}

/// A recorded reply of a vendor's server.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The name of the recording, and its source.
    pub name: String,
    /// Its meaning; neither the fragments nor the manner matters.
    pub meaning: VendorReply,
    /// The bytes.
    pub wire: WireReply,
}

/// A response of a vendor on the wire.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WireReply {
    /// How many of the pieces must arrive for the reply to be complete.
    pub ending: usize,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body: the events of a stream, or all of it in one piece.
    pub pieces: Vec<Bytes>,
    /// The status.
    pub status: u16,
}

impl WireReply {
    /// A stream of these events in their wire form; complete with the last one.
    pub fn events<T: Into<Bytes>>(events: impl IntoIterator<Item = T>) -> Self {
        let pieces: Vec<Bytes> = events.into_iter().map(Into::into).collect();
        Self {
            ending: pieces.len(),
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            pieces,
            status: 200,
        }
    }

    /// A stream of these lines, each a JSON document; complete with the last one. Adds the line feeds; that of the
    /// last line need not arrive.
    pub fn lines<T: AsRef<[u8]>>(media_type: &str, lines: impl IntoIterator<Item = T>) -> Self {
        let lines = lines.into_iter();
        let ended = lines.map(|line| Bytes::from([line.as_ref(), b"\n"].concat()));
        Self {
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            ..Self::events(ended)
        }
    }

    /// A JSON document.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            ending: 1,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            pieces: vec![body.into()],
            status,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The head of the response, without any pieces.
    pub(super) fn head(&self) -> Response {
        let mut response = Response::new(self.status).framed(Framing::Chunked);
        response.headers.clone_from(&self.headers);
        response
    }

    /// The whole response.
    pub(super) fn response(&self) -> Response {
        self.first_pieces(self.pieces.len())
    }

    /// The first pieces of the response.
    pub(super) fn first_pieces(&self, count: usize) -> Response {
        let pieces = self.pieces.iter().take(count).cloned();
        pieces.fold(self.head(), Response::send)
    }

    /// The whole response in two pieces, cut at this byte of the body.
    pub(super) fn cut_in_two(&self, place: usize) -> Response {
        let body = Bytes::from(self.pieces.concat());
        let (one, two) = (body.slice(..place), body.slice(place..));
        self.head().send(one).send(two)
    }

    /// The response with the body up to this byte, and the rest of it when the gate opens.
    pub(super) fn held_at(&self, place: usize, gate: &Gate) -> Response {
        let body = Bytes::from(self.pieces.concat());
        let (one, two) = (body.slice(..place), body.slice(place..));
        self.head().send(one).pause(gate).send(two)
    }

    /// The response with another piece before the one at this place.
    pub(super) fn with_piece(&self, place: usize, piece: Bytes) -> Self {
        let mut changed = self.clone();
        changed.pieces.insert(place, piece);
        changed.ending += usize::from(place < self.ending);
        changed
    }

    /// The length in bytes of the part that must arrive.
    pub(super) fn length_to_ending(&self) -> usize {
        let body = self.first_bytes(self.ending);
        let is_events = self
            .headers
            .iter()
            .any(|(_, value)| value.starts_with("text/event-stream"));
        let without_feed = body.strip_suffix(b"\n").unwrap_or(&body);
        let without_break = without_feed.strip_suffix(b"\r").unwrap_or(without_feed);
        if !is_events {
            // A last line need not end.
            return without_break.len();
        }
        // An event ends with a blank line, which a carriage return alone completes.
        if without_break.len() < without_feed.len() {
            without_feed.len()
        } else {
            body.len()
        }
    }

    /// The first of these words, as far as they stand in the first pieces.
    pub(super) fn words_in_first(&self, count: usize, words: &[&str]) -> String {
        let body = self.first_bytes(count);
        let body = String::from_utf8_lossy(&body);
        let sent = words.iter().take_while(|word| body.contains(word.trim()));
        sent.copied().collect()
    }

    fn first_bytes(&self, count: usize) -> Vec<u8> {
        let pieces = self.pieces.iter().take(count);
        pieces.flatten().copied().collect()
    }

    /// Whether the body contains this text.
    pub(super) fn contains(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.pieces.concat()).contains(text)
    }
}

fn owned(pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(|&piece| piece.to_owned()).collect()
}
