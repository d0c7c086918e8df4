//! The history of a session, for people.

use std::io::{self, Write};

use jackfield_domain::block::Content;
use jackfield_domain::fact::{AfterLoss, ModelCallEnd, TurnEnd};
use jackfield_domain::history::{ForkOrigin, History, HistoryEntry, PastLate, PastTurn};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::wait::{Wait, WaitKind};
use jackfield_engine::SessionRow;

use super::document::session_json;
use super::{SessionStatus, age, now, place, size, time, title};
use crate::render::approvals::short;
use crate::render::json;
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words::{self, Status};
use crate::render::wrap::wrapped;

/// Prints the history of a session.
///
/// # Errors
///
/// The stream cannot be written.
pub fn show(
    out: &mut impl Write,
    session: &SessionId,
    row: Option<&SessionRow>,
    history: &History,
    as_json: bool,
    verbose: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &session_json(session, row, history));
    }
    let mut facts = vec![words::counted(history.turns.len() as u64, "turn")];
    if let Some(row) = row {
        facts.push(SessionStatus::of(row).words().to_owned());
        facts.push(format!("changed {} ago", age(now().since(row.changed))));
        facts.push(size(row.bytes));
    }
    let title = row.map(title).unwrap_or_default();
    writeln!(out, "{NAME}{session}{NAME:#}  {}", words::one_line(&title))?;
    writeln!(out, "{DIM}{}{DIM:#}", facts.join(" · "))?;
    if let Some(forked) = &history.forked {
        forked_history(out, forked, usize::MAX, verbose)?;
    }
    for turn in &history.turns {
        past(out, turn, verbose)?;
    }
    out.flush()
}

/// Prints the last messages before a fork, up to a limit.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn forked_history(
    out: &mut impl Write,
    forked: &ForkOrigin,
    most: usize,
    verbose: bool,
) -> io::Result<()> {
    let ForkOrigin { at, from, messages } = forked;
    let at = place(at.ordinal, at.round);
    writeln!(out, "{DIM}forked from {from} at {at}; it began with{DIM:#}")?;
    let left_out = messages.len().saturating_sub(most);
    if left_out > 0 {
        let left_out = words::counted(left_out as u64, "message");
        writeln!(out, "{DIM}… {left_out} before{DIM:#}")?;
    }
    for message in messages.iter().skip(messages.len().saturating_sub(most)) {
        self::message(out, message, verbose)?;
    }
    Ok(())
}

/// Prints the opening of an open turn, which was left or is in progress.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn opening(out: &mut impl Write, turn: &PastTurn, is_left: bool) -> io::Result<()> {
    let status = if is_left {
        "which was left open"
    } else {
        "which is at work elsewhere"
    };
    writeln!(out, "\n{DIM}── turn {}, {status}{DIM:#}", turn.ordinal)?;
    for entry in &turn.entries {
        if let HistoryEntry::Opening(brought) = entry {
            message(out, brought, false)?;
        }
    }
    Ok(())
}

/// Prints a past turn.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn past(out: &mut impl Write, turn: &PastTurn, verbose: bool) -> io::Result<()> {
    turn_with_origin(out, turn, "", verbose)
}

/// Prints a turn that another process added to the session.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn elsewhere(out: &mut impl Write, turn: &PastTurn, verbose: bool) -> io::Result<()> {
    turn_with_origin(out, turn, " from elsewhere", verbose)
}

fn turn_with_origin(
    out: &mut impl Write,
    turn: &PastTurn,
    origin: &str,
    verbose: bool,
) -> io::Result<()> {
    let model = json::model(&turn.model);
    let began = time(turn.began);
    let (ordinal, model) = (turn.ordinal, words::one_line(&model));
    let line = format!("{DIM}── turn {ordinal}{origin} · {model} · {began}{DIM:#}");
    writeln!(out, "\n{}", wrapped(&line, crate::render::columns()))?;
    for entry in &turn.entries {
        match entry {
            HistoryEntry::Opening(message) => self::message(out, message, verbose)?,
            HistoryEntry::Failed { partial, why, .. } => {
                if let Some(partial) = partial {
                    message(out, partial, verbose)?;
                }
                let why = match why {
                    ModelCallEnd::Cancelled => "the reply was cancelled".to_owned(),
                    ModelCallEnd::Failed(failure) => failure.message.to_string(),
                    ModelCallEnd::Lost => "the reply was lost with its process".to_owned(),
                };
                writeln!(out, "{WARM}!{WARM:#} {}", words::printable(&why))?;
            }
            HistoryEntry::Lost {
                call,
                message,
                then,
                ..
            } => {
                let then = match then {
                    AfterLoss::Ask => "somebody was asked what to do",
                    AfterLoss::Repeat => "it was called again",
                    // The result of the call reports it.
                    AfterLoss::Report => continue,
                };
                let (name, why) = (
                    words::one_line(call.name.as_str()),
                    words::one_line(message),
                );
                writeln!(out, "  {WARM}!{WARM:#} {name}: {why}; {then}")?;
            }
            HistoryEntry::Outcome {
                call,
                end,
                result,
                took,
                ..
            } => {
                let status = Status::from_end(*end, result.is_error);
                let took = took.map(|took| format!(" ({})", words::time(took)));
                let text = if verbose {
                    words::printable(&result.to_text()).into_owned()
                } else {
                    words::outcome(result)
                };
                writeln!(
                    out,
                    "  {} {}: {}{} {text}",
                    status.sign(),
                    words::one_line(call.name.as_str()),
                    status.words(),
                    took.unwrap_or_default()
                )?;
            }
            HistoryEntry::Reply { reply, .. } => message(out, &reply.message, verbose)?,
            HistoryEntry::Resumed { at, .. } => {
                writeln!(out, "{DIM}── taken up again · {}{DIM:#}", time(*at))?;
            }
        }
    }
    for PastLate { call, outcome } in &turn.late {
        let (name, told) = (words::one_line(call.name.as_str()), words::late(outcome));
        let text = outcome
            .text
            .as_deref()
            .map(words::one_line)
            .unwrap_or_default();
        writeln!(out, "  {WARM}late{WARM:#} {name}: {told} {text}")?;
    }
    match &turn.end {
        None if turn.waits.is_empty() => writeln!(out, "{WARM}…{WARM:#} not over")?,
        None => {
            for wait in &turn.waits {
                let (what, until) = (wait_text(turn, wait), time(wait.deadline));
                writeln!(out, "{WARM}?{WARM:#} {what} (until {until})")?;
            }
        }
        Some((end, _)) => {
            if let Some((words, is_bad)) = end_text(end) {
                let style = if is_bad { BAD } else { DIM };
                writeln!(out, "{style}!{style:#} {}", words::printable(&words))?;
            }
        }
    }
    Ok(())
}

