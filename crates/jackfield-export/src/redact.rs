//! Redacts what may be private in a session.
//!
//! Tool arguments and results, questions during a call with their answers, files and reasoning are removed
//! entirely, as their content is unknown. Messages of users and models stay, except for what looks like a key;
//! the finished document is scanned for that.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content, OpaqueBlock, Text, Thinking, ToolCall};
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::Message;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::reply::Reply;
use jackfield_domain::setup::{Opening, Transcript};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::wait::{
    Answer, Approval, ElicitationAnswer, UnknownAnswer, WaitEnd, WaitKind,
};
use serde_json::{Map, Value};

/// The steps with private content redacted.
#[must_use]
pub fn steps(steps: &[Envelope]) -> Vec<Envelope> {
    let step = |step: &Envelope| Envelope {
        facts: step.facts.iter().map(fact).collect(),
        ..step.clone()
    };
    steps.iter().map(step).collect()
}

/// Redacts the texts of late results, which are in no fact.
pub(super) fn redact_late(log: &mut SessionLog) {
    let calls = log.turns.iter_mut().flat_map(|turn| &mut turn.calls);
    for late in calls.flat_map(|call| &mut call.late) {
        late.text = late.text.as_deref().map(|text| placeholder(text.len()));
    }
}

fn fact(original: &Fact) -> Fact {
    let mut redacted = original.clone();
    match &mut redacted {
        Fact::CallClosed { result: value, .. } => *value = Arc::new(result(value)),
        // The message may quote the server.
        Fact::CallLost { message, .. } => *message = placeholder(message.len()),
        Fact::CallStarted { edited, .. } => {
            *edited = edited.as_deref().map(|edited| Arc::new(input(edited)));
        }
        Fact::Compacted(compaction) => {
            let messages = &mut Arc::make_mut(compaction).messages;
            *messages = redact_messages(messages);
        }
        Fact::ModelCallEnded { partial, .. } => partial.iter_mut().for_each(message),
        Fact::ReplyReceived { reply, .. } => {
            let mut redacted_message = Arc::clone(&reply.message);
            message(&mut redacted_message);
            let end = reply.end.clone();
            *reply = Arc::new(Reply {
                end,
                message: redacted_message,
            });
        }
        Fact::SessionForked { messages, .. } | Fact::SessionImported { messages, .. } => {
            *messages = Arc::new(redact_messages(messages));
        }
        Fact::TurnOpened { opening, .. } => *opening = redact_opening(opening),
        Fact::WaitClosed { end, .. } => wait_end(end),
        Fact::WaitOpened { wait } => {
            if let WaitKind::Elicitation { question, .. } = &mut wait.kind {
                question.message = placeholder(question.message.len());
                question.schema = None;
            }
        }
        Fact::BackendSession { .. }
        | Fact::CallAccepted { .. }
        | Fact::Late(_)
        | Fact::ModelCallStarted { .. }
        | Fact::TurnEnded { .. }
        | Fact::TurnResumed { .. } => {}
    }
    redacted
}

fn redact_opening(opening: &Opening) -> Opening {
    match opening {
        Opening::ClientResults(results) => Opening::ClientResults(
            results
                .iter()
                .map(|result| Arc::new(outcome(result)))
                .collect(),
        ),
        Opening::Transcript(transcript) => {
            Opening::Transcript(Transcript::stored(redact_messages(transcript.messages())))
        }
        Opening::UserMessage(original) => {
            let mut redacted = Arc::clone(original);
            message(&mut redacted);
            Opening::UserMessage(redacted)
        }
    }
}

fn wait_end(end: &mut WaitEnd) {
    let WaitEnd::Answered { answer, .. } = end else {
        return;
    };
    match answer {
        Answer::Approval(Approval::Granted { edited, .. }) => {
            *edited = edited.as_deref().map(|fields| {
                let size = serde_json::to_string(fields).unwrap_or_default().len();
                let mut only = Map::new();
                only.insert("redacted".to_owned(), Value::from(&*placeholder(size)));
                Arc::new(only)
            });
        }
        Answer::ClientResult(given) => *given = result(&given.result).into(),
        Answer::UnknownOutcome(UnknownAnswer::Landed(given)) => *given = result(given),
        Answer::Elicitation(ElicitationAnswer::Accepted(value)) => {
            *value = Arc::new(Value::from(&*placeholder(value.to_string().len())));
        }
        Answer::Approval(Approval::Denied { .. })
        | Answer::Elicitation(ElicitationAnswer::Declined | ElicitationAnswer::Dismissed)
        | Answer::UnknownOutcome(UnknownAnswer::Report | UnknownAnswer::Retry) => {}
    }
}

