//! Who decides which definitions of a server may be used: not the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// Decides which definitions of one server may be used.
///
/// It is asked whenever the server has listed its tools, and again for a list that it refused a part
/// of: what it refuses is neither offered nor called, whatever was offered before.
pub trait DefinitionGate: Send + Sync {
    /// Looks at all that the server says of its tools: objects with `name`, and, as far as the server
    /// sent them, `title`, `description`, `inputSchema`, `outputSchema`, `annotations` and, of `_meta`,
    /// the icon, all as it sent them. Of those that are left out, such as by a pattern, nothing is said here.
    ///
    /// It may read and write files: it runs where that keeps nobody waiting. If it panics, everything
    /// is refused.
    fn review(&self, definitions: &[Arc<Value>]) -> Review;
}

/// What came of looking.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Review {
    /// What is to be told, each in a sentence.
    pub problems: Vec<String>,
    /// The tools that may not be used, by their own names, each with the reason in a sentence.
    pub refused: BTreeMap<Arc<str>, String>,
}

/// Lets somebody look, away from those who must not be kept waiting.
pub(crate) async fn review(
    gate: Option<&Arc<dyn DefinitionGate>>,
    definitions: Vec<Arc<Value>>,
) -> Review {
    let Some(gate) = gate.cloned() else {
        return Review::default();
    };
    let names: Vec<Arc<str>> = definitions.iter().filter_map(|one| name(one)).collect();
    let looked = tokio::task::spawn_blocking(move || gate.review(&definitions)).await;
    looked.unwrap_or_else(|_| {
        let why = "its definitions could not be looked at, so none of its tools is used";
        let refused = names.into_iter().map(|name| (name, why.to_owned()));
        Review {
            problems: vec![why.to_owned()],
            refused: refused.collect(),
        }
    })
}

fn name(definition: &Value) -> Option<Arc<str>> {
    definition.get("name")?.as_str().map(Arc::from)
}
