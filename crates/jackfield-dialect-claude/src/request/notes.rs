//! Collects the notes of one mapping.

use std::fmt::Display;

use jackfield_domain::block::Annotation;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};

use crate::reply::annotation_source;

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

    /// Title and address of a citation's source are not sent by themselves: the citation has them.
    pub(crate) fn check_source(&mut self, annotation: &Annotation, path: impl Display) {
        let (title, url) = annotation_source(&annotation.json);
        for (ours, sent, field) in [
            (&annotation.title, title, "title"),
            (&annotation.url, url, "url"),
        ] {
            if ours.as_deref() != sent.as_deref() {
                let path = format_args!("{path}.{field}");
                self.dropped(NoteEffect::Cosmetic, "annotation_source", path);
            }
        }
    }

    /// All of them, in order.
    pub(crate) fn into_vec(self) -> Vec<Note> {
        self.0
    }
}
