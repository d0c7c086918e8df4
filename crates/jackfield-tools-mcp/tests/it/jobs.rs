//! Calls that go on elsewhere: tasks, and questions of a server.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
use jackfield_tools_mcp::{McpToolbox, Root, ServerConfig};
use serde_json::{Value, json};

use crate::harness::{Heard, Scripted, run, script, soon};

fn form(message: &str) -> Value {
    json!({ "method": "elicitation/create", "params": {
        "message": message,
        "requestedSchema": { "type": "object", "properties": { "day": { "type": "string" } } },
    } })
}

#[track_caller]
fn asked(end: ToolEnd) -> (JobHandle, String) {
    match end {
        ToolEnd::Asked { handle, question } => (handle, question.message.to_string()),
        ToolEnd::Finished(result) => panic!("{result:?}"),
    }
}

async fn resume(
    toolbox: &McpToolbox,
    handle: &JobHandle,
    answer: Option<ElicitationAnswer>,
) -> ToolEnd {
    let end = soon(toolbox.resume(handle, answer.as_ref(), &CallContext::default(), &mut ())).await;
    end.unwrap_or_else(|error| panic!("{error:?}"))
}

fn accepted(value: Value) -> Option<ElicitationAnswer> {
    Some(ElicitationAnswer::Accepted(Arc::new(value)))
}

#[tokio::test]
async fn a_question_goes_out_and_the_answer_comes_back() {
    let steps = json!([
        { "ask": { "requests": { "when": form("On which day?") }, "state": "signed: 1" } },
        { "text": "booked" },
    ]);
    let server = Scripted::new(script("book", &steps));
    let run = run("book", json!({ "city": "Paris" }));
    let Ok(ToolEnd::Asked { handle, question }) = server.end(&run).await else {
        panic!("no question");
    };
    assert_eq!(&*question.message, "On which day?");
    assert_eq!(
        question.schema.unwrap()["properties"]["day"]["type"],
        "string"
    );
    // As after a restart: another toolbox, from the handle alone.
    let answer = accepted(json!({ "day": "Monday" }));
    let end = resume(&server.toolbox, &handle, answer).await;
    assert_eq!(end, ToolEnd::Finished(ToolResult::text("booked")));
    let answers = r#"answers {"when":{"action":"accept","content":{"day":"Monday"}}}"#;
    assert_eq!(server.count(answers), 1, "{:?}", server.log());
    server.kept();
}

#[tokio::test]
async fn several_questions_are_asked_one_after_another() {
    let steps = json!([
        { "ask": { "requests": { "a": form("First?"), "b": form("Second?"), "c": form("Third?") } } },
        { "text": "done" },
    ]);
    let server = Scripted::new(script("book", &steps));
    let end = server.end(&run("book", json!({}))).await.unwrap();
    let (first, message) = asked(end);
    assert_eq!(message, "First?");
    // Without an answer the question stays.
    assert_eq!(
        asked(resume(&server.toolbox, &first, None).await),
        (first.clone(), message)
    );
    let second = resume(&server.toolbox, &first, accepted(json!({ "day": "1" }))).await;
    let (second, message) = asked(second);
    assert_eq!(message, "Second?");
    let third = resume(&server.toolbox, &second, Some(ElicitationAnswer::Declined)).await;
    let (third, message) = asked(third);
    assert_eq!(message, "Third?");
    let end = resume(&server.toolbox, &third, Some(ElicitationAnswer::Dismissed)).await;
    assert_eq!(end, ToolEnd::Finished(ToolResult::text("done")));
    let answers = r#"answers {"a":{"action":"accept","content":{"day":"1"}},"b":{"action":"decline"},"c":{"action":"cancel"}}"#;
    assert_eq!(server.count(answers), 1, "{:?}", server.log());
}

#[tokio::test]
async fn a_server_that_only_wants_to_be_asked_again_is_asked_again() {
    let steps = json!([{ "ask": { "state": "again" } }, { "text": "done" }]);
    let server = Scripted::new(script("book", &steps));
    assert_eq!(server.result("book", json!({})).await.to_text(), "done");
    assert_eq!(server.count("call book"), 2);
    server.kept();
}

