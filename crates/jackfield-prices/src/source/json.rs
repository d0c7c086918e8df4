//! JSON with the line and the order of each field, and fields that are there twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object, in order, each time that it is there.
pub(super) struct Fields<'a>(pub(super) Vec<(String, &'a RawValue)>);

/// The items of a list.
pub(super) struct Items<'a>(pub(super) Vec<&'a RawValue>);

/// The line of a value that was read from this text, from 1.
pub(super) fn line_of(text: &str, value: &RawValue) -> usize {
    let offset = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The fields of a value; `None` if it is not an object.
pub(super) fn fields<'a>(value: &'a RawValue) -> Option<Vec<(String, &'a RawValue)>> {
    serde_json::from_str::<Fields<'a>>(value.get())
        .ok()
        .map(|fields| fields.0)
}

/// The items of a value; `None` if it is not a list.
pub(super) fn items(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str::<Items<'_>>(value.get())
        .ok()
        .map(|items| items.0)
}

/// The text of a value; `None` if it is not a string.
pub(super) fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Object).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(List).map(Self)
    }
}
