//! Collects the notes of one mapping.

use std::fmt::{self, Display, Formatter};

use jackfield_domain::block::Annotation;
use jackfield_domain::message::Role;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::Extension;

use crate::pointer;

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

    /// The words of a block that only its provider knows were sent in its place. In a message of the user that
    /// changes what is asked.
    pub fn opaque_as_text(&mut self, role: Role, path: impl Display) {
        let effect = match role {
            Role::User => NoteEffect::Meaning,
            Role::Assistant | Role::System | Role::Tool => NoteEffect::Quality,
        };
        self.approximated(effect, "opaque_as_text", path);
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

    /// A field of another dialect was left out.
    pub fn foreign(&mut self, extension: &Extension, path: impl Display) {
        // What is about a cache makes no answer worse.
        let effect = if extension.path.contains("cache") {
            NoteEffect::Cost
        } else {
            NoteEffect::Quality
        };
        self.dropped(effect, "extension_of_another_dialect", path);
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

/// The path of an extension in notes: what it belongs to, its dialect and its field, by which whoever sent it
/// knows it again, such as `settings.extensions.openai-chat.logit_bias`.
#[derive(Debug)]
pub struct ExtensionPath<'e, P> {
    /// The extension.
    pub extension: &'e Extension,
    /// What it belongs to, such as `settings`.
    pub of: P,
}

impl<P: Display> Display for ExtensionPath<'_, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { extension, of } = self;
        write!(f, "{of}.extensions.{}", extension.dialect)?;
        for token in pointer::tokens(&extension.path).unwrap_or_default() {
            // The field is the sender's own word, and a note is kept for ever.
            let end = token.floor_char_boundary(LONGEST);
            let (shown, more) = token.split_at(end);
            write!(f, ".{shown}{}", if more.is_empty() { "" } else { "…" })?;
        }
        Ok(())
    }
}

/// How much of a field's name is in the path of a note, in bytes.
const LONGEST: usize = 100;
