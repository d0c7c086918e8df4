//! Servers of the older era that ask a person during a call.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::sync::Arc;

use jackfield_domain::failure::{Disposition, ToolFailure};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle, Question};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, Toolbox};
use serde_json::{Value, json};

use crate::harness::{Scripted, run, script, soon, tool};

fn question() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "age": { "type": "integer", "default": 30 },
            },
        },
    })
}

/// The server over either transport.
fn servers(script: &Value) -> [Scripted; 2] {
    let mut script = script.clone();
    script["era"] = json!("legacy");
    [Scripted::new(script.clone()), Scripted::over_http(script)]
}

async fn asked(server: &Scripted, name: &str) -> (JobHandle, Question) {
    match server.end(&run(name, json!({}))).await.unwrap() {
        ToolEnd::Asked { handle, question } => (handle, question),
        ToolEnd::Finished(result) => panic!("{result:?}"),
    }
}

async fn answered(
    toolbox: &dyn Toolbox,
    handle: &JobHandle,
    answer: Option<&ElicitationAnswer>,
) -> Result<ToolEnd, ToolFailure> {
    let ended = soon(toolbox.resume(handle, answer, &CallContext::default(), &mut ())).await;
    ended.map_err(|error| error.failure)
}

/// The text of a call's result.
fn text(ended: Result<ToolEnd, ToolFailure>) -> String {
    match ended.unwrap() {
        ToolEnd::Finished(result) => format!("{result:?}").replace('\\', ""),
        asked @ ToolEnd::Asked { .. } => panic!("{asked:?}"),
    }
}

