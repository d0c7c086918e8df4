//! What a client is shown of a turn without tools.

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::telling::{Said, Started, TextKind, Told};

/// A piece of the one reply, or its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shown {
    Piece {
        call: Option<ToolCallId>,
        delta: Delta,
    },
    End(SegmentEnd),
}

/// How a segment ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SegmentEnd {
    Failed(TurnEnd),
    Whole(ReplyEnd),
}

#[derive(Debug, Default)]
pub(crate) struct Viewer {
    base: u32,
    end: Option<ReplyEnd>,
}

impl Viewer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn see(&mut self, told: &Told) -> Vec<Shown> {
        match told {
            Told::Superseded { .. } => Vec::new(),
            Told::Text { piece, .. } => {
                let index = self.base + piece.block;
                let (call, delta) = match &piece.said {
                    Said::Started(started) => {
                        let (call, start) = match started {
                            Started::Call { id, json, name } => (
                                Some(id.clone()),
                                BlockStart::ToolCall {
                                    json: *json,
                                    name: name.as_str().into(),
                                    ran_by: RanBy::Engine,
                                    upstream: None,
                                },
                            ),
                            Started::Refusal => (None, BlockStart::Refusal),
                            Started::Text => (None, BlockStart::Text),
                            Started::Thinking { redacted } => (
                                None,
                                BlockStart::Thinking {
                                    redacted: *redacted,
                                },
                            ),
                            Started::Whole(content) => (None, BlockStart::Whole(content.clone())),
                        };
                        (call, Delta::BlockStarted { index, start })
                    }
                    Said::Text { of, text } => {
                        let text = text.clone();
                        let delta = match of {
                            TextKind::Arguments => Delta::ArgumentsAppended { index, text },
                            TextKind::Refusal | TextKind::Text | TextKind::Thinking => {
                                Delta::TextAppended { index, text }
                            }
                        };
                        (None, delta)
                    }
                    Said::Ended => (None, Delta::BlockEnded { index }),
                };
                vec![Shown::Piece { call, delta }]
            }
            Told::Fact { fact, .. } => match &**fact {
                Fact::ReplyReceived { reply, .. } => {
                    self.base += u32::try_from(reply.message.blocks.len()).unwrap_or(0);
                    self.end = Some(reply.end.clone());
                    Vec::new()
                }
                Fact::TurnEnded { end, .. } => {
                    vec![Shown::End(match (end, self.end.take()) {
                        (TurnEnd::Answered(_), Some(end)) => SegmentEnd::Whole(end),
                        (end, _) => SegmentEnd::Failed(end.clone()),
                    })]
                }
                _ => Vec::new(),
            },
        }
    }
}
