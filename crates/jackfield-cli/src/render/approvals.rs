//! Approval questions, for people and for programs.

use std::io::{self, Write};
use std::time::Duration;

use jackfield_domain::ids::WaitId;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{Answer, Approval, UnknownAnswer, WaitEnd, WaitKind};
use jackfield_engine::{DeliveryOutcome, OpenQuestion};
use jackfield_export::values;
use serde_json::{Value, json};

use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::{answers, words};

/// Prints the open questions.
///
/// # Errors
///
/// The stream cannot be written.
pub fn list(
    out: &mut impl Write,
    questions: &[OpenQuestion],
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        let all: Vec<Value> = questions.iter().map(question_json).collect();
        return document(out, &Value::Array(all));
    }
    if questions.is_empty() {
        return writeln!(out, "nothing waits for an answer");
    }
    for one in questions {
        writeln!(
            out,
            "{NAME}{}{NAME:#}  {}  {DIM}session {} · {}{DIM:#}",
            short(&one.wait.id),
            label(one, words::arguments),
            one.session,
            state_text(one, now),
        )?;
    }
    Ok(())
}

/// Prints the details of a question.
///
/// # Errors
///
/// The stream cannot be written.
pub fn one(
    out: &mut impl Write,
    question: &OpenQuestion,
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &question_json(question));
    }
    let what = match &question.wait.kind {
        WaitKind::UnknownOutcome => {
            "it may have taken effect: tell the model (deny), or run it again (allow --again)?"
                .to_owned()
        }
        WaitKind::Budget { .. } => "is there room again?".to_owned(),
        WaitKind::Elicitation { question, .. } => {
            let lines = question.message.lines().map(words::one_line);
            lines.collect::<Vec<_>>().join("\n         ")
        }
        WaitKind::Approval { .. } | WaitKind::ClientResult => "may it run?".to_owned(),
    };
    writeln!(out, "{}", label(question, words::arguments))?;
    if let Some(input) = &question.input {
        let whole = words::whole_arguments(input, "\n");
        for line in whole.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    let mut row = |name: &str, value: &str| writeln!(out, "{DIM}{name:8}{DIM:#} {value}");
    row("asks", &what)?;
    row("id", question.wait.id.as_str())?;
    if let Some(tool) = &question.tool {
        row("server", tool.origin.toolbox.as_str())?;
        row("tool", &words::one_line(&tool.origin.tool))?;
        row("defined", &tool.digest.to_hex())?;
    }
    if let WaitKind::Approval {
        subject: Some(subject),
    } = &question.wait.kind
    {
        row("subject", &subject.to_hex())?;
    }
    row("session", question.session.as_str())?;
    if let Some(turn) = &question.turn {
        row("turn", turn.as_str())?;
    }
    row("state", &state_text(question, now))
}

/// Prints the outcome of an answer.
///
/// # Errors
///
/// The stream cannot be written.
pub fn outcome(
    out: &mut impl Write,
    question: &OpenQuestion,
    outcome: &DeliveryOutcome,
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    let accepted = matches!(
        outcome,
        DeliveryOutcome::Accepted | DeliveryOutcome::AlreadyThere
    );
    if as_json {
        let mut json = question_json(question);
        if let Some(told) = json.as_object_mut() {
            told.insert("accepted".to_owned(), accepted.into());
            if let (false, DeliveryOutcome::Closed { how, .. }) =
                (told.contains_key("how"), outcome)
            {
                told.insert("how".to_owned(), how.as_str().into());
            }
        }
        return document(out, &json);
    }
    let label = label(question, words::arguments);
    let state = match outcome {
        DeliveryOutcome::Closed { at, by, how } if question.end.is_none() => {
            let by = by.as_ref().map(|by| format!(" by {}", words::one_line(by)));
            let ago = ago(*at, now);
            format!("{}{} {ago}", how.as_str(), by.unwrap_or_default())
        }
        DeliveryOutcome::Accepted
        | DeliveryOutcome::AlreadyThere
        | DeliveryOutcome::Closed { .. }
        | DeliveryOutcome::NoSuchWait => state_text(question, now),
    };
    if accepted {
        writeln!(out, "{GOOD}✓{GOOD:#} {label}: {state}")
    } else {
        writeln!(out, "{BAD}✗{BAD:#} {label}: too late, {state}")
    }
}

/// The part of an id that people have to type.
pub(crate) fn short(id: &WaitId) -> String {
    let id = id.as_str();
    let id = id.strip_prefix("wait_").unwrap_or(id);
    id.chars().take(SHORT).collect()
}

