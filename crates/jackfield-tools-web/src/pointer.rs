//! Finds the target of a pointer in JSON text, in its original formatting, without parsing the rest into values.

use std::fmt;

use serde::de::{
    Deserialize as _, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

/// The part of a JSON text that a pointer (RFC 6901) names, if it exists. Of duplicate fields the last one counts.
///
/// # Errors
///
/// If the text is not JSON.
pub(crate) fn find<'a>(
    text: &'a str,
    pointer: &str,
) -> Result<Option<&'a RawValue>, serde_json::Error> {
    let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
    let parts: Vec<String> = pointer.split('/').skip(1).map(unescaped).collect();
    let mut json = serde_json::Deserializer::from_str(text);
    let found = PointerStep(&parts).deserialize(&mut json)?;
    json.end()?;
    Ok(found)
}

/// A JSON text without insignificant white space.
pub(crate) fn compact(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let kept = json.chars().filter(|letter| {
        let keep = quoted || !matches!(letter, ' ' | '\t' | '\n' | '\r');
        if *letter == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && *letter == '\\' && !escaped;
        keep
    });
    kept.collect()
}

/// The remaining tokens of the pointer.
struct PointerStep<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for PointerStep<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => <&RawValue>::deserialize(json).map(Some),
            [..] => json.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for PointerStep<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = fields.next_key::<String>()? {
            match self.0 {
                [part, rest @ ..] if *part == name => {
                    found = fields.next_value_seed(PointerStep(rest))?;
                }
                [..] => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let (part, rest) = match self.0 {
            [part, rest @ ..] => (part.as_str(), rest),
            [] => ("", self.0),
        };
        // An index without leading zeros.
        let index = part.parse::<usize>().ok();
        let index = index.filter(|wanted| wanted.to_string() == part);
        let mut found = None;
        for nth in 0_usize.. {
            if Some(nth) == index {
                match items.next_element_seed(PointerStep(rest))? {
                    Some(item) => found = item,
                    None => break,
                }
            } else if items.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
