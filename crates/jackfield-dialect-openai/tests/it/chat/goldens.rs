//! What is made of the forms of several servers, to be looked at by a person.
//!
//! The streams are written after what each server sends (2026-11): OpenAI's API reference, DeepSeek's
//! guide to thinking, Ollama's `openai/openai.go`, OpenRouter's guide to reasoning tokens.

use std::fmt::Write as _;
use std::sync::Arc;

use jackfield_dialect_openai::chat::request;
use jackfield_dialect_openai::chat::stream::{DecodeReply as _, Decoder};
use jackfield_dialect_openai::profile::Profile;
use jackfield_domain::block::{Block, CachePoint};
use jackfield_domain::delta::Delta;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, Verbosity};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::ToolChoice;
use serde_json::json;

use super::examples;
use super::read::{owner, read};

/// One line for each piece, then the end; the owner is always the same and left out.
fn lines(told: &(Vec<Delta>, ReplyEnd)) -> String {
    let (deltas, end) = told;
    let mut text = String::new();
    for delta in deltas {
        writeln!(text, "{delta:?}").expect("a string takes everything");
    }
    writeln!(text, "{end:#?}").expect("a string takes everything");
    text.replace(&format!("{:?}", owner()), "OWNER").replace(
        &format!("{:#?}", owner()).replace('\n', "\n            "),
        "OWNER",
    )
}

macro_rules! streams {
    ($($name:ident: $events:expr,)*) => {$(
        #[test]
        fn $name() {
            let told = read(Decoder::new(owner()).with_cost(true), $events.iter().copied());
            insta::assert_snapshot!(lines(&told.expect("a whole reply")));
        }
    )*};
}

