//! What is told again is the same: whole, live, late, and from anywhere in the middle.

use std::sync::Arc;

use jackfield_dialect_kit::encode::SseEvent;
use jackfield_dialect_kit::serve::{EncodeReply, ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve::{Responses, encoder_after, incomplete_body};
use jackfield_dialect_openai::responses::stream::IncompleteStatus;
use jackfield_domain::block::{Block, CalledName, Content, RanBy, Thinking, ToolCall, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ToolCallId, ToolboxId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_testkit::arb as kit;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::about;

proptest! {
    #[test]
    fn a_segment_is_told_alike_however_it_comes((reply, one, other) in told_twice()) {
        let live = told(Responses.encoder(&about()), &one, &reply.end);
        let again = told(Responses.encoder(&about()), &other, &reply.end);
        prop_assert_eq!(&live, &again);
        let last = live.last().expect("an end");
        let (whole, _) = Responses.reply(&reply, &about());
        let whole: Value = serde_json::from_slice(&whole).expect("JSON");
        prop_assert_eq!(&last["response"], &whole);
    }

    #[test]
    fn whoever_comes_back_gets_what_is_missing_and_nothing_twice(
        (reply, one, other) in told_twice(),
        place in any::<Index>(),
    ) {
        let mut live = told(Responses.encoder(&about()), &one, &reply.end);
        let whole = live.clone();
        live.truncate(place.index(live.len()) + 1);
        let number = live.last().expect("events")["sequence_number"].as_u64();
        live.extend(told(encoder_after(&about(), number), &other, &reply.end));
        prop_assert_eq!(live, whole);
    }

    #[test]
    fn what_stands_is_the_items_that_have_ended((reply, pieces, _) in told_twice(), cut in any::<Index>()) {
        let pieces = &pieces[..cut.index(pieces.len() + 1)];
        let mut encoder = Responses.encoder(&about());
        let events = pieces.iter().flat_map(|delta| encoder.push(delta, None));
        let mut done: Vec<Value> = events
            .map(|event| data(&event))
            .filter(|data| data["type"] == "response.output_item.done")
            .collect();
        done.sort_by_key(|event| event["output_index"].as_u64());
        let done: Vec<Value> = done.into_iter().map(|event| event["item"].clone()).collect();
        let pieces = pieces.iter().map(|delta| (delta, None));
        let body = incomplete_body(&about(), pieces, &IncompleteStatus::InProgress);
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        prop_assert_eq!(&body["output"], &Value::Array(done));
        prop_assert_eq!(&body["status"], "in_progress");
        drop(reply);
    }
}

fn data(event: &SseEvent) -> Value {
    serde_json::from_str(&event.data).expect("JSON")
}

/// All events of a reply.
fn told(mut encoder: Box<dyn EncodeReply>, pieces: &[Delta], end: &ReplyEnd) -> Vec<Value> {
    let mut events = encoder.begin();
    events.extend(pieces.iter().flat_map(|delta| encoder.push(delta, None)));
    events.extend(encoder.finish(end));
    events.iter().map(data).collect()
}

/// A segment as a client is shown it, and its pieces as they come on two days.
fn told_twice() -> BoxedStrategy<(Reply, Vec<Delta>, Vec<Delta>)> {
    let both = segment().prop_flat_map(|reply| {
        let blocks = &reply.message.blocks;
        let pieces = || kit::deltas_of(blocks);
        (Just(reply.clone()), pieces(), pieces())
    });
    both.boxed()
}

/// Rounds with words, reasoning, and calls of tools of the server's own and of the client.
pub(super) fn segment() -> BoxedStrategy<Reply> {
    let outcome = option::of((".{0,12}", any::<bool>()));
    let call = ("\\{\\}|\\{\"q\":\"[a-zß]{0,9}\"\\}|", outcome);
    let words = "([a-z]{0,24}[ \n]{0,2}|[世界ß🙂]{1,4}|.{0,9}){0,5}";
    let round = (words, words, vec(call, 0..3), any::<bool>());
    let rounds = (vec(round, 0..4), any::<bool>());
    let replies = rounds.prop_map(|(rounds, asks)| {
        let mut blocks = Vec::new();
        let mut calls = 0;
        for (thought, words, of_round, reversed) in rounds {
            blocks.push(
                Content::Thinking(Thinking {
                    redacted: false,
                    text: thought.into(),
                })
                .into(),
            );
            blocks.push(Block::text(words));
            let mut outcomes = Vec::new();
            for (arguments, outcome) in of_round {
                calls += 1;
                let id = ToolCallId::parse(&format!("call_{calls}")).expect("an id");
                blocks.push(call_of(&id, &arguments, RanBy::Provider));
                outcomes.extend(outcome.map(|(text, failed)| outcome_of(&id, &text, failed)));
            }
            if reversed {
                outcomes.reverse();
            }
            blocks.extend(outcomes);
        }
        if asks {
            let id = ToolCallId::parse("call_mine").expect("an id");
            blocks.push(call_of(&id, "{\"a\":1}", RanBy::Client));
        }
        let finish = if asks {
            FinishReason::ToolCalls
        } else {
            FinishReason::Stop
        };
        Reply {
            end: ReplyEnd::new(finish),
            message: Arc::new(Message::new(Role::Assistant, blocks)),
        }
    });
    replies.boxed()
}

fn origin() -> ToolOrigin {
    ToolOrigin {
        tool: "search notes".into(),
        toolbox: ToolboxId::parse("notes").expect("an id"),
    }
}

fn call_of(id: &ToolCallId, arguments: &str, ran_by: RanBy) -> Block {
    let mut block = Block::from(Content::ToolCall(Arc::new(ToolCall {
        id: id.clone(),
        input: ToolInput::Json(JsonInput::parse(arguments)),
        name: CalledName::new("notes__search"),
        ran_by,
        upstream: Some(UpstreamId {
            id: id.as_str().into(),
            owner: super::owner(),
        }),
    })));
    if ran_by == RanBy::Provider {
        block.opaque.push(ServerTool::state(&origin()));
    }
    block
}

fn outcome_of(id: &ToolCallId, text: &str, failed: bool) -> Block {
    let mut block = Block::from(Content::ToolOutcome(Arc::new(ToolOutcome {
        call: id.clone(),
        opaque: Vec::new(),
        result: ToolResult {
            is_error: failed,
            ..ToolResult::text(text)
        },
    })));
    block.opaque.push(ServerTool::state(&origin()));
    block
}

/// Words, a call of the server's own and its outcome, and a call of the client.
pub(super) fn example() -> Vec<Block> {
    let ids = ["call_1", "call_2"].map(|id| ToolCallId::parse(id).expect("an id"));
    vec![
        Block::text("One moment."),
        call_of(&ids[0], "{\"q\":\"react\"}", RanBy::Provider),
        outcome_of(&ids[0], "two notes", false),
        call_of(&ids[1], "{\"a\":1}", RanBy::Client),
    ]
}

#[test]
fn the_events_of_a_segment() {
    let reply = Reply {
        end: ReplyEnd::new(FinishReason::ToolCalls),
        message: Arc::new(Message::new(Role::Assistant, example())),
    };
    let mut runner = TestRunner::deterministic();
    let pieces = kit::deltas_of(&reply.message.blocks);
    let pieces = pieces.new_tree(&mut runner).expect("pieces").current();
    let events = told(Responses.encoder(&about()), &pieces, &reply.end);
    let text: Vec<String> = events.iter().map(Value::to_string).collect();
    insta::assert_snapshot!(text.join("\n"));
}

/// A text as the block of this number, in two pieces.
fn words(index: u32, text: &str) -> Vec<Delta> {
    let (one, other) = text.split_at(text.len() / 2);
    let piece = |text: &str| Delta::TextAppended {
        index,
        text: text.into(),
    };
    let start = BlockStart::Text;
    vec![
        Delta::BlockStarted { index, start },
        piece(one),
        piece(other),
        Delta::BlockEnded { index },
    ]
}

#[test]
fn whoever_has_events_of_a_try_that_is_asked_for_again_is_told_nothing_of_the_next() {
    let push = |encoder: &mut Box<dyn EncodeReply>, pieces: &[Delta]| -> Vec<Value> {
        let events = pieces.iter().flat_map(|delta| encoder.push(delta, None));
        events.map(|event| data(&event)).collect()
    };
    let (before, new) = (words(0, "One moment."), words(1, "All of it, told anew."));
    let mut live = Responses.encoder(&about());
    let holds = live.begin().len() + push(&mut live, &before).len();
    let lost = push(&mut live, &words(1, "Half of what was"));
    let last = lost
        .last()
        .and_then(|event| event["sequence_number"].as_u64());
    let end = ReplyEnd::new(FinishReason::Stop);
    let later = |known: Option<u64>| {
        let mut encoder = encoder_after(&about(), known);
        let mut events: Vec<Value> = encoder.begin().iter().map(data).collect();
        events.extend(push(&mut encoder, &before));
        let goes_on = encoder.restart();
        if goes_on {
            events.extend(push(&mut encoder, &new));
            events.extend(encoder.finish(&end).iter().map(data));
        } else {
            let error = ServeError::new(ServeErrorKind::Internal, "it broke off");
            events.extend(encoder.fail(&error, "").iter().map(data));
        }
        (goes_on, events)
    };
    let (_, whole) = later(None);
    let numbers: Vec<u64> = whole
        .iter()
        .filter_map(|event| event["sequence_number"].as_u64())
        .collect();
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
    let last = last.expect("events of the lost try");
    assert!(numbers[holds] > last && numbers[holds - 1] == holds as u64 - 1);
    for known in (0..=last).chain(numbers.iter().copied()) {
        let (goes_on, events) = later(Some(known));
        let is_lost = !numbers.contains(&known);
        assert_eq!(goes_on, !is_lost, "after {known}");
        if is_lost {
            let told = events.iter().map(|event| &event["type"]);
            assert_eq!(told.collect::<Vec<_>>(), ["response.failed"]);
            assert_eq!(events[0]["sequence_number"], known + 1);
        } else {
            let rest = numbers.iter().filter(|number| **number > known).count();
            assert_eq!(events, whole[whole.len() - rest..], "after {known}");
        }
    }
}
