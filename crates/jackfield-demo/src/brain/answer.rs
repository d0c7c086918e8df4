//! The answer: what the tools said, and nothing else.

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool_input::ToolInput;

use super::language::Language;
use super::{CALCULATOR, CLOCK, DemoResult, calendar, is_named, notes, places, words};

/// The result of one call, in words. `text` is the question.
pub(super) fn tell(language: Language, text: &str, done: &DemoResult) -> String {
    let name = done.call.name.as_str();
    let said = said(language, &done.outcome.result);
    let argument = |key: &str| match &done.call.input {
        ToolInput::Json(input) => input.object().ok()?.get(key)?.as_str(),
        ToolInput::Text(_) => None,
    };
    let is_calculator = is_named(name, CALCULATOR);
    let is_clock = is_named(name, CLOCK);
    let asked = if is_calculator {
        argument("expression")
    } else if is_clock {
        argument("timezone")
    } else {
        None
    };
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
        && argument("format") == Some(calendar::FORMAT)
        && let Some(answer) = calendar::answer(language, text, &said)
    {
        return answer;
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
