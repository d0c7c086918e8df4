//! Sessions that a server over HTTP forgets while requests are in flight: each request is judged by its own answer.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailure};
use jackfield_domain::wait::ElicitationAnswer;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::{ContextChange, ContextErrorKind, ContextSource as _};
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
use jackfield_testkit::fakes::RecordingMcpObserver;
use jackfield_tools_mcp::McpToolbox;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::harness::{Scripted, run, script, soon, tool};
use crate::watching::ChangeSender;

/// Files for which the server waits.
struct Gates(TempDir);

impl Gates {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn open(&self, name: &str) {
        std::fs::write(self.path(name), "").unwrap();
    }
}

type Ended = Result<ToolEnd, ToolFailure>;

/// Makes a call in the background.
fn begun(toolbox: &Arc<McpToolbox>, tool: &str) -> JoinHandle<Ended> {
    let (toolbox, run) = (Arc::clone(toolbox), run(tool, json!({})));
    tokio::spawn(async move {
        let context = CallContext::default();
        let ended = toolbox.call(&run, &context, &mut ()).await;
        ended.map_err(|error| error.failure)
    })
}

async fn ended(call: JoinHandle<Ended>) -> Ended {
    soon(call).await.unwrap()
}

#[track_caller]
fn says(ended: Ended, words: &str) {
    let said = match ended.unwrap() {
        ToolEnd::Finished(result) => format!("{result:?}").replace('\\', ""),
        asked @ ToolEnd::Asked { .. } => panic!("{asked:?}"),
    };
    assert!(said.contains(words), "{said}");
}

/// How often each tool was run.
fn runs(server: &Scripted, tool: &str) -> usize {
    let effects = server.effects();
    effects
        .iter()
        .filter(|effect| effect["tool"] == tool)
        .count()
}

/// A server with a tool `slow` that waits for this file, and `greet`, whose next calls over HTTP meet these faults.
fn slow_and_greet(era: &str, gate: &Path, faults: &Value) -> Value {
    json!({
        "era": era,
        "tools": [tool("slow"), tool("greet")],
        "calls": {
            "slow": [{ "until": gate }, { "text": "slow and done" }],
            "greet": [{ "text": "hello" }],
        },
        "http": { "faults": { "tools/call": faults } },
    })
}

#[tokio::test]
async fn a_call_in_flight_gets_its_own_answer_after_another_was_refused() {
    // All sessions are gone, or one server of several behind an address knows none.
    for refusal in [json!({ "forget": true }), json!({ "status": 404 })] {
        for answers in ["json", "events"] {
            let gates = Gates::new();
            let slow = gates.path("slow");
            let mut script = slow_and_greet("legacy", &slow, &json!([{}, refusal]));
            script["http"]["answers"] = json!(answers);
            let server = Scripted::over_http(script);
            let slow = begun(&server.toolbox, "slow");
            server.until("call slow", 1).await;
            // New calls go to a new session at once.
            server.result("greet", json!({})).await;
            server.result("greet", json!({})).await;
            assert_eq!(server.count("a session is begun"), 2);
            assert!(!slow.is_finished());
            gates.open("slow");
            says(ended(slow).await, "slow and done");
            assert_eq!((runs(&server, "slow"), runs(&server, "greet")), (1, 2));
            server.kept();
        }
    }
}

#[tokio::test]
async fn calls_that_are_all_refused_are_each_made_once_in_one_new_session() {
    let gates = Gates::new();
    let first = json!({ "until": gates.path("first"), "forget": true });
    let other = json!({ "until": gates.path("others") });
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    script["era"] = json!("legacy");
    script["http"]["faults"] = json!({ "tools/call": [first, other, other, other] });
    let server = Scripted::over_http(script);
    server.list().await;
    let calls: Vec<_> = (0..4).map(|_| begun(&server.toolbox, "greet")).collect();
    server.until("holds tools/call", 4).await;
    gates.open("first");
    // One is refused and made again, while the others have no answer yet.
    server.until("done greet", 1).await;
    assert_eq!(server.count("a session is begun"), 2);
    gates.open("others");
    for call in calls {
        says(ended(call).await, "hello");
    }
    let effects = server.effects();
    let mut keys: Vec<_> = effects.iter().map(|one| one["key"].to_string()).collect();
    keys.sort();
    keys.dedup();
    assert_eq!((effects.len(), keys.len()), (4, 4), "{effects:?}");
    assert_eq!(server.count("a session is begun"), 2);
    server.kept();
}

