//! A conversation as text, for a session of Claude Code that does not have it.

use std::fmt::Write as _;

use serde_json::Value;

/// The messages, in the form of the Messages API, as a transcript.
pub(crate) fn of(messages: &[Value]) -> String {
    let mut text = String::from("This is the conversation so far, as a transcript:\n");
    for message in messages {
        let role = message
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or("user");
        let _infallible = write!(text, "\n<{role}>\n");
        match message.get("content") {
            Some(Value::String(words)) => {
                text.push_str(words);
                text.push('\n');
            }
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| add(block, &mut text)),
            Some(_) | None => {}
        }
        let _infallible = writeln!(text, "</{role}>");
    }
    text.push_str("\nIt ends here. What follows continues it.");
    text
}

fn add(block: &Value, out: &mut String) {
    let field = |key: &str| block.get(key).and_then(Value::as_str);
    let kind = field("type").unwrap_or_default();
    let _infallible = match kind {
        "text" => writeln!(out, "{}", field("text").unwrap_or_default()),
        // It belongs to the model that wrote it.
        "thinking" | "redacted_thinking" => Ok(()),
        "tool_use" => {
            let input = block.get("input").unwrap_or(&Value::Null);
            let (name, id) = (
                field("name").unwrap_or_default(),
                field("id").unwrap_or_default(),
            );
            writeln!(out, "[call {id} of the tool {name} with {input}]")
        }
        "tool_result" => {
            let id = field("tool_use_id").unwrap_or_default();
            let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
            let what = if failed { "the failure" } else { "the result" };
            let _infallible = writeln!(out, "[{what} of call {id}:]");
            match block.get("content") {
                Some(Value::String(words)) => writeln!(out, "{words}"),
                Some(Value::Array(parts)) => {
                    parts.iter().for_each(|part| add(part, out));
                    Ok(())
                }
                Some(_) | None => Ok(()),
            }
        }
        kind => writeln!(out, "[{kind}]"),
    };
}
