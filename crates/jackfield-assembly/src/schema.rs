//! The JSON Schemas of `jackfield.toml` and `mcp-servers.json`, for editors.
//!
//! The readers are written by hand for better messages. A test compares these tables with the keys that the
//! readers know, in both directions.

mod forms;
mod providers;
mod servers;
mod settings;
mod web;

use serde_json::{Value, json};

use self::forms::ValueForm;
use self::providers::PROVIDER;
use self::settings::SETTINGS;
use self::web::WEB;
use crate::file::KEYWORDS;
use crate::registry::Registry;

/// A key with its value form and description.
pub(crate) struct SchemaKey {
    /// Its description, in one line.
    about: &'static str,
    form: ValueForm,
    /// The key with dots; `NAME` stands for a free name.
    key: &'static str,
}

impl Registry {
    /// The JSON Schema of `jackfield.toml`, with the registered kinds of providers.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut root = table("What Jackfield does, and with whom");
        for keyword in KEYWORDS {
            let key = format!("web.tools.NAME.parameters.NAME.{keyword}");
            put(&mut root, &key, json!({}));
        }
        for entry in SETTINGS.iter().chain(WEB) {
            put(&mut root, entry.key, entry.form.schema(entry.about));
        }
        let kinds: Vec<&str> = self.providers.keys().map(|kind| &**kind).collect();
        let mut provider = table("A provider");
        for entry in PROVIDER {
            put(&mut provider, entry.key, entry.form.schema(entry.about));
        }
        let options = self.providers.values();
        for option in options.flat_map(|factory| factory.options()) {
            // Options of third-party kinds have no description here.
            if provider["properties"].get(*option).is_none() {
                put(&mut provider, option, json!({}));
            }
        }
        let kind = json!({
            "type": "string",
            "enum": kinds,
            "description": "Its kind; default: the provider's own name",
        });
        put(&mut provider, "kind", kind);
        let providers = json!({
            "type": "object",
            "description": "The providers, by names of your own",
            "additionalProperties": provider,
        });
        put(&mut root, "providers", providers);
        headed(root, "jackfield.toml")
    }
}

const fn entry(key: &'static str, form: ValueForm, about: &'static str) -> SchemaKey {
    SchemaKey { about, form, key }
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
