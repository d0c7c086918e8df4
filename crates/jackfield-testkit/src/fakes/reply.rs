//! Scripts of a model's replies.

use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::usage::Usage;

use crate::gate::Gate;

/// One reply of a [`ScriptedModel`](super::ScriptedModel): deltas, gates, and an end or a failure.
#[derive(Clone, Debug)]
#[must_use = "a reply is said when it is given to a model"]
pub struct ScriptedReply {
    pub(super) acts: Vec<FakeReplyAct>,
    pub(super) end: Result<ReplyEnd, ModelFailure>,
}

/// An action of a scripted model.
#[derive(Clone, Debug)]
pub(super) enum FakeReplyAct {
    Push(Delta),
    Wait(Gate),
}

impl ScriptedReply {
    /// These deltas, and then this end or failure.
    pub fn deltas(
        deltas: impl IntoIterator<Item = Delta>,
        end: Result<ReplyEnd, ModelFailure>,
    ) -> Self {
        Self {
            acts: deltas.into_iter().map(FakeReplyAct::Push).collect(),
            end,
        }
    }

    /// A text reply, in two fragments.
    pub fn text(text: &str) -> Self {
        Self::deltas(text_deltas(0, text), Ok(ReplyEnd::new(FinishReason::Stop)))
    }

    /// Calls of these tools with these arguments as raw text, in order.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let calls = (0..).zip(calls);
        let deltas = calls.flat_map(|(index, (name, raw))| call_deltas(index, name, raw, true));
        Self::deltas(deltas, Ok(ReplyEnd::new(FinishReason::ToolCalls)))
    }

    /// A call of a text tool, with this text.
    pub fn custom_call(name: &str, text: &str) -> Self {
        let deltas = call_deltas(0, name, text, false);
        Self::deltas(deltas, Ok(ReplyEnd::new(FinishReason::ToolCalls)))
    }

    /// A refusal with this text.
    pub fn refusal(text: &str) -> Self {
        let deltas = words(0, BlockStart::Refusal, text);
        Self::deltas(deltas, Ok(ReplyEnd::new(FinishReason::Refused)))
    }

    /// A failure before the first delta.
    pub fn failure(failure: ModelFailure) -> Self {
        Self::deltas([], Err(failure))
    }

    /// The same, with a further text block.
    pub fn with_text(mut self, text: &str) -> Self {
        let index = self.next();
        self.acts
            .extend(text_deltas(index, text).map(FakeReplyAct::Push));
        self
    }

    /// The same, with a further reasoning block and its opaque state.
    pub fn reasoning(mut self, text: &str, state: OpaqueState) -> Self {
        let index = self.next();
        let mut deltas: Vec<Delta> =
            words(index, BlockStart::Thinking { redacted: false }, text).collect();
        let last = deltas.len() - 1;
        deltas.insert(last, Delta::StateSet { index, state });
        self.acts.extend(deltas.into_iter().map(FakeReplyAct::Push));
        self
    }

    /// The same, with a note that a part of the request was lost.
    ///
    /// A request that is strict about the note is refused in place of this reply.
    pub fn with_note(mut self, note: Note) -> Self {
        if let Ok(end) = &mut self.end {
            end.notes.push(note);
        }
        self
    }

    /// The same, but it waits at this gate before its first delta.
    pub fn held_at(mut self, gate: &Gate) -> Self {
        self.acts.insert(0, FakeReplyAct::Wait(gate.clone()));
        self
    }

    /// The same, but it waits at this gate after this many deltas.
    pub fn held_after(mut self, pieces: usize, gate: &Gate) -> Self {
        let mut pushed = 0;
        let place = self.acts.iter().position(|act| {
            let here = pushed == pieces;
            pushed += usize::from(matches!(act, FakeReplyAct::Push(_)));
            here
        });
        let place = place.unwrap_or(self.acts.len());
        self.acts.insert(place, FakeReplyAct::Wait(gate.clone()));
        self
    }

    /// The same, with this end.
    pub fn ending(mut self, end: ReplyEnd) -> Self {
        self.end = Ok(end);
        self
    }

    /// The same, but it fails after its deltas.
    pub fn failing(mut self, failure: ModelFailure) -> Self {
        self.end = Err(failure);
        self
    }

    /// The same, with this usage, unless it fails.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        if let Ok(end) = &mut self.end {
            end.usage = Some(usage);
        }
        self
    }

    /// The index of the next block.
    fn next(&self) -> u32 {
        let begun = self.acts.iter().filter_map(|act| match act {
            FakeReplyAct::Push(delta) => Some(delta.index() + 1),
            FakeReplyAct::Wait(_) => None,
        });
        begun.max().unwrap_or(0)
    }
}

fn text_deltas(index: u32, text: &str) -> impl Iterator<Item = Delta> + use<> {
    words(index, BlockStart::Text, text)
}

/// A block of text, in two fragments.
fn words(index: u32, start: BlockStart, text: &str) -> impl Iterator<Item = Delta> + use<> {
    let (one, two) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let pieces: [Arc<str>; 2] = [one.into(), two.into()];
    std::iter::once(Delta::BlockStarted { index, start })
        .chain(pieces.map(|text| Delta::TextAppended { index, text }))
        .chain([Delta::BlockEnded { index }])
}

fn call_deltas(index: u32, name: &str, raw: &str, json: bool) -> [Delta; 3] {
    let start = BlockStart::ToolCall {
        json,
        name: name.into(),
        ran_by: RanBy::Engine,
        upstream: None,
    };
    let text = raw.into();
    [
        Delta::BlockStarted { index, start },
        Delta::ArgumentsAppended { index, text },
        Delta::BlockEnded { index },
    ]
}
