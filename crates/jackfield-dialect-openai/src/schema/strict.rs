//! Converts a schema to the strict subset.

use jackfield_dialect_kit::schema::{Change, Changes, is_primitive, member};
use jackfield_domain::note::NoteEffect;
use serde_json::{Map, Value, json};

/// The string formats that can be enforced.
const FORMATS: [&str; 9] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uuid",
];

/// The enforceable keywords of numbers and arrays; each has a numeric value.
const BOUNDS: [(&str, &[&str]); 7] = [
    ("exclusiveMaximum", NUMBERS),
    ("exclusiveMinimum", NUMBERS),
    ("maxItems", &["array"]),
    ("maximum", NUMBERS),
    ("minItems", &["array"]),
    ("minimum", NUMBERS),
    ("multipleOf", NUMBERS),
];
const NUMBERS: &[&str] = &["integer", "number"];

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// The deepest nesting of schemas; deeper ones could not be sent in any case.
const DEPTH: usize = 60;

pub(super) fn restrict(schema: &Value) -> Option<(Value, Vec<Change>)> {
    let mut walk = Walk {
        changes: Changes::default(),
        root: schema,
    };
    let root = walk.root()?;
    let restricted = walk.schema(&root, "", DEPTH)?;
    // The root must not be a choice, so it has no type other than object.
    let is_object = restricted.get("type") == Some(&json!("object"));
    is_object.then(|| (restricted, walk.changes.into_vec()))
}

#[derive(Debug)]
struct Walk<'a> {
    changes: Changes,
    root: &'a Value,
}