fn redact_messages(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut messages = messages.to_vec();
    messages.iter_mut().for_each(message);
    messages
}

fn message(message: &mut Arc<Message>) {
    let blocks = message.blocks.iter().map(block).collect();
    *message = Arc::new(Message::new(message.role, blocks));
}

fn block(block: &Block) -> Block {
    Block::from(match &block.content {
        Content::Audio(sound) => Content::Audio(audio(sound)),
        Content::Document(paper) => Content::Document(document(paper)),
        Content::Image(picture) => Content::Image(image(picture)),
        Content::Opaque(opaque) => Content::Opaque(OpaqueBlock {
            fallback: opaque.fallback.as_ref().map(|text| placeholder(text.len())),
            json: Value::Null,
            ..opaque.clone()
        }),
        Content::Refusal(text) => Content::Refusal(Arc::clone(text)),
        // Annotations name sources, which can reveal the arguments of a tool.
        Content::Text(text) => Content::Text(Text {
            annotations: Vec::new(),
            text: Arc::clone(&text.text),
        }),
        Content::Thinking(thinking) => Content::Thinking(Thinking {
            redacted: thinking.redacted,
            text: placeholder(thinking.text.len()),
        }),
        Content::ToolCall(made) => Content::ToolCall(call(made)),
        Content::ToolOutcome(given) => Content::ToolOutcome(Arc::new(outcome(given))),
    })
}

fn outcome(given: &ToolOutcome) -> ToolOutcome {
    ToolOutcome {
        call: given.call.clone(),
        opaque: Vec::new(),
        result: result(&given.result),
    }
}

fn call(call: &ToolCall) -> Arc<ToolCall> {
    Arc::new(ToolCall {
        input: input(&call.input),
        ..call.clone()
    })
}

fn input(input: &ToolInput) -> ToolInput {
    ToolInput::Text(placeholder(match input {
        ToolInput::Json(input) => input.raw().len(),
        ToolInput::Text(text) => text.len(),
    }))
}

fn result(result: &ToolResult) -> ToolResult {
    let content = result.content.iter().map(|part| match part {
        OutcomePart::Audio(sound) => OutcomePart::Audio(audio(sound)),
        OutcomePart::Document(paper) => OutcomePart::Document(document(paper)),
        OutcomePart::Image(picture) => OutcomePart::Image(image(picture)),
        OutcomePart::Text(text) => OutcomePart::Text(placeholder(text.len())),
    });
    let structured = result.structured.as_deref();
    ToolResult {
        content: content.collect(),
        is_error: result.is_error,
        structured: structured
            .map(|value| Arc::new(Value::from(&*placeholder(value.to_string().len())))),
    }
}

fn audio(audio: &Audio) -> Audio {
    Audio {
        source: source(&audio.source),
        transcript: audio
            .transcript
            .as_ref()
            .map(|text| placeholder(text.len())),
    }
}

fn document(document: &Document) -> Document {
    Document {
        cite: document.cite,
        context: document
            .context
            .as_ref()
            .map(|text| placeholder(text.len())),
        source: source(&document.source),
        title: document.title.as_ref().map(|text| placeholder(text.len())),
    }
}

fn image(image: &Image) -> Image {
    Image {
        detail: image.detail,
        source: source(&image.source),
    }
}

fn source(source: &MediaSource) -> MediaSource {
    match source {
        MediaSource::Base64 { data, media_type } => MediaSource::Base64 {
            data: placeholder(data.len()),
            // Parameters of the media type may contain the name of a file.
            media_type: media_type.split(';').next().unwrap_or_default().into(),
        },
        MediaSource::File { id, .. } => MediaSource::Text(placeholder(id.len())),
        MediaSource::Text(text) | MediaSource::Url(text) => {
            MediaSource::Text(placeholder(text.len()))
        }
    }
}

/// The replacement of a text of this size; an empty text stays empty.
fn placeholder(size: usize) -> Arc<str> {
    match size {
        0 => "".into(),
        size => format!("[redacted: {size} bytes]").into(),
    }
}
