//! Streams as the vendor sends them, by its documentation (2026-11).

use jackfield_dialect_gemini::reply::to_wire;
use jackfield_dialect_gemini::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_domain::block::Content;
use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_domain::reply::{FinishReason, Reply};
use serde_json::{Value, json};

use crate::arb::{owner, signed};
use crate::reply_laws::accumulated;

fn read(events: &[Value]) -> Result<Reply, DecodeError> {
    let mut decoder = Decoder::new(owner());
    let mut deltas = Vec::new();
    for event in events {
        deltas.extend(decoder.push(None, &event.to_string())?);
    }
    deltas.extend(decoder.rest()?);
    Ok(accumulated(&deltas, decoder.finish()?))
}

fn parts(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] })
}

fn end(reason: &str) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": [{ "text": "" }] }, "finishReason": reason, "index": 0 }],
        "usageMetadata": { "promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "toolUsePromptTokenCount": 2, "totalTokenCount": 24 },
        "modelVersion": "gemini-3.8-flash",
        "responseId": "r1",
    })
}

#[test]
fn fragments_of_a_text_are_one_block_and_a_signed_part_stays_apart() {
    let reply = read(&[
        parts(json!([{ "text": "Let me", "thought": true }])),
        parts(json!([{ "text": " see.", "thought": true }])),
        parts(json!([{ "text": "It " }])),
        parts(json!([{ "text": "snows." }])),
        parts(json!([{ "text": "", "thoughtSignature": "c2ln" }])),
        end("STOP"),
    ])
    .expect("a reply");
    let said: Vec<(String, usize)> = reply
        .message
        .blocks
        .iter()
        .map(|block| match &block.content {
            Content::Text(text) => (text.text.to_string(), block.opaque.len()),
            Content::Thinking(thinking) => (format!("({})", thinking.text), block.opaque.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [("(Let me see.)", 1), ("It snows.", 0), ("", 1)];
    assert_eq!(
        said,
        expected.map(|(text, states)| (text.to_owned(), states))
    );
    assert_eq!(reply.message.blocks[2].opaque, [signed("c2ln")]);
    let usage = reply.end.usage.expect("usage");
    assert_eq!(
        (usage.input, usage.cache_read, usage.output, usage.reasoning),
        (12, 4, 12, 7)
    );
    assert_eq!(reply.end.upstream.as_deref(), Some("r1"));
}

#[test]
fn text_behind_a_finish_reason_continues_the_text() {
    let mut events = ["It ", "is ", "so."].map(|text| parts(json!([{ "text": text }])));
    for event in &mut events {
        event["candidates"][0]["finishReason"] = json!("STOP");
    }
    let reply = read(&events).expect("a reply");
    assert_eq!(reply.message.blocks.len(), 1);
    assert_eq!(reply.message.to_text(), "It is so.");
    assert_eq!(reply.end.finish, FinishReason::Stop);
}

#[test]
fn all_calls_are_taken_in_one_fragment_and_over_several() {
    let call = |name: &str| json!({ "functionCall": { "name": name, "args": { "a": 1 } } });
    let signed_call = json!({ "functionCall": { "name": "one", "args": { "a": 1 } }, "thoughtSignature": "c2ln" });
    let reply = read(&[
        parts(json!([signed_call, call("two")])),
        parts(json!([call("three")])),
        end("STOP"),
    ])
    .expect("a reply");
    let names: Vec<&str> = reply
        .message
        .calls()
        .map(|call| call.name.as_str())
        .collect();
    assert_eq!(names, ["one", "two", "three"]);
    let states: Vec<usize> = reply
        .message
        .blocks
        .iter()
        .map(|block| block.opaque.len())
        .collect();
    assert_eq!(states, [1, 0, 0]);
    assert_eq!(reply.end.finish, FinishReason::ToolCalls);
}

#[test]
fn what_a_filter_stopped_says_so() {
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" }, "usageMetadata": { "promptTokenCount": 9 } });
    let Err(DecodeError::Failed(failure)) = read(&[blocked]) else {
        panic!("the prompt was blocked");
    };
    assert_eq!(failure.kind, ModelFailureKind::ContentFilter);
    assert_eq!(failure.phase, Phase::BeforeFirstDelta);
    assert_eq!(
        failure.message,
        "the prompt was blocked (PROHIBITED_CONTENT)"
    );
    for reason in ["SAFETY", "RECITATION", "SPII", "MODEL_ARMOR"] {
        let bare = json!({ "candidates": [{ "finishReason": reason, "index": 0 }] });
        let reply = read(&[parts(json!([{ "text": "so" }])), bare]).expect("a reply");
        assert_eq!(reply.end.finish, FinishReason::ContentFilter, "{reason}");
        assert_eq!(reply.message.to_text(), "so");
    }
}

#[test]
fn what_the_model_wrote_wrongly_is_a_failure_with_its_phase() {
    for (reason, kind) in [
        ("MALFORMED_FUNCTION_CALL", ModelFailureKind::UnusableReply),
        ("UNEXPECTED_TOOL_CALL", ModelFailureKind::UnusableReply),
        (
            "MISSING_THOUGHT_SIGNATURE",
            ModelFailureKind::InvalidRequest,
        ),
    ] {
        for (before, phase) in [
            (json!([]), Phase::BeforeFirstDelta),
            (json!([{ "text": "so" }]), Phase::MidReply),
        ] {
            match read(&[parts(before), end(reason)]) {
                Err(DecodeError::Failed(failure)) => {
                    assert_eq!((failure.kind, failure.phase), (kind, phase), "{reason}");
                }
                other => panic!("{reason}: {other:?}"),
            }
        }
    }
}

#[test]
fn an_error_within_a_stream_may_stand_in_a_list() {
    let error = json!({ "error": { "code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE" } });
    for event in [error.clone(), json!([error])] {
        match read(&[parts(json!([{ "text": "so" }])), event]) {
            Err(DecodeError::Failed(failure)) => {
                assert_eq!(failure.kind, ModelFailureKind::Overloaded);
                assert_eq!(failure.phase, Phase::MidReply);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn parts_that_only_the_vendor_knows_go_back_as_they_came() {
    let part = json!({ "executableCode": { "language": "PYTHON", "code": "1" }, "thoughtSignature": "c2ln" });
    let picture = json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } });
    let reply = read(&[parts(json!([part, picture])), end("STOP")]).expect("a reply");
    let [opaque, image] = &*reply.message.blocks else {
        panic!("{reply:#?}");
    };
    match &opaque.content {
        Content::Opaque(opaque) => {
            assert_eq!((&*opaque.kind, &opaque.json), ("executableCode", &part));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(image.content, Content::Image(_)));
}

#[test]
fn words_on_the_end_reach_a_client_of_the_language() {
    let mut last = end("SAFETY");
    last["candidates"][0]["finishMessage"] = json!("This is not talked about.");
    let reply = read(&[parts(json!([{ "text": "so" }])), last]).expect("a reply");
    assert_eq!(reply.end.finish, FinishReason::ContentFilter);
    let (whole, _) = to_wire(&reply, "m", "r1");
    let text = serde_json::to_string(&whole).expect("JSON");
    assert_eq!(text.matches("finishMessage").count(), 1, "{text}");
    let told: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        told["candidates"][0]["finishMessage"],
        "This is not talked about."
    );
}

#[test]
fn sources_of_an_answer_stay_with_its_end() {
    let grounding = json!({ "webSearchQueries": ["snow"], "groundingChunks": [{ "web": { "uri": "https://a.example", "title": "A" } }] });
    let mut last = end("STOP");
    last["candidates"][0]["groundingMetadata"] = grounding.clone();
    let reply = read(&[parts(json!([{ "text": "so" }])), last]).expect("a reply");
    assert_eq!(
        reply.end.opaque[0].json,
        json!({ "groundingMetadata": grounding })
    );
}