#[tokio::test]
async fn what_a_server_must_not_ask_is_not_asked() {
    for request in [
        json!({ "method": "sampling/createMessage", "params": {} }),
        json!({ "method": "roots/list" }),
        json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "Go there", "url": "file:///etc" } }),
        json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "Go there", "url": "https://bank.example@x.example/" } }),
        json!({ "method": "elicitation/create", "params": { "mode": "telepathy", "message": "Think" } }),
        json!("nonsense"),
    ] {
        let steps = json!([{ "ask": { "requests": { "one": request } } }, { "text": "done" }]);
        let server = Scripted::new(script("book", &steps));
        let failure = server.failure("book").await;
        assert_eq!(failure.kind, ToolFailureKind::ProtocolViolation);
        assert_eq!(failure.disposition, Disposition::Unknown);
    }
}

fn with_roots(config: &mut ServerConfig) {
    config.roots = vec![
        Root {
            name: Some("docs".to_owned()),
            uri: "file:///srv/docs".to_owned(),
        },
        Root {
            name: None,
            uri: "file:///srv/more%20docs".to_owned(),
        },
    ];
}

/// The result of `roots/list` with them.
const ROOTS: &str =
    r#"{"roots":[{"uri":"file:///srv/docs","name":"docs"},{"uri":"file:///srv/more%20docs"}]}"#;

