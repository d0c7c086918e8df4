//! Requests that continue a response which a provider keeps, by a route, and those in the background.

use std::sync::Arc;

use jackfield_domain::quota::Quota;
use jackfield_gateway::PassthroughUpstream;

use crate::upstream::{PassingWorld, RESPONSES, ScriptedUpstream, body_of, request};

#[tokio::test]
async fn a_route_continues_a_response_at_the_provider_that_keeps_it() {
    let world = PassingWorld::with(|config| {
        let apart = ScriptedUpstream::default();
        apart.answer("application/json", &[b"{}"]);
        let apart = PassthroughUpstream {
            is_enabled: true,
            upstream: Arc::new(apart),
        };
        config.passthrough.upstreams.insert("apart".into(), apart);
    });
    let pieces: [&[u8]; 2] = [br#"{"id":"re"#, br#"sp_1"}"#];
    world.upstream.answer("application/json", &pieces);
    let first = world.reply(&request(RESPONSES, r#"{"model":"b"}"#)).await;
    let body = body_of(first.expect("it is passed through")).await;
    assert_eq!(body.expect("a body"), br#"{"id":"resp_1"}"#);
    // By turns, the route would go elsewhere.
    for _ in 0..4 {
        let body = r#"{"model":"mixed","previous_response_id":"resp_1"}"#;
        let (_, sent) = world.sent(RESPONSES, body).await.expect("passed through");
        assert_eq!(sent, r#"{"model":"b","previous_response_id":"resp_1"}"#);
    }
    // All of its targets are there.
    let body = r#"{"model":"m","previous_response_id":"resp_1"}"#;
    let reply = world.reply(&request(RESPONSES, body)).await;
    let headers = reply.expect("it is passed through").headers;
    assert!(headers.contains_key("x-jackfield-target"));
}

/// A budget would not count a response that its client never fetches.
#[tokio::test]
async fn a_response_in_the_background_is_a_turn_for_a_key_with_a_budget() {
    let mut world = PassingWorld::new();
    let body = request(RESPONSES, r#"{"model":"b","background":true}"#);
    assert!(world.reply(&body).await.is_some());
    let quota = Quota {
        tokens_per_day: Some(1_000),
        ..Quota::default()
    };
    world.client.quotas = vec![("key:k".into(), quota)];
    assert!(world.reply(&body).await.is_none());
}
