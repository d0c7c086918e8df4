//! The history of a session, for people.

use std::io::{self, Write};

use jackfield_domain::block::Content;
use jackfield_domain::fact::{AfterLoss, Compaction, ModelCallEnd, TurnEnd};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::setup::Setup;
use jackfield_domain::turn_log::{LogEntry, SessionLog, TurnLog, WaitLog};
use jackfield_domain::wait::{Wait, WaitKind};
use jackfield_engine::SessionRow;
use jackfield_export::values;
use serde_json::json;

use super::{SessionStatus, age, now, place, size, time, title};
use crate::render::approvals::short;
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words::{self, Status};
use crate::render::wrap::wrapped;
use crate::render::{spent, targets};

/// Prints the history of a session.
///
/// # Errors
///
/// The stream cannot be written.
pub fn show(
    out: &mut impl Write,
    session: &SessionId,
    row: Option<&SessionRow>,
    log: &SessionLog,
    as_json: bool,
    verbose: bool,
) -> io::Result<()> {
    if as_json {
        let form = jackfield_export::session(session, log, false);
        let more = json!({
            "title": row.map(|row| row.title.to_string()),
            "state": row.map(|row| SessionStatus::of(row).code()),
        });
        return document(out, &values::merge(form, more));
    }
    let mut facts = vec![words::counted(log.turns.len() as u64, "turn")];
    if let Some(row) = row {
        facts.push(SessionStatus::of(row).words().to_owned());
        facts.push(format!("changed {} ago", age(now().since(row.changed))));
        facts.push(size(row.bytes));
    }
    let title = row.map(title).unwrap_or_default();
    writeln!(out, "{NAME}{session}{NAME:#}  {}", words::one_line(&title))?;
    writeln!(out, "{DIM}{}{DIM:#}", facts.join(" · "))?;
    beginning(out, log, usize::MAX, verbose)?;
    for turn in &log.turns {
        past(out, turn, verbose)?;
    }
    out.flush()
}

/// Prints where a session comes from, with the last messages that it began with, up to a limit.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn beginning(
    out: &mut impl Write,
    log: &SessionLog,
    most: usize,
    verbose: bool,
) -> io::Result<()> {
    if let Some(forked) = &log.forked {
        let at = place(forked.at.ordinal, forked.at.round);
        let from = &forked.from;
        writeln!(out, "{DIM}forked from {from} at {at}; it began with{DIM:#}")?;
    } else if let Some(imported) = &log.imported {
        let from = words::one_line(&imported.source);
        let created = imported.created.map(|at| format!(", {}", at.to_rfc3339()));
        let created = created.unwrap_or_default();
        writeln!(out, "{DIM}from {from}{created}; it began with{DIM:#}")?;
    }
    let all = log.before().count();
    let left_out = all.saturating_sub(most);
    if left_out > 0 {
        let left_out = words::counted(left_out as u64, "message");
        writeln!(out, "{DIM}… {left_out} before{DIM:#}")?;
    }
    for message in log.before().skip(left_out) {
        self::message(out, message, verbose)?;
    }
    if let Some(compaction) = log
        .forked
        .as_ref()
        .and_then(|forked| forked.compaction.as_ref())
    {
        compacted(out, compaction, None, verbose)?;
    }
    Ok(())
}

fn compacted(
    out: &mut impl Write,
    compaction: &Compaction,
    setup: Option<&Setup>,
    verbose: bool,
) -> io::Result<()> {
    let line = spent::compaction(compaction, setup);
    writeln!(out, "{DIM}── {line}{DIM:#}")?;
    match compaction.messages.first() {
        Some(summary) if verbose => message(out, summary, verbose),
        Some(_) | None => Ok(()),
    }
}

/// Prints the opening of an open turn, which was left or is in progress.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn opening(out: &mut impl Write, turn: &TurnLog, is_left: bool) -> io::Result<()> {
    let status = if is_left {
        "which was left open"
    } else {
        "which is at work elsewhere"
    };
    writeln!(out, "\n{DIM}── turn {}, {status}{DIM:#}", turn.ordinal)?;
    for brought in turn.new_messages() {
        message(out, &brought, false)?;
    }
    Ok(())
}

/// Prints a past turn.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn past(out: &mut impl Write, turn: &TurnLog, verbose: bool) -> io::Result<()> {
    turn_with_origin(out, turn, "", verbose)
}

