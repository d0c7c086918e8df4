//! Conversations of several rounds: a reply, the outcomes of its calls, and the next request.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool_input::JsonInput;
use serde_json::Value;

use super::bench::{Bench, request_with};
use super::reply_meaning::{ReplyMeaning, SaidInput};
use super::{ChatModelHarness, Echo, VendorReply, WireReply};
use crate::server::RecordedRequest;

/// A growing conversation.
pub(super) struct Talk<'a, 'b, H: ChatModelHarness> {
    bench: &'a Bench<'b, H>,
    messages: Vec<Message>,
    pub(super) replies: Vec<Reply>,
}

impl<'a, 'b, H: ChatModelHarness> Talk<'a, 'b, H> {
    pub(super) fn new(bench: &'a Bench<'b, H>) -> Self {
        Self {
            bench,
            messages: vec![Message::user("What is the weather in Oslo?")],
            replies: Vec::new(),
        }
    }

    /// The next request, with the conversation so far.
    pub(super) fn request(&self) -> ModelRequest {
        let can = self.bench.harness.capabilities();
        let tools = if can.tools {
            ["weather", "clock"].as_slice()
        } else {
            &[]
        };
        let messages = self.messages.iter().cloned();
        request_with(self.bench.harness.model(), tools, messages)
    }

    /// Sends the request, gets this reply, and gives each of its calls an outcome; without calls, adds a user
    /// message.
    pub(super) async fn round(&mut self, wire: &WireReply) {
        self.bench.server.answer(wire.response());
        let call_result = self.bench.call_with(&self.request()).await;
        let round = u32::try_from(self.replies.len()).unwrap_or(u32::MAX);
        let reply = call_result.reply_of_round(round.saturating_add(1));
        let outcomes: Vec<Block> = reply
            .message
            .calls()
            .enumerate()
            .map(|(place, call)| {
                let result = ToolResult::text(outcome(self.replies.len(), place));
                let outcome = ToolOutcome {
                    call: call.id.clone(),
                    opaque: Vec::new(),
                    result,
                };
                Content::ToolOutcome(Arc::new(outcome)).into()
            })
            .collect();
        self.messages.push(Message::clone(&reply.message));
        self.messages.push(if outcomes.is_empty() {
            Message::user("And now?")
        } else {
            Message::new(Role::Tool, outcomes)
        });
        self.replies.push(reply);
    }

    /// Sends another request, and returns it as recorded.
    pub(super) async fn next_request(&self) -> RecordedRequest {
        let done = self.bench.render(&VendorReply::text(&["done"]));
        self.bench.server.answer(done.response());
        let before = self.bench.server.requests().len();
        let _reply = self.bench.call_with(&self.request()).await.reply();
        self.bench.server.request(before).await
    }

    /// Sends another request, and returns the parts that repeat earlier replies, as the harness reads them.
    pub(super) async fn echo(&self) -> Echo {
        let request = self.next_request().await;
        let echo = self.bench.harness.echo(&request);
        let mut texts = Vec::new();
        match serde_json::from_slice(&request.body) {
            Ok(json) => collect_strings(&json, &mut texts),
            Err(_) => texts.push(request.text()),
        }
        let calls = echo.calls.iter().flat_map(|call| [&call.id, &call.name]);
        let outcomes = echo.outcomes.iter().map(|outcome| &outcome.id);
        let states = echo.reasoning.iter().filter_map(|one| one.state.as_ref());
        for claimed in calls.chain(outcomes).chain(states) {
            assert!(
                texts.iter().any(|text| text.contains(&**claimed)),
                "the harness reads {claimed:?}, which is not in the request: {}",
                request.text()
            );
        }
        echo
    }

    /// Checks that a request repeats every call once, with a unique id and with its outcome.
    pub(super) fn check_pairs(&self, echo: &Echo) {
        let replies = self.replies.iter().enumerate();
        let expected = replies.flat_map(|(round, reply)| {
            let calls = ReplyMeaning::from_reply(reply)
                .calls
                .into_iter()
                .enumerate();
            calls.map(move |(place, call)| (call, outcome(round, place)))
        });
        let expected: Vec<_> = expected.collect();
        assert_eq!(echo.calls.len(), expected.len(), "calls: {echo:?}");
        assert_eq!(echo.outcomes.len(), expected.len(), "outcomes: {echo:?}");
        let ids: BTreeSet<&str> = echo.calls.iter().map(|call| &*call.id).collect();
        assert!(
            ids.len() == expected.len() && !ids.contains(""),
            "every call needs an id of its own: {echo:?}"
        );
        for ((call, result), (expected_call, text)) in
            echo.calls.iter().zip(&echo.outcomes).zip(expected)
        {
            assert_eq!(call.name, expected_call.name, "{echo:?}");
            let arguments = SaidInput::json(&JsonInput::parse(&call.arguments));
            assert_eq!(arguments, expected_call.input, "{echo:?}");
            assert_eq!(
                result.id, call.id,
                "outcomes in the order of the calls: {echo:?}"
            );
            assert!(result.text.contains(&text), "`{text}` is missing: {echo:?}");
        }
    }
}

/// All strings in a document, including keys.
fn collect_strings(json: &Value, texts: &mut Vec<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, texts)),
        Value::Object(fields) => {
            for (key, value) in fields {
                texts.push(key.clone());
                collect_strings(value, texts);
            }
        }
        Value::String(text) => texts.push(text.clone()),
        Value::Bool(_) | Value::Null | Value::Number(_) => {}
    }
}

fn outcome(round: usize, place: usize) -> String {
    format!("outcome {place} of round {round}")
}
