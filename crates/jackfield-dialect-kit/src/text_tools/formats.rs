//! The forms in which models write calls, each with its source.
//!
//! A *marked* form begins with an opener that stands nowhere else, so a call may follow other text. A *bare* form looks
//! like any JSON, list or code, so it counts only if it is the whole reply.

mod bare;
mod deepseek;
mod glm;
mod hermes;
mod invoke;
mod json_calls;
mod kimi;
mod llama;
mod mistral;
mod python;
mod qwen_coder;
mod tagged;

pub(super) use self::bare::{Start, read as read_bare, start as bare_start};

use super::call::{OfferedTools, TextCall};

/// A form that begins with an opener.
pub(super) struct MarkedFormat {
    /// The texts that it begins with.
    pub(super) openers: &'static [&'static str],
    /// The calls at the beginning of a text, which begins with an opener, and the text after them; `None` if there is
    /// none that is complete, or if one names a tool that was not offered.
    pub(super) read: for<'t> fn(&'t str, &OfferedTools) -> Option<FoundCalls<'t>>,
}

/// Calls, at least one, and the text after them.
#[derive(Debug)]
pub(super) struct FoundCalls<'t> {
    pub(super) calls: Vec<TextCall>,
    pub(super) rest: &'t str,
}

/// All marked forms; of two with one opener, the earlier one is tried first.
pub(super) const MARKED: &[MarkedFormat] = &[
    hermes::FORMAT,
    qwen_coder::FORMAT,
    glm::FORMAT,
    llama::FORMAT,
    python::FORMAT,
    mistral::FORMAT,
    deepseek::FORMAT,
    invoke::DSML,
    invoke::MINIMAX,
    kimi::FORMAT,
    json_calls::COHERE,
    json_calls::LM_STUDIO,
];

/// All openers of marked forms.
pub(super) fn openers() -> impl Iterator<Item = &'static str> {
    MARKED.iter().flat_map(|format| format.openers).copied()
}
