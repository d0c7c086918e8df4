//! Shows calls that edit text: the old and the new text as a diff.

use jackfield_domain::text::hidden::revealed;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use crate::render::words::whole_arguments;

/// The arguments of a call that replaces several lines, in lines: those of the diff begin with [`GUTTER`] and a sign.
/// `None` if it is no such call.
///
/// Everything that is sent is shown, with codes for hidden characters, as by [`whole_arguments`].
pub(crate) fn edits(input: &ToolInput) -> Option<Vec<String>> {
    let ToolInput::Json(input) = input else {
        return None;
    };
    let fields = input.object().ok()?;
    let mut lines = Vec::new();
    if let Some(pair) = pair(fields) {
        lines.extend(others(fields, &[pair.0, pair.1]));
        diff(fields, pair, &mut lines);
        return Some(lines);
    }
    let (list, edits) = fields.iter().find_map(|(name, value)| {
        let edits = value.as_array()?.iter().map(Value::as_object);
        let edits: Vec<&Map<String, Value>> = edits.collect::<Option<_>>()?;
        let has_lines = edits.iter().any(|edit| pair(edit).is_some());
        has_lines.then_some((name, edits))
    })?;
    lines.extend(others(fields, &[list]));
    for (nth, edit) in edits.iter().enumerate() {
        lines.push(format!("{}[{nth}]", revealed(list)));
        match pair(edit) {
            Some(pair) => {
                lines.extend(others(edit, &[pair.0, pair.1]));
                diff(edit, pair, &mut lines);
            }
            None => lines.extend(others(edit, &[])),
        }
    }
    Some(lines)
}

/// The names of the old and the new text, if one of the two has several lines.
fn pair(fields: &Map<String, Value>) -> Option<(&'static str, &'static str)> {
    let mut pairs = PAIRS.iter().copied();
    pairs.find(|(old, new)| {
        let texts = [old, new].map(|name| fields.get(*name).and_then(Value::as_str));
        matches!(texts, [Some(old), Some(new)] if old.contains('\n') || new.contains('\n'))
    })
}

fn others(fields: &Map<String, Value>, without: &[&str]) -> Vec<String> {
    let mut rest = fields.clone();
    rest.retain(|name, _| !without.contains(&name.as_str()));
    let rest = Value::Object(rest).to_string();
    let shown = whole_arguments(&ToolInput::Json(JsonInput::parse(&rest)), "\n");
    shown.lines().map(str::to_owned).collect()
}

fn diff(fields: &Map<String, Value>, (old, new): (&str, &str), lines: &mut Vec<String>) {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (before, after) = (text(old), text(new));
    lines.push(format!("{GUTTER} {old} → {new}"));
    let ends_alike = before.ends_with('\n') == after.ends_with('\n');
    for change in TextDiff::from_lines(before, after).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Equal => ' ',
            ChangeTag::Insert => '+',
        };
        let value = change.value();
        let line = value.strip_suffix('\n').unwrap_or(value);
        let parts: Vec<String> = line.split('\t').map(revealed).collect();
        let end = match change.missing_newline() && !ends_alike {
            true => " <no line end>",
            false => "",
        };
        lines.push(format!("{GUTTER}{sign} {}{end}", parts.join("\t")));
    }
}

/// What the lines of a diff begin with, so that no text can look like another argument.
pub(crate) const GUTTER: char = '│';

/// The names of old and new texts, as servers of files and editors call them.
const PAIRS: &[(&str, &str)] = &[
    ("oldText", "newText"),
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("search", "replace"),
    ("before", "after"),
];
