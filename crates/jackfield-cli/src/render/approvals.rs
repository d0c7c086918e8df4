//! Approval questions, for people and for programs.

use std::io::{self, Write};
use std::time::Duration;

use jackfield_domain::ids::WaitId;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{Answer, Approval, UnknownAnswer, WaitEnd, WaitKind};
use jackfield_engine::{DeliveryOutcome, OpenQuestion};
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
    asked: &[OpenQuestion],
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        let all: Vec<Value> = asked.iter().map(described).collect();
        return document(out, &Value::Array(all));
    }
    if asked.is_empty() {
        return writeln!(out, "nothing waits for an answer");
    }
    for one in asked {
        writeln!(
            out,
            "{NAME}{}{NAME:#}  {}  {DIM}session {} · {}{DIM:#}",
            short(&one.wait.id),
            label(one, words::arguments),
            one.session,
            left(one, now),
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
    asked: &OpenQuestion,
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &described(asked));
    }
    let what = match asked.wait.kind {
        WaitKind::UnknownOutcome => "it may have taken effect: run it again?",
        WaitKind::Approval { .. } | WaitKind::ClientResult | WaitKind::Elicitation { .. } => {
            "may it run?"
        }
    };
    writeln!(out, "{}", label(asked, words::arguments))?;
    if let Some(input) = &asked.input {
        let whole = words::whole_arguments(input, "\n");
        for line in whole.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    let mut row = |name: &str, value: &str| writeln!(out, "{DIM}{name:8}{DIM:#} {value}");
    row("asks", what)?;
    row("id", asked.wait.id.as_str())?;
    if let Some(tool) = &asked.tool {
        row("server", tool.origin.toolbox.as_str())?;
        row("tool", &words::one_line(&tool.origin.tool))?;
        row("defined", &tool.digest.to_hex())?;
    }
    if let WaitKind::Approval {
        subject: Some(subject),
    } = &asked.wait.kind
    {
        row("subject", &subject.to_hex())?;
    }
    row("session", asked.session.as_str())?;
    if let Some(turn) = &asked.turn {
        row("turn", turn.as_str())?;
    }
    row("state", &left(asked, now))
}

/// Prints the outcome of an answer.
///
/// # Errors
///
/// The stream cannot be written.
pub fn said(
    out: &mut impl Write,
    asked: &OpenQuestion,
    said: &DeliveryOutcome,
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    let accepted = matches!(
        said,
        DeliveryOutcome::Accepted | DeliveryOutcome::AlreadyThere
    );
    if as_json {
        let mut told = described(asked);
        if let Some(told) = told.as_object_mut() {
            told.insert("accepted".to_owned(), accepted.into());
            if let (false, DeliveryOutcome::Closed { how, .. }) = (told.contains_key("how"), said) {
                told.insert("how".to_owned(), answers::how(*how).into());
            }
        }
        return document(out, &told);
    }
    let label = label(asked, words::arguments);
    let state = match said {
        DeliveryOutcome::Closed { at, by, how } if asked.end.is_none() => {
            let by = by.as_ref().map(|by| format!(" by {}", words::one_line(by)));
            let ago = ago(*at, now);
            format!("{}{} {ago}", answers::how(*how), by.unwrap_or_default())
        }
        DeliveryOutcome::Accepted
        | DeliveryOutcome::AlreadyThere
        | DeliveryOutcome::Closed { .. }
        | DeliveryOutcome::NoSuchWait => left(asked, now),
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

fn label(asked: &OpenQuestion, arguments: fn(&ToolInput) -> String) -> String {
    let tool = asked.tool.as_ref();
    let icon = tool.and_then(words::icon).unwrap_or_else(|| "⚙".to_owned());
    let name = tool.map_or("a call", |tool| tool.definition.name.as_str());
    let arguments = asked.input.as_ref().map(arguments).unwrap_or_default();
    format!("{icon} {NAME}{name}{NAME:#}({arguments})")
}

/// The state of a question.
fn left(asked: &OpenQuestion, now: WallTime) -> String {
    match &asked.end {
        Some((at, end)) => format!("{} {}", answers::wait_end(end), ago(*at, now)),
        None if asked.wait.deadline < now => {
            format!("{WARM}expired{WARM:#} {}", ago(asked.wait.deadline, now))
        }
        None => format!("waits, for {} more", rough(asked.wait.deadline.since(now))),
    }
}

fn ago(at: WallTime, now: WallTime) -> String {
    format!("{} ago", rough(now.since(at)))
}

/// A rounded duration.
fn rough(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => words::counted(seconds, "second"),
        120..7_200 => words::counted(seconds / 60, "minute"),
        7_200..172_800 => words::counted(seconds / 3_600, "hour"),
        _ => words::counted(seconds / 86_400, "day"),
    }
}

fn described(asked: &OpenQuestion) -> Value {
    let (kind, subject) = match &asked.wait.kind {
        WaitKind::Approval { subject } => ("approval", *subject),
        WaitKind::ClientResult => ("client_result", None),
        WaitKind::Elicitation { .. } => ("elicitation", None),
        WaitKind::UnknownOutcome => ("unknown_outcome", None),
    };
    let arguments = asked.input.as_ref().map(|input| match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => Value::Object(fields.as_ref().clone()),
            Err(_) => Value::from(input.raw()),
        },
        ToolInput::Text(text) => Value::from(&**text),
    });
    let tool = asked.tool.as_ref();
    let mut told = json!({
        "id": asked.wait.id.as_str(),
        "kind": kind,
        "session": asked.session.as_str(),
        "turn": asked.turn.as_ref().map(|turn| turn.as_str()),
        "call": asked.wait.call.as_str(),
        "name": tool.map(|tool| tool.definition.name.as_str()),
        "server": tool.map(|tool| tool.origin.toolbox.as_str()),
        "tool": tool.map(|tool| &*tool.origin.tool),
        "definition": tool.map(|tool| tool.digest.to_hex()),
        "arguments": arguments,
        "subject": subject.map(|subject| subject.to_hex()),
        "deadline_ms": asked.wait.deadline.as_millis(),
    });
    if let (Some((at, end)), Some(told)) = (&asked.end, told.as_object_mut()) {
        told.insert("how".to_owned(), answers::how(end.kind()).into());
        told.insert("at_ms".to_owned(), at.as_millis().into());
        if let WaitEnd::Answered { answer, by, .. } = end {
            told.insert("by".to_owned(), (&**by).into());
            told.insert("answer".to_owned(), answered(answer));
        }
    }
    told
}

fn answered(answer: &Answer) -> Value {
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