#[tokio::test]
async fn a_call_whose_connection_is_cut_in_a_forgotten_session_is_unknown() {
    let gates = Gates::new();
    let faults = json!([{ "run_and_close": true }, { "forget": true }]);
    let slow = gates.path("slow");
    let server = Scripted::over_http(slow_and_greet("legacy", &slow, &faults));
    let cut = begun(&server.toolbox, "slow");
    server.until("call slow", 1).await;
    server.result("greet", json!({})).await;
    gates.open("slow");
    let failure = ended(cut).await.unwrap_err();
    assert_eq!(failure.disposition, Disposition::Unknown, "{failure:?}");
    assert!(
        failure.message.contains("closed the connection"),
        "{failure:?}"
    );
    assert_eq!((runs(&server, "slow"), runs(&server, "greet")), (1, 1));
}

#[tokio::test]
async fn calls_without_a_session_do_not_touch_each_other() {
    let gates = Gates::new();
    let slow = gates.path("slow");
    for (era, is_sessionless) in [("modern", false), ("legacy", true)] {
        let mut script = slow_and_greet(era, &slow, &json!([{}, { "status": 404 }]));
        script["http"]["sessionless"] = json!(is_sessionless);
        let server = Scripted::over_http(script);
        let call = begun(&server.toolbox, "slow");
        server.until("call slow", 1).await;
        let failure = server.failure("greet").await;
        assert_eq!(failure.disposition, Disposition::NotSent, "{era}");
        gates.open("slow");
        says(ended(call).await, "slow and done");
        assert_eq!((runs(&server, "slow"), runs(&server, "greet")), (1, 0));
        std::fs::remove_file(&slow).unwrap();
        server.kept();
    }
}

#[tokio::test]
async fn a_stop_ends_calls_in_forgotten_sessions() {
    let gates = Gates::new();
    let slow = gates.path("slow");
    let forget = json!({ "forget": true });
    // There is a new session, or that is lost as well.
    for faults in [json!([{}, forget]), json!([{}, forget, forget])] {
        let server = Scripted::over_http(slow_and_greet("legacy", &slow, &faults));
        let call = begun(&server.toolbox, "slow");
        server.until("call slow", 1).await;
        let greeted = server.end(&run("greet", json!({}))).await;
        assert_eq!(greeted.is_ok(), faults[2].is_null(), "{greeted:?}");
        soon(server.toolbox.stop()).await;
        let failure = ended(call).await.unwrap_err();
        assert_eq!(failure.disposition, Disposition::Unknown, "{failure:?}");
        assert_eq!(runs(&server, "slow"), 1);
    }
}

