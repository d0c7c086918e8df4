//! Saves the parts of results that are not text as files, for programs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::MediaSource;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use serde_json::{Value, json};

/// A folder for the files of results.
#[derive(Debug)]
pub struct SavedFiles {
    folder: PathBuf,
    /// What was saved, by call.
    saved: BTreeMap<ToolCallId, Value>,
}

impl SavedFiles {
    /// Files in this folder, which is created.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub fn new(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self {
            folder,
            saved: BTreeMap::new(),
        })
    }

    /// Saves the files of a result, and returns what programs get to know of them. Done once for each call.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub(super) fn save(&mut self, call: &ToolCallId, result: &ToolResult) -> io::Result<Value> {
        if let Some(saved) = self.saved.get(call) {
            return Ok(saved.clone());
        }
        let mut files = Vec::new();
        for part in &result.content {
            let (source, title) = match part {
                OutcomePart::Audio(audio) => (&audio.source, None),
                OutcomePart::Document(document) => (&document.source, document.title.as_deref()),
                OutcomePart::Image(image) => (&image.source, None),
                _ => continue,
            };
            files.push(self.file(call, files.len() + 1, source, title)?);
        }
        let saved = Value::from(files);
        self.saved.insert(call.clone(), saved.clone());
        Ok(saved)
    }

    fn file(
        &self,
        call: &ToolCallId,
        nth: usize,
        source: &MediaSource,
        title: Option<&str>,
    ) -> io::Result<Value> {
        let (media_type, bytes) = match source {
            MediaSource::Base64 { media_type, data } => {
                let bytes = STANDARD.decode(data.as_bytes()).map_err(io::Error::other)?;
                (&**media_type, bytes)
            }
            MediaSource::Text(text) => ("text/plain", text.as_bytes().to_vec()),
            MediaSource::Url(url) => return Ok(json!({ "url": &**url, "title": title })),
            MediaSource::File { id, .. } => return Ok(json!({ "file": &**id, "title": title })),
        };
        // The name is made here, so that no server chooses where to write.
        let fits = |c: &char| c.is_ascii_alphanumeric() || "_-".contains(*c);
        let call: String = call.as_str().chars().filter(fits).collect();
        let path = self
            .folder
            .join(format!("{call}-{nth}.{}", extension(media_type)));
        fs::write(&path, bytes)?;
        Ok(json!({ "path": path, "media_type": media_type, "title": title }))
    }
}

fn extension(media_type: &str) -> &'static str {
    let known = EXTENSIONS.iter().find(|(known, _)| *known == media_type);
    known.map_or("bin", |(_, extension)| extension)
}

const EXTENSIONS: &[(&str, &str)] = &[
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("audio/mpeg", "mp3"),
    ("audio/wav", "wav"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
];
