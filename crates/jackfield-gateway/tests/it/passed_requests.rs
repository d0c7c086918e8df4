//! What a provider is sent of a request that is passed through, and what is recorded and reserved for it.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::EntryName;
use jackfield_domain::estimate;
use jackfield_domain::quota::Quota;
use jackfield_engine::{KeyOptions, RESERVED_OUTPUT, UserUpdate};

use crate::upstream::{CHAT, MESSAGES, PassingWorld, RESPONSES, body_of, request};

/// The body that the provider is sent of one for Chat Completions.
async fn sent(body: &str) -> String {
    let sent = PassingWorld::new().sent(CHAT, body).await;
    sent.expect("it is passed through").1
}

#[tokio::test]
async fn only_the_model_and_the_demand_for_usage_change() {
    let body = r#"{ "n":1.50, "model" : MODEL ,"unknown":[ 1e3 ],"messages":[{"role":"user","content":"h\u0069"}]}"#;
    let usage = r#""b","stream_options":{"include_usage":true}"#;
    for model in [r#""a/b""#, r#""b""#, r#""a\/\u0062""#] {
        let whole = body.replace("MODEL", model);
        let expected = match model {
            // What need not change is not even written in another way.
            r#""b""# => whole.clone(),
            _ => body.replace("MODEL", r#""b""#),
        };
        assert_eq!(sent(&whole).await, expected);
        let stream = |body: &str| body.replace("[ 1e3 ]", r#"1, "stream": true "#);
        let expected = stream(&body.replace("MODEL", usage));
        assert_eq!(sent(&stream(&whole)).await, expected);
    }
    for (options, changed) in [
        ("null", r#"{"include_usage":true}"#),
        ("{}", r#"{"include_usage":true}"#),
        (r#"{ "x" : 1 }"#, r#"{"include_usage":true, "x" : 1 }"#),
        (r#"{"include_usage": false}"#, r#"{"include_usage": true}"#),
        (r#"{"include_usage": true}"#, r#"{"include_usage": true}"#),
    ] {
        let body =
            |options: &str| format!(r#"{{"stream":true,"stream_options":{options},"model":"b"}}"#);
        assert_eq!(sent(&body(options)).await, body(changed));
    }
}

#[tokio::test]
async fn a_model_is_found_among_members_of_any_form() {
    let body = r#" { "a" : 1 , "m\u006fdel" : "a/b" ,"b":{"model":["a/b"]} } "#;
    let expected = r#" { "a" : 1 , "m\u006fdel" : "b" ,"b":{"model":["a/b"]} } "#;
    assert_eq!(sent(body).await, expected);
}

#[tokio::test]
async fn a_body_without_one_model_is_not_passed_through() {
    let world = PassingWorld::new();
    for body in [
        "",
        "[]",
        "1",
        "{",
        "{}",
        "{}x",
        r#"{"model":}"#,
        r#"{"model":1}"#,
        r#"{"model":"a/b","model":"a/b"}"#,
        r#"{"model":"a/b"} x"#,
    ] {
        assert_eq!(world.sent(CHAT, body).await, None, "{body}");
    }
    let no_text = request(CHAT, b"{\"model\":\"\xff\"}".to_vec());
    assert!(world.reply(&no_text).await.is_none());
}

#[tokio::test]
async fn the_model_of_an_address_changes_there_and_the_body_stays() {
    let body = r#"{ "contents":[ ], "model":"x" }"#;
    for (address, path, client) in [
        (
            "/v1beta/models/a/b:generateContent",
            "/v1beta/models/b:generateContent",
            "a/b",
        ),
        (
            "/v1/models/a%2Fb:streamGenerateContent?alt=sse",
            "/v1/models/b:streamGenerateContent",
            "a/b",
        ),
        (
            "/v1beta/models/b:countTokens",
            "/v1beta/models/b:countTokens",
            "b",
        ),
    ] {
        let world = PassingWorld::new();
        let reply = r#"{"modelVersion":"b"}"#;
        world
            .upstream
            .answer("application/json", &[reply.as_bytes()]);
        let answered = world.reply(&request(address, body.to_owned())).await;
        let expected = (path.to_owned(), body.to_owned());
        assert_eq!(world.last_sent(), Some(expected));
        let answered = body_of(answered.expect("a reply")).await.expect("a body");
        let expected = format!(r#"{{"modelVersion":"{client}"}}"#);
        assert_eq!(String::from_utf8(answered).expect("a text"), expected);
    }
    // A list in JSON, and a method that is not known.
    let world = PassingWorld::new();
    for other in ["streamGenerateContent", "predict"] {
        let address = format!("/v1beta/models/b:{other}");
        assert_eq!(world.sent(&address, body).await, None);
    }
}

#[tokio::test]
async fn the_model_of_a_counted_request_is_that_of_the_address() {
    let counted = async |body: &str, model: &str| {
        let address = format!("/v1beta/models/{model}:countTokens");
        let sent = PassingWorld::new().sent(&address, body).await;
        sent.expect("it is passed through").1
    };
    let body = r#"{ "generateContentRequest" : { "contents":[], "model" : "models/a/b" } }"#;
    let changed = body.replace("models/a/b", "models/b");
    assert_eq!(counted(body, "a/b").await, changed);
    assert_eq!(counted(body, "b").await, body);
    let plain = r#"{"generateContentRequest":{"model":"a/b"}}"#;
    assert_eq!(counted(plain, "a/b").await, plain.replace("a/b", "b"));
    for other in [
        r#"{"contents":[]}"#,
        r#"{"generateContentRequest":{"contents":[]}}"#,
        r#"{"generateContentRequest":[1]}"#,
        r#"{"generateContentRequest":{"model":7}}"#,
    ] {
        assert_eq!(counted(other, "a/b").await, other);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_be_silent_for_less_time_than_a_whole_reply() {
    let (idle, whole) = (Duration::from_secs(7), Duration::from_secs(70));
    for (address, body, limit) in [
        (CHAT, r#"{"model":"b","stream":true}"#, idle),
        (CHAT, r#"{"model":"b"}"#, whole),
        ("/v1/models/b:streamGenerateContent?alt=sse", "{}", idle),
        ("/v1/models/b:generateContent", "{}", whole),
    ] {
        let world = PassingWorld::with(|config| {
            config.default_options.limits.model_idle = idle;
            config.limits.whole_reply = whole;
        });
        world.upstream.is_silent();
        let begun = tokio::time::Instant::now();
        let prepared = world
            .gateway
            .passthrough(&world.client, &request(address, body.to_owned()))
            .await;
        let prepared = prepared.expect("no refusal").expect("it is passed through");
        prepared.send().await.expect_err("it is silent");
        assert_eq!(begun.elapsed(), limit, "{address} {body}");
    }
}

#[tokio::test]
async fn the_end_user_is_read_as_in_a_turn() {
    let both =
        r#"{"model":"m","user":"u\u0031","safety_identifier":"s","metadata":{"user_id":"c"}}"#;
    let plain = r#"{"model":"b","user":"u\u0031","metadata":1}"#;
    for (path, body, principal) in [
        (CHAT, both, "ann/s"),
        (RESPONSES, both, "ann/s"),
        (MESSAGES, both, "ann/c"),
        (CHAT, plain, "ann/u1"),
        (MESSAGES, plain, "ann"),
        (CHAT, r#"{"model":"b","user":1}"#, "ann"),
    ] {
        let world = PassingWorld::new();
        world.sent(path, body).await.expect("it is passed through");
        let records = world.records().await;
        let principals: Vec<&str> = records.iter().map(|record| &*record.principal).collect();
        assert_eq!(principals, [principal], "{path} {body}");
    }
}

#[tokio::test]
async fn a_recorded_endpoint_is_bounded() {
    let long = format!("/v1beta/models/{}:generateContent", "ä".repeat(200));
    // Of the 200 bytes there is room for, the last is the first half of a letter.
    for (path, endpoint) in [(CHAT, CHAT), (&long, &long[..199])] {
        let world = PassingWorld::new();
        let sent = world.sent(path, r#"{"model":"b"}"#).await;
        sent.expect("it is passed through");
        let records = world.records().await;
        assert_eq!(&*records[0].endpoint, endpoint);
    }
}

/// How many tokens are reserved for a request, while it is in flight.
async fn reserved(path: &str, body: &str) -> u64 {
    let mut world = PassingWorld::new();
    let directory = world.gateway.engine().directory().expect("a directory");
    let (by, ann) = (
        Arc::from("a test"),
        EntryName::parse("ann").expect("a name"),
    );
    let added = directory.add_user(&by, ann.clone(), None).await;
    added.expect("a user");
    let quota = Quota {
        tokens_per_day: Some(u64::MAX),
        ..Quota::default()
    };
    let update = UserUpdate {
        quota: quota.into(),
        ..UserUpdate::default()
    };
    let limited = directory.update_user(&by, &ann, &update).await;
    limited.expect("a limit");
    let made = directory.create_key(&by, &ann, KeyOptions::default()).await;
    let (_, secret) = made.expect("a key");
    let digest = Digest::of(secret.reveal().as_bytes());
    let quotas = directory.accept(&digest).await.expect("a client").quotas;
    world.client.quotas.clone_from(&quotas);
    world.upstream.is_silent();
    let prepared = world
        .gateway
        .passthrough(&world.client, &request(path, body.to_owned()))
        .await;
    let prepared = prepared.expect("no refusal").expect("it is passed through");
    let mut sending = Box::pin(prepared.send());
    tokio::select! {
        sent = &mut sending => panic!("{sent:?}"),
        () = world.upstream.is_asked() => {}
    }
    let states = world.gateway.engine().budget_states(&quotas).await;
    let states = states.expect("a journal");
    states.first().expect("a budget").reserved
}

#[tokio::test]
async fn the_longest_reply_is_reserved_in_each_language() {
    const GEMINI: &str = "/v1beta/models/b:generateContent";
    for (path, body, most) in [
        (MESSAGES, r#"{"model":"b","max_tokens":7}"#, 7),
        (
            CHAT,
            r#"{"model":"b","max_tokens":7,"max_completion_tokens":9,"n":3}"#,
            27,
        ),
        (
            RESPONSES,
            r#"{"model":"b","max_output_tokens":5,"input":"hi"}"#,
            5,
        ),
        (
            GEMINI,
            r#"{"generationConfig":{"maxOutputTokens":8,"candidateCount":2}}"#,
            16,
        ),
        (
            CHAT,
            r#"{"model":"b","max_tokens":"many"}"#,
            RESERVED_OUTPUT,
        ),
        (CHAT, r#"{"model":"b","n":2}"#, 2 * RESERVED_OUTPUT),
        // Both spellings of the tier.
        (
            CHAT,
            r#"{"model":"b","max_tokens":7,"service_tier":"flex","serviceTier":"priority"}"#,
            7,
        ),
        (
            CHAT,
            r#"{"model":"b","max_tokens":18446744073709551615,"n":9}"#,
            u64::MAX,
        ),
        (GEMINI, "{}", RESERVED_OUTPUT),
    ] {
        let expected = estimate::tokens(body.len()).saturating_add(most);
        assert_eq!(reserved(path, body).await, expected, "{body}");
    }
}
