//! The file of accepted definitions of one server.
//!
//! It is read without a lock, as it is only ever replaced atomically. A writer holds the lock file from before
//! its read until after its write, so that neither of two processes loses the pins of the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jackfield_domain::digest::{Digest, canonical_json};
use serde_json::{Map, Value, json};

use crate::bounded_file::read_at_most;
use crate::servers::{McpServerEntry, private_file};

/// The accepted definitions, by the tools' own names.
pub(crate) type Accepted = BTreeMap<String, Pin>;

/// An accepted definition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pin {
    /// The definition itself, unless it is too long to be stored.
    pub(crate) definition: Option<Arc<Value>>,
    pub(crate) digest: Digest,
}

/// Why the file cannot be used.
#[derive(Debug)]
pub(crate) enum PinFileError {
    /// It exists, but its content cannot be determined.
    Damaged { file: PathBuf, why: String },
    /// The content would be too large.
    Full,
    /// Nothing can be stored there, for this reason.
    NoPlace(String),
}

/// A fingerprint of the file's metadata, to detect changes.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    bytes: u64,
    /// The inode number, where the system has one; every write creates a new inode.
    number: u64,
    written: Option<SystemTime>,
}

/// The pin file of one server.
pub(crate) struct PinFile {
    file: PathBuf,
    server: String,
}

impl Pin {
    /// A pin of this definition.
    pub(crate) fn of(definition: &Arc<Value>) -> Self {
        let text = canonical_json(definition);
        Self {
            definition: (text.len() <= MAX_LENGTH).then(|| Arc::clone(definition)),
            digest: Digest::of(text.as_bytes()),
        }
    }
}

impl PinFile {
    /// The file of a configured server, named by its identity: id, program, arguments and folder, or
    /// id and address. Limits,
    /// patterns, prefix, trust and variables do not count: a server with another key is the same server.
    pub(crate) fn of(data: &Path, server: &McpServerEntry) -> Self {
        let folder = server.folder.as_ref().map(|folder| {
            // A relative folder depends on the location of the configuration file.
            if folder.starts_with('~') {
                PathBuf::from(&**folder)
            } else {
                server.base.0.join(&**folder)
            }
        });
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
        // A representation that is stable across compilers.
        let parts = match &server.url {
            None => json!([&*server.command, server.arguments, folder]).to_string(),
            Some(url) => json!({ "url": &**url }).to_string(),
        };
        let id = server.id.as_str();
        // What one person accepted is not accepted for another.
        let owner = server.owner.as_deref();
        let digest = Digest::of_parts([id, &parts].into_iter().chain(owner)).to_hex();
        let digest = digest.get(..16).unwrap_or_default();
        Self {
            file: data.join("mcp").join(format!("{id}-{digest}.json")),
            server: id.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// The current fingerprint; `None` if the file does not exist.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::metadata(&self.file).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Some(Stamp {
            bytes: metadata.len(),
            number,
            written: metadata.modified().ok(),
        })
    }

    /// The accepted definitions; empty if the file does not exist.
    pub(crate) fn read(&self) -> Result<Accepted, PinFileError> {
        let no_place = |error| PinFileError::NoPlace(self.unusable(&error));
        let damaged = |why: String| PinFileError::Damaged {
            file: self.file.clone(),
            why,
        };
        match fs::metadata(&self.file) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(damaged("it is no file".to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A dangling link is not a missing file.
                return match fs::symlink_metadata(&self.file) {
                    Ok(_) => Err(damaged(error.to_string())),
                    Err(_) => Ok(Accepted::default()),
                };
            }
            // Neither is a link cycle, or a link to an inaccessible place.
            Err(error) if fs::symlink_metadata(&self.file).is_ok() => {
                return Err(damaged(error.to_string()));
            }
            // The path is inaccessible: nothing was ever stored there, or all of it is out of reach.
            Err(error) => return Err(no_place(error)),
        }
        let bytes = read_at_most(&self.file, LIMIT);
        let bytes = bytes.map_err(|error| damaged(format!("it cannot be read: {error}")))?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(format!("it is damaged: {error}")))?;
        let format = value.get("format").and_then(Value::as_u64);
        if format.is_some_and(|format| format > FORMAT) {
            return Err(damaged("a newer Jackfield has written it".to_owned()));
        }
        let tools = value.get("tools").and_then(Value::as_object);
        let tools = tools.filter(|_| format == Some(FORMAT));
        let tools =
            tools.ok_or_else(|| damaged("it is damaged: it is no list of tools".to_owned()))?;
        let pins = tools.iter().map(|(name, form)| {
            let pin = pin(name, form);
            let pin = pin.ok_or_else(|| {
                let name: String = name.chars().take(80).collect();
                damaged(format!(
                    "it is damaged: what it says of `{name}` is not whole"
                ))
            });
            Ok((name.clone(), pin?))
        });
        pins.collect()
    }

    /// Changes the accepted definitions if `change` says so; returns the result.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&mut Accepted) -> bool,
    ) -> Result<Accepted, PinFileError> {
        let no_place = |error| PinFileError::NoPlace(self.unusable(&error));
        let _lock = private_file::lock(&self.file, TIME_LIMIT).map_err(no_place)?;
        let mut accepted = self.read()?;
        if change(&mut accepted) {
            let text = text(&self.server, &mut accepted);
            if text.len() as u64 > LIMIT {
                return Err(PinFileError::Full);
            }
            private_file::write(&self.file, &text).map_err(no_place)?;
        }
        Ok(accepted)
    }

    fn unusable(&self, error: &io::Error) -> String {
        let folder = self.file.parent().unwrap_or(&self.file).display();
        format!("{folder} cannot be used: {error}; make it a folder that this user can write")
    }
}

fn pin(name: &str, form: &Value) -> Option<Pin> {
    let digest = Digest::from_hex(form.get("digest")?.as_str()?)?;
    let definition = form.get("definition")?;
    let definition = if definition.is_null() {
        None
    } else {
        let named = definition.get("name").and_then(Value::as_str);
        if named.unwrap_or_default() != name || Digest::of_json(definition) != digest {
            return None;
        }
        Some(Arc::new(definition.clone()))
    };
    Some(Pin { definition, digest })
}

/// The file's text. Definitions that would make it too long are reduced to their digests.
fn text(server: &str, accepted: &mut Accepted) -> String {
    let mut bytes = 0_usize;
    let mut tools = Map::new();
    for (name, pin) in accepted {
        let definition = pin.definition.take();
        pin.definition = definition.filter(|definition| {
            bytes = bytes.saturating_add(canonical_json(definition).len());
            bytes <= MAX_TOTAL_TIME
        });
        let form = json!({
            "digest": pin.digest.to_hex(),
            "definition": pin.definition.as_deref(),
        });
        tools.insert(name.clone(), form);
    }
    json!({ "format": FORMAT, "server": server, "tools": tools }).to_string()
}

/// The format version of the file.
const FORMAT: u64 = 1;
/// The maximum length of a definition stored with its text, in bytes.
const MAX_LENGTH: usize = 256 << 10;
/// The maximum total length of definitions stored with their texts, in bytes.
const MAX_TOTAL_TIME: usize = 16 << 20;
/// The maximum size of the file, in bytes.
const LIMIT: u64 = 64 << 20;
/// How long to wait for the lock.
const TIME_LIMIT: Duration = Duration::from_secs(5);
