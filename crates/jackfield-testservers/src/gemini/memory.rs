//! The server's memory: a signature comes back on its own part, unchanged, and to its own model alone.

use serde_json::Value;

use crate::checks::CheckFindings;

/// The parts with signatures that were given out, with their models.
#[derive(Default)]
pub(super) struct GivenSignatures(Vec<(Value, String)>);

impl GivenSignatures {
    /// Stores the parts of a reply.
    pub(super) fn keep(&mut self, parts: &[Value], model: &str) {
        let signed = parts.iter().filter(|part| part.get(SIGNATURE).is_some());
        let signed = signed.map(|part| (content_of(part), model.to_owned()));
        self.0.extend(signed);
    }

    /// Checks that signatures come back on their parts, and that no signed part of the current turn lost its own: of
    /// earlier turns the vendor does not ask for them.
    pub(super) fn check(&self, body: &Value, model: &str, found: &mut CheckFindings) {
        let contents = body.get("contents").and_then(Value::as_array);
        let current = contents.and_then(|all| all.iter().rposition(is_question));
        for (n, content) in contents.into_iter().flatten().enumerate() {
            let parts = content.get("parts").and_then(Value::as_array);
            for (k, part) in parts.into_iter().flatten().enumerate() {
                let at = format!("contents.{n}.parts.{k}.{SIGNATURE}");
                match part.get(SIGNATURE).and_then(Value::as_str) {
                    Some(NONE) => {}
                    Some(_) => {
                        let is_it = |(known, whose): &(Value, String)| {
                            *known == content_of(part) && whose == model
                        };
                        if !self.0.iter().any(is_it) {
                            found.add(&at, "Corrupted thought signature.");
                        }
                    }
                    None if Some(n) < current => {}
                    None => {
                        let is_it = |(known, whose): &(Value, String)| {
                            let mut unsigned = known.clone();
                            unsigned
                                .as_object_mut()
                                .map(|part| part.shift_remove(SIGNATURE));
                            unsigned == content_of(part) && whose == model
                        };
                        if self.0.iter().any(is_it) {
                            found.add(&at, "this part came with a signature");
                        }
                    }
                }
            }
        }
    }
}

/// A part without the id of its call: a client may leave it out, or have another one from a gateway.
fn content_of(part: &Value) -> Value {
    let mut part = part.clone();
    if let Some(call) = part.get_mut("functionCall").and_then(Value::as_object_mut) {
        call.shift_remove("id");
    }
    part
}

/// Whether a content is of the user, and not only results.
fn is_question(content: &Value) -> bool {
    let parts = content.get("parts").and_then(Value::as_array);
    let mut parts = parts.into_iter().flatten();
    let is_model = content.get("role").is_some_and(|role| role == "model");
    !is_model && parts.any(|part| part.get("functionResponse").is_none())
}

const SIGNATURE: &str = "thoughtSignature";
/// The vendor's word for a signature that never was.
const NONE: &str = "skip_thought_signature_validator";
