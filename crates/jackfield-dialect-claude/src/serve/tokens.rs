//! `count_tokens`: the size of a request, without a request to a provider.

use jackfield_dialect_kit::body;
use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::estimate;
use jackfield_domain::note::{Note, NoteEffect};
use serde_json::{Value, json};

use crate::request::{Incoming, Invalid};
use crate::wire;

/// Parses a body that may lack the limit on the reply.
pub(super) fn parse_body(text: &[u8]) -> Result<wire::Request, Invalid> {
    let mut fields = body::fields(text)?;
    fields.entry("max_tokens").or_insert_with(|| json!(0));
    body::parse(Value::Object(fields).to_string().as_bytes())
}

/// Always an estimate, as not every served provider has a token counter.
pub(super) fn count_response(incoming: &Incoming) -> (Vec<u8>, Vec<Note>) {
    let tools = incoming.tools.iter().map(|tool| &**tool);
    let preamble = estimate::preamble(&incoming.system, tools);
    let messages = incoming.messages.iter().map(estimate::message);
    let tokens = messages.fold(preamble, u64::saturating_add);
    let mut notes = Notes::default();
    notes.approximated(NoteEffect::Cost, "estimated", "input_tokens");
    (
        json!({ "input_tokens": tokens }).to_string().into_bytes(),
        notes.into_vec(),
    )
}
