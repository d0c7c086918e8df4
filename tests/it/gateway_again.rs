//! Responses that failed, looked at again as events.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept};

const MODEL: &str = "claude-sonnet-5";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept) -> Gateway {
    let serve = sessions.gateway().at(&claude.base_url());
    Gateway::listening(serve.start()).await
}

/// The response of this id, once nothing more comes of it.
async fn over(gateway: &Gateway, id: &str) -> Value {
    loop {
        let answer = gateway.get(&format!("/v1/responses/{id}")).answered().await;
        let response = answer.is(200);
        if !["in_progress", "queued"].contains(&response["status"].as_str().expect("a status")) {
            return response;
        }
    }
}

#[tokio::test]
async fn a_response_that_failed_before_it_said_anything_ends_its_stream_as_failed() {
    let refused = ScriptTurn::status(
        400,
        &json!({
            "type": "error",
            "error": { "type": "invalid_request_error", "message": "the model will not have it" },
        }),
    );
    let claude = ScriptedClaude::start([refused]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let asked = json!({ "model": MODEL, "input": "hi", "background": true });
    let accepted = gateway
        .post("/v1/responses", &asked)
        .answered()
        .await
        .is(200);
    let id = accepted["id"].as_str().expect("an id");
    let response = over(&gateway, id).await;
    assert_eq!(response["status"], "failed");
    let path = format!("/v1/responses/{id}?stream=true");
    let events = gateway.get(&path).answered().await.json_events();
    let outline: Vec<_> = events
        .iter()
        .map(|event| (event["sequence_number"].as_u64(), event["type"].as_str()))
        .collect();
    assert_eq!(
        outline,
        [
            (Some(0), Some("response.created")),
            (Some(1), Some("response.in_progress")),
            (Some(2), Some("response.failed")),
        ]
    );
    assert_eq!(events[2]["response"], response);
    let path = format!("{path}&starting_after=1");
    let rest = gateway.get(&path).answered().await.json_events();
    assert_eq!(rest, events[2..]);
    gateway.end().await;
}

#[tokio::test]
async fn what_is_told_again_has_the_events_that_it_had() {
    let words = "It is a long way, 世界, and nobody knows where it ends.";
    let call = ScriptPart::Call {
        arguments: "{\"path\": \"some/where/that/is/far/away.txt\", \"n\": [1, 2, 3]}".to_owned(),
        id: None,
        name: "write".to_owned(),
    };
    let claude = ScriptedClaude::start([ScriptTurn::text(words).and(call).recut(7)]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let asked = json!({
        "model": MODEL, "input": "hi", "stream": true,
        "tools": [{
            "type": "function", "name": "write", "parameters": { "type": "object" }, "strict": false,
        }],
    });
    let live = gateway.post("/v1/responses", &asked).answered().await;
    let live = live.json_events();
    for (number, event) in (0_u64..).zip(&live) {
        assert_eq!(event["sequence_number"].as_u64(), Some(number), "{event}");
    }
    let id = live[0]["response"]["id"].as_str().expect("an id");
    let path = format!("/v1/responses/{id}?stream=true");
    assert_eq!(gateway.get(&path).answered().await.json_events(), live);
    for known in 0..live.len() {
        let path = format!("{path}&starting_after={known}");
        let rest = gateway.get(&path).answered().await.json_events();
        assert_eq!(rest, live[known + 1..], "after {known}");
    }
    gateway.end().await;
}

#[tokio::test]
async fn a_response_that_is_not_stored_is_neither_looked_at_nor_gone_on_from() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Yes.").again()]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let responses = "/v1/responses";
    let respond = |body: Value| gateway.post(responses, &body).answered();
    // Tools of this side may run in all of them, so that their turns are in the journal.
    let asked = json!({ "model": MODEL, "input": "hi", "store": false });
    let unstored = respond(asked).await;
    assert!(!unstored.header("x-session-id").is_empty(), "{unstored:?}");
    let unstored = unstored.is(200);
    let stored = respond(json!({ "model": MODEL, "input": "hi" }))
        .await
        .is(200);
    let chat = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "hi" }] });
    let chat = gateway.post("/v1/chat/completions", &chat).answered().await;
    let chat = chat.is(200)["id"]
        .as_str()
        .expect("an id")
        .replace("chatcmpl-", "resp_");
    let id = |response: &Value| response["id"].as_str().expect("an id").to_owned();
    let written_otherwise = id(&stored).replace("_0", "_00");
    for (previous, is_there) in [
        (id(&unstored), false),
        // What was told in another language is no response.
        (chat, false),
        (written_otherwise, false),
        (id(&stored), true),
    ] {
        let next = json!({ "model": MODEL, "input": "and?", "previous_response_id": previous });
        let next = respond(next).await;
        let looked_at = gateway
            .get(&format!("{responses}/{previous}"))
            .answered()
            .await;
        if is_there {
            assert_eq!((next.status, looked_at.status), (200, 200), "{next:?}");
        } else {
            let refused = next.is(400);
            assert_eq!(refused["error"]["code"], "previous_response_not_found");
            assert_eq!(refused["error"]["param"], "previous_response_id");
            assert_eq!(looked_at.status, 404, "{looked_at:?}");
        }
    }
    gateway.end().await;
}

