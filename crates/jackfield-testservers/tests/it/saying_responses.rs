//! What the script says, as Responses says it.

#![expect(clippy::unwrap_used, reason = "a broken answer fails the test")]

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::script::{Script, ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::http::{Response, ask};

async fn asked(server: &ScriptedOpenAi, more: Value) -> Response {
    let mut body = json!({
        "model": "gpt-6.2-sol",
        "input": "a",
        "reasoning": { "summary": "auto" },
        "instructions": "Be brief.",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    ask(&server.base_url(), "/v1/responses", &body).await
}

/// The events of a stream, each under its own name and with its number.
fn events(response: &Response) -> Vec<Value> {
    let events = response.body.split_terminator("\n\n").enumerate();
    events
        .map(|(number, event)| {
            let (name, data) = event.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
            assert_eq!(data["sequence_number"], number);
            data
        })
        .collect()
}

fn everything() -> ScriptTurn {
    ScriptTurn::reply([
        ScriptPart::Thinking {
            signature: "c2VjcmV0".to_owned(),
            text: "Let me think about 东京.".to_owned(),
        },
        ScriptPart::Text("First I need the weather.".to_owned()),
        ScriptPart::Call {
            arguments: r#"{"location": "Paris"}"#.to_owned(),
            id: None,
            name: "get_weather".to_owned(),
        },
        ScriptPart::TextCall {
            id: Some("call_7".to_owned()),
            input: "print(東)".to_owned(),
            name: "run".to_owned(),
        },
    ])
    .using(Usage {
        cache_read: 5,
        cache_write: 7,
        input: 40,
        output: 9,
        reasoning: 3,
        ..Usage::default()
    })
}

#[tokio::test]
async fn a_whole_reply_is_a_document_of_items() {
    let server = ScriptedOpenAi::start([everything()]).await;
    let said = asked(&server, json!({})).await.json();
    assert_eq!(
        (said["object"].as_str(), said["status"].as_str()),
        (Some("response"), Some("completed"))
    );
    assert!(said["id"].as_str().unwrap().starts_with("resp_"));
    assert_eq!(said["instructions"], "Be brief.");
    let output = said["output"].as_array().unwrap();
    for (item, prefix) in output.iter().zip(["rs_", "msg_", "fc_", "ctc_"]) {
        assert!(item["id"].as_str().unwrap().starts_with(prefix), "{item}");
    }
    let mut bare = output.clone();
    for item in &mut bare {
        item["id"] = json!("");
    }
    let call_id = bare[2]["call_id"].take();
    assert!(call_id.as_str().unwrap().starts_with("call_"));
    assert_eq!(
        json!(bare),
        json!([
            {
                "id": "",
                "type": "reasoning",
                "summary": [{ "type": "summary_text", "text": "Let me think about 东京." }],
                "encrypted_content": "c2VjcmV0",
            },
            {
                "id": "",
                "type": "message",
                "status": "completed",
                "content": [{ "type": "output_text", "annotations": [], "logprobs": [], "text": "First I need the weather." }],
                "role": "assistant",
                "phase": "commentary",
            },
            {
                "id": "",
                "type": "function_call",
                "status": "completed",
                "arguments": "{\"location\": \"Paris\"}",
                "call_id": null,
                "name": "get_weather",
            },
            {
                "id": "",
                "type": "custom_tool_call",
                "status": "completed",
                "call_id": "call_7",
                "input": "print(東)",
                "name": "run",
            },
        ])
    );
    assert_eq!(
        said["usage"],
        json!({
            "input_tokens": 40,
            "input_tokens_details": { "cached_tokens": 5, "cache_write_tokens": 7 },
            "output_tokens": 9,
            "output_tokens_details": { "reasoning_tokens": 3 },
            "total_tokens": 49,
        })
    );
}

#[tokio::test]
async fn a_streamed_reply_is_events_of_the_vendors_form() {
    let server = ScriptedOpenAi::start(Script::by(|_| Some(everything()))).await;
    let streamed = events(&asked(&server, json!({ "stream": true })).await);
    let kinds = streamed.iter().map(|event| {
        event["type"]
            .as_str()
            .unwrap()
            .trim_start_matches("response.")
    });
    let mut kinds: Vec<&str> = kinds.collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "created",
            "in_progress",
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "output_item.added",
            "custom_tool_call_input.delta",
            "custom_tool_call_input.done",
            "output_item.done",
            "completed",
        ]
    );
    let last = &streamed.last().unwrap()["response"];
    let of = |kind: &str| {
        let events = streamed
            .iter()
            .filter(|event| event["type"] == format!("response.{kind}"));
        events.cloned().collect::<Vec<Value>>()
    };
    // Each item is announced without what is to come, and told whole at its end.
    let done = of("output_item.done");
    for (added, done) in of("output_item.added").iter().zip(&done) {
        assert_eq!(added["output_index"], done["output_index"]);
        assert_eq!(added["item"]["id"], done["item"]["id"]);
        assert_ne!(added["item"], done["item"]);
    }
    let items = done.iter().map(|event| event["item"].clone());
    assert_eq!(json!(items.collect::<Vec<Value>>()), last["output"]);
    for (kind, whole) in [
        ("reasoning_summary_text.delta", "Let me think about 东京."),
        ("output_text.delta", "First I need the weather."),
        ("function_call_arguments.delta", r#"{"location": "Paris"}"#),
        ("custom_tool_call_input.delta", "print(東)"),
    ] {
        let deltas = of(kind);
        let text: String = deltas
            .iter()
            .filter_map(|event| event["delta"].as_str())
            .collect();
        assert_eq!(text, whole);
        assert!(
            deltas.iter().all(|event| event["obfuscation"].is_string()),
            "{kind}"
        );
        assert!(
            deltas.iter().all(|event| event["item_id"].is_string()),
            "{kind}"
        );
    }
    assert_eq!(
        of("output_text.done")[0]["text"],
        "First I need the weather."
    );
    assert_eq!(of("created")[0]["response"]["status"], "in_progress");
    assert_eq!(of("created")[0]["response"]["usage"], json!(null));
    // The same as the whole reply, but for the ids.
    let whole = asked(&server, json!({})).await.json();
    assert_eq!(last["usage"], whole["usage"]);
    assert_eq!(last["output"][1]["content"], whole["output"][1]["content"]);
    let options = json!({ "stream": true, "stream_options": { "include_obfuscation": false } });
    let bare = events(&asked(&server, options).await);
    assert!(bare.iter().all(|event| event.get("obfuscation").is_none()));
}

#[tokio::test]
async fn a_reply_that_does_not_end_by_itself_is_incomplete() {
    for (finish, status, reason) in [
        (
            FinishReason::Length,
            "incomplete",
            json!({ "reason": "max_output_tokens" }),
        ),
        (
            FinishReason::ContentFilter,
            "incomplete",
            json!({ "reason": "content_filter" }),
        ),
        (
            FinishReason::Unrecognized("steered".into()),
            "incomplete",
            json!({ "reason": "steered" }),
        ),
        (FinishReason::Refused, "completed", json!(null)),
    ] {
        let turn = ScriptTurn::text("x").finish(finish);
        let server = ScriptedOpenAi::start([turn.clone(), turn]).await;
        let whole = asked(&server, json!({})).await.json();
        assert_eq!(whole["status"], status);
        assert_eq!(whole["incomplete_details"], reason);
        assert_eq!(whole["output"][0]["status"], status);
        let streamed = events(&asked(&server, json!({ "stream": true })).await);
        let last = streamed.last().unwrap();
        assert_eq!(last["type"], format!("response.{status}"));
        assert_eq!(last["response"]["incomplete_details"], reason);
    }
}

#[tokio::test]
async fn a_refusal_is_a_part_and_a_summary_is_for_those_who_ask() {
    let thinking = ScriptPart::Thinking {
        signature: "x".to_owned(),
        text: "No.".to_owned(),
    };
    let turn = ScriptTurn::reply([
        thinking,
        ScriptPart::Refusal("I cannot do this.".to_owned()),
    ]);
    let server = ScriptedOpenAi::start([turn.clone(), turn]).await;
    let quiet = asked(&server, json!({ "reasoning": { "effort": "low" } }))
        .await
        .json();
    assert_eq!(quiet["output"][0]["summary"], json!([]));
    let refusal = json!([{ "type": "refusal", "refusal": "I cannot do this." }]);
    assert_eq!(quiet["output"][1]["content"], refusal);
    assert_eq!(quiet["output"][1]["phase"], "final_answer");
    let streamed = events(&asked(&server, json!({ "stream": true })).await);
    let done = streamed
        .iter()
        .find(|event| event["type"] == "response.refusal.done");
    assert_eq!(done.unwrap()["refusal"], "I cannot do this.");
}