#[tokio::test]
async fn a_call_that_asks_for_roots_is_sent_again_with_them() {
    let requests = json!({ "folders": { "method": "roots/list" }, "when": form("Which day?") });
    let steps = json!([{ "ask": { "requests": requests } }, { "text": "booked" }]);
    let server = Scripted::with(script("book", &steps), |config, _| with_roots(config));
    let end = server.end(&run("book", json!({}))).await.unwrap();
    let (handle, message) = asked(end);
    assert_eq!(message, "Which day?");
    let answer = accepted(json!({ "day": "1" }));
    let end = resume(&server.toolbox, &handle, answer).await;
    assert_eq!(end, ToolEnd::Finished(ToolResult::text("booked")));
    let answers = format!(
        r#"answers {{"folders":{ROOTS},"when":{{"action":"accept","content":{{"day":"1"}}}}}}"#
    );
    assert_eq!(server.count(&answers), 1, "{:?}", server.log());
    server.kept();
    // Without a question, it is sent again at once.
    let only = json!({ "folders": { "method": "roots/list" } });
    let steps = json!([{ "ask": { "requests": only } }, { "text": "booked" }]);
    let server = Scripted::with(script("book", &steps), |config, _| with_roots(config));
    assert_eq!(server.result("book", json!({})).await.to_text(), "booked");
    let answers = format!(r#"answers {{"folders":{ROOTS}}}"#);
    assert_eq!(server.count(&answers), 1, "{:?}", server.log());
    server.kept();
}

#[tokio::test]
async fn a_task_that_asks_for_roots_goes_on_with_them() {
    let asks = json!({
        "status": "input_required",
        "inputRequests": { "folders": { "method": "roots/list" } },
    });
    let steps = json!([{ "task": [working(&json!({})), asks, completed()] }]);
    let server = Scripted::with(script("build", &steps), |config, _| with_roots(config));
    assert_eq!(server.result("build", json!({})).await.to_text(), "built");
    let told = format!("{{\"folders\":{ROOTS}}}");
    assert!(
        server.log().iter().any(|line| line.contains(&told)),
        "{:?}",
        server.log()
    );
}

#[tokio::test]
async fn a_server_of_the_older_era_is_told_the_roots() {
    let request = json!({ "jsonrpc": "2.0", "id": "x1", "method": "roots/list" });
    let steps = json!([{ "raw": request.to_string() }, { "text": "hello" }]);
    let mut asking = script("greet", &steps);
    asking["era"] = json!("legacy");
    let server = Scripted::with(asking, |config, _| with_roots(config));
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    let replied = format!("replied \"x1\" {ROOTS}");
    soon(async {
        while server.count(&replied) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let capable = r#"capable of {"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;
    assert_eq!(server.count(capable), 1, "{:?}", server.log());
    server.kept();
}

fn working(more: &Value) -> Value {
    let mut state = json!({ "status": "working", "pollIntervalMs": 50 });
    for (key, value) in more.as_object().into_iter().flatten() {
        state[key] = value.clone();
    }
    state
}

fn completed() -> Value {
    let words = json!([{ "type": "text", "text": "built" }]);
    json!({ "status": "completed", "result": { "content": words } })
}

#[tokio::test]
async fn a_task_is_followed_to_its_end() {
    let steps = json!([{ "task": [
        working(&json!({})),
        working(&json!({ "statusMessage": "compiling" })),
        working(&json!({ "statusMessage": "compiling" })),
        completed(),
    ] }]);
    let server = Scripted::new(script("build", &steps));
    let mut heard = Heard::default();
    let end = soon(server.toolbox.call(
        &run("build", json!({})),
        &CallContext::default(),
        &mut heard,
    ))
    .await;
    let built = ToolEnd::Finished(ToolResult::text("built"));
    assert_eq!(end.unwrap(), built);
    assert_eq!(heard.accepted.len(), 1);
    let words: Vec<_> = heard
        .progress
        .iter()
        .filter_map(|(_, _, words)| words.as_deref())
        .collect();
    assert_eq!(words, ["compiling"]);
    assert_eq!(server.count("said tasks/get"), 4);
    // Whoever has the handle finds it again; it is not run again.
    assert_eq!(
        resume(&server.toolbox, &heard.accepted[0], None).await,
        built
    );
    assert_eq!(server.count("call build"), 1);
    server.kept();
}

#[tokio::test]
async fn a_task_that_fails_or_is_cancelled_says_so() {
    for (state, words) in [
        (
            json!({ "status": "failed", "error": { "code": -32603, "message": "no space" } }),
            "no space",
        ),
        (
            json!({ "status": "failed", "statusMessage": "no luck" }),
            "no luck",
        ),
        (json!({ "status": "cancelled" }), "cancelled"),
    ] {
        let server = Scripted::new(script("build", &json!([{ "task": [state] }])));
        let result = server.result("build", json!({})).await;
        assert!(result.is_error);
        assert!(result.to_text().contains(words), "{result:?}");
    }
}

#[tokio::test]
async fn a_task_may_ask_too() {
    let steps = json!([{ "task": [
        { "status": "input_required", "inputRequests": { "which": form("Which one?") } },
        completed(),
    ] }]);
    let server = Scripted::new(script("build", &steps));
    let end = server.end(&run("build", json!({}))).await.unwrap();
    let (handle, message) = asked(end);
    assert_eq!(message, "Which one?");
    let end = resume(&server.toolbox, &handle, accepted(json!({ "day": "x" }))).await;
    assert_eq!(end, ToolEnd::Finished(ToolResult::text("built")));
    assert_eq!(server.count("updated task"), 1);
    server.kept();
}

#[tokio::test]
async fn a_task_that_nobody_follows_is_cancelled() {
    let steps = json!([{ "task": [working(&json!({}))] }]);
    let server = Scripted::new(script("build", &steps));
    let toolbox = Arc::clone(&server.toolbox);
    let call = tokio::spawn(async move {
        let run = run("build", json!({}));
        toolbox
            .call(&run, &CallContext::default(), &mut ())
            .await
            .is_ok()
    });
    server.until("said tasks/get", 2).await;
    call.abort();
    server.until("cancelled task", 1).await;
}

#[tokio::test]
async fn a_task_that_the_server_does_not_know_any_more_is_unknown() {
    let first = Scripted::new(script("build", &json!([{ "task": [completed()] }])));
    let mut heard = Heard::default();
    let call = run("build", json!({}));
    soon(
        first
            .toolbox
            .call(&call, &CallContext::default(), &mut heard),
    )
    .await
    .unwrap();
    soon(first.toolbox.stop()).await;
    // A server that was started again knows nothing of it.
    let handle = &heard.accepted[0];
    let lost = soon(
        first
            .toolbox
            .resume(handle, None, &CallContext::default(), &mut ()),
    )
    .await;
    let failure = lost.unwrap_err().failure;
    assert_eq!(failure.disposition, Disposition::Unknown);
    assert_eq!(first.count("call build"), 1);
}

#[tokio::test]
async fn a_task_is_followed_for_as_long_as_it_is_wanted() {
    // Polls are answers, so a task may take longer than a call may be silent.
    let mut states: Vec<_> = (0..12).map(|_| working(&json!({}))).collect();
    states.push(completed());
    let server = Scripted::with(
        script("build", &json!([{ "task": states }])),
        |config, _| {
            config.call_limit = Duration::from_millis(400);
        },
    );
    assert_eq!(server.result("build", json!({})).await.to_text(), "built");
}
