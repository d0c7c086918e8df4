//! OpenAI's own SDKs and Vercel's: Chat Completions.

use crate::script::check;
use crate::upstream::Wire;

/// The cases of the vendor's own SDKs, in alphabetical order.
const CASES: &[&str] = &[
    "abort",
    "both_sides",
    "broken_connection",
    "broken_stream",
    "client_parallel",
    "client_rounds",
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

/// The cases of Vercel's, which has no list of models, and does not say of a request that it is sent again.
const VERCEL: &[&str] = &[
    "abort",
    "both_sides",
    "broken_stream",
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
    check("chat.py", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn python_in_front_of_claude() {
    check("chat.py", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn python_in_front_of_responses() {
    check("chat.py", Wire::Responses, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_chat_completions() {
    check("chat.mjs", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_claude() {
    check("chat.mjs", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn node_in_front_of_responses() {
    check("chat.mjs", Wire::Responses, CASES).await;
}

#[tokio::test]
async fn vercel_in_front_of_chat_completions() {
    check("chat_vercel.mjs", Wire::Chat, VERCEL).await;
}

#[tokio::test]
async fn vercel_in_front_of_claude() {
    check("chat_vercel.mjs", Wire::Claude, VERCEL).await;
}

#[tokio::test]
async fn vercel_in_front_of_responses() {
    check("chat_vercel.mjs", Wire::Responses, VERCEL).await;
}
