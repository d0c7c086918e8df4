//! The JSON Schemas of `jackfield.toml` and `mcp-servers.json`, for editors.
//!
//! That of `jackfield.toml` comes from its readers, which say each key's form and description (ADR 0041). A test
//! compares the other table with the fields that its reader knows, in both directions.

mod providers;
mod servers;

use serde_json::{Value, json};

use crate::file::{self, KEYWORDS};
use crate::registry::Registry;

impl Registry {
    /// The JSON Schema of `jackfield.toml`, with the registered kinds of providers.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut root = table("What Jackfield does, and with whom");
        for keyword in KEYWORDS {
            let key = format!("web.tools.NAME.parameters.NAME.{keyword}");
            put(&mut root, &key, json!({}));
        }
        let mut provider = table("A provider");
        for known in file::known() {
            let Some(form) = known.form else { continue };
            let schema = form.schema(known.about);
            match known.key.strip_prefix("providers.NAME.") {
                Some(key) => put(&mut provider, key, schema),
                None => put(&mut root, &known.key, schema),
            }
        }
        for (key, form, about) in providers::options() {
            put(&mut provider, key, form.schema(about));
        }
        let options = self.providers.values();
        for option in options.flat_map(|factory| factory.options()) {
            // Options of third-party kinds have no description here.
            if provider["properties"].get(*option).is_none() {
                put(&mut provider, option, json!({}));
            }
        }
        let options = self.journals.values();
        for option in options.flat_map(|factory| factory.options()) {
            put(&mut root, &format!("journal.{option}"), json!({}));
        }
        if let Some(kinds) =
            root["properties"]["journal"]["properties"]["kind"]["enum"].as_array_mut()
        {
            kinds.extend(self.journals.keys().map(|kind| json!(kind)));
        }
        let kinds = self.providers.keys().map(|kind| json!(kind));
        provider["properties"]["kind"]["enum"] = kinds.collect();
        let providers = json!({
            "type": "object",
            "description": "The providers, by names of your own",
            "additionalProperties": provider,
        });
        put(&mut root, "providers", providers);
        headed(root, "jackfield.toml")
    }
}

/// The JSON Schema of `mcp-servers.json`.
#[must_use]
pub fn servers_schema() -> Value {
    headed(servers::schema(), "mcp-servers.json")
}

fn headed(root: Value, title: &str) -> Value {
    let mut headed = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
    });
    if let (Value::Object(headed), Value::Object(root)) = (&mut headed, root) {
        headed.extend(root);
    }
    headed
}

/// A table schema that allows only the keys added to it.
fn table(about: &str) -> Value {
    let mut table = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    if let (Value::Object(fields), false) = (&mut table, about.is_empty()) {
        fields.insert("description".to_owned(), about.into());
    }
    table
}

/// Adds a schema at a key.
fn put(at: &mut Value, key: &str, schema: Value) {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    let Some(fields) = at.as_object_mut() else {
        return;
    };
    let place = if first == "NAME" {
        let names = fields.entry("additionalProperties");
        let names = names.or_insert(Value::Bool(false));
        if !names.is_object() {
            *names = table("");
        }
        names
    } else {
        let known = fields.entry("properties").or_insert_with(|| json!({}));
        let Some(known) = known.as_object_mut() else {
            return;
        };
        known.entry(first).or_insert_with(|| table(""))
    };
    match rest {
        Some(rest) => put(place, rest, schema),
        None => *place = schema,
    }
}
