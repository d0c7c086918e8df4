//! Arguments of calls.

use jackfield_domain::note::NoteEffect;
use jackfield_domain::tool_input::ToolInput;
use serde_json::{Map, Value, json};

use super::BlockPath;
use super::tools::TEXT_FIELD;
use crate::notes::Notes;

/// Arguments that are an object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectInput<'i> {
    /// The object.
    pub fields: &'i Map<String, Value>,
    /// The model's text, which may be empty.
    pub raw: &'i str,
}

impl Notes {
    /// The arguments of a call, which are an object.
    ///
    /// # Errors
    ///
    /// An object around arguments that are none, for dialects that accept nothing else.
    pub fn object_input<'i>(
        &mut self,
        at: BlockPath,
        input: &'i ToolInput,
    ) -> Result<ObjectInput<'i>, Map<String, Value>> {
        let path = format_args!("{at}.input");
        let (key, text) = match input {
            ToolInput::Json(input) => match input.object() {
                Ok(fields) => {
                    let raw = input.raw();
                    return Ok(ObjectInput { fields, raw });
                }
                Err(_) => {
                    self.approximated(NoteEffect::Quality, "malformed_arguments", path);
                    ("_raw", input.raw())
                }
            },
            ToolInput::Text(text) => {
                self.approximated(NoteEffect::Cosmetic, "text_arguments", path);
                (TEXT_FIELD, &**text)
            }
        };
        Err(Map::from_iter([(key.to_owned(), json!(text))]))
    }
}
