//! Segments: the rounds of a turn as one message, in pieces and whole.

use std::fmt::Write as _;
use std::sync::Arc;

use jackfield_dialect_claude::serve::ClaudeServer;
use jackfield_dialect_claude::stream::{DecodeReply as _, Decoder, SseEvent};
use jackfield_dialect_claude::wire;
use jackfield_dialect_kit::serve::{ServeDialect as _, ServeError, ServeErrorKind};
use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::usage::Usage;
use jackfield_testkit::{arb as kit, outline};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};

use super::{about, ran_here, shown};
use crate::arb::{self, owner};
use crate::examples;
use crate::reply_laws::accumulated;

/// A reply in which half of what a provider ran was run by us, and its pieces.
pub(crate) fn segment() -> BoxedStrategy<(Reply, Vec<Delta>)> {
    let segment = (arb::reply(), any::<u8>()).prop_flat_map(|(reply, ours)| {
        let mut message = (*reply.message).clone();
        message.role = Role::Assistant;
        let mut nth = 0;
        for block in &mut message.blocks {
            let served = match &block.content {
                Content::ToolCall(call) => call.ran_by == RanBy::Provider,
                Content::ToolOutcome(_) => true,
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_) => false,
            };
            if served && ours >> (nth / 2 % 8) & 1 == 0 {
                block.opaque = vec![ran_here()];
            }
            nth += usize::from(served);
        }
        let deltas = kit::deltas_of(&message.blocks);
        let reply = Reply {
            message: Arc::new(message),
            ..reply
        };
        (Just(reply), deltas)
    });
    segment.boxed()
}

/// The events of these pieces of a reply.
pub(crate) fn told(reply: &Reply, deltas: &[Delta]) -> Vec<SseEvent> {
    let mut encoder = ClaudeServer.encoder(&about());
    let mut events = encoder.begin();
    let mut blocks = reply.message.blocks.iter();
    for delta in deltas {
        let call = started(delta, &mut blocks);
        events.extend(encoder.push(delta, call));
    }
    events.extend(encoder.finish(&reply.end));
    events
}

/// Our id of the call that begins with this piece: blocks begin in their order.
fn started<'a>(
    delta: &Delta,
    blocks: &mut impl Iterator<Item = &'a Block>,
) -> Option<&'a ToolCallId> {
    if !matches!(delta, Delta::BlockStarted { .. }) {
        return None;
    }
    match &blocks.next()?.content {
        Content::ToolCall(call) => Some(&call.id),
        _ => None,
    }
}

fn decoded(events: &[SseEvent]) -> (Vec<Delta>, ReplyEnd) {
    let mut decoder = Decoder::new(owner());
    let mut deltas = Vec::new();
    for event in events {
        let told = decoder.push(event.event, &event.data);
        deltas.extend(told.expect("sound events"));
    }
    (deltas, decoder.finish().expect("a whole reply"))
}

proptest! {
    #[test]
    fn a_streamed_segment_is_the_whole_one((reply, deltas) in segment()) {
        let (streamed, streamed_end) = decoded(&told(&reply, &deltas));
        let (body, _) = ClaudeServer.reply(&reply, &about());
        let message: wire::Message = serde_json::from_slice(&body).expect("a message");
        let (whole, whole_end) = Decoder::new(owner()).decode_message(&message).expect("a whole reply");
        prop_assert_eq!(&streamed_end, &whole_end);
        let streamed = accumulated(&streamed, streamed_end);
        let whole = accumulated(&whole, whole_end);
        let differences = outline::differences(
            &outline::of_blocks(&without_late_states(&streamed.message.blocks)),
            &outline::of_blocks(&without_late_states(&whole.message.blocks)),
        );
        prop_assert!(differences.is_empty(), "{differences:?}");
    }
}

