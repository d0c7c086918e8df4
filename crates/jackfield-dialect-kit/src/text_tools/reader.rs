//! Reads calls out of the text of a reply while it streams.

use std::mem;
use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::ResponseFormat;

use super::call::{OfferedTools, TextCall, text_argument};
use super::code_fence::CodeFence;
use super::opener::{BLANKS, Outlook, outlook};
use super::quoted::QuotedTexts;
use super::request::must_call;
use super::segments::{self, Segment, Segments};

/// Reads calls out of the text of one reply.
///
/// Text is passed on as it arrives, up to where a call may begin. All that follows is held until the reply ends, as a
/// reply that was cut off has no calls, unless it has only blank lines behind them. What is no call is passed on as the text that it is. The result does not depend
/// on how the text was cut into deltas.
///
/// A call that stands word for word in what the user or a tool wrote is a quotation, and stays text.
///
/// A reply with a call of the provider's own form is left as it is: its server reads calls.
#[derive(Debug)]
pub struct TextCallReader {
    /// Whether what is held may be calls in a bare form, if it is all of the text.
    bare: bool,
    /// Whether calls in a bare form are read: an answer in JSON that was asked for is none.
    reads_bare: bool,
    /// The text block that is read.
    block: Option<ReadBlock>,
    /// Whether nothing but blanks was passed on of the text.
    first: bool,
    held: Vec<Held>,
    held_bytes: usize,
    /// The index that the reply will have in the conversation.
    message: usize,
    mode: Mode,
    offered: OfferedTools,
    quoted: QuotedTexts,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    /// All that arrives is held.
    Holding,
    /// All that arrives is passed on.
    Off,
    /// Text is looked at, and passed on.
    Reading,
}

/// A text block, while its text is passed on.
#[derive(Debug)]
struct ReadBlock {
    fence: CodeFence,
    index: u32,
    /// Text that is not passed on yet, as a call may begin in it.
    pending: String,
    /// Whether its start was passed on, which waits for its first text: a reply that is a call has no text block.
    started: bool,
}

/// A part of the reply that is held.
#[derive(Debug)]
enum Held {
    Other(Delta),
    Text { index: u32, text: String },
}

impl TextCallReader {
    /// Reads a reply to this request, as it was before its tools became text.
    #[must_use]
    pub fn new(request: &ModelRequest) -> Self {
        let offered = OfferedTools::of(request);
        let mode = if offered.is_empty() {
            Mode::Off
        } else {
            Mode::Reading
        };
        Self {
            bare: false,
            reads_bare: request.settings.response_format == ResponseFormat::Text
                || must_call(&request.choice),
            block: None,
            first: true,
            held: Vec::new(),
            held_bytes: 0,
            message: request.messages.len(),
            mode,
            offered,
            quoted: QuotedTexts::of(request.messages.clone()),
        }
    }

    /// The length of the text that is held, in bytes.
    #[must_use]
    pub const fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Reads a delta. Returns what can be passed on.
    #[must_use]
    pub fn push(&mut self, delta: Delta) -> Vec<Delta> {
        if self.mode != Mode::Off && is_call(&delta) {
            let mut out = self.release();
            out.push(delta);
            return out;
        }
        match self.mode {
            Mode::Holding => {
                self.hold(delta);
                if self.held_bytes > MAX_HELD {
                    return self.release();
                }
                Vec::new()
            }
            Mode::Off => vec![delta],
            Mode::Reading => self.read(delta),
        }
    }

