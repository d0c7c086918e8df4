//! Saves the parts of results that are not text as files, for programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

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
        let saved = self.save_as(call.as_str(), result)?;
        self.saved.insert(call.clone(), saved.clone());
        Ok(saved)
    }

    /// Saves the files of a result under this name, and returns what programs get to know of them.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn save_as(&self, name: &str, result: &ToolResult) -> io::Result<Value> {
        let mut files = Vec::new();
        for part in &result.content {
            let (source, title) = match part {
                OutcomePart::Audio(audio) => (&audio.source, None),
                OutcomePart::Document(document) => (&document.source, document.title.as_deref()),
                OutcomePart::Image(image) => (&image.source, None),
                _ => continue,
            };
            files.push(self.file(name, files.len() + 1, source, title)?);
        }
        Ok(Value::from(files))
    }

    fn file(
        &self,
        name: &str,
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
        let name: String = name.chars().filter(fits).collect();
        let path = write_new(&self.folder, &name, nth, extension(media_type), &bytes)?;
        Ok(json!({ "path": path, "media_type": media_type, "title": title }))
    }
}

/// Writes the nth file of this name, or a later one if there is such a file: nothing is overwritten.
fn write_new(
    folder: &Path,
    name: &str,
    nth: usize,
    extension: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    for nth in nth..MAX_FILES {
        let path = folder.join(format!("{name}-{nth}.{extension}"));
        match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
        }
    }
    let message = format!("the folder has {MAX_FILES} files of this name");
    Err(io::Error::other(message))
}

const MAX_FILES: usize = 10_000;

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
