//! The keywords of a schema: the values that each one takes, and repairs of wrong values.

use serde_json::{Map, Number, Value, json};

use super::SchemaRepair;

/// The type that a word means in programming languages and other schema languages.
pub(super) fn type_of(word: &str) -> Option<&'static str> {
    let lower = word.trim().to_ascii_lowercase();
    Some(match lower.as_str() {
        "array" | "list" => "array",
        "bool" | "boolean" => "boolean",
        "int" | "int32" | "int64" | "integer" | "long" => "integer",
        "nil" | "none" | "null" => "null",
        "decimal" | "double" | "float" | "number" => "number",
        "dict" | "map" | "object" => "object",
        "str" | "string" | "text" => "string",
        _ => return None,
    })
}

impl SchemaRepair<'_> {
    /// Repairs the keywords of a schema and its subschemas.
    pub(super) fn repair_keywords(&mut self, fields: &mut Map<String, Value>) {
        self.remove_nulls(fields);
        self.convert_exclusive_bounds(fields);
        self.convert_tuple_items(fields);
        self.convert_required_flags(fields);
        let keys: Vec<String> = fields.keys().cloned().collect();
        for key in keys {
            self.repair_keyword(fields, &key);
        }
    }

    /// Removes keywords whose value is `null`, which counts as absent.
    fn remove_nulls(&mut self, fields: &mut Map<String, Value>) {
        let before = fields.len();
        fields.retain(|key, value| {
            !value.is_null()
                || form_of(key).is_none()
                || matches!(key.as_str(), "const" | "default")
        });
        self.changed |= fields.len() != before;
    }

    /// Converts the exclusive bounds of draft 4, which are flags beside a bound.
    fn convert_exclusive_bounds(&mut self, fields: &mut Map<String, Value>) {
        for (flag, bound) in [
            ("exclusiveMaximum", "maximum"),
            ("exclusiveMinimum", "minimum"),
        ] {
            let Some(Value::Bool(is_exclusive)) = fields.get(flag) else {
                continue;
            };
            self.changed = true;
            let number = fields.get(bound).and_then(number);
            if *is_exclusive && let Some(number) = number {
                fields.shift_remove(bound);
                fields.insert(flag.to_owned(), Value::Number(number));
            } else {
                fields.shift_remove(flag);
            }
        }
    }

    /// Converts the tuple form of `items`, as it was before 2020-12.
    fn convert_tuple_items(&mut self, fields: &mut Map<String, Value>) {
        let Some(Value::Array(items)) = fields.get("items") else {
            return;
        };
        self.changed = true;
        if items.is_empty() {
            fields.shift_remove("items");
        } else if let Some(items) = fields.shift_remove("items") {
            let first = fields.entry("prefixItems").or_insert(items);
            self.changed |= first.is_array();
        }
        if let Some(rest) = fields.shift_remove("additionalItems") {
            fields.insert("items".to_owned(), rest);
        }
    }

    /// Converts `required: true` inside a property.
    fn convert_required_flags(&mut self, fields: &mut Map<String, Value>) {
        let Some(Value::Object(properties)) = fields.get("properties") else {
            return;
        };
        let flagged = properties
            .iter()
            .filter(|(_, schema)| schema.get("required") == Some(&json!(true)));
        let flagged: Vec<Value> = flagged.map(|(name, _)| json!(name)).collect();
        if flagged.is_empty() {
            return;
        }
        let required = fields.entry("required").or_insert_with(|| json!([]));
        if !required.is_array() {
            *required = json!([]);
        }
        required
            .as_array_mut()
            .into_iter()
            .for_each(|names| names.extend(flagged.clone()));
    }

    fn repair_keyword(&mut self, fields: &mut Map<String, Value>, key: &str) {
        let Some(form) = form_of(key) else { return };
        let Some(value) = fields.get_mut(key) else {
            return;
        };
        let repair = match form {
            KeywordForm::Any => KeywordRepair::Keep,
            KeywordForm::Count => count(value),
            KeywordForm::Flag => flag(value),
            KeywordForm::List if value.is_array() => KeywordRepair::Keep,
            KeywordForm::List => KeywordRepair::Remove,
            KeywordForm::Name => name(key, value),
            KeywordForm::Names => names(value),
            KeywordForm::NamesByName => self.names_by_name(value),
            KeywordForm::Number => bound(key, value),
            KeywordForm::Pattern => self.pattern(value),
            KeywordForm::Schema => self.one_schema(value),
            KeywordForm::Schemas => self.schemas(key, value),
            KeywordForm::SchemasByName => self.schemas_by_name(key, value),
            KeywordForm::Text => text(value),
            KeywordForm::Types => types(value),
            KeywordForm::Values => values(value),
        };
        match repair {
            KeywordRepair::Keep => {}
            KeywordRepair::Replace(replacement) => {
                self.changed = true;
                *value = replacement;
            }
            KeywordRepair::Remove => self.remove_keyword(fields, key),
            KeywordRepair::MoveToDescription => self.move_to_description(fields, key),
        }
    }

    fn one_schema(&mut self, value: &mut Value) -> KeywordRepair {
        match value {
            Value::String(word) if matches!(word.as_str(), "false" | "true") => {
                KeywordRepair::Replace(json!(word == "true"))
            }
            Value::String(word) if type_of(word).is_none() => KeywordRepair::MoveToDescription,
            Value::Number(_) => KeywordRepair::MoveToDescription,
            Value::Array(items) if !items.is_empty() => KeywordRepair::MoveToDescription,
            Value::Array(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Object(_)
            | Value::String(_) => {
                self.repair_schema(value);
                KeywordRepair::Keep
            }
        }
    }

    fn schemas(&mut self, key: &str, value: &mut Value) -> KeywordRepair {
        match value {
            Value::Array(items) => {
                let before = items.len();
                items.retain(|item| !item.is_null());
                self.changed |= items.len() != before;
                if items.is_empty() {
                    // An empty choice would reject every value.
                    let is_choice = matches!(key, "anyOf" | "oneOf");
                    return if is_choice {
                        KeywordRepair::MoveToDescription
                    } else {
                        KeywordRepair::Remove
                    };
                }
                items.iter_mut().for_each(|item| self.repair_schema(item));
                KeywordRepair::Keep
            }
            Value::Object(_) => {
                self.repair_schema(value);
                KeywordRepair::Replace(json!([value]))
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
                KeywordRepair::MoveToDescription
            }
        }
    }

    fn schemas_by_name(&mut self, key: &str, value: &mut Value) -> KeywordRepair {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Array(items) if items.is_empty() => return KeywordRepair::Replace(json!({})),
            Value::Array(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::String(_) => {
                return KeywordRepair::MoveToDescription;
            }
        };
        if key == "patternProperties" && !fields.keys().all(|pattern| (self.is_pattern)(pattern)) {
            return KeywordRepair::MoveToDescription;
        }
        for schema in fields.values_mut() {
            if key == "dependencies" && schema.is_array() {
                if let KeywordRepair::Replace(mended) = names(schema) {
                    self.replace(schema, mended);
                }
            } else {
                self.repair_schema(schema);
            }
        }
        KeywordRepair::Keep
    }

    fn names_by_name(&mut self, value: &mut Value) -> KeywordRepair {
        match value {
            Value::Object(fields) => {
                for value in fields.values_mut() {
                    match names(value) {
                        KeywordRepair::Keep => {}
                        KeywordRepair::Replace(mended) => {
                            self.changed = true;
                            *value = mended;
                        }
                        KeywordRepair::Remove | KeywordRepair::MoveToDescription => {
                            self.changed = true;
                            *value = json!([]);
                        }
                    }
                }
                KeywordRepair::Keep
            }
            Value::Array(items) if items.is_empty() => KeywordRepair::Remove,
            Value::Array(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::String(_) => KeywordRepair::MoveToDescription,
        }
    }

    fn pattern(&self, value: &Value) -> KeywordRepair {
        match value.as_str() {
            Some(pattern) if (self.is_pattern)(pattern) => KeywordRepair::Keep,
            Some(_) | None => KeywordRepair::MoveToDescription,
        }
    }
}

/// The repair of a keyword's value.
enum KeywordRepair {
    Replace(Value),
    /// It has no meaning.
    Remove,
    MoveToDescription,
    Keep,
}

/// The form of a keyword's value.
#[derive(Clone, Copy)]
enum KeywordForm {
    Any,
    /// A non-negative integer.
    Count,
    Flag,
    List,
    /// A name of a schema or a reference to one: a text with its own syntax.
    Name,
    Names,
    NamesByName,
    Number,
    Pattern,
    Schema,
    Schemas,
    SchemasByName,
    Text,
    Types,
    /// Allowed values.
    Values,
}

/// The form of a keyword's value (JSON Schema 2020-12 and earlier drafts); `None` if it is not a keyword.
fn form_of(key: &str) -> Option<KeywordForm> {
    Some(match key {
        "const" | "default" => KeywordForm::Any,
        "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains" | "minItems"
        | "minLength" | "minProperties" => KeywordForm::Count,
        "deprecated" | "readOnly" | "uniqueItems" | "writeOnly" => KeywordForm::Flag,
        "enum" => KeywordForm::Values,
        "examples" => KeywordForm::List,
        "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$id" | "$recursiveRef" | "$ref" => {
            KeywordForm::Name
        }
        "required" => KeywordForm::Names,
        "dependentRequired" => KeywordForm::NamesByName,
        "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" | "multipleOf" => {
            KeywordForm::Number
        }
        "pattern" => KeywordForm::Pattern,
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordForm::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordForm::Schemas,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
        | "properties" => KeywordForm::SchemasByName,
        "$comment" | "$schema" | "contentEncoding" | "contentMediaType" | "description"
        | "format" | "title" => KeywordForm::Text,
        "type" => KeywordForm::Types,
        _ => return None,
    })
}

/// A number, or a text that contains one.
fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => text.trim().parse().ok(),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Object(_) => None,
    }
}

