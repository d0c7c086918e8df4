//! Places in JSON, so that a value can be read or replaced without writing the rest anew.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub(super) key: Cow<'a, str>,
    /// The place of its key with the quotes; `None` if the key has escapes.
    key_range: Option<Range<usize>>,
    pub(super) value: &'a str,
    pub(super) range: Range<usize>,
}

/// The members of an object, in order; `None` if the text is no JSON object.
pub(super) fn members(json: &str) -> Option<Vec<Member<'_>>> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let members = deserializer.deserialize_map(Members { json }).ok()?;
    deserializer.end().ok()?;
    Some(members)
}

/// The only member of this name, if it is there once.
pub(super) fn only<'m, 'a>(members: &'m [Member<'a>], key: &str) -> Option<&'m Member<'a>> {
    let mut found = members.iter().filter(|member| member.key == key);
    found.next().filter(|_| found.next().is_none())
}

/// The text of a JSON string.
pub(super) fn string(json: &str) -> Option<Cow<'_, str>> {
    if let Ok(plain) = serde_json::from_str::<&str>(json) {
        return Some(Cow::Borrowed(plain));
    }
    serde_json::from_str::<String>(json).ok().map(Cow::Owned)
}

/// Whether a member says `true`.
pub(super) fn is_true(members: &[Member<'_>], key: &str) -> bool {
    members
        .iter()
        .any(|member| member.key == key && member.value == "true")
}

/// Whether a member is there, and not `null`.
pub(super) fn is_set(members: &[Member<'_>], key: &str) -> bool {
    members
        .iter()
        .any(|member| member.key == key && member.value != "null")
}

/// The place of a member with the comma that separates it; `None` if its key has escapes.
pub(super) fn removal(json: &str, member: &Member<'_>) -> Option<Range<usize>> {
    let key = member.key_range.as_ref()?;
    let rest = json.get(member.range.end..)?;
    let behind = rest.trim_start();
    if behind.starts_with(',') {
        let comma = json.len() - behind.len();
        return Some(key.start..comma + 1);
    }
    let before = json.get(..key.start)?.trim_end();
    let start = before.strip_suffix(',').map_or(key.start, str::len);
    Some(start..member.range.end)
}

/// Replaces these places, which do not overlap.
pub(super) fn replace(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut edited = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (range, new) in edits {
        edited.push_str(text.get(at..range.start).unwrap_or_default());
        edited.push_str(&new);
        at = range.end;
    }
    edited.push_str(text.get(at..).unwrap_or_default());
    edited
}

struct Members<'a> {
    json: &'a str,
}

impl<'a> Members<'a> {
    /// The place of a part of the text.
    fn range(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr() as usize - self.json.as_ptr() as usize;
        start..start + part.len()
    }
}

impl<'a> Visitor<'a> for Members<'a> {
    type Value = Vec<Member<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let value: &'a RawValue = map.next_value()?;
            let key_range = match &key {
                Cow::Borrowed(key) => {
                    let inner = self.range(key);
                    Some(inner.start - 1..inner.end + 1)
                }
                Cow::Owned(_) => None,
            };
            members.push(Member {
                key,
                key_range,
                range: self.range(value.get()),
                value: value.get(),
            });
        }
        Ok(members)
    }
}

/// A key, borrowed unless it has escapes.
struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}
