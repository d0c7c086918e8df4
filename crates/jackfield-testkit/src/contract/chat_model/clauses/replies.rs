//! Clauses about the contents of a reply.

use std::sync::Arc;

use jackfield_domain::reply::FinishReason;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::usage::Usage;

use super::super::bench::{Bench, reply_text, tool};
use super::super::reply_meaning::{ReplyMeaning, counted};
use super::super::{BlockKind, ChatModelHarness, ScriptedBlock, VendorReply};
use crate::server::Response;

pub(in super::super) async fn text_arrives_in_order<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let pieces = ["It is ", "−3 °C", ", with a ", "🌨", " or two.\n\n", " Bye"];
    let wire = bench.render(&VendorReply::text(&pieces));
    let reply = bench.call(wire.response()).await.reply();
    assert_eq!(reply_text(&reply), pieces.concat());
    assert_eq!(reply.end.finish, FinishReason::Stop);
}

pub(in super::super) async fn finish_reasons_map_as_documented<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    // Every dialect has these reasons; the others are checked if the dialect has them.
    let common = [
        FinishReason::Length,
        FinishReason::Stop,
        FinishReason::Unrecognized("boredom".into()),
    ];
    let rare = [
        FinishReason::ContentFilter,
        FinishReason::ContextFull,
        FinishReason::Paused,
        FinishReason::Refused,
        FinishReason::StopSequence("END".into()),
    ];
    for finish in common {
        let wire = bench.render(&VendorReply::text(&["so far"]).finish(finish.clone()));
        let reply = bench.call(wire.response()).await.reply();
        assert_eq!(reply.end.finish, finish);
    }
    for finish in rare {
        let script = VendorReply::text(&["so far"]).finish(finish.clone());
        if let Some(wire) = harness.render(&script) {
            let reply = bench.call(wire.response()).await.reply();
            assert_eq!(reply.end.finish, finish);
        }
    }
    if harness.capabilities().tools {
        let call = ScriptedBlock::call("call_1", "weather", &["{}"]);
        let wire = bench.render(&VendorReply::from_blocks(vec![call]));
        let reply = bench.call(wire.response()).await.reply();
        assert_eq!(reply.end.finish, FinishReason::ToolCalls);
    }
}

pub(in super::super) async fn usage_is_reported_once<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let script = VendorReply::text(&["one ", "two ", "three"]);
    let wire = bench.render(&script);
    let reply = bench.call(wire.response()).await.reply();
    assert_eq!(reply.end.usage, Some(counted(harness, script.usage)));
    // No usage carries over to the next call.
    let reply = bench.call(wire.response()).await.reply();
    assert_eq!(reply.end.usage, Some(counted(harness, script.usage)));
}

pub(in super::super) async fn usage_totals_hold_their_parts<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let mut script = VendorReply::text(&["done"]);
    script.usage = Usage {
        cache_read: 40_961,
        cache_write: 0,
        input: 65_537,
        output: 9_973,
        reasoning: 8_191,
        ..Usage::default()
    };
    let wire = bench.render(&script);
    let told = bench.call(wire.response()).await.reply().end.usage;
    // The counts that the vendor sends are reported; those that it does not send are still part of its totals.
    let bytes = wire.pieces.concat();
    let sent = String::from_utf8_lossy(&bytes);
    let sent_count = |count: u64| {
        if sent.contains(&count.to_string()) {
            count
        } else {
            0
        }
    };
    let expected = Usage {
        cache_read: sent_count(script.usage.cache_read),
        reasoning: sent_count(script.usage.reasoning),
        ..script.usage
    };
    assert_eq!(told, Some(expected));
}

pub(in super::super) async fn text_after_calls_is_kept<H: ChatModelHarness>(harness: &H) {
    if !harness.capabilities().tools {
        return;
    }
    let bench = Bench::new(harness).await;
    let call = ScriptedBlock::call("call_1", "weather", &["{\"city\":", "\"Oslo\"}"]);
    let words = ScriptedBlock::text(&["I ", "asked."]);
    for blocks in [
        vec![call.clone(), words.clone()],
        vec![ScriptedBlock::text(&["Well. "]), call, words],
    ] {
        let script = VendorReply::from_blocks(blocks);
        let wire = bench.render(&script);
        let said = ReplyMeaning::from_reply(&bench.call(wire.response()).await.reply());
        assert_eq!(said, ReplyMeaning::from_script(harness, &script));
    }
}

pub(in super::super) async fn refusals_are_told_as_refusals<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let refusal = ScriptedBlock::refusal(&["I will ", "not do ", "that 🙅."]);
    let script = VendorReply::from_blocks(vec![refusal]);
    let Some(wire) = bench.with_block(BlockKind::Refusal, &script) else {
        return;
    };
    let mut said = ReplyMeaning::from_reply(&bench.call(wire.response()).await.reply());
    // Vendors with a refusal field have no finish reason for it; the dialect may assign one.
    if said.finish == FinishReason::Refused {
        said.finish = FinishReason::Stop;
    }
    assert_eq!(said, ReplyMeaning::from_script(harness, &script));
}

pub(in super::super) async fn custom_calls_come_as_text<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    // Text that looks like JSON stays text.
    for input in [["say ", "\"cheese\"\n"], ["{\"a\"", ": 1}"], ["", ""]] {
        let call = ScriptedBlock::custom("call_1", "note", &input);
        let script = VendorReply::from_blocks(vec![call]);
        let Some(wire) = bench.with_block(BlockKind::CustomCall, &script) else {
            return;
        };
        let mut request = bench.request();
        let note = ToolDefinition {
            input: InputFormat::Text(None),
            ..ToolDefinition::clone(&tool("note"))
        };
        Arc::make_mut(&mut request.tools).push(Arc::new(note));
        bench.answer(wire.response());
        let said = ReplyMeaning::from_reply(&bench.call_with(&request).await.reply());
        assert_eq!(said, ReplyMeaning::from_script(harness, &script));
    }
}

pub(in super::super) async fn recorded_replies_say_what_they_said<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    for recording in harness.recordings() {
        let said = ReplyMeaning::from_script(harness, &recording.meaning);
        let check = async |response: Response, how: String| {
            let reply = bench.call(response).await.reply();
            assert_eq!(
                ReplyMeaning::from_reply(&reply),
                said,
                "`{}` {how}",
                recording.name
            );
        };
        let whole = recording.wire.response();
        check(whole.clone(), "as it came".to_owned()).await;
        for size in [1, 2, 3, 7, 61, 1_000] {
            check(
                whole.clone().split_sends(size),
                format!("in pieces of {size} bytes"),
            )
            .await;
        }
        let length = recording.wire.pieces.concat().len();
        for place in (1..length).step_by(length.div_ceil(CUTS)) {
            check(
                recording.wire.cut_in_two(place),
                format!("cut at byte {place}"),
            )
            .await;
        }
    }
}

/// The number of cuts in a long recording; a shorter one is cut at every byte.
const CUTS: usize = 1_500;
