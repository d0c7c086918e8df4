//! Histories that end with the assistant, whose words the model is to continue.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, kept};

const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/MODEL:generateContent";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

/// A request in the language of a path that ends with the assistant's words.
fn begun(path: &str, model: &str) -> (String, Value) {
    let messages = json!([
        { "role": "user", "content": "Count." },
        { "role": "assistant", "content": "1, 2," },
    ]);
    let body = match path {
        GEMINI => json!({ "contents": [
            { "role": "user", "parts": [{ "text": "Count." }] },
            { "role": "model", "parts": [{ "text": "1, 2," }] },
        ] }),
        RESPONSES => json!({ "model": model, "input": messages }),
        _ => json!({ "model": model, "max_tokens": 100, "messages": messages }),
    };
    (path.replace("MODEL", model), body)
}

#[tokio::test]
async fn a_model_continues_the_words_in_every_language() {
    let paths = [CHAT, GEMINI, MESSAGES, RESPONSES];
    let claude = ScriptedClaude::start(paths.map(|_| ScriptTurn::text(" 3, 4."))).await;
    let sessions = Kept::new();
    let gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    for (n, path) in paths.into_iter().enumerate() {
        let (path, body) = begun(path, "claude-sonnet-4-5");
        let answer = gateway.post(&path, &body).answered().await;
        assert!(answer.is(200).to_string().contains(" 3, 4."), "{path}");
        let messages = claude.requests()[n]["messages"].clone();
        assert_eq!(messages[1]["role"], "assistant", "{path}");
        assert!(
            messages[1]["content"].to_string().contains("\"1, 2,\""),
            "{path}"
        );
        assert_eq!(messages.as_array().map(Vec::len), Some(2), "{path}");
    }
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn a_model_that_continues_nothing_is_not_asked() {
    let claude = ScriptedClaude::start([]).await;
    let sessions = Kept::new();
    let gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    for path in [CHAT, GEMINI, RESPONSES] {
        let (path, body) = begun(path, "claude-opus-5-5");
        let answer = gateway.post(&path, &body).answered().await;
        let told = answer.is(400).to_string();
        let advice = "does not continue words of its own; end with a message of the user";
        assert!(told.contains(advice), "{path}: {told}");
    }
    gateway.end().await;
    assert_eq!(claude.requests().len(), 0);
}

#[tokio::test]
async fn mistral_is_told_to_continue_and_its_repetition_is_left_out() {
    let turns = [
        ScriptTurn::text("1, 2, 3, 4."),
        ScriptTurn::text("1, 2, 3, 4.").whole(),
    ];
    let mistral = ScriptedOpenAi::like(VendorQuirks::Mistral, turns).await;
    let sessions = Kept::new();
    let more = format!("providers.mistral.base_url = \"{}\"", mistral.base_url());
    let serve = sessions.gateway().configured(more);
    let gateway = Gateway::listening(serve.env("MISTRAL_API_KEY", "sk-any").start()).await;
    for n in 0..2 {
        let (path, body) = begun(CHAT, "mistral/mistral-large-latest");
        let answer = gateway.post(&path, &body).answered().await.is(200);
        assert_eq!(answer["choices"][0]["message"]["content"], " 3, 4.");
        let last = json!({ "role": "assistant", "content": "1, 2,", "prefix": true });
        let sent = mistral.requests()[n]["messages"].clone();
        assert_eq!(sent.as_array().and_then(|sent| sent.last()), Some(&last));
    }
    gateway.end().await;
    kept(&mistral);
}
