//! Messages that name the one before them: the branch that ends at one of them.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The branch that was shown last, and the nodes beside it.
pub(super) struct Branches<'v> {
    /// Nodes beside it, of other branches or without a way to it.
    pub(super) other: Vec<&'v Value>,
    /// The branch, from its beginning on.
    pub(super) shown: Vec<&'v Value>,
}

/// The branch that ends at `last`, or else at the last node without children.
pub(super) fn branches<'v>(
    nodes: &'v Map<String, Value>,
    last: Option<&Value>,
    parent: &str,
    children: &str,
) -> Branches<'v> {
    let last = last
        .and_then(Value::as_str)
        .and_then(|last| nodes.get_key_value(last))
        .or_else(|| {
            let mut from_end = nodes.iter().rev();
            from_end.find(|(_, node)| node.get(children).is_none_or(has_none))
        });
    let (mut shown, mut seen) = (Vec::new(), HashSet::new());
    let mut next = last;
    // A node that was passed before closes a circle.
    while let Some((_, node)) = next.filter(|(id, _)| seen.insert(id.as_str())) {
        shown.push(node);
        next = node
            .get(parent)
            .and_then(Value::as_str)
            .and_then(|parent| nodes.get_key_value(parent));
    }
    shown.reverse();
    let other = nodes.iter().filter(|(id, _)| !seen.contains(id.as_str()));
    Branches {
        other: other.map(|(_, node)| node).collect(),
        shown,
    }
}

fn has_none(children: &Value) -> bool {
    children.as_array().is_none_or(Vec::is_empty)
}
