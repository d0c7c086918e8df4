//! The AI SDK's UI message stream: chunks of turns that are kept.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::{gateway, is_problem};
use crate::harness::{Answer, Gateway, Kept, kept};

/// Every call of a tool asks a person.
const ASKS: &str = "[policy.tools]\n\"*\" = \"ask\"\n";

fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

fn chat(messages: &[Value]) -> Value {
    json!({ "id": "chat 1", "trigger": "submit-message", "messages": messages })
}

async fn post(gateway: &Gateway, body: &Value) -> Answer {
    gateway.post("/api/v1/ui/chat", body).answered().await
}

/// The chunks of a stream that came to its end.
#[track_caller]
fn chunks(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    let text = answer.body.replace("\r\n", "\n");
    let mut frames: Vec<&str> = text
        .split("\n\n")
        .filter_map(|frame| frame.strip_prefix("data: "))
        .collect();
    assert_eq!(frames.pop(), Some("[DONE]"), "{text}");
    frames
        .iter()
        .map(|frame| serde_json::from_str(frame).expect("JSON"))
        .collect()
}

/// The kinds of chunks, those of one kind in a row once.
fn kinds(chunks: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = chunks
        .iter()
        .filter_map(|chunk| chunk["type"].as_str())
        .collect();
    kinds.dedup();
    kinds
}

fn text(chunks: &[Value]) -> String {
    let texts = chunks.iter().filter(|chunk| chunk["type"] == "text-delta");
    texts.filter_map(|chunk| chunk["delta"].as_str()).collect()
}

/// The texts of the messages of a model call, those of one message joined.
fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().expect("messages");
    let texts = messages.iter().map(|message| {
        let content = &message["content"];
        if let Some(text) = content.as_str() {
            return text.to_owned();
        }
        let blocks = content.as_array().into_iter().flatten();
        blocks.filter_map(|block| block["text"].as_str()).collect()
    });
    texts.collect()
}

/// The session of a message.
fn session(chunks: &[Value]) -> String {
    let session = chunks[0]["messageMetadata"]["session"].as_str();
    session.expect("a session").to_owned()
}

/// The message of the assistant, as a front end sends it back.
fn assistant(chunks: &[Value]) -> Value {
    json!({ "id": chunks[0]["messageId"], "role": "assistant", "parts": [] })
}

/// A gateway that asks a person for each call.
async fn asking(files: &Kept, turns: Vec<ScriptTurn>) -> (Gateway, ScriptedClaude) {
    let claude = ScriptedClaude::start(turns).await;
    let running = files.gateway().at_with(&claude.base_url(), ASKS).start();
    (Gateway::listening(running).await, claude)
}

