//! Review of a server's tool definitions by the embedding program.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// Decides which definitions of one server may be used.
///
/// It is called after each listing of the server's tools, and again for a list of which it refused a part. A
/// refused tool is neither offered nor called, even if it was offered before.
pub trait DefinitionGate: Send + Sync {
    /// Reviews the server's tool definitions: objects with `name`, and, as far as the server sent them, `title`,
    /// `description`, `inputSchema`, `outputSchema`, `annotations` and, of `_meta`, the icon, all unchanged. Tools
    /// that are left out, such as by a pattern, are not included.
    ///
    /// The method may read and write files, as it runs on a blocking thread. If it panics, all tools are refused.
    fn review(&self, definitions: &[Arc<Value>]) -> Review;
}

/// The result of a review.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Review {
    /// Messages to report, one sentence each.
    pub problems: Vec<String>,
    /// The refused tools by the server's own names, each with the reason in a sentence.
    pub refused: BTreeMap<Arc<str>, String>,
}

/// Runs the review on a blocking thread.
pub(crate) async fn review(
    gate: Option<&Arc<dyn DefinitionGate>>,
    definitions: Vec<Arc<Value>>,
) -> Review {
    let Some(gate) = gate.cloned() else {
        return Review::default();
    };
    let names: Vec<Arc<str>> = definitions.iter().filter_map(|one| name(one)).collect();
    let result = tokio::task::spawn_blocking(move || gate.review(&definitions)).await;
    result.unwrap_or_else(|_| {
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
