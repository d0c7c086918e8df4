//! The gateway, as scenario 3 has it: over plain HTTP, a client of OpenAI's in front of Claude.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, kept};

/// The name that clients have for the model.
const MODEL: &str = "custom-claude-4-sonnet";

/// What is configured besides where Claude is.
const ALIAS: &str = "[aliases]\ncustom-claude-4-sonnet = \"claude/claude-sonnet-5\"\n";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept) -> Gateway {
    gateway_with(claude, sessions, "").await
}

async fn gateway_with(claude: &ScriptedClaude, sessions: &Kept, more: &str) -> Gateway {
    let more = format!("{ALIAS}{more}");
    let serve = sessions.gateway().at_with(&claude.base_url(), &more);
    Gateway::listening(serve.start()).await
}

fn calculate() -> Value {
    json!({ "type": "function", "function": {
        "name": "calculate",
        "description": "Calculates.",
        "parameters": {
            "type": "object",
            "properties": { "expression": { "type": "string" } },
            "required": ["expression"],
        },
    } })
}

fn asks(content: &str) -> Value {
    json!([{ "role": "user", "content": content }])
}

/// The history that a client sends back: what it asked, what it was answered, and these results.
fn with_results(asked: &Value, answered: &Value, results: &[(&str, &str)]) -> Value {
    let mut history = asked.as_array().cloned().unwrap_or_default();
    history.push(answered["choices"][0]["message"].clone());
    history.extend(results.iter().map(
        |(call, content)| json!({ "role": "tool", "tool_call_id": call, "content": content }),
    ));
    Value::Array(history)
}

fn call_ids(answered: &Value) -> Vec<String> {
    let calls = answered["choices"][0]["message"]["tool_calls"].as_array();
    let ids = calls.into_iter().flatten().map(|call| call["id"].as_str());
    ids.map(|id| id.expect("a call has an id").to_owned())
        .collect()
}

/// What was refused: status, type and code.
fn refusal(answer: &Answer) -> (u16, String, String) {
    let error: Value = serde_json::from_str(&answer.body).expect("an error is JSON");
    let word = |name: &str| error["error"][name].as_str().unwrap_or_default().to_owned();
    (answer.status, word("type"), word("code"))
}

fn is(status: u16, kind: &str, code: &str) -> (u16, String, String) {
    (status, kind.to_owned(), code.to_owned())
}

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn s3_01_a_client_gets_the_calls_of_its_own_tool() {
    let sum = json!({ "expression": "123 + 456" });
    let claude = ScriptedClaude::start([ScriptTurn::call("calculate", &sum)]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let body = json!({
        "model": MODEL,
        "messages": asks("please compute 123 + 456"),
        "tools": [calculate()],
    });
    let answer = gateway.post(CHAT, &body).answered().await;
    let said = answer.is(200);
    let choice = &said["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{said}");
    assert_eq!(choice["message"]["content"], Value::Null);
    let calls = choice["message"]["tool_calls"].as_array().expect("calls");
    assert_eq!(calls.len(), 1, "{said}");
    assert_eq!(calls[0]["function"]["name"], "calculate");
    let arguments = calls[0]["function"]["arguments"].as_str().expect("a text");
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), sum);
    assert_eq!(said["model"], MODEL);
    assert_eq!(said["usage"]["total_tokens"], 120, "{said}");
    assert!(
        said["id"].as_str().unwrap().starts_with("chatcmpl-"),
        "{said}"
    );
    assert!(!answer.header("x-request-id").is_empty());
    // Nothing of it is kept: there is neither a session nor a tool of this side.
    assert!(!answer.headers.contains_key("x-session-id"), "{answer:?}");
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn a_reply_is_asked_for_in_one_piece_where_nobody_reads_along() {
    let claude = ScriptedClaude::start(Script::by(|_| Some(ScriptTurn::text("Yes.")))).await;
    let body = |stream: bool, brings_tools: bool| {
        let mut body = json!({ "model": MODEL, "messages": asks("hi"), "stream": stream });
        if brings_tools {
            body["tools"] = json!([calculate()]);
        }
        body
    };
    // A stream, and a turn that is kept, are told as they are written.
    let asked = [
        (false, true, None),
        (true, true, Some(true)),
        (false, false, Some(true)),
    ];
    for (more, when_whole) in [("", None), ("[serve]\nwhole_replies = false\n", Some(true))] {
        let sessions = Kept::new();
        let gateway = gateway_with(&claude, &sessions, more).await;
        for (stream, brings_tools, streamed) in asked {
            let before = claude.requests().len();
            let answer = gateway
                .post(CHAT, &body(stream, brings_tools))
                .answered()
                .await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.said().contains("Yes."), "{answer:?}");
            let sent = claude.requests().swap_remove(before);
            let streamed = streamed.or(when_whole).map_or(Value::Null, Value::Bool);
            assert_eq!(sent["stream"], streamed, "{sent}");
        }
        gateway.end().await;
    }
}

