//! A session without what may be private in it.
//!
//! What tools were given and gave back, what was asked and answered in between, files and reasoning go
//! as a whole: nobody can tell what is in them. What people and models said stays, without what looks
//! like a key; that, every text is looked through for, once the document is made.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content, OpaqueBlock, Text, Thinking, ToolCall};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::message::Message;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::reply::Reply;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{
    Answer, Approval, ElicitationAnswer, UnknownAnswer, WaitEnd, WaitKind,
};
use serde_json::{Map, Value};

use super::story::{Said, Story, TurnStory, WaitStory};

/// Takes out what may be private.
pub(super) fn story(story: &mut Story) {
    if let Some(forked) = &mut story.forked {
        forked.messages.iter_mut().for_each(message);
    }
    story.turns.iter_mut().for_each(turn);
}

fn turn(turn: &mut TurnStory) {
    for said in &mut turn.said {
        match said {
            Said::Ended { partial, .. } => partial.iter_mut().for_each(message),
            Said::Opening(opening) => message(opening),
            Said::Reply { reply, .. } => {
                let mut message = Arc::clone(&reply.message);
                self::message(&mut message);
                let end = reply.end.clone();
                *reply = Arc::new(Reply { end, message });
            }
        }
    }
    for story in &mut turn.calls {
        story.call = call(&story.call);
        if let Some(closed) = &mut story.closed {
            closed.result = Arc::new(result(&closed.result));
        }
        for this in &mut story.tries {
            this.edited = this.edited.as_deref().map(|edited| Arc::new(input(edited)));
            // A server's own words may be in it.
            if let Some(lost) = &mut this.lost {
                lost.message = hidden(lost.message.len());
            }
        }
        for late in &mut story.late {
            late.text = late.text.as_deref().map(|text| hidden(text.len()));
        }
        story.waits.iter_mut().for_each(wait);
    }
}

fn wait(story: &mut WaitStory) {
    if let WaitKind::Elicitation { question, .. } = &mut story.wait.kind {
        question.message = hidden(question.message.len());
        question.schema = None;
    }
    let Some((_, WaitEnd::Answered { answer, .. })) = &mut story.ended else {
        return;
    };
    match answer {
        Answer::Approval(Approval::Granted { edited, .. }) => {
            *edited = edited.as_deref().map(|fields| {
                let size = serde_json::to_string(fields).unwrap_or_default().len();
                let mut only = Map::new();
                only.insert("redacted".to_owned(), Value::from(&*hidden(size)));
                Arc::new(only)
            });
        }
        Answer::ClientResult(given) | Answer::UnknownOutcome(UnknownAnswer::Landed(given)) => {
            *given = result(given);
        }
        Answer::Elicitation(ElicitationAnswer::Accepted(value)) => {
            *value = Arc::new(Value::from(&*hidden(value.to_string().len())));
        }
        Answer::Approval(Approval::Denied { .. })
        | Answer::Elicitation(ElicitationAnswer::Declined | ElicitationAnswer::Dismissed)
        | Answer::UnknownOutcome(UnknownAnswer::Report | UnknownAnswer::Retry) => {}
    }
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
            fallback: opaque.fallback.as_ref().map(|text| hidden(text.len())),
            json: Value::Null,
            ..opaque.clone()
        }),
        Content::Refusal(text) => Content::Refusal(Arc::clone(text)),
        // Remarks name where a text comes from, which a tool may have been asked for.
        Content::Text(text) => Content::Text(Text {
            annotations: Vec::new(),
            text: Arc::clone(&text.text),
        }),
        Content::Thinking(thinking) => Content::Thinking(Thinking {
            redacted: thinking.redacted,
            text: hidden(thinking.text.len()),
        }),
        Content::ToolCall(made) => Content::ToolCall(call(made)),
        Content::ToolOutcome(outcome) => Content::ToolOutcome(Arc::new(ToolOutcome {
            call: outcome.call.clone(),
            opaque: Vec::new(),
            result: result(&outcome.result),
        })),
    })
}

fn call(call: &ToolCall) -> Arc<ToolCall> {
    Arc::new(ToolCall {
        input: input(&call.input),
        ..call.clone()
    })
}

fn input(input: &ToolInput) -> ToolInput {
    ToolInput::Text(hidden(match input {
        ToolInput::Json(input) => input.raw().len(),
        ToolInput::Text(text) => text.len(),
    }))
}

fn result(result: &ToolResult) -> ToolResult {
    let content = result.content.iter().map(|part| match part {
        OutcomePart::Audio(sound) => OutcomePart::Audio(audio(sound)),
        OutcomePart::Document(paper) => OutcomePart::Document(document(paper)),
        OutcomePart::Image(picture) => OutcomePart::Image(image(picture)),
        OutcomePart::Text(text) => OutcomePart::Text(hidden(text.len())),
    });
    let structured = result.structured.as_deref();
    ToolResult {
        content: content.collect(),
        is_error: result.is_error,
        structured: structured
            .map(|value| Arc::new(Value::from(&*hidden(value.to_string().len())))),
    }
}

fn audio(audio: &Audio) -> Audio {
    Audio {
        source: source(&audio.source),
        transcript: audio.transcript.as_ref().map(|text| hidden(text.len())),
    }
}

fn document(document: &Document) -> Document {
    Document {
        cite: document.cite,
        context: document.context.as_ref().map(|text| hidden(text.len())),
        source: source(&document.source),
        title: document.title.as_ref().map(|text| hidden(text.len())),
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
            data: hidden(data.len()),
            // What stands behind it may be the name of a file.
            media_type: media_type.split(';').next().unwrap_or_default().into(),
        },
        MediaSource::File { id, .. } => MediaSource::Text(hidden(id.len())),
        MediaSource::Text(text) | MediaSource::Url(text) => MediaSource::Text(hidden(text.len())),
    }
}

/// What stands in the place of a text of this size; nothing stays nothing.
fn hidden(size: usize) -> Arc<str> {
    match size {
        0 => "".into(),
        size => format!("[redacted: {size} bytes]").into(),
    }
}
