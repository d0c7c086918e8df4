//! Clauses about tool calls. An adapter without tools satisfies them by refusing tools.

use std::sync::Arc;

use jackfield_domain::block::{RanBy, ToolCall};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::tool_input::ToolInput;
use jackfield_ports::chat_model::ChatModel as _;
use serde_json::{Map, Value, json};

use super::super::bench::Bench;
use super::super::reply_meaning::ReplyMeaning;
use super::super::{ChatModelHarness, Manner, ScriptedBlock, VendorReply};

pub(in super::super) async fn tool_calls_keep_upstream_ids_names_and_order<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let script = [
        ("call_b", "weather", r#"{"city":"Oslo"}"#),
        ("call_a", "clock", r#"{"city":"Bergen"}"#),
        ("call_c", "weather", r#"{"city":"Oslo"}"#),
    ];
    let count = if harness.capabilities().parallel_calls {
        script.len()
    } else {
        1
    };
    let script = &script[..count];
    let mut blocks = vec![ScriptedBlock::text(&["I shall look."])];
    blocks.extend(
        script
            .iter()
            .map(|(id, name, arguments)| ScriptedBlock::call(id, name, &[*arguments])),
    );
    let Some(calls) = calls(&bench, blocks).await else {
        return;
    };
    assert_eq!(calls.len(), script.len());
    let owner = bench.model.state_owner(harness.model());
    for (call, (id, name, arguments)) in calls.iter().zip(script) {
        let upstream = call.upstream.as_ref().map(|id| (&*id.id, &id.owner));
        assert_eq!(upstream, Some((*id, &owner)));
        assert_eq!(call.name.as_str(), *name);
        assert_eq!(Some(arguments_of(call)), fields(arguments));
        assert_eq!(call.ran_by, RanBy::Engine);
    }
}

pub(in super::super) async fn split_arguments_are_joined<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let pieces = ["{\"ci", "ty\":\"Tromsø 🌨", " \\u00e9", "\"", "}"];
    let block = ScriptedBlock::call("call_1", "weather", &pieces);
    let Some(calls) = calls(&bench, vec![block]).await else {
        return;
    };
    let expected = json!({ "city": "Tromsø 🌨 é" });
    assert_eq!(Value::Object(arguments_of(&calls[0])), expected);
}

pub(in super::super) async fn empty_arguments_are_an_empty_object<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    for pieces in [[].as_slice(), &[""], &["{}"], &["", "{", "}"]] {
        let block = ScriptedBlock::call("call_1", "clock", pieces);
        let Some(calls) = calls(&bench, vec![block]).await else {
            return;
        };
        assert_eq!(arguments_of(&calls[0]), Map::new(), "{pieces:?}");
    }
}

pub(in super::super) async fn malformed_arguments_are_kept_as_text<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    for raw in [r#"{"city": "Os"#, r#"["Oslo"]"#, "{city: Oslo}"] {
        let block = ScriptedBlock::call("call_1", "weather", &[raw]);
        let Some(calls) = calls(&bench, vec![block]).await else {
            return;
        };
        match &calls[0].input {
            ToolInput::Json(input) => {
                assert_eq!(input.raw(), raw);
                assert!(input.object().is_err());
            }
            ToolInput::Text(text) => panic!("arguments of a JSON tool came as the text {text:?}"),
        }
    }
}

pub(in super::super) async fn truncated_arguments_are_not_repaired<H: ChatModelHarness>(
    harness: &H,
) {
    let can = harness.capabilities();
    if !can.tools {
        return;
    }
    let bench = Bench::new(harness).await;
    let whole = ScriptedBlock::call("call_1", "weather", &[r#"{"city":"Oslo"}"#]);
    for pieces in [["{\"city\": ", "\"Os"], ["{\"city\":", ""], ["{", ""]] {
        let cut_off = ScriptedBlock::call("call_2", "weather", &pieces);
        let blocks = if can.parallel_calls {
            vec![whole.clone(), cut_off]
        } else {
            vec![cut_off]
        };
        let script = VendorReply::from_blocks(blocks).finish(FinishReason::Length);
        for manner in [
            Manner::Usual,
            Manner::ArgumentsAtEnd,
            Manner::ArgumentsAtOnce,
            Manner::IndexMissing,
            Manner::IndexReused,
        ] {
            let script = script.clone().with_manner(manner);
            // Arguments that are JSON values cannot be cut.
            if manner != Manner::Usual && harness.render(&script).is_none() {
                continue;
            }
            let wire = bench.render(&script);
            let said = ReplyMeaning::from_reply(&bench.call(wire.response()).await.reply());
            assert_eq!(
                said,
                ReplyMeaning::from_script(harness, &script),
                "{script:?}"
            );
        }
    }
}

/// The calls of a reply; `None` if the adapter declares no tools.
async fn calls<H: ChatModelHarness>(
    bench: &Bench<'_, H>,
    blocks: Vec<ScriptedBlock>,
) -> Option<Vec<Arc<ToolCall>>> {
    if !bench.harness.capabilities().tools {
        return None;
    }
    let wire = bench.render(&VendorReply::from_blocks(blocks));
    let reply = bench.call(wire.response()).await.reply();
    let calls: Vec<Arc<ToolCall>> = reply.message.calls().cloned().collect();
    assert!(!calls.is_empty(), "a call was sent, and none came");
    Some(calls)
}

#[track_caller]
fn arguments_of(call: &ToolCall) -> Map<String, Value> {
    match &call.input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => Map::clone(fields),
            Err(fault) => panic!("{fault}: {:?}", input.raw()),
        },
        ToolInput::Text(text) => panic!("arguments of a JSON tool came as the text {text:?}"),
    }
}

fn fields(json: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(json).ok()
}