streams! {
    two_calls_of_openai: [
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","service_tier":"default","choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aB3"}"#,
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_time","arguments":""}}]},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"tz\":"}}]},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Europe/Oslo\"}"}}]},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"get_time","arguments":""}}]},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}"#,
        r#"{"id":"chatcmpl-A","object":"chat.completion.chunk","created":1795000000,"model":"gpt-5.6-terra","choices":[],"usage":{"prompt_tokens":120,"completion_tokens":42,"total_tokens":162,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":16,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":12,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}"#,
        "[DONE]",
    ],
    a_refusal_of_openai: [
        r#"{"id":"chatcmpl-B","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-B","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"refusal":"I cannot"},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-B","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"refusal":" help with that."},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-B","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ],
    thinking_and_a_call_of_deepseek: [
        r#"{"id":"ds-1","object":"chat.completion.chunk","created":1,"model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":""},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"ds-1","object":"chat.completion.chunk","created":1,"model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"The user wants"},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"ds-1","object":"chat.completion.chunk","created":1,"model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"content":null,"reasoning_content":" the time."},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"ds-1","object":"chat.completion.chunk","created":1,"model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"content":"\n\n"},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"ds-1","object":"chat.completion.chunk","created":1,"model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_00_x","type":"function","function":{"name":"get_time","arguments":""}}]},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"ds-1","object":"chat.completion.chunk","created":1,"model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"ds-1","object":"chat.completion.chunk","created":1,"model":"deepseek-v4-pro","choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":90,"completion_tokens":30,"total_tokens":120,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":26,"completion_tokens_details":{"reasoning_tokens":20}}}"#,
        "[DONE]",
    ],
    parallel_calls_of_ollama: [
        r#"{"id":"chatcmpl-77","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Both."},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-77","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_1a2b3c4d","index":0,"type":"function","function":{"name":"get_time","arguments":"{\"tz\":\"Asia/Tokyo\"}"}}]},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-77","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_5e6f7a8b","index":0,"type":"function","function":{"name":"get_time","arguments":"{\"tz\":\"Europe/Oslo\"}"}}]},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-77","object":"chat.completion.chunk","created":1,"model":"qwen3","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ],
    reasoning_with_proofs_of_openrouter: [
        r#"{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude-opus-5.5","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Let me","reasoning_details":[{"type":"reasoning.text","text":"Let me","format":"anthropic-claude-v1","index":0}]},"finish_reason":null,"native_finish_reason":null}]}"#,
        r#"{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude-opus-5.5","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":" see.","reasoning_details":[{"type":"reasoning.text","text":" see.","format":"anthropic-claude-v1","index":0}]},"finish_reason":null,"native_finish_reason":null}]}"#,
        r#"{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude-opus-5.5","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"anthropic-claude-v1","index":0}]},"finish_reason":null,"native_finish_reason":null}]}"#,
        r#"{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude-opus-5.5","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"Noon."},"finish_reason":"stop","native_finish_reason":"end_turn"}]}"#,
        r#"{"id":"gen-1","provider":"Anthropic","model":"anthropic/claude-opus-5.5","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19,"cost":0.001}}"#,
        "[DONE]",
    ],
}

#[test]
fn a_whole_reply_with_a_citation() {
    // After the API reference's example of a search.
    let body = json!({
        "id": "chatcmpl-C", "object": "chat.completion", "created": 1, "model": "gpt-4o-search-preview",
        "choices": [{ "index": 0, "finish_reason": "stop", "logprobs": null, "message": {
            "role": "assistant", "content": "It is noon.", "refusal": null,
            "annotations": [{ "type": "url_citation", "url_citation": { "start_index": 0, "end_index": 11, "title": "Clock", "url": "https://clock.example" } }],
        } }],
        "usage": { "prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9 },
    });
    let told = Decoder::new(owner()).read_whole(body.to_string().as_bytes());
    insta::assert_snapshot!(lines(&told.expect("a whole reply")));
}

/// What a request came to, for one server.
fn body(profile: &Profile) -> String {
    let (body, notes) = request::to_wire(&full(), &owner(), profile, true).expect("it can be said");
    // Of the text that is sent: tools are texts in it already.
    let sent = serde_json::to_string(&body).expect("JSON");
    let body: serde_json::Value = serde_json::from_str(&sent).expect("JSON");
    let mut text = serde_json::to_string_pretty(&body).expect("JSON");
    for Note {
        code,
        effect,
        kind,
        path,
    } in &notes
    {
        write!(text, "\n{kind:?} {effect:?} {code} at {path}").expect("a string takes everything");
    }
    text
}

fn full() -> jackfield_domain::request::ModelRequest {
    let mut question = Block::text("What time is it?");
    question.cache = Some(CachePoint {
        seconds: Some(1800),
    });
    let mut request = examples::of(vec![
        Message::new(Role::User, vec![question]),
        Message::new(
            Role::Assistant,
            vec![
                Block::text("One moment."),
                examples::call("call_a", "{\"tz\": \"UTC\"}"),
            ],
        ),
        Message::new(
            Role::Tool,
            vec![examples::outcome("call_a", ToolResult::text("12:00"))],
        ),
        Message::new(Role::System, vec![Block::text("Be brief.")]),
        Message::user("In words, please."),
    ]);
    request.choice = ToolChoice::Required;
    request.system = SystemPrompt {
        parts: vec![SystemPart {
            origin: PartOrigin::Default,
            text: "You are a careful assistant.".into(),
        }],
    }
    .into();
    request.tools = Arc::new(vec![examples::tool("f")]);
    request.settings = Settings {
        effort: Some(Effort::Minimal),
        end_user: Some("u_1".into()),
        frequency_penalty: Some(0.5),
        max_output_tokens: Some(4000),
        parallel_calls: Some(false),
        response_format: ResponseFormat::JsonSchema {
            description: Some("The time.".into()),
            name: "time".into(),
            schema: json!({ "type": "object", "properties": { "hour": { "type": "integer" } }, "required": ["hour"] }).into(),
            strict: Some(true),
        },
        seed: Some(7),
        service_tier: Some("auto".into()),
        stop: vec!["END".into()],
        temperature: Some(0.2),
        top_k: Some(40),
        verbosity: Some(Verbosity::Low),
        ..Settings::default()
    }
    .into();
    request
}

macro_rules! requests {
    ($($name:ident: $profile:expr,)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(body(&$profile));
        }
    )*};
}

requests! {
    a_full_request_for_openai: Profile::OPENAI,
    a_full_request_for_openai_without_reasoning: Profile::OPENAI_WITHOUT_REASONING,
    a_full_request_for_deepseek: Profile::DEEPSEEK,
    a_full_request_for_mistral: Profile::MISTRAL,
    a_full_request_for_ollama: Profile::OLLAMA,
}
