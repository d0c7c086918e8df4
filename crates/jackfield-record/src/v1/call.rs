//! Forms of tool calls and their outcomes.

use std::sync::Arc;

use jackfield_domain::block::{CalledName, RanBy, ToolCall, UpstreamId};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::{Audio, Document, Image};
use jackfield_domain::opaque::{OpaqueState, StateOwner};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::Value;

use super::stored::{Invalid, Stored};

stored_enum! { OutcomePart as OutcomePartForm {
    Audio(audio: Audio),
    Document(document: Document),
    Image(image: Image),
    Text(text: Arc<str>),
} }

stored_enum! { RanBy as RanByForm { Client, Engine, Provider } }

stored_struct! { ToolCall as ToolCallForm {
    id: ToolCallId, name: CalledName, input: ToolInput, ran_by: RanBy; maybe upstream: UpstreamId
} }

stored_enum! { ToolInput as ToolInputForm { Json(input: JsonInput), Text(text: Arc<str>) } }

stored_struct! { ToolOutcome as ToolOutcomeForm {
    call: ToolCallId, result: ToolResult; many opaque: OpaqueState
} }

stored_struct! { ToolResult as ToolResultForm {
    is_error: bool; maybe structured: Arc<Value>; many content: OutcomePart
} }

stored_struct! { UpstreamId as UpstreamIdForm { id: Arc<str>, owner: StateOwner } }

/// Arguments are stored as the text that the model wrote, and parsed again when they are read.
impl Stored for JsonInput {
    type Form = String;

    fn form(&self) -> String {
        self.raw().to_owned()
    }

    fn of(form: String) -> Result<Self, Invalid> {
        Ok(Self::parse(&form))
    }
}
