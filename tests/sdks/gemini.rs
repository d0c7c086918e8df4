//! Google's own SDKs: Gemini.

use crate::script::check;
use crate::upstream::Wire;

/// The cases of the SDK for Python, in alphabetical order.
const PYTHON: &[&str] = &[
    "abort",
    "both_sides",
    "broken_connection",
    "broken_stream",
    "client_full",
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

/// The cases of the SDK for Node, which calls tools by itself only if they have a server.
const NODE: &[&str] = &[
    "abort",
    "both_sides",
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

#[tokio::test]
async fn python_in_front_of_chat_completions() {
    check("gemini.py", Wire::Chat, PYTHON).await;
}

#[tokio::test]
async fn python_in_front_of_claude() {
    check("gemini.py", Wire::Claude, PYTHON).await;
}

#[tokio::test]
async fn python_in_front_of_gemini() {
    check("gemini.py", Wire::Gemini, PYTHON).await;
}

#[tokio::test]
async fn python_in_front_of_responses() {
    check("gemini.py", Wire::Responses, PYTHON).await;
}

#[tokio::test]
async fn node_in_front_of_chat_completions() {
    check("gemini.mjs", Wire::Chat, NODE).await;
}

#[tokio::test]
async fn node_in_front_of_claude() {
    check("gemini.mjs", Wire::Claude, NODE).await;
}

#[tokio::test]
async fn node_in_front_of_gemini() {
    check("gemini.mjs", Wire::Gemini, NODE).await;
}

#[tokio::test]
async fn node_in_front_of_responses() {
    check("gemini.mjs", Wire::Responses, NODE).await;
}
