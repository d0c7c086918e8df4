//! The list of models: read from the vendor, and served to clients.

use jackfield_dialect_kit::listing;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::time::WallTime;
use serde_json::Value;

use crate::wire::{Model, ModelList, ServedModel, ServedModelList};

/// Reads a page of the list, and the cursor of the next page, if there is one.
///
/// # Errors
///
/// If the page is not in the vendor's form.
pub fn from_wire(body: &[u8]) -> Result<(Vec<ListedModel>, Option<String>), serde_json::Error> {
    let ModelList {
        data,
        has_more,
        last_id,
    } = serde_json::from_slice(body)?;
    let last = last_id.or_else(|| data.last().map(|model| model.id.clone()));
    let models = data.into_iter().map(|model| {
        let Model {
            created_at,
            display_name,
            extra,
            id,
            max_input_tokens,
            max_tokens,
        } = model;
        let created = created_at.as_deref().and_then(WallTime::from_rfc3339);
        let created = created.map(|created| created.as_millis() / 1_000);
        ListedModel {
            context: max_input_tokens,
            created: created
                .and_then(|created| u64::try_from(created).ok())
                .filter(|created| *created > 0),
            id: id.into(),
            more: listing::extra_fields(&Value::Object(extra), &["type"]),
            name: display_name.map(Into::into),
            output: max_tokens,
            owner: None,
        }
    });
    Ok((models.collect(), last.filter(|_| has_more)))
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
    let limit = match query("limit").map(|text| text.parse()) {
        None => PAGE,
        Some(Ok(limit)) if (1..=LIMIT).contains(&limit) => limit,
        Some(_) => return Err(invalid("limit", "a number from 1 to 1000 is needed")),
    };
    let place = |name: &str| {
        let Some(id) = query(name) else {
            return Ok(None);
        };
        let found = models.iter().position(|model| *model.id == *id);
        found
            .map(Some)
            .ok_or_else(|| invalid(name, "no model of this name is served"))
    };
    let (after, before) = (place("after_id")?, place("before_id")?);
    let start = after.map_or(0, |after| after.saturating_add(1));
    let end = before.unwrap_or(models.len());
    let page_models = models.get(start..end).unwrap_or_default();
    let excess = page_models.len().saturating_sub(limit);
    // With a backward cursor, the page is the last one before it.
    let shown = if before.is_some() && after.is_none() {
        page_models.get(excess..)
    } else {
        page_models.get(..page_models.len() - excess)
    };
    let data: Vec<ServedModel> = shown
        .unwrap_or_default()
        .iter()
        .map(to_served_model)
        .collect();
    let list = ServedModelList {
        first_id: data.first().map(|model| model.id.clone()),
        has_more: excess > 0,
        last_id: data.last().map(|model| model.id.clone()),
        data,
    };
    Ok(serde_json::to_vec(&list).unwrap_or_default())
}

/// One model in the form for a client.
#[must_use]
pub fn model_body(model: &ListedModel) -> Vec<u8> {
    serde_json::to_vec(&to_served_model(model)).unwrap_or_default()
}

fn to_served_model(model: &ListedModel) -> ServedModel {
    let id = (*model.id).to_owned();
    let name = model.name.as_deref().map(str::to_owned);
    let lifecycle = model.more.get("lifecycle").and_then(Value::as_str);
    ServedModel {
        kind: "model".to_owned(),
        display_name: name.unwrap_or_else(|| id.clone()),
        id,
        created_at: created_at(model.created),
        lifecycle: lifecycle.unwrap_or("active").to_owned(),
        max_input_tokens: model.context,
        max_tokens: model.output,
        more: listing::other_fields(model, KNOWN, is_of_the_vendor),
    }
}

/// Whether a field has the vendor's form: other vendors have fields of the same names.
fn is_of_the_vendor(field: &str, json: &Value) -> bool {
    match field {
        "capabilities" => {
            let is_one = |one: &Value| one.is_object() || one.is_null();
            json.is_null() || json.as_object().is_some_and(|all| all.values().all(is_one))
        }
        "deprecated_at" | "line" | "retires_at" => json.is_string() || json.is_null(),
        _ => true,
    }
}

/// The date of a model; the vendor's value for an unknown date is the first day of 1970.
fn created_at(created: Option<u64>) -> String {
    let seconds = created.and_then(|created| i64::try_from(created).ok());
    let millis = seconds.and_then(|seconds| seconds.checked_mul(1_000));
    let written = WallTime::from_millis(millis.unwrap_or(0)).to_rfc3339();
    written.replace(".000Z", "Z")
}

/// The fields of a served model.
const KNOWN: &[&str] = &[
    "created_at",
    "display_name",
    "id",
    "lifecycle",
    "max_input_tokens",
    "max_tokens",
    "type",
];
/// The default and the largest number of models on a page.
const PAGE: usize = 20;
const LIMIT: usize = 1000;
