//! Collects the notes of a mapping.

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
    /// Notes that something similar was sent.
    pub fn approximated(&mut self, effect: NoteEffect, code: &'static str, path: impl Display) {
        let note = Note::new(NoteKind::Approximated, effect, code, path.to_string());
        self.0.push(note);
    }

    /// Notes that something was left out.
    pub fn dropped(&mut self, effect: NoteEffect, code: &'static str, path: impl Display) {
        let note = Note::new(NoteKind::Dropped, effect, code, path.to_string());
        self.0.push(note);
    }

    /// Notes that an opaque block was replaced by its text. In a user message that changes the request's meaning.
    pub fn opaque_as_text(&mut self, role: Role, path: impl Display) {
        let effect = match role {
            Role::User => NoteEffect::Meaning,
            Role::Assistant | Role::System | Role::Tool => NoteEffect::Quality,
        };
        self.approximated(effect, "opaque_as_text", path);
    }

    /// Notes that something was refused, as it would have made the provider act.
    pub fn refused(&mut self, code: &'static str, path: impl Display) {
        let note = Note::new(
            NoteKind::Refused,
            NoteEffect::Meaning,
            code,
            path.to_string(),
        );
        self.0.push(note);
    }

    /// Notes that another dialect's field was left out.
    pub fn foreign(&mut self, extension: &Extension, path: impl Display) {
        // A field about caching does not affect the quality of answers.
        let effect = if extension.path.contains("cache") {
            NoteEffect::Cost
        } else {
            NoteEffect::Quality
        };
        self.dropped(effect, "extension_of_another_dialect", path);
    }

    /// Notes an annotation whose title or URL differs from the JSON that is sent.
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

    /// Adds these notes, in order.
    pub fn extend(&mut self, notes: impl IntoIterator<Item = Note>) {
        self.0.extend(notes);
    }

    /// All notes, in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Note> {
        self.0
    }
}

/// The path of an extension in notes: its container, its dialect and its field, by which its sender recognizes it,
/// such as `settings.extensions.openai-chat.logit_bias`.
#[derive(Debug)]
pub struct ExtensionPath<'e, P> {
    /// The extension.
    pub extension: &'e Extension,
    /// The container, such as `settings`.
    pub parent: P,
}

impl<P: Display> Display for ExtensionPath<'_, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            extension,
            parent: of,
        } = self;
        write!(f, "{of}.extensions.{}", extension.dialect)?;
        for token in pointer::tokens(&extension.path).unwrap_or_default() {
            // The client chose the field's name, and notes are stored permanently.
            let end = token.floor_char_boundary(MAX_LENGTH);
            let (shown, more) = token.split_at(end);
            write!(f, ".{shown}{}", if more.is_empty() { "" } else { "…" })?;
        }
        Ok(())
    }
}

/// How much of a field's name is in the path of a note, in bytes.
const MAX_LENGTH: usize = 100;