fn message(out: &mut impl Write, message: &Message, verbose: bool) -> io::Result<()> {
    for block in &message.blocks {
        match &block.content {
            Content::Text(text) => text_of(out, &text.text, message.role)?,
            Content::Refusal(text) => text_of(out, text, message.role)?,
            Content::Thinking(thinking) if verbose && !thinking.text.trim().is_empty() => {
                writeln!(
                    out,
                    "{DIM}{}{DIM:#}",
                    words::printable(thinking.text.trim())
                )?;
            }
            Content::Thinking(_) => {}
            Content::ToolCall(call) => {
                let arguments = words::arguments(&call.input);
                let name = words::one_line(call.name.as_str());
                writeln!(out, "{NAME}⚙ {name}{NAME:#}({arguments})")?;
            }
            Content::ToolOutcome(outcome) => {
                writeln!(out, "  {}", words::outcome(&outcome.result))?;
            }
            Content::Audio(_) => writeln!(out, "{DIM}[a sound]{DIM:#}")?,
            Content::Document(_) => writeln!(out, "{DIM}[a document]{DIM:#}")?,
            Content::Image(_) => writeln!(out, "{DIM}[an image]{DIM:#}")?,
            Content::Opaque(opaque) => {
                writeln!(out, "{DIM}[{}]{DIM:#}", words::one_line(&opaque.kind))?;
            }
        }
    }
    Ok(())
}

/// Prints text, with a mark before the user's.
fn text_of(out: &mut impl Write, text: &str, role: Role) -> io::Result<()> {
    let text = words::printable(text.trim());
    if text.is_empty() {
        return Ok(());
    }
    let mark = match role {
        Role::User => "> ",
        Role::System => "# ",
        Role::Assistant | Role::Tool => "",
    };
    for line in text.lines() {
        let style = if mark.is_empty() {
            anstyle::Style::new()
        } else {
            GOOD
        };
        let line = wrapped(
            &format!("{style}{mark}{line}{style:#}"),
            crate::render::columns(),
        );
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// How a turn ended other than normally, and whether that is an error.
fn end_text(end: &TurnEnd) -> Option<(String, bool)> {
    match end {
        TurnEnd::Answered(finish) => words::finish(finish).map(|words| (words, false)),
        TurnEnd::Cancelled(cause) => Some((words::cancelled(*cause).to_owned(), false)),
        TurnEnd::ClientExpired => Some(("a tool of the caller was not answered".to_owned(), true)),
        TurnEnd::Failed(failure) => Some((format!("failed: {}", failure.message), true)),
        TurnEnd::Interrupted(failure) => {
            Some((format!("the answer broke off: {}", failure.message), true))
        }
        TurnEnd::Limited { limit, is_error } => {
            Some((words::limit(*limit).0.to_owned(), *is_error))
        }
    }
}

/// The open question, and where to answer it.
fn wait_text(turn: &PastTurn, wait: &Wait) -> String {
    let replies = turn.entries.iter().filter_map(|entry| {
        if let HistoryEntry::Reply { reply, .. } = entry {
            Some(&reply.message)
        } else {
            None
        }
    });
    let call = replies
        .flat_map(|message| message.calls())
        .find(|call| call.id == wait.call);
    let name = call.map_or_else(
        || "a call".into(),
        |call| words::one_line(call.name.as_str()),
    );
    let id = short(&wait.id);
    match &wait.kind {
        WaitKind::Approval { .. } => {
            format!("may {name} run? `jackfield approvals allow {id}`, or `deny`")
        }
        WaitKind::ClientResult => format!("{name}: the caller is to bring its result"),
        WaitKind::Elicitation { question, .. } => {
            format!("{name} asks: {}", words::one_line(&question.message))
        }
        WaitKind::UnknownOutcome => format!(
            "nobody knows whether {name} took effect: `jackfield approvals allow {id}` runs it again, `deny` does not"
        ),
    }
}
