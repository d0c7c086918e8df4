//! Detects reasoning that a server leaves in the text of a reply, between tags at its beginning.

use std::mem;

use crate::profile::InlineThinking;

/// Finds the reasoning at the beginning of a text that arrives in fragments. The result does not depend on the
/// fragments.
#[derive(Debug, Default)]
pub(super) struct InlineThinkingParser {
    /// Held-back text that may be part of a tag, or blanks before one.
    buffer: String,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    /// After the reasoning; blanks still belong to the tag.
    After,
    Before,
    /// Within the reasoning, which this tag ends.
    Inside(&'static str),
    /// All further text is content.
    #[default]
    Over,
}

/// A part of the text, by its kind.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
}

impl InlineThinkingParser {
    pub(super) fn new(mode: InlineThinking) -> Self {
        let stage = match mode {
            InlineThinking::None => Stage::Over,
            InlineThinking::Opened => Stage::Inside(TAGS[0].1),
            InlineThinking::Tagged => Stage::Before,
        };
        Self {
            buffer: String::new(),
            stage,
        }
    }

    /// Whether all further text is content.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    pub(super) fn push(&mut self, words: &str) -> Vec<Piece> {
        self.buffer.push_str(words);
        let mut pieces = Vec::new();
        loop {
            match self.stage {
                Stage::Before => {
                    let begun = self.buffer.trim_start();
                    let opened = TAGS.iter().find(|(open, _)| begun.starts_with(open));
                    if let Some((open, close)) = opened {
                        self.buffer = begun.split_at(open.len()).1.to_owned();
                        self.stage = Stage::Inside(close);
                    } else if TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                        return pieces;
                    } else {
                        self.stage = Stage::Over;
                    }
                }
                Stage::Inside(close) => {
                    if let Some((inside, after)) = self.buffer.split_once(close) {
                        add(&mut pieces, inside.trim_end());
                        self.buffer = after.to_owned();
                        self.stage = Stage::After;
                        continue;
                    }
                    let safe = self.buffer.len() - overlap(&self.buffer, close);
                    let safe = self.buffer.split_at(safe).0.trim_end().len();
                    let rest = self.buffer.split_off(safe);
                    let inside = mem::replace(&mut self.buffer, rest);
                    add(&mut pieces, &inside);
                    return pieces;
                }
                Stage::After => {
                    self.buffer = self.buffer.trim_start().to_owned();
                    if self.buffer.is_empty() {
                        return pieces;
                    }
                    self.stage = Stage::Over;
                }
                Stage::Over => {
                    if !self.buffer.is_empty() {
                        pieces.push(Piece::Text(mem::take(&mut self.buffer)));
                    }
                    return pieces;
                }
            }
        }
    }

    /// The held-back text, at the end of the text.
    pub(super) fn end(&mut self) -> Option<Piece> {
        let held = mem::take(&mut self.buffer);
        let stage = mem::take(&mut self.stage);
        match stage {
            Stage::Before | Stage::Over if !held.is_empty() => Some(Piece::Text(held)),
            Stage::Inside(_) if !held.trim().is_empty() => {
                Some(Piece::Thinking(held.trim_end().to_owned()))
            }
            Stage::After | Stage::Before | Stage::Inside(_) | Stage::Over => None,
        }
    }
}

fn add(pieces: &mut Vec<Piece>, inside: &str) {
    if !inside.is_empty() {
        pieces.push(Piece::Thinking(inside.to_owned()));
    }
}

/// The length in bytes of the text's suffix that may be the start of a tag.
fn overlap(text: &str, tag: &str) -> usize {
    let lengths = (1..tag.len()).rev();
    let begins = |length: &usize| tag.get(..*length).is_some_and(|part| text.ends_with(part));
    lengths.into_iter().find(begins).unwrap_or(0)
}

/// The tags around reasoning (DeepSeek R1, Qwen 3 and many others; Magistral).
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("[THINK]", "[/THINK]")];
