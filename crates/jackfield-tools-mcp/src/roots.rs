//! The folders that a server should work in (MCP specification 2025-11-25, "Roots", read 2026-11-26; deprecated by
//! 2026-07-28, which still has them as an input of calls).

use serde_json::{Value, json};

/// A folder that a server should work in. It is advice: what a server can reach is up to its process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Root {
    pub name: Option<String>,
    /// Its URI, which begins with `file://`.
    pub uri: String,
}

/// The result of `roots/list`.
pub(crate) fn list_result(roots: &[Root]) -> Value {
    let roots = roots.iter().map(|Root { name, uri }| {
        let mut root = json!({ "uri": uri });
        if let Some(name) = name {
            root["name"] = json!(name);
        }
        root
    });
    result_of(roots.collect())
}

/// The result with these roots, as the protocol writes them.
pub(crate) fn result_of(roots: Vec<Value>) -> Value {
    json!({ "roots": roots })
}