    /// Ends a reply that ended like this. Returns what is left of it to be passed on; the end then has the calls.
    #[must_use]
    pub fn finish(mut self, end: &mut ReplyEnd) -> Vec<Delta> {
        let is_whole = matches!(
            end.finish,
            FinishReason::Stop | FinishReason::StopSequence(_) | FinishReason::ToolCalls
        );
        // Some models go on with blank lines behind their call until they reach the limit.
        let is_limited = matches!(end.finish, FinishReason::Length | FinishReason::ContextFull);
        let may_call = is_whole || is_limited && self.ends_in_blank_lines();
        if self.mode != Mode::Holding || !may_call {
            return self.release();
        }
        let held = mem::take(&mut self.held);
        let texts = held.iter().filter_map(Held::text);
        let bare = self.bare && texts.filter(|text| !text.trim().is_empty()).count() == 1;
        let cut: Vec<Option<Segments<'_>>> = held
            .iter()
            .map(|part| {
                Some(segments::cut(
                    part.text()?,
                    bare,
                    &self.offered,
                    &self.quoted,
                ))
            })
            .collect();
        let note = |kind, code, path: String| Note::new(kind, NoteEffect::Quality, code, path);
        if cut.iter().flatten().any(|cut| cut.has_quotation) {
            let path = format!("messages[{}]", self.message);
            end.notes.push(note(
                NoteKind::Approximated,
                "quoted_call_left_as_text",
                path,
            ));
        }
        let has_calls = if is_whole {
            cut.iter().flatten().any(Segments::has_calls)
        } else {
            let mut texts = cut.iter().flatten().rev();
            let last = texts.find(|cut| !cut.is_blank());
            last.is_some_and(Segments::ends_in_call)
        };
        if !has_calls {
            drop(cut);
            self.held = held;
            return self.release();
        }
        let mut writer = Writer {
            open: self.block.take(),
            out: Vec::new(),
            reader: &self,
            calls: 0,
            tail: Vec::new(),
        };
        for (part, cut) in held.iter().zip(&cut) {
            match (part, cut) {
                (Held::Text { index, .. }, Some(segments)) => writer.text(*index, segments),
                (Held::Other(delta), _) => writer.other(delta),
                (Held::Text { .. }, None) => {}
            }
        }
        let Writer { calls, out, .. } = writer;
        end.finish = FinishReason::ToolCalls;
        for n in 0..calls {
            let path = format!("messages[{}].calls[{n}]", self.message);
            end.notes
                .push(note(NoteKind::Approximated, "call_read_from_text", path));
        }
        if cut.iter().flatten().any(|cut| cut.has_invented_result) {
            let path = format!("messages[{}]", self.message);
            end.notes
                .push(note(NoteKind::Dropped, "invented_result", path));
        }
        out
    }

    /// Gives up on calls. Returns all that is held, as the text that it is.
    #[must_use]
    pub fn release(&mut self) -> Vec<Delta> {
        self.mode = Mode::Off;
        let mut out = Vec::new();
        if let Some(block) = &mut self.block {
            block.pass(block.pending.len(), &mut out);
            block.start(&mut out);
        }
        self.block = None;
        for part in self.held.drain(..) {
            out.push(match part {
                Held::Other(delta) => delta,
                Held::Text { index, text } => text_delta(index, text),
            });
        }
        self.held_bytes = 0;
        out
    }

    /// Whether the text that is held ends in an empty line.
    fn ends_in_blank_lines(&self) -> bool {
        let text = self.held.iter().rev().find_map(Held::text);
        text.is_some_and(|text| {
            let blanks = text.get(text.trim_end().len()..).unwrap_or_default();
            blanks.matches('\n').count() > 1
        })
    }

    fn hold(&mut self, delta: Delta) {
        let Delta::TextAppended { index, text } = delta else {
            self.held.push(Held::Other(delta));
            return;
        };
        self.held_bytes += text.len();
        match self.held.last_mut() {
            Some(Held::Text {
                index: last,
                text: held,
            }) if *last == index => held.push_str(&text),
            Some(_) | None => self.held.push(Held::Text {
                index,
                text: (*text).to_owned(),
            }),
        }
    }

    fn read(&mut self, delta: Delta) -> Vec<Delta> {
        let mut out = Vec::new();
        match (&mut self.block, delta) {
            (
                None,
                Delta::BlockStarted {
                    index,
                    start: BlockStart::Text,
                },
            ) => {
                self.block = Some(ReadBlock::new(index));
            }
            (Some(block), Delta::TextAppended { index, text }) if index == block.index => {
                block.pending.push_str(&text);
                let looked = outlook(
                    &block.pending,
                    block.fence,
                    self.first && self.reads_bare,
                    &self.offered,
                );
                match looked {
                    Outlook::Held { at, bare } => {
                        self.bare = bare;
                        let rest = block.pending.split_off(at);
                        block.pass(at, &mut out);
                        self.mode = Mode::Holding;
                        self.hold(text_delta(index, rest));
                    }
                    Outlook::Open { at } => {
                        let passed = block.pending.get(..at).unwrap_or_default();
                        self.first &= passed.trim_start_matches(BLANKS).is_empty();
                        block.pass(at, &mut out);
                    }
                }
            }
            (Some(block), Delta::BlockEnded { index }) if index == block.index => {
                self.first &= block.pending.trim_start_matches(BLANKS).is_empty();
                block.pass(block.pending.len(), &mut out);
                block.start(&mut out);
                out.push(Delta::BlockEnded { index });
                self.block = None;
            }
            (Some(block), delta) => {
                // Blocks begin in their order.
                block.start(&mut out);
                let is_second_text = matches!(
                    delta,
                    Delta::BlockStarted {
                        start: BlockStart::Text,
                        ..
                    }
                );
                if is_second_text {
                    out.extend(self.release());
                }
                out.push(delta);
            }
            (None, delta) => out.push(delta),
        }
        out
    }
}