/// Without what hangs on a call of the client's: its block begins before that is known.
fn without_late_states(blocks: &[Block]) -> Vec<Block> {
    let mut blocks = blocks.to_vec();
    for block in &mut blocks {
        if matches!(&block.content, Content::ToolCall(call) if call.ran_by != RanBy::Provider) {
            block.opaque.clear();
        }
    }
    blocks
}

/// A turn of two rounds: thinking, a tool of ours, and then words and a call of the client's.
pub(crate) fn two_rounds() -> Reply {
    let picture = jackfield_domain::media::Image {
        detail: None,
        source: jackfield_domain::media::MediaSource::Url("https://pictures.example/a.png".into()),
    };
    let mut thinking = Block::from(Content::Thinking(jackfield_domain::block::Thinking {
        redacted: false,
        text: "The file first.".into(),
    }));
    thinking.opaque = vec![arb::own_state("signature", json!("c2ln"))];
    let [read, text] = shown(
        "call_1",
        "{\"path\": \"a.txt\"}",
        ToolResult::text("line one"),
    );
    let mut result = ToolResult::error("not found");
    result.content.push(OutcomePart::Image(picture));
    let [again, failed] = shown("call_2", "", result);
    let counted = ToolResult {
        structured: Some(Arc::new(json!({ "lines": 1 }))),
        ..ToolResult::default()
    };
    let [count, lines] = shown("call_3", "{}", counted);
    let blocks = vec![
        thinking,
        read,
        again,
        text,
        failed,
        count,
        lines,
        Block::text("It has one line."),
        examples::call("call_4", None, "{\"text\": \"one\"}"),
    ];
    let mut end = ReplyEnd::new(FinishReason::ToolCalls);
    end.usage = Some(Usage {
        input: 40,
        output: 12,
        ..Usage::default()
    });
    Reply {
        end,
        message: Message::new(Role::Assistant, blocks).into(),
    }
}

/// The pieces of a reply, each block cut in two at most.
pub(crate) fn cut(reply: &Reply) -> Vec<Delta> {
    let strategy = kit::deltas_of(&reply.message.blocks);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tree = Strategy::new_tree(&strategy, &mut runner);
    ValueTree::current(&tree.expect("pieces"))
}

#[test]
fn two_rounds_as_one_message() {
    let reply = two_rounds();
    let mut text = String::new();
    for event in told(&reply, &cut(&reply)) {
        write!(text, "{event}").expect("a string takes everything");
    }
    let (body, notes) = ClaudeServer.reply(&reply, &about());
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    writeln!(text, "{body:#}").expect("a string takes everything");
    for note in notes {
        writeln!(text, "{note:?}").expect("a string takes everything");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_reply_without_a_piece_is_still_begun_and_ended() {
    let empty = Reply {
        end: ReplyEnd::new(FinishReason::Stop),
        message: Message::new(Role::Assistant, Vec::new()).into(),
    };
    let names: Vec<_> = told(&empty, &[]).iter().map(|event| event.event).collect();
    let expected = ["message_start", "message_delta", "message_stop"];
    assert_eq!(names, expected.map(Some));
}

#[test]
fn a_broken_reply_ends_in_an_error_and_a_quiet_one_pings() {
    let mut encoder = ClaudeServer.encoder(&about());
    assert_eq!(encoder.begin().len(), 1);
    assert_eq!(encoder.begin(), []);
    assert_eq!(
        encoder.keep_alive(),
        "event: ping\ndata: {\"type\":\"ping\"}\n\n"
    );
    let error = ServeError::new(ServeErrorKind::Cancelled, "The turn was cancelled.");
    let told = encoder.fail(&error, "req_1");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].event, Some("error"));
    let data: Value = serde_json::from_str(&told[0].data).expect("JSON");
    let expected = json!({
        "type": "error",
        "error": {
            "type": "conflict_error",
            "message": "The turn was cancelled.",
            "details": { "error_code": "turn_cancelled" },
        },
        "request_id": "req_1",
    });
    assert_eq!(data, expected);
}
