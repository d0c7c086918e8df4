//! The list of models (`GET /v1/models`), from OpenAI and from servers like it, and as one of them.
//!
//! OpenAI itself tells names alone. What others tell besides has a name of its own everywhere: the
//! fields here are those of vLLM, llama.cpp, Mistral, Groq and OpenRouter (2026-11), and whatever is in
//! another form than expected is as good as not told.

use std::sync::Arc;

use jackfield_dialect_kit::listing;
use jackfield_domain::listing::ListedModel;
use serde::Deserialize;
use serde_json::{Value, json};

/// The list.
#[derive(Clone, Debug, Deserialize)]
struct ModelList {
    data: Vec<Value>,
}

/// The list; models without a name are left out.
///
/// # Errors
///
/// It is not in the vendor's form.
pub fn from_wire(body: &[u8]) -> Result<Vec<ListedModel>, serde_json::Error> {
    let ModelList { data } = serde_json::from_slice(body)?;
    Ok(data.iter().filter_map(model).collect())
}

/// The list as a server answers it. `created` is for models of which it is not known, in seconds since 1970.
#[must_use]
pub fn to_wire(models: &[ListedModel], created: u64) -> Value {
    let data: Vec<Value> = models.iter().map(|one| one_to_wire(one, created)).collect();
    json!({ "object": "list", "data": data })
}

/// One model as a server answers it (`GET /v1/models/{id}`).
///
/// What the vendor's form has no place for stands where compatible servers tell it, and what a provider says in words
/// of its own stands as it says it.
#[must_use]
pub fn one_to_wire(model: &ListedModel, created: u64) -> Value {
    let mut told = json!({
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
    if let Some(fields) = told.as_object_mut() {
        fields.extend(known);
        for (field, json) in &model.more {
            if !fields.contains_key(field) {
                fields.insert(field.clone(), json.clone());
            }
        }
    }
    told
}

fn model(listed: &Value) -> Option<ListedModel> {
    let text = |name: &str| listed.get(name).and_then(Value::as_str);
    let number = |name: &&str| listed.pointer(name).and_then(Value::as_u64);
    let id: Arc<str> = text("id").filter(|id| !id.is_empty())?.into();
    Some(ListedModel {
        context: CONTEXT.iter().find_map(number),
        created: number(&"/created"),
        more: listing::more(listed, &["created", "id", "name", "object", "owned_by"]),
        name: text("name").filter(|name| **name != *id).map(Into::into),
        id,
        output: OUTPUT.iter().find_map(number),
        owner: text("owned_by").map(Into::into),
    })
}

/// Where the size of the context may stand.
const CONTEXT: &[&str] = &[
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/max_model_len",
    "/meta/n_ctx_train",
];

/// Where the most of a reply may stand.
const OUTPUT: &[&str] = &[
    "/max_completion_tokens",
    "/top_provider/max_completion_tokens",
];
