//! How the end of a reply reaches a client: each language of clients in front of those of providers, whole and streamed.
//!
//! A refusal is a part of its own, or the reason of the end, or both, as each language has it.

use std::fmt::Write as _;

use jackfield_domain::reply::FinishReason;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Kept, kept};
use crate::models::{Server, Wire};

/// The language of a client.
#[derive(Clone, Copy, Debug)]
enum ClientLanguage {
    Chat,
    Claude,
    Gemini,
    Responses,
}

use ClientLanguage::{Chat, Claude, Gemini, Responses};

/// A stop sequence of each request.
const STOP: &str = "THE END";

const WORDS: &str = "I cannot help with that.";

/// What a client is told: words, words of a refusal, and how the reply ended.
#[derive(Debug, Default, PartialEq)]
struct Told {
    text: String,
    refusal: String,
    end: Value,
}

#[tokio::test]
async fn a_refusal_in_a_part_of_its_own_stays_one_where_there_is_one() {
    let refusal = || ScriptTurn::reply([ScriptPart::Refusal(WORDS.to_owned())]);
    for provider in [Wire::OpenAiChat, Wire::OpenAiResponses] {
        check(provider, &refusal, |client| match client {
            Chat => told("", WORDS, json!("stop")),
            Claude => told(WORDS, "", json!(["refusal", null])),
            Gemini => told(WORDS, "", json!("SAFETY")),
            Responses => told("", WORDS, json!(["completed", null])),
        })
        .await;
    }
}

#[tokio::test]
async fn a_refusal_in_plain_words_or_without_any_is_no_answer_for_any_client() {
    let cyber = json!({ "type": "refusal", "category": "cyber", "explanation": null });
    for words in [WORDS, ""] {
        let refusal = || {
            let text = (!words.is_empty()).then(|| ScriptPart::Text(words.to_owned()));
            ScriptTurn::reply(text).finish(FinishReason::Refused)
        };
        check(Wire::Claude, &refusal, |client| match client {
            Claude => told(words, "", json!(["refusal", cyber])),
            Chat | Gemini | Responses => filtered(client, words),
        })
        .await;
    }
}

#[tokio::test]
async fn a_reply_that_a_filter_stops_is_no_answer_for_any_client() {
    let stopped = || ScriptTurn::text("It goes on").finish(FinishReason::ContentFilter);
    for provider in [
        Wire::Bedrock,
        Wire::Gemini,
        Wire::OpenAiChat,
        Wire::OpenAiResponses,
    ] {
        check(provider, &stopped, |client| filtered(client, "It goes on")).await;
    }
}

#[tokio::test]
async fn a_client_of_claudes_language_is_told_which_stop_sequence_was_met() {
    let stopped = || ScriptTurn::text("So far").finish(FinishReason::StopSequence(STOP.into()));
    for provider in [Wire::Bedrock, Wire::Claude] {
        let met = format!("stop_sequence {STOP}");
        let expected = |_| told("So far", "", json!([met, null]));
        check_clients(provider, &stopped, &[Claude], expected).await;
    }
}

fn told(text: &str, refusal: &str, end: Value) -> Told {
    Told {
        text: text.to_owned(),
        refusal: refusal.to_owned(),
        end,
    }
}

/// What a client is told of a reply that did not come to its end for what it is about.
fn filtered(client: ClientLanguage, text: &str) -> Told {
    let end = match client {
        Chat => json!("content_filter"),
        Claude => json!(["refusal", null]),
        Gemini => json!("SAFETY"),
        Responses => json!(["incomplete", "content_filter"]),
    };
    told(text, "", end)
}

/// Has each client ask a provider that says this, whole and streamed on both sides.
async fn check(
    provider: Wire,
    says: &(dyn Fn() -> ScriptTurn + Sync),
    expected: impl Fn(ClientLanguage) -> Told + Send,
) {
    let clients = [Chat, Claude, Gemini, Responses];
    check_clients(provider, says, &clients, expected).await;
}

/// The same for these clients.
async fn check_clients(
    provider: Wire,
    says: &(dyn Fn() -> ScriptTurn + Sync),
    clients: &[ClientLanguage],
    expected: impl Fn(ClientLanguage) -> Told + Send,
) {
    let servers = [
        provider.serve([says().again()]).await,
        provider.serve([says().whole().again()]).await,
    ];
    let sessions = Kept::new();
    let serve = sessions.gateway().env("BEHIND_KEY", "sk-any");
    let serve = serve.configured(configuration(provider, &servers));
    let gateway = Gateway::listening(serve.start()).await;
    for client in clients.iter().copied() {
        for (behind, whole) in [(0, false), (1, false), (0, true), (1, true)] {
            let model = format!("behind{behind}/{}", provider.model().model);
            let answer = ask(&gateway, client, &model, whole).await;
            let way = format!("{client:?} {provider:?} {behind} {whole}");
            let read = if whole { read_whole } else { read_streamed };
            assert_eq!(read(client, &answer), expected(client), "{way}: {answer:?}");
        }
    }
    gateway.end().await;
    servers.iter().for_each(|server| kept(server));
}