#[tokio::test]
async fn s3_02_the_results_go_on_without_the_tools_with_a_session_or_without() {
    for with_session in [false, true] {
        let claude = ScriptedClaude::start([
            ScriptTurn::text("Hello."),
            ScriptTurn::call("calculate", &json!({ "expression": "123 + 456" })),
            ScriptTurn::text("It is 579."),
        ])
        .await;
        let sessions = Kept::new();
        let gateway = gateway(&claude, &sessions).await;
        let mut asked = asks("hi");
        // A session begins with a request that uses tools of this side.
        let first = json!({ "model": MODEL, "messages": asked });
        let first = gateway.post(CHAT, &first).answered().await;
        let said = first.is(200);
        let session = first.header("x-session-id").to_owned();
        let mut history = asked.as_array().cloned().unwrap();
        history.push(said["choices"][0]["message"].clone());
        history.push(json!({ "role": "user", "content": "please compute 123 + 456" }));
        asked = Value::Array(history);
        let body = json!({ "model": MODEL, "messages": asked, "tools": [calculate()] });
        let mut second = gateway.post(CHAT, &body);
        if with_session {
            second = second.header("x-session-id", &session);
        }
        let second = second.answered().await;
        let calls = second.is(200);
        assert_eq!(second.header("x-session-id"), session, "{second:?}");
        let ids = call_ids(&calls);
        let history = with_results(&asked, &calls, &[(&ids[0], "579")]);
        let body = json!({ "model": MODEL, "messages": history });
        let mut third = gateway.post(CHAT, &body);
        if with_session {
            third = third.header("x-session-id", &session);
        }
        let third = third.answered().await;
        let said = third.is(200);
        assert_eq!(
            said["choices"][0]["message"]["content"], "It is 579.",
            "{said}"
        );
        assert_eq!(said["choices"][0]["finish_reason"], "stop");
        assert_eq!(third.header("x-session-id"), session, "{third:?}");
        // The model was offered the tool again, which the client did not repeat.
        let requests = claude.requests();
        let last = requests.last().unwrap();
        assert_eq!(last["tools"][0]["name"], "calculate", "{last}");
        gateway.end().await;
        kept(&claude);
    }
}

