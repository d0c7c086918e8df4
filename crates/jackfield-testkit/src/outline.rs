//! Domain values as trees of named places, by which the tests of a dialect's mappers compare them.
//!
//! A request that is mapped out and back may differ only where a note says so. To test that, a dialect makes an
//! outline of both, applies to the first one those notes that concern whole elements ([`apply_structure`]), and calls
//! [`check`] for the rest, as the [laws](crate::laws) do:
//!
//! ```
//! use std::collections::BTreeSet;
//!
//! use jackfield_domain::note::{Note, NoteEffect, NoteKind};
//! use jackfield_domain::block::Block;
//! use jackfield_testkit::outline;
//!
//! let told = outline::of_blocks(&[Block::text("Hei"), Block::text("hallo")]);
//! let back = outline::of_blocks(&[Block::text("Hei"), Block::text("hello")]);
//! let note = Note::new(NoteKind::Approximated, NoteEffect::Meaning, "put_into_english", "blocks[1]");
//! let done = BTreeSet::new();
//! assert!(outline::check(&told, &back, &[], &done).is_err());
//! assert!(outline::check(&told, &back, &[note], &done).is_ok());
//! ```
//!
//! An outline omits properties that no wire format preserves: origins of the system prompt, the ids themselves
//! (their pairing is compared), the formatting of arguments and the order of the keywords in a schema, scopes of
//! opaque state, and a file's model and dialect (of the dialect's name the part before the first hyphen is
//! compared).

mod conversation;
mod settings;
mod structure;

use std::collections::BTreeSet;
use std::fmt;

use jackfield_domain::block::Block;
use jackfield_domain::note::{Note, NoteKind};
use jackfield_domain::request::ModelRequest;

pub use self::structure::apply_structure;

use self::conversation::{Ids, of_block, of_message};
use self::settings::{of_settings, of_tool};

