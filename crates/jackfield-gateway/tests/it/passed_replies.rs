//! What a client gets of a reply that is passed through, and the usage that is read in it.

use jackfield_dialect_kit::decode::DecodeReply as _;
use jackfield_dialect_openai::chat;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::price::{Money, ServiceTier};
use jackfield_domain::usage::Usage;

use crate::upstream::{CHAT, MESSAGES, PassingWorld, RESPONSES, body_of, request};

/// A request, and the form of the reply.
struct Asked {
    address: &'static str,
    body: &'static str,
    content_type: &'static str,
}

/// Asks for a chat, which streams.
const fn asked_chat(content_type: &'static str, body: &'static str) -> Asked {
    Asked {
        address: CHAT,
        body,
        content_type,
    }
}

/// What the client gets of this reply, which arrives in two pieces, at every place of the cut.
async fn filtered(world: &PassingWorld, asked: &Asked, reply: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for cut in 0..=reply.len() {
        let pieces = [&reply[..cut], &reply[cut..]];
        world.upstream.answer(asked.content_type, &pieces);
        let replied = world.reply(&request(asked.address, asked.body)).await;
        let replied = body_of(replied.expect("it is passed through")).await;
        all.push(replied.expect("a body"));
    }
    all
}

/// Checks what the client gets of a reply, and its tokens; `None` where it reports none.
async fn check(asked: Asked, reply: &str, expected: &str, tokens: Option<(u64, u64)>) {
    let world = PassingWorld::new();
    let all = filtered(&world, &asked, reply.as_bytes()).await;
    for (cut, got) in all.iter().enumerate() {
        assert_eq!(String::from_utf8_lossy(got), expected, "cut at {cut}");
    }
    let records = world.records().await;
    assert_eq!(records.len(), all.len());
    for record in records {
        let usage = record.usage;
        let reported = (usage.estimated() == 0).then_some((usage.input, usage.output));
        assert_eq!(reported, tokens, "{expected}");
    }
}

#[tokio::test]
async fn a_stream_is_passed_on_as_it_is_and_its_usage_is_read() {
    let broken = "data: {\"usage\":\n\nno event at all";
    check(asked_chat(EVENTS, PLAIN), STREAM, STREAM, Some((7, 2))).await;
    // Whatever it looks like.
    check(asked_chat("text/plain", PLAIN), STREAM, STREAM, None).await;
    check(asked_chat(EVENTS, PLAIN), broken, broken, None).await;
}

#[tokio::test]
async fn usage_that_the_client_did_not_ask_for_is_taken_out_of_a_chat_stream() {
    let expected = "data: {\"id\":\"x\",\"model\":\"b\",\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\":\\\"b\\\"\"}}]}\r\n\r\n: a comment\n\ndata: [DONE]\n\n";
    check(asked_chat(EVENTS, UNASKED), STREAM, expected, Some((7, 2))).await;
    // Usage in a chunk with content is taken out alone.
    let content =
        "data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1},\"choices\":[{}]}\n\n";
    let expected = "data: {\"choices\":[{}]}\n\n";
    check(asked_chat(EVENTS, UNASKED), content, expected, Some((1, 1))).await;
}

