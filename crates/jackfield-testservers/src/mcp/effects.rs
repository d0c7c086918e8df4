//! What a scripted tool does to the world: a line in a file that no end of a process takes back.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::{Value, json};

use super::ScriptedMcpServer;

impl ScriptedMcpServer {
    /// Does what cannot be undone, if the script has a place for it.
    pub(super) fn record(&self, tool: &str, params: &Value) {
        let Some(path) = self.script["effects"].as_str() else {
            return;
        };
        let key = &params["_meta"]["jackfield/idempotencyKey"];
        if !key.is_string() {
            self.violated("a call has no idempotency key");
        }
        let effect = json!({ "tool": tool, "key": key, "arguments": params["arguments"] });
        let mut open = OpenOptions::new();
        let opened = open.append(true).create(true).open(path);
        let written = opened.and_then(|mut file| {
            file.write_all(format!("{effect}\n").as_bytes())?;
            file.sync_data()
        });
        if let Err(fault) = written {
            self.violated(&format!("an effect cannot be recorded: {fault}"));
        }
    }
}