fn bound(key: &str, value: &Value) -> KeywordRepair {
    match number(value) {
        Some(number) if key == "multipleOf" && number.as_f64().is_none_or(|step| step <= 0.0) => {
            KeywordRepair::MoveToDescription
        }
        Some(_) if value.is_number() => KeywordRepair::Keep,
        Some(number) => KeywordRepair::Replace(Value::Number(number)),
        None => KeywordRepair::MoveToDescription,
    }
}

fn count(value: &Value) -> KeywordRepair {
    let Some(number) = number(value) else {
        return KeywordRepair::MoveToDescription;
    };
    if number.as_u64().is_some() && value.is_number() {
        return KeywordRepair::Keep;
    }
    let whole = number.as_u64().or_else(|| {
        // `3.0` is an integer.
        let digits = number.to_string();
        digits
            .strip_suffix(".0")
            .and_then(|digits| digits.parse().ok())
    });
    whole.map_or(KeywordRepair::MoveToDescription, |whole| {
        KeywordRepair::Replace(json!(whole))
    })
}

fn flag(value: &Value) -> KeywordRepair {
    match value {
        Value::Bool(_) => KeywordRepair::Keep,
        Value::String(word) if word == "true" => KeywordRepair::Replace(json!(true)),
        Value::String(_) | Value::Array(_) | Value::Null | Value::Number(_) | Value::Object(_) => {
            KeywordRepair::Remove
        }
    }
}

