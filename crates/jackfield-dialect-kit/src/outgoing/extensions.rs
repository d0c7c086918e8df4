//! Extensions: fields of a dialect that the domain lacks.

use std::fmt::Display;

use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;

use crate::notes::{ExtensionPath, Notes};
use crate::pointer::tokens;

/// What a dialect did with one of its fields.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Placement {
    /// It has no place for the field, which is noted.
    NoPlace,
    /// It refused the field, which would make the provider act or store something; noted.
    Refused,
    /// It set the field.
    Set,
}

impl From<bool> for Placement {
    /// Whether the field was [set](crate::pointer::set).
    fn from(is_set: bool) -> Self {
        if is_set { Self::Set } else { Self::NoPlace }
    }
}

/// Sets the extensions of a dialect: `place` is given each with the tokens of its path. Those of other dialects are
/// noted.
pub fn apply(
    extensions: &[Extension],
    dialect: &str,
    parent: impl Display,
    notes: &mut Notes,
    mut place: impl FnMut(&[String], &Extension) -> Placement,
) {
    for extension in extensions {
        let path = ExtensionPath {
            extension,
            parent: &parent,
        };
        if *extension.dialect != *dialect {
            notes.foreign(extension, path);
            continue;
        }
        let tokens = tokens(&extension.path);
        match tokens.map_or(Placement::NoPlace, |tokens| place(&tokens, extension)) {
            Placement::NoPlace => notes.dropped(NoteEffect::Quality, "extension_path", path),
            Placement::Refused => notes.refused("provider_would_act", path),
            Placement::Set => {}
        }
    }
}

/// The tokens below the first one, which names an object of the body; `None` if they name none of its fields, or one
/// of `ours`.
#[must_use]
pub fn below<'t>(tokens: &'t [String], ours: &[&str]) -> Option<&'t [String]> {
    let below = tokens.get(1..)?;
    let name = below.first()?;
    (!name.is_empty() && !ours.contains(&name.as_str())).then_some(below)
}
