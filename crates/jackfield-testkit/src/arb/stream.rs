//! Replies as streams of deltas: valid cuts and interleavings of blocks.

use std::collections::VecDeque;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::tool_input::ToolInput;
use proptest::collection::vec;
use proptest::prelude::*;

/// The deltas of a reply with these blocks, cut and interleaved in any valid way.
///
/// Several blocks may be open at once, indices are reused, texts are cut between characters, and some deltas are
/// empty. The simplest case is one block after another, each in one delta. Blocks have no cache points, as in
/// replies.
pub fn deltas_of(blocks: &[Block]) -> impl Strategy<Value = Vec<Delta>> + Clone + use<> {
    let blocks = blocks.to_vec();
    vec(any::<u8>(), 1..24).prop_map(move |choices| {
        let mut choices = Choices { choices, next: 0 };
        let cut = blocks
            .iter()
            .map(|block| pieces(block, &mut choices))
            .collect();
        interleave(cut, &mut choices)
    })
}

/// A cyclic source of numbers for decisions.
struct Choices {
    choices: Vec<u8>,
    next: usize,
}

impl Choices {
    /// A number below `end`; 0 is the simplest.
    fn below(&mut self, end: usize) -> usize {
        let choice = self.choices.get(self.next % self.choices.len().max(1));
        self.next += 1;
        usize::from(choice.copied().unwrap_or(0)) % end.max(1)
    }
}

/// A delta whose index is assigned when its block starts.
enum NumberedPiece {
    Start(BlockStart),
    Inner(Box<dyn FnOnce(u32) -> Delta>),
}

/// The deltas of one block from its start, without its end.
fn pieces(block: &Block, choices: &mut Choices) -> VecDeque<NumberedPiece> {
    let (start, inner): (_, Vec<NumberedPiece>) = match &block.content {
        Content::Text(text) => {
            let mut inner = cuttings(&text.text, choices, text_piece);
            for annotation in text.annotations.clone() {
                let piece = move |index| Delta::AnnotationAdded { index, annotation };
                inner.push(NumberedPiece::Inner(Box::new(piece)));
            }
            (BlockStart::Text, inner)
        }
        Content::Refusal(text) => (BlockStart::Refusal, cuttings(text, choices, text_piece)),
        Content::Thinking(thinking) => {
            let redacted = thinking.redacted;
            let inner = cuttings(&thinking.text, choices, text_piece);
            (BlockStart::Thinking { redacted }, inner)
        }
        Content::ToolCall(call) => {
            let (json, raw) = match &call.input {
                ToolInput::Json(input) => (true, input.raw()),
                ToolInput::Text(text) => (false, &**text),
            };
            let start = BlockStart::ToolCall {
                json,
                name: call.name.as_str().into(),
                ran_by: call.ran_by,
                upstream: call.upstream.clone(),
            };
            let piece = |text: &str, index| Delta::ArgumentsAppended {
                index,
                text: text.into(),
            };
            (start, cuttings(raw, choices, piece))
        }
        whole @ (Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::ToolOutcome(_)) => (BlockStart::Whole(whole.clone()), Vec::new()),
    };
    let mut all: VecDeque<NumberedPiece> = std::iter::once(NumberedPiece::Start(start))
        .chain(inner)
        .collect();
    let mut earliest = 1;
    for state in block.opaque.clone() {
        // States keep their order and may be anywhere among the other deltas.
        let place = all.len() - choices.below(all.len() - earliest + 1);
        let piece = move |index| Delta::StateSet { index, state };
        all.insert(place, NumberedPiece::Inner(Box::new(piece)));
        earliest = place + 1;
    }
    all
}

fn text_piece(text: &str, index: u32) -> Delta {
    Delta::TextAppended {
        index,
        text: text.into(),
    }
}

/// A text in fragments: all at once, or cut between characters, sometimes with an empty fragment.
fn cuttings(
    text: &str,
    choices: &mut Choices,
    piece: impl Fn(&str, u32) -> Delta + Copy + 'static,
) -> Vec<NumberedPiece> {
    let mut rest = text;
    let mut cut = Vec::new();
    while !rest.is_empty() {
        let end = match choices.below(8) {
            0 => rest.len(),
            7 => 0,
            wanted => rest
                .char_indices()
                .nth(wanted)
                .map_or(rest.len(), |(at, _)| at),
        };
        let (one, more) = rest.split_at(end);
        let one = one.to_owned();
        cut.push(NumberedPiece::Inner(Box::new(move |index| {
            piece(&one, index)
        })));
        // Choices are cyclic: after an empty fragment comes the whole rest, so that the loop ends.
        if end == 0 {
            let all = more.to_owned();
            cut.push(NumberedPiece::Inner(Box::new(move |index| {
                piece(&all, index)
            })));
            break;
        }
        rest = more;
    }
    cut
}

/// Interleaves the deltas of all blocks; blocks start in order.
fn interleave(blocks: Vec<VecDeque<NumberedPiece>>, choices: &mut Choices) -> Vec<Delta> {
    let mut waiting: VecDeque<VecDeque<NumberedPiece>> = blocks.into();
    let mut open: Vec<(u32, VecDeque<NumberedPiece>)> = Vec::new();
    let mut deltas = Vec::new();
    while !open.is_empty() || !waiting.is_empty() {
        let may_begin = usize::from(!waiting.is_empty());
        let chosen = choices.below(open.len() + may_begin);
        if chosen == open.len() {
            let Some(mut block) = waiting.pop_front() else {
                continue;
            };
            let index = (0..)
                .step_by(1 + choices.below(3))
                .find(|index| open.iter().all(|(taken, _)| taken != index))
                .unwrap_or(0);
            if let Some(NumberedPiece::Start(start)) = block.pop_front() {
                deltas.push(Delta::BlockStarted { index, start });
                open.push((index, block));
            }
            continue;
        }
        let (index, block) = &mut open[chosen];
        match block.pop_front() {
            Some(NumberedPiece::Inner(piece)) => deltas.push(piece(*index)),
            Some(NumberedPiece::Start(_)) | None => {
                deltas.push(Delta::BlockEnded { index: *index });
                open.remove(chosen);
            }
        }
    }
    deltas
}
