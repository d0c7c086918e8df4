//! Clauses about what a reply says.

use jackfield_domain::reply::FinishReason;

use super::super::bench::{Bench, words};
use super::super::{ChatModelHarness, ScriptedBlock, ScriptedReply};

pub(in super::super) async fn text_arrives_in_order<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let pieces = ["It is ", "−3 °C", ", with a ", "🌨", " or two.\n\n", " Bye"];
    let wire = bench.wire(&ScriptedReply::text(&pieces));
    let reply = bench.ask(wire.response()).await.reply();
    assert_eq!(words(&reply), pieces.concat());
    assert_eq!(reply.end.finish, FinishReason::Stop);
}

pub(in super::super) async fn finish_reasons_map_as_documented<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    // Every language has these; the others have to be told right where they can be told at all.
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
        let wire = bench.wire(&ScriptedReply::text(&["so far"]).finish(finish.clone()));
        let reply = bench.ask(wire.response()).await.reply();
        assert_eq!(reply.end.finish, finish);
    }
    for finish in rare {
        let script = ScriptedReply::text(&["so far"]).finish(finish.clone());
        if let Some(wire) = harness.render(&script) {
            let reply = bench.ask(wire.response()).await.reply();
            assert_eq!(reply.end.finish, finish);
        }
    }
    if harness.capabilities().tools {
        let call = ScriptedBlock::call("call_1", "weather", &["{}"]);
        let wire = bench.wire(&ScriptedReply::of(vec![call]));
        let reply = bench.ask(wire.response()).await.reply();
        assert_eq!(reply.end.finish, FinishReason::ToolCalls);
    }
}

pub(in super::super) async fn usage_is_reported_once<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let script = ScriptedReply::text(&["one ", "two ", "three"]);
    let wire = bench.wire(&script);
    let reply = bench.ask(wire.response()).await.reply();
    assert_eq!(reply.end.usage, Some(script.usage));
    // Nothing of it is kept for the next call.
    let reply = bench.ask(wire.response()).await.reply();
    assert_eq!(reply.end.usage, Some(script.usage));
}