/// A tree of named places.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Named fields, the same for every value of one kind.
    Fields(Vec<(&'static str, Self)>),
    /// A value that is compared as a whole.
    Leaf(String),
    /// Elements, each with its original path.
    List(Vec<(String, Self)>),
}

/// The outline of a request: its `choice`, `messages`, `settings`, `system` and `tools`.
#[must_use]
pub fn of_request(request: &ModelRequest) -> Node {
    let messages = || request.messages.iter().map(|message| &**message);
    let ids = Ids::from_blocks(messages().flat_map(|message| &message.blocks));
    Node::Fields(vec![
        ("choice", debug(&request.choice)),
        (
            "messages",
            list("messages", messages(), |path, message| {
                of_message(path, message, &ids)
            }),
        ),
        ("settings", of_settings(&request.settings)),
        (
            "system",
            Node::Fields(vec![(
                "parts",
                list("system.parts", request.system.parts.iter(), |_, part| {
                    Node::Fields(vec![("text", debug(&part.text))])
                }),
            )]),
        ),
        (
            "tools",
            list("tools", request.tools.iter().map(|tool| &**tool), of_tool),
        ),
    ])
}

/// The blocks of a reply, as a list.
#[must_use]
pub fn of_blocks(blocks: &[Block]) -> Node {
    let ids = Ids::from_blocks(blocks.iter());
    list("blocks", blocks.iter(), |path, block| {
        of_block(path, block, &ids)
    })
}

/// Checks that two outlines differ exactly where notes say so.
///
/// `original` is the outline of the mapped value, to which the paths of the notes refer; `done` are the indices of
/// the notes that [have been applied](remove) to it.
///
/// # Errors
///
/// A difference that no note covers, or a note without a difference, unless another says that its place is gone.
pub fn check(
    original: &Node,
    back: &Node,
    notes: &[Note],
    done: &BTreeSet<usize>,
) -> Result<(), String> {
    let differences = differences(original, back);
    for path in &differences {
        if !notes.iter().any(|note| covers(note, path)) {
            return Err(format!("unsound: {path} differs\n{notes:#?}"));
        }
    }
    for (n, note) in notes.iter().enumerate() {
        // For a block that changed its kind, the outline shows only that.
        let inside = |path: &String| covers(note, path) || is_below(&note.path, path);
        // What was changed may be left out as well.
        let is_gone = done
            .iter()
            .filter_map(|n| notes.get(*n))
            .any(|other| is_below(&note.path, &other.path));
        if !is_gone && !done.contains(&n) && !differences.iter().any(inside) {
            return Err(format!("incomplete: nothing differs at {note:?}"));
        }
    }
    Ok(())
}

/// Whether a note names this place or one that contains it; places within a schema are ignored.
#[must_use]
pub fn covers(note: &Note, path: &str) -> bool {
    let named = note.path.split('#').next().unwrap_or_default();
    path == named || is_below(path, named)
}

/// Whether a path is below another one.
#[must_use]
pub fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// The paths at which two trees differ, by the paths of the first.
#[must_use]
pub fn differences(one: &Node, other: &Node) -> Vec<String> {
    let mut found = Vec::new();
    differ("", one, other, &mut found);
    found
}

fn differ(path: &str, one: &Node, other: &Node, found: &mut Vec<String>) {
    match (one, other) {
        (Node::Fields(one), Node::Fields(other)) if keys(one) == keys(other) => {
            for ((key, one), (_, other)) in one.iter().zip(other) {
                let path = if path.is_empty() {
                    (*key).to_owned()
                } else {
                    format!("{path}.{key}")
                };
                differ(&path, one, other, found);
            }
        }
        (Node::List(one), Node::List(other)) if one.len() == other.len() => {
            for ((path, one), (_, other)) in one.iter().zip(other) {
                differ(path, one, other, found);
            }
        }
        (one, other) if one == other => {}
        _ => found.push(path.to_owned()),
    }
}

fn keys(fields: &[(&'static str, Node)]) -> Vec<&'static str> {
    fields.iter().map(|(key, _)| *key).collect()
}

/// Removes the list element that a note reports as dropped or refused; returns whether there was one.
pub fn remove(tree: &mut Node, note: &Note) -> bool {
    let gone = matches!(note.kind, NoteKind::Dropped | NoteKind::Refused);
    gone && take(tree, &note.path).is_some()
}

/// Removes an element from its list, and returns it.
pub fn take(tree: &mut Node, path: &str) -> Option<Node> {
    match tree {
        Node::Fields(fields) => fields.iter_mut().find_map(|(_, node)| take(node, path)),
        Node::Leaf(_) => None,
        Node::List(items) => match items.iter().position(|(name, _)| name == path) {
            Some(place) => Some(items.remove(place).1),
            None => items.iter_mut().find_map(|(_, node)| take(node, path)),
        },
    }
}

/// A field of a tree.
///
/// # Panics
///
/// If there is no field with this name.
pub fn field<'a>(tree: &'a mut Node, name: &str) -> &'a mut Node {
    match tree {
        Node::Fields(fields) => fields
            .iter_mut()
            .find_map(|(key, node)| (*key == name).then_some(node))
            .unwrap_or_else(|| panic!("there is no field `{name}`")),
        Node::Leaf(_) | Node::List(_) => panic!("`{name}` is a field of no list or leaf"),
    }
}

/// The elements of a list.
///
/// # Panics
///
/// If it is not a list.
pub fn items(tree: &mut Node) -> &mut Vec<(String, Node)> {
    match tree {
        Node::List(items) => items,
        Node::Fields(_) | Node::Leaf(_) => panic!("no list"),
    }
}

fn list<'a, T: 'a>(
    path: &str,
    items: impl Iterator<Item = &'a T>,
    mut node: impl FnMut(&str, &'a T) -> Node,
) -> Node {
    let named = items.enumerate().map(|(n, item)| {
        let path = format!("{path}[{n}]");
        let node = node(&path, item);
        (path, node)
    });
    Node::List(named.collect())
}

fn debug(value: &impl fmt::Debug) -> Node {
    Node::Leaf(format!("{value:?}"))
}
