//! The vendors' own SDKs in front of their vendors, with requests that are passed through.

use crate::script::check_passed_through;
use crate::upstream::Wire;

/// The cases that need nothing of the gateway.
const CASES: &[&str] = &["image", "stream", "structured", "words"];

#[tokio::test]
async fn python_messages_in_front_of_claude() {
    check_passed_through("messages.py", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn node_messages_in_front_of_claude() {
    check_passed_through("messages.mjs", Wire::Claude, CASES).await;
}

#[tokio::test]
async fn python_chat_in_front_of_chat_completions() {
    check_passed_through("chat.py", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn node_chat_in_front_of_chat_completions() {
    check_passed_through("chat.mjs", Wire::Chat, CASES).await;
}

#[tokio::test]
async fn python_gemini_in_front_of_gemini() {
    // Its images have a `mime_type`, which the vendor takes; the scripted server judges what Jackfield would write.
    let cases = CASES.iter().copied().filter(|case| *case != "image");
    let cases: Vec<&str> = cases.collect();
    check_passed_through("gemini.py", Wire::Gemini, &cases).await;
}

#[tokio::test]
async fn node_gemini_in_front_of_gemini() {
    check_passed_through("gemini.mjs", Wire::Gemini, CASES).await;
}
