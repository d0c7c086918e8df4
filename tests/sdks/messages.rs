//! Anthropic's own SDKs, and Vercel's in the same language: Claude Messages.

use crate::script::check;
use crate::upstream::Wire;

/// The cases, in alphabetical order.
const CASES: &[&str] = &[
    "abort",
    "both_sides",
    "broken_connection",
    "broken_stream",
    "client_parallel",
    "client_rounds",
    "count_tokens",
    "errors",
    "image",
    "models",
    "provider_refuses",
    "server_rounds",
    "stream",
    "structured",
    "thinking",
    "words",
];

/// Those of Vercel's SDK: it counts no tokens and lists no models, and does not say by itself that it repeats.
const VERCEL: &[&str] = &[
    "abort",
    "both_sides",
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
    check("messages.py", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn python_in_front_of_claude() {
    check("messages.py", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn python_in_front_of_responses() {
    check("messages.py", Wire::Responses, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_chat_completions() {
    check("messages.mjs", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_claude() {
    check("messages.mjs", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_responses() {
    check("messages.mjs", Wire::Responses, CASES).await;
}

#[tokio::test]
async fn vercel_in_front_of_chat_completions() {
    check("messages_vercel.mjs", Wire::Chat, VERCEL).await;
}

#[tokio::test]
async fn vercel_in_front_of_claude() {
    check("messages_vercel.mjs", Wire::Claude, VERCEL).await;
}

#[tokio::test]
async fn vercel_in_front_of_responses() {
    check("messages_vercel.mjs", Wire::Responses, VERCEL).await;
}
