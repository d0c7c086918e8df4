//! The schema of a tool's arguments: valid, an object's, and without a choice at its root.

use std::borrow::Cow;
use std::sync::Arc;

use jackfield_domain::note::NoteEffect;
use jackfield_domain::schema::{repair, target};
use serde_json::{Map, Value, json};

use super::{Change, Changes, is_pattern};

/// The schema of a tool's arguments in the form that every vendor accepts, and the changes.
///
/// Invalid parts are [repaired](repair), its root has the type `object`, and no keyword of `not_at_root` is at the
/// root: the properties of all branches are offered together, and the choice moves into the description.
#[must_use]
pub fn object(schema: &Arc<Value>, not_at_root: &[&str]) -> (Arc<Value>, Vec<Change>) {
    let mut changes = Changes::default();
    let sound = match sound(schema, &mut changes) {
        Cow::Borrowed(_) => Arc::clone(schema),
        Cow::Owned(mended) => Arc::new(mended),
    };
    if is_rooted(&sound, not_at_root) {
        return (sound, changes.into_vec());
    }
    let mut fields = match &*sound {
        Value::Object(fields) => fields.clone(),
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {
            let effect = if *sound == Value::Bool(true) {
                NoteEffect::Cosmetic
            } else {
                NoteEffect::Meaning
            };
            changes.push(effect, "schema_root_made_object", "");
            Map::from_iter([("type".to_owned(), json!("object"))])
        }
    };
    inline(&mut fields, &sound, &mut changes);
    if fields.get("type") != Some(&json!("object")) {
        let loses = fields.get("type").is_some_and(|kind| !names_object(kind));
        let effect = if loses {
            NoteEffect::Meaning
        } else {
            NoteEffect::Cosmetic
        };
        changes.push(effect, "schema_root_made_object", "");
        fields.insert("type".to_owned(), json!("object"));
    }
    flatten(&mut fields, &sound, not_at_root, &mut changes);
    (Arc::new(Value::Object(fields)), changes.into_vec())
}

/// The schema with its invalid parts repaired: see [`repair`].
pub fn sound<'s>(schema: &'s Value, changes: &mut Changes) -> Cow<'s, Value> {
    let Some(mended) = repair(schema, &is_pattern) else {
        return Cow::Borrowed(schema);
    };
    let effect = if mended.is_lossy {
        NoteEffect::Quality
    } else {
        NoteEffect::Cosmetic
    };
    changes.push(effect, "schema_mended", "");
    Cow::Owned(mended.schema)
}

fn is_rooted(schema: &Value, not_at_root: &[&str]) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    fields.get("type").is_some_and(|kind| kind == "object")
        && !fields.contains_key("$ref")
        && !not_at_root.iter().any(|key| fields.contains_key(*key))
}

fn names_object(kind: &Value) -> bool {
    let kinds = kind.as_array();
    kind == "object" || kinds.is_some_and(|kinds| kinds.contains(&json!("object")))
}

/// Replaces a reference at the root by its target.
fn inline(fields: &mut Map<String, Value>, root: &Value, changes: &mut Changes) {
    for _ in 0..DEEPEST {
        let Some(Value::String(reference)) = fields.shift_remove("$ref") else {
            return;
        };
        changes.push(NoteEffect::Cosmetic, "schema_root_inlined", "");
        let referred = target(root, &reference).and_then(Value::as_object);
        for (key, value) in referred.into_iter().flatten() {
            fields.entry(key).or_insert_with(|| value.clone());
        }
    }
    fields.shift_remove("$ref");
}

/// Removes a choice from the root.
fn flatten(
    fields: &mut Map<String, Value>,
    root: &Value,
    not_at_root: &[&str],
    changes: &mut Changes,
) {
    let mut taken = Map::new();
    for key in not_at_root {
        if let Some(value) = fields.shift_remove(*key) {
            taken.insert((*key).to_owned(), value);
        }
    }
    if taken.is_empty() {
        return;
    }
    let mut branches = Branches {
        offered: Map::new(),
        root,
    };
    let required = branches.combined(&taken, 0);
    let offered = branches.offered;
    if !fields.get("properties").is_some_and(Value::is_object) && !offered.is_empty() {
        fields.insert("properties".to_owned(), json!({}));
    }
    if let Some(Value::Object(own)) = fields.get_mut("properties") {
        for (name, schemas) in offered {
            own.entry(name).or_insert_with(|| any_of(schemas));
        }
    }
    require(fields, required);
    changes.describe(taken, fields, "");
}

/// A schema that accepts the values of all these schemas.
fn any_of(mut schemas: Value) -> Value {
    match schemas.as_array_mut() {
        Some(only) if only.len() == 1 => only.remove(0),
        Some(_) | None => json!({ "anyOf": schemas }),
    }
}

/// Requires properties that every value must have, if they are offered.
fn require(fields: &mut Map<String, Value>, names: Vec<String>) {
    let properties = fields.get("properties").and_then(Value::as_object);
    let is_offered = |name: &String| properties.is_some_and(|all| all.contains_key(name));
    let names: Vec<String> = names.into_iter().filter(is_offered).collect();
    if names.is_empty() {
        return;
    }
    let required = fields.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in names {
            if !required.contains(&json!(name)) {
                required.push(json!(name));
            }
        }
    }
}

/// The properties of a choice's branches.
struct Branches<'s> {
    /// The distinct schemas of each property.
    offered: Map<String, Value>,
    root: &'s Value,
}

impl Branches<'_> {
    /// Collects the properties of a branch; returns the required ones.
    fn branch(&mut self, branch: &Value, depth: usize) -> Vec<String> {
        if depth > DEEPEST {
            return Vec::new();
        }
        let Some(fields) = branch.as_object() else {
            return Vec::new();
        };
        let properties = fields.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let known = self.offered.entry(name).or_insert_with(|| json!([]));
            if let Value::Array(known) = known
                && !known.contains(schema)
            {
                known.push(schema.clone());
            }
        }
        let names = fields.get("required").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        let mut required: Vec<String> = names.map(str::to_owned).collect();
        required.extend(self.combined(fields, depth));
        let referred = fields.get("$ref").and_then(Value::as_str);
        if let Some(referred) = referred.and_then(|reference| target(self.root, reference)) {
            required.extend(self.branch(referred, depth + 1));
        }
        required
    }

    /// Collects the properties of all choices of a schema; returns those that are always required.
    fn combined(&mut self, fields: &Map<String, Value>, depth: usize) -> Vec<String> {
        let mut required = Vec::new();
        for key in ["allOf", "anyOf", "oneOf"] {
            let branches = fields.get(key).and_then(Value::as_array);
            let mut each = Vec::new();
            for branch in branches.into_iter().flatten() {
                each.push(self.branch(branch, depth + 1));
            }
            if key == "allOf" {
                required.extend(each.concat());
            } else if let Some((first, others)) = each.split_first() {
                let everywhere = |name: &&String| others.iter().all(|names| names.contains(name));
                required.extend(first.iter().filter(everywhere).cloned());
            }
        }
        required
    }
}

/// The maximum depth of references and choices.
const DEEPEST: usize = 8;
