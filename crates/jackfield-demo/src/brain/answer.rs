//! The answer: what the tools said, and nothing else.

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool_input::ToolInput;

use super::language::Language;
use super::{CALCULATOR, CLOCK, DemoResult, calendar, is_named, notes, orders, places, words};

/// The result of one call, in words. `text` is the question.
pub(super) fn tell(language: Language, text: &str, done: &DemoResult) -> String {
    let name = done.call.name.as_str();
    let said = said(language, &done.outcome.result);
    let is_calculator = is_named(name, CALCULATOR);
    let is_clock = is_named(name, CLOCK);
    let asked = asked(done);
    if done.outcome.result.is_error {
        let tool = if is_calculator {
            words::calculator(language).to_owned()
        } else if is_clock {
            words::clock(language).to_owned()
        } else {
            name.to_owned()
        };
        return words::failed(language, &tool, &said, asked);
    }
    if is_clock
        && argument(done, "format") == Some(calendar::FORMAT)
        && let Some(answer) = calendar::answer(language, text, &said)
    {
        return answer;
    }
    if orders::is_tool(name) {
        return said;
    }
    if let Some(answer) = notes::tell(language, name, &said) {
        return answer;
    }
    match asked {
        Some(expression) if is_calculator => words::result(expression, &said),
        Some(zone) => words::time(language, &places::label(language, zone), &said),
        None if is_clock => words::now(language, &said),
        None => words::other(language, name, &said),
    }
}

/// A sum or the time of a place, as what was asked and what it is; `None` for other results and errors.
pub(super) fn row(language: Language, done: &DemoResult) -> Option<(String, String)> {
    let asked = asked(done).filter(|_| !done.outcome.result.is_error)?;
    let said = said(language, &done.outcome.result);
    if is_named(done.call.name.as_str(), CLOCK) {
        return Some((places::label(language, asked), said));
    }
    let result = match said.split_once(" = ") {
        Some((_, result)) => result.to_owned(),
        None => said,
    };
    Some((asked.to_owned(), result))
}

/// The expression of a sum, or the time zone of a question for the time.
fn asked(done: &DemoResult) -> Option<&str> {
    let name = done.call.name.as_str();
    if is_named(name, CALCULATOR) {
        argument(done, "expression")
    } else if is_named(name, CLOCK) {
        argument(done, "timezone")
    } else {
        None
    }
}

fn argument<'d>(done: &'d DemoResult, key: &str) -> Option<&'d str> {
    match &done.call.input {
        ToolInput::Json(input) => input.object().ok()?.get(key)?.as_str(),
        ToolInput::Text(_) => None,
    }
}

/// What a tool said, as text.
fn said(language: Language, result: &ToolResult) -> String {
    let text = result.to_text();
    let text = text.trim();
    match &result.structured {
        _ if !text.is_empty() => text.to_owned(),
        Some(json) => json.to_string(),
        None => words::nothing(language).to_owned(),
    }
}
