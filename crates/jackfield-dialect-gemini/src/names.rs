//! Names of functions: they begin with a letter or `_`, which a tool's name need not do (Gemini API documentation,
//! function calling, 2026-11).

use std::collections::{HashMap, HashSet};

use jackfield_domain::request::ModelRequest;

/// The names of a request's tools that differ on the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct WireNames {
    /// By the tool's own name.
    changed: HashMap<String, String>,
}

impl WireNames {
    pub(crate) fn new(request: &ModelRequest) -> Self {
        let tools = || request.tools.iter().map(|tool| tool.name.as_str());
        let mut taken: HashSet<String> = tools()
            .filter(|name| fits(name))
            .map(str::to_owned)
            .collect();
        let mut changed: HashMap<String, String> = HashMap::new();
        for name in tools().filter(|name| !fits(name)) {
            if changed.contains_key(name) {
                continue;
            }
            let mut wire = format!("_{name}");
            while !taken.insert(wire.clone()) {
                wire.insert(0, '_');
            }
            changed.insert(name.to_owned(), wire);
        }
        Self { changed }
    }

    /// The name on the wire; `None` if it is the same.
    pub(crate) fn changed(&self, name: &str) -> Option<String> {
        if fits(name) {
            return None;
        }
        let known = self.changed.get(name).cloned();
        Some(known.unwrap_or_else(|| format!("_{name}")))
    }

    /// The tool's own names, by those on the wire.
    pub(crate) fn into_own(self) -> HashMap<String, String> {
        let changed = self.changed.into_iter();
        changed.map(|(own, wire)| (wire, own)).collect()
    }
}

fn fits(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
