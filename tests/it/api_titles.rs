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
    let exported = gateway.get(&format!("{session}/export")).answered().await;
    assert!(
        exported.headers["content-disposition"]
            .ends_with(".json\"; filename*=UTF-8''Plans%20for%20May.json"),
        "{:?}",
        exported.headers
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

#[tokio::test]
async fn a_session_is_pinned_and_archived_and_filtered_by_that() {
    let files = Kept::new();
    let (gateway, _claude) = gateway(&files, [ScriptTurn::text("Good day").again()]).await;
    let (first, second) = (session(&gateway).await, session(&gateway).await);
    for (session, message) in [(&first, "One"), (&second, "Two")] {
        post(&gateway, session, &json!({ "message": message }))
            .await
            .is(200);
    }
    let pinned = rename(
        &gateway,
        &first,
        &json!({ "pinned": true, "title": "Plans" }),
    )
    .await;
    let pinned = pinned.is(200);
    assert_eq!(
        (&pinned["pinned"], &pinned["archived"], &pinned["title"]),
        (&json!(true), &json!(false), &json!("Plans"))
    );
    assert_eq!(titles(&gateway, "?pinned=true").await, json!(["Plans"]));
    assert_eq!(titles(&gateway, "?pinned=false").await, json!(["Two"]));
    rename(&gateway, &first, &json!({ "archived": true }))
        .await
        .is(200);
    assert_eq!(titles(&gateway, "?archived=false").await, json!(["Two"]));
    assert_eq!(
        titles(&gateway, "?archived=true&pinned=true&search=one").await,
        json!(["Plans"])
    );
    assert_eq!(titles(&gateway, "").await, json!(["Two", "Plans"]));
    is_problem(&rename(&gateway, &first, &json!({})).await, 400, "invalid");
    is_problem(
        &rename(&gateway, &first, &json!({ "pinned": "yes" })).await,
        400,
        "invalid",
    );
    gateway.end().await;
}

#[tokio::test]
async fn a_session_tells_its_forks_by_the_turn_that_they_follow() {
    let files = Kept::new();
    let (gateway, _claude) = gateway(&files, [ScriptTurn::text("Good day").again()]).await;
    let origin = session(&gateway).await;
    for message in ["One", "Two"] {
        post(&gateway, &origin, &json!({ "message": message }))
            .await
            .is(200);
    }
    let mut expected = Vec::new();
    for turn in [2, 1, 1, 0] {
        let made = gateway
            .post(&format!("{origin}/fork"), &json!({ "turn": turn }))
            .answered()
            .await;
        let made = made.is(201);
        assert_eq!(made["forked_from"]["turn"], turn);
        expected.push(json!([turn, made["id"]]));
    }
    let listed = async || {
        let listed = gateway.get(&format!("{origin}/forks")).answered().await;
        let listed = listed.is(200)["forks"].clone();
        let forks = listed.as_array().expect("forks").iter();
        forks
            .map(|fork| json!([fork["turn"], fork["session"]["id"]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed().await, expected);
    // The fork before the first turn has none of its messages.
    let beginning = format!(
        "/api/v1/sessions/{}",
        expected[3][1].as_str().expect("an id")
    );
    post(&gateway, &beginning, &json!({ "message": "Once more" }))
        .await
        .is(200);
    let forked = gateway.get(&beginning).answered().await;
    assert_eq!(forked.is(200)["title"], "Once more");
    let gone = gateway.raw("DELETE", &beginning).answered().await;
    assert_eq!(gone.status, 204);
    assert_eq!(listed().await, expected[..3]);
    gateway.end().await;
}
