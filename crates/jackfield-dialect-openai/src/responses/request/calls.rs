//! Maps the model's calls to items.

use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, ToolCall};
use jackfield_domain::find_tools;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Map, Value};

use super::conversation::{RequestWriter, SentCall};
use super::tool_search;
use crate::responses::{state, wire};

impl RequestWriter<'_> {
    /// The item of a call; `known` is whether it may use the id that its owner assigned.
    pub(super) fn call(
        &mut self,
        at: BlockPath,
        block: &Block,
        call: &ToolCall,
        ids_allowed: bool,
    ) -> wire::Item {
        let name = call.name.as_str().to_owned();
        let call_id = self.ids.wire_id(&call.id);
        let found = state::find(&block.opaque, self.owner, state::CALL);
        let found = found
            .and_then(|(place, json)| Some((place, state::fields(json, &state::FIELDS_OF_CALL)?)));
        let extra = match found {
            Some(found) => self.fields_without_id(at, block, found, ids_allowed),
            None => {
                self.notes.withheld(at, &block.opaque, &[]);
                Map::new()
            }
        };
        self.notes.cache_point_lost(at, block);
        let sent = SentCall {
            caller: extra
                .get("caller")
                .filter(|caller| caller.is_object())
                .cloned(),
            custom: matches!(call.input, ToolInput::Text(_)) && self.profile.custom_tools,
            is_search: self.search.is_some() && call.name.as_str() == find_tools::NAME,
        };
        let item = match &call.input {
            ToolInput::Json(_) | ToolInput::Text(_) if sent.is_search => {
                tool_search::call(call_id, &self.arguments(at, &call.input))
            }
            ToolInput::Text(text) if sent.custom => wire::Item::CustomToolCall(wire::CustomCall {
                call_id,
                input: (**text).to_owned(),
                name,
                extra,
            }),
            ToolInput::Json(_) | ToolInput::Text(_) => wire::Item::FunctionCall(wire::Call {
                arguments: Value::String(self.arguments(at, &call.input)),
                call_id,
                name,
                extra,
            }),
        };
        self.sent_calls.insert(call.id.clone(), sent);
        item
    }

    /// The arguments as the text of a JSON object: several servers parse it, and refuse anything else.
    fn arguments(&mut self, at: BlockPath, input: &ToolInput) -> String {
        match self.notes.object_input(at, input) {
            Ok(input) if input.fields.is_empty() => "{}".to_owned(),
            Ok(input) => input.raw.to_owned(),
            Err(wrapped) => Value::Object(wrapped).to_string(),
        }
    }
}
