//! Providers that refuse the demand for usage that the gateway adds to a stream.

use http::StatusCode;

use crate::upstream::{CHAT, PassingWorld, body_of, request};

/// A request in a client's own words, with this model and the member that the gateway adds.
fn body(model: &str, added: &str) -> String {
    format!(r#"{{ "stream":true,"model" : "{model}"{added} ,"top_k":1,"messages":[] }}"#)
}

const ADDED: &str = r#","stream_options":{"include_usage":true}"#;
const EVENTS: &str = "data: {\"model\":\"b\",\"choices\":[]}\n\n";

/// The refusal of a field.
fn refusal(field: &str) -> String {
    format!(
        r#"{{"detail":[{{"type":"extra_forbidden","loc":["body","{field}"],"msg":"Extra inputs are not permitted","input":{{"messages":[]}}}}]}}"#
    )
}

/// A provider that streams once it has refused what a test says.
fn world() -> PassingWorld {
    let world = PassingWorld::new();
    world
        .upstream
        .answer("text/event-stream", &[EVENTS.as_bytes()]);
    world
}

/// The status and the body of the reply to this body.
async fn asked(world: &PassingWorld, body: String) -> (StatusCode, String) {
    let reply = world.reply(&request(CHAT, body)).await;
    let reply = reply.expect("it is passed through");
    let status = reply.status;
    let body = body_of(reply).await.expect("a body");
    (status, String::from_utf8(body).expect("a text"))
}

#[tokio::test]
async fn a_demand_for_usage_that_is_refused_is_left_out_from_then_on() {
    for (status, refusal) in [
        (422, refusal("stream_options")),
        (
            400,
            r#"{"error":"json: unknown field \"stream_options\""}"#.to_owned(),
        ),
    ] {
        for name in ["a/b", "b"] {
            let world = world();
            world.upstream.refuse(status, &refusal);
            let events = EVENTS.replace("\"b\"", &format!("\"{name}\""));
            assert_eq!(
                asked(&world, body(name, "")).await,
                (StatusCode::OK, events.clone())
            );
            let sent = [body("b", ADDED), body("b", "")];
            assert_eq!(world.upstream.bodies(), sent);
            assert_eq!(
                asked(&world, body(name, "")).await,
                (StatusCode::OK, events)
            );
            assert_eq!(world.upstream.bodies()[2..], [body("b", "")]);
            // Of another model, nothing is known.
            asked(&world, body("a/c", "")).await;
            assert_eq!(world.upstream.bodies()[3..], [body("c", ADDED)]);
            let records = world.records().await;
            let statuses = records.iter().map(|record| record.status);
            assert_eq!(statuses.collect::<Vec<_>>(), [Some(200); 3]);
        }
    }
}

#[tokio::test]
async fn a_demand_for_usage_of_a_route_is_left_out_if_its_target_refuses_it() {
    let world = world();
    world.upstream.refuse(422, &refusal("stream_options"));
    let (status, _) = asked(&world, body("m", "")).await;
    assert_eq!(status, StatusCode::OK);
    let sent = world.upstream.bodies();
    let target = if sent[0].contains("\"one\"") {
        "one"
    } else {
        "two"
    };
    assert_eq!(sent, [body(target, ADDED), body(target, "")]);
}

#[tokio::test]
async fn a_refusal_of_what_the_client_sent_comes_back_and_is_not_repeated() {
    let both = r#"{"error":{"message":"unknown fields `top_k`, `stream_options`"}}"#;
    for (own, refusal) in [
        ("", refusal("top_k")),
        ("", both.to_owned()),
        (r#","stream_options":{}"#, refusal("stream_options")),
        (r#","stream_options":null"#, refusal("stream_options")),
        (ADDED, refusal("stream_options")),
    ] {
        let world = world();
        world.upstream.refuse(422, &refusal);
        let answer = asked(&world, body("b", own)).await;
        assert_eq!(answer, (StatusCode::UNPROCESSABLE_ENTITY, refusal));
        assert_eq!(world.upstream.bodies().len(), 1);
        asked(&world, body("b", "")).await;
        assert_eq!(world.upstream.bodies()[1..], [body("b", ADDED)]);
    }
}

#[tokio::test]
async fn a_second_refusal_comes_back() {
    let (first, again) = (refusal("stream_options"), refusal("top_k"));
    for (second, is_learned) in [(&first, false), (&again, true)] {
        let world = world();
        world.upstream.refuse(400, &first);
        world.upstream.refuse(422, second);
        let answer = asked(&world, body("b", "")).await;
        assert_eq!(answer, (StatusCode::UNPROCESSABLE_ENTITY, second.clone()));
        assert_eq!(world.upstream.bodies().len(), 2);
        asked(&world, body("b", "")).await;
        let added = if is_learned { "" } else { ADDED };
        assert_eq!(world.upstream.bodies()[2..], [body("b", added)]);
    }
}

#[tokio::test]
async fn a_long_refusal_comes_back_whole() {
    let world = world();
    let long = format!("{{\"error\":\"{}\"}}", "no ".repeat(50_000));
    world.upstream.refuse(400, &long);
    let answer = asked(&world, body("b", "")).await;
    assert_eq!(answer, (StatusCode::BAD_REQUEST, long));
}
