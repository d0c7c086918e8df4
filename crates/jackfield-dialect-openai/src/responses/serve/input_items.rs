//! The input items of a response, as a list in pages.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::message::Message;
use serde_json::{Map, Value, json};

use crate::responses::request::items;
use crate::responses::wire::{Content, Item, Role};

/// The parameters of a page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InputItemsQuery {
    /// The id of the item before the page.
    pub after: Option<String>,
    /// Whether the order is ascending.
    pub ascending: bool,
    /// The most items of the page, 1 to 100.
    pub limit: usize,
}

impl InputItemsQuery {
    /// Reads the query parameters; `field` returns the value of a parameter by its name.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::Invalid`], naming the parameter.
    pub fn read(field: impl Fn(&str) -> Option<String>) -> Result<Self, ServeError> {
        let invalid = |key: &str, reason: &str| {
            let error = ServeError::new(ServeErrorKind::Invalid, format!("{key}: {reason}"));
            Err(error.at(key))
        };
        let ascending = match field("order").as_deref() {
            None | Some("desc") => false,
            Some("asc") => true,
            Some(_) => return invalid("order", "it is `asc` or `desc`"),
        };
        let limit = match field("limit").map(|text| text.parse()) {
            None => 20,
            Some(Ok(limit @ 1..=100)) => limit,
            Some(_) => return invalid("limit", "it is a number from 1 to 100"),
        };
        Ok(Self {
            after: field("after"),
            ascending,
            limit,
        })
    }
}

/// The body of a page of a response's input items, which are made from its messages.
///
/// # Errors
///
/// [`ServeErrorKind::Invalid`] if the item before the page does not exist.
pub fn input_items(
    id: &str,
    messages: &[Message],
    query: &InputItemsQuery,
) -> Result<Vec<u8>, ServeError> {
    let listed = items(messages).into_iter().enumerate();
    let mut listed: Vec<Map<String, Value>> = listed
        .filter_map(|(n, item)| listed_item(item, &format!("{id}_in_{n}")))
        .collect();
    if !query.ascending {
        listed.reverse();
    }
    let id_of =
        |item: &Map<String, Value>| item.get("id").and_then(Value::as_str).map(str::to_owned);
    if let Some(after) = &query.after {
        let is_it = |item: &Map<String, Value>| id_of(item).as_ref() == Some(after);
        let Some(place) = listed.iter().position(is_it) else {
            let reason = "after: this response has no such item";
            return Err(ServeError::new(ServeErrorKind::Invalid, reason).at("after"));
        };
        listed.drain(..=place);
    }
    let has_more = listed.len() > query.limit;
    listed.truncate(query.limit);
    let body = json!({
        "object": "list",
        "first_id": listed.first().and_then(id_of).unwrap_or_default(),
        "last_id": listed.last().and_then(id_of).unwrap_or_default(),
        "has_more": has_more,
        "data": listed,
    });
    Ok(body.to_string().into_bytes())
}

/// An item in its full form: with id and type, and text in parts.
fn listed_item(item: Item, id: &str) -> Option<Map<String, Value>> {
    let (prefix, item) = match item {
        Item::Easy(mut message) | Item::Message(mut message) => {
            let said = match message.role {
                Role::Assistant => "output_text",
                Role::Developer | Role::System | Role::User => "input_text",
            };
            if let Content::Text(text) = &message.content {
                let mut part = json!({ "type": said, "text": text });
                if message.role == Role::Assistant
                    && let Some(part) = part.as_object_mut()
                {
                    part.insert("annotations".to_owned(), json!([]));
                }
                message.content = serde_json::from_value(json!([part])).ok()?;
            }
            ("msg", Item::Message(message))
        }
        Item::CustomToolCall(_) => ("ctc", item),
        Item::CustomToolCallOutput(_) => ("ctco", item),
        Item::FunctionCall(_) => ("fc", item),
        Item::FunctionCallOutput(_) => ("fco", item),
        Item::Other(_) | Item::Reasoning(_) => ("item", item),
    };
    let json = serde_json::to_value(item).ok()?;
    let mut fields = match json {
        Value::Object(fields) => fields,
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
            return None;
        }
    };
    fields
        .entry("id")
        .or_insert_with(|| format!("{prefix}_{id}").into());
    fields.entry("status").or_insert_with(|| "completed".into());
    Some(fields)
}
