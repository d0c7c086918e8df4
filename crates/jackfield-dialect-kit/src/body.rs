//! Parses JSON bodies into wire types, and locates errors.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::incoming::Invalid;

/// Parses a body.
///
/// # Errors
///
/// [`Invalid`] if it is not JSON of this form; its path names the field.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Invalid> {
    let fault = match serde_json::from_slice(body) {
        Ok(parsed) => return Ok(parsed),
        Err(fault) => fault,
    };
    // A second, slower parse that tracks the path: only needed for the error.
    let mut reader = serde_json::Deserializer::from_slice(body);
    let mut path = Vec::new();
    let mut message = fault.to_string();
    if let Err(traced) = serde_path_to_error::deserialize::<_, T>(&mut reader) {
        for segment in traced.path() {
            match segment {
                Segment::Enum { variant } => path.push(variant.clone()),
                Segment::Map { key } => path.push(key.clone()),
                Segment::Seq { index } => path.push(index.to_string()),
                Segment::Unknown => {}
            }
        }
        message = traced.inner().to_string();
    }
    path.extend(named_field(&message).map(str::to_owned));
    let path = if path.is_empty() {
        "body".to_owned()
    } else {
        shortened(&path.join("."), PATH)
    };
    let message = without_type_names(&message);
    Err(Invalid::new(path, shortened(&message, REASON)))
}

/// The message of a parser for a client, which knows objects and not our types.
#[must_use]
pub fn without_type_names(message: &str) -> String {
    let Some((before, after)) = message.rsplit_once("expected struct ") else {
        return message.to_owned();
    };
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let after = after.trim_start_matches(is_name);
    format!("{before}expected an object{after}")
}

/// The missing or duplicate field in an error message, which is not part of the parser's path.
fn named_field(message: &str) -> Option<&str> {
    let field = ["missing field `", "duplicate field `"]
        .iter()
        .find_map(|begin| message.strip_prefix(begin))?;
    Some(field.split_once('`')?.0)
}

/// Parses a body into its fields.
///
/// # Errors
///
/// [`Invalid`] if it is not an object, or has a duplicate field.
pub fn fields(body: &[u8]) -> Result<Map<String, Value>, Invalid> {
    parse(body).map(|Fields(fields)| fields)
}

/// The fields of an object, without duplicates.
struct Fields(Map<String, Value>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;

        impl<'de> Visitor<'de> for Once {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Map::new();
                while let Some(key) = map.next_key::<String>()? {
                    if fields.contains_key(&key) {
                        return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
                    }
                    fields.insert(key, map.next_value()?);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Once)
    }
}

/// Shortens an error message, which may quote the client's text.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const PATH: usize = 200;
const REASON: usize = 300;