#[tokio::test]
async fn a_question_reaches_a_person_and_the_answer_the_call() {
    for server in servers(&script("greet", &json!([{ "elicit": question() }]))) {
        let (handle, asked) = asked(&server, "greet").await;
        assert_eq!(&*asked.message, "Who are you?");
        assert_eq!(
            asked.schema.as_deref(),
            Some(&question()["requestedSchema"])
        );
        // Without an answer, the question stands.
        let still = answered(&*server.toolbox, &handle, None).await.unwrap();
        assert!(matches!(still, ToolEnd::Asked { .. }), "{still:?}");
        let answer = ElicitationAnswer::Accepted(Arc::new(json!({ "name": "Ada" })));
        let said = text(answered(&*server.toolbox, &handle, Some(&answer)).await);
        assert!(
            said.contains(r#"{"action":"accept","content":{"age":30,"name":"Ada"}}"#)
                || said.contains(r#"{"action":"accept","content":{"name":"Ada","age":30}}"#),
            "{said}"
        );
        assert_eq!(server.effects().len(), 1);
        // The answer counts once.
        let again = answered(&*server.toolbox, &handle, Some(&answer)).await;
        assert_eq!(again.unwrap_err().disposition, Disposition::Unknown);
        server.kept();
    }
}

#[tokio::test]
async fn a_question_may_be_declined_and_dismissed() {
    for (answer, action) in [
        (ElicitationAnswer::Declined, "decline"),
        (ElicitationAnswer::Dismissed, "cancel"),
    ] {
        for server in servers(&script("greet", &json!([{ "elicit": question() }]))) {
            let (handle, _) = asked(&server, "greet").await;
            let said = text(answered(&*server.toolbox, &handle, Some(&answer)).await);
            assert!(
                said.contains(&format!(r#"{{"action":"{action}"}}"#)),
                "{said}"
            );
        }
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_ends_at_its_server_at_once() {
    for server in servers(&script("greet", &json!([{ "elicit": question() }]))) {
        let (handle, _) = asked(&server, "greet").await;
        server.toolbox.abandon(&handle);
        server.until("replied", 1).await;
        server.until("said notifications/cancelled", 1).await;
        let log = server.log().join("\n");
        assert!(log.contains(r#"{"action":"cancel"}"#), "{log}");
        let answer = ElicitationAnswer::Declined;
        let late = answered(&*server.toolbox, &handle, Some(&answer)).await;
        assert_eq!(late.unwrap_err().disposition, Disposition::Unknown);
    }
}

#[tokio::test]
async fn calls_that_wait_at_once_get_their_own_answers_over_http() {
    let mut script = script("one", &json!([{ "elicit": question() }]));
    script["tools"] = json!([tool("one"), tool("two")]);
    script["calls"]["two"] = json!([{ "elicit": question() }]);
    let [_, server] = servers(&script);
    let (one, _) = asked(&server, "one").await;
    let (two, _) = asked(&server, "two").await;
    for (handle, name) in [(two, "Bob"), (one, "Ada")] {
        let answer = ElicitationAnswer::Accepted(Arc::new(json!({ "name": name })));
        let said = text(answered(&*server.toolbox, &handle, Some(&answer)).await);
        assert!(said.contains(name), "{said}");
    }
    server.kept();
}

#[tokio::test]
async fn a_question_that_cannot_be_asked_is_declined_and_the_call_goes_on() {
    let strange = [
        json!({ "mode": "url", "message": "Open it.", "url": "javascript:alert(1)" }),
        json!({ "requestedSchema": {} }),
    ];
    for params in strange {
        for server in servers(&script("greet", &json!([{ "elicit": params }]))) {
            let result = server.result("greet", json!({})).await;
            let said = format!("{result:?}");
            assert!(said.contains("decline"), "{said}");
            server.kept();
        }
    }
}

#[tokio::test]
async fn a_page_to_open_is_shown_with_its_host_and_the_answer_has_no_content() {
    let params = json!({
        "elicitationId": "e1",
        "message": "Sign in.",
        "mode": "url",
        "url": "https://login.example/start?id=1",
    });
    for server in servers(&script("greet", &json!([{ "elicit": params }]))) {
        let (handle, asked) = asked(&server, "greet").await;
        assert_eq!(
            asked.url.as_deref(),
            Some("https://login.example/start?id=1")
        );
        assert!(
            asked
                .message
                .starts_with("Open a page at login.example: https://login.example/"),
            "{asked:?}"
        );
        let answer = ElicitationAnswer::Accepted(Arc::new(json!({})));
        let said = text(answered(&*server.toolbox, &handle, Some(&answer)).await);
        assert!(said.contains(r#"{"action":"accept"}"#), "{said}");
        server.kept();
    }
}

/// A call that the server refuses until there is this file, as a person has to open these pages.
fn refused_until(opened: &std::path::Path, pages: &Value) -> Value {
    let error = json!({
        "code": -32042,
        "message": "Sign in first.",
        "data": { "elicitations": pages },
        "unless": opened,
    });
    script("greet", &json!([{ "error": error }, { "text": "hello" }]))
}

fn page(id: &str, url: &str) -> Value {
    json!({ "mode": "url", "elicitationId": id, "message": "Sign in.", "url": url })
}

#[tokio::test]
async fn pages_that_a_call_requires_are_asked_for_and_then_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let pages = json!([
        page("e1", "https://one.example/"),
        page("e2", "https://two.example/")
    ]);
    for (n, in_other_process) in [(0, false), (1, true)] {
        let opened = folder.path().join(n.to_string());
        let [server, _] = servers(&refused_until(&opened, &pages));
        let (handle, first) = asked(&server, "greet").await;
        assert_eq!(first.url.as_deref(), Some("https://one.example/"));
        // Nothing is kept open at the server, so any process can go on.
        let restarted = if in_other_process {
            Some(server.restarted())
        } else {
            None
        };
        let toolbox: &dyn Toolbox = match &restarted {
            Some(other) => &**other,
            None => &*server.toolbox,
        };
        let yes = ElicitationAnswer::Accepted(Arc::new(json!({})));
        let second = answered(toolbox, &handle, Some(&yes)).await.unwrap();
        let ToolEnd::Asked { handle, question } = second else {
            panic!("{second:?}");
        };
        assert_eq!(question.url.as_deref(), Some("https://two.example/"));
        // A yes before all is done at the page: the server asks again.
        let again = answered(toolbox, &handle, Some(&yes)).await.unwrap();
        let ToolEnd::Asked { handle, question } = again else {
            panic!("{again:?}");
        };
        assert_eq!(question.url.as_deref(), Some("https://one.example/"));
        std::fs::write(&opened, "").unwrap();
        let again = answered(toolbox, &handle, Some(&yes)).await.unwrap();
        let ToolEnd::Asked { handle, .. } = again else {
            panic!("{again:?}");
        };
        let said = text(answered(toolbox, &handle, Some(&yes)).await);
        assert!(said.contains("hello"), "{said}");
        if let Some(other) = restarted {
            other.stop().await;
        }
        server.kept();
    }
}

#[tokio::test]
async fn a_required_page_that_is_declined_ends_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let pages = json!([page("e1", "https://one.example/")]);
    for answer in [ElicitationAnswer::Declined, ElicitationAnswer::Dismissed] {
        for server in servers(&refused_until(&folder.path().join("none"), &pages)) {
            let (handle, _) = asked(&server, "greet").await;
            let said = text(answered(&*server.toolbox, &handle, Some(&answer)).await);
            assert!(said.contains("the user declined"), "{said}");
            assert_eq!(server.effects().len(), 1);
            server.kept();
        }
    }
}

#[tokio::test]
async fn a_required_page_that_cannot_be_asked_for_is_an_error_of_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let opened = folder.path().join("none");
    let web = page("e1", "https://one.example/");
    let many: Vec<Value> = (0..9).map(|_| web.clone()).collect();
    for pages in [
        json!([]),
        json!(many),
        json!([page("e1", "javascript:alert(1)")]),
        json!([{ "mode": "form", "message": "Who?", "requestedSchema": {} }]),
        json!("none"),
    ] {
        for server in servers(&refused_until(&opened, &pages)) {
            let result = server.result("greet", json!({})).await;
            let said = format!("{result:?}");
            assert!(said.contains("Sign in first. (error -32042)"), "{said}");
            server.kept();
        }
    }
    let mut script = refused_until(&opened, &json!([web]));
    script["era"] = json!("legacy");
    let server = Scripted::with(script, |_, settings| settings.asks = false);
    let result = server.result("greet", json!({})).await;
    assert!(format!("{result:?}").contains("-32042"), "{result:?}");
}

#[tokio::test]
async fn where_nobody_is_asked_questions_are_declined_at_once() {
    let mut script = script("greet", &json!([{ "elicit": question() }]));
    script["era"] = json!("legacy");
    let server = Scripted::with(script, |_, settings| settings.asks = false);
    let result = server.result("greet", json!({})).await;
    assert!(format!("{result:?}").contains("decline"), "{result:?}");
    assert_eq!(server.count("capable of {\"sampling\":{}}"), 1);
    server.kept();
}

#[tokio::test]
async fn a_call_that_waited_in_another_process_is_not_made_again() {
    for server in servers(&script("greet", &json!([{ "elicit": question() }]))) {
        let (handle, _) = asked(&server, "greet").await;
        let next = server.restarted();
        let answer = ElicitationAnswer::Declined;
        let failure = answered(&*next, &handle, Some(&answer)).await.unwrap_err();
        assert_eq!(failure.disposition, Disposition::Unknown, "{failure:?}");
        assert!(
            failure.message.contains("waited for an answer"),
            "{failure:?}"
        );
        assert_eq!(server.effects().len(), 1);
        next.stop().await;
    }
}

#[tokio::test]
async fn an_answer_does_not_reach_a_call_of_another_connection() {
    let mut script = script("greet", &json!([{ "elicit": question() }]));
    script["era"] = json!("legacy");
    // Over HTTP, both connections would use the same ids at the same scripted server.
    let server = Scripted::new(script);
    let (handle, _) = asked(&server, "greet").await;
    let next = server.restarted();
    let other = soon(next.call(&run("greet", json!({})), &CallContext::default(), &mut ())).await;
    let ToolEnd::Asked { handle: other, .. } = other.unwrap() else {
        panic!("it did not ask");
    };
    let answer = ElicitationAnswer::Declined;
    let failure = answered(&*next, &handle, Some(&answer)).await.unwrap_err();
    assert_eq!(failure.disposition, Disposition::Unknown, "{failure:?}");
    let said = text(answered(&*next, &other, Some(&answer)).await);
    assert!(said.contains("decline"), "{said}");
    next.stop().await;
}

/// Over standard streams, a question of the older era does not say which call it belongs to.
#[tokio::test]
async fn a_question_belongs_to_the_only_request_that_takes_questions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("go-on");
    let server = Scripted::new(json!({
        "era": "legacy",
        "tools": [tool("greet"), tool("slow")],
        "many": 500,
        "page": 1,
        "calls": {
            "greet": [{ "elicit": question() }],
            "slow": [{ "until": file }, { "text": "late" }],
        },
    }));
    // A list takes none, so the question is the call's.
    let (_, (handle, _)) = tokio::join!(server.list(), asked(&server, "greet"));
    let answer = ElicitationAnswer::Accepted(Arc::new(json!({ "name": "Ada" })));
    let said = text(answered(&*server.toolbox, &handle, Some(&answer)).await);
    assert!(said.contains("Ada"), "{said}");
    // Of two calls, it is not known which one asks.
    let slow = async {
        let late = server.result("slow", json!({})).await.to_text();
        assert_eq!(late, "late");
    };
    let greet = async {
        server.until("call slow", 1).await;
        let said = format!("{:?}", server.result("greet", json!({})).await);
        assert!(said.contains("decline"), "{said}");
        std::fs::write(&file, "").unwrap();
    };
    tokio::join!(slow, greet);
    server.kept();
}
