//! What the loop decides and asks for, each in a line.

use jackfield_domain::block::Content;
use jackfield_domain::fact::{Fact, Late, ModelCallEnd, TurnEnd};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::Messages;
use jackfield_domain::request::Attempt;
use jackfield_domain::time::Now;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::tool_loop::Action;
use jackfield_domain::wait::WaitKind;

/// A fact, if no action says the same.
pub(super) fn of_fact(
    fact: &Fact,
    now: Now,
    name_of: impl Fn(&ToolCallId) -> String,
) -> Option<String> {
    Some(match fact {
        Fact::CallAccepted { attempt, .. } => format!("{} accepted", name_of(&attempt.call)),
        Fact::CallClosed {
            call,
            end,
            result,
            shown,
            cached: _,
            revealed: _,
        } => {
            let cut = shown.and_then(|limit| result.cut(limit));
            let text = cut.as_ref().unwrap_or(result).to_text();
            let error = if result.is_error { " error" } else { "" };
            format!("{} {end:?}{error}: {text}", name_of(call))
        }
        Fact::CallLost {
            attempt,
            disposition,
            kind,
            then,
            ..
        } => {
            let name = name_of(&attempt.call);
            format!("{name} lost: {kind:?}, {disposition:?}, {then:?}")
        }
        Fact::Late(Late::Outcome { size, .. }) => format!("late outcome of {size} bytes"),
        Fact::Late(Late::Usage { usage, .. }) => format!("late usage of {} tokens", usage.total()),
        Fact::ModelCallEnded {
            partial,
            retry_at,
            usage,
            why,
            ..
        } => {
            let why = match why {
                ModelCallEnd::Cancelled => "cancelled".to_owned(),
                ModelCallEnd::Failed(failure) => format!("failed: {:?}", failure.kind),
                ModelCallEnd::Lost => "lost".to_owned(),
            };
            let kept = partial
                .as_ref()
                .map_or_else(String::new, |kept| format!(", said \"{}\"", kept.to_text()));
            let again = retry_at.map_or_else(String::new, |at| {
                format!(", again in {} ms", at.since(now.wall).as_millis())
            });
            let counted = usage.filter(|usage| usage.estimated() == 0);
            let used =
                counted.map_or_else(String::new, |usage| format!(", used {}", usage.total()));
            format!("reply {why}{kept}{again}{used}")
        }
        Fact::TurnResumed { nth, .. } => format!("resumed {nth}"),
        Fact::WaitClosed { end, .. } => format!("wait {:?}", end.kind()),
        Fact::ModelCallStarted {
            choice: Some(choice),
            target,
            ..
        } => format!("to {target}: {:?}", choice.reason),
        Fact::BackendSession { .. }
        | Fact::Compacted(_)
        | Fact::CallStarted { .. }
        | Fact::ModelCallStarted { choice: None, .. }
        | Fact::ReplyReceived { .. }
        | Fact::SessionForked { .. }
        | Fact::SessionImported { .. }
        | Fact::TurnEnded { .. }
        | Fact::TurnOpened { .. }
        | Fact::WaitOpened { .. } => return None,
    })
}

pub(super) fn of_action(action: &Action, name_of: impl Fn(&ToolCallId) -> String) -> String {
    match action {
        Action::AbandonTool { tool, .. } => format!("abandon {}", tool.tool),
        Action::Abort(Attempt::Model(attempt)) => {
            format!("abort model {}.{}", attempt.round, attempt.attempt)
        }
        Action::Abort(Attempt::Tool(attempt)) => format!("abort {}", name_of(&attempt.call)),
        Action::CallModel { attempt, request } => {
            let choice = match &request.choice {
                ToolChoice::Auto => String::new(),
                choice => format!(" {choice:?}"),
            };
            format!("model {}.{}{choice}", attempt.round, attempt.attempt)
        }
        Action::Finish(end) => match end {
            TurnEnd::Failed(failure) => format!("end Failed({:?})", failure.kind),
            TurnEnd::Interrupted(failure) => format!("end Interrupted({:?})", failure.kind),
            end => format!("end {end:?}"),
        },
        Action::OpenWait(wait) => {
            let kind = match &wait.kind {
                WaitKind::Approval { .. } => "approval of",
                WaitKind::Budget { .. } => "room in",
                WaitKind::ClientResult => "result of",
                WaitKind::Elicitation { .. } => "answer for",
                WaitKind::UnknownOutcome => "word about",
            };
            format!("wait for {kind} {}", name_of(&wait.call))
        }
        Action::ResumeTool { answer, tool, .. } => match answer {
            Some(answer) => format!("resume {} with {answer:?}", tool.tool),
            None => format!("resume {}", tool.tool),
        },
        Action::RunTool(run) => {
            let arguments = match &run.input {
                ToolInput::Json(input) if input.raw() == "{}" => String::new(),
                ToolInput::Json(input) => format!(" {}", input.raw()),
                ToolInput::Text(text) => format!(" {text}"),
            };
            let fresh = if run.fresh { ", fresh" } else { "" };
            format!("run {}{arguments}{fresh}", run.tool.tool)
        }
    }
}

/// The messages, a line for each block.
pub(super) fn transcript(messages: &Messages) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages.iter() {
        for block in &message.blocks {
            let said = match &block.content {
                Content::Text(text) => text.text.to_string(),
                Content::Thinking(thinking) => format!("({})", thinking.text),
                Content::ToolCall(call) => format!("call {}", call.name.as_str()),
                Content::ToolOutcome(outcome) => format!("outcome {}", outcome.result.to_text()),
                other => format!("{other:?}"),
            };
            lines.push(format!("{:?}: {said}", message.role));
        }
    }
    lines
}
