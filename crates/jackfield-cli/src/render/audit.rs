//! An audit, for people and for programs.

use std::io::{self, Write};

use jackfield_domain::audit::{AuditEntry, AuditedCall};
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::Permission;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::turn_log::{AttemptLog, AttemptLoss, WaitLog};
use jackfield_domain::wait::{Answer, Approval, UnknownAnswer, WaitEnd, WaitKind};
use jackfield_export::values;
use serde_json::{Value, json};

use crate::args::AuditOutcome;
use crate::audited::{SeenSessions, outcomes};
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::{spent, targets, words};
use crate::since;

/// Prints all entries, the newest last.
///
/// # Errors
///
/// The stream cannot be written.
pub fn entries(
    out: &mut impl Write,
    sessions: &[SeenSessions],
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        let all = sessions
            .iter()
            .map(|(_, session, one)| entry_json(session, one));
        return document(out, &all.collect());
    }
    for (_, session, one) in sessions {
        match one {
            AuditEntry::Call(call) => show_call(out, session, call, now)?,
            AuditEntry::Cancelled { at, by, cause, .. } => {
                let at = since::shown(*at);
                let by = by
                    .as_deref()
                    .map_or_else(String::new, |by| format!(" by {}", seen(by)));
                let why = words::cancelled(*cause);
                writeln!(out, "{DIM}{at}{DIM:#}  {WARM}{why}{WARM:#}{by}")?;
                writeln!(out, "  {DIM}{session}{DIM:#}")?;
            }
            AuditEntry::Target(called) => {
                let at = since::shown(called.at);
                let chosen = targets::chosen(&called.model, &called.choice);
                let route = called.route.as_deref().unwrap_or("fallbacks");
                writeln!(
                    out,
                    "{DIM}{at}{DIM:#}  {NAME}{}{NAME:#} → {chosen}",
                    seen(route)
                )?;
                if let Some(failure) = &called.failure {
                    writeln!(out, "  {WARM}!{WARM:#} {}", seen(&failure.message))?;
                }
                writeln!(out, "  {DIM}{session}{DIM:#}")?;
            }
            AuditEntry::LateUsage {
                at,
                attempt,
                usage: used,
                ..
            } => {
                let at = since::shown(*at);
                let tokens = spent::tokens(used);
                writeln!(out, "{DIM}{at}{DIM:#}  late usage")?;
                let (round, nth) = (attempt.round, attempt.attempt);
                writeln!(out, "  {tokens}")?;
                writeln!(out, "  {DIM}{session} round {round} try {nth}{DIM:#}")?;
            }
        }
    }
    if sessions.is_empty() {
        writeln!(out, "{DIM}nothing was called or decided{DIM:#}")?;
    }
    out.flush()
}

fn show_call(
    out: &mut impl Write,
    session: &SessionId,
    call: &AuditedCall,
    now: WallTime,
) -> io::Result<()> {
    let at = since::shown(call.at);
    let name = seen(&name(call));
    writeln!(out, "{DIM}{at}{DIM:#}  {NAME}{name}{NAME:#}")?;
    let outcome_words = outcomes(call)
        .first()
        .copied()
        .unwrap_or(AuditOutcome::Open);
    let style = match outcome_words {
        AuditOutcome::Ran => GOOD,
        AuditOutcome::Error | AuditOutcome::Unknown => BAD,
        AuditOutcome::Cached
        | AuditOutcome::Cancelled
        | AuditOutcome::Denied
        | AuditOutcome::Expired
        | AuditOutcome::Late
        | AuditOutcome::NotRun
        | AuditOutcome::Open => WARM,
    };
    let size = call.closed.as_ref().map_or_else(String::new, |closed| {
        format!(" · {}", words::counted(closed.size as u64, "byte"))
    });
    let closed = call.closed.as_ref();
    let from = closed.and_then(|closed| closed.cached.as_deref());
    let from = from.map(words::cached_from).unwrap_or_default();
    writeln!(out, "  {style}{}{style:#}{from}{size}", word(outcome_words))?;
    if let Some(closed) = &call.closed
        && outcome_words != AuditOutcome::Ran
    {
        writeln!(out, "  {}", words::shortened(&closed.text, LINE))?;
    }
    writeln!(out, "  with {}", arguments(&call.call.input))?;
    if let Some(edited) = &call.edited {
        writeln!(out, "  {WARM}changed to{WARM:#} {}", arguments(edited))?;
    }
    for line in decisions(call, now) {
        writeln!(out, "  {line}")?;
    }
    for one in &call.attempts {
        if let Some(lost) = &one.lost {
            let message = words::shortened(&lost.message, LINE);
            writeln!(out, "  try {} was lost: {message}", one.number)?;
        }
    }
    for late in &call.late {
        let (at, told) = (since::shown(late.at), words::late(late));
        writeln!(out, "  {WARM}late{WARM:#}: {told}, {at}")?;
        if let Some(text) = late.text.as_deref().filter(|text| !text.is_empty()) {
            writeln!(out, "  {}", words::shortened(text, LINE))?;
        }
    }
    let tries = words::counted(call.attempts.len() as u64, "start");
    writeln!(out, "  {DIM}{session} · {tries}{DIM:#}")?;
    writeln!(out, "  {DIM}key {}{DIM:#}", call.key)
}

