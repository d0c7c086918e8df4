//! Resources and prompts as parts of a message, by the rules of attached files: images that models read, PDF, and
//! text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::OutcomePart;
use jackfield_ports::context_source::{
    ContextError, ContextErrorKind, PromptMessages, ResourceContents,
};

/// The blocks of a resource. Texts get a tag with the name of the resource.
///
/// # Errors
///
/// It has contents that models do not read.
pub fn resource_blocks(
    name: &str,
    contents: &ResourceContents,
) -> Result<Vec<Block>, ContextError> {
    let parts = contents.parts.iter();
    parts.map(|part| block(part, Some(name))).collect()
}

/// A prompt as one message of a person. What it has the model say is marked as such.
///
/// # Errors
///
/// It has contents that models do not read, or none.
pub fn prompt_message(prompt: &PromptMessages) -> Result<Message, ContextError> {
    let mut blocks = Vec::new();
    for (role, parts) in &prompt.messages {
        let is_model = *role == Role::Assistant;
        if is_model {
            blocks.push(Block::text("<assistant>"));
        }
        for part in parts {
            blocks.push(block(part, None)?);
        }
        if is_model {
            blocks.push(Block::text("</assistant>"));
        }
    }
    if blocks.iter().all(Block::is_blank) {
        let message = "the prompt is empty";
        return Err(ContextError::new(ContextErrorKind::Unsupported, message));
    }
    Ok(Message::new(Role::User, blocks))
}

/// The length of a block in bytes.
#[must_use]
pub fn block_size(block: &Block) -> usize {
    let of_source = |source: &MediaSource| match source {
        MediaSource::Base64 { data, .. } => data.len() / 4 * 3,
        MediaSource::Text(text) => text.len(),
        MediaSource::File { .. } | MediaSource::Url(_) => 0,
    };
    match &block.content {
        Content::Audio(audio) => of_source(&audio.source),
        Content::Document(document) => of_source(&document.source),
        Content::Image(image) => of_source(&image.source),
        Content::Text(text) => text.text.len(),
        Content::Opaque(_)
        | Content::Refusal(_)
        | Content::Thinking(_)
        | Content::ToolCall(_)
        | Content::ToolOutcome(_) => 0,
    }
}

fn block(part: &OutcomePart, name: Option<&str>) -> Result<Block, ContextError> {
    let (source, title) = match part {
        OutcomePart::Text(text) => return Ok(Block::text(std::sync::Arc::clone(text))),
        OutcomePart::Audio(audio) => return Ok(Content::Audio(audio.clone()).into()),
        OutcomePart::Document(document) => (&document.source, document.title.as_deref()),
        OutcomePart::Image(image) => (&image.source, None),
    };
    let name = name.or(title).unwrap_or("resource");
    match source {
        MediaSource::Text(text) => Ok(tagged(name, text)),
        MediaSource::Base64 { data, media_type } => binary(name, data, media_type),
        MediaSource::File { .. } | MediaSource::Url { .. } => Err(unreadable(name, "a reference")),
    }
}

/// The block of binary data. Its type is that of its first bytes, as servers often name none.
fn binary(name: &str, data: &str, media_type: &str) -> Result<Block, ContextError> {
    let bytes = STANDARD
        .decode(data)
        .map_err(|_| unreadable(name, "no base64"))?;
    let source = |media_type: &str| MediaSource::Base64 {
        data: data.into(),
        media_type: media_type.into(),
    };
    if let Some(media_type) = image_type(&bytes) {
        let image = Image {
            detail: None,
            source: source(media_type),
        };
        return Ok(Content::Image(image).into());
    }
    if bytes.starts_with(b"%PDF-") {
        let document = Document {
            cite: false,
            context: None,
            source: source("application/pdf"),
            title: Some(name.into()),
        };
        return Ok(Content::Document(document).into());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(tagged(name, &text)),
        Err(_) => Err(unreadable(name, media_type)),
    }
}

fn tagged(name: &str, text: &str) -> Block {
    // The name must not close the tag that it stands in.
    let name = name.replace(['"', '<', '>', '\n'], "_");
    let text = text.trim_end();
    Block::text(format!("<resource name=\"{name}\">\n{text}\n</resource>"))
}

fn unreadable(name: &str, what: &str) -> ContextError {
    let message =
        format!("`{name}` is neither text nor PDF nor an image that models read, but {what}");
    ContextError::new(ContextErrorKind::Unsupported, message)
}

/// The media type of an image that models read, by its first bytes.
#[must_use]
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let found = IMAGES.iter().find(|(begin, _)| bytes.starts_with(begin));
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    found
        .map(|(_, media_type)| *media_type)
        .or_else(|| is_webp.then_some("image/webp"))
}

/// The first bytes of image files: PNG (ISO/IEC 15948), JPEG (ISO/IEC 10918-1), GIF (87a and 89a).
const IMAGES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
];
