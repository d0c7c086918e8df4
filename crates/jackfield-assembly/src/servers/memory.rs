//! The cached tool list of a server between runs: a file in the user's cache, which may be deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_domain::digest::Digest;
use jackfield_tools_mcp::{Era, ServerMemory};
use serde_json::{Value, json};

use crate::bounded_file::read_at_most;
use crate::servers::{McpServerEntry, private_file};

/// The cache file of one server. A changed configuration has another file.
pub(crate) struct ToolListFile {
    file: PathBuf,
    /// Its content, as far as known.
    content: Mutex<Option<(ServerMemory, Option<String>)>>,
}

impl ToolListFile {
    /// The file of a server, named by a digest of its configuration as written. Only the names of variables enter
    /// it: the hash of a guessable key would reveal the key.
    pub(crate) fn new(cache: &Path, server: &McpServerEntry) -> Self {
        let variables: Vec<&Arc<str>> = server.environment.iter().map(|(name, _)| name).collect();
        let parts = format!(
            "{:?}",
            (
                &server.command,
                &server.arguments,
                variables,
                &server.folder,
                server.timeout,
                &server.tools,
                server.trusted,
            )
        );
        let headers = server.headers.iter().map(|(name, _)| &**name);
        let headers: String = headers.collect::<Vec<_>>().join(" ");
        // A server without an address keeps the name that its file has always had.
        let digest = match &server.url {
            None => Digest::of_parts([server.id.as_str(), &parts]),
            Some(url) => Digest::of_parts([server.id.as_str(), &parts, url, &headers]),
        };
        let digest = digest.to_hex();
        let digest = digest.get(..16).unwrap_or_default();
        Self {
            file: cache
                .join("mcp")
                .join(format!("{}-{digest}.json", server.id)),
            content: Mutex::default(),
        }
    }

    /// The cached tool list and instructions; `None` if they cannot be read.
    pub(crate) fn load(&self) -> Option<(ServerMemory, Option<String>)> {
        let bytes = read_at_most(&self.file, LIMIT).ok()?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        let definitions = value.get("said")?.as_array()?.iter();
        let remembered = ServerMemory {
            definitions: definitions.cloned().map(Arc::new).collect(),
            era: if value.get("stateless")?.as_bool()? {
                Era::Stateless
            } else {
                Era::Handshake
            },
        };
        let instructions = value.get("instructions").and_then(Value::as_str);
        let instructions = instructions.map(str::to_owned);
        let content = Some((remembered, instructions));
        self.content
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(&content);
        content
    }

    /// Writes the cache if it has changed. Blocks on the disk.
    pub(crate) fn store(&self, remembered: ServerMemory, instructions: Option<String>) {
        let new = Some((remembered, instructions));
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        if *content == new {
            return;
        }
        *content = new;
        let Some((remembered, instructions)) = &*content else {
            return;
        };
        let definitions = remembered.definitions.iter().map(|said| &**said);
        let value = json!({
            "stateless": remembered.era == Era::Stateless,
            "instructions": instructions,
            "said": definitions.collect::<Vec<_>>(),
        });
        let text = value.to_string();
        if text.len() as u64 > LIMIT {
            // A larger file would not be read.
            return;
        }
        // If the write fails, the next start is slower; nothing else is lost.
        let _written = write(&self.file, &text);
    }
}

/// Writes a private file atomically.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension(format!("{}.tmp", std::process::id()));
    private_file::write_new(&beside, text)?;
    fs::rename(beside, file)
}

/// The maximum size of the file, in bytes.
const LIMIT: u64 = 64 << 20;
