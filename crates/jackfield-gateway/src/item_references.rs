//! Item references: a client may send the id of a stored item in place of the item.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve::response_of_item;
use serde_json::{Map, Value};

use crate::api_keys::Principal;
use crate::gateway::Gateway;
use crate::stored_response::StoredResponse;

/// The body with its item references resolved.
///
/// A reference to unknown reasoning is dropped: provider reasoning has the provider's own id, and the session has
/// it already when the conversation continues.
///
/// # Errors
///
/// [`ServeErrorKind::Invalid`] for an item that is not stored or belongs to another client.
pub async fn resolve_references(
    gateway: &Gateway,
    client: &Principal,
    body: Bytes,
) -> Result<Bytes, ServeError> {
    if !body.windows(REFERENCE.len()).any(|part| part == REFERENCE) {
        return Ok(body);
    }
    // The dialect refuses an invalid body later.
    let Ok(mut fields) = serde_json::from_slice::<Map<String, Value>>(&body) else {
        return Ok(body);
    };
    let mut user = ["safety_identifier", "user"].into_iter();
    let user = user.find_map(|key| fields.get(key)?.as_str());
    let principal = client.principal_for(user);
    let Some(Value::Array(items)) = fields.get_mut("input") else {
        return Ok(body);
    };
    let mut referenced = ReferencedItems::default();
    for id in items.iter().filter_map(reference_id) {
        referenced.load_response_of(gateway, &principal, id).await?;
    }
    let mut resolved = Vec::with_capacity(items.len());
    for (n, item) in std::mem::take(items).into_iter().enumerate() {
        let Some(id) = reference_id(&item) else {
            resolved.push(item);
            continue;
        };
        match referenced.items.get_mut(id) {
            // A call and its result are one stored item, and some clients reference it once for each.
            Some(found) => resolved.extend(found.take()),
            None if id.starts_with("rs_") => {}
            None => {
                let id: String = id.chars().take(100).collect();
                let message = format!("Item with id '{id}' not found.");
                let error = ServeError::new(ServeErrorKind::Invalid, message);
                return Err(error.at(format!("input.{n}.id")));
            }
        }
    }
    *items = resolved;
    Ok(Value::Object(fields).to_string().into())
}

const REFERENCE: &[u8] = b"item_reference";

/// The id in an item reference; `None` for other items.
fn reference_id(item: &Value) -> Option<&str> {
    let is_reference = item.get("type").and_then(Value::as_str) == Some("item_reference");
    item.get("id")?.as_str().filter(|_| is_reference)
}

/// The items of the responses that were loaded.
#[derive(Default)]
struct ReferencedItems {
    /// Each item until its first use.
    items: HashMap<String, Option<Value>>,
    responses: HashSet<String>,
}

impl ReferencedItems {
    /// Loads the response that contains an item.
    async fn load_response_of(
        &mut self,
        gateway: &Gateway,
        principal: &Arc<str>,
        item: &str,
    ) -> Result<(), ServeError> {
        let Some(id) = response_of_item(item) else {
            return Ok(());
        };
        if self.responses.len() >= LIMIT || !self.responses.insert(id.to_owned()) {
            return Ok(());
        }
        let stored = match StoredResponse::find(gateway, principal, id).await {
            Ok(kept) => kept,
            Err(error) if error.kind == ServeErrorKind::NoSuchReply => return Ok(()),
            Err(error) => return Err(error),
        };
        // Responses of another end user do not count.
        if stored.principal.as_ref() != Some(principal) {
            return Ok(());
        }
        let body = serde_json::from_slice::<Value>(&stored.body()).unwrap_or_default();
        let output = body.get("output").and_then(Value::as_array);
        for item in output.into_iter().flatten() {
            if let Some(id) = item.get("id").and_then(Value::as_str) {
                self.items.insert(id.to_owned(), Some(item.clone()));
            }
        }
        Ok(())
    }
}

/// The maximum number of responses that a request may reference.
const LIMIT: usize = 256;
