//! A schema that a stranger wrote, made fit to be used: within bounds, and with a mark wherever a
//! validator comes by, by which its work is [watched](super::watch).
//!
//! References are followed within the schema alone: nothing is ever fetched. MCP specification
//! 2026-07-28, "Tools", read 2026-11-22: schemas are not to be trusted, references to other documents
//! not to be resolved, and the work of a validator to be bounded.

use std::collections::{HashMap, HashSet};

use jsonschema::{Keyword, ValidationError, Validator};
use serde_json::{Map, Value};

use super::patterns::{Names, Pattern, PatternBudget};
use super::watch::step;

/// Why a schema is refused before anybody calls its tool, as the end of a sentence about it.
pub(crate) fn refused(schema: &Value) -> Option<String> {
    let size = SchemaSize::of(schema);
    if size.bytes > MOST_BYTES {
        let bytes = size.bytes;
        return Some(format!(
            "has {bytes} bytes, and at most {MOST_BYTES} are allowed"
        ));
    }
    if size.levels > MOST_LEVELS {
        return Some(format!("is nested deeper than {MOST_LEVELS} levels"));
    }
    if size.references > MOST_REFERENCES {
        let references = size.references;
        return Some(format!(
            "has {references} references, and at most {MOST_REFERENCES} are allowed"
        ));
    }
    None
}

/// The validator of a schema, and what the names of a value have to keep before it is asked.
///
/// # Errors
///
/// Why it cannot be used, as the end of a sentence about it.
pub(super) fn compile(schema: &Value) -> Result<(Validator, Names), String> {
    if let Some(reason) = refused(schema) {
        return Err(format!("it {reason}"));
    }
    if hides_references(schema) {
        return Err("it has references inside of `const` or `enum`".to_owned());
    }
    if unfolds(schema) {
        return Err(super::watch::WorkStopped::TooMuch.to_string());
    }
    let room = PatternBudget::default();
    let names = Names::of(schema, &room)?;
    let options = jsonschema::options()
        .with_keyword(MARK, |_, _, _| {
            step();
            Ok(Box::new(SchemaMark) as Box<dyn for<'i> Keyword<'i>>)
        })
        .with_keyword(PATTERN, move |_, pattern, _| {
            let pattern = Pattern::new(pattern, &room)?;
            Ok(Box::new(pattern) as Box<dyn for<'i> Keyword<'i>>)
        })
        // Whether a text is a pattern takes a time that its square tells; no tool needs to know.
        .with_format("regex", |_| true);
    let built = names.limit(options).build(&marked(schema));
    let validator = built.map_err(|error| without_marks(&error.to_string()))?;
    Ok((validator, names))
}

/// A validator's words without what is ours in the schema.
pub(crate) fn without_marks(words: &str) -> String {
    let words = words.replace(&format!("{{\"{MARK}\":true}},"), "");
    let words = words.replace(&format!(",\"{MARK}\":true"), "");
    words.replace(&format!("\"{MARK}\":true"), "")
}

/// What a validator comes by: it fits everything.
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

/// How large a schema is.
#[derive(Default)]
struct SchemaSize {
    bytes: usize,
    levels: usize,
    references: usize,
}

impl SchemaSize {
    fn of(schema: &Value) -> Self {
        let mut size = Self::default();
        size.add(schema, 1);
        size
    }

    /// Looks no deeper than is needed to know that it is too deep.
    fn add(&mut self, value: &Value, level: usize) {
        match value {
            Value::Array(items) => {
                self.levels = self.levels.max(level);
                self.bytes += 2 + items.len().saturating_sub(1);
                if level <= MOST_LEVELS {
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
                    if level <= MOST_LEVELS {
                        self.add(field, level + 1);
                    }
                }
            }
            Value::String(text) => self.bytes += text.len() + 2,
        }
    }
}

