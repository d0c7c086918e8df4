//! What of a long block need not be looked at again: without this, a list of a thousand items would be read
//! a thousand times, and code that is too long to be held would be cut and go on as text.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::draw::{OPTIONS, is_after_blank};
use super::flow::Gap;

/// What is left of a block whose beginning was forgotten.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct BlockRest {
    /// What parts it from what is before it, if that has changed.
    pub(super) gap: Option<Gap>,
    pub(super) source: String,
}

/// Leaves out what was drawn of the block that this is, and changes nothing that comes: lines of code but
/// for the first and the last one, or items of a list but for the last one.
pub(super) fn kept(pending: &str, masked: &str) -> Option<BlockRest> {
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

/// The last block.
enum LastBlock {
    Code(usize),
    List {
        item: Option<usize>,
        /// The number of the next item.
        next: Option<u64>,
    },
    Other,
}

/// Whether an item that stands alone is drawn with the same mark.
fn is_numbered(text: &str, at: usize, number: Option<u64>) -> bool {
    let Some(number) = number else { return true };
    let item = text.get(at..).unwrap_or_default().trim_start();
    let digits: &str = item.split(['.', ')']).next().unwrap_or_default();
    digits.parse() == Ok(number)
}
