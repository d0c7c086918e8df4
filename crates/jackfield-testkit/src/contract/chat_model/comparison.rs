//! Compares a request with what was sent of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::block::{Content, ToolCall};
use jackfield_domain::message::Role;
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool_input::{JsonInput, ToolInput};

use super::bench::SentRequest;
use super::reply_meaning::SaidInput;
use super::{ChatModelHarness, EchoedCall, EchoedPart, RequestPart};

/// Checks that a request has every call once, with an id of its own, and every outcome under its call's id.
#[track_caller]
pub(super) fn check_pairs<H: ChatModelHarness>(
    harness: &H,
    request: &ModelRequest,
    sent: &SentRequest,
) {
    let said: Vec<&EchoedCall> = sent.echo.calls().collect();
    let calls: Vec<&Arc<ToolCall>> = calls(request).collect();
    assert_eq!(said.len(), calls.len(), "the number of calls\n{sent}");
    if calls.is_empty() {
        return;
    }
    for (said, call) in said.iter().zip(&calls) {
        let input = SaidInput::json(&JsonInput::parse(&said.arguments));
        assert_eq!(said.name, call.name.as_str(), "the tool of a call\n{sent}");
        if let ToolInput::Json(expected) = &call.input {
            assert_eq!(
                input,
                SaidInput::json(expected),
                "the arguments of a call\n{sent}"
            );
        }
    }
    let has_ids = has_part(
        harness,
        RequestPart::CallId,
        said.iter().any(|call| !call.id.is_empty()),
    );
    let ids: BTreeSet<&str> = said.iter().map(|call| &*call.id).collect();
    assert!(
        !has_ids || (ids.len() == said.len() && !ids.contains("")),
        "every call needs an id of its own\n{sent}"
    );
    let outcomes: Vec<&Arc<ToolOutcome>> = outcomes(request).collect();
    assert_eq!(
        sent.echo.outcomes().count(),
        outcomes.len(),
        "the number of outcomes\n{sent}"
    );
    for (said_outcome, outcome) in sent.echo.outcomes().zip(&outcomes) {
        let texts = texts_in(&said_outcome.text, &outcomes);
        let text = outcome.result.to_text();
        assert_eq!(
            texts,
            [text],
            "outcomes stand in the order of the calls, each with its own text\n{sent}"
        );
        let call = calls
            .iter()
            .zip(&said)
            .find(|(call, _)| call.id == outcome.call);
        let id = call.map_or("", |(_, said)| &said.id);
        assert_eq!(
            said_outcome.id, id,
            "an outcome has the id of its call\n{sent}"
        );
    }
}

/// Checks that texts, calls and outcomes stand in the order of the conversation, each text by its author and
/// unchanged. Texts of one author may be joined.
#[track_caller]
pub(super) fn check_order(request: &ModelRequest, sent: &SentRequest) {
    let outcomes: Vec<&Arc<ToolOutcome>> = outcomes(request).collect();
    let said = sent.echo.parts.iter().filter_map(|part| match part {
        EchoedPart::Call(call) => Some(Run::Call(call.name.clone())),
        EchoedPart::Outcome(outcome) => {
            Some(Run::Outcome(texts_in(&outcome.text, &outcomes).concat()))
        }
        EchoedPart::Reasoning(_) => None,
        EchoedPart::Text(text) if text.text.trim().is_empty() => None,
        EchoedPart::Text(text) => Some(Run::Text(text.role, vec![text.text.clone()])),
    });
    let (expected, said) = (joined(runs(request, sent)), joined(said));
    assert_eq!(
        said.iter().map(Run::without_spaces).collect::<Vec<_>>(),
        expected.iter().map(Run::without_spaces).collect::<Vec<_>>(),
        "the conversation is another one on the wire\n{sent}"
    );
    for (said, expected) in said.iter().zip(&expected) {
        if let (Run::Text(_, said), Run::Text(_, expected)) = (said, expected) {
            let said = said.concat();
            for text in expected {
                assert!(said.contains(&**text), "{text:?} is changed\n{sent}");
            }
        }
    }
}

/// Whether requests have this part: either it was read, or the harness has a reason why it cannot be.
#[track_caller]
pub(super) fn has_part<H: ChatModelHarness>(
    harness: &H,
    part: RequestPart,
    was_read: bool,
) -> bool {
    let mut never = harness.never_takes().iter();
    match (was_read, never.find(|(known, _)| *known == part)) {
        (true, None) => true,
        (false, Some(_)) => false,
        (true, Some((_, reason))) => {
            panic!("{part:?} is read, although the vendor never takes it: {reason}")
        }
        (false, None) => panic!(
            "{part:?} is neither read nor never taken: read it in `echo`, or name it in `never_takes` with the reason"
        ),
    }
}

/// All calls of a conversation.
pub(super) fn calls(request: &ModelRequest) -> impl Iterator<Item = &Arc<ToolCall>> {
    request.messages.iter().flat_map(|message| message.calls())
}

/// All outcomes of a conversation.
pub(super) fn outcomes(request: &ModelRequest) -> impl Iterator<Item = &Arc<ToolOutcome>> {
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    blocks.filter_map(|block| match &block.content {
        Content::ToolOutcome(outcome) => Some(outcome),
        Content::Audio(_)
        | Content::Document(_)
        | Content::Image(_)
        | Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_) => None,
    })
}

/// A part of a conversation: texts of one author, or a call by its tool, or an outcome by its text.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Run {
    Call(String),
    Outcome(String),
    Text(Role, Vec<String>),
}

impl Run {
    /// The same for comparison: joined texts may have any white space between them.
    fn without_spaces(&self) -> Self {
        let Self::Text(role, texts) = self else {
            return self.clone();
        };
        let text = texts.concat();
        Self::Text(*role, vec![text.split_whitespace().collect()])
    }
}

/// The runs of a conversation. Where a note says that the blocks of a message were rearranged, its texts come first.
fn runs(request: &ModelRequest, sent: &SentRequest) -> Vec<Run> {
    let mut runs = Vec::new();
    for (n, message) in request.messages.iter().enumerate() {
        let blocks = message.blocks.iter();
        let mut own: Vec<Run> = blocks
            .filter_map(|block| match &block.content {
                Content::Refusal(text) => Some(Run::Text(message.role, vec![(**text).to_owned()])),
                Content::Text(text) => Some(Run::Text(message.role, vec![(*text.text).to_owned()])),
                Content::ToolCall(call) => Some(Run::Call(call.name.as_str().to_owned())),
                Content::ToolOutcome(outcome) => Some(Run::Outcome(outcome.result.to_text())),
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Thinking(_) => None,
            })
            .collect();
        if sent.is_noted_at(&format!("messages[{n}].blocks")) {
            own.sort_by_key(|run| !matches!(run, Run::Text(..)));
        }
        runs.extend(own);
    }
    runs
}

/// The runs with adjacent texts of one author as one.
fn joined(runs: impl IntoIterator<Item = Run>) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match (joined.last_mut(), run) {
            (Some(Run::Text(before, texts)), Run::Text(role, more)) if *before == role => {
                texts.extend(more);
            }
            (_, run) => joined.push(run),
        }
    }
    joined
}

/// The texts of outcomes that are in this one.
fn texts_in(said: &str, outcomes: &[&Arc<ToolOutcome>]) -> Vec<String> {
    let texts = outcomes.iter().map(|outcome| outcome.result.to_text());
    texts.filter(|text| said.contains(&**text)).collect()
}
