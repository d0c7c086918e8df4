//! Which requests are passed through, and to which target of a route.

use http::{HeaderName, HeaderValue};
use jackfield_engine::ServerTools;
use jackfield_gateway::{DEFAULT_ASSISTANT, GatewayConfig, ReceivedRequest};

use crate::upstream::{CHAT, MESSAGES, NOT_SERVED, PassingWorld, RESPONSES, request};

type Change = fn(&mut GatewayConfig, &mut ReceivedRequest);

/// Whether the request for a response with this body and these changes is passed through.
async fn is_passed_through(body: &str, change: Change) -> bool {
    let mut request = request(RESPONSES, body.to_owned());
    let mut world = PassingWorld::with(|config| change(config, &mut request));
    world.client.tools = ServerTools::All;
    world.reply(&request).await.is_some()
}

fn set_header(request: &mut ReceivedRequest, name: &'static str, value: &'static str) {
    let (name, value) = (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    );
    request.headers.insert(name, value);
}

#[tokio::test]
async fn a_request_is_passed_through_unless_a_reason_speaks_for_a_turn() {
    const PLAIN: &str = r#"{"model":"b"}"#;
    assert!(is_passed_through(PLAIN, |_, _| {}).await);
    let changes: [(&str, Change); 10] = [
        ("disabled", |config, _| {
            config.passthrough.is_enabled = false;
        }),
        ("no upstream", |config, _| {
            config.passthrough.upstreams.clear();
        }),
        ("an upstream that is disabled", |config, _| {
            let mut upstreams = config.passthrough.upstreams.values_mut();
            upstreams.next().expect("one").is_enabled = false;
        }),
        ("another endpoint", |_, request| {
            request.path = NOT_SERVED.to_owned();
        }),
        ("a session", |_, request| {
            set_header(request, "x-session-id", "s");
        }),
        ("an idempotency key", |_, request| {
            set_header(request, "idempotency-key", "k");
        }),
        ("strict", |_, request| {
            set_header(request, "x-jackfield-strict", "true");
        }),
        ("server tools", |config, _| {
            (config.has_tools, config.offered_tools) = (true, ServerTools::All);
        }),
        ("kept responses", |config, _| {
            config.passthrough.keeps_responses = true;
        }),
        ("settings", |config, _| {
            let options = config.options.get_mut("a").expect("the options");
            options.settings.seed = Some(1);
        }),
    ];
    for (reason, change) in changes {
        assert!(!is_passed_through(PLAIN, change).await, "{reason}");
    }
    for body in [
        format!(r#"{{"model":"{DEFAULT_ASSISTANT}"}}"#),
        r#"{"model":"mixed"}"#.to_owned(),
        r#"{"model":"b","previous_response_id":"r"}"#.to_owned(),
    ] {
        assert!(!is_passed_through(&body, |_, _| {}).await, "{body}");
    }
    // What says no to a reason.
    for body in [
        r#"{"model":"m"}"#,
        r#"{"model":"b","previous_response_id":null}"#,
        r#"{"model":"b","background":false}"#,
        r#"{"model":"b","background":true}"#,
    ] {
        assert!(is_passed_through(body, |_, _| {}).await, "{body}");
    }
    let lax: Change = |config, request| {
        config.passthrough.keeps_responses = true;
        set_header(request, "x-jackfield-strict", "false");
    };
    assert!(is_passed_through(r#"{"model":"b","store":false}"#, lax).await);
    let in_the_background = r#"{"model":"b","store":false,"background":true}"#;
    assert!(!is_passed_through(in_the_background, lax).await);
}

/// Whether two requests of the route begin alike, so that the target that has answered the first gets the second: it
/// would be the turn of the other one.
async fn begin_alike(path: &str, bodies: [&str; 2], principals: [&str; 2]) -> bool {
    let mut world = PassingWorld::new();
    let mut targets = Vec::new();
    for (body, principal) in bodies.into_iter().zip(principals) {
        world.client.principal = principal.into();
        let reply = world.reply(&request(path, body.to_owned())).await;
        let reply = reply.expect("it is passed through");
        let target = reply.headers.get("x-jackfield-target").cloned();
        targets.push(target.expect("a target"));
    }
    targets[0] == targets[1]
}

#[tokio::test]
async fn requests_of_a_conversation_have_one_beginning() {
    let body = |more: &str, mark: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"text","text":"hi"{mark}}}]}}{more}]}}"#
        )
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let more = r#",{"role":"assistant","content":"Hello"},{"role":"user","content":"Go on"}"#;
    let text = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let first = body("", mark);
    let other = first.replace("hi", "ho");
    for (second, principal, expected) in [
        (&*first, "p", true),
        (&body(more, ""), "p", true),
        (text, "p", true),
        (&first, "q", false),
        (&other, "p", false),
    ] {
        let alike = begin_alike(MESSAGES, [&first, second], ["p", principal]).await;
        assert_eq!(alike, expected, "{principal} {second}");
    }
}

#[tokio::test]
async fn each_language_has_its_own_place_for_messages() {
    let alike = async |path: &str, one: &str, other: &str| {
        begin_alike(path, [one, other], ["p", "p"]).await
    };
    let chat = r#"{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"hi"},{"role":"user","content":"2"}]}"#;
    assert!(alike(CHAT, chat, &chat.replace("\"2\"", "\"3\"")).await);
    assert!(!alike(CHAT, chat, &chat.replace("\"S\"", "\"T\"")).await);
    let text = r#"{"model":"m","input":"hi"}"#;
    assert!(alike(RESPONSES, text, text).await);
    let gemini = r#"{"model":"m","contents":[{"parts":[{"text":"hi"}]}]}"#;
    assert!(alike("/v1beta/models/m:generateContent", gemini, gemini).await);
    // What has no beginning is like nothing.
    assert!(!alike(MESSAGES, gemini, gemini).await);
    let none = r#"{"model":"m","messages":[]}"#;
    assert!(!alike(CHAT, none, none).await);
}
