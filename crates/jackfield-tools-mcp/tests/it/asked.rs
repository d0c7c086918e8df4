//! Servers of the older era that ask a person during a call.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::sync::Arc;

use jackfield_domain::failure::{Disposition, ToolFailure};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle, Question};
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
    let ended = soon(toolbox.resume(handle, answer, &mut ())).await;
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
    let other = soon(next.call(&run("greet", json!({})), &mut ())).await;
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
