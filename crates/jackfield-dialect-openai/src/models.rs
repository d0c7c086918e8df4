//! The list of models (`GET /v1/models`): read from OpenAI and compatible servers, and served in the same form.
//!
//! OpenAI itself sends only names. Other servers use different names for further fields: those here are of vLLM,
//! llama.cpp, Mistral, Groq and OpenRouter (2026-11). A field in an unexpected form is ignored.

use std::sync::Arc;

use jackfield_dialect_kit::listing;
use jackfield_domain::listing::ListedModel;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Debug, Deserialize)]
struct ModelList {
    data: Vec<Value>,
}

/// Reads a list; models without a name are left out.
///
/// # Errors
///
/// If the list is not in the vendor's form.
pub fn from_wire(body: &[u8]) -> Result<Vec<ListedModel>, serde_json::Error> {
    let ModelList { data } = serde_json::from_slice(body)?;
    Ok(data.iter().filter_map(model).collect())
}

/// The list as a server sends it. `created`, in seconds since 1970, is for models whose date is unknown.
#[must_use]
pub fn to_wire(models: &[ListedModel], created: u64) -> Value {
    let data: Vec<Value> = models.iter().map(|one| one_to_wire(one, created)).collect();
    json!({ "object": "list", "data": data })
}

/// One model as a server sends it (`GET /v1/models/{id}`).
///
/// Properties that the vendor's form lacks are in the fields of compatible servers, and a provider's own text is
/// unchanged.
#[must_use]
pub fn one_to_wire(model: &ListedModel, created: u64) -> Value {
    let mut object = json!({
        "id": &*model.id,
        "object": "model",
        "created": model.created.unwrap_or(created),
        "owned_by": model.owner.as_deref().unwrap_or("jackfield"),
    });
    let known = [
        ("context_length", model.context.map(Value::from)),
        ("max_completion_tokens", model.output.map(Value::from)),
        ("name", model.name.as_deref().map(Value::from)),
    ];
    let known = known
        .into_iter()
        .filter_map(|(field, known)| Some((field.to_owned(), known?)));
    if let Some(fields) = object.as_object_mut() {
        fields.extend(known);
        for (field, json) in &model.more {
            if !fields.contains_key(field) {
                fields.insert(field.clone(), json.clone());
            }
        }
    }
    object
}

fn model(listed: &Value) -> Option<ListedModel> {
    let text = |name: &str| listed.get(name).and_then(Value::as_str);
    let number = |name: &&str| listed.pointer(name).and_then(Value::as_u64);
    let id: Arc<str> = text("id").filter(|id| !id.is_empty())?.into();
    Some(ListedModel {
        context: CONTEXT.iter().find_map(number),
        created: number(&"/created"),
        more: listing::extra_fields(listed, &["created", "id", "name", "object", "owned_by"]),
        name: text("name").filter(|name| **name != *id).map(Into::into),
        id,
        output: OUTPUT.iter().find_map(number),
        owner: text("owned_by").map(Into::into),
    })
}

/// The fields that may hold the context size.
const CONTEXT: &[&str] = &[
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/max_model_len",
    "/meta/n_ctx_train",
];

/// The fields that may hold the output limit.
const OUTPUT: &[&str] = &[
    "/max_completion_tokens",
    "/top_provider/max_completion_tokens",
];