fn label(question: &OpenQuestion, arguments: fn(&ToolInput) -> String) -> String {
    if let WaitKind::Budget { message } = &question.wait.kind {
        return words::one_line(message);
    }
    let tool = question.tool.as_ref();
    let icon = tool.and_then(words::icon).unwrap_or_else(|| "⚙".to_owned());
    let name = tool.map_or("a call", |tool| tool.definition.name.as_str());
    let arguments = question.input.as_ref().map(arguments).unwrap_or_default();
    format!("{icon} {NAME}{name}{NAME:#}({arguments})")
}

fn state_text(question: &OpenQuestion, now: WallTime) -> String {
    match &question.end {
        Some((at, end)) => format!("{} {}", answers::wait_end(end), ago(*at, now)),
        None if question.wait.deadline < now => {
            format!("{WARM}expired{WARM:#} {}", ago(question.wait.deadline, now))
        }
        None => format!(
            "waits, for {} more",
            rough(question.wait.deadline.since(now))
        ),
    }
}

fn ago(at: WallTime, now: WallTime) -> String {
    format!("{} ago", rough(now.since(at)))
}

fn rough(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => words::counted(seconds, "second"),
        120..7_200 => words::counted(seconds / 60, "minute"),
        7_200..172_800 => words::counted(seconds / 3_600, "hour"),
        _ => words::counted(seconds / 86_400, "day"),
    }
}

fn question_json(question: &OpenQuestion) -> Value {
    let kind = values::wait_kind(&question.wait.kind);
    let subject = match &question.wait.kind {
        WaitKind::Approval { subject } => *subject,
        WaitKind::Budget { .. }
        | WaitKind::ClientResult
        | WaitKind::Elicitation { .. }
        | WaitKind::UnknownOutcome => None,
    };
    let arguments = question.input.as_ref().map(|input| match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => Value::Object(fields.as_ref().clone()),
            Err(_) => Value::from(input.raw()),
        },
        ToolInput::Text(text) => Value::from(&**text),
    });
    let tool = question.tool.as_ref();
    let mut json = json!({
        "id": question.wait.id.as_str(),
        "kind": kind,
        "session": question.session.as_str(),
        "turn": question.turn.as_ref().map(|turn| turn.as_str()),
        "call": question.wait.call.as_str(),
        "name": tool.map(|tool| tool.definition.name.as_str()),
        "server": tool.map(|tool| tool.origin.toolbox.as_str()),
        "tool": tool.map(|tool| &*tool.origin.tool),
        "definition": tool.map(|tool| tool.digest.to_hex()),
        "arguments": arguments,
        "subject": subject.map(|subject| subject.to_hex()),
        "deadline_ms": question.wait.deadline.as_millis(),
    });
    if let (WaitKind::Budget { message }, Some(told)) = (&question.wait.kind, json.as_object_mut())
    {
        told.insert("question".to_owned(), (&**message).into());
    }
    if let (Some((at, end)), Some(told)) = (&question.end, json.as_object_mut()) {
        told.insert("how".to_owned(), end.kind().as_str().into());
        told.insert("at_ms".to_owned(), at.as_millis().into());
        if let WaitEnd::Answered { answer, by, .. } = end {
            told.insert("by".to_owned(), (&**by).into());
            told.insert("answer".to_owned(), answer_json(answer));
        }
    }
    json
}

fn answer_json(answer: &Answer) -> Value {
    match answer {
        Answer::Approval(Approval::Denied { reason }) => {
            json!({ "decision": "deny", "reason": &**reason })
        }
        Answer::Approval(Approval::Granted {
            edited,
            for_session,
        }) => json!({
            "decision": "allow",
            "arguments": edited.as_deref(),
            "for_session": for_session,
        }),
        Answer::UnknownOutcome(UnknownAnswer::Retry) => json!({ "decision": "allow" }),
        Answer::UnknownOutcome(UnknownAnswer::Landed(_) | UnknownAnswer::Report) => {
            json!({ "decision": "deny" })
        }
        Answer::ClientResult(_) | Answer::Elicitation(_) => Value::Null,
    }
}

fn document(out: &mut impl Write, value: &Value) -> io::Result<()> {
    writeln!(out, "{}", words::escaped(format!("{value:#}")))
}

/// How many characters of an id are shown; enough to be unique among open questions.
const SHORT: usize = 8;
