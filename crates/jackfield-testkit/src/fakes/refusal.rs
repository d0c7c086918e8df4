//! Requests that a scripted model refuses before anything is sent, as every adapter must.

use jackfield_domain::block::{Block, Content};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::note::{Note, NoteKind};
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::ResponseFormat;
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::chat_model::Capabilities;

/// Refuses a request beyond these capabilities.
pub(super) fn check_capabilities(
    request: &ModelRequest,
    can: Capabilities,
) -> Result<(), ModelFailure> {
    let settings = &request.settings;
    let asked = [
        (can.audio, has(request, ContentKind::Audio), "audio"),
        (
            can.documents,
            has(request, ContentKind::Document),
            "documents",
        ),
        (can.forced_tools, is_forced(&request.choice), "forced_tools"),
        (can.images, has(request, ContentKind::Image), "images"),
        (
            can.reasoning,
            settings.effort.is_some() || settings.thinking.is_some(),
            "reasoning",
        ),
        (
            can.structured_output,
            settings.response_format != ResponseFormat::Text,
            "structured_output",
        ),
        (can.tools, !request.tools.is_empty(), "tools"),
    ];
    let beyond = asked.iter().find(|(can, asked, _)| *asked && !can);
    match beyond {
        Some((_, _, what)) => Err(unsupported(format!("the scripted model has no `{what}`"))),
        None => Ok(()),
    }
}

/// Refuses a request that is strict about one of these notes.
pub(super) fn check_strict(request: &ModelRequest, notes: &[Note]) -> Result<(), ModelFailure> {
    let Some(least) = request.strict else {
        return Ok(());
    };
    let lost = |note: &&Note| note.kind != NoteKind::Carried && note.effect >= least;
    match notes.iter().find(lost) {
        Some(Note { code, path, .. }) => Err(unsupported(format!(
            "strict: {path} would get lost ({code})"
        ))),
        None => Ok(()),
    }
}

fn unsupported(message: String) -> ModelFailure {
    ModelFailure::new(ModelFailureKind::Unsupported, Phase::BeforeSend, message)
}

fn is_forced(choice: &ToolChoice) -> bool {
    match choice {
        ToolChoice::Auto | ToolChoice::Forbidden => false,
        ToolChoice::Named(_) | ToolChoice::Required => true,
        ToolChoice::Only { required, .. } => *required,
    }
}

/// Whether a message or an outcome contains content of this kind.
fn has(request: &ModelRequest, kind: ContentKind) -> bool {
    let messages = request.messages.iter();
    let mut blocks = messages.flat_map(|message| &message.blocks);
    blocks.any(|block| kinds(block).contains(&kind))
}

/// The kind of a block, or of a part of an outcome.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ContentKind {
    Audio,
    Document,
    Image,
    Other,
}

fn kinds(block: &Block) -> Vec<ContentKind> {
    match &block.content {
        Content::Audio(_) => vec![ContentKind::Audio],
        Content::Document(_) => vec![ContentKind::Document],
        Content::Image(_) => vec![ContentKind::Image],
        Content::ToolOutcome(outcome) => {
            let parts = outcome.result.content.iter().map(|part| match part {
                OutcomePart::Audio(_) => ContentKind::Audio,
                OutcomePart::Document(_) => ContentKind::Document,
                OutcomePart::Image(_) => ContentKind::Image,
                OutcomePart::Text(_) => ContentKind::Other,
            });
            parts.collect()
        }
        Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Text(_)
        | Content::Thinking(_)
        | Content::ToolCall(_) => vec![ContentKind::Other],
    }
}
