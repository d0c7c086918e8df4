//! Model calls that are tried again.

use jackfield_testkit::server::Response;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{jackfield, kept};

#[tokio::test]
async fn an_overload_is_tried_again_and_the_answer_comes() {
    let claude = ScriptedClaude::start([
        ScriptTurn::status(529, &overloaded()),
        ScriptTurn::text("Hello!"),
    ])
    .await;
    let ran = jackfield(["ask", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.answers("Hello!\n");
    ran.says_line("! ", "Overloaded");
    ran.says("; retrying in ");
    let requests = claude.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
    kept(&claude);
}

#[tokio::test]
async fn a_retry_is_an_event_between_two_attempts_of_one_round() {
    let claude = ScriptedClaude::start([
        ScriptTurn::status(529, &overloaded()),
        ScriptTurn::text("Hello!"),
    ])
    .await;
    let ran = jackfield(["ask", "--json", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let events: Vec<Value> = ran.events();
    let brief = |event: &Value| json!([event["event"], event["round"], event["attempt"]]);
    let first: Vec<Value> = events.iter().skip(1).take(3).map(brief).collect();
    let expected = [
        json!(["round_started", 1, 1]),
        json!(["retry", 1, 1]),
        json!(["round_started", 1, 2]),
    ];
    assert_eq!(first, expected);
    assert_eq!(events[2]["failure"]["kind"], "overloaded");
    assert!(events[2]["after_ms"].is_u64(), "{}", events[2]);
    assert_eq!(ran.last_event()["rounds"], 1);
    kept(&claude);
}

#[tokio::test]
async fn an_overload_that_stays_is_told_after_the_last_try() {
    let claude = ScriptedClaude::start([ScriptTurn::status(529, &overloaded()).again()]).await;
    let more = "limits.model_retries = 1";
    let ran = jackfield(["ask", "hello"])
        .at_with(&claude.base_url(), more)
        .run()
        .await;
    ran.fails(
        4,
        "Overloaded",
        "wait a little and ask again, or take another model",
    );
    assert_eq!(claude.requests().len(), 2);
    kept(&claude);
}

#[tokio::test]
async fn a_server_that_wants_more_patience_than_is_allowed_is_not_waited_for() {
    let body = json!({
        "type": "error",
        "error": { "type": "rate_limit_error", "message": "Number of requests has exceeded your rate limit" },
    });
    let response = Response::json(429, body.to_string()).header("retry-after", "3600");
    let claude = ScriptedClaude::start([ScriptTurn::wire(response)]).await;
    let ran = jackfield(["ask", "hello"])
        .at(&claude.base_url())
        .run()
        .await;
    let help = "wait 60 min, as the provider says, and ask again";
    ran.fails(4, "exceeded your rate limit", help);
    assert_eq!(claude.requests().len(), 1);
    kept(&claude);
}

fn overloaded() -> Value {
    json!({
        "type": "error",
        "error": { "type": "overloaded_error", "message": "Overloaded" },
    })
}
