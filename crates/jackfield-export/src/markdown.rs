//! Exports a session for people: Markdown in which no text of the conversation can pass for the document's own.
//!
//! Messages are in block quotes, and tool arguments and results in fences that are longer than any inside, so
//! every construct in them ends with them. Displaying the document fetches nothing.

use std::fmt::Write as _;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::fact::{AfterLoss, Compaction, ModelCallEnd, TurnEnd};
use jackfield_domain::ids::SessionId;
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::turn_log::{CallLog, LogEntry, SessionLog, TurnLog, WaitLog};
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, ElicitationAnswer, UnknownAnswer, WaitEnd, WaitKind,
};

use super::inert::neutralize;
use super::secrets::without_secrets;
use super::words::{self, Status};

pub(super) fn document(session: &SessionId, log: &SessionLog, redacted: bool) -> String {
    let mut page = MarkdownPage(format!("# Conversation {session}\n"));
    if redacted {
        page.line(
            "*Redacted: without what tools were given and gave back, files, reasoning and keys.*",
        );
    }
    if let Some(forked) = &log.forked {
        let round = forked.at.round.map(|round| format!(", round {round}"));
        page.line(&format!(
            "Forked from {}, turn {}{}.",
            forked.from,
            forked.at.ordinal,
            round.unwrap_or_default()
        ));
        for message in forked.messages.iter() {
            page.message(message, None);
        }
        if let Some(compaction) = &forked.compaction {
            page.compaction(compaction);
        }
    }
    if let Some(imported) = &log.imported {
        let created = imported.created.map(|at| format!(", {}", at.to_rfc3339()));
        page.line(&format!(
            "From {}{}.",
            code(&imported.source),
            created.unwrap_or_default()
        ));
        for message in imported.messages.iter() {
            page.message(message, None);
        }
    }
    for turn in &log.turns {
        page.turn(turn);
    }
    let text = neutralize(words::printable(&page.0).into_owned());
    if redacted {
        without_secrets(&text)
    } else {
        text
    }
}

struct MarkdownPage(String);