impl Walk<'_> {
    /// The root with its reference resolved: it must not be a reference itself.
    fn root(&mut self) -> Option<Map<String, Value>> {
        let mut fields = self.root.as_object()?.clone();
        if let Some(target) = fields.shift_remove("$ref") {
            self.changed("schema_reference_opened", "");
            let target = self.target(&target)?.as_object()?;
            for (key, value) in target {
                fields.entry(key).or_insert_with(|| value.clone());
            }
        }
        Some(fields)
    }

    fn schema(
        &mut self,
        fields: &Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        let mut rest = fields.clone();
        let mut out = Map::new();
        self.definitions(&mut rest, &mut out, pointer, depth)?;
        self.single_all_of(&mut rest, pointer)?;
        for key in ["description", "title"] {
            if let Some(text) = rest.shift_remove(key) {
                out.insert(key.to_owned(), text);
            }
        }
        if let Some(target) = rest.shift_remove("$ref") {
            self.reference(target, rest.is_empty(), &mut out, pointer)?;
        } else if !rest.contains_key("type") && self.choice(&mut rest, &mut out, pointer, depth)? {
            // Keywords beside a choice are described.
        } else {
            self.typed(&mut rest, &mut out, pointer, depth)?;
        }
        self.changes.describe(rest, &mut out, pointer);
        Some(Value::Object(out))
    }

    fn definitions(
        &mut self,
        rest: &mut Map<String, Value>,
        out: &mut Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Option<()> {
        for key in ["$defs", "definitions"] {
            let Some(Value::Object(schemas)) = rest.shift_remove(key) else {
                continue;
            };
            if key == "definitions" {
                self.changed("schema_definitions_renamed", pointer);
            }
            let schemas = self.named(&schemas, &member(pointer, key), depth)?;
            // Two definitions with one name are ambiguous.
            if out
                .insert("$defs".to_owned(), Value::Object(schemas))
                .is_some()
            {
                return None;
            }
        }
        Some(())
    }

    /// An `allOf` with one element is merged, as in the vendor's SDK; several are described.
    fn single_all_of(&mut self, rest: &mut Map<String, Value>, pointer: &str) -> Option<()> {
        let all = rest.get("allOf").and_then(Value::as_array);
        let Some([Value::Object(only)]) = all.map(Vec::as_slice) else {
            return Some(());
        };
        let only = only.clone();
        self.changed("schema_all_of_one", pointer);
        rest.shift_remove("allOf");
        for (key, value) in only {
            let before = rest.insert(key, value.clone());
            if before.is_some_and(|before| before != value) {
                return None;
            }
        }
        Some(())
    }

    /// A reference must have no siblings; with other keywords it becomes a choice of one.
    fn reference(
        &mut self,
        target: Value,
        alone: bool,
        out: &mut Map<String, Value>,
        pointer: &str,
    ) -> Option<()> {
        self.target(&target)?;
        let text = target.as_str()?;
        let target = match text.strip_prefix("#/definitions/") {
            Some(name) => {
                self.changed("schema_definitions_renamed", pointer);
                json!(format!("#/$defs/{name}"))
            }
            None => target,
        };
        if alone && out.is_empty() {
            out.insert("$ref".to_owned(), target);
        } else {
            self.changed("schema_beside_reference", pointer);
            out.insert("anyOf".to_owned(), json!([{ "$ref": target }]));
        }
        Some(())
    }

    /// The target of a reference: the root, or a definition directly below it.
    fn target(&self, target: &Value) -> Option<&Value> {
        let pointer = target.as_str()?.strip_prefix('#')?;
        let below = ["/$defs/", "/definitions/"];
        let name = below.iter().find_map(|below| pointer.strip_prefix(below));
        let known = pointer.is_empty() || name.is_some_and(|name| !name.contains('/'));
        known.then(|| self.root.pointer(pointer)).flatten()
    }

    /// Moves a choice to the output, if there is one.
    fn choice(
        &mut self,
        rest: &mut Map<String, Value>,
        out: &mut Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Option<bool> {
        for key in ["anyOf", "oneOf"] {
            let Some(Value::Array(variants)) = rest.get(key) else {
                continue;
            };
            let variants = variants.clone();
            rest.shift_remove(key);
            if key == "oneOf" {
                self.changed("schema_one_of", pointer);
            }
            let below = member(pointer, key);
            let mut restricted = Vec::with_capacity(variants.len());
            for (n, variant) in variants.iter().enumerate() {
                let variant = variant.as_object()?;
                restricted.push(self.schema(variant, &format!("{below}/{n}"), depth)?);
            }
            if restricted.is_empty() {
                return None;
            }
            out.insert("anyOf".to_owned(), Value::Array(restricted));
            return Some(true);
        }
        Some(false)
    }

    /// A schema with one type or several.
    fn typed(
        &mut self,
        rest: &mut Map<String, Value>,
        out: &mut Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Option<()> {
        let kind = match rest.shift_remove("type") {
            Some(kind) => kind,
            None => {
                let kind = implied(rest)?;
                self.changed("schema_type_added", pointer);
                kind
            }
        };
        let kinds: Vec<String> = match &kind {
            Value::String(kind) => vec![kind.clone()],
            Value::Array(kinds) => kinds.iter().map(text).collect::<Option<_>>()?,
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) => return None,
        };
        if kinds.is_empty() || !kinds.iter().all(|kind| TYPES.contains(&kind.as_str())) {
            return None;
        }
        let is = |wanted: &[&str]| kinds.iter().any(|kind| wanted.contains(&kind.as_str()));
        out.insert("type".to_owned(), kind);
        literals(rest, out)?;
        if is(&["object"]) {
            self.object(rest, out, pointer, depth)?;
        }
        if is(&["array"]) {
            let items = rest.shift_remove("items")?;
            let items = self.schema(items.as_object()?, &member(pointer, "items"), depth)?;
            out.insert("items".to_owned(), items);
        }
        for (key, kinds) in BOUNDS {
            let number = rest.get(key).is_some_and(Value::is_number);
            if number
                && is(kinds)
                && let Some(bound) = rest.shift_remove(key)
            {
                out.insert(key.to_owned(), bound);
            }
        }
        let format = rest.get("format").and_then(Value::as_str);
        let enforced = format.is_some_and(|format| FORMATS.contains(&format));
        let pattern = rest.get("pattern").is_some_and(Value::is_string);
        for (key, enforced) in [("format", enforced), ("pattern", pattern)] {
            if enforced
                && is(&["string"])
                && let Some(value) = rest.shift_remove(key)
            {
                out.insert(key.to_owned(), value);
            }
        }
        Some(())
    }

    fn object(
        &mut self,
        rest: &mut Map<String, Value>,
        out: &mut Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Option<()> {
        let closed = match rest.shift_remove("additionalProperties") {
            Some(Value::Bool(more)) => !more,
            None => false,
            Some(_) => return None,
        };
        let patterns = rest.get("patternProperties").and_then(Value::as_object);
        if patterns.is_some_and(|patterns| !patterns.is_empty()) {
            return None;
        }
        let properties = match rest.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            // An object for arbitrary properties would accept none in the subset.
            Some(_) | None if !closed => return None,
            Some(_) | None => Map::new(),
        };
        if !closed {
            self.changed("schema_closed", pointer);
        }
        let required = rest.shift_remove("required");
        let required = required.as_ref().and_then(Value::as_array);
        let known = |name: &Value| {
            name.as_str()
                .is_some_and(|name| properties.contains_key(name))
        };
        if !required.into_iter().flatten().all(known) {
            return None;
        }
        for (name, schema) in &properties {
            let listed = required.is_some_and(|required| required.contains(&json!(name)));
            if listed {
                continue;
            }
            if !self.takes_null(schema, DEPTH) {
                return None;
            }
            let pointer = member(&member(pointer, "properties"), name);
            self.changed("schema_property_required", &pointer);
        }
        let names: Vec<&String> = properties.keys().collect();
        out.insert("required".to_owned(), json!(names));
        let properties = self.named(&properties, &member(pointer, "properties"), depth)?;
        out.insert("properties".to_owned(), Value::Object(properties));
        out.insert("additionalProperties".to_owned(), json!(false));
        Some(())
    }

    fn named(
        &mut self,
        schemas: &Map<String, Value>,
        pointer: &str,
        depth: usize,
    ) -> Option<Map<String, Value>> {
        let mut out = Map::new();
        for (name, schema) in schemas {
            let schema = self.schema(schema.as_object()?, &member(pointer, name), depth)?;
            out.insert(name.clone(), schema);
        }
        Some(out)
    }

    /// Whether a schema accepts null, judged by its types and choices.
    fn takes_null(&self, schema: &Value, depth: usize) -> bool {
        let (Some(fields), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
            return false;
        };
        let null = |value: &Value| value == "null" || value.is_null();
        let any = |value: &Value, fits: &dyn Fn(&Value) -> bool| {
            fits(value) || value.as_array().is_some_and(|list| list.iter().any(fits))
        };
        let typed = fields.get("type").map(|kind| any(kind, &null));
        let listed = fields
            .get("enum")
            .map(|values| any(values, &Value::is_null));
        let exact = fields.get("const").map(Value::is_null);
        let choice = ["anyOf", "oneOf"].iter().find_map(|key| fields.get(*key));
        let chosen = choice.map(|choice| any(choice, &|variant| self.takes_null(variant, depth)));
        let target = fields.get("$ref").map(|target| self.target(target));
        let target = target.map(|target| target.is_some_and(|t| self.takes_null(t, depth)));
        let said = [typed, listed, exact, chosen, target];
        said.iter().any(Option::is_some) && said.iter().flatten().all(|takes| *takes)
    }

    fn changed(&mut self, code: &'static str, pointer: &str) {
        self.changes.push(NoteEffect::Quality, code, pointer);
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The type that a schema implies without naming it.
fn implied(fields: &Map<String, Value>) -> Option<Value> {
    if fields.contains_key("properties") {
        return Some(json!("object"));
    }
    if fields.contains_key("items") {
        return Some(json!("array"));
    }
    let values = fields.get("enum").and_then(Value::as_array);
    let exact = fields.get("const");
    let mut kinds: Vec<&str> = Vec::new();
    for value in values.into_iter().flatten().chain(exact) {
        let kind = match value {
            Value::Bool(_) => "boolean",
            Value::Null => "null",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) | Value::Object(_) => return None,
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match kinds.as_slice() {
        [] => None,
        [kind] => Some(json!(kind)),
        kinds => Some(json!(kinds)),
    }
}

/// Moves `enum` and `const` to the output; values that are not primitive cannot be enforced.
fn literals(rest: &mut Map<String, Value>, out: &mut Map<String, Value>) -> Option<()> {
    if let Some(values) = rest.shift_remove("enum") {
        let sound = values.as_array()?;
        if sound.is_empty() || !sound.iter().all(is_primitive) {
            return None;
        }
        out.insert("enum".to_owned(), values);
    }
    if let Some(value) = rest.shift_remove("const") {
        if !is_primitive(&value) {
            return None;
        }
        out.insert("const".to_owned(), value);
    }
    Some(())
}
