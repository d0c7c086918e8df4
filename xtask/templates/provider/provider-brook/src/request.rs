//! A request in the vendor's form, and notes on what it does not express.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::Unsupported;
use jackfield_domain::block::Content;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::request::ModelRequest;

use crate::wire;

/// The body for a request.
///
/// # Errors
///
/// [`Unsupported`] where a user sends what the vendor does not take.
pub(crate) fn to_wire(
    request: &ModelRequest,
) -> Result<(wire::Request, Vec<Note>), Unsupported> {
    let mut notes = Notes::default();
    let mut messages = Vec::new();
    for (n, one) in request.messages.iter().enumerate() {
        messages.push(message(n, one, &mut notes)?);
    }
    // To do: tools and the choice among them; a note for each setting that the vendor lacks.
    for (n, _) in request.tools.iter().enumerate() {
        let path = format_args!("tools[{n}]");
        notes.dropped(NoteEffect::Meaning, "to_do", path);
    }
    let body = wire::Request {
        max_tokens: request.settings.max_output_tokens,
        messages,
        model: (*request.model.model).to_owned(),
        system: request.system.render(),
    };
    Ok((body, notes.into_vec()))
}

fn message(n: usize, message: &Message, notes: &mut Notes) -> Result<wire::Message, Unsupported> {
    let mut texts = Vec::new();
    for (b, block) in message.blocks.iter().enumerate() {
        let at = format!("messages[{n}].blocks[{b}]");
        match &block.content {
            Content::Text(text) => texts.push(&*text.text),
            // A user would not notice that the model does not get it, so it is refused, and not noted.
            Content::Audio(_) | Content::Document(_) | Content::Image(_) => {
                let reason = "brook takes text only";
                return Err(Unsupported { path: at, reason });
            }
            // To do: a case for each kind of block.
            _ => notes.dropped(NoteEffect::Meaning, "to_do", at),
        }
    }
    let role = match message.role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Tool => "tool",
        Role::User => "user",
    };
    let text = texts.join("\n\n");
    Ok(wire::Message { role, text })
}
