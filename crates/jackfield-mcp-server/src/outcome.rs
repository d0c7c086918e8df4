//! Converts tool results to MCP results.

use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::outcome::OutcomePart;
use jackfield_engine::DirectOutcome;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use crate::revision::Revision;

/// The result of a call for a client of this revision. `promised` says that the tool declares structured content.
pub(crate) fn result(
    outcome: &DirectOutcome,
    declares_structured: bool,
    revision: Revision,
) -> CallToolResult {
    let DirectOutcome {
        original, result, ..
    } = outcome;
    let parts = result.content.iter().enumerate().map(|(nth, each)| {
        let original_part = original.get(nth);
        let block = original_part.and_then(|said| original_block(said, each, revision));
        block.unwrap_or_else(|| part(each, revision))
    });
    let mut content: Vec<ContentBlock> = parts.collect();
    let structured = result.structured.as_deref();
    let structured = structured.filter(|value| !revision.legacy || value.is_object());
    let is_broken = declares_structured && structured.is_none() && !result.is_error;
    if is_broken {
        // Clients reject a result without the declared structured content, and would lose the text.
        content.push(ContentBlock::text(NO_STRUCTURE));
    }
    if content.is_empty() {
        let text = structured.map(ToString::to_string);
        content.extend(text.map(ContentBlock::text));
    }
    let mut call_result = CallToolResult::success(content);
    call_result.is_error = Some(result.is_error || is_broken);
    call_result.structured_content = structured.cloned();
    call_result
}

/// The original block of the tool's server, including the fields that the converted part has no place for. `None`
/// if the part was changed since, or if the client does not know the kind of block.
fn original_block(
    original: &Value,
    part: &OutcomePart,
    revision: Revision,
) -> Option<ContentBlock> {
    let block: ContentBlock = serde_json::from_value(original.clone()).ok()?;
    let is_data = |source: &MediaSource, said: &str| matches!(source, MediaSource::Base64 { data, .. } if **data == *said);
    let is_same = match (&block, part) {
        (ContentBlock::Text(said), OutcomePart::Text(text)) => *said.text == **text,
        (ContentBlock::Image(said), OutcomePart::Image(image)) => {
            is_data(&image.source, &said.data)
        }
        (ContentBlock::Audio(said), OutcomePart::Audio(audio)) => {
            revision.sound && is_data(&audio.source, &said.data)
        }
        (ContentBlock::Resource(said), OutcomePart::Document(Document { source, .. }))
        | (ContentBlock::Resource(said), OutcomePart::Image(Image { source, .. })) => {
            match (&said.resource, source) {
                (ResourceContents::TextResourceContents { text, .. }, MediaSource::Text(kept)) => {
                    *text == **kept
                }
                (ResourceContents::BlobResourceContents { blob, .. }, source) => {
                    is_data(source, blob)
                }
                _ => false,
            }
        }
        // A resource link is converted to text.
        (ContentBlock::ResourceLink(said), OutcomePart::Text(text)) => {
            revision.links && text.starts_with("[resource: ") && text.contains(&*said.uri)
        }
        _ => false,
    };
    is_same.then_some(block)
}

fn part(part: &OutcomePart, revision: Revision) -> ContentBlock {
    match part {
        OutcomePart::Audio(Audio { source, transcript }) => match source {
            MediaSource::Base64 { data, media_type } if revision.sound => {
                ContentBlock::audio(data.to_string(), media_type.to_string())
            }
            // Older clients support embedded resources, but no audio.
            MediaSource::Base64 { data, media_type } => ContentBlock::resource(
                ResourceContents::blob(data.to_string(), "jackfield:sound")
                    .with_mime_type(media_type.to_string()),
            ),
            MediaSource::File { .. } | MediaSource::Text(_) | MediaSource::Url(_) => {
                match transcript {
                    Some(words) => ContentBlock::text(words.to_string()),
                    None => placeholder("sound", source, revision),
                }
            }
        },
        OutcomePart::Document(document) => self::document(document, revision),
        OutcomePart::Image(Image { source, .. }) => match source {
            MediaSource::Base64 { data, media_type } => {
                ContentBlock::image(data.to_string(), media_type.to_string())
            }
            MediaSource::File { .. } | MediaSource::Text(_) | MediaSource::Url(_) => {
                placeholder("image", source, revision)
            }
        },
        OutcomePart::Text(text) => ContentBlock::text(text.to_string()),
    }
}

fn document(document: &Document, revision: Revision) -> ContentBlock {
    let title = document.title.as_deref().unwrap_or_default();
    // A resource needs a URI. A title that is none becomes the end of one.
    let uri = match title {
        "" => "jackfield:document".to_owned(),
        title if title.contains(':') => title.to_owned(),
        title => format!("jackfield:{}", title.replace(char::is_whitespace, "-")),
    };
    match &document.source {
        MediaSource::Base64 { data, media_type } => ContentBlock::resource(
            ResourceContents::blob(data.to_string(), uri).with_mime_type(media_type.to_string()),
        ),
        MediaSource::Text(text) => {
            ContentBlock::resource(ResourceContents::text(text.to_string(), uri))
        }
        MediaSource::File { .. } | MediaSource::Url(_) => {
            placeholder("document", &document.source, revision)
        }
    }
}

/// A placeholder for content that is not included: a link if there is one.
fn placeholder(what: &str, source: &MediaSource, revision: Revision) -> ContentBlock {
    match source {
        MediaSource::Url(url) if !revision.links => ContentBlock::text(format!("[{what}: {url}]")),
        MediaSource::Url(url) => ContentBlock::resource_link(Resource::new(url.to_string(), what)),
        MediaSource::Text(text) => ContentBlock::text(text.to_string()),
        MediaSource::Base64 { .. } | MediaSource::File { .. } => {
            ContentBlock::text(format!("[{what}: kept by a provider]"))
        }
    }
}

/// Added if a tool declares structured content and returns none, or too much.
const NO_STRUCTURE: &str = "[the tool gave no structured content, or more than may be shown]";
