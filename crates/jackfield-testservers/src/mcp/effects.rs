//! The external effect of a scripted tool: a line in a file, which survives any end of the process.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::{Value, json};

use super::ScriptedMcpServer;

impl ScriptedMcpServer {
    /// Records the effect of a call, if the script names a file.
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
