//! Makes an untrusted schema safe to use: enforces limits, and inserts a marker keyword wherever a validator
//! passes, so that its work is [bounded](super::watch).
//!
//! References are resolved within the schema only; nothing is ever fetched. MCP specification 2026-07-28,
//! "Tools", read 2026-11-22: schemas are not to be trusted, references to other documents not to be resolved,
//! and the work of a validator to be bounded.

use std::collections::{HashMap, HashSet};

use jsonschema::{Keyword, ValidationError, Validator};
use serde_json::{Map, Value};

use super::patterns::{Names, Pattern, PatternBudget};
use super::watch::step;

/// Why a schema is refused before its tool is offered, as the end of a sentence about it; `None` if it is not.
pub(crate) fn limit_violation(schema: &Value) -> Option<String> {
    let size = SchemaSize::measure(schema);
    if size.bytes > MAX_BYTES {
        let bytes = size.bytes;
        return Some(format!(
            "has {bytes} bytes, and at most {MAX_BYTES} are allowed"
        ));
    }
    if size.levels > MAX_LEVELS {
        return Some(format!("is nested deeper than {MAX_LEVELS} levels"));
    }
    if size.references > MAX_REFERENCES {
        let references = size.references;
        return Some(format!(
            "has {references} references, and at most {MAX_REFERENCES} are allowed"
        ));
    }
    None
}

/// Compiles a schema. The [`Names`] have to accept a value before the validator is called.
///
/// # Errors
///
/// Why it cannot be used, as the end of a sentence about it.
pub(super) fn compile(schema: &Value) -> Result<(Validator, Names), String> {
    if let Some(reason) = limit_violation(schema) {
        return Err(format!("it {reason}"));
    }
    if hides_references(schema) {
        return Err("it has references inside of `const` or `enum`".to_owned());
    }
    if expands_too_far(schema) {
        return Err(super::watch::WorkStopped::TooMuch.to_string());
    }
    let budget = PatternBudget::default();
    let names = Names::collect(schema, &budget)?;
    let options = jsonschema::options()
        .with_keyword(MARK, |_, _, _| {
            step();
            Ok(Box::new(SchemaMark) as Box<dyn for<'i> Keyword<'i>>)
        })
        .with_keyword(PATTERN, move |_, pattern, _| {
            let pattern = Pattern::new(pattern, &budget)?;
            Ok(Box::new(pattern) as Box<dyn for<'i> Keyword<'i>>)
        })
        // Checking whether a text is a regular expression takes quadratic time, and no tool needs it.
        .with_format("regex", |_| true);
    let built = names.limit(options).build(&add_marks(schema));
    let validator = built.map_err(|error| without_marks(&error.to_string()))?;
    Ok((validator, names))
}

/// Removes the marker keywords from a validator's message.
pub(crate) fn without_marks(words: &str) -> String {
    let words = words.replace(&format!("{{\"{MARK}\":true}},"), "");
    let words = words.replace(&format!(",\"{MARK}\":true"), "");
    words.replace(&format!("\"{MARK}\":true"), "")
}

/// The marker keyword: counts a step, and accepts every value.
struct SchemaMark;

impl<'i> Keyword<'i> for SchemaMark {
    fn is_valid(&self, _: &'i Value) -> bool {
        step();
        true
    }

    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        step();
        Ok(())
    }
}

/// The size of a schema.
#[derive(Default)]
struct SchemaSize {
    bytes: usize,
    levels: usize,
    references: usize,
}

impl SchemaSize {
    fn measure(schema: &Value) -> Self {
        let mut size = Self::default();
        size.add(schema, 1);
        size
    }

    /// Visits no more levels than are needed to see that the schema is too deep.
    fn add(&mut self, value: &Value, level: usize) {
        match value {
            Value::Array(items) => {
                self.levels = self.levels.max(level);
                self.bytes += 2 + items.len().saturating_sub(1);
                if level <= MAX_LEVELS {
                    items.iter().for_each(|item| self.add(item, level + 1));
                }
            }
            Value::Bool(_) | Value::Null => self.bytes += 4,
            Value::Number(number) => self.bytes += number.to_string().len(),
            Value::Object(fields) => {
                self.levels = self.levels.max(level);
                self.bytes += 2 + fields.len().saturating_sub(1);
                for (name, field) in fields {
                    self.bytes += name.len() + 3;
                    self.references += usize::from(REFERENCES.contains(&&**name));
                    if level <= MAX_LEVELS {
                        self.add(field, level + 1);
                    }
                }
            }
            Value::String(text) => self.bytes += text.len() + 2,
        }
    }
}

/// Adds the marker to every object that can be a schema, and before every reference. The library evaluates an
/// unknown keyword after everything below it, but the parts of an `allOf` in order.
fn add_marks(schema: &Value) -> Value {
    let draft = schema.get("$schema").and_then(Value::as_str);
    let old = draft.is_some_and(|draft| OLD_DRAFTS.iter().any(|old| draft.contains(old)));
    mark(schema, old, true)
}

