//! Reasoning that a server leaves in the text of a reply, between tags at its beginning.

use std::mem;

use crate::profile::InlineThinking;

/// Finds the reasoning at the beginning of a text that comes in pieces. However the text is cut, what is found is
/// the same.
#[derive(Debug, Default)]
pub(super) struct Inline {
    /// What came and may be a part of a tag, or a blank before one.
    held: String,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    /// After the reasoning: blanks are still a part of the tag.
    After,
    /// Before the first words.
    Before,
    /// In the reasoning, which this tag ends.
    Inside(&'static str),
    /// All that comes is text.
    #[default]
    Over,
}

/// A piece of a reply.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
}

impl Inline {
    pub(super) fn new(way: InlineThinking) -> Self {
        let stage = match way {
            InlineThinking::None => Stage::Over,
            InlineThinking::Opened => Stage::Inside(TAGS[0].1),
            InlineThinking::Tagged => Stage::Before,
        };
        Self {
            held: String::new(),
            stage,
        }
    }

    /// Whether all that comes is text.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// More of the text.
    pub(super) fn push(&mut self, words: &str) -> Vec<Piece> {
        self.held.push_str(words);
        let mut pieces = Vec::new();
        loop {
            match self.stage {
                Stage::Before => {
                    let begun = self.held.trim_start();
                    let opened = TAGS.iter().find(|(open, _)| begun.starts_with(open));
                    if let Some((open, close)) = opened {
                        self.held = begun.split_at(open.len()).1.to_owned();
                        self.stage = Stage::Inside(close);
                    } else if TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                        return pieces;
                    } else {
                        self.stage = Stage::Over;
                    }
                }
                Stage::Inside(close) => {
                    if let Some((inside, after)) = self.held.split_once(close) {
                        add(&mut pieces, inside.trim_end());
                        self.held = after.to_owned();
                        self.stage = Stage::After;
                        continue;
                    }
                    let safe = self.held.len() - overlap(&self.held, close);
                    let safe = self.held.split_at(safe).0.trim_end().len();
                    let rest = self.held.split_off(safe);
                    let inside = mem::replace(&mut self.held, rest);
                    add(&mut pieces, &inside);
                    return pieces;
                }
                Stage::After => {
                    self.held = self.held.trim_start().to_owned();
                    if self.held.is_empty() {
                        return pieces;
                    }
                    self.stage = Stage::Over;
                }
                Stage::Over => {
                    if !self.held.is_empty() {
                        pieces.push(Piece::Text(mem::take(&mut self.held)));
                    }
                    return pieces;
                }
            }
        }
    }

    /// The end of the text: what was held back.
    pub(super) fn end(&mut self) -> Option<Piece> {
        let held = mem::take(&mut self.held);
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

/// How much of the end of a text may be the beginning of a tag, in bytes.
fn overlap(text: &str, tag: &str) -> usize {
    let lengths = (1..tag.len()).rev();
    let begins = |length: &usize| tag.get(..*length).is_some_and(|part| text.ends_with(part));
    lengths.into_iter().find(begins).unwrap_or(0)
}

/// The tags of reasoning (DeepSeek R1, Qwen 3 and many others; Magistral), and what ends it.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("[THINK]", "[/THINK]")];
