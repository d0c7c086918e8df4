//! Bodies: JSON read into a wire form, and where it is broken.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::incoming::Invalid;

/// Reads a body.
///
/// # Errors
///
/// [`Invalid`] if it is not JSON of this form; its path names the field.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Invalid> {
    let fault = match serde_json::from_slice(body) {
        Ok(parsed) => return Ok(parsed),
        Err(fault) => fault,
    };
    // Read once more, and slowly: only what fails has to say where.
    let mut reader = serde_json::Deserializer::from_slice(body);
    let mut path = Vec::new();
    let mut told = fault.to_string();
    if let Err(traced) = serde_path_to_error::deserialize::<_, T>(&mut reader) {
        for segment in traced.path() {
            match segment {
                Segment::Enum { variant } => path.push(variant.clone()),
                Segment::Map { key } => path.push(key.clone()),
                Segment::Seq { index } => path.push(index.to_string()),
                Segment::Unknown => {}
            }
        }
        told = traced.inner().to_string();
    }
    path.extend(at_fault(&told).map(str::to_owned));
    let path = if path.is_empty() {
        "body".to_owned()
    } else {
        shortened(&path.join("."), PATH)
    };
    Err(Invalid::new(path, shortened(&told, REASON)))
}

/// The field that a fault says is not there, or there twice: it is no part of the path.
fn at_fault(told: &str) -> Option<&str> {
    let field = ["missing field `", "duplicate field `"]
        .iter()
        .find_map(|begin| told.strip_prefix(begin))?;
    Some(field.split_once('`')?.0)
}

/// Reads a body whose fields are looked at one by one.
///
/// # Errors
///
/// [`Invalid`] if it is no object, or says a field twice.
pub fn fields(body: &[u8]) -> Result<Map<String, Value>, Invalid> {
    parse(body).map(|Fields(fields)| fields)
}

/// The fields of an object, each of them once.
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

/// A client's own words stand in some faults, however many there are.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const PATH: usize = 200;
const REASON: usize = 300;
