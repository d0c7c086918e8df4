//! What notes say of whole messages and blocks, applied to an outline.

use std::collections::BTreeSet;

use jackfield_domain::note::Note;

use super::{Node, field, is_below, items, remove, take};

/// Applies the notes that remove, move and join whole elements to the outline of a request; returns their indices.
///
/// Beside notes of dropped and refused elements, those are `messages_merged`, `system_message_as_user` and
/// `system_message_moved` of a message, and `json_asked_in_words`, which adds to what was moved.
///
/// # Panics
///
/// If a note names no message.
pub fn apply_structure(tree: &mut Node, notes: &[Note]) -> BTreeSet<usize> {
    let mut done = BTreeSet::new();
    for (n, note) in notes.iter().enumerate() {
        if remove(tree, note) {
            done.insert(n);
        }
    }
    items(field(tree, "messages")).retain_mut(|(_, message)| !blocks(message).is_empty());
    let mut moved = Vec::new();
    for (n, note) in notes.iter().enumerate() {
        match &*note.code {
            "system_message_moved" => {
                let Some(mut message) = take(tree, &note.path) else {
                    panic!("no message: {note:?}");
                };
                moved.append(blocks(&mut message));
                done.insert(n);
                // The system prompt has text alone: what hung on the blocks is gone. Words at its end stand at the
                // end of what was moved there.
                let goes = |other: &Note| {
                    is_below(&other.path, &note.path) || other.code == "json_asked_in_words"
                };
                let others = notes.iter().enumerate();
                done.extend(others.filter(|(_, other)| goes(other)).map(|(n, _)| n));
            }
            "messages_merged" | "system_message_as_user" => {
                let messages = items(field(tree, "messages"));
                let place = messages.iter().position(|(path, _)| *path == note.path);
                if let Some(place) = place {
                    done.insert(n);
                    if note.code == "system_message_as_user" {
                        *field(&mut messages[place].1, "role") = Node::Leaf("User".to_owned());
                    }
                    join(messages, place);
                }
            }
            _ => {}
        }
    }
    let parts = items(field(field(tree, "system"), "parts"));
    for (path, mut block) in moved {
        let text = field(&mut block, "text").clone();
        parts.push((path, Node::Fields(vec![("text", text)])));
    }
    done
}

/// Joins a message to the one before it, if that has the same role.
fn join(messages: &mut Vec<(String, Node)>, place: usize) {
    let Some([(_, before), (_, message)]) = place
        .checked_sub(1)
        .and_then(|before| messages.get_mut(before..=place))
    else {
        return;
    };
    if field(before, "role") == field(message, "role") {
        blocks(before).append(blocks(message));
        messages.remove(place);
    }
}

fn blocks(message: &mut Node) -> &mut Vec<(String, Node)> {
    items(field(message, "blocks"))
}
