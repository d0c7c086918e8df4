//! The list of models: read from the vendor, and served to clients.

use jackfield_dialect_kit::listing;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::listing::ListedModel;
use serde_json::Value;

use crate::wire::{Model, ModelList, ServedModel, ServedModelList};

/// Reads a page of the list, and the cursor of the next page, if there is one. Models that only embed or draw are left
/// out.
///
/// # Errors
///
/// If the page is not in the vendor's form.
pub fn from_wire(body: &[u8]) -> Result<(Vec<ListedModel>, Option<String>), serde_json::Error> {
    let ModelList {
        mut models,
        publisher_models,
        next_page_token,
    } = serde_json::from_slice(body)?;
    // Vertex AI does not say what a model does, and has those of all kinds in its list.
    models.extend(publisher_models.into_iter().filter(|model| {
        let id = model.name.strip_prefix(PUBLISHED).unwrap_or(&model.name);
        let others = ["audio-", "embedding", "image", "live", "tts"];
        id.starts_with("gemini-") && !others.iter().any(|other| id.contains(other))
    }));
    let generates = |model: &Model| {
        let methods = model.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == GENERATE))
    };
    let models = models.into_iter().filter(generates).map(|model| {
        let name = model.name.strip_prefix(PUBLISHED).unwrap_or(&model.name);
        let id = name.strip_prefix(PREFIX).unwrap_or(name);
        ListedModel {
            context: model.input_token_limit,
            created: None,
            id: id.into(),
            more: listing::extra_fields(&Value::Object(model.extra), &[]),
            name: model.display_name.map(Into::into),
            output: model.output_token_limit,
            owner: None,
        }
    });
    let next = next_page_token.filter(|token| !token.is_empty());
    Ok((models.collect(), next))
}

/// A page of the served models, in order, as a client requests it: `query` returns the value of a query parameter
/// by its name.
///
/// # Errors
///
/// [`ServeError`] if a parameter is invalid.
pub fn page(
    models: &[ListedModel],
    query: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<u8>, ServeError> {
    let invalid = |name: &str, reason: &str| {
        ServeError::new(ServeErrorKind::Invalid, format!("{name}: {reason}")).at(name)
    };
    let size = match query("pageSize").map(|text| text.parse()) {
        None | Some(Ok(0)) => PAGE,
        Some(Ok(size)) => usize::min(size, LIMIT),
        Some(Err(_)) => return Err(invalid("pageSize", "a number is needed")),
    };
    let start = match query("pageToken").filter(|token| !token.is_empty()) {
        None => 0,
        Some(token) => {
            let last = models.iter().position(|model| *model.id == *token);
            last.ok_or_else(|| invalid("pageToken", "no model of this name is served"))?
                .saturating_add(1)
        }
    };
    let rest = models.get(start..).unwrap_or_default();
    let shown = rest.get(..size).unwrap_or(rest);
    let last = shown.last().filter(|_| rest.len() > shown.len());
    let list = ServedModelList {
        models: shown.iter().map(to_served_model).collect(),
        next_page_token: last.map(|model| (*model.id).to_owned()),
    };
    Ok(serde_json::to_vec(&list).unwrap_or_default())
}

/// One model in the form for a client.
#[must_use]
pub fn model_body(model: &ListedModel) -> Vec<u8> {
    serde_json::to_vec(&to_served_model(model)).unwrap_or_default()
}

fn to_served_model(model: &ListedModel) -> ServedModel {
    let name = model.name.as_deref().unwrap_or(&model.id);
    let methods = [GENERATE, "streamGenerateContent", "countTokens"];
    let version = model.more.get("version").and_then(Value::as_str);
    ServedModel {
        name: format!("{PREFIX}{}", model.id),
        display_name: name.to_owned(),
        version: version.unwrap_or("001").to_owned(),
        input_token_limit: model.context,
        output_token_limit: model.output,
        supported_generation_methods: methods.map(str::to_owned).to_vec(),
        more: listing::other_fields(model, KNOWN, is_of_the_vendor),
    }
}

/// Whether a field has the vendor's form: other vendors have fields of the same names.
fn is_of_the_vendor(field: &str, json: &Value) -> bool {
    match field {
        "baseModelId" | "description" => json.is_string(),
        "maxTemperature" | "temperature" | "topK" | "topP" => json.is_number(),
        "thinking" => json.is_boolean(),
        _ => true,
    }
}

/// The fields of a served model.
const KNOWN: &[&str] = &[
    "displayName",
    "inputTokenLimit",
    "name",
    "outputTokenLimit",
    "supportedGenerationMethods",
    "version",
];

const GENERATE: &str = "generateContent";
/// What the names of models begin with, in addresses and lists.
const PREFIX: &str = "models/";
/// What the names of models begin with in the list of Vertex AI.
const PUBLISHED: &str = "publishers/google/models/";
/// The default and the largest number of models on a page (Gemini API, `models.list`).
const PAGE: usize = 50;
const LIMIT: usize = 1000;
