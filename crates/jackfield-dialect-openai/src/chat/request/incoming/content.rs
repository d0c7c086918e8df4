//! Maps the content of a client's messages: a string, or parts.

use jackfield_dialect_kit::data_url::{self, DataUrl};
use jackfield_dialect_kit::media_text;
use jackfield_domain::block::{Block, CachePoint, Content, OpaqueBlock};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value};

use super::Invalid;
use super::messages::RequestReader;
use crate::chat::request::content::{KNOWN_PARTS, file_name};
use crate::chat::wire;
use crate::settings;

impl RequestReader<'_> {
    pub(super) fn content(
        &mut self,
        content: Option<wire::Content>,
        path: &str,
    ) -> Result<Vec<Block>, Invalid> {
        let mut blocks = Vec::new();
        match content {
            None => {}
            Some(wire::Content::Text(text)) if text.is_empty() => {}
            Some(wire::Content::Text(text)) => {
                let path = format!("{path}.content");
                blocks.extend(self.text(text, &path));
            }
            Some(wire::Content::Parts(parts)) => {
                for (k, part) in parts.into_iter().enumerate() {
                    blocks.extend(self.part(part, &format!("{path}.content.{k}"))?);
                }
            }
        }
        Ok(blocks)
    }

    fn text(&mut self, text: String, path: &str) -> Option<Block> {
        if text.trim().is_empty() {
            self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
            return None;
        }
        Some(Block::text(text))
    }

    fn part(&mut self, part: wire::Part, path: &str) -> Result<Option<Block>, Invalid> {
        let (block, cache) = match part {
            wire::Part::File {
                file,
                prompt_cache_breakpoint,
            } => {
                let document = Content::Document(self.document(file, path)?);
                (Some(document.into()), prompt_cache_breakpoint)
            }
            wire::Part::ImageUrl {
                image_url,
                prompt_cache_breakpoint,
            } => {
                let image = Content::Image(image(image_url, path)?);
                (Some(image.into()), prompt_cache_breakpoint)
            }
            wire::Part::InputAudio {
                input_audio,
                prompt_cache_breakpoint,
            } => (
                Some(Content::Audio(audio(input_audio)).into()),
                prompt_cache_breakpoint,
            ),
            wire::Part::Refusal { refusal } => {
                (Some(Content::Refusal(refusal.into()).into()), None)
            }
            wire::Part::Text {
                text,
                prompt_cache_breakpoint,
            } => (self.text(text, path), prompt_cache_breakpoint),
            wire::Part::Other(fields) => (Some(self.other(fields, path)?), None),
        };
        let point = cache.map(|cache| cache_point(&cache));
        Ok(block.map(|mut block: Block| {
            block.cache = point;
            block
        }))
    }

    fn document(&self, file: wire::File, path: &str) -> Result<Document, Invalid> {
        let mut title = file.filename;
        let source = match (file.file_id, file.file_data) {
            (Some(id), _) => MediaSource::File {
                id: id.into(),
                owner: self.owner.clone(),
            },
            (None, Some(data)) => match data_url::read(&data).flatten() {
                Some(DataUrl { data, media_type }) => MediaSource::Base64 {
                    media_type: media_type.into(),
                    data: data.into(),
                },
                // Without a media type, PDF is assumed, which documents nearly always are.
                None => MediaSource::Base64 {
                    media_type: "application/pdf".into(),
                    data: data.into(),
                },
            },
            (None, None) => {
                return Err(Invalid::new(
                    format!("{path}.file"),
                    "`file_data` or `file_id` is needed",
                ));
            }
        };
        if let MediaSource::Base64 { media_type, .. } = &source {
            title = title.filter(|title| title != file_name(media_type));
        }
        Ok(Document {
            cite: false,
            context: None,
            source,
            title: title.map(Into::into),
        })
    }

    /// A part that only a specific server knows.
    fn other(&self, fields: Map<String, Value>, path: &str) -> Result<Block, Invalid> {
        let kind = fields.get("type").and_then(Value::as_str);
        let Some(kind) = kind.map(str::to_owned) else {
            return Err(Invalid::new(format!("{path}.type"), "a part has a type"));
        };
        if let ("image_url", Some(Value::String(url))) = (kind.as_str(), fields.get("image_url")) {
            let bare = wire::ImageUrl {
                url: url.clone(),
                detail: None,
            };
            return Ok(Content::Image(image(bare, path)?).into());
        }
        if KNOWN_PARTS.contains(&kind.as_str()) {
            let reason = format!("this is no well-formed `{kind}` part");
            return Err(Invalid::new(path, reason));
        }
        let fallback = media_text::opaque_block(&fields);
        if fallback.is_none() && self.owner.endpoint.is_empty() {
            let reason = format!("a `{kind}` part cannot be told to this model");
            return Err(Invalid::new(path, reason));
        }
        Ok(Content::Opaque(OpaqueBlock {
            fallback: fallback.map(Into::into),
            json: Value::Object(fields),
            kind: kind.into(),
            owner: self.owner.clone(),
        })
        .into())
    }
}

fn image(image: wire::ImageUrl, path: &str) -> Result<Image, Invalid> {
    let detail = image.detail.as_deref();
    let detail = detail.map(|word| settings::detail_of(word, &format!("{path}.image_url")));
    let detail = detail.transpose()?;
    let source = match data_url::read(&image.url) {
        Some(Some(DataUrl { data, media_type })) => MediaSource::Base64 {
            media_type: media_type.into(),
            data: data.into(),
        },
        Some(None) => {
            let path = format!("{path}.image_url.url");
            return Err(Invalid::new(path, "data has to be in base64"));
        }
        None => MediaSource::Url(image.url.into()),
    };
    Ok(Image { detail, source })
}

fn audio(audio: wire::Audio) -> Audio {
    let media_type = match audio.format.as_str() {
        "mp3" => "audio/mpeg".to_owned(),
        other => format!("audio/{other}"),
    };
    Audio {
        source: MediaSource::Base64 {
            media_type: media_type.into(),
            data: audio.data.into(),
        },
        transcript: None,
    }
}

/// The lifetime of the cache entry, or the provider's default.
fn cache_point(cache: &wire::CacheBreakpoint) -> CachePoint {
    CachePoint {
        seconds: match cache.ttl.as_deref() {
            None => None,
            Some("12h") => Some(43200),
            Some("1h") => Some(3600),
            Some("5m") => Some(300),
            Some(_) => Some(1800),
        },
    }
}