fn configuration(provider: Wire, servers: &[Server]) -> String {
    let kind = match provider {
        Wire::Bedrock => "kind = \"bedrock\"",
        Wire::Claude => "kind = \"claude\"",
        Wire::Gemini => "kind = \"gemini\"",
        Wire::OllamaNative => "kind = \"ollama\"",
        Wire::OpenAiResponses => "kind = \"openai\"\napi = \"responses\"",
        Wire::DeepSeek | Wire::Mistral | Wire::Ollama | Wire::OpenAiChat => {
            "kind = \"openai\"\napi = \"chat\""
        }
    };
    let mut text = String::new();
    for (n, server) in servers.iter().enumerate() {
        let base_url = server.base_url();
        writeln!(
            text,
            "[providers.behind{n}]\n{kind}\nbase_url = \"{base_url}\"\napi_key_env = \"BEHIND_KEY\""
        )
        .expect("a text takes it");
    }
    text
}

async fn ask(gateway: &Gateway, client: ClientLanguage, model: &str, whole: bool) -> Answer {
    let messages = json!([{ "role": "user", "content": "Begin." }]);
    let (path, body) = match client {
        Chat => {
            let body = json!({
                "model": model, "messages": messages, "stop": [STOP], "stream": !whole,
            });
            ("/v1/chat/completions".to_owned(), body)
        }
        Claude => {
            let body = json!({
                "model": model, "max_tokens": 100, "messages": messages,
                "stop_sequences": [STOP], "stream": !whole,
            });
            ("/v1/messages".to_owned(), body)
        }
        Gemini => {
            let method = if whole {
                "generateContent"
            } else {
                "streamGenerateContent?alt=sse"
            };
            let body = json!({
                "contents": [{ "role": "user", "parts": [{ "text": "Begin." }] }],
                "generationConfig": { "stopSequences": [STOP] },
            });
            (format!("/v1beta/models/{model}:{method}"), body)
        }
        // It has no stop sequences.
        Responses => {
            let body = json!({ "model": model, "input": "Begin.", "stream": !whole });
            ("/v1/responses".to_owned(), body)
        }
    };
    let asking = gateway.post(&path, &body);
    asking
        .header("anthropic-version", "2023-06-01")
        .answered()
        .await
}

fn read_whole(client: ClientLanguage, answer: &Answer) -> Told {
    let body = answer.is(200);
    let mut read = Told::default();
    match client {
        Claude => {
            for block in list(&body["content"]) {
                read.text.push_str(text(&block["text"]));
            }
            read.end = json!([ended(&body), body["stop_details"]]);
        }
        Gemini => read_candidate(&body, &mut read),
        Chat => {
            let choice = &body["choices"][0];
            read.text.push_str(text(&choice["message"]["content"]));
            read.refusal.push_str(text(&choice["message"]["refusal"]));
            read.end = choice["finish_reason"].clone();
        }
        Responses => read_response(&body, &mut read),
    }
    read
}

fn read_streamed(client: ClientLanguage, answer: &Answer) -> Told {
    let mut read = Told::default();
    for event in answer.json_events() {
        match client {
            Claude => {
                let delta = &event["delta"];
                read.text.push_str(text(&delta["text"]));
                if event["type"] == "message_delta" {
                    read.end = json!([ended(delta), delta["stop_details"]]);
                }
            }
            Gemini => read_candidate(&event, &mut read),
            Chat => {
                let choice = &event["choices"][0];
                read.text.push_str(text(&choice["delta"]["content"]));
                read.refusal.push_str(text(&choice["delta"]["refusal"]));
                if !choice["finish_reason"].is_null() {
                    read.end = choice["finish_reason"].clone();
                }
            }
            Responses => match text(&event["type"]) {
                "response.output_text.delta" => read.text.push_str(text(&event["delta"])),
                "response.refusal.delta" => read.refusal.push_str(text(&event["delta"])),
                "response.refusal.done" => assert_eq!(event["refusal"], *read.refusal),
                kind @ ("response.completed" | "response.incomplete") => {
                    let mut last = Told::default();
                    read_response(&event["response"], &mut last);
                    read.end = last.end.clone();
                    assert_eq!(read, last);
                    assert_eq!(kind, format!("response.{}", text(&read.end[0])));
                }
                _ => {}
            },
        }
    }
    read
}

fn read_candidate(body: &Value, read: &mut Told) {
    let candidate = &body["candidates"][0];
    for part in list(&candidate["content"]["parts"]) {
        read.text.push_str(text(&part["text"]));
    }
    if !candidate["finishReason"].is_null() {
        read.end = candidate["finishReason"].clone();
    }
}

fn read_response(response: &Value, read: &mut Told) {
    for part in list(&response["output"])
        .iter()
        .flat_map(|item| list(&item["content"]))
    {
        match text(&part["type"]) {
            "output_text" => read.text.push_str(text(&part["text"])),
            "refusal" => read.refusal.push_str(text(&part["refusal"])),
            other => panic!("{other}: {response}"),
        }
    }
    read.end = json!([response["status"], response["incomplete_details"]["reason"]]);
}

/// Claude's reason of the end, and the stop sequence that was met.
fn ended(body: &Value) -> String {
    let reason = text(&body["stop_reason"]);
    match body["stop_sequence"].as_str() {
        Some(met) => format!("{reason} {met}"),
        None => reason.to_owned(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
