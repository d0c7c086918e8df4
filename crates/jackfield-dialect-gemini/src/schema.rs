//! The part of JSON Schema that Gemini honours (`parametersJsonSchema` and `responseJsonSchema` in the types of
//! `google-genai` 3.6.1, 2026-11).
//!
//! Other keywords move into the description, where the model may follow them.

mod openapi;

pub(crate) use openapi::to_json_schema;

use jackfield_dialect_kit::schema::{Change, Changes, member, sound};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::schema::target;
use serde_json::{Map, Value, json};

/// The schema within the subset, and the changes.
pub(crate) fn restrict(schema: &Value) -> (Value, Vec<Change>) {
    let mut changes = Changes::default();
    let sound = sound(schema, &mut changes);
    let mut restrict = Restrict {
        changes: &mut changes,
        root: &sound,
    };
    let restricted = restrict.schema(&sound, "", 0);
    (restricted, changes.into_vec())
}

struct Restrict<'s, 'c> {
    changes: &'c mut Changes,
    root: &'s Value,
}

impl Restrict<'_, '_> {
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Value {
        let Some(fields) = schema.as_object() else {
            // `true`, or `false`, which has no counterpart.
            let effect = if *schema == json!(true) {
                NoteEffect::Cosmetic
            } else {
                NoteEffect::Quality
            };
            self.changes.push(effect, "schema_made_object", at);
            return json!({});
        };
        if depth > DEEPEST {
            self.changes
                .push(NoteEffect::Quality, "schema_too_deep", at);
            return json!({});
        }
        let mut rest = fields.clone();
        self.rename_definitions(&mut rest, at);
        self.merge_all_of(&mut rest, at, depth);
        self.literals(&mut rest, at);
        let mut out = Map::new();
        if let Some(reference) = rest.shift_remove("$ref")
            && let Some(whole) = self.reference(&reference, &mut rest, at)
        {
            return whole;
        }
        // Annotations of the whole document, which say nothing to a model.
        for key in ["$schema", "$comment"] {
            if rest.shift_remove(key).is_some() {
                self.changes
                    .push(NoteEffect::Cosmetic, "schema_keyword_dropped", at);
            }
        }
        let mut described = Map::new();
        for (key, value) in rest {
            let at = || member(at, &key);
            let kept = match key.as_str() {
                "items" | "additionalProperties" if value.is_boolean() => value,
                "items" | "additionalProperties" => self.schema(&value, &at(), depth + 1),
                "anyOf" | "oneOf" | "prefixItems" => {
                    let below = at();
                    let schemas = value.as_array().into_iter().flatten().enumerate();
                    let schemas = schemas
                        .map(|(n, one)| self.schema(one, &format!("{below}/{n}"), depth + 1));
                    schemas.collect()
                }
                "$defs" | "properties" => {
                    let below = at();
                    let schemas = value.as_object().into_iter().flatten();
                    let schemas = schemas.map(|(name, one)| {
                        let schema = self.schema(one, &member(&below, name), depth + 1);
                        (name.clone(), schema)
                    });
                    Value::Object(schemas.collect())
                }
                "format" if !value.as_str().is_some_and(|text| FORMATS.contains(&text)) => {
                    described.insert(key, value);
                    continue;
                }
                known if KEYWORDS.contains(&known) => value,
                _ => {
                    described.insert(key, value);
                    continue;
                }
            };
            out.insert(key, kept);
        }
        self.changes.describe(described, &mut out, at);
        self.free_cycles(&mut out, at);
        Value::Object(out)
    }

    /// Moves `definitions`, the keyword of older drafts, into `$defs`.
    fn rename_definitions(&mut self, rest: &mut Map<String, Value>, at: &str) {
        let Some(Value::Object(old)) = rest.shift_remove("definitions") else {
            return;
        };
        self.changes
            .push(NoteEffect::Cosmetic, "schema_definitions_renamed", at);
        let defs = rest.entry("$defs").or_insert_with(|| json!({}));
        if let Value::Object(defs) = defs {
            for (name, schema) in old {
                defs.entry(name).or_insert(schema);
            }
        }
    }

    /// A reference has no other keywords beside it: those go around it. One to another place than a definition is
    /// left out.
    fn reference(
        &mut self,
        reference: &Value,
        rest: &mut Map<String, Value>,
        at: &str,
    ) -> Option<Value> {
        let text = reference.as_str().unwrap_or_default();
        let renamed = text.strip_prefix("#/definitions/");
        let sent = renamed.map_or_else(|| text.to_owned(), |name| format!("#/$defs/{name}"));
        let is_plain = sent
            .strip_prefix("#/$defs/")
            .is_some_and(|name| !name.contains('/'));
        if !is_plain || target(self.root, text).is_none() {
            self.changes
                .push(NoteEffect::Quality, "schema_reference_cut", at);
            return None;
        }
        if renamed.is_some() {
            self.changes
                .push(NoteEffect::Cosmetic, "schema_definitions_renamed", at);
        }
        let reference = json!({ "$ref": sent });
        if rest.is_empty() {
            return Some(reference);
        }
        self.changes
            .push(NoteEffect::Cosmetic, "schema_beside_reference", at);
        if let Some(choice) = rest.shift_remove("anyOf") {
            // Both are demanded, for which the subset has no form.
            let choice = Map::from_iter([("anyOf".to_owned(), choice)]);
            self.changes.describe(choice, rest, at);
        }
        rest.insert("anyOf".to_owned(), json!([reference]));
        None
    }

