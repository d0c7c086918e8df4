//! Collects the notes of one mapping.

use std::fmt::Display;

use jackfield_domain::block::Annotation;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};

/// The notes so far.
#[derive(Debug, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// Something near was sent.
    pub fn approximated(&mut self, effect: NoteEffect, code: &'static str, path: impl Display) {
        let note = Note::new(NoteKind::Approximated, effect, code, path.to_string());
        self.0.push(note);
    }

    /// It was left out.
    pub fn dropped(&mut self, effect: NoteEffect, code: &'static str, path: impl Display) {
        let note = Note::new(NoteKind::Dropped, effect, code, path.to_string());
        self.0.push(note);
    }

    /// It would have made the provider act, and does not pass.
    pub fn refused(&mut self, code: &'static str, path: impl Display) {
        let note = Note::new(
            NoteKind::Refused,
            NoteEffect::Meaning,
            code,
            path.to_string(),
        );
        self.0.push(note);
    }

    /// Notes where an annotation has another title or address than the one that is sent in its JSON.
    pub fn check_source(
        &mut self,
        annotation: &Annotation,
        title: Option<&str>,
        url: Option<&str>,
        path: impl Display,
    ) {
        for (ours, sent, field) in [
            (&annotation.title, title, "title"),
            (&annotation.url, url, "url"),
        ] {
            if ours.as_deref() != sent {
                let path = format_args!("{path}.{field}");
                self.dropped(NoteEffect::Cosmetic, "annotation_source", path);
            }
        }
    }

    /// These, too, in their order.
    pub fn extend(&mut self, notes: impl IntoIterator<Item = Note>) {
        self.0.extend(notes);
    }

    /// All of them, in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Note> {
        self.0
    }
}
