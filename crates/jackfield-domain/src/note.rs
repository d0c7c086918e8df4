//! Notes: what a mapper lost or changed, said aloud.

use std::borrow::Cow;

/// One difference between what was to be said and what the other side can be told.
///
/// No notes means that nothing differs. Every path where mapping out and back differs has a note,
/// and every note names a real difference.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    /// A stable name of the difference, such as `sampling_not_supported`.
    pub code: Cow<'static, str>,
    /// What suffers by it.
    pub effect: NoteEffect,
    /// What was done.
    pub kind: NoteKind,
    /// Where, as a path into the domain value, such as `settings.temperature`.
    pub path: String,
}

/// What was done with a value that does not fit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoteKind {
    /// Something near it was sent.
    Approximated,
    /// It is sent in a place of its own, and comes back from there.
    Carried,
    /// It was left out.
    Dropped,
    /// The request was refused because of it.
    Refused,
}

/// What suffers by a difference, from least to most.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum NoteEffect {
    /// Nothing but looks.
    Cosmetic,
    /// Money or time.
    Cost,
    /// How good the answer is.
    Quality,
    /// What is being said or done.
    Meaning,
}

impl Note {
    /// A note on this path.
    #[must_use]
    pub fn new(
        kind: NoteKind,
        effect: NoteEffect,
        code: &'static str,
        path: impl Into<String>,
    ) -> Self {
        Self {
            code: Cow::Borrowed(code),
            effect,
            kind,
            path: path.into(),
        }
    }
}