#[tokio::test]
async fn a_message_is_streamed_with_its_calls_and_a_repetition_is_the_same_turn() {
    let files = Kept::new();
    let turns = [
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
    ];
    let (gateway, claude) = gateway(&files, turns).await;
    let body = chat(&[user("m1", "What is 6*7?")]);
    let first = chunks(&post(&gateway, &body).await);
    assert_eq!(
        kinds(&first),
        [
            "start",
            "start-step",
            "tool-input-start",
            "tool-input-delta",
            "tool-input-available",
            "tool-output-available",
            "finish-step",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish",
        ],
        "{first:#?}"
    );
    let called = first
        .iter()
        .find(|chunk| chunk["type"] == "tool-input-available")
        .expect("a call");
    assert_eq!(
        (
            &called["toolName"],
            &called["input"],
            &called["providerExecuted"]
        ),
        (
            &json!("calculator"),
            &json!({ "expression": "6*7" }),
            &json!(true)
        )
    );
    assert_eq!(text(&first), "It is 42.");
    assert_eq!(
        first.last(),
        Some(&json!({ "type": "finish", "finishReason": "stop" }))
    );
    // The same request again, and a client that resumes, get the same message.
    let again = chunks(&post(&gateway, &body).await);
    let resumed = gateway
        .get("/api/v1/ui/chat/chat%201/stream")
        .answered()
        .await;
    for other in [again, chunks(&resumed)] {
        assert_eq!(
            (&other[0], kinds(&other), text(&other)),
            (&first[0], kinds(&first), text(&first))
        );
    }
    let none = gateway.get("/api/v1/ui/chat/other/stream").answered().await;
    assert_eq!((none.status, &*none.body), (204, ""));
    // The session is one of the others.
    let session = first[0]["messageMetadata"]["session"]
        .as_str()
        .expect("a session");
    let session = gateway
        .get(&format!("/api/v1/sessions/{session}"))
        .answered()
        .await;
    assert_eq!(session.is(200)["turns"], 1);
    for wrong in [
        json!({ "id": "", "messages": [user("m", "a")] }),
        json!({ "id": "a", "messages": [] }),
        json!({ "id": "a", "messages": [user("m", " ")] }),
        json!({ "id": "a", "messages": [{ "id": "m", "role": "system", "parts": [] }] }),
        json!({ "id": "a" }),
    ] {
        is_problem(&post(&gateway, &wrong).await, 400, "invalid");
    }
    let foreign = json!({ "id": "new", "messages": [user("m1", "a"), user("m2", "b")] });
    is_problem(&post(&gateway, &foreign).await, 409, "conflict");
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn approvals_are_answered_in_the_message_and_a_denied_call_is_told() {
    let files = Kept::new();
    let turns = vec![
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" }))
            .and_call("calculator", &json!({ "expression": "2+2" })),
        ScriptTurn::text("2, and not allowed."),
    ];
    let (gateway, claude) = asking(&files, turns).await;
    let message = user("m1", "What is 1+1, and 2+2?");
    let first = chunks(&post(&gateway, &chat(std::slice::from_ref(&message))).await);
    assert_eq!(
        first.last(),
        Some(&json!({ "type": "finish", "finishReason": "tool-calls" }))
    );
    let asked: Vec<&Value> = first
        .iter()
        .filter(|chunk| chunk["type"] == "tool-approval-request")
        .collect();
    assert_eq!(asked.len(), 2, "{first:#?}");
    let parts: Vec<Value> = asked
        .iter()
        .enumerate()
        .map(|(nth, asked)| {
            json!({
                "type": "dynamic-tool", "toolName": "calculator", "toolCallId": asked["toolCallId"],
                "state": "approval-responded", "providerExecuted": true,
                "approval": { "id": asked["approvalId"], "approved": nth == 0, "reason": "too easy" },
            })
        })
        .collect();
    let assistant = json!({ "id": first[0]["messageId"], "role": "assistant", "parts": parts });
    let body = chat(&[message, assistant]);
    let rest = chunks(&post(&gateway, &body).await);
    assert_eq!(
        rest[0],
        json!({ "type": "start", "messageId": first[0]["messageId"] })
    );
    let mut seen = kinds(&rest);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(
        seen,
        [
            "finish",
            "finish-step",
            "start",
            "start-step",
            "text-delta",
            "text-end",
            "text-start",
            "tool-approval-response",
            "tool-output-available",
            "tool-output-denied",
        ],
        "{rest:#?}"
    );
    let ended = |kind: &str| {
        rest.iter()
            .find(|chunk| chunk["type"] == kind)
            .map(|chunk| &chunk["toolCallId"])
    };
    assert_eq!(
        ended("tool-output-available"),
        Some(&asked[0]["toolCallId"])
    );
    assert_eq!(ended("tool-output-denied"), Some(&asked[1]["toolCallId"]));
    // The same answers again get the same rest.
    assert_eq!(text(&chunks(&post(&gateway, &body).await)), text(&rest));
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_rewritten_conversation_goes_on_in_a_fork() {
    let files = Kept::new();
    let turns = [
        ScriptTurn::text("one"),
        ScriptTurn::text("two"),
        ScriptTurn::text("other two"),
        ScriptTurn::text("third"),
    ];
    let (gateway, claude) = gateway(&files, turns).await;
    let (first, second) = (user("m1", "First"), user("m2", "Second"));
    let one = chunks(&post(&gateway, &chat(std::slice::from_ref(&first))).await);
    let messages = [first.clone(), assistant(&one), second];
    let two = chunks(&post(&gateway, &chat(&messages)).await);
    assert_eq!(text(&two), "two");
    let mut again = chat(&messages);
    again["trigger"] = json!("regenerate-message");
    again["messageId"] = two[0]["messageId"].clone();
    let other = chunks(&post(&gateway, &again).await);
    assert_eq!(text(&other), "other two");
    assert_ne!(session(&two), session(&other));
    // From now on, the fork is the chat.
    let resumed = gateway
        .get("/api/v1/ui/chat/chat%201/stream")
        .answered()
        .await;
    assert_eq!(text(&chunks(&resumed)), "other two");
    let third = chunks(&post(&gateway, &chat(&[user("m9", "Edited")])).await);
    assert_eq!(text(&third), "third");
    assert_eq!(
        claude.requests()[3]["messages"].as_array().map(Vec::len),
        Some(1)
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_conversation_that_is_rewritten_at_two_gateways_at_once_is_forked_once() {
    const TIMES: usize = 12;
    let files = Kept::new();
    let turns: Vec<_> = (0..=TIMES)
        .map(|nth| ScriptTurn::text(format!("answer {nth}")))
        .collect();
    let (first, claude) = gateway(&files, turns).await;
    let running = files.gateway().at(&claude.base_url()).start();
    let second = Gateway::listening(running).await;
    let opening = user("m1", "First");
    let reply = assistant(&chunks(
        &post(&first, &chat(std::slice::from_ref(&opening))).await,
    ));
    for nth in 1..=TIMES {
        let last = user("m2", &nth.to_string());
        // A new second message is a fork, a new first one is a session without a history.
        let rewritten = if nth <= TIMES / 2 {
            chat(&[opening.clone(), reply.clone(), last])
        } else {
            chat(&[last])
        };
        let (one, other) = tokio::join!(post(&first, &rewritten), post(&second, &rewritten));
        for answer in [one, other] {
            assert_eq!(text(&chunks(&answer)), format!("answer {nth}"));
        }
    }
    kept(&claude);
    first.end().await;
    second.end().await;
}

#[tokio::test]
async fn the_turns_before_a_fork_count_in_it() {
    let files = Kept::new();
    let turns = [
        "one",
        "two",
        "other two",
        "another two",
        "three",
        "last two",
    ]
    .map(ScriptTurn::text);
    let (gateway, claude) = gateway(&files, turns).await;
    let (first, second) = (user("m1", "First"), user("m2", "Second"));
    let one = chunks(&post(&gateway, &chat(std::slice::from_ref(&first))).await);
    let until_second = [first.clone(), assistant(&one), second.clone()];
    let mut two = chunks(&post(&gateway, &chat(&until_second)).await);
    for wanted in ["other two", "another two"] {
        let mut again = chat(&until_second);
        again["trigger"] = json!("regenerate-message");
        again["messageId"] = two[0]["messageId"].clone();
        two = chunks(&post(&gateway, &again).await);
        assert_eq!(text(&two), wanted);
    }
    let until_third = [&until_second[..], &[assistant(&two), user("m3", "Third")]].concat();
    let three = chunks(&post(&gateway, &chat(&until_third)).await);
    assert_eq!(text(&three), "three");
    // A message goes on in the session of the one before it.
    assert_eq!(session(&three), session(&two));
    let edited = [first, assistant(&one), user("m4", "Edited")];
    assert_eq!(
        text(&chunks(&post(&gateway, &chat(&edited)).await)),
        "last two"
    );
    let asked: Vec<Vec<String>> = claude.requests().iter().map(told).collect();
    assert_eq!(
        asked,
        [
            vec!["First"],
            vec!["First", "one", "Second"],
            vec!["First", "one", "Second"],
            vec!["First", "one", "Second"],
            vec!["First", "one", "Second", "another two", "Third"],
            vec!["First", "one", "Edited"],
        ]
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn messages_are_told_apart_by_their_place_and_content() {
    let files = Kept::new();
    let turns = ["one", "two", "three", "four"].map(ScriptTurn::text);
    let (gateway, claude) = gateway(&files, turns).await;
    // An edited message keeps its id.
    let first = chunks(&post(&gateway, &chat(&[user("m1", "First")])).await);
    let edited = chunks(&post(&gateway, &chat(&[user("m1", "Edited")])).await);
    assert_ne!(session(&edited), session(&first));
    // Messages need no id.
    let same = user("", "Edited");
    let messages = [user("m1", "Edited"), assistant(&edited), same.clone()];
    let third = chunks(&post(&gateway, &chat(&messages)).await);
    let more = [&messages[..], &[assistant(&third), same]].concat();
    let fourth = chunks(&post(&gateway, &chat(&more)).await);
    let again = chunks(&post(&gateway, &chat(&more)).await);
    assert_eq!(
        [&first, &edited, &third, &fourth, &again].map(|message| text(message)),
        ["one", "two", "three", "four", "four"]
    );
    let last: Option<Vec<String>> = claude.requests().last().map(told);
    let wanted = ["Edited", "two", "Edited", "three", "Edited"];
    assert_eq!(last.as_deref(), Some(&wanted.map(str::to_owned)[..]));
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_changed_file_is_another_message() {
    let files = Kept::new();
    let turns = ["one", "two"].map(ScriptTurn::text);
    let (gateway, claude) = gateway(&files, turns).await;
    let message = |picture: &str| {
        let url = format!("data:image/png;base64,{picture}");
        json!({ "id": "m1", "role": "user", "parts": [
            { "type": "text", "text": "What is this?" },
            { "type": "file", "mediaType": "image/png", "url": url },
        ] })
    };
    for (picture, wanted) in [("iVBORw0KGgo=", "one"), ("iVBORw0KGgoA", "two")] {
        let answer = post(&gateway, &chat(&[message(picture)])).await;
        assert_eq!(text(&chunks(&answer)), wanted);
    }
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_refused_message_changes_nothing() {
    let files = Kept::new();
    let (gateway, claude) = gateway(&files, [ScriptTurn::text("one")]).await;
    let mut wrong = chat(&[user("m1", "First")]);
    wrong["model"] = json!("nowhere/none");
    let refused = post(&gateway, &wrong).await;
    assert_eq!(refused.status, 404, "{refused:?}");
    let listed = gateway.get("/api/v1/sessions").answered().await.is(200);
    assert_eq!(listed["sessions"], json!([]));
    chunks(&post(&gateway, &chat(&[user("m1", "First")])).await);
    wrong["messages"] = json!([user("m2", "Edited")]);
    assert_eq!(post(&gateway, &wrong).await.status, 404);
    let resumed = gateway
        .get("/api/v1/ui/chat/chat%201/stream")
        .answered()
        .await;
    assert_eq!(text(&chunks(&resumed)), "one");
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_chat_goes_on_when_one_of_its_sessions_is_deleted() {
    let files = Kept::new();
    let turns = ["one", "two", "three", "four"].map(ScriptTurn::text);
    let (gateway, claude) = gateway(&files, turns).await;
    let mut sessions = Vec::new();
    for edit in ["First", "Second", "Third"] {
        sessions.push(session(&chunks(
            &post(&gateway, &chat(&[user(edit, edit)])).await,
        )));
    }
    let path = format!("/api/v1/sessions/{}", sessions[1]);
    let deleted = gateway.raw("DELETE", &path).answered().await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let resumed = gateway
        .get("/api/v1/ui/chat/chat%201/stream")
        .answered()
        .await;
    let resumed = chunks(&resumed);
    assert_eq!(
        (&*text(&resumed), session(&resumed)),
        ("three", sessions[2].clone())
    );
    let more = [
        user("Third", "Third"),
        assistant(&resumed),
        user("Fourth", "Fourth"),
    ];
    let fourth = chunks(&post(&gateway, &chat(&more)).await);
    assert_eq!(
        (&*text(&fourth), session(&fourth)),
        ("four", sessions[2].clone())
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_fork_without_its_source_cannot_be_placed() {
    let files = Kept::new();
    let turns = ["one", "two", "other two"].map(ScriptTurn::text);
    let (gateway, claude) = gateway(&files, turns).await;
    let first = user("m1", "First");
    let one = chunks(&post(&gateway, &chat(std::slice::from_ref(&first))).await);
    let second = [first.clone(), assistant(&one), user("m2", "Second")];
    chunks(&post(&gateway, &chat(&second)).await);
    let edited = [first, assistant(&one), user("m4", "Other")];
    let other = chunks(&post(&gateway, &chat(&edited)).await);
    let path = format!("/api/v1/sessions/{}", session(&one));
    let deleted = gateway.raw("DELETE", &path).answered().await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let more = [&edited[..], &[assistant(&other), user("m3", "Third")]].concat();
    let problem = is_problem(&post(&gateway, &chat(&more)).await, 409, "conflict");
    assert_eq!(
        problem["detail"],
        "a session that this chat was forked from was deleted: begin a chat with another id"
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn an_approval_of_something_else_is_passed_over() {
    let files = Kept::new();
    let (gateway, claude) = gateway(&files, [ScriptTurn::call("weather", &json!({}))]).await;
    let message = user("m1", "Is it raining?");
    let mut body = chat(std::slice::from_ref(&message));
    body["tools"] = json!([{ "name": "weather", "input_schema": { "type": "object" } }]);
    let first = chunks(&post(&gateway, &body).await);
    let turn = first[0]["messageId"].as_str().expect("a turn");
    let path = format!("/api/v1/sessions/{}/turns/{turn}", session(&first));
    let waiting = gateway.get(&path).answered().await.is(200);
    assert_eq!(waiting["waits"][0]["kind"], "client_result", "{waiting}");
    let part = json!({
        "type": "dynamic-tool", "toolName": "weather", "toolCallId": waiting["waits"][0]["call"],
        "state": "approval-responded", "approval": { "id": waiting["waits"][0]["id"], "approved": true },
    });
    let answered = json!({ "id": turn, "role": "assistant", "parts": [part] });
    let rest = chunks(&post(&gateway, &chat(&[message, answered])).await);
    assert_eq!(
        rest.last(),
        Some(&json!({ "type": "finish", "finishReason": "tool-calls" }))
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_message_is_whole_after_a_kill_in_the_middle_of_it() {
    let files = Kept::new();
    let gate = Gate::new();
    let long = "A word after the other. ".repeat(40);
    let claude = ScriptedClaude::start([
        ScriptTurn::text(format!("{long}Lost.")).pause_after(4_000, &gate),
        ScriptTurn::text("The reply after the restart."),
    ])
    .await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    let address = gateway.address().to_owned();
    let mut sent = gateway
        .post("/api/v1/ui/chat", &chat(&[user("m1", "Write")]))
        .sent()
        .await;
    sent.until("A word after the other").await;
    gate.reached().await;
    gateway.running.kill();
    gateway.running.end().await;
    let again = files
        .run(&["serve", "--bind", &address])
        .at(&claude.base_url())
        .start();
    let gateway = Gateway::listening(again).await;
    let whole = chunks(
        &gateway
            .get("/api/v1/ui/chat/chat%201/stream")
            .answered()
            .await,
    );
    let seen = kinds(&whole);
    assert_eq!(seen.first(), Some(&"start"));
    assert_eq!(
        whole.last(),
        Some(&json!({ "type": "finish", "finishReason": "stop" }))
    );
    // The stream takes back what it had of the lost reply.
    let from = whole
        .iter()
        .rposition(|chunk| chunk["type"] == "reset-step")
        .map_or(0, |at| at + 1);
    assert_eq!(
        text(&whole[from..]),
        "The reply after the restart.",
        "{whole:#?}"
    );
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_front_end_runs_its_own_tools() {
    let files = Kept::new();
    let turns = [
        ScriptTurn::call("weather", &json!({ "city": "Porto" })),
        ScriptTurn::text("Rain until noon."),
    ];
    let (gateway, claude) = gateway(&files, turns).await;
    let message = user("m1", "Is it raining?");
    let mut body = chat(std::slice::from_ref(&message));
    body["tools"] = json!([{ "name": "weather", "input_schema": { "type": "object" } }]);
    let first = chunks(&post(&gateway, &body).await);
    let called = first
        .iter()
        .find(|chunk| chunk["type"] == "tool-input-available")
        .expect("a call");
    assert_eq!(called.get("providerExecuted"), None);
    let part = json!({
        "type": "dynamic-tool", "toolName": "weather", "toolCallId": called["toolCallId"],
        "state": "output-available", "input": called["input"], "output": { "rain": true },
    });
    let assistant = json!({ "id": first[0]["messageId"], "role": "assistant", "parts": [part] });
    let rest = chunks(&post(&gateway, &chat(&[message, assistant])).await);
    assert_eq!(text(&rest), "Rain until noon.");
    assert_eq!(
        rest.last(),
        Some(&json!({ "type": "finish", "finishReason": "stop" }))
    );
    kept(&claude);
    gateway.end().await;
}
