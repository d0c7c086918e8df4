//! The operations of the gateway's own API, from the OpenAPI document that a gateway serves.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::pages::Page;
use super::{Generated, plain_text};
use crate::run;

/// The page of all operations.
pub(super) fn page(root: &Path, program: &Path) -> anyhow::Result<Generated> {
    let page = Page {
        from: "".into(),
        title: "Operations of the API".to_owned(),
        to: "api-operations.md".into(),
    };
    Ok((page, text(&document(root, program)?)?))
}

/// Asks a gateway for its document.
fn document(root: &Path, program: &Path) -> anyhow::Result<Value> {
    let file = root.join("target/book/gateway.toml");
    let config = "[journal]\nkind = \"memory\"\n[serve]\nbind = \"127.0.0.1:0\"\n";
    fs::write(&file, config).with_context(|| format!("cannot write {}", file.display()))?;
    let mut command = run::command(program, root, ["serve", "--config"]);
    command
        .arg(&file)
        .env("NO_COLOR", "1")
        .env("ANTHROPIC_API_KEY", "none");
    command.env_remove("JACKFIELD_LOG").stdout(Stdio::null());
    let mut gateway = command
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the gateway")?;
    let document = asked(&mut gateway);
    // It has nothing to finish.
    let ended = gateway.kill().and_then(|()| gateway.wait());
    let document = document?;
    ended.context("the gateway did not end")?;
    serde_json::from_str(&document).context("the document is no JSON")
}

fn asked(gateway: &mut Child) -> anyhow::Result<String> {
    let errors = gateway.stderr.take().context("the gateway has no output")?;
    let mut said = String::new();
    let mut lines = BufReader::new(errors);
    let address = loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            bail!("the gateway did not start:\n{said}");
        }
        if let Some((_, rest)) = line.split_once("listening on http://") {
            let end = rest.find(|c: char| !(c.is_ascii_digit() || ".:".contains(c)));
            break rest[..end.unwrap_or(rest.len())].to_owned();
        }
        said.push_str(&line);
    };
    let mut stream = TcpStream::connect(&address).context("cannot reach the gateway")?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    // HTTP/1.0, so that the body comes in one piece and ends with the connection.
    let request = format!("GET /api/v1/openapi.json HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .context("the answer has no body")?;
    if head.split_whitespace().nth(1) != Some("200") {
        bail!("the gateway answers: {head}");
    }
    Ok(body.to_owned())
}

fn text(document: &Value) -> anyhow::Result<String> {
    let mut text = "# Operations of the API\n\nMade from the OpenAPI document of the gateway, `GET /api/v1/openapi.json`.\n\
                    [The API](api.md) shows how they are used.\n"
        .to_owned();
    let paths = document.get("paths").and_then(Value::as_object);
    let paths = paths.context("the document has no paths")?;
    let tags = document.get("tags").and_then(Value::as_array);
    for tag in tags.into_iter().flatten() {
        let name = tag.get("name").and_then(Value::as_str).unwrap_or_default();
        let about = tag
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        text.push_str(&format!("\n## {name}\n\n{about}\n"));
        for (path, methods) in paths {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                let of_tag = operation.get("tags").and_then(Value::as_array);
                if of_tag.is_some_and(|tags| tags.iter().any(|one| one == name)) {
                    write_operation(&mut text, method, path, operation);
                }
            }
        }
    }
    text.push_str("\n## Objects\n");
    let schemas = document
        .pointer("/components/schemas")
        .and_then(Value::as_object);
    for (name, schema) in schemas.into_iter().flatten() {
        text.push_str(&format!("\n### {name}\n\n{}\n", said(schema)));
        write_properties(&mut text, schema);
    }
    Ok(text)
}

