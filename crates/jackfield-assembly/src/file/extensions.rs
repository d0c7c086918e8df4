//! Reads extensions: request fields of a single dialect.

use std::sync::Arc;

use jackfield_domain::opaque::Extension;
use serde_json::Value;

use crate::document::Section;
use crate::file::{Trust, trust_help};
use crate::form;
use crate::place::{ConfigProblem, ValueSource};

/// Reads `[settings.extensions]`: a table for each dialect, with fields as they appear in its requests.
///
/// Nested tables are objects of the request. Only the given fields are set; what the mapper writes beside them
/// stays.
pub(crate) fn read(all: &mut Vec<(Extension, ValueSource)>, section: Section<'_>, trust: Trust) {
    if let (Trust::Found, Some(place)) = (trust, section.first_place()) {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say what only a provider understands";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let dialects = section.again();
    for dialect in section.entries() {
        let table = Section::of(&dialects, &dialect);
        let fields = table.again();
        for field in table.entries() {
            let Some(json) = fields.value(&field, form::any(), "") else {
                continue;
            };
            let mut leaves = Vec::new();
            flatten(step("", &field.name), &json, &mut leaves);
            for (path, json) in leaves {
                // A later file overrides an earlier one.
                all.retain(|(old, _)| *old.dialect != *dialect.name || old.path != path);
                let extension = Extension {
                    dialect: Arc::clone(&dialect.name),
                    path,
                    json,
                };
                all.push((extension, field.place.clone()));
            }
        }
    }
}

fn flatten(path: String, json: &Value, leaves: &mut Vec<(String, Value)>) {
    match json.as_object() {
        Some(fields) if !fields.is_empty() => {
            for (name, json) in fields {
                flatten(step(&path, name), json, leaves);
            }
        }
        Some(_) | None => leaves.push((path, json.clone())),
    }
}

/// Extends a JSON Pointer (RFC 6901) by one step.
fn step(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
