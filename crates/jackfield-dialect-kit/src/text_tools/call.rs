//! Calls in the text of a reply, and the tools that may be called there.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, ToolChoice};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::outgoing::tools::{TEXT_FIELD, chosen, vendor_form};

/// A call that a model wrote into its text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TextCall {
    /// The arguments: a JSON object, as the model wrote it where its form is JSON.
    pub(super) arguments: String,
    /// The tool; it was offered.
    pub(super) name: String,
}

/// The tools that a reply may call.
#[derive(Clone, Debug, Default)]
pub(super) struct OfferedTools {
    /// The input of each tool; `None` for text.
    tools: BTreeMap<String, Option<Value>>,
}

impl OfferedTools {
    /// The tools that this request offers.
    pub(super) fn of(request: &ModelRequest) -> Self {
        if request.choice == ToolChoice::Forbidden {
            return Self::default();
        }
        let permitted = chosen(request);
        let may = |name: &str| permitted.as_ref().is_none_or(|names| names.contains(&name));
        let offered = request.tools.iter().filter(|definition| {
            may(definition.name.as_str()) && vendor_form(definition).is_none()
        });
        let tools = offered.map(|definition| {
            let schema = match &definition.input {
                InputFormat::Json(schema) => Some(Value::clone(schema)),
                InputFormat::Text(_) => None,
            };
            (definition.name.as_str().to_owned(), schema)
        });
        Self {
            tools: tools.collect(),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether a tool of this name is offered.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Whether the name of an offered tool begins like this.
    pub(super) fn has_prefix(&self, start: &str) -> bool {
        let mut names = self.tools.keys();
        names.any(|name| name.starts_with(start))
    }

    /// Whether a tool takes text in place of JSON.
    pub(super) fn takes_text(&self, name: &str) -> bool {
        matches!(self.tools.get(name), Some(None))
    }

    /// The types that the schema of a tool permits for an argument; empty if it does not say.
    pub(super) fn types_of(&self, name: &str, argument: &str) -> BTreeSet<&str> {
        let schema = self.tools.get(name).and_then(Option::as_ref);
        let property = schema.and_then(|schema| schema.get("properties")?.get(argument));
        property.map(types).unwrap_or_default()
    }
}

/// The types that a schema permits, as far as it says so itself or in its alternatives.
fn types(schema: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    match schema.get("type") {
        Some(Value::String(name)) => _ = found.insert(name.as_str()),
        Some(Value::Array(names)) => found.extend(names.iter().filter_map(Value::as_str)),
        Some(_) | None => {}
    }
    for key in ["anyOf", "oneOf"] {
        let alternatives = schema.get(key).and_then(Value::as_array);
        let names = alternatives.into_iter().flatten();
        found.extend(names.filter_map(|schema| schema.get("type")?.as_str()));
    }
    found
}

/// The JSON object at the beginning of a text, and the text after it.
pub(super) fn leading_object(text: &str) -> Option<(&RawValue, &str)> {
    let (value, rest) = leading_value(text)?;
    value.get().starts_with('{').then_some((value, rest))
}

/// The JSON array at the beginning of a text, and the text after it.
pub(super) fn leading_array(text: &str) -> Option<(Vec<&RawValue>, &str)> {
    if !text.starts_with('[') {
        return None;
    }
    let (value, rest) = leading_value(text)?;
    Some((serde_json::from_str(value.get()).ok()?, rest))
}

fn leading_value(text: &str) -> Option<(&RawValue, &str)> {
    // Numbers and names could go on; nothing here begins with one.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

/// The call that a JSON object describes: a name, and arguments under one of the names that models use. It has to have
/// arguments unless they are `optional`.
pub(super) fn call_of(json: &RawValue, offered: &OfferedTools, optional: bool) -> Option<TextCall> {
    let mut fields = fields(json)?;
    // `{"type": "function", "function": {...}}`, as tools and calls of OpenAI's API have it.
    if let Some(inner) = fields.get("function").filter(|inner| is_object(inner)) {
        fields = self::fields(inner)?;
    }
    let names = ["name", "tool_name", "function", "tool"];
    let name = names.iter().find_map(|name| fields.get(*name))?;
    let name: String = serde_json::from_str(name.get()).ok()?;
    if !offered.has(&name) {
        return None;
    }
    let given = ["arguments", "parameters", "args"];
    let given = given.iter().find_map(|name| fields.get(*name));
    let arguments = match given {
        Some(arguments) => object_text(arguments)?,
        None if optional => "{}".to_owned(),
        None => return None,
    };
    Some(TextCall { arguments, name })
}

/// The fields of an object; the last one of a name counts.
pub(super) fn fields(json: &RawValue) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_str(json.get()).ok()
}

/// Arguments as the text of an object: an object, one written as a string, or null.
fn object_text(json: &RawValue) -> Option<String> {
    let text = json.get();
    match text.as_bytes().first()? {
        b'{' => Some(text.to_owned()),
        b'"' => {
            let inner: String = serde_json::from_str(text).ok()?;
            let (object, rest) = leading_object(inner.trim())?;
            rest.is_empty().then(|| object.get().to_owned())
        }
        b'n' => Some("{}".to_owned()),
        _ => None,
    }
}

fn is_object(json: &RawValue) -> bool {
    json.get().starts_with('{')
}

/// The text in the arguments of a text tool.
pub(super) fn text_argument(arguments: &str) -> String {
    let fields: Option<BTreeMap<Cow<'_, str>, Value>> = serde_json::from_str(arguments).ok();
    let text = fields.and_then(|mut fields| fields.remove(TEXT_FIELD));
    match text {
        Some(Value::String(text)) => text,
        Some(_) | None => arguments.to_owned(),
    }
}
