//! Maps a server's definition of a tool to a [`ToolSpec`].

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::tool::{InputFormat, Safety, ToolHints, ToolSpec};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// A tool's definition as the server sent it. Every field is optional, so that an error can name what is missing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Definition<'a> {
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    execution: Option<Value>,
    #[serde(borrow, default)]
    input_schema: Option<&'a RawValue>,
    #[serde(default, rename = "_meta")]
    meta: Option<Value>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    output_schema: Option<&'a RawValue>,
    #[serde(default)]
    title: Option<String>,
}

/// A tool and its definition.
#[derive(Clone, Debug)]
pub(crate) struct MappedTool {
    /// The parts of the definition that a model, a person or a policy may rely on, as the server sent them.
    pub(crate) definition: Arc<Value>,
    /// The digest of the definition's text.
    pub(crate) source: Digest,
    pub(crate) tool: ToolSpec,
}

/// Maps a tool's definition.
///
/// The server's annotations about the tool's effects count only if the server is trusted.
///
/// # Errors
///
/// Why the tool is left out, in a sentence that names it.
pub(crate) fn tool(text: &str, trusted: bool, longest: Duration) -> Result<MappedTool, String> {
    let definition: Definition<'_> =
        serde_json::from_str(text).map_err(|error| format!("a tool cannot be read: {error}"))?;
    let name = definition.name.unwrap_or_default();
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(format!(
            "a tool is left out: its name has {} bytes, and 1 to {MAX_NAME} are read",
            name.len()
        ));
    }
    let left_out =
        |what: &str, why: String| format!("skipped tool `{}`: its {what} {why}", shown(&name));
    let execution = definition.execution.as_ref();
    let task = execution.and_then(|execution| execution.get("taskSupport"));
    if task.and_then(Value::as_str) == Some("required") {
        // Tasks of 2025-11-25 were experimental; 2026-07-28 replaced them by others.
        let why = "it needs MCP tasks (2025-11-25), which are not supported";
        return Err(format!("skipped tool `{}`: {why}", shown(&name)));
    }
    let annotations = definition.annotations.map(|text| schema(text.get()));
    let annotations = annotations
        .transpose()
        .map_err(|why| left_out("field `annotations`", why))?;
    let mut said = Map::new();
    let input = match definition.input_schema {
        None => json!({ "type": "object" }),
        Some(text) => {
            let input = schema(text.get()).map_err(|why| left_out("input schema", why))?;
            said.insert("inputSchema".to_owned(), input.clone());
            input
        }
    };
    let input = object_schema(input).map_err(|why| left_out("input schema", why))?;
    let output = match definition.output_schema {
        None => None,
        Some(text) => {
            let output = schema(text.get()).map_err(|why| left_out("output schema", why))?;
            said.insert("outputSchema".to_owned(), output.clone());
            // `true` and `false` are schemas, too, but carry no information.
            output.is_object().then(|| Arc::new(output))
        }
    };
    let hint = |name: &str| {
        let annotations = annotations.as_ref();
        annotations.and_then(|all| all.get(name)).cloned()
    };
    let says = |name: &str| trusted && hint(name) == Some(Value::Bool(true));
    let safety = if says("readOnlyHint") {
        Safety::ReadOnly
    } else if says("idempotentHint") {
        Safety::Idempotent
    } else {
        Safety::Unknown
    };
    let annotated = hint("title").and_then(|title| title.as_str().map(str::to_owned));
    for (field, words) in [
        ("name", Some(&name)),
        ("title", definition.title.as_ref()),
        ("description", definition.description.as_ref()),
    ] {
        let words = words.map(|words| (field.to_owned(), words.as_str().into()));
        said.extend(words);
    }
    said.extend(annotations.map(|all| ("annotations".to_owned(), all)));
    let title = definition.title.or(annotated);
    let icon = definition.meta.as_ref().and_then(|meta| meta.get(ICON));
    let icon = icon.and_then(Value::as_str).filter(|icon| {
        let short = !icon.is_empty() && icon.len() <= MAX_ICON;
        short
            && !icon
                .chars()
                .any(|part| part.is_ascii() || part.is_control())
    });
    // Kept in the form in which it was sent, as remembered definitions are parsed like new ones.
    said.extend(icon.map(|icon| ("_meta".to_owned(), json!({ ICON: icon }))));
    // The icon is shown in place of our own icons, so only trusted servers may set it.
    let icon = icon.filter(|_| trusted);
    let tool = ToolSpec {
        description: definition.description.unwrap_or_default().into(),
        icon: icon.map(Into::into),
        input: InputFormat::Json(Arc::new(input)),
        name: name.into(),
        output,
        safety,
        time_limit: Some(longest),
        title: title.filter(|title| !title.is_empty()).map(Into::into),
    };
    Ok(MappedTool {
        definition: Arc::new(Value::Object(said)),
        source: Digest::of(text.as_bytes()),
        tool,
    })
}

