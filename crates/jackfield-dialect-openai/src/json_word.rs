//! The word that has to be said where an answer is to be any JSON object.
//!
//! OpenAI and DeepSeek answer 400 unless the conversation has it (2026-11: "'messages' must contain the
//! word 'json' in some form"), and a model that is asked for JSON in a setting alone may write blanks
//! until its limit.

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;

/// What is said where nobody has said it.
pub(crate) const ASK: &str = "Answer with a JSON object.";

/// Whether a text has the word, in whatever letters.
pub(crate) fn is_in(text: &str) -> bool {
    let mut windows = text.as_bytes().windows(4);
    windows.any(|four| four.eq_ignore_ascii_case(b"json"))
}

/// Notes that [`ASK`] stands in the system prompt.
pub(crate) fn note(notes: &mut Notes) {
    notes.approximated(NoteEffect::Cosmetic, "json_asked_in_words", "system");
}
