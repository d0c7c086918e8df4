//! The keys of the configuration, from the schema that the program prints for editors.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::Generated;
use super::pages::Page;
use crate::run;

/// The keys at the top of `jackfield.toml`.
pub(super) fn top(root: &Path, program: &Path) -> anyhow::Result<Vec<String>> {
    let printed = run::output(&mut run::command(program, root, ["config", "schema"]))?;
    let schema: Value = serde_json::from_str(&printed).context("the schema is no JSON")?;
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.context("the schema has no keys")?;
    Ok(properties.keys().cloned().collect())
}

/// The page of all keys, in both files.
pub(super) fn page(root: &Path, program: &Path) -> anyhow::Result<Generated> {
    let mut text = "# Configuration keys\n\nMade from the schemas that `jackfield config schema` prints.\n\
                    [Configuration](configuration.md) says what the keys do.\n`NAME` is a name of your choice.\n"
        .to_owned();
    for (title, more) in [
        ("jackfield.toml", None),
        ("mcp-servers.json", Some("--servers")),
    ] {
        let mut command = run::command(program, root, ["config", "schema"]);
        let printed = run::output(command.args(more))?;
        let schema: Value = serde_json::from_str(&printed).context("the schema is no JSON")?;
        text.push_str(&format!(
            "\n## {title}\n\n| key | value | meaning |\n|---|---|---|\n"
        ));
        let mut rows = Vec::new();
        walk(&schema, "", &mut rows);
        rows.sort();
        rows.dedup();
        for row in rows {
            text.push_str(&row);
        }
    }
    let page = Page {
        from: "".into(),
        title: "Configuration keys".to_owned(),
        to: "configuration-keys.md".into(),
    };
    Ok((page, text))
}

fn walk(schema: &Value, place: &str, rows: &mut Vec<String>) {
    let below = |name: &str| {
        if place.is_empty() {
            name.to_owned()
        } else {
            format!("{place}.{name}")
        }
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        row(property, &below(name), rows);
    }
    if let Some(other) = schema
        .get("additionalProperties")
        .filter(|one| one.is_object())
    {
        row(other, &below("NAME"), rows);
    }
    for other in alternatives(schema) {
        walk(other, place, rows);
    }
    if let Some(items) = schema.get("items") {
        walk(items, &format!("{place}[]"), rows);
    }
}

fn row(schema: &Value, place: &str, rows: &mut Vec<String>) {
    let meaning = schema.get("description").and_then(Value::as_str);
    // Keywords of JSON Schema itself have neither words nor a type.
    if meaning.is_some() || schema.get("type").is_some() || !alternatives(schema).is_empty() {
        let value = value(schema).replace('|', "\\|");
        let meaning = meaning.unwrap_or_default().replace('|', "\\|");
        rows.push(format!("| `{place}` | {value} | {meaning} |\n"));
    }
    walk(schema, place, rows);
}

fn alternatives(schema: &Value) -> Vec<&Value> {
    ["oneOf", "anyOf"]
        .iter()
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten()
        .collect()
}

/// What a key takes, in few words.
fn value(schema: &Value) -> String {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
        return choices.join(", ");
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => {
            let mut kinds: Vec<String> = alternatives(schema).into_iter().map(value).collect();
            kinds.dedup();
            kinds.join(" or ")
        }
    };
    let example = schema.get("examples").and_then(|examples| examples.get(0));
    match example.filter(|example| !example.is_object()) {
        Some(example) => format!("{kind}, such as `{example}`"),
        None => kind,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::walk;

    #[test]
    fn keys_are_named_by_their_tables() {
        let schema = json!({"properties": {
            "a": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                "b": {"type": "string", "enum": ["x", "y|z"], "description": "One of them"}}}},
            "c": {"oneOf": [{"type": "integer"}, {"type": "string"}], "examples": ["1h"]}}});
        let mut rows = Vec::new();
        walk(&schema, "", &mut rows);
        assert_eq!(
            rows,
            [
                "| `a` | object |  |\n",
                "| `a.NAME` | object |  |\n",
                "| `a.NAME.b` | `\"x\"`, `\"y\\|z\"` | One of them |\n",
                "| `c` | integer or string, such as `\"1h\"` |  |\n",
            ]
        );
    }
}