/// The decisions about a call, one line each.
fn decisions(call: &AuditedCall, now: WallTime) -> Vec<String> {
    let mut lines = Vec::new();
    match &call.permission {
        Some(Permission::Allow) => lines.push("allowed by policy".to_owned()),
        Some(Permission::Deny(why)) => {
            lines.push(format!("denied by policy: {}", words::shortened(why, LINE)));
        }
        Some(Permission::Granted { by, .. }) => {
            lines.push(format!("allowed for the session by {}", seen(by)));
        }
        Some(Permission::Ask) | None => {}
    }
    if let Some(by) = &call.allowed_by {
        lines.push(format!("allowed for the session by {}", seen(by)));
    }
    for question in &call.questions {
        let kind = kind(&question.wait.kind).replace('_', " ");
        let Some((_, end)) = question.decided() else {
            // The next driver of the turn closes an overdue question.
            lines.push(if question.wait.deadline < now {
                format!("{kind}: {IN_TIME}")
            } else {
                format!("{kind}: no answer yet")
            });
            continue;
        };
        lines.push(match end {
            WaitEnd::Answered { answer, by, .. } => {
                format!(
                    "{kind}: {} by {}",
                    answer_words(answer).replace('_', " "),
                    seen(by)
                )
            }
            WaitEnd::Cancelled => format!("{kind}: the turn was cancelled"),
            WaitEnd::Expired => format!("{kind}: {IN_TIME}"),
            WaitEnd::Superseded => format!("{kind}: a new message came"),
        });
    }
    lines
}

fn name(call: &AuditedCall) -> String {
    call.origin.as_ref().map_or_else(
        || call.call.name.as_str().to_owned(),
        |origin| format!("{}/{}", origin.toolbox, origin.tool),
    )
}

fn arguments(input: &ToolInput) -> String {
    let text = words::arguments(input);
    if text.is_empty() {
        "no arguments".to_owned()
    } else {
        text
    }
}

/// A foreign text in one line, with hidden characters made visible.
fn seen(text: &str) -> String {
    words::shortened(text, LINE)
}

const fn word(outcome: AuditOutcome) -> &'static str {
    match outcome {
        AuditOutcome::Cached => "cached",
        AuditOutcome::Cancelled => "cancelled",
        AuditOutcome::Denied => "denied",
        AuditOutcome::Error => "error",
        AuditOutcome::Expired => "expired",
        AuditOutcome::Late => "late",
        AuditOutcome::NotRun => "not_run",
        AuditOutcome::Open => "open",
        AuditOutcome::Ran => "ran",
        AuditOutcome::Unknown => "unknown",
    }
}

const fn kind(kind: &WaitKind) -> &'static str {
    if matches!(kind, WaitKind::Elicitation { .. }) {
        "question"
    } else {
        values::wait_kind(kind)
    }
}

const fn answer_words(answer: &Answer) -> &'static str {
    match answer {
        Answer::Approval(Approval::Denied { .. }) => "denied",
        Answer::Approval(Approval::Granted {
            for_session: true, ..
        }) => "allowed_for_the_session",
        Answer::Approval(Approval::Granted { .. }) => "allowed",
        Answer::ClientResult(_) => "result",
        Answer::Elicitation(_) => "answered",
        Answer::UnknownOutcome(UnknownAnswer::Landed(_)) => "landed",
        Answer::UnknownOutcome(UnknownAnswer::Report) => "report",
        Answer::UnknownOutcome(UnknownAnswer::Retry) => "retry",
    }
}