#[tokio::test]
async fn s3_03_the_same_as_a_stream() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculate", &json!({ "expression": "123 + 456" })),
        ScriptTurn::text("It is 579."),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let asked = asks("please compute 123 + 456");
    let body = json!({
        "model": MODEL, "messages": asked, "stream": true, "tools": [calculate()],
        "stream_options": { "include_usage": true },
    });
    let answer = gateway.post(CHAT, &body).answered().await;
    assert_eq!(answer.events().last().map(String::as_str), Some("[DONE]"));
    assert!(
        answer
            .header("content-type")
            .starts_with("text/event-stream")
    );
    let events = answer.json_events();
    let deltas = events
        .iter()
        .map(|event| &event["choices"][0]["delta"]["tool_calls"][0]);
    let deltas: Vec<&Value> = deltas.filter(|delta| !delta.is_null()).collect();
    let id = deltas
        .iter()
        .find_map(|delta| delta["id"].as_str())
        .expect("an id");
    let arguments: String = deltas
        .iter()
        .filter_map(|delta| delta["function"]["arguments"].as_str())
        .collect();
    let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
    assert_eq!(arguments, json!({ "expression": "123 + 456" }));
    let finishes: Vec<&Value> = events
        .iter()
        .map(|event| &event["choices"][0]["finish_reason"])
        .filter(|reason| !reason.is_null())
        .collect();
    assert_eq!(finishes, ["tool_calls"], "{answer:?}");
    assert_eq!(events.last().unwrap()["usage"]["total_tokens"], 120);
    let call = json!({ "id": id, "type": "function", "function": {
        "name": "calculate", "arguments": arguments.to_string(),
    } });
    let body = json!({ "model": MODEL, "stream": true, "messages": [
        asked[0],
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": id, "content": "579" },
    ] });
    let answer = gateway.post(CHAT, &body).answered().await;
    let text: String = answer
        .json_events()
        .iter()
        .filter_map(|event| {
            event["choices"][0]["delta"]["content"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(text, "It is 579.", "{answer:?}");
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn s3_04_results_are_taken_all_together_or_not_at_all() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculate", &json!({ "expression": "1+1" }))
            .and_call("calculate", &json!({ "expression": "2+2" })),
        ScriptTurn::text("2 and 4."),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let asked = asks("both, please");
    let body = json!({ "model": MODEL, "messages": asked, "tools": [calculate()] });
    let calls = gateway.post(CHAT, &body).answered().await.is(200);
    let ids = call_ids(&calls);
    let [one, other] = ids.as_slice() else {
        panic!("two calls: {calls}");
    };
    let answers = |results: &[(&str, &str)]| {
        let history = with_results(&asked, &calls, results);
        gateway
            .post(CHAT, &json!({ "model": MODEL, "messages": history }))
            .answered()
    };
    let refused = answers(&[(one, "2")]).await;
    assert_eq!(
        refusal(&refused),
        is(400, "invalid_request_error", "results_missing")
    );
    assert!(refused.body.contains(other.as_str()), "{refused:?}");
    let said = answers(&[(other, "4"), (one, "2")]).await.is(200);
    assert_eq!(said["choices"][0]["message"]["content"], "2 and 4.");
    // In the order of the calls, whatever the order in which they came.
    let requests = claude.requests();
    let results = &requests[1]["messages"][2]["content"];
    let order: Vec<String> = (0..2).map(|n| results[n]["content"].to_string()).collect();
    assert!(
        order[0].contains('2') && order[1].contains('4'),
        "{results}"
    );
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn s3_05_a_stateless_client_goes_on_with_hidden_rounds() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })).when("calculate"),
        ScriptTurn::text("It is 42."),
        ScriptTurn::text("As I said.").when("what was it?"),
        ScriptTurn::text("Never mind.").when("forget it"),
    ])
    .await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    let mut history = asks("calculate").as_array().cloned().unwrap();
    let first = gateway
        .post(CHAT, &json!({ "model": MODEL, "messages": history }))
        .answered()
        .await;
    let said = first.is(200);
    let message = &said["choices"][0]["message"];
    assert_eq!(message["content"], "It is 42.", "{said}");
    assert_eq!(message["tool_calls"], Value::Null, "{said}");
    history.push(message.clone());
    history.push(json!({ "role": "user", "content": "what was it?" }));
    let second = gateway
        .post(CHAT, &json!({ "model": MODEL, "messages": history }))
        .answered()
        .await;
    second.is(200);
    assert_eq!(second.header("x-session-id"), first.header("x-session-id"));
    // The rounds that the client never saw are still there.
    let requests = claude.requests();
    assert!(
        requests[2]["messages"].to_string().contains("tool_result"),
        "{}",
        requests[2]
    );
    // What was edited is another conversation.
    history[0]["content"] = "calculate!".into();
    history[2]["content"] = "forget it".into();
    let third = gateway
        .post(CHAT, &json!({ "model": MODEL, "messages": history }))
        .answered()
        .await;
    third.is(200);
    assert_ne!(third.header("x-session-id"), first.header("x-session-id"));
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn s3_06_only_what_was_offered_is_called_and_the_policy_holds() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("launch", &json!({})),
        ScriptTurn::text("There is no such tool."),
        ScriptTurn::call("calculator", &json!({ "expression": "1" })),
        ScriptTurn::text("It is not there."),
    ])
    .await;
    let sessions = Kept::new();
    let more = "[policy.tools]\n\"builtin/calculator\" = \"deny\"\n";
    let gateway = gateway_with(&claude, &sessions, more).await;
    for (question, answer) in [
        ("launch it", "There is no such tool."),
        ("1", "It is not there."),
    ] {
        let body = json!({ "model": MODEL, "messages": asks(question) });
        let said = gateway.post(CHAT, &body).answered().await.is(200);
        assert_eq!(said["choices"][0]["message"]["content"], answer, "{said}");
    }
    let requests = claude.requests();
    let outcome = |n: usize| requests[n]["messages"][2]["content"].to_string();
    assert!(outcome(1).contains("no tool"), "{}", outcome(1));
    // The gateway does not offer a denied tool, and does not show the rule.
    assert!(outcome(3).contains("no tool"), "{}", outcome(3));
    assert!(!outcome(3).contains("denied"), "{}", outcome(3));
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn s3_07_each_way_to_be_refused_has_its_status_type_and_code() {
    let gate = Gate::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("I wait.").pause_after(0, &gate)]).await;
    let sessions = Kept::new();
    let gateway = gateway(&claude, &sessions).await;
    // Unknown session.
    let body = json!({ "model": MODEL, "messages": asks("hi") });
    let unknown = gateway
        .post(CHAT, &body)
        .header("x-session-id", "nobody")
        .answered()
        .await;
    assert_eq!(
        refusal(&unknown),
        is(404, "invalid_request_error", "session_not_found")
    );
    // A result for a call that nobody made.
    let body = json!({ "model": MODEL, "messages": [
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "call_x", "type": "function", "function": { "name": "a", "arguments": "{}" } },
        ] },
        { "role": "tool", "tool_call_id": "call_y", "content": "1" },
    ] });
    let stray = gateway.post(CHAT, &body).answered().await;
    assert_eq!(stray.status, 400, "{stray:?}");
    // Busy.
    let body = json!({ "model": MODEL, "messages": asks("slow") });
    let mut slow = gateway.post(CHAT, &body).sent().await;
    gate.reached().await;
    let list = sessions.run(&["sessions", "list", "--json"]).run().await;
    let list: Value = serde_json::from_str(&list.out).expect("a list");
    let session = list[0]["id"].as_str().expect("a session").to_owned();
    let busy = gateway
        .post(CHAT, &body)
        .header("x-session-id", &session)
        .answered()
        .await;
    assert_eq!(
        refusal(&busy),
        is(409, "invalid_request_error", "session_busy")
    );
    gate.open();
    slow.until("I wait.").await;
    drop(slow);
    // No such model.
    let body = json!({ "model": "nobody/nothing", "messages": asks("hi") });
    let model = gateway.post(CHAT, &body).answered().await;
    assert_eq!(
        refusal(&model),
        is(404, "invalid_request_error", "model_not_found")
    );
    gateway.end().await;
    kept(&claude);
}
