//! A request, as acme wants it, and notes on what it does not take.

use jackfield_dialect_kit::ids::{IdForm, WireIds};
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::Unsupported;
use jackfield_dialect_kit::{media_text, settings};
use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::ToolInput;
use serde_json::json;

use crate::wire;

/// The body for a request. `owner` is whom it goes to: of opaque state acme has none, of ids it has.
///
/// # Errors
///
/// [`Unsupported`] where a user says what acme does not take.
pub(crate) fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut outward = Outward {
        ids: WireIds::new(request, owner, IdForm::Usual),
        notes: Notes::default(),
    };
    let mut turns = Vec::new();
    for (n, message) in request.messages.iter().enumerate() {
        outward.message(n, message, &mut turns)?;
    }
    settings::drop_all_but(TAKEN, &request.settings, &mut outward.notes);
    let tools = outward.tools(request);
    let body = wire::Request {
        limit: request.settings.max_output_tokens,
        model: (*request.model.model).to_owned(),
        system: request.system.render(),
        tools,
        turns,
    };
    Ok((body, outward.notes.into_vec()))
}

struct Outward {
    ids: WireIds,
    notes: Notes,
}

impl Outward {
    fn message(
        &mut self,
        n: usize,
        message: &Message,
        turns: &mut Vec<wire::Turn>,
    ) -> Result<(), Unsupported> {
        let (mut calls, mut texts) = (Vec::new(), Vec::new());
        let mut is_moved = false;
        for (k, _) in message.opaque.iter().enumerate() {
            let path = format_args!("messages[{n}].opaque[{k}]");
            self.notes
                .dropped(NoteEffect::Quality, "state_withheld", path);
        }
        for (b, block) in message.blocks.iter().enumerate() {
            let at = format!("messages[{n}].blocks[{b}]");
            self.hanging(&at, block);
            match &block.content {
                Content::Text(text) => {
                    for (k, _) in text.annotations.iter().enumerate() {
                        let path = format_args!("{at}.annotations[{k}]");
                        self.notes
                            .dropped(NoteEffect::Quality, "annotation_not_sent", path);
                    }
                    is_moved |= !calls.is_empty();
                    texts.push((*text.text).to_owned());
                }
                // Another provider's own, with an outcome that acme has no place for.
                Content::ToolCall(call) if call.ran_by == RanBy::Provider => {
                    self.notes
                        .dropped(NoteEffect::Quality, "provider_call_withheld", &at);
                }
                Content::ToolOutcome(_) if message.role == Role::Assistant => {
                    self.notes
                        .dropped(NoteEffect::Quality, "provider_outcome_withheld", &at);
                }
                Content::ToolCall(call) => calls.push(wire::Call {
                    args: match &call.input {
                        ToolInput::Json(input) => input.raw().to_owned(),
                        ToolInput::Text(text) => {
                            let path = format_args!("{at}.input");
                            self.notes
                                .approximated(NoteEffect::Cosmetic, "text_arguments", path);
                            json!({ "text": **text }).to_string()
                        }
                    },
                    id: self.ids.wire_id(&call.id),
                    tool: call.name.as_str().to_owned(),
                }),
                Content::ToolOutcome(outcome) => turns.push(wire::Turn::Tool {
                    call: self.ids.wire_id(&outcome.call),
                    text: self.outcome(&at, outcome),
                }),
                Content::Refusal(text) => {
                    self.notes
                        .approximated(NoteEffect::Cosmetic, "refusal_as_text", &at);
                    texts.push((**text).to_owned());
                }
                Content::Thinking(_) => {
                    self.notes
                        .dropped(NoteEffect::Quality, "thinking_not_sent", &at);
                }
                Content::Opaque(opaque) => {
                    self.notes
                        .approximated(NoteEffect::Quality, "opaque_withheld", &at);
                    texts.extend(opaque.fallback.as_deref().map(str::to_owned));
                }
                // A user would not notice that the model does not get it, so it is refused, and not noted.
                Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
                    let reason = "acme takes words alone";
                    return Err(Unsupported { path: at, reason });
                }
            }
        }
        if is_moved {
            // The words of a turn stand before its calls.
            let path = format_args!("messages[{n}].blocks");
            self.notes
                .approximated(NoteEffect::Cosmetic, "blocks_rearranged", path);
        }
        let text = texts.join("\n\n");
        match message.role {
            Role::Assistant => turns.push(wire::Turn::Model { calls, text }),
            Role::Tool => {}
            Role::User => turns.push(wire::Turn::User { text }),
            Role::System => {
                let path = format_args!("messages[{n}]");
                self.notes
                    .approximated(NoteEffect::Meaning, "system_message_as_user", path);
                turns.push(wire::Turn::User { text });
            }
        }
        Ok(())
    }

    /// What hangs on a block and stays here.
    fn hanging(&mut self, at: &str, block: &Block) {
        for (k, _) in block.opaque.iter().enumerate() {
            let path = format_args!("{at}.opaque[{k}]");
            self.notes
                .dropped(NoteEffect::Quality, "state_withheld", path);
        }
        if block.cache.is_some() {
            let path = format_args!("{at}.cache");
            self.notes
                .dropped(NoteEffect::Cost, "cache_point_not_possible", path);
        }
    }

    /// An outcome in words: acme's tools answer with text alone.
    fn outcome(&mut self, at: &str, outcome: &ToolOutcome) -> String {
        let result = &outcome.result;
        let mut words = Vec::new();
        for (k, part) in result.content.iter().enumerate() {
            let said = match part {
                OutcomePart::Text(text) => {
                    words.push((**text).to_owned());
                    continue;
                }
                OutcomePart::Audio(audio) => media_text::audio(audio),
                OutcomePart::Document(document) => media_text::source("document", &document.source),
                OutcomePart::Image(image) => media_text::source("image", &image.source),
            };
            let path = format_args!("{at}.result.content[{k}]");
            self.notes
                .approximated(NoteEffect::Meaning, "media_as_text", path);
            words.push(said);
        }
        if let Some(json) = &result.structured {
            if words.is_empty() {
                words.push(json.to_string());
            } else {
                let path = format_args!("{at}.result.structured");
                self.notes
                    .dropped(NoteEffect::Quality, "structured_not_sent", path);
            }
        }
        for (k, _) in outcome.opaque.iter().enumerate() {
            let path = format_args!("{at}.outcome.opaque[{k}]");
            self.notes
                .dropped(NoteEffect::Quality, "state_withheld", path);
        }
        let words = words.join("\n");
        if !result.is_error {
            return words;
        }
        let path = format_args!("{at}.result.is_error");
        self.notes
            .approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
        format!("The tool failed: {words}")
    }

    fn tools(&mut self, request: &ModelRequest) -> Vec<wire::Tool> {
        let offered = match &request.choice {
            ToolChoice::Auto => return self.offer(request, |_| true),
            // Acme has no word for this: what may not be called is left out.
            ToolChoice::Forbidden => {
                self.notes
                    .approximated(NoteEffect::Cosmetic, "choice_without_tools", "choice");
                return Vec::new();
            }
            ToolChoice::Named(name) => self.offer(request, |tool| tool.name == *name),
            ToolChoice::Only { tools, .. } => {
                self.offer(request, |tool| tools.contains(&tool.name))
            }
            ToolChoice::Required => self.offer(request, |_| true),
        };
        self.notes
            .approximated(NoteEffect::Meaning, "choice_not_forced", "choice");
        offered
    }

    fn offer(
        &mut self,
        request: &ModelRequest,
        may: impl Fn(&ToolDefinition) -> bool,
    ) -> Vec<wire::Tool> {
        let tools = request.tools.iter().enumerate();
        let offered = tools.filter(|(_, tool)| may(tool));
        let tool = |(n, tool): (usize, &_)| self.tool(n, tool);
        offered.map(|(n, tool)| (n, &**tool)).map(tool).collect()
    }

    fn tool(&mut self, n: usize, tool: &ToolDefinition) -> wire::Tool {
        let takes = match &tool.input {
            InputFormat::Json(schema) => (**schema).clone(),
            InputFormat::Text(_) => {
                let path = format_args!("tools[{n}].input");
                self.notes
                    .approximated(NoteEffect::Quality, "text_input_as_json", path);
                json!({ "type": "object", "properties": { "text": { "type": "string" } } })
            }
        };
        let unknown = [
            ("output", tool.output.is_some()),
            ("strict", tool.strict.is_some()),
            ("extensions", !tool.extensions.is_empty()),
        ];
        for (name, _) in unknown.iter().filter(|(_, is_set)| *is_set) {
            let path = format_args!("tools[{n}].{name}");
            self.notes
                .dropped(NoteEffect::Quality, "not_taken_of_tools", path);
        }
        wire::Tool {
            about: (*tool.description).to_owned(),
            name: tool.name.as_str().to_owned(),
            takes,
        }
    }
}

/// Acme's models have one setting: how long the answer may be.
const TAKEN: &[&str] = &["max_output_tokens"];