impl MarkdownPage {
    fn line(&mut self, text: &str) {
        self.0.push('\n');
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn turn(&mut self, turn: &TurnLog) {
        self.line(&format!("## Turn {}", turn.ordinal));
        let model = format!("{}/{}", turn.setup.model.provider, turn.setup.model.model);
        let mut facts = format!("{}, {}", turn.began.to_rfc3339(), code(&model));
        if turn.resumed > 0 {
            let _infallible = write!(facts, ", taken up again {} times", turn.resumed);
        }
        self.line(&facts);
        for message in turn.opening_messages() {
            self.message(&message, None);
        }
        for entry in &turn.entries {
            match entry {
                LogEntry::Reply { reply, .. } => self.message(&reply.message, Some(turn)),
                LogEntry::ModelCallEnded {
                    partial,
                    retry_at,
                    why,
                    ..
                } => {
                    if let Some(partial) = partial.as_ref().filter(|_| retry_at.is_none()) {
                        self.message(partial, Some(turn));
                    }
                    let then = match retry_at {
                        Some(_) => "; it was asked again",
                        None => "",
                    };
                    self.line(&match why {
                        ModelCallEnd::Cancelled => "*The reply was cancelled.*".to_owned(),
                        ModelCallEnd::Failed(failure) => {
                            format!("*The model failed*: {}{then}", code(&failure.message))
                        }
                        ModelCallEnd::Lost => {
                            "*The reply was lost with the process that waited for it.*".to_owned()
                        }
                    });
                }
                LogEntry::Compacted { compaction, .. } => self.compaction(compaction),
                LogEntry::CallClosed { .. }
                | LogEntry::CallLost { .. }
                | LogEntry::LateUsage { .. }
                | LogEntry::Resumed { .. }
                | LogEntry::TargetChosen { .. }
                | LogEntry::TurnEnded { .. } => {}
            }
        }
        let usage = turn.usage();
        let mut end = match turn.end() {
            None => "*Not over.*".to_owned(),
            Some((at, end)) => format!("*{}, {}.*", describe_end(end), at.to_rfc3339()),
        };
        if usage.total() > 0 {
            let _infallible = write!(end, " {} tokens in, {} out.", usage.input, usage.output);
        }
        self.line(&end);
    }

    fn compaction(&mut self, compaction: &Compaction) {
        let what = words::compaction(compaction);
        self.line(&match compaction.failure {
            None => format!("*{what}.*"),
            // The failure may quote the provider.
            Some(_) => code(&what),
        });
        for message in &compaction.messages {
            self.message(message, None);
        }
    }

    fn message(&mut self, message: &Message, turn: Option<&TurnLog>) {
        let heading = match message.role {
            Role::Assistant => "### Model",
            Role::System => "### System",
            Role::Tool => "### Tools",
            Role::User => "### User",
        };
        self.line(heading);
        for block in &message.blocks {
            self.block(block, turn);
        }
    }

    fn block(&mut self, block: &Block, turn: Option<&TurnLog>) {
        match &block.content {
            Content::Audio(audio) => self.line(&describe_media("sound", &audio.source)),
            Content::Document(document) => {
                let title = document.title.as_deref().map(code).unwrap_or_default();
                self.line(&format!(
                    "{} {title}",
                    describe_media("document", &document.source)
                ));
            }
            Content::Image(image) => self.line(&describe_media("picture", &image.source)),
            Content::Opaque(opaque) => match &opaque.fallback {
                Some(text) => self.quote(text),
                None => self.line(&format!("*{}*", code(&opaque.kind))),
            },
            Content::Refusal(text) => {
                self.line("*Refused:*");
                self.quote(text);
            }
            Content::Text(text) => self.quote(&text.text),
            Content::Thinking(thinking) => {
                if !thinking.text.trim().is_empty() {
                    self.line("*Reasoning:*");
                    self.quote(&thinking.text);
                }
            }
            Content::ToolCall(call) => {
                self.line(&format!("#### Tool call {}", code(call.name.as_str())));
                self.arguments(&call.input);
                let known = turn.and_then(|turn| Some((turn, turn.call(&call.id)?)));
                if let Some((turn, known)) = known {
                    self.call(turn, known);
                }
            }
            Content::ToolOutcome(outcome) => self.result("Result", &outcome.result),
        }
    }

    fn call(&mut self, turn: &TurnLog, known: &CallLog) {
        for wait in turn.waits_of(&known.call.id) {
            self.wait(wait);
        }
        for attempt in &known.attempts {
            if let Some(edited) = &attempt.edited {
                self.line("Run with other arguments:");
                self.arguments(edited);
            }
            if let Some(lost) = &attempt.lost {
                let then = match lost.then {
                    AfterLoss::Ask => "a person was asked what to do",
                    AfterLoss::Repeat => "it was made again",
                    AfterLoss::Report => "the model was told so",
                };
                let message = code(&lost.message);
                self.line(&format!(
                    "Try {} came to no outcome: {message}; {then}.",
                    attempt.number
                ));
            }
        }
        match &known.closed {
            None => self.line("*No outcome yet.*"),
            Some(closed) => {
                let status = Status::from_end(closed.end, closed.result.is_error);
                let from = closed.cached.as_deref().map(words::cached_from);
                let outcome = format!("Outcome: {}{}", status.words(), from.unwrap_or_default());
                self.result(&outcome, &closed.result);
            }
        }
        for late in &known.late {
            let excerpt = late.text.as_deref().filter(|text| !text.is_empty());
            let excerpt = excerpt.map(|text| format!(" It began: {}", code(text)));
            self.line(&format!(
                "Try {} answered too late, {}: {} bytes, which no model was told.{}",
                late.attempt.attempt,
                late.at.to_rfc3339(),
                late.size,
                excerpt.unwrap_or_default()
            ));
        }
    }

    fn wait(&mut self, log: &WaitLog) {
        let prompt = match &log.wait.kind {
            WaitKind::Approval { .. } => "May it run?".to_owned(),
            WaitKind::Budget { message } => format!("{message}; is there room again?"),
            WaitKind::ClientResult => "Its caller was to send the result.".to_owned(),
            WaitKind::Elicitation { question, .. } => {
                format!("The tool asked: {}", code(&question.message))
            }
            WaitKind::UnknownOutcome => {
                "It was unknown whether it took effect: what now?".to_owned()
            }
        };
        let Some((at, end)) = &log.closed else {
            return self.line(&format!("{prompt} *Not answered yet.*"));
        };
        let answer = match end {
            WaitEnd::Answered { answer, by, .. } => {
                format!("{} by {}", describe_answer(answer), code(by))
            }
            WaitEnd::Cancelled => "not answered: the turn was cancelled".to_owned(),
            WaitEnd::Expired => "not answered in time".to_owned(),
            WaitEnd::Superseded => "not answered: another message came".to_owned(),
        };
        self.line(&format!("{prompt} *{answer}, {}.*", at.to_rfc3339()));
    }

    fn arguments(&mut self, input: &ToolInput) {
        match input {
            ToolInput::Json(input) => match input.object() {
                Ok(fields) => {
                    let text = serde_json::to_string_pretty(&**fields).unwrap_or_default();
                    self.fence("json", &text);
                }
                Err(_) => self.fence("", input.raw()),
            },
            ToolInput::Text(text) => self.fence("", text),
        }
    }

    fn result(&mut self, heading: &str, result: &ToolResult) {
        self.line(&format!("{heading}:"));
        for part in &result.content {
            match part {
                OutcomePart::Audio(audio) => self.line(&describe_media("sound", &audio.source)),
                OutcomePart::Document(document) => {
                    self.line(&describe_media("document", &document.source));
                }
                OutcomePart::Image(image) => self.line(&describe_media("picture", &image.source)),
                OutcomePart::Text(text) => self.fence("", text),
            }
        }
        if let Some(structured) = &result.structured
            && result.content.is_empty()
        {
            let text = serde_json::to_string_pretty(&**structured).unwrap_or_default();
            self.fence("json", &text);
        }
    }

    /// A text as a block quote, which also ends every construct in it.
    fn quote(&mut self, text: &str) {
        self.0.push('\n');
        for line in lines(text) {
            self.0.push_str(if line.is_empty() { ">" } else { "> " });
            self.0.push_str(line);
            self.0.push('\n');
        }
    }

    /// A text in a code fence with more backticks than it contains.
    fn fence(&mut self, language: &str, text: &str) {
        let fence = "`".repeat((longest_run(text) + 1).max(3));
        self.0.push('\n');
        let _infallible = writeln!(self.0, "{fence}{language}");
        for line in lines(text) {
            self.0.push_str(line);
            self.0.push('\n');
        }
        self.0.push_str(&fence);
        self.0.push('\n');
    }
}

/// The lines of a text, by all line ends of Markdown.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .flat_map(|line| line.split('\r'))
}

