//! Drops the settled part of a long block. Without this, a list of a thousand items would be parsed a thousand
//! times, and a code block longer than the limit would be cut and continue as text.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::draw::{OPTIONS, is_after_blank};
use super::flow::Gap;

/// The rest of a block whose beginning was dropped.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct BlockRest {
    /// The gap before it, if it has changed.
    pub(super) gap: Option<Gap>,
    pub(super) source: String,
}

/// Drops the rendered part of the block that affects nothing after it: lines of code between the first and the
/// last, or all items of a list but the last.
pub(super) fn rest_of_block(pending: &str, masked: &str) -> Option<BlockRest> {
    let whole = masked.rfind('\n').map(|feed| feed + 1)?;
    let text = masked.get(..whole)?;
    let (mut depth, mut found) = (0_usize, LastBlock::Other);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match (event, depth) {
            (Event::Start(tag), _) => {
                match (tag, depth, &mut found) {
                    (Tag::CodeBlock(CodeBlockKind::Fenced(_)), 0, found) => {
                        *found = LastBlock::Code(range.start);
                    }
                    (Tag::List(next), 0, found) => *found = LastBlock::List { item: None, next },
                    (_, 0, found) => *found = LastBlock::Other,
                    (Tag::Item, 1, LastBlock::List { item, next }) => {
                        *item = Some(range.start).filter(|at| is_numbered(text, *at, *next));
                        *next = next.map(|number| number.saturating_add(1));
                    }
                    _ => {}
                }
                depth += 1;
            }
            (Event::End(_), _) => depth = depth.saturating_sub(1),
            (Event::Rule, 0) => found = LastBlock::Other,
            _ => {}
        }
    }
    match found {
        LastBlock::Code(start) => {
            let first = start + text.get(start..)?.find('\n')? + 1;
            let last = text.get(..whole - 1)?.rfind('\n')? + 1;
            let source = pending.get(..first)?.to_owned() + pending.get(last..)?;
            (last > first).then_some(BlockRest { gap: None, source })
        }
        LastBlock::List {
            item: Some(item), ..
        } => {
            let line = text.get(..item)?.rfind('\n')? + 1;
            let gap = if is_after_blank(text, item) {
                Gap::Blank
            } else {
                Gap::Line
            };
            let source = pending.get(line..)?.to_owned();
            Some(BlockRest {
                gap: Some(gap),
                source,
            })
        }
        LastBlock::List { item: None, .. } | LastBlock::Other => None,
    }
}

enum LastBlock {
    Code(usize),
    List {
        item: Option<usize>,
        /// The number of the next item.
        next: Option<u64>,
    },
    Other,
}

/// Whether the item alone would be rendered with the same marker.
fn is_numbered(text: &str, at: usize, number: Option<u64>) -> bool {
    let Some(number) = number else { return true };
    let item = text.get(at..).unwrap_or_default().trim_start();
    let digits: &str = item.split(['.', ')']).next().unwrap_or_default();
    digits.parse() == Ok(number)
}