/// Values without duplicates. An empty list would reject every value.
fn values(value: &Value) -> KeywordRepair {
    match value {
        Value::Array(values) if values.is_empty() => KeywordRepair::MoveToDescription,
        Value::Array(values) => once(values),
        Value::String(_) => KeywordRepair::Replace(json!([value])),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) => {
            KeywordRepair::MoveToDescription
        }
    }
}

/// Names without duplicates.
fn names(value: &Value) -> KeywordRepair {
    match value {
        Value::Array(values) => {
            let texts: Vec<Value> = values
                .iter()
                .filter(|value| value.is_string())
                .cloned()
                .collect();
            match once(&texts) {
                KeywordRepair::Keep if texts.len() == values.len() => KeywordRepair::Keep,
                KeywordRepair::Replace(mended) => KeywordRepair::Replace(mended),
                KeywordRepair::Keep | KeywordRepair::Remove | KeywordRepair::MoveToDescription => {
                    KeywordRepair::Replace(json!(texts))
                }
            }
        }
        Value::String(_) => KeywordRepair::Replace(json!([value])),
        Value::Bool(_) | Value::Null => KeywordRepair::Remove,
        Value::Object(fields) if fields.is_empty() => KeywordRepair::Remove,
        Value::Number(_) | Value::Object(_) => KeywordRepair::MoveToDescription,
    }
}

