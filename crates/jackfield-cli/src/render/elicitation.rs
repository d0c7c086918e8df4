//! Questions of servers to a person.

use std::io::Write as _;

use jackfield_domain::ids::ToolboxId;
use jackfield_domain::wait::Question;
use serde_json::Value;

use super::PromptPlace;
use super::plain::{NAME, WARM};
use super::words;

/// Shows what a server asks before it gives a resource or a prompt, on standard error.
pub(crate) fn server_question(server: &ToolboxId, question: &Question, place: PromptPlace) {
    let mut shown = format!("{WARM}?{WARM:#} The server `{server}` asks:\n");
    for line in lines(question) {
        shown.push_str(&format!("    {line}\n"));
    }
    let choices = choices(question);
    match place {
        PromptPlace::Below => shown.push_str(&format!("  {choices}\n")),
        PromptPlace::Inline => shown.push_str(&format!("{choices} ")),
    }
    let mut err = anstream::stderr();
    // A closed standard error leaves no place to report that.
    let _shown = write!(err, "{shown}").and_then(|()| err.flush());
}

/// How a tool's own question is answered.
pub(super) fn choices(question: &Question) -> String {
    let no = format!("[{NAME}n{NAME:#}]o");
    match question.schema {
        Some(_) => format!("the fields as JSON, or {no}"),
        None => format!("[{NAME}y{NAME:#}]es  {no}"),
    }
}

/// A tool's own question, and the fields of its form.
pub(super) fn lines(question: &Question) -> Vec<String> {
    let lines = question.message.lines().map(words::one_line);
    let properties = question
        .schema
        .as_deref()
        .and_then(|schema| schema.get("properties")?.as_object());
    let fields = properties.into_iter().flatten().map(|(name, field)| {
        let text = |key: &str| field.get(key).and_then(Value::as_str).unwrap_or_default();
        let about = [text("type"), text("title"), text("description")].join(" ");
        words::one_line(&format!("{name}: {}", about.trim()))
    });
    // A yes is for all of it, so nothing is left out.
    lines.chain(fields).collect()
}
