//! Conversations of several rounds: a reply, the outcomes of its calls, and the next request.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;

use super::bench::{Bench, SentRequest, request_with};
use super::comparison::check_pairs;
use super::{ChatModelHarness, WireReply};

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
        self.bench.answer(wire.response());
        let call_result = self.bench.call_with(&self.request()).await;
        let round = u32::try_from(self.replies.len()).unwrap_or(u32::MAX);
        let reply = call_result.reply_of_round(round.saturating_add(1));
        let outcomes: Vec<Block> = reply
            .message
            .calls()
            .enumerate()
            .map(|(place, call)| outcome(&call.id, outcome_text(self.replies.len(), place)))
            .collect();
        self.messages.push(Message::clone(&reply.message));
        self.messages.push(if outcomes.is_empty() {
            Message::user("And now?")
        } else {
            Message::new(Role::Tool, outcomes)
        });
        self.replies.push(reply);
    }

    /// Sends the next request, and returns it as it was sent.
    pub(super) async fn sent(&self) -> SentRequest {
        match self.bench.sent(&self.request()).await {
            Some(sent) => sent,
            None => panic!("a conversation with the vendor's own replies is refused"),
        }
    }

    /// Sends the next request, which has to have every call with its outcome.
    pub(super) async fn sent_in_pairs(&self) -> SentRequest {
        let sent = self.sent().await;
        check_pairs(self.bench.harness, &self.request(), &sent);
        sent
    }
}

/// The outcome of a call in words.
pub(super) fn outcome(call: &ToolCallId, text: impl Into<Arc<str>>) -> Block {
    let outcome = ToolOutcome {
        call: call.clone(),
        opaque: Vec::new(),
        result: ToolResult::text(text),
    };
    Content::ToolOutcome(Arc::new(outcome)).into()
}

fn outcome_text(round: usize, place: usize) -> String {
    format!("outcome {place} of round {round}.")
}