#[tokio::test]
async fn a_response_to_results_repeats_its_own_request_also_after_a_restart() {
    let look = || ScriptTurn::call("look", &json!({}));
    let script = [look(), look(), look(), ScriptTurn::text("Done.")];
    let claude = ScriptedClaude::start(script).await;
    let sessions = Kept::new();
    let gateway_now = gateway(&claude, &sessions).await;
    let said = |response: &Value| {
        let fields = [
            "background",
            "instructions",
            "metadata",
            "model",
            "previous_response_id",
            "store",
        ];
        fields.map(|field| response[field].clone())
    };
    let asked = json!({
        "model": MODEL, "input": "hi", "instructions": "first", "metadata": { "n": "1" },
        "tools": [{
            "type": "function", "name": "look", "parameters": { "type": "object" }, "strict": false,
        }],
    });
    let answer = gateway_now.post("/v1/responses", &asked).answered().await;
    let mut responses = vec![answer.is(200)];
    let also = [
        // It says nothing of what the first one said.
        json!({}),
        json!({ "instructions": "third", "metadata": { "n": "3" }, "store": false }),
        json!({ "background": true, "metadata": { "n": "4" }, "model": format!("claude/{MODEL}") }),
    ];
    for more in also {
        let before = responses.last().expect("one before it");
        let call = &before["output"][0]["call_id"];
        let mut asked = json!({
            "model": MODEL,
            "input": [{ "type": "function_call_output", "call_id": call, "output": "seen" }],
        });
        if before["store"] == json!(true) {
            asked["previous_response_id"] = before["id"].clone();
        } else {
            let input = asked["input"].as_array_mut().expect("a list");
            input.insert(0, before["output"][0].clone());
            input.insert(0, json!({ "role": "user", "content": "hi" }));
        }
        let fields = asked.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        let answer = gateway_now.post("/v1/responses", &asked).answered().await;
        responses.push(answer.is(200));
    }
    assert_eq!(responses[1]["instructions"], Value::Null);
    let last = responses[3]["id"].as_str().expect("an id");
    // What is accepted is there at once.
    let looked_at = gateway_now.get(&format!("/v1/responses/{last}"));
    looked_at.answered().await.is(200);
    over(&gateway_now, last).await;
    let again = async |gateway: &Gateway| {
        for response in &responses {
            let id = response["id"].as_str().expect("an id");
            let answer = gateway.get(&format!("/v1/responses/{id}")).answered().await;
            if response["store"] == json!(false) {
                assert_eq!(answer.status, 404, "{answer:?}");
            } else {
                assert_eq!(said(&answer.is(200)), said(response));
            }
        }
        // Of these, only the last one was asked for in the background.
        for (place, status) in [(1, 400), (3, 200)] {
            let id = responses[place]["id"].as_str().expect("an id");
            let cancel = format!("/v1/responses/{id}/cancel");
            gateway
                .post(&cancel, &json!({}))
                .answered()
                .await
                .is(status);
        }
    };
    again(&gateway_now).await;
    gateway_now.end().await;
    let gateway_then = gateway(&claude, &sessions).await;
    again(&gateway_then).await;
    gateway_then.end().await;
}
