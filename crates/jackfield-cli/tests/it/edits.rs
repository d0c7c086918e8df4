//! Questions about calls that edit text.

use jackfield_domain::fact::ToolUse;
use serde_json::{Value, json};

use crate::rendering::question_shown;
use crate::scene::Scene;

/// Checks the lines in which a question shows the arguments of a call; `None` if there is no diff in them.
#[track_caller]
fn check(arguments: &Value, expected: Option<&[&str]>) {
    let (scene, wait) = Scene::new()
        .round(ToolUse::Allowed)
        .calls("c1", "edit", &arguments.to_string())
        .asked("c1");
    let shown = question_shown(&scene, &wait);
    let lines = shown.lines().skip_while(|line| !line.starts_with("? Run"));
    let lines = lines.filter_map(|line| line.strip_prefix("    "));
    let lines: Vec<&str> = lines.collect();
    match expected {
        Some(expected) => assert_eq!(lines, expected),
        None => assert!(!lines.join("\n").contains('│'), "{shown}"),
    }
}

#[test]
fn lines_that_are_replaced_are_a_diff() {
    check(
        &json!({ "path": "a.rs", "old_str": "one\ntwo\n", "new_str": "one\n\u{202e}three\n" }),
        Some(&[
            "path: \"a.rs\"",
            "│ old_str → new_str",
            "│  one",
            "│- two",
            "│+ <U+202E right-to-left override>three",
        ]),
    );
    check(
        &json!({ "edits": [{ "oldText": "a\n", "newText": "b" }, { "oldText": "c", "newText": "d" }], "dry": true }),
        Some(&[
            "dry: true",
            "edits[0]",
            "│ oldText → newText",
            "│- a",
            "│+ b <no line end>",
            "edits[1]",
            "oldText: \"c\"",
            "newText: \"d\"",
        ]),
    );
    // One line, or no pair: as any other arguments.
    check(&json!({ "old_str": "a", "new_str": "b" }), None);
    check(&json!({ "old_str": "a\nb", "text": "b" }), None);
    check(&json!({ "old_str": "a\nb", "new_str": 1 }), None);
}
