//! The models of a server.

use jackfield_dialect_kit::listing;
use jackfield_domain::listing::ListedModel;
use serde_json::Value;

use crate::wire::Tags;

/// Reads the list of a server's models (`GET /api/tags`).
///
/// # Errors
///
/// If it is not in Ollama's form.
pub fn from_wire(body: &[u8]) -> Result<Vec<ListedModel>, serde_json::Error> {
    let tags: Tags = serde_json::from_slice(body)?;
    let models = tags.models.into_iter().flatten().map(|tag| ListedModel {
        // `model` repeats the name.
        more: listing::extra_fields(&Value::Object(tag.extra), &["model"]),
        ..ListedModel::new(tag.name)
    });
    Ok(models.collect())
}
