//! Outlines of tools and settings.

use std::collections::BTreeMap;

use jackfield_domain::opaque::Extension;
use jackfield_domain::settings::{ResponseFormat, Settings};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use serde_json::Value;

use super::{Node, debug, list};

pub(super) fn of_tool(path: &str, tool: &ToolDefinition) -> Node {
    Node::Fields(vec![
        ("description", debug(&tool.description)),
        (
            "extensions",
            of_extensions(&format!("{path}.extensions"), &tool.extensions),
        ),
        (
            "input",
            match &tool.input {
                InputFormat::Json(schema) => debug(&("json", sorted(schema))),
                InputFormat::Text(grammar) => debug(&("text", grammar)),
            },
        ),
        ("name", debug(&tool.name)),
        ("output", debug(&tool.output)),
        ("strict", debug(&tool.strict)),
    ])
}

/// A schema with sorted keywords, whose order has no meaning.
fn sorted(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> = fields
                .iter()
                .map(|(key, schema)| (key, sorted(schema)))
                .collect();
            fields
                .into_iter()
                .map(|(key, schema)| (key.clone(), schema))
                .collect()
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// Extensions are named by dialect and field, as in notes.
fn of_extensions(path: &str, extensions: &[Extension]) -> Node {
    let named = extensions.iter().map(|extension| {
        let field = extension.path.strip_prefix('/').unwrap_or_default();
        let field = field
            .replace('/', ".")
            .replace("~1", "/")
            .replace("~0", "~");
        let dot = if field.is_empty() { "" } else { "." };
        let path = format!("{path}.{}{dot}{field}", extension.dialect);
        (path, debug(extension))
    });
    Node::List(named.collect())
}

pub(super) fn of_settings(settings: &Settings) -> Node {
    let Settings {
        effort,
        end_user,
        extensions,
        frequency_penalty,
        max_output_tokens,
        parallel_calls,
        presence_penalty,
        response_format,
        seed,
        service_tier,
        stop,
        temperature,
        thinking,
        thinking_shown,
        top_k,
        top_p,
        verbosity,
        // They change what a request costs, not what it says.
        cache: _,
        cache_ttl: _,
        headers: _,
    } = settings;
    Node::Fields(vec![
        ("effort", debug(effort)),
        ("end_user", debug(end_user)),
        (
            "extensions",
            of_extensions("settings.extensions", extensions),
        ),
        ("frequency_penalty", debug(frequency_penalty)),
        ("max_output_tokens", debug(max_output_tokens)),
        ("parallel_calls", debug(parallel_calls)),
        ("presence_penalty", debug(presence_penalty)),
        ("response_format", of_format(response_format)),
        ("seed", debug(seed)),
        ("service_tier", debug(service_tier)),
        (
            "stop",
            list("settings.stop", stop.iter(), |_, text| debug(text)),
        ),
        ("temperature", debug(temperature)),
        ("thinking", debug(thinking)),
        ("thinking_shown", debug(thinking_shown)),
        ("top_k", debug(top_k)),
        ("top_p", debug(top_p)),
        ("verbosity", debug(verbosity)),
    ])
}

fn of_format(format: &ResponseFormat) -> Node {
    match format {
        ResponseFormat::JsonObject => Node::Fields(vec![("what", debug(&"object"))]),
        ResponseFormat::JsonSchema {
            description,
            name,
            schema,
            strict,
        } => Node::Fields(vec![
            ("what", debug(&"schema")),
            ("description", debug(description)),
            ("name", debug(name)),
            ("schema", debug(&sorted(schema))),
            ("strict", debug(strict)),
        ]),
        ResponseFormat::Text => Node::Fields(vec![("what", debug(&"text"))]),
    }
}