/// The annotations as hints; of an untrusted server only those that call for more care.
pub(crate) fn hints(definition: &Value, trusted: bool) -> Option<ToolHints> {
    let annotations = definition.get("annotations")?.as_object()?;
    let hint = |name: &str, careful: bool| {
        let said = annotations.get(name).and_then(Value::as_bool);
        said.filter(|said| trusted || *said == careful)
    };
    let title = annotations.get("title").and_then(Value::as_str);
    Some(ToolHints {
        destructive: hint("destructiveHint", true),
        idempotent: hint("idempotentHint", false),
        open_world: hint("openWorldHint", true),
        read_only: hint("readOnlyHint", false),
        title: title.map(Into::into),
    })
}

/// A name, shortened for a message.
fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}

/// Parses a schema if it is within the limits on size.
fn schema(text: &str) -> Result<Value, String> {
    if text.len() > MAX_BYTES {
        return Err(format!(
            "has {} bytes, and at most {MAX_BYTES} are allowed",
            text.len()
        ));
    }
    if levels(text) > MAX_LEVELS {
        return Err(format!("is nested deeper than {MAX_LEVELS} levels"));
    }
    let schema: Value =
        serde_json::from_str(text).map_err(|error| format!("cannot be read: {error}"))?;
    let references = references(&schema);
    if references > MAX_REFERENCES {
        return Err(format!(
            "has {references} references, and at most {MAX_REFERENCES} are allowed"
        ));
    }
    Ok(schema)
}

/// An object schema, as arguments need; a schema without a type is taken for one.
fn object_schema(schema: Value) -> Result<Value, String> {
    let Value::Object(fields) = schema else {
        return Err("is not a JSON object".to_owned());
    };
    let is_object = |kind: &Value| {
        kind.as_str()
            .is_some_and(|kind| kind.eq_ignore_ascii_case("object"))
    };
    match fields.get("type") {
        Some(kind) if *kind == "object" => Ok(Value::Object(fields)),
        // `null` as an alternative, or a type name of another schema dialect: only objects are sent.
        Some(kind)
            if kind.is_null()
                || is_object(kind)
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.iter().any(is_object)) =>
        {
            let mut fields = fields;
            fields.insert("type".to_owned(), "object".into());
            Ok(Value::Object(fields))
        }
        None => {
            let mut with_type = Map::new();
            with_type.insert("type".to_owned(), "object".into());
            with_type.extend(fields);
            Ok(Value::Object(with_type))
        }
        Some(_) => Err("is of something else than an object".to_owned()),
    }
}

/// The nesting depth of JSON text, without parsing it.
fn levels(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The number of references in a schema, whose depth is already limited.
fn references(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(references).sum(),
        Value::Object(fields) => {
            let here = ["$ref", "$dynamicRef", "$recursiveRef"];
            let here = here.iter().filter(|key| fields.contains_key(**key)).count();
            here + fields.values().map(references).sum::<usize>()
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The key in `_meta` by which another Jackfield sends a tool's icon.
const ICON: &str = "jackfield/icon";
/// The most bytes of an icon: one character, possibly composed of several code points.
const MAX_ICON: usize = 32;
/// The longest name of a tool, in bytes.
const MAX_NAME: usize = 1024;
/// The largest schema, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// The most levels of nesting in a schema.
const MAX_LEVELS: usize = 64;
/// The most references in a schema.
const MAX_REFERENCES: usize = 256;