/// The schema with a mark in every object that can be a schema, and before every reference: the library
/// comes by a keyword that is not its own when it has been everywhere below, but by the parts of an
/// `allOf` in their order.
fn marked(schema: &Value) -> Value {
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
            let alone = old && fields.contains_key("$ref");
            for (name, field) in fields {
                let is = |names: &[&str]| names.contains(&&**name);
                if is(REFERENCES) && field.is_string() {
                    let reference = Map::from_iter([(name.clone(), field.clone())]);
                    references.extend([a_mark(), Value::Object(reference)]);
                    continue;
                }
                // What stands beside a reference said nothing before 2019-09.
                if alone && !(is(SILENT) || root && name == "$id") {
                    continue;
                }
                let field = if is(DATA) {
                    // Values, not schemas: with a mark they would be others.
                    field.clone()
                } else if let Some(named) = field.as_object().filter(|_| is(BY_NAME)) {
                    // The names are the tool's; each is of a schema.
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
                // Whatever else it is, it is no schema, and the library says so.
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

fn a_mark() -> Value {
    Value::Object(Map::from_iter([(MARK.to_owned(), Value::Bool(true))]))
}

/// Whether there are schemas where no marks are.
fn hides_references(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(hides_references),
        Value::Object(fields) => fields.iter().any(|(name, field)| {
            let hidden = DATA.contains(&&**name) && SchemaSize::of(field).references > 0;
            hidden || hides_references(field)
        }),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether the keywords that look at what other keywords have looked at would be built for ever: the
/// library builds a tree for each of them, without coming by a mark.
fn unfolds(schema: &Value) -> bool {
    let mut unfolding = ExpandedSize {
        anchors: HashMap::new(),
        known: HashMap::new(),
        open: HashSet::new(),
        root: schema,
        unresolved: 0,
    };
    if !unfolding.prepare(schema) {
        return false;
    }
    let size = SchemaSize::of(schema);
    size.references * size.levels > MOST_STEPS_DOWN
        || unfolding.of(schema) > MOST_UNFOLDED
        || unfolding.unresolved > MOST_UNRESOLVED
}

/// How large a schema is with all references written out.
struct ExpandedSize<'a> {
    anchors: HashMap<&'a str, &'a Value>,
    known: HashMap<*const Value, u64>,
    open: HashSet<*const Value>,
    root: &'a Value,
    unresolved: usize,
}

impl<'a> ExpandedSize<'a> {
    /// Finds the anchors; `true` if there is anything to be unfolded.
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

    fn of(&mut self, schema: &'a Value) -> u64 {
        let place = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        // What is built already is not built again inside of itself.
        if !self.open.insert(place) {
            return 1;
        }
        let mut size = 1_u64;
        match schema {
            Value::Array(items) => {
                for item in items {
                    size = size.saturating_add(self.of(item));
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    size = size.saturating_add(self.of(field));
                    if REFERENCES.contains(&&**name) {
                        match field.as_str().and_then(|to| self.target(to)) {
                            Some(target) => size = size.saturating_add(self.of(target)),
                            None => self.unresolved += 1,
                        }
                    }
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
        self.open.remove(&place);
        self.known.insert(place, size);
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

/// Keywords whose value has schemas by names of the tool's own.
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
/// The name of the mark: no keyword of anybody else.
const MARK: &str = "$jackfield-step";
/// The most bytes of a schema.
const MOST_BYTES: usize = 64 << 10;
/// The most levels of nesting in a schema.
const MOST_LEVELS: usize = 64;
/// The most references in a schema.
const MOST_REFERENCES: usize = 256;
/// How deep a schema may go with all references written out, where that is not watched.
const MOST_STEPS_DOWN: usize = 2000;
/// How large a schema may be with all references written out, where that is not watched.
const MOST_UNFOLDED: u64 = 1 << 14;
/// How many references of it may lead elsewhere.
const MOST_UNRESOLVED: usize = 8;
/// What the names of drafts have in them in which nothing counts beside a reference.
const OLD_DRAFTS: &[&str] = &["/draft-03/", "/draft-04/", "/draft-06/", "/draft-07/"];
/// The keyword of a pattern for texts.
pub(super) const PATTERN: &str = "pattern";
/// Keywords that refer to a schema.
const REFERENCES: &[&str] = &["$dynamicRef", "$recursiveRef", "$ref"];
/// Keywords that say nothing about a value.
const SILENT: &[&str] = &[
    "$comment",
    "$defs",
    "$schema",
    "definitions",
    "description",
    "title",
];
