//! The server's memory: thinking must come back unchanged, and to its own model.
//!
//! Facts of 2026-11, from the vendor's pages on extended thinking.

use std::collections::HashMap;

use serde_json::Value;

use super::rules::{blocks, kind};
use super::speak;
use crate::checks::CheckFindings;
use crate::script::{ScriptPart, ScriptReply};

/// The thinking blocks that the server has signed.
#[derive(Default)]
pub(super) struct SignedThinking {
    /// The signatures of the reply of each call, by the call's id.
    calls: HashMap<String, Vec<String>>,
    signed: HashMap<String, SignedText>,
}

struct SignedText {
    model: String,
    text: String,
}

impl SignedThinking {
    /// Stores the thinking and the calls of a reply.
    pub(super) fn keep(&mut self, reply: &ScriptReply, nth: usize, model: &str) {
        let mut signatures = Vec::new();
        for part in &reply.parts {
            if let ScriptPart::Thinking { signature, text } = part {
                signatures.push(signature.clone());
                let signed = SignedText {
                    model: model.to_owned(),
                    text: text.clone(),
                };
                self.signed.insert(signature.clone(), signed);
            }
        }
        for (place, part) in reply.parts.iter().enumerate() {
            if let ScriptPart::Call { id, .. } | ScriptPart::TextCall { id, .. } = part {
                let id = speak::call_id(id.as_deref(), nth, place);
                self.calls.insert(id, signatures.clone());
            }
        }
    }

    /// Checks that thinking is unchanged and has its signature, and that it is present while its calls are being
    /// answered.
    pub(super) fn check(&self, body: &Value, found: &mut CheckFindings) {
        let model = text(body, "model");
        let messages = body.get("messages").and_then(Value::as_array);
        let messages = messages.map_or(&[][..], Vec::as_slice);
        let is_question = |message: &Value| {
            text(message, "role") == "user"
                && !blocks(message)
                    .iter()
                    .any(|block| kind(block) == "tool_result")
        };
        let open = messages.iter().rposition(is_question).unwrap_or_default();
        for (n, message) in messages.iter().enumerate() {
            for (place, block) in blocks(message).iter().enumerate() {
                let at = format!("messages.{n}.content.{place}");
                match kind(block) {
                    "thinking" => self.thought(&at, block, model, found),
                    "tool_use" if n > open => self.called(&at, block, message, model, found),
                    _ => {}
                }
            }
        }
    }

    fn thought(&self, at: &str, block: &Value, model: &str, found: &mut CheckFindings) {
        match self.signed.get(text(block, "signature")) {
            None => found.add(at, "Invalid `signature` in `thinking` block"),
            Some(signed) if signed.text != text(block, "thinking") => {
                found.add(at, "`thinking` blocks cannot be modified");
            }
            Some(signed) if signed.model != model => {
                let fault = format!("this `thinking` block is bound to {}", signed.model);
                found.add(at, &fault);
            }
            Some(_) => {}
        }
    }

    fn called(
        &self,
        at: &str,
        block: &Value,
        message: &Value,
        model: &str,
        found: &mut CheckFindings,
    ) {
        let signatures = self.calls.get(text(block, "id")).into_iter().flatten();
        for signature in signatures {
            let is_ours = self
                .signed
                .get(signature)
                .is_some_and(|signed| signed.model == model);
            let mut there = blocks(message).iter();
            if is_ours && !there.any(|block| text(block, "signature") == signature) {
                let fault = "Expected `thinking` or `redacted_thinking`, but found `tool_use`";
                found.add(at, fault);
            }
        }
    }
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}