#[tokio::test]
async fn a_session_is_over_for_observers_when_it_is_forgotten() {
    let gates = Gates::new();
    let slow = gates.path("slow");
    let faults = json!([{}, { "forget": true }]);
    let server = Scripted::over_http(slow_and_greet("legacy", &slow, &faults));
    let observer = RecordingMcpObserver::default();
    let toolbox = Arc::new(server.another().observed_by(observer.observers()));
    let call = begun(&toolbox, "slow");
    server.until("call slow", 1).await;
    let greeting = run("greet", json!({}));
    soon(toolbox.call(&greeting, &CallContext::default(), &mut ()))
        .await
        .unwrap();
    soon(async {
        while observer.sessions().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(observer.sessions()[0].error.as_deref(), Some("ended"));
    gates.open("slow");
    says(ended(call).await, "slow and done");
    soon(toolbox.stop()).await;
    assert_eq!(observer.sessions().len(), 2);
}

#[tokio::test]
async fn a_question_of_a_lost_session_is_answered_there() {
    let asks = json!({ "message": "Who are you?", "requestedSchema": { "type": "object" } });
    // The server still serves what it began in that session.
    let faults = json!([{}, { "status": 404 }]);
    let script = json!({
        "era": "legacy",
        "tools": [tool("ask"), tool("greet")],
        "calls": { "ask": [{ "elicit": asks }], "greet": [{ "text": "hello" }] },
        "http": { "faults": { "tools/call": faults } },
    });
    let server = Scripted::over_http(script);
    let asked = server.end(&run("ask", json!({}))).await.unwrap();
    let ToolEnd::Asked { handle, .. } = asked else {
        panic!("{asked:?}");
    };
    server.result("greet", json!({})).await;
    assert_eq!(server.count("a session is begun"), 2);
    let answer = ElicitationAnswer::Accepted(Arc::new(json!({ "name": "Ada" })));
    let (toolbox, context) = (&server.toolbox, CallContext::default());
    let ended = soon(toolbox.resume(&handle, Some(&answer), &context, &mut ())).await;
    says(ended.map_err(|error| error.failure), "Ada");
    assert_eq!(runs(&server, "ask"), 1);
    server.kept();
}

#[tokio::test]
async fn a_question_of_a_lost_session_can_be_given_up() {
    let asks = json!({ "message": "Who are you?", "requestedSchema": { "type": "object" } });
    let script = json!({
        "era": "legacy",
        "tools": [tool("ask"), tool("greet")],
        "calls": { "ask": [{ "elicit": asks }], "greet": [{ "text": "hello" }] },
        "http": { "faults": { "tools/call": [{}, { "status": 404 }] } },
    });
    let server = Scripted::over_http(script);
    let asked = server.end(&run("ask", json!({}))).await.unwrap();
    let ToolEnd::Asked { handle, .. } = asked else {
        panic!("{asked:?}");
    };
    server.result("greet", json!({})).await;
    server.toolbox.abandon(&handle);
    // With the answer to that, the call has ended; its cancellation may come too late.
    server.until("replied", 1).await;
    let log = server.log().join("\n");
    assert!(log.contains(r#"{"action":"cancel"}"#), "{log}");
}

#[tokio::test]
async fn a_call_that_was_asked_about_is_made_in_a_new_session() {
    let gates = Gates::new();
    let page = json!({
        "mode": "url", "elicitationId": "e1", "message": "Sign in.", "url": "https://one.example/",
    });
    let error = json!({
        "code": -32042,
        "message": "Sign in first.",
        "data": { "elicitations": [page] },
        "unless": gates.path("opened"),
    });
    let mut script = script("greet", &json!([{ "error": error }, { "text": "hello" }]));
    script["era"] = json!("legacy");
    let server = Scripted::over_http(script);
    let asked = server.end(&run("greet", json!({}))).await.unwrap();
    let ToolEnd::Asked { handle, .. } = asked else {
        panic!("{asked:?}");
    };
    // People take longer than sessions last.
    server.http.as_ref().unwrap().forget_sessions();
    gates.open("opened");
    let yes = ElicitationAnswer::Accepted(Arc::new(json!({})));
    let (toolbox, context) = (&server.toolbox, CallContext::default());
    let ended = soon(toolbox.resume(&handle, Some(&yes), &context, &mut ())).await;
    says(ended.map_err(|error| error.failure), "hello");
    // Once it was refused by the tool, and once it was run.
    assert_eq!(runs(&server, "greet"), 2);
    assert_eq!(server.count("a session is begun"), 2);
    server.kept();
}

#[tokio::test]
async fn a_watch_ends_with_its_session_and_a_call_goes_on() {
    let gates = Gates::new();
    let slow = gates.path("slow");
    let mut script = slow_and_greet("legacy", &slow, &json!([]));
    script["http"]["listens"] = json!(true);
    script["resources"] = json!([{ "uri": "note://a", "name": "a" }]);
    script["subscribe"] = json!(true);
    let server = Scripted::over_http(script);
    let call = begun(&server.toolbox, "slow");
    server.until("call slow", 1).await;
    let uris = ["note://a".into()];
    for is_last in [false, true] {
        let (sender, mut changes) = tokio::sync::mpsc::unbounded_channel();
        let mut sink = ChangeSender(sender);
        let mut watching = std::pin::pin!(server.toolbox.watch(&uris, &mut sink));
        tokio::select! {
            ended = &mut watching => panic!("{ended}"),
            change = soon(changes.recv()) => assert_eq!(change, Some(ContextChange::Watching)),
        }
        if is_last {
            break;
        }
        // Its stream ends, and cannot be opened again.
        server.http.as_ref().unwrap().forget_sessions();
        server.http.as_ref().unwrap().end_streams();
        let ended = soon(watching).await;
        assert_eq!(ended.kind, ContextErrorKind::Unavailable, "{ended}");
    }
    gates.open("slow");
    says(ended(call).await, "slow and done");
    assert_eq!(server.count("a session is begun"), 2);
    server.kept();
}