/// A text as inline code.
fn code(text: &str) -> String {
    let text = words::one_line(text);
    let ticks = "`".repeat(longest_run(&text) + 1);
    let text = text.trim();
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{ticks}{space}{text}{space}{ticks}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn describe_media(what: &str, source: &MediaSource) -> String {
    match source {
        // A placeholder, not base64.
        MediaSource::Base64 { data, media_type } if data.starts_with('[') => {
            format!("*A {what}: {}, {data}.*", code(media_type))
        }
        MediaSource::Base64 { data, media_type } => {
            // Four characters of base64 are three bytes.
            let size = data.len() / 4 * 3;
            format!("*A {what}: {}, {size} bytes.*", code(media_type))
        }
        MediaSource::File { id, .. } => format!("*A {what}: file {}.*", code(id)),
        MediaSource::Text(text) => format!("*A {what}: {} bytes of text.*", text.len()),
        MediaSource::Url(url) => format!("*A {what}: {}.*", code(url)),
    }
}

fn describe_answer(answer: &Answer) -> String {
    match answer {
        Answer::Approval(Approval::Denied { reason }) if reason.trim().is_empty() => {
            "denied".to_owned()
        }
        Answer::Approval(Approval::Denied { reason }) => format!("denied ({})", code(reason)),
        Answer::Approval(Approval::Granted { edited: None, .. }) => "allowed".to_owned(),
        Answer::Approval(Approval::Granted { .. }) => "allowed with other arguments".to_owned(),
        Answer::ClientResult(_) => "sent".to_owned(),
        Answer::Elicitation(ElicitationAnswer::Accepted(value)) => {
            format!("answered with {}", code(&value.to_string()))
        }
        Answer::Elicitation(ElicitationAnswer::Declined) => "declined".to_owned(),
        Answer::Elicitation(ElicitationAnswer::Dismissed) => "dismissed".to_owned(),
        Answer::UnknownOutcome(UnknownAnswer::Landed(_)) => "it took effect, said".to_owned(),
        Answer::UnknownOutcome(UnknownAnswer::Report) => "told to the model".to_owned(),
        Answer::UnknownOutcome(UnknownAnswer::Retry) => "run again, said".to_owned(),
    }
}

fn describe_end(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Answered(finish) => match words::finish(finish) {
            None => "Answered".to_owned(),
            Some(remark) => format!("Answered: {remark}"),
        },
        TurnEnd::Cancelled(cause) => match cause {
            CancelCause::Asked => "Cancelled".to_owned(),
            CancelCause::Superseded => "Cancelled for a new message".to_owned(),
        },
        TurnEnd::ClientExpired => "A caller did not send a result in time".to_owned(),
        TurnEnd::Failed(failure) => format!("Failed: {}", code(&failure.message)),
        TurnEnd::Interrupted(failure) => format!("Interrupted: {}", code(&failure.message)),
        TurnEnd::Limited { limit, .. } => words::limit(*limit).0.to_owned(),
    }
}