fn write_operation(text: &mut String, method: &str, path: &str, operation: &Value) {
    let method = method.to_uppercase();
    text.push_str(&format!("\n### `{method} {path}`\n\n"));
    for key in ["summary", "description"] {
        if let Some(words) = operation.get(key).and_then(Value::as_str) {
            text.push_str(&format!("{}\n\n", plain_text(words)));
        }
    }
    let parameters = operation.get("parameters").and_then(Value::as_array);
    if let Some(parameters) = parameters.filter(|all| !all.is_empty()) {
        text.push_str("| parameter | in | value | meaning |\n|---|---|---|---|\n");
        for one in parameters {
            let get = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
            let value = one.get("schema").map(kind).unwrap_or_default();
            let (name, place, meaning) = (get("name"), get("in"), cell(get("description")));
            text.push_str(&format!("| `{name}` | {place} | {value} | {meaning} |\n"));
        }
        text.push('\n');
    }
    let body = operation
        .pointer("/requestBody/content")
        .and_then(Value::as_object);
    for (media, content) in body.into_iter().flatten() {
        let schema = content.get("schema").map(kind).unwrap_or_default();
        text.push_str(&format!("Body: {schema} (`{media}`).\n\n"));
    }
    text.push_str("| status | body | meaning |\n|---|---|---|\n");
    let responses = operation.get("responses").and_then(Value::as_object);
    for (status, response) in responses.into_iter().flatten() {
        let contents = response.get("content").and_then(Value::as_object);
        let kinds = contents.into_iter().flatten();
        let kinds: Vec<String> = kinds
            .filter_map(|(_, content)| content.get("schema").map(kind))
            .collect();
        text.push_str(&format!(
            "| {status} | {} | {} |\n",
            kinds.join(", "),
            said(response)
        ));
    }
}

fn write_properties(text: &mut String, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|all| !all.is_empty()) else {
        let kind = kind(schema);
        if !kind.is_empty() {
            text.push_str(&format!("\nValue: {kind}.\n"));
        }
        return;
    };
    let required = schema.get("required").and_then(Value::as_array);
    text.push_str("\n| field | value | meaning |\n|---|---|---|\n");
    for (name, property) in properties {
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        let optional = if is_required { "" } else { ", optional" };
        let (kind, said) = (kind(property), said(property));
        text.push_str(&format!("| `{name}` | {kind}{optional} | {said} |\n"));
    }
}

/// What a value is, in few words; an object of the document is a link.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or(name);
        return format!("[{name}](#{})", name.to_ascii_lowercase());
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        if let Some(all) = schema.get(key).and_then(Value::as_array) {
            let mut kinds: Vec<String> = all.iter().map(kind).collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().map(|one| format!("`{one}`")).collect();
        return choices.join(", ");
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => {
            let items = schema.get("items").map(kind).unwrap_or_default();
            format!("list of {items}")
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => String::new(),
    }
}

fn said(value: &Value) -> String {
    cell(
        value
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default(),
    )
}

/// A text for a cell of a table.
fn cell(text: &str) -> String {
    plain_text(text).replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::text;

    #[test]
    fn an_operation_is_said_with_its_parameters_its_body_and_its_answers() {
        let document = json!({
            "tags": [{"name": "things", "description": "Things."}],
            "paths": {"/things/{id}": {"post": {
                "tags": ["things"], "summary": "Changes a thing.",
                "parameters": [{"name": "id", "in": "path", "schema": {"type": "string"}, "description": "Its | id"}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
                "responses": {"200": {"description": "Done."}}}}},
            "components": {"schemas": {"Thing": {"properties": {"size": {"type": "integer"}}, "required": ["size"]}}},
        });
        let text = text(&document).unwrap();
        let (_, text) = text.split_once("## things").unwrap();
        assert_eq!(
            text,
            "\n\nThings.\n\n### `POST /things/{id}`\n\nChanges a thing.\n\n\
             | parameter | in | value | meaning |\n|---|---|---|---|\n| `id` | path | string | Its \\| id |\n\n\
             Body: [Thing](#thing) (`application/json`).\n\n\
             | status | body | meaning |\n|---|---|---|\n| 200 |  | Done. |\n\n\
             ## Objects\n\n### Thing\n\n\n\n| field | value | meaning |\n|---|---|---|\n| `size` | integer |  |\n"
        );
    }
}
