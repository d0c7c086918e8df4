//! OpenAI's own SDKs, and Vercel's with its provider for OpenAI: Responses.

use crate::script::check;
use crate::upstream::Wire;

/// The cases of OpenAI's SDKs, in alphabetical order.
const CASES: &[&str] = &[
    "abort",
    "background",
    "both_sides",
    "broken_connection",
    "cancel",
    "client_full",
    "client_parallel",
    "client_rounds",
    "deletion",
    "errors",
    "fork",
    "image",
    "models",
    "provider_refuses",
    "server_rounds",
    "stream",
    "stream_again",
    "structured",
    "thinking",
    "words",
];

/// Those of Vercel's, which runs its tools itself and has no word for what is kept.
const OF_VERCEL: &[&str] = &[
    "abort",
    "both_sides",
    "client_full",
    "client_parallel",
    "client_rounds",
    "errors",
    "image",
    "provider_refuses",
    "server_rounds",
    "stream",
    "structured",
    "thinking",
    "words",
];

#[tokio::test]
async fn python_in_front_of_chat_completions() {
    check("responses.py", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn python_in_front_of_claude() {
    check("responses.py", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn python_in_front_of_responses() {
    check("responses.py", Wire::Responses, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_chat_completions() {
    check("responses.mjs", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_claude() {
    check("responses.mjs", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_responses() {
    check("responses.mjs", Wire::Responses, CASES).await;
}

#[tokio::test]
async fn vercel_in_front_of_chat_completions() {
    check("responses_vercel.mjs", Wire::Chat, OF_VERCEL).await;
}

#[tokio::test]
async fn vercel_in_front_of_claude() {
    check("responses_vercel.mjs", Wire::Claude, OF_VERCEL).await;
}

#[tokio::test]
async fn vercel_in_front_of_responses() {
    check("responses_vercel.mjs", Wire::Responses, OF_VERCEL).await;
}
