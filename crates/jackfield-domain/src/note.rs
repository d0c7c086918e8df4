//! Notes: what a mapper lost or changed.

use std::borrow::Cow;

/// One difference between the intended content and what the other side can represent.
///
/// No notes means no difference. Every path where a round trip changes something has a note, and every note
/// names a real difference.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    /// A stable name of the difference, such as `sampling_not_supported`.
    pub code: Cow<'static, str>,
    /// What the difference affects.
    pub effect: NoteEffect,
    /// How the value was handled.
    pub kind: NoteKind,
    /// The location, as a path into the domain value, such as `settings.temperature`.
    pub path: String,
}

/// How a value without an equivalent was handled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoteKind {
    /// A similar value was sent.
    Approximated,
    /// It is sent in a separate place, and restored from there.
    Carried,
    /// It was omitted.
    Dropped,
    /// The request was refused because of it.
    Refused,
}

crate::named! { NoteKind:
    Approximated = "approximated", Carried = "carried", Dropped = "dropped", Refused = "refused",
}

/// What a difference affects, from least to most serious.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum NoteEffect {
    /// Only the presentation.
    Cosmetic,
    /// Cost or latency.
    Cost,
    /// The quality of the answer.
    Quality,
    /// The meaning of the request or the answer.
    Meaning,
}

crate::named! { NoteEffect:
    Cosmetic = "cosmetic", Cost = "cost", Quality = "quality", Meaning = "meaning",
}

impl Note {
    /// A note about this path.
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
