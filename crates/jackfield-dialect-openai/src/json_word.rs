//! The word "JSON", which a conversation must contain if the answer is to be any JSON object.
//!
//! OpenAI and DeepSeek answer 400 without it (2026-11: "'messages' must contain the word 'json' in some form"), and
//! a model that is asked for JSON only in a setting may emit blanks until its limit.

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;

/// The instruction that is added if the word is missing.
pub(crate) const INSTRUCTION: &str = "Answer with a JSON object.";

/// Whether a text contains the word, ignoring case.
pub(crate) fn is_in(text: &str) -> bool {
    let mut windows = text.as_bytes().windows(4);
    windows.any(|four| four.eq_ignore_ascii_case(b"json"))
}

/// Notes that [`INSTRUCTION`] was added to the system prompt.
pub(crate) fn note(notes: &mut Notes) {
    notes.approximated(NoteEffect::Cosmetic, "json_asked_in_words", "system");
}
