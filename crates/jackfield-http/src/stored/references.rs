//! References to items: clients that know that responses are kept send an item's id in place of the item.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::serve::response_of_item;
use serde_json::{Map, Value};

use super::response;
use crate::auth::Principal;
use crate::gateway::Gateway;

/// The body with the items themselves where it refers to them.
///
/// What refers to reasoning that is not found is left out: reasoning of a provider has the provider's own
/// id, and it is in the session anyway where the conversation goes on.
///
/// # Errors
///
/// [`ServeErrorKind::Invalid`] for an item that is not kept, or somebody else's.
pub(crate) async fn resolved(
    gateway: &Gateway,
    asker: &Principal,
    body: Bytes,
) -> Result<Bytes, ServeError> {
    if !body.windows(REFERENCE.len()).any(|part| part == REFERENCE) {
        return Ok(body);
    }
    // What is no body of this form is said by whoever reads it next.
    let Ok(mut fields) = serde_json::from_slice::<Map<String, Value>>(&body) else {
        return Ok(body);
    };
    let mut user = ["safety_identifier", "user"].into_iter();
    let user = user.find_map(|key| fields.get(key)?.as_str());
    let principal = asker.principal_for(user);
    let Some(Value::Array(items)) = fields.get_mut("input") else {
        return Ok(body);
    };
    let mut known = ReferencedItems::default();
    for id in items.iter().filter_map(referred) {
        known.learn(gateway, &principal, id).await?;
    }
    let mut told = Vec::with_capacity(items.len());
    for (n, item) in std::mem::take(items).into_iter().enumerate() {
        let Some(id) = referred(&item) else {
            told.push(item);
            continue;
        };
        match known.items.get_mut(id) {
            // A call and its outcome are one item, and some refer to it for each.
            Some(found) => told.extend(found.take()),
            None if id.starts_with("rs_") => {}
            None => {
                let id: String = id.chars().take(100).collect();
                let message = format!("Item with id '{id}' not found.");
                let error = ServeError::new(ServeErrorKind::Invalid, message);
                return Err(error.at(format!("input.{n}.id")));
            }
        }
    }
    *items = told;
    Ok(Value::Object(fields).to_string().into())
}

const REFERENCE: &[u8] = b"item_reference";

/// The id that an item refers to, if it is a reference.
fn referred(item: &Value) -> Option<&str> {
    let is_reference = item.get("type").and_then(Value::as_str) == Some("item_reference");
    item.get("id")?.as_str().filter(|_| is_reference)
}

/// The items of the responses that were looked up.
#[derive(Default)]
struct ReferencedItems {
    /// Each until it is told.
    items: HashMap<String, Option<Value>>,
    responses: HashSet<String>,
}

impl ReferencedItems {
    /// Looks up the response of an item.
    async fn learn(
        &mut self,
        gateway: &Gateway,
        principal: &Arc<str>,
        item: &str,
    ) -> Result<(), ServeError> {
        let Some(id) = response_of_item(item) else {
            return Ok(());
        };
        if self.responses.len() >= MOST || !self.responses.insert(id.to_owned()) {
            return Ok(());
        }
        let kept = match response::find(gateway, principal, id).await {
            Ok(kept) => kept,
            Err(error) if error.kind == ServeErrorKind::NoSuchReply => return Ok(()),
            Err(error) => return Err(error),
        };
        // Another end user's is none here.
        if kept.principal.as_ref() != Some(principal) {
            return Ok(());
        }
        let body = serde_json::from_slice::<Value>(&kept.body()).unwrap_or_default();
        let output = body.get("output").and_then(Value::as_array);
        for item in output.into_iter().flatten() {
            if let Some(id) = item.get("id").and_then(Value::as_str) {
                self.items.insert(id.to_owned(), Some(item.clone()));
            }
        }
        Ok(())
    }
}

/// How many responses a request may refer to items of.
const MOST: usize = 256;
