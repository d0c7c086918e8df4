//! How long the reply to a passed request is waited for.

use std::time::Duration;

use jackfield_dialect_kit::serve::ServeError;
use tokio::time::Instant;

use crate::upstream::{CHAT, MESSAGES, PassingWorld, RESPONSES, body_of, request};

const GEMINI: &str = "/v1beta/models/b:streamGenerateContent?alt=sse";
/// Half an hour: the longest pause of a server that is alive.
const PAUSE: Duration = Duration::from_secs(30 * 60);

/// All that a client gets, why it breaks off, and after how long.
async fn got(world: &PassingWorld, path: &str, model: &str) -> (String, ServeError, Duration) {
    let began = Instant::now();
    let body = if path == GEMINI {
        r#"{"contents":[]}"#.to_owned()
    } else {
        format!(r#"{{"model":"{model}","stream":true}}"#)
    };
    let prepared = world
        .gateway
        .passthrough(&world.client, &request(path, body))
        .await;
    let prepared = prepared.expect("no refusal").expect("it is passed through");
    let mut got = Vec::new();
    let mut reply = match prepared.send().await {
        Ok(reply) => reply,
        Err(error) => return (String::new(), error, began.elapsed()),
    };
    let error = loop {
        match reply.body.next().await {
            Ok(piece) => got.extend_from_slice(&piece.expect("it does not end")),
            Err(error) => break error,
        }
    };
    let got = String::from_utf8(got).expect("a text");
    (got, error, began.elapsed())
}

fn events(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| format!("data: {line}\n\n"));
    lines.collect()
}

/// The signs of life of a language, none of which is a piece of a reply.
fn signs(path: &str) -> Vec<String> {
    let mut signs = vec![": waiting\n\n".to_owned(), "data:\n\n".to_owned()];
    let lines: &[&str] = match path {
        CHAT => &[
            r#"{"choices":[]}"#,
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":null,"tool_calls":[]}}],"usage":null}"#,
            r#"{"choices":[{"text":""}]}"#,
        ],
        MESSAGES => &[
            r#"{"type":"ping"}"#,
            r#"{"type":"message_start","message":{"usage":{"input_tokens":0}}}"#,
        ],
        RESPONSES => &[
            r#"{"type":"response.created","response":{}}"#,
            r#"{"type":"response.in_progress","response":{}}"#,
            r#"{"type":"keepalive"}"#,
        ],
        _ => &[
            r#"{"candidates":[]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"","thought":true}]}}]}"#,
        ],
    };
    signs.extend(lines.iter().map(|line| events(&[line])));
    signs
}

