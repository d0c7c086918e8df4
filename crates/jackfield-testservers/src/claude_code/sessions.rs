//! The sessions: one file each, with the messages and the ids of their lines.

use std::path::PathBuf;

use serde_json::{Value, json};

/// A message of a session.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) message: Value,
}

fn file(session: &str) -> PathBuf {
    let folder = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let folder = folder.unwrap_or_else(std::env::temp_dir).join("sessions");
    let _exists = std::fs::create_dir_all(&folder);
    folder.join(format!("{session}.json"))
}

/// The messages of a session, up to the line with this id; the error is in the real program's words.
pub(super) fn load(session: &str, at: &str) -> Result<Vec<Entry>, String> {
    let missing = || format!("No conversation found with session ID: {session}");
    let text = std::fs::read_to_string(file(session)).map_err(|_| missing())?;
    let Ok(Value::Array(lines)) = serde_json::from_str(&text) else {
        return Err(missing());
    };
    let mut entries: Vec<Entry> = lines
        .iter()
        .map(|line| Entry {
            id: super::text(line, "id").to_owned(),
            message: line.get("message").cloned().unwrap_or_default(),
        })
        .collect();
    let place = entries.iter().position(|entry| entry.id == at);
    let place = place.ok_or_else(|| format!("No message found with message.uuid of: {at}"))?;
    entries.truncate(place + 1);
    Ok(entries)
}

pub(super) fn store(session: &str, entries: &[Entry]) {
    let lines = entries
        .iter()
        .map(|entry| json!({ "id": entry.id, "message": entry.message }));
    let text = Value::Array(lines.collect()).to_string();
    let _full = std::fs::write(file(session), text);
}
