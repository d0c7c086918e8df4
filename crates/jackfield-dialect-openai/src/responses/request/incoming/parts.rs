//! Maps the parts of a client's messages and outputs.

use jackfield_dialect_kit::data_url::{self, DataUrl};
use jackfield_domain::block::{Block, CachePoint, Content};
use jackfield_domain::media::{Audio, Document, Image, MediaSource};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::OutcomePart;
use serde_json::{Map, Value};

use super::Invalid;
use super::items::RequestReader;
use crate::responses::wire;
use crate::settings;

impl RequestReader<'_> {
    /// A part of a message that is not the model's; `None` if it is empty.
    pub(super) fn part(&mut self, part: wire::Part, path: &str) -> Result<Option<Block>, Invalid> {
        let (content, cache) = match part {
            wire::Part::InputFile { .. } => {
                let (document, cache) = self.document(part, path)?;
                (Content::Document(document), cache)
            }
            wire::Part::InputImage { .. } => {
                let (image, cache) = self.image(part, path)?;
                (Content::Image(image), cache)
            }
            wire::Part::InputText {
                text,
                prompt_cache_breakpoint,
            } => {
                if text.trim().is_empty() {
                    self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
                    return Ok(None);
                }
                (
                    Block::text(text).content,
                    cache_point(prompt_cache_breakpoint),
                )
            }
            wire::Part::Other(fields) => {
                well_formed(&fields, path)?;
                match sound(&fields) {
                    Some(audio) => (Content::Audio(audio), None),
                    None => return Err(Invalid::new(path, "this part is not supported")),
                }
            }
            wire::Part::OutputText { .. } | wire::Part::Refusal { .. } => {
                return Err(Invalid::new(path, "only the model says this"));
            }
        };
        Ok(Some(Block {
            cache,
            content,
            opaque: Vec::new(),
        }))
    }

    /// A part of an output, and its cache point; `None` if it is empty.
    pub(super) fn outcome_part(
        &mut self,
        part: wire::Part,
        path: &str,
    ) -> Result<(Option<OutcomePart>, Option<CachePoint>), Invalid> {
        let (text, cache) = match part {
            wire::Part::InputFile { .. } => {
                let (document, cache) = self.document(part, path)?;
                return Ok((Some(OutcomePart::Document(document)), cache));
            }
            wire::Part::InputImage { .. } => {
                let (image, cache) = self.image(part, path)?;
                return Ok((Some(OutcomePart::Image(image)), cache));
            }
            wire::Part::InputText {
                text,
                prompt_cache_breakpoint,
            } => (text, cache_point(prompt_cache_breakpoint)),
            wire::Part::OutputText { text, .. } => (text, None),
            wire::Part::Refusal { refusal } => (refusal, None),
            wire::Part::Other(fields) => {
                well_formed(&fields, path)?;
                self.notes
                    .approximated(NoteEffect::Quality, "part_as_json_text", path);
                (Value::Object(fields).to_string(), None)
            }
        };
        if text.trim().is_empty() {
            self.notes.dropped(NoteEffect::Cosmetic, "blank_text", path);
            return Ok((None, cache));
        }
        Ok((Some(OutcomePart::Text(text.into())), cache))
    }

    fn image(&self, part: wire::Part, path: &str) -> Result<(Image, Option<CachePoint>), Invalid> {
        let wire::Part::InputImage {
            detail,
            file_id,
            image_url,
            prompt_cache_breakpoint,
        } = part
        else {
            return Err(Invalid::new(path, "this is no image"));
        };
        let detail = match detail.as_deref() {
            None | Some("auto") => None,
            Some(word) => Some(settings::detail_of(word, path)?),
        };
        let source = self.source(image_url, file_id, path)?;
        Ok((
            Image { detail, source },
            cache_point(prompt_cache_breakpoint),
        ))
    }

    fn document(
        &mut self,
        part: wire::Part,
        path: &str,
    ) -> Result<(Document, Option<CachePoint>), Invalid> {
        let wire::Part::InputFile {
            detail,
            file_data,
            file_id,
            file_url,
            filename,
            prompt_cache_breakpoint,
        } = part
        else {
            return Err(Invalid::new(path, "this is no document"));
        };
        if detail.is_some_and(|detail| detail != "auto") {
            let path = format_args!("{path}.detail");
            self.notes
                .dropped(NoteEffect::Quality, "document_detail", path);
        }
        let data = match file_data {
            // The vendor also accepts bare base64.
            Some(data) if !data_url::is_one(&data) => {
                Some(format!("data:application/pdf;base64,{data}"))
            }
            data => data,
        };
        let document = Document {
            cite: false,
            context: None,
            source: self.source(data.or(file_url), file_id, path)?,
            title: filename.map(Into::into),
        };
        Ok((document, cache_point(prompt_cache_breakpoint)))
    }

    fn source(
        &self,
        url: Option<String>,
        file_id: Option<String>,
        path: &str,
    ) -> Result<MediaSource, Invalid> {
        let Some(url) = url else {
            let id = file_id.ok_or_else(|| Invalid::new(path, "this is nowhere to be found"))?;
            return Ok(MediaSource::File {
                id: id.into(),
                owner: self.owner.clone(),
            });
        };
        let Some(found) = data_url::read(&url) else {
            return Ok(MediaSource::Url(url.into()));
        };
        let DataUrl { data, media_type } =
            found.ok_or_else(|| Invalid::new(path, "this data URL is not in base64"))?;
        Ok(MediaSource::Base64 {
            media_type: media_type.into(),
            data: data.into(),
        })
    }
}

/// Audio, which other models of the vendor accept.
fn sound(fields: &Map<String, Value>) -> Option<Audio> {
    if fields.get("type")?.as_str()? != "input_audio" {
        return None;
    }
    let inner = fields.get("input_audio")?;
    let format = inner.get("format")?.as_str()?;
    let media_type = match format {
        "mp3" => "audio/mpeg".to_owned(),
        other => format!("audio/{other}"),
    };
    Some(Audio {
        source: MediaSource::Base64 {
            media_type: media_type.into(),
            data: inner.get("data")?.as_str()?.into(),
        },
        transcript: None,
    })
}

fn cache_point(point: Option<wire::CacheBreakpoint>) -> Option<CachePoint> {
    let ttl = point?.ttl;
    Some(CachePoint {
        seconds: ttl.map(|ttl| if ttl == "12h" { 43200 } else { 1800 }),
    })
}

/// Checks that a part that could not be parsed as its type is not of a known type.
pub(super) fn well_formed(fields: &Map<String, Value>, path: &str) -> Result<(), Invalid> {
    let kind = fields.get("type").and_then(Value::as_str);
    match kind.filter(|kind| KNOWN_PARTS.contains(kind)) {
        Some(kind) => {
            let reason = format!("this is no well-formed `{kind}` part");
            Err(Invalid::new(path, reason))
        }
        None => Ok(()),
    }
}

/// The types of the variants of [`wire::Part`].
const KNOWN_PARTS: [&str; 5] = [
    "input_file",
    "input_image",
    "input_text",
    "output_text",
    "refusal",
];
