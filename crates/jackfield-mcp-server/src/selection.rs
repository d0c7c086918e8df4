//! Tools under other names, with other descriptions and fixed arguments.

use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::tool::{CatalogEntry, InputFormat, ToolDefinition, ToolOrigin};
use serde_json::{Map, Value};

/// A tool as it is offered in a selection.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedTool {
    /// Arguments that every call has; clients neither see nor change them.
    pub arguments: Map<String, Value>,
    /// Its description; `None` keeps the tool's own.
    pub description: Option<Arc<str>>,
    pub name: ToolName,
    pub origin: ToolOrigin,
}

impl SelectedTool {
    /// The tool as clients see it.
    pub(crate) fn shown(&self, tool: &CatalogEntry) -> CatalogEntry {
        let own = &tool.definition;
        let description = self.description.as_ref().unwrap_or(&own.description);
        let input = match &own.input {
            InputFormat::Json(schema) if !self.arguments.is_empty() => {
                InputFormat::Json(Arc::new(self.without_fixed(schema)))
            }
            InputFormat::Json(_) | InputFormat::Text(_) => own.input.clone(),
        };
        CatalogEntry {
            definition: Arc::new(ToolDefinition {
                description: Arc::clone(description),
                input,
                name: self.name.clone(),
                ..ToolDefinition::clone(own)
            }),
            ..tool.clone()
        }
    }

    /// The arguments of a call, with the fixed ones.
    pub(crate) fn complete(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        for (name, value) in &self.arguments {
            arguments.insert(name.clone(), value.clone());
        }
        arguments
    }

    /// A schema without the fixed arguments.
    fn without_fixed(&self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !self.arguments.contains_key(name));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            let is_fixed = |name: &Value| {
                let name = name.as_str();
                name.is_some_and(|name| self.arguments.contains_key(name))
            };
            required.retain(|name| !is_fixed(name));
        }
        schema
    }
}
