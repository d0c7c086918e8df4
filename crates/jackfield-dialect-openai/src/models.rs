//! The list of models (`GET /v1/models`), from OpenAI and from servers like it.
//!
//! OpenAI itself tells names alone. What others tell besides has a name of its own everywhere: the
//! fields here are those of vLLM, llama.cpp, Mistral, Groq and OpenRouter (2026-11), and whatever is in
//! another form than expected is as good as not told.

use std::sync::Arc;

use jackfield_domain::listing::ListedModel;
use serde::Deserialize;
use serde_json::Value;

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

fn model(listed: &Value) -> Option<ListedModel> {
    let text = |name: &str| listed.get(name).and_then(Value::as_str);
    let number = |name: &&str| listed.pointer(name).and_then(Value::as_u64);
    let id: Arc<str> = text("id").filter(|id| !id.is_empty())?.into();
    Some(ListedModel {
        context: CONTEXT.iter().find_map(number),
        name: text("name").filter(|name| **name != *id).map(Into::into),
        id,
        output: OUTPUT.iter().find_map(number),
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
