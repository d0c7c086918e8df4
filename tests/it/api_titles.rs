//! Titles that sessions are given, over the API and on the command line.

use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::{gateway, is_problem, post, session};
use crate::harness::{Gateway, Kept, kept};

async fn titles(gateway: &Gateway, query: &str) -> Value {
    let listed = gateway
        .get(&format!("/api/v1/sessions{query}"))
        .answered()
        .await;
    let listed = listed.is(200);
    let rows = listed["sessions"].as_array().expect("rows").iter();
    rows.map(|row| row["title"].clone()).collect()
}

async fn rename(gateway: &Gateway, session: &str, body: &Value) -> crate::harness::Answer {
    let request = gateway.raw("PATCH", session);
    let request = request.header("content-type", "application/json");
    request.body(body.to_string()).answered().await
}

#[tokio::test]
async fn a_session_keeps_the_title_that_it_is_given_until_it_is_taken_away() {
    let files = Kept::new();
    let (gateway, claude) = gateway(&files, [ScriptTurn::text("Good day").again()]).await;
    let session = session(&gateway).await;
    post(&gateway, &session, &json!({ "message": "Hello there" }))
        .await
        .is(200);
    assert_eq!(titles(&gateway, "").await, json!(["Hello there"]));
    let renamed = rename(&gateway, &session, &json!({ "title": "  Plans\nfor May " })).await;
    assert_eq!(renamed.is(200)["title"], "Plans for May");
    post(&gateway, &session, &json!({ "message": "Once more" }))
        .await
        .is(200);
    assert_eq!(
        titles(&gateway, "?search=PLANS+for").await,
        json!(["Plans for May"])
    );
    assert_eq!(
        titles(&gateway, "?search=hello").await,
        json!(["Plans for May"])
    );
    is_problem(
        &rename(&gateway, &session, &json!({ "title": "a".repeat(201) })).await,
        400,
        "invalid",
    );
    is_problem(
        &rename(&gateway, &session, &json!({ "name": "a" })).await,
        400,
        "invalid",
    );
    is_problem(
        &rename(&gateway, "/api/v1/sessions/none", &json!({ "title": "a" })).await,
        404,
        "not_found",
    );
    // The command line has another connection to the same file.
    let command = files
        .run(&["sessions", "rename", "last", "Terminal", "--json"])
        .run()
        .await;
    assert_eq!(command.code, Some(0), "{command:?}");
    assert_eq!(titles(&gateway, "").await, json!(["Terminal"]));
    assert_eq!(
        rename(&gateway, &session, &json!({ "title": " " }))
            .await
            .is(200)["title"],
        "Hello there"
    );
    kept(&claude);
    gateway.end().await;
}