/// Prints a turn that another process added to the session.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn elsewhere(out: &mut impl Write, turn: &TurnLog, verbose: bool) -> io::Result<()> {
    turn_with_origin(out, turn, " from elsewhere", verbose)
}

fn turn_with_origin(
    out: &mut impl Write,
    turn: &TurnLog,
    origin: &str,
    verbose: bool,
) -> io::Result<()> {
    let model = values::model(&turn.setup.model);
    let began = time(turn.began);
    let (ordinal, model) = (turn.ordinal, words::one_line(&model));
    let line = format!("{DIM}── turn {ordinal}{origin} · {model} · {began}{DIM:#}");
    writeln!(out, "\n{}", wrapped(&line, crate::render::columns()))?;
    for brought in turn.new_messages() {
        message(out, &brought, verbose)?;
    }
    for entry in &turn.entries {
        match entry {
            LogEntry::ModelCallEnded { partial, why, .. } => {
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
            LogEntry::CallLost { call, loss, .. } => {
                let then = match loss.then {
                    AfterLoss::Ask => "a person was asked what to do",
                    AfterLoss::Repeat => "it was called again",
                    // The result of the call reports it.
                    AfterLoss::Report => continue,
                };
                let (name, why) = (
                    words::one_line(call.name.as_str()),
                    words::one_line(&loss.message),
                );
                writeln!(out, "  {WARM}!{WARM:#} {name}: {why}; {then}")?;
            }
            LogEntry::Compacted { compaction, .. } => {
                compacted(out, compaction, Some(&turn.setup), verbose)?;
            }
            LogEntry::CallClosed { call, outcome } => {
                let result = &outcome.result;
                let status = Status::from_end(outcome.end, result.is_error);
                let took = match &outcome.cached {
                    Some(from) => Some(words::cached_from(from)),
                    None => outcome.took.map(|took| format!(" ({})", words::time(took))),
                };
                let text = if verbose {
                    words::told(&result.to_text())
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
            LogEntry::Reply { reply, .. } => message(out, &reply.message, verbose)?,
            LogEntry::Resumed { at } => {
                writeln!(out, "{DIM}── taken up again · {}{DIM:#}", time(*at))?;
            }
            LogEntry::TargetChosen { choice, model, .. } => {
                writeln!(out, "{DIM}→ {}{DIM:#}", targets::chosen(model, choice))?;
            }
            LogEntry::LateUsage { .. } | LogEntry::TurnEnded { .. } => {}
        }
    }
    for call in &turn.calls {
        for late in &call.late {
            let (name, told) = (words::one_line(call.call.name.as_str()), words::late(late));
            let text = late.text.as_deref().map(words::one_line);
            let text = text.unwrap_or_default();
            writeln!(out, "  {WARM}late{WARM:#} {name}: {told} {text}")?;
        }
    }
    match turn.end() {
        None if turn.open_waits().next().is_none() => writeln!(out, "{WARM}…{WARM:#} not over")?,
        None => {
            for WaitLog { wait, .. } in turn.open_waits() {
                let (what, until) = (wait_text(turn, wait), time(wait.deadline));
                writeln!(out, "{WARM}?{WARM:#} {what} (until {until})")?;
            }
        }
        Some((_, end)) => {
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
fn wait_text(turn: &TurnLog, wait: &Wait) -> String {
    let name = turn.call(&wait.call).map_or_else(
        || "a call".into(),
        |known| words::one_line(known.call.name.as_str()),
    );
    let id = short(&wait.id);
    match &wait.kind {
        WaitKind::Approval { .. } => {
            format!("may {name} run? `jackfield approvals allow {id}`, or `deny`")
        }
        WaitKind::Budget { message } => format!(
            "{}: `jackfield approvals allow {id}` tries again, `deny` ends the turn",
            words::one_line(message)
        ),
        WaitKind::ClientResult => format!("{name}: the caller is to bring its result"),
        WaitKind::Elicitation { question, .. } => {
            format!("{name} asks: {}", words::one_line(&question.message))
        }
        WaitKind::UnknownOutcome => format!(
            "it is unknown whether {name} took effect: `jackfield approvals allow {id}` runs it again, `deny` does not"
        ),
    }
}