/// A piece of a reply.
fn piece(path: &str) -> String {
    let line = match path {
        CHAT => r#"{"choices":[{"delta":{"content":"hi"}}]}"#,
        MESSAGES => r#"{"type":"content_block_start","index":0}"#,
        RESPONSES => r#"{"type":"response.output_item.added","item":{}}"#,
        _ => r#"{"candidates":[{"content":{"parts":[{"text":"hi"}]}}]}"#,
    };
    events(&[line])
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_do_not_begin_a_reply_in_any_language() {
    for path in [CHAT, MESSAGES, RESPONSES, GEMINI] {
        for sign in signs(path) {
            let world = PassingWorld::new();
            world.upstream.stays_alive(&[], &sign);
            let (text, error, took) = got(&world, path, "b").await;
            assert_eq!(took, PAUSE, "{path} {sign}");
            let why = "the model did not begin its reply within 1800 s (`first_byte`)";
            assert!(error.message.contains(why), "{}", error.message);
            assert!(!text.is_empty(), "{path} {sign}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_began_may_pause_for_half_an_hour() {
    for path in [CHAT, MESSAGES, RESPONSES, GEMINI] {
        for sign in signs(path) {
            let world = PassingWorld::new();
            world.upstream.stays_alive(&[&sign, &piece(path)], &sign);
            let (_, error, took) = got(&world, path, "b").await;
            assert_eq!(took, PAUSE, "{path} {sign}");
            let why = "the model did not go on with its reply for 1800 s";
            assert!(error.message.contains(why), "{}", error.message);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_says_why_it_breaks_off() {
    for (path, event) in [
        (CHAT, "data: {\"error\":{"),
        (
            MESSAGES,
            "event: error\ndata: {\"type\":\"error\",\"error\":{",
        ),
        (RESPONSES, "event: error\ndata: {\"type\":\"error\","),
        (GEMINI, "data: {\"error\":{"),
    ] {
        let world = PassingWorld::new();
        let begun = piece(path);
        world.upstream.stays_alive(&[&begun], "");
        let (text, error, took) = got(&world, path, "b").await;
        assert_eq!(took, Duration::from_secs(120), "{path}");
        let why = "the model said nothing for 120 s";
        assert!(error.message.contains(why), "{}", error.message);
        let last = text.strip_prefix(&begun).expect("the piece");
        assert!(last.starts_with(event) && last.contains(why), "{last}");
        assert!(last.ends_with("\n\n"), "{last}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_no_silent_provider() {
    let world = PassingWorld::new();
    let begun = piece(CHAT);
    // The sign comes a second after it is waited for.
    world.upstream.stays_alive(&[&begun], ": waiting\n\n");
    let body = r#"{"model":"b","stream":true}"#.to_owned();
    let reply = world.reply(&request(CHAT, body)).await;
    let mut reply = reply.expect("it is passed through");
    for _ in 0..3 {
        let next = reply.body.next().await.expect("nothing is wrong");
        assert!(next.is_some());
        // Longer than a provider may be silent.
        tokio::time::sleep(Duration::from_secs(200)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_within_an_event_breaks_off_there() {
    let world = PassingWorld::new();
    world.upstream.stays_alive(&["data: {\"choi"], "");
    let (text, ..) = got(&world, CHAT, "b").await;
    assert_eq!(text, "data: {\"choi");
}

#[tokio::test(start_paused = true)]
async fn the_next_target_is_asked_when_a_target_only_says_that_it_is_alive() {
    for path in [CHAT, MESSAGES, RESPONSES] {
        for sign in signs(path) {
            let world = PassingWorld::new();
            world.upstream.stays_alive(&[&sign], &sign);
            world.upstream.stays_alive(&[&piece(path)], "");
            let (text, _, took) = got(&world, path, "quick").await;
            assert!(text.starts_with(&piece(path)), "{path} {text}");
            assert_eq!(took, Duration::from_secs(10 + 120), "{path} {sign}");
            let asked = world.upstream.bodies().len();
            assert_eq!(asked, 2, "{path} {sign}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_target_that_does_not_begin_is_named_with_its_limit() {
    let world = PassingWorld::new();
    world.upstream.stays_alive(&[], ": waiting\n\n");
    world.upstream.stays_alive(&[], "");
    let (_, error, _) = got(&world, CHAT, "quick").await;
    assert!(
        error.message.contains("the model said nothing for 120 s"),
        "{}",
        error.message
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_that_began_in_time_may_pause_for_longer_than_that() {
    let world = PassingWorld::new();
    let (sign, begun) = (": waiting\n\n", piece(CHAT));
    world.upstream.stays_alive(&[sign, &begun], sign);
    let (text, _, took) = got(&world, CHAT, "quick").await;
    assert!(text.starts_with(&format!("{sign}{begun}")), "{text}");
    assert_eq!(took, PAUSE);
}

#[tokio::test]
async fn the_next_target_is_asked_when_a_stream_has_no_reply() {
    for (path, error) in [
        (
            CHAT,
            r#"{"error":{"message":"busy","type":"server_error"}}"#,
        ),
        (
            MESSAGES,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
        ),
        (
            RESPONSES,
            r#"{"type":"response.failed","response":{"error":{"message":"busy"}}}"#,
        ),
        (RESPONSES, r#"{"type":"error","message":"busy"}"#),
    ] {
        for pieces in [
            vec![": ping\n\n".to_owned()],
            vec![": ping\n\n".to_owned(), events(&["[DONE]"])],
            vec![": ping\n\n".to_owned(), events(&[error])],
            vec![events(&[error])],
            vec![signs(path)[2].clone()],
        ] {
            let world = PassingWorld::new();
            let sent: Vec<&str> = pieces.iter().map(String::as_str).collect();
            world.upstream.ends(&sent);
            let begun = piece(path);
            world.upstream.ends(&[&begun]);
            let body = r#"{"model":"quick","stream":true}"#.to_owned();
            let reply = world
                .reply(&request(path, body))
                .await
                .expect("it is passed through");
            let got = body_of(reply).await.expect("a whole reply");
            assert_eq!(
                String::from_utf8(got).expect("a text"),
                begun,
                "{path} {pieces:?}"
            );
        }
    }
}