fn mark(schema: &Value, old: bool, root: bool) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(|item| mark(item, old, false)).collect(),
        Value::Object(fields) => {
            let mut marked = Map::new();
            let mut references = Vec::new();
            let alone = old && fields.get("$ref").is_some_and(Value::is_string);
            for (name, field) in fields {
                let is = |names: &[&str]| names.contains(&&**name);
                if is(REFERENCES) && field.is_string() {
                    let reference = Map::from_iter([(name.clone(), field.clone())]);
                    references.extend([mark_schema(), Value::Object(reference)]);
                    continue;
                }
                // Before draft 2019-09, keywords beside a reference were ignored.
                if alone && !(is(SILENT) || root && name == "$id") {
                    continue;
                }
                let field = if is(DATA) {
                    // The field holds values, not schemas; a marker would change them.
                    field.clone()
                } else if let Some(named) = field.as_object().filter(|_| is(BY_NAME)) {
                    // The names are chosen by the tool; each maps to a schema.
                    let named = named.iter();
                    let named = named.map(|(name, of)| (name.clone(), mark(of, old, false)));
                    named.collect()
                } else {
                    mark(field, old, false)
                };
                marked.insert(name.clone(), field);
            }
            if !references.is_empty() {
                let all = marked
                    .entry("allOf")
                    .or_insert_with(|| Value::Array(Vec::new()));
                // Otherwise `allOf` is not a list, and the library reports the error.
                if let Value::Array(all) = all {
                    all.extend(references);
                }
            }
            marked.insert(MARK.to_owned(), Value::Bool(true));
            Value::Object(marked)
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn mark_schema() -> Value {
    Value::Object(Map::from_iter([(MARK.to_owned(), Value::Bool(true))]))
}

/// Whether there are references in places without markers.
fn hides_references(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(hides_references),
        Value::Object(fields) => fields.iter().any(|(name, field)| {
            let hidden = DATA.contains(&&**name) && SchemaSize::measure(field).references > 0;
            hidden || hides_references(field)
        }),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether compiling would take too long because of keywords that inspect other keywords (`unevaluated…`): the
/// library builds a tree for each of them, without passing a marker.
fn expands_too_far(schema: &Value) -> bool {
    let mut expanded = ExpandedSize {
        anchors: HashMap::new(),
        sizes: HashMap::new(),
        open: HashSet::new(),
        root: schema,
        unresolved: 0,
    };
    if !expanded.prepare(schema) {
        return false;
    }
    let size = SchemaSize::measure(schema);
    size.references * size.levels > MAX_STEPS_DOWN
        || expanded.size_of(schema) > MAX_UNFOLDED
        || expanded.unresolved > MAX_UNRESOLVED
}

/// Computes the size of a schema with all references expanded.
struct ExpandedSize<'a> {
    anchors: HashMap<&'a str, &'a Value>,
    sizes: HashMap<*const Value, u64>,
    open: HashSet<*const Value>,
    root: &'a Value,
    unresolved: usize,
}

impl<'a> ExpandedSize<'a> {
    /// Collects the anchors; `true` if there is anything to expand.
    fn prepare(&mut self, schema: &'a Value) -> bool {
        match schema {
            Value::Array(items) => {
                let found = items.iter().map(|item| self.prepare(item));
                found.fold(false, |any, found| any | found)
            }
            Value::Object(fields) => {
                let mut any = fields.keys().any(|name| name.starts_with("unevaluated"));
                for name in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = fields.get(name).and_then(Value::as_str) {
                        self.anchors.insert(anchor, schema);
                    }
                }
                for field in fields.values() {
                    any |= self.prepare(field);
                }
                any
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
        }
    }

    fn size_of(&mut self, schema: &'a Value) -> u64 {
        let place = std::ptr::from_ref(schema);
        if let Some(known) = self.sizes.get(&place) {
            return *known;
        }
        // A schema that is being expanded is not expanded again inside itself.
        if !self.open.insert(place) {
            return 1;
        }
        let mut size = 1_u64;
        match schema {
            Value::Array(items) => {
                for item in items {
                    size = size.saturating_add(self.size_of(item));
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    size = size.saturating_add(self.size_of(field));
                    if REFERENCES.contains(&&**name) {
                        match field.as_str().and_then(|to| self.target(to)) {
                            Some(target) => size = size.saturating_add(self.size_of(target)),
                            None => self.unresolved += 1,
                        }
                    }
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
        self.open.remove(&place);
        self.sizes.insert(place, size);
        size
    }

    fn target(&self, to: &str) -> Option<&'a Value> {
        let inside = to.strip_prefix('#')?;
        if inside.is_empty() {
            Some(self.root)
        } else if inside.starts_with('/') {
            self.root.pointer(inside)
        } else {
            self.anchors.get(inside).copied()
        }
    }
}

/// Keywords whose value maps names to schemas.
const BY_NAME: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Keywords whose value is data.
const DATA: &[&str] = &["const", "enum"];
/// The marker keyword; no one else uses the name.
const MARK: &str = "$jackfield-step";
/// The maximum size of a schema, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// The maximum nesting depth of a schema.
const MAX_LEVELS: usize = 64;
/// The maximum number of references in a schema.
const MAX_REFERENCES: usize = 256;
/// The maximum depth of a schema with all references expanded, where no marker limits the work.
const MAX_STEPS_DOWN: usize = 2000;
/// The maximum size of a schema with all references expanded, where no marker limits the work.
const MAX_UNFOLDED: u64 = 1 << 14;
/// The maximum number of references to other documents.
const MAX_UNRESOLVED: usize = 8;
/// Parts of the URIs of drafts in which keywords beside a reference are ignored.
const OLD_DRAFTS: &[&str] = &["/draft-03/", "/draft-04/", "/draft-06/", "/draft-07/"];
/// The keyword for text patterns.
pub(super) const PATTERN: &str = "pattern";
/// Keywords that refer to a schema.
const REFERENCES: &[&str] = &["$dynamicRef", "$recursiveRef", "$ref"];
/// Keywords that do not constrain a value.
const SILENT: &[&str] = &[
    "$comment",
    "$defs",
    "$schema",
    "definitions",
    "description",
    "title",
];
