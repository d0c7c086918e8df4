//! What may happen to a turn, in the words of the tables.

use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, ToolFailure};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::tool_loop::{Input, Restrictions};
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{Answer, CancelCause};

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum It {
    /// A tool says that the call goes on elsewhere.
    Accepts(&'static str),
    /// Somebody answers the question about the last call of this tool.
    Answers { of: &'static str, answer: Answer },
    /// A tool has a question.
    Asks(&'static str),
    /// A tool call ends without an outcome.
    Breaks(&'static str, ToolFailure),
    /// Somebody cancels.
    Cancels(CancelCause),
    /// The process dies, and another one takes over.
    Crashes(Restrictions),
    /// The model call fails.
    Fails(ModelFailure),
    /// A tool answers.
    Finishes(&'static str, ToolResult),
    /// A tool answers a call that was given up.
    FinishesLate(&'static str, ToolResult),
    /// Time passes, and the loop is woken.
    Passes(Duration),
    /// The model replies; without an end the reply goes on.
    Replies {
        parts: Vec<Part>,
        end: Option<ReplyEnd>,
    },
    /// Anything else.
    Told(Input),
}

/// A part of a reply.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Call {
        arguments: &'static str,
        json: bool,
        name: &'static str,
        ran_by: RanBy,
    },
    Text(&'static str),
    Thinking(&'static str),
}

pub(crate) const fn text(text: &'static str) -> Part {
    Part::Text(text)
}

pub(crate) const fn call(name: &'static str, arguments: &'static str) -> Part {
    Part::Call {
        arguments,
        json: true,
        name,
        ran_by: RanBy::Engine,
    }
}

/// The model answers.
pub(crate) fn says(words: &'static str) -> It {
    reply(vec![text(words)], FinishReason::Stop)
}

/// The model calls these tools, without arguments.
pub(crate) fn calls(tools: &[&'static str]) -> It {
    let parts = tools.iter().map(|name| call(name, "{}")).collect();
    reply(parts, FinishReason::ToolCalls)
}

/// The model replies, and uses 100 tokens in and 50 out.
pub(crate) fn reply(parts: Vec<Part>, finish: FinishReason) -> It {
    let usage = Usage {
        input: 100,
        output: 50,
        ..Usage::default()
    };
    let end = ReplyEnd {
        usage: Some(usage),
        ..ReplyEnd::new(finish)
    };
    It::Replies {
        parts,
        end: Some(end),
    }
}

pub(crate) const fn fails(failure: ModelFailure) -> It {
    It::Fails(failure)
}

pub(crate) fn finishes(tool: &'static str, words: &'static str) -> It {
    It::Finishes(tool, ToolResult::text(words))
}

pub(crate) const fn breaks(tool: &'static str, failure: ToolFailure) -> It {
    It::Breaks(tool, failure)
}

pub(crate) const fn asks(tool: &'static str) -> It {
    It::Asks(tool)
}

pub(crate) const fn answer(of: &'static str, answer: Answer) -> It {
    It::Answers { of, answer }
}

pub(crate) const fn passes(millis: u64) -> It {
    It::Passes(Duration::from_millis(millis))
}

/// The pieces of these parts, one block after another.
pub(super) fn deltas(parts: &[Part]) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for (index, part) in (0..).zip(parts) {
        let (start, piece) = match part {
            Part::Call {
                arguments,
                json,
                name,
                ran_by,
            } => {
                let start = BlockStart::ToolCall {
                    json: *json,
                    name: (*name).into(),
                    ran_by: *ran_by,
                    upstream: None,
                };
                let text = (*arguments).into();
                (start, Delta::ArgumentsAppended { index, text })
            }
            Part::Text(text) => {
                let text = (*text).into();
                (BlockStart::Text, Delta::TextAppended { index, text })
            }
            Part::Thinking(text) => {
                let (redacted, text) = (false, (*text).into());
                let start = BlockStart::Thinking { redacted };
                (start, Delta::TextAppended { index, text })
            }
        };
        deltas.push(Delta::BlockStarted { index, start });
        deltas.push(piece);
        deltas.push(Delta::BlockEnded { index });
    }
    deltas
}
