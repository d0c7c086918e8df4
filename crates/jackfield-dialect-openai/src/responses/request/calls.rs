//! Maps the model's calls to items.

use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, CalledName, ToolCall};
use jackfield_domain::naming::bare_tool_name;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Map, Value, json};

use super::conversation::{RequestWriter, SentCall};
use super::tools::TEXT_FIELD;
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
        let name = self.called_name(at, &call.name);
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
        };
        let item = match &call.input {
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
        let path = format_args!("{at}.input");
        match input {
            ToolInput::Json(input) => match input.object() {
                Ok(fields) if fields.is_empty() => "{}".to_owned(),
                Ok(_) => input.raw().to_owned(),
                Err(_) => {
                    self.notes
                        .approximated(NoteEffect::Quality, "malformed_arguments", path);
                    json!({ "_raw": input.raw() }).to_string()
                }
            },
            ToolInput::Text(text) => {
                self.notes
                    .approximated(NoteEffect::Cosmetic, "text_arguments", path);
                json!({ TEXT_FIELD: **text }).to_string()
            }
        }
    }

    fn called_name(&mut self, at: BlockPath, name: &CalledName) -> String {
        let name = name.as_str();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if (1..=128).contains(&name.len()) && name.chars().all(fits) {
            return name.to_owned();
        }
        let path = format_args!("{at}.name");
        self.notes
            .approximated(NoteEffect::Cosmetic, "tool_name_changed", path);
        bare_tool_name(name).as_str().to_owned()
    }
}
