//! What an encoder tells at the end.

use std::sync::Arc;

use jackfield_dialect_openai::chat::reply::to_wire;
use jackfield_dialect_openai::chat::stream::{DecodeReply as _, Decoder, Encoder, SseEvent};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::usage::Usage;

use super::super::read::owner;
use super::segments::{added_up, client_call, plainly};

#[test]
fn a_failure_is_the_last_thing_that_is_told() {
    let failure = ModelFailure::new(ModelFailureKind::RateLimited, Phase::MidReply, "too much");
    let mut encoder = Encoder::new("chatcmpl-1", "m", 1);
    let mut decoder = Decoder::new(owner());
    for event in encoder.begin() {
        decoder.push(None, &event.data).expect("a sound beginning");
    }
    let last = encoder.fail(&failure);
    let fault = decoder.push(None, &last.data).expect_err("a failure");
    assert_eq!(fault.failure().kind, ModelFailureKind::RateLimited);
}

#[test]
fn usage_is_told_only_where_it_is_asked_for() {
    let mut end = ReplyEnd::new(FinishReason::Stop);
    end.usage = Some(Usage::default());
    let plain = Encoder::new("chatcmpl-1", "m", 1).finish(&end);
    let asked = Encoder::new("chatcmpl-1", "m", 1).with_usage().finish(&end);
    let tells = |events: &[SseEvent]| events.iter().any(|event| event.data.contains("usage"));
    assert!(!tells(&plain) && tells(&asked));
}

#[test]
fn calls_of_a_reply_that_was_refused_are_not_asked_for() {
    let end = ReplyEnd::new(FinishReason::Refused);
    let blocks = vec![client_call("call_1", "clock", "{}")];
    let mut encoder = Encoder::new("chatcmpl-1", "m", 1);
    let mut events = encoder.begin();
    for delta in plainly(&blocks) {
        events.extend(encoder.push(&delta));
    }
    events.extend(encoder.finish(&end));
    assert_eq!(added_up(&events)["finish_reason"], "content_filter");
    let message = Arc::new(Message::new(Role::Assistant, blocks));
    let (whole, _) = to_wire(&Reply { end, message }, "m", "chatcmpl-1", 1);
    assert_eq!(whole.choices[0].finish_reason, "content_filter");
}
