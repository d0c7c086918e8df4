//! The output of a watch: for people like a turn, for programs in lines with cursors.

use std::io::{self, Write as _};

use jackfield_domain::cursor::Cursor;
use jackfield_domain::fact::Fact;
use jackfield_domain::time::WallTime;
use jackfield_engine::{AnswerFit, TurnReport};
use serde_json::{Map, Value, json};

use crate::render::json::Json;
use crate::render::{self, RenderEvent, TurnRenderer, words};

pub(super) enum WatchOutput {
    Human(Box<dyn TurnRenderer>),
    /// The lines of the current event.
    Json(Json<Vec<u8>>),
}

impl WatchOutput {
    pub(super) fn new(json: bool, verbose: bool) -> Self {
        if json {
            Self::Json(Json::new(Vec::new()))
        } else {
            Self::Human(render::view(false, verbose, true, false, None))
        }
    }

    pub(super) fn event(&mut self, event: &RenderEvent) -> io::Result<()> {
        match self {
            Self::Human(view) => view.show(event),
            Self::Json(lines) => {
                lines.show(event)?;
                match event {
                    RenderEvent::Fact { fact, .. } => {
                        extra_line(fact).map_or(Ok(()), |line| lines.line(&line))
                    }
                    RenderEvent::Delta { .. }
                    | RenderEvent::PastEnded
                    | RenderEvent::Progress { .. }
                    | RenderEvent::Queued { .. }
                    | RenderEvent::Unavailable { .. }
                    | RenderEvent::Undecided { .. } => Ok(()),
                }
            }
        }
    }

    /// Records an event before the cursor, so that it is not printed again.
    pub(super) fn remember(&mut self, event: &RenderEvent) -> io::Result<()> {
        if let Self::Json(lines) = self {
            lines.show(event)?;
            drop(lines.take());
        }
        Ok(())
    }

    /// Prints the message that a turn begins with.
    pub(super) fn message(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Human(view) => view.show_remark(&format!("> {}", text.replace('\n', "\n> "))),
            Self::Json(lines) => {
                lines.line(&json!({ "event": "message", "role": "user", "text": text }))
            }
        }
    }

    /// Prints a remark, for people only.
    pub(super) fn remark(&mut self, remark: &str) -> io::Result<()> {
        match self {
            Self::Human(view) => view.show_remark(remark),
            Self::Json(_) => Ok(()),
        }
    }

    /// Prints a warning on standard error.
    pub(super) fn warn(&mut self, remark: &str) -> io::Result<()> {
        match self {
            Self::Human(view) => view.show_remark(remark),
            Self::Json(_) => {
                render::remark(remark);
                Ok(())
            }
        }
    }

    pub(super) fn finish(&mut self, report: &TurnReport) -> io::Result<()> {
        match self {
            Self::Human(view) => view.finish(report, &AnswerFit::Free),
            Self::Json(lines) => lines.finish(report, &AnswerFit::Free),
        }
    }

    /// Ends the output of an event. Only its last line has the cursor, so a reader that resumes from it has seen
    /// the whole event.
    pub(super) fn end_event(&mut self, cursor: Cursor, superseded: bool) -> io::Result<()> {
        let Self::Json(lines) = self else {
            return Ok(());
        };
        let written = lines.take();
        let mut lines: Vec<Map<String, Value>> = written
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        if let Some(last) = lines.last_mut() {
            last.insert("cursor".to_owned(), cursor.to_string().into());
            if superseded {
                last.insert("superseded".to_owned(), true.into());
            }
        }
        let mut out = io::stdout().lock();
        for line in lines {
            writeln!(out, "{}", words::escaped(serde_json::to_string(&line)?))?;
        }
        out.flush()
    }
}

/// The line of a fact that the sender of the message does not need.
fn extra_line(fact: &Fact) -> Option<Value> {
    let line = if let Fact::CallAccepted { attempt, .. } = fact {
        json!({
            "event": "tool_accepted",
            "id": attempt.call.as_str(), "attempt": attempt.attempt,
        })
    } else if let Fact::CallLost {
        attempt, message, ..
    } = fact
    {
        json!({
            "event": "tool_lost",
            "id": attempt.call.as_str(), "attempt": attempt.attempt, "message": message,
        })
    } else if let Fact::SessionForked { at, from, .. } = fact {
        json!({
            "event": "forked",
            "from": from.as_str(), "turn": at.ordinal, "round": at.round,
        })
    } else if let Fact::SessionImported {
        created, source, ..
    } = fact
    {
        json!({
            "event": "imported",
            "source": &**source, "created": created.map(WallTime::to_rfc3339),
        })
    } else if let Fact::TurnResumed { nth, .. } = fact {
        json!({ "event": "turn_resumed", "nth": nth })
    } else {
        return None;
    };
    Some(line)
}
