//! Collects the notes of one mapping.

use std::fmt::Display;

use jackfield_domain::note::{Note, NoteEffect, NoteKind};

/// The notes so far.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    /// Something near was sent.
    pub(crate) fn approximated(
        &mut self,
        effect: NoteEffect,
        code: &'static str,
        path: impl Display,
    ) {
        let note = Note::new(NoteKind::Approximated, effect, code, path.to_string());
        self.0.push(note);
    }

    /// It was left out.
    pub(crate) fn dropped(&mut self, effect: NoteEffect, code: &'static str, path: impl Display) {
        let note = Note::new(NoteKind::Dropped, effect, code, path.to_string());
        self.0.push(note);
    }

    /// It would have made the provider act, and does not pass.
    pub(crate) fn refused(&mut self, code: &'static str, path: impl Display) {
        let note = Note::new(
            NoteKind::Refused,
            NoteEffect::Meaning,
            code,
            path.to_string(),
        );
        self.0.push(note);
    }

    /// All of them, in order.
    pub(crate) fn into_vec(self) -> Vec<Note> {
        self.0
    }
}
