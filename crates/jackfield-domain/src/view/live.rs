//! The reply that is under way, as a client is shown it.

use std::sync::Arc;

use crate::block::{Block, Content, RanBy};
use crate::delta::{BlockStart, Delta};
use crate::ids::ToolCallId;
use crate::later_round::LaterRound;
use crate::message::Message;
use crate::telling::{Piece, Said, Started, TextKind};
use crate::view::Shown;

/// One try at a reply. Nothing of it is shown before there is something to see: a try that fails until
/// then is made again without anybody having noticed.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    /// What came so far, if nothing of it was shown.
    held: Vec<Shown>,
    is_shown: bool,
    /// Whether something was shown before it, and no words of it yet.
    is_later: bool,
    /// The number of its first block, once there is one.
    first: Option<u32>,
    /// The block that is told now, by its number; none if it is not shown here.
    open: Option<Open>,
    /// How much was told of each block of words that has any.
    words: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    index: u32,
    is_blank: bool,
    /// How many bytes of words it has; none if it is no block of words.
    words: Option<usize>,
}

impl Live {
    /// A try behind as many blocks.
    pub(super) fn behind(blocks: u32) -> Self {
        Self {
            is_later: blocks > 0,
            ..Self::default()
        }
    }

    /// A piece of the reply.
    pub(super) fn take(&mut self, piece: &Piece, next: &mut u32, shown: &mut Vec<Shown>) {
        match &piece.said {
            Said::Started(started) => {
                // Other calls are shown when it is decided what becomes of them.
                if let Some((start, call)) = began(started) {
                    let is_visible =
                        matches!(start, BlockStart::ToolCall { .. } | BlockStart::Whole(_));
                    self.start(start, call, next);
                    if is_visible {
                        self.show(shown);
                    }
                }
            }
            Said::Text { of, text } => {
                if let Some(open) = &mut self.open {
                    let index = open.index;
                    open.is_blank &= text.trim().is_empty();
                    if let Some(words) = &mut open.words {
                        *words += text.len();
                    }
                    let text = Arc::clone(text);
                    self.held.push(alone(match of {
                        TextKind::Arguments => Delta::ArgumentsAppended { index, text },
                        TextKind::Refusal | TextKind::Text | TextKind::Thinking => {
                            Delta::TextAppended { index, text }
                        }
                    }));
                    self.show(shown);
                }
            }
            Said::Ended {
                annotations,
                opaque,
            } => {
                if let Some(open) = self.open {
                    let index = open.index;
                    let annotations = annotations.iter().cloned();
                    self.held.extend(
                        annotations
                            .map(|annotation| alone(Delta::AnnotationAdded { index, annotation })),
                    );
                    let states = opaque.iter().cloned();
                    self.held
                        .extend(states.map(|state| alone(Delta::StateSet { index, state })));
                    self.close();
                }
            }
        }
        if self.is_shown {
            shown.append(&mut self.held);
        }
    }

    /// The reply is whole.
    pub(super) fn end(&mut self, shown: &mut Vec<Shown>) {
        self.show(shown);
    }

    /// The reply broke off, and this is what is kept of it: the rest of its words is shown.
    pub(super) fn break_off(
        &mut self,
        partial: Option<&Message>,
        next: &mut u32,
        shown: &mut Vec<Shown>,
    ) {
        let Some(partial) = partial else {
            return;
        };
        self.show(shown);
        let mut words = partial.blocks.iter().skip(self.words.len());
        if let Some(open) = self.open {
            if let Some(told) = open.words
                && let Some(rest) = words.next()
            {
                self.say(open.index, text_of(rest).get(told..).unwrap_or_default());
            }
            self.close();
        }
        for block in words {
            let index = self.start(BlockStart::Text, None, next);
            self.say(index, text_of(block));
            self.close();
        }
        shown.append(&mut self.held);
    }

    /// Nothing of it holds any more. Says whether something of it was shown.
    pub(super) fn give_up(&mut self, next: &mut u32) -> bool {
        let given_up = std::mem::take(self);
        if let (Some(first), false) = (given_up.first, given_up.is_shown) {
            *next = first;
        }
        given_up.is_shown
    }

    fn show(&mut self, shown: &mut Vec<Shown>) {
        self.is_shown = true;
        shown.append(&mut self.held);
    }

    fn start(&mut self, start: BlockStart, call: Option<ToolCallId>, next: &mut u32) -> u32 {
        let index = *next;
        *next += 1;
        self.first.get_or_insert(index);
        let is_text = matches!(start, BlockStart::Text);
        self.open = Some(Open {
            index,
            is_blank: true,
            words: is_text.then_some(0),
        });
        let delta = Delta::BlockStarted { index, start };
        self.held.push(Shown::Piece { call, delta });
        if is_text && std::mem::take(&mut self.is_later) {
            let state = LaterRound::state();
            self.held.push(alone(Delta::StateSet { index, state }));
        }
        index
    }

    fn say(&mut self, index: u32, text: &str) {
        if !text.is_empty() {
            let text = text.into();
            self.held.push(alone(Delta::TextAppended { index, text }));
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let index = open.index;
            self.held.push(alone(Delta::BlockEnded { index }));
            if let (Some(words), false) = (open.words, open.is_blank) {
                self.words.push(words);
            }
        }
    }
}

const fn alone(delta: Delta) -> Shown {
    Shown::Piece { call: None, delta }
}

/// What begins with a block, if it is shown while it comes, and the id of its call.
fn began(started: &Started) -> Option<(BlockStart, Option<ToolCallId>)> {
    Some(match started {
        Started::Call {
            by_provider,
            id,
            json,
            name,
            upstream,
        } => {
            if !by_provider {
                return None;
            }
            let start = BlockStart::ToolCall {
                json: *json,
                name: name.as_str().into(),
                ran_by: RanBy::Provider,
                upstream: upstream.clone(),
            };
            (start, Some(id.clone()))
        }
        Started::Refusal => (BlockStart::Refusal, None),
        Started::Text => (BlockStart::Text, None),
        Started::Thinking { redacted } => (
            BlockStart::Thinking {
                redacted: *redacted,
            },
            None,
        ),
        Started::Whole(content) => (BlockStart::Whole(content.clone()), None),
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