    /// Merges `allOf`, of which the subset has no form: what one branch says and no other holds for the whole; the
    /// rest is described.
    fn merge_all_of(&mut self, rest: &mut Map<String, Value>, at: &str, depth: usize) {
        let Some(Value::Array(branches)) = rest.shift_remove("allOf") else {
            return;
        };
        self.changes
            .push(NoteEffect::Quality, "schema_all_of_merged", at);
        let mut left = Vec::new();
        for branch in branches {
            let mut branch = branch;
            for _ in 0..DEEPEST {
                let reference = branch.get("$ref").and_then(Value::as_str);
                let Some(found) = reference.and_then(|text| target(self.root, text)) else {
                    break;
                };
                branch = found.clone();
            }
            let Value::Object(fields) = branch else {
                continue;
            };
            let mut conflict = Map::new();
            for (key, value) in fields {
                match (key.as_str(), rest.get_mut(&key)) {
                    (_, None) => {
                        rest.insert(key, value);
                    }
                    (_, Some(known)) if *known == value => {}
                    ("$defs" | "properties", Some(Value::Object(known))) => {
                        for (name, schema) in value.as_object().into_iter().flatten() {
                            known.entry(name).or_insert_with(|| schema.clone());
                        }
                    }
                    ("required", Some(Value::Array(known))) => {
                        for name in value.as_array().into_iter().flatten() {
                            if !known.contains(name) {
                                known.push(name.clone());
                            }
                        }
                    }
                    (_, Some(_)) => {
                        conflict.insert(key, value);
                    }
                }
            }
            if !conflict.is_empty() {
                left.push(Value::Object(conflict));
            }
        }
        if !left.is_empty() && depth <= DEEPEST {
            let described = Map::from_iter([("allOf".to_owned(), Value::Array(left))]);
            self.changes.describe(described, rest, at);
        }
    }

    /// Makes a constant the only value of an enumeration, which holds texts and numbers alone; others are described.
    fn literals(&mut self, rest: &mut Map<String, Value>, at: &str) {
        if let Some(value) = rest.shift_remove("const") {
            if is_listable(&value) && !rest.contains_key("enum") {
                self.changes
                    .push(NoteEffect::Cosmetic, "schema_const_as_enum", at);
                rest.insert("enum".to_owned(), json!([value]));
            } else {
                let described = Map::from_iter([("const".to_owned(), value)]);
                self.changes.describe(described, rest, at);
            }
        }
        let values = rest.get("enum").and_then(Value::as_array);
        if values.is_some_and(|values| values.is_empty() || !values.iter().all(is_listable))
            && let Some(values) = rest.shift_remove("enum")
        {
            let described = Map::from_iter([("enum".to_owned(), values)]);
            self.changes.describe(described, rest, at);
        }
    }

    /// Properties that lead back to their own definition must not be required.
    fn free_cycles(&mut self, out: &mut Map<String, Value>, at: &str) {
        let Some(Value::Array(required)) = out.get("required") else {
            return;
        };
        let properties = out.get("properties");
        let is_cyclic = |name: &Value| {
            let schema = name.as_str().and_then(|name| properties?.get(name));
            schema.is_some_and(|schema| leads_to_cycle(schema, self.root, &mut Vec::new()))
        };
        let (cyclic, kept): (Vec<Value>, Vec<Value>) =
            required.iter().cloned().partition(is_cyclic);
        if cyclic.is_empty() {
            return;
        }
        self.changes
            .push(NoteEffect::Quality, "schema_cycle_not_required", at);
        if kept.is_empty() {
            out.shift_remove("required");
        } else {
            out.insert("required".to_owned(), Value::Array(kept));
        }
    }
}

/// Whether a schema refers to a definition that refers to itself. `open` are the definitions on the way.
fn leads_to_cycle(schema: &Value, root: &Value, open: &mut Vec<String>) -> bool {
    match schema {
        Value::Array(schemas) => schemas.iter().any(|one| leads_to_cycle(one, root, open)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(text)) => {
                    if open.contains(text) || open.len() > DEEPEST {
                        return true;
                    }
                    let old = text.replacen("#/$defs/", "#/definitions/", 1);
                    let Some(found) = target(root, text).or_else(|| target(root, &old)) else {
                        return false;
                    };
                    open.push(text.clone());
                    let leads = leads_to_cycle(found, root, open);
                    open.pop();
                    leads
                }
                ("enum" | "description" | "title", _) => false,
                (_, value) => leads_to_cycle(value, root, open),
            }),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_listable(value: &Value) -> bool {
    value.is_string() || value.is_number()
}

/// The deepest nesting of schemas, and of references.
const DEEPEST: usize = 32;
/// Keywords that are honoured and hold no schemas.
const KEYWORDS: [&str; 13] = [
    "$anchor",
    "$id",
    "description",
    "enum",
    "format",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "propertyOrdering",
    "required",
    "title",
    "type",
];
/// The formats of texts and numbers.
const FORMATS: [&str; 8] = [
    "date",
    "date-time",
    "double",
    "duration",
    "float",
    "int32",
    "int64",
    "time",
];