impl Held {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Other(_) => None,
            Self::Text { text, .. } => Some(text),
        }
    }
}

impl ReadBlock {
    fn new(index: u32) -> Self {
        Self {
            fence: CodeFence::default(),
            index,
            pending: String::new(),
            started: false,
        }
    }

    /// Passes on the first bytes of the pending text.
    fn pass(&mut self, bytes: usize, out: &mut Vec<Delta>) {
        let rest = self.pending.split_off(bytes);
        let text = mem::replace(&mut self.pending, rest);
        if !text.is_empty() {
            self.start(out);
            self.fence.push_str(&text);
            out.push(text_delta(self.index, text));
        }
    }

    /// Passes on its start, once.
    fn start(&mut self, out: &mut Vec<Delta>) {
        if !mem::replace(&mut self.started, true) {
            out.push(text_start(self.index));
        }
    }
}

/// Writes what was held, with its calls as calls.
struct Writer<'a, 't> {
    /// The text block that is open.
    open: Option<ReadBlock>,
    out: Vec<Delta>,
    reader: &'a TextCallReader,
    /// The number of calls so far.
    calls: usize,
    /// What follows the open block: calls, and text after them.
    tail: Vec<&'a Segment<'t>>,
}

impl<'a, 't> Writer<'a, 't> {
    fn text(&mut self, index: u32, segments: &'a Segments<'t>) {
        for segment in &segments.parts {
            match (segment, self.tail.is_empty()) {
                (Segment::Text(text), true) => {
                    if let Some(open) = &mut self.open {
                        open.start(&mut self.out);
                    }
                    self.out.push(text_delta(index, (*text).to_owned()));
                }
                (Segment::Call(_) | Segment::Text(_), _) => self.tail.push(segment),
            }
        }
    }

    fn other(&mut self, delta: &Delta) {
        if let Delta::BlockStarted {
            index,
            start: BlockStart::Text,
        } = delta
        {
            self.open = Some(ReadBlock::new(*index));
            return;
        }
        let index = delta.index();
        if !matches!(delta, Delta::BlockEnded { .. }) {
            if let Some(open) = &mut self.open
                && open.index == index
            {
                open.start(&mut self.out);
            }
            self.out.push(delta.clone());
            return;
        }
        match self.open.take_if(|open| open.index == index) {
            // A block of calls alone.
            Some(open) if !open.started => {}
            Some(_) | None => self.out.push(delta.clone()),
        }
        for segment in mem::take(&mut self.tail) {
            self.block(index, segment);
        }
    }

    /// A block of its own, under an index that is free again.
    fn block(&mut self, index: u32, segment: &Segment<'_>) {
        match segment {
            Segment::Text(text) => {
                self.out.push(text_start(index));
                self.out.push(text_delta(index, (*text).to_owned()));
            }
            Segment::Call(TextCall { arguments, name }) => {
                self.calls += 1;
                let takes_text = self.reader.offered.takes_text(name);
                let text = if takes_text {
                    text_argument(arguments)
                } else {
                    arguments.clone()
                };
                let start = BlockStart::ToolCall {
                    json: !takes_text,
                    name: name.as_str().into(),
                    ran_by: RanBy::Engine,
                    upstream: None,
                };
                self.out.push(Delta::BlockStarted { index, start });
                let text = Arc::from(text);
                self.out.push(Delta::ArgumentsAppended { index, text });
            }
        }
        self.out.push(Delta::BlockEnded { index });
    }
}

/// Whether a call in the provider's own form begins.
fn is_call(delta: &Delta) -> bool {
    let Delta::BlockStarted {
        start: BlockStart::ToolCall { ran_by, .. },
        ..
    } = delta
    else {
        return false;
    };
    *ran_by != RanBy::Provider
}

const fn text_start(index: u32) -> Delta {
    let start = BlockStart::Text;
    Delta::BlockStarted { index, start }
}

fn text_delta(index: u32, text: String) -> Delta {
    let text = text.into();
    Delta::TextAppended { index, text }
}

/// The longest text that is held, in bytes. A longer one is passed on as it is: no call is that long.
const MAX_HELD: usize = 1 << 20;