fn once(values: &[Value]) -> KeywordRepair {
    let mut kept: Vec<Value> = Vec::with_capacity(values.len());
    let mut seen = std::collections::HashSet::new();
    for value in values {
        if seen.insert(crate::digest::canonical_json(value)) {
            kept.push(value.clone());
        }
    }
    if kept.len() == values.len() {
        KeywordRepair::Keep
    } else {
        KeywordRepair::Replace(Value::Array(kept))
    }
}

fn name(key: &str, value: &Value) -> KeywordRepair {
    let Some(name) = value.as_str() else {
        return KeywordRepair::MoveToDescription;
    };
    let sound = match key {
        "$anchor" | "$dynamicAnchor" => {
            let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            begins
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        }
        "$id" => {
            !name.trim_end_matches('#').contains('#') && is_uri(name) && !name.starts_with(':')
        }
        _ => is_uri(name),
    };
    if sound {
        KeywordRepair::Keep
    } else {
        KeywordRepair::MoveToDescription
    }
}

/// Whether all characters are allowed in a URI.
fn is_uri(text: &str) -> bool {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "\"<>\\^`{|}".contains(c);
    !text.contains(odd)
}

fn text(value: &Value) -> KeywordRepair {
    match value {
        Value::String(_) => KeywordRepair::Keep,
        Value::Bool(_) | Value::Number(_) => KeywordRepair::Replace(json!(value.to_string())),
        Value::Array(parts) if parts.iter().all(Value::is_string) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            KeywordRepair::Replace(json!(parts.join(" ")))
        }
        Value::Array(_) | Value::Null | Value::Object(_) => KeywordRepair::Remove,
    }
}

fn types(value: &Value) -> KeywordRepair {
    match value {
        Value::String(word) => match type_of(word) {
            Some(kind) if kind == word => KeywordRepair::Keep,
            Some(kind) => KeywordRepair::Replace(json!(kind)),
            None if word.trim().eq_ignore_ascii_case("any") => KeywordRepair::Remove,
            None => KeywordRepair::MoveToDescription,
        },
        Value::Array(words) => {
            let mut kinds: Vec<&str> = Vec::new();
            for word in words {
                let Some(kind) = word.as_str().and_then(type_of) else {
                    return KeywordRepair::MoveToDescription;
                };
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            if kinds.is_empty() {
                return KeywordRepair::MoveToDescription;
            }
            let mended = json!(kinds);
            if mended == *value {
                KeywordRepair::Keep
            } else {
                KeywordRepair::Replace(mended)
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) => {
            KeywordRepair::MoveToDescription
        }
    }
}
