//! Namespaces of tools: flattened for the provider, and restored in the calls of a reply.
//!
//! A client may group its tools (`{"type": "namespace", "name", "tools"}`), in the body's `tools` or in an
//! `additional_tools` item of its input, and then expects `namespace` beside the `name` of a call. No other dialect
//! has such groups, so the tools of a namespace become plain tools with a name of their own.
//! Source: the types of the official SDK (`openai` 7.57 for Node), 2026-11-25.

use std::collections::HashSet;

use jackfield_dialect_kit::incoming::Invalid;
use jackfield_domain::naming::bare_tool_name;
use serde_json::{Map, Value, json};

/// The field of the echo that holds the table: flat name to `[namespace, name]`.
pub(super) const TABLE: &str = "namespaces";

/// The namespace of ungrouped tools, which keep their names.
const DEFAULT: &str = "functions";

/// Moves the tools of namespaces and of `additional_tools` items to the plain tools of a body, and renames the
/// calls in its input accordingly. Returns the table, which is empty if the body has no namespaces.
///
/// # Errors
///
/// [`Invalid`] for a group that is malformed, and for two tools with one name.
pub(super) fn flatten(body: &mut Map<String, Value>) -> Result<Map<String, Value>, Invalid> {
    let items = body.get_mut("input").and_then(Value::as_array_mut);
    let mut items: Vec<&mut Value> = items.into_iter().flatten().collect();
    for item in &mut items {
        rename_call(item);
    }
    let mut offers: Vec<(String, Vec<Value>)> = Vec::new();
    for (n, item) in items.into_iter().enumerate() {
        if kind(item) == "additional_tools" {
            let path = format!("input.{n}.tools");
            let Some(Value::Array(tools)) = item.get_mut("tools").map(Value::take) else {
                return Err(Invalid::new(path, "additional tools are a list"));
            };
            offers.push((path, tools));
        }
    }
    let tools = body.get("tools").and_then(Value::as_array);
    let has_groups = tools.into_iter().flatten().any(is_group);
    if offers.is_empty() && !has_groups {
        return Ok(Map::new());
    }
    let mut flat = FlattenedTools::default();
    if let Some(Value::Array(tools)) = body.remove("tools") {
        flat.add(tools, "tools")?;
    }
    for (path, tools) in offers {
        flat.add(tools, &path)?;
    }
    if let Some(Value::Array(items)) = body.get_mut("input") {
        items.retain(|item| kind(item) != "additional_tools");
    }
    body.insert("tools".to_owned(), Value::Array(flat.tools));
    Ok(flat.table)
}

/// The namespace and name of a called tool, by the table of [`flatten`].
pub(super) fn original<'a>(table: Option<&'a Value>, name: &'a str) -> (Option<&'a str>, &'a str) {
    let found = table.and_then(|table| table.get(name));
    let text = |n: usize| found.and_then(|pair| pair.get(n)).and_then(Value::as_str);
    match (text(0), text(1)) {
        (Some(namespace), Some(name)) => (Some(namespace), name),
        _ => (None, name),
    }
}

/// The plain name of a namespace's tool.
fn flat_name(namespace: &str, name: &str) -> String {
    if namespace == DEFAULT {
        return name.to_owned();
    }
    bare_tool_name(&format!("{namespace}__{name}")).to_string()
}

/// The plain tools of a body.
#[derive(Debug, Default)]
struct FlattenedTools {
    names: HashSet<String>,
    table: Map<String, Value>,
    tools: Vec<Value>,
}

impl FlattenedTools {
    fn add(&mut self, tools: Vec<Value>, path: &str) -> Result<(), Invalid> {
        for (n, mut tool) in tools.into_iter().enumerate() {
            let path = format!("{path}.{n}");
            if !is_group(&tool) {
                self.push(tool, path)?;
                continue;
            }
            let namespace = text(&tool, "name").unwrap_or_default().to_owned();
            if namespace.is_empty() {
                return Err(Invalid::new(path + ".name", "a namespace has a name"));
            }
            let Some(Value::Array(members)) = tool.get_mut("tools").map(Value::take) else {
                return Err(Invalid::new(
                    path + ".tools",
                    "a namespace has a list of tools",
                ));
            };
            let about = text(&tool, "description").unwrap_or_default().trim();
            for (k, mut member) in members.into_iter().enumerate() {
                let path = format!("{path}.tools.{k}");
                let name = text(&member, "name").unwrap_or_default().to_owned();
                let flat = flat_name(&namespace, &name);
                if let Some(fields) = member.as_object_mut() {
                    fields.insert("name".to_owned(), flat.as_str().into());
                    describe(fields, about);
                }
                self.table.insert(flat, json!([namespace, name]));
                self.push(member, path)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, tool: Value, path: String) -> Result<(), Invalid> {
        if let Some(name) = text(&tool, "name")
            && !self.names.insert(name.to_owned())
        {
            let reason = format!("two tools have the name `{name}`");
            return Err(Invalid::new(path + ".name", reason));
        }
        self.tools.push(tool);
        Ok(())
    }
}

/// Prefixes the description of a tool with that of its namespace.
fn describe(tool: &mut Map<String, Value>, about: &str) {
    if about.is_empty() {
        return;
    }
    let own = tool.get("description").and_then(Value::as_str);
    let own = own.unwrap_or_default();
    let description = format!("{about}\n\n{own}");
    tool.insert("description".to_owned(), description.trim_end().into());
}

/// Renames a call of an earlier reply to its tool's plain name.
fn rename_call(item: &mut Value) {
    let is_call = matches!(kind(item), "custom_tool_call" | "function_call");
    let Some(fields) = item.as_object_mut().filter(|_| is_call) else {
        return;
    };
    let Some(Value::String(namespace)) = fields.remove("namespace") else {
        return;
    };
    if let Some(Value::String(name)) = fields.get_mut("name") {
        *name = flat_name(&namespace, name);
    }
}

fn is_group(tool: &Value) -> bool {
    kind(tool) == "namespace"
}

fn kind(json: &Value) -> &str {
    text(json, "type").unwrap_or_default()
}

fn text<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Value::as_str)
}