#[tokio::test]
async fn usage_is_taken_out_with_its_comma() {
    for (data, expected) in [
        (r#"{"usage":null}"#, "{}"),
        (r#"{"usage":null,"a":1}"#, r#"{"a":1}"#),
        (r#"{"a":1,"usage":null}"#, r#"{"a":1}"#),
        (r#"{"a":1 , "usage" : null , "b":2}"#, r#"{"a":1 ,  "b":2}"#),
    ] {
        let [reply, expected] = [data, expected].map(|data| format!("data: {data}\n\n"));
        check(asked_chat(EVENTS, UNASKED), &reply, &expected, None).await;
    }
}

#[tokio::test]
async fn the_models_name_is_the_clients() {
    let expected = STREAM.replacen("\"model\":\"b\"", "\"model\":\"a/b\"", 1);
    let expected = expected.replacen("\"model\" : \"b\"", "\"model\" : \"a/b\"", 1);
    check(asked_chat(EVENTS, NAMED), STREAM, &expected, Some((7, 2))).await;
    let dated = STREAM.replace("\"model\":\"b\"", "\"model\":\"b-2026\"");
    let expected = dated.replacen("\"model\" : \"b\"", "\"model\" : \"a/b\"", 1);
    check(asked_chat(EVENTS, NAMED), &dated, &expected, Some((7, 2))).await;
    let document = "{\"n\":1.50,\"model\":\"b\",\"x\":{\"model\":\"b\"},\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n";
    let expected = document.replacen("\"b\"", "\"a/b\"", 1);
    check(asked_chat(JSON, NAMED), document, &expected, Some((3, 4))).await;
    check(asked_chat(JSON, PLAIN), document, document, Some((3, 4))).await;
    // Nothing, and more than any reply has, is no report.
    for usage in [
        "{}",
        "{\"prompt_tokens\":0,\"completion_tokens\":0}",
        "{\"prompt_tokens\":1e30,\"completion_tokens\":1}",
    ] {
        let document = format!("{{\"model\":\"b\",\"usage\":{usage}}}");
        check(asked_chat(JSON, PLAIN), &document, &document, None).await;
    }
    let texts = "{\"model\":\"b\",\"usage\":{\"prompt_tokens\":\"3\",\"completion_tokens\":\"4\"}}";
    check(asked_chat(JSON, PLAIN), texts, texts, Some((3, 4))).await;
    let web_page = "<html>\"model\":\"b\"</html>";
    check(asked_chat(JSON, NAMED), web_page, web_page, None).await;
}

#[tokio::test]
async fn claude_and_responses_report_usage_within_an_event() {
    let claude = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"b\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\n";
    let responses = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"model\":\"b\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n";
    // What a later report does not say is as before.
    let late = claude.replace(
        "\"usage\":{\"output_tokens\":9}",
        "\"usage\":{\"cache_read_input_tokens\":800,\"output_tokens\":9}",
    );
    for (address, reply, tokens) in [
        (MESSAGES, claude, (7, 9)),
        (MESSAGES, &*late, (805, 9)),
        (RESPONSES, responses, (5, 1)),
    ] {
        let expected = reply.replace("\"b\"", "\"a/b\"");
        let asked = Asked {
            address,
            body: NAMED,
            content_type: EVENTS,
        };
        check(asked, reply, &expected, Some(tokens)).await;
    }
}

#[tokio::test]
async fn gemini_has_names_of_its_own_for_model_and_usage() {
    let gemini = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"modelVersion b\"}]}}],\"modelVersion\":\"b\"}\r\n\r\ndata: {\"modelVersion\":\"b\",\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":2,\"thoughtsTokenCount\":3}}\r\n\r\n";
    let renamed = gemini.replace("\"b\"", "\"a/b\"");
    for (address, expected) in [
        (
            "/v1beta/models/a/b:streamGenerateContent?alt=sse",
            &*renamed,
        ),
        ("/v1beta/models/b:streamGenerateContent?alt=sse", gemini),
    ] {
        let asked = Asked {
            address,
            body: "{}",
            content_type: EVENTS,
        };
        check(asked, gemini, expected, Some((5, 5))).await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_pass() {
    for content_type in [EVENTS, JSON] {
        let (world, asked) = (PassingWorld::new(), asked_chat(content_type, NAMED_UNASKED));
        let reply = b"data: \xff\"usage\"\n\n\xfe";
        for got in filtered(&world, &asked, reply).await {
            assert_eq!(got, reply);
        }
    }
}

/// The usage that is recorded of a whole reply to this path.
async fn recorded(address: &'static str, reply: &str) -> Usage {
    recorded_at(&PassingWorld::new(), address, reply).await
}

async fn recorded_at(world: &PassingWorld, address: &'static str, reply: &str) -> Usage {
    world.upstream.answer(JSON, &[reply.as_bytes()]);
    let replied = world.reply(&request(address, PLAIN_WHOLE)).await;
    let body = body_of(replied.expect("it is passed through")).await;
    body.expect("a body");
    world.records().await[0].usage
}

/// Tier, kinds of tokens and what was billed, as turns read them.
#[tokio::test]
async fn a_reply_says_all_that_its_bill_depends_on() {
    let chat = r#"{"service_tier":"priority","usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"cost":0.0125,"prompt_tokens_details":{"cached_tokens":40,"cache_write_tokens":10,"audio_tokens":5,"image_tokens":6,"cache_write_tokens_details":{"ttl_12h_tokens":4}},"completion_tokens_details":{"audio_tokens":3,"image_tokens":2,"reasoning_tokens":7}}}"#;
    let world = PassingWorld::new();
    world.upstream.charges();
    let usage = recorded_at(&world, CHAT, chat).await;
    let of_chat = Usage {
        audio_input: 5,
        audio_output: 3,
        billed: Money::parse("0.0125").ok(),
        cache_read: 40,
        cache_write: 10,
        cache_write_long: 4,
        image_input: 6,
        image_output: 2,
        input: 100,
        output: 20,
        reasoning: 7,
        tier: Some(ServiceTier::Priority),
        ..Usage::default()
    };
    assert_eq!(usage, of_chat);
    // Of another server, the cost may be anything.
    let unbilled = Usage {
        billed: None,
        ..of_chat
    };
    assert_eq!(recorded(CHAT, chat).await, unbilled);
    // The same in a whole reply of a turn.
    let decoder = chat::stream::Decoder::new(StateOwner {
        dialect: "openai-chat".into(),
        endpoint: "http://a".into(),
        model: "b".into(),
    })
    .with_cost(true);
    let whole = chat.replace(
        r#"{"service_tier""#,
        r#"{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"service_tier""#,
    );
    let (_, end) = decoder.read_whole(whole.as_bytes()).expect("a reply");
    assert_eq!(end.usage, Some(of_chat));
    assert_eq!(end.notes, []);

    let claude = r#"{"usage":{"input_tokens":50,"cache_read_input_tokens":30,"cache_creation_input_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":15},"output_tokens":9,"service_tier":"standard","speed":"fast"}}"#;
    let expected = Usage {
        cache_read: 30,
        cache_write: 20,
        cache_write_long: 15,
        input: 100,
        output: 9,
        tier: Some(ServiceTier::Fast),
        ..Usage::default()
    };
    assert_eq!(recorded(MESSAGES, claude).await, expected);
    let responses = r#"{"service_tier":"flex","usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40,"cache_write_tokens":0},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":109}}"#;
    let expected = Usage {
        cache_read: 40,
        input: 100,
        output: 9,
        reasoning: 2,
        tier: Some(ServiceTier::Flex),
        ..Usage::default()
    };
    assert_eq!(recorded(RESPONSES, responses).await, expected);
    let gemini = r#"{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,"candidatesTokenCount":30,"thoughtsTokenCount":8,"totalTokenCount":138,"serviceTier":"priority","promptTokensDetails":[{"modality":"TEXT","tokenCount":60},{"modality":"AUDIO","tokenCount":40}],"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":15}],"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":20}]}}"#;
    let expected = Usage {
        audio_input: 25,
        cache_read: 40,
        image_output: 20,
        input: 100,
        output: 38,
        reasoning: 8,
        tier: Some(ServiceTier::Priority),
        ..Usage::default()
    };
    let address = "/v1beta/models/b:generateContent";
    assert_eq!(recorded(address, gemini).await, expected);
}

/// What cannot be true is mended, a tier that is not known has no price, and what comes twice counts once.
#[tokio::test]
async fn a_usage_that_cannot_be_true_is_mended_and_counted_once() {
    let cached = r#"{"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":40}}}"#;
    let usage = recorded(CHAT, cached).await;
    assert_eq!((usage.input, usage.cache_read, usage.output), (40, 40, 5));
    let total = r#"{"usage":{"total_tokens":12}}"#;
    assert_eq!(recorded(CHAT, total).await.total(), 12);
    // Reasoning beside the output, as Gemini and Grok have it for OpenAI's SDK.
    let beside = r#"{"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135}}"#;
    let usage = recorded(CHAT, beside).await;
    assert_eq!((usage.input, usage.output), (32, 103));
    let scale = r#"{"service_tier":"scale","usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let usage = recorded(CHAT, scale).await;
    assert_eq!(usage.tier, Some(ServiceTier::Other));
    let twice = "data: {\"choices\":[{}],\"service_tier\":\"flex\",\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n";
    check(asked_chat(EVENTS, PLAIN), twice, twice, Some((7, 2))).await;
}

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// A request for a whole reply.
const PLAIN_WHOLE: &str = r#"{"model":"b"}"#;
/// Requests: with the provider's name of the model or another one, and with usage asked for in a stream or not.
const NAMED: &str = r#"{"model":"a/b","stream":true,"stream_options":{"include_usage":true}}"#;
const NAMED_UNASKED: &str = r#"{"model":"a/b","stream":true}"#;
const PLAIN: &str = r#"{"model":"b","stream":true,"stream_options":{"include_usage":true}}"#;
const UNASKED: &str = r#"{"model":"b","stream":true}"#;

const STREAM: &str = "data: {\"id\":\"x\",\"model\":\"b\",\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\":\\\"b\\\"\"}}],\"usage\":null}\r\n\r\n: a comment\n\ndata:{ \"model\" : \"b\" , \"choices\": [ ], \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2} }\n\ndata: [DONE]\n\n";