fn entry_json(session: &SessionId, one: &AuditEntry) -> Value {
    match one {
        AuditEntry::Call(call) => call_json(session, call),
        AuditEntry::Cancelled {
            at,
            by,
            cause,
            turn,
        } => json!({
            "what": "cancelled", "session": session.as_str(), "turn": turn.as_str(),
            "at": since::exact(*at), "by": by,
            "cause": cause.as_str(),
        }),
        AuditEntry::LateUsage {
            at,
            attempt,
            turn,
            usage: used,
        } => json!({
            "what": "late_usage", "session": session.as_str(), "turn": turn.as_str(),
            "at": since::exact(*at), "round": attempt.round, "attempt": attempt.attempt,
            "usage": spent::of_usage(used),
        }),
        AuditEntry::Target(called) => json!({
            "what": "target", "session": session.as_str(), "turn": called.turn.as_str(),
            "at": since::exact(called.at),
            "round": called.attempt.round, "attempt": called.attempt.attempt,
            "route": called.route, "model": values::model(&called.model),
            "choice": targets::choice_json(&called.choice),
            "failure": called.failure.as_ref().map(values::failure),
        }),
    }
}

fn call_json(session: &SessionId, call: &AuditedCall) -> Value {
    let origin = call.origin.as_ref();
    let late = call.late.iter().map(|late| {
        json!({
            "at": since::exact(late.at), "attempt": late.attempt.attempt,
            "is_error": late.is_error, "bytes": late.size, "text": late.text,
        })
    });
    let outcomes = outcomes(call);
    json!({
        "what": "call",
        "session": session.as_str(),
        "turn": call.turn.as_str(),
        "round": call.round,
        "id": call.call.id.as_str(),
        "at": since::exact(call.at),
        "name": call.call.name.as_str(),
        "server": origin.map(|origin| origin.toolbox.as_str()),
        "tool": origin.map(|origin| &*origin.tool),
        "ran_by": call.call.ran_by.as_str(),
        "arguments": raw(&call.call.input),
        "arguments_edited": call.edited.as_deref().map(raw),
        "who": call.deciders(),
        "permission": call.permission.as_ref().map(permission),
        "approval": call.approval.as_ref().map(|wait| wait.as_str()),
        "questions": call.questions.iter().map(question).collect::<Vec<_>>(),
        "attempts": call.attempts.iter().map(attempt_json).collect::<Vec<_>>(),
        "idempotency_key": call.key.to_string(),
        "outcome": outcomes.first().map(|outcome| word(*outcome)),
        "closed": call.closed.as_ref().map(|closed| json!({
            "at": since::exact(closed.at), "is_error": closed.is_error, "bytes": closed.size,
            "shown_bytes": closed.shown, "text": closed.text,
            "cached": closed.cached.as_deref().map(values::cached_call),
        })),
        "late": late.collect::<Vec<_>>(),
    })
}

fn permission(permission: &Permission) -> Value {
    match permission {
        Permission::Allow => json!({ "verdict": "allow" }),
        Permission::Ask => json!({ "verdict": "ask" }),
        Permission::Deny(why) => json!({ "verdict": "deny", "why": why }),
        Permission::Granted { by, wait } => {
            json!({ "verdict": "granted", "by": by, "wait": wait.as_str() })
        }
    }
}

fn question(question: &WaitLog) -> Value {
    let closed = question.decided().map(|(at, end)| {
        let (answer, by, reason) = match end {
            WaitEnd::Answered { answer, by, .. } => {
                let reason = match answer {
                    Answer::Approval(Approval::Denied { reason }) => Some(reason),
                    Answer::Approval(Approval::Granted { .. })
                    | Answer::ClientResult(_)
                    | Answer::Elicitation(_)
                    | Answer::UnknownOutcome(_) => None,
                };
                (Some(answer_words(answer)), Some(by), reason)
            }
            WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => (None, None, None),
        };
        let how = end.kind().as_str();
        json!({ "at": since::exact(*at), "how": how, "answer": answer, "by": by, "reason": reason })
    });
    json!({
        "id": question.wait.id.as_str(),
        "kind": kind(&question.wait.kind),
        "at": since::exact(question.at),
        "deadline": since::exact(question.wait.deadline),
        "closed": closed,
    })
}

fn attempt_json(one: &AttemptLog) -> Value {
    let lost = one.lost.as_ref().map(|lost| {
        let AttemptLoss {
            at,
            disposition,
            kind,
            message,
            then,
        } = lost;
        json!({
            "at": since::exact(*at),
            "disposition": disposition.as_str(),
            "kind": kind.as_str(),
            "message": message,
            "then": then.as_str(),
        })
    });
    json!({ "number": one.number, "at": since::exact(one.at), "lost": lost })
}

fn raw(input: &ToolInput) -> &str {
    match input {
        ToolInput::Json(input) => input.raw(),
        ToolInput::Text(text) => text,
    }
}

/// The text for an expired question.
const IN_TIME: &str = "no answer came in time";
/// The maximum length of a foreign text, in characters.
const LINE: usize = 200;
