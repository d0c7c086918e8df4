//! The configuration, for people and for programs.

use std::io::{self, Write};

use jackfield_assembly::{
    Config, Explanation, FileState, LocalFindings, McpServerEntry, Origin, SearchedFile,
    ValueSource,
};
use serde_json::{Value, json};

use crate::render::plain::{DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

/// Prints the effective configuration, each value with its origin.
///
/// # Errors
///
/// The stream cannot be written.
pub fn settings(out: &mut impl Write, config: &Config, as_json: bool) -> io::Result<()> {
    let explained = config.explain();
    if as_json {
        return document(
            out,
            &json!({
                "files": config.files,
                "values": explained.iter().map(described).collect::<Vec<_>>(),
                "servers": config.servers.values().map(server).collect::<Vec<_>>(),
                "remarks": config.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
        );
    }
    if config.files.is_empty() {
        writeln!(
            out,
            "{DIM}# no file is read; `jackfield config path` says where they are looked for{DIM:#}"
        )?;
    }
    for file in &config.files {
        let file = file.display().to_string();
        writeln!(out, "{DIM}# read: {}{DIM:#}", words::printable(&file))?;
    }
    for value in &explained {
        let written = words::shortened(&toml(&value.value), MAX_LENGTH);
        let origin = value.place.short();
        writeln!(
            out,
            "{NAME}{}{NAME:#} = {written}  {DIM}# {}{DIM:#}",
            words::printable(&value.key),
            words::printable(&origin)
        )?;
    }
    if !config.servers.is_empty() {
        writeln!(out, "\n{DIM}# MCP servers{DIM:#}")?;
    }
    for server in config.servers.values() {
        let (state, style) = if server.enabled {
            ("on", GOOD)
        } else {
            ("off", WARM)
        };
        let url = server.shown_url();
        let reached = url.unwrap_or_else(|| server.shown_command().join(" "));
        let command = words::shortened(&reached, MAX_LENGTH);
        writeln!(
            out,
            "{NAME}{}{NAME:#}  {style}{state}{style:#}  {command}  {DIM}# {}{DIM:#}",
            server.id,
            words::printable(&server.place.short())
        )?;
    }
    out.flush()
}

/// Prints the places where files are looked for.
///
/// # Errors
///
/// The stream cannot be written.
pub fn places(out: &mut impl Write, files: &[SearchedFile], as_json: bool) -> io::Result<()> {
    if as_json {
        let all = files.iter().map(|looked| {
            json!({
                "path": looked.path,
                "state": state(looked.state).0,
                "what": looked.what,
            })
        });
        return document(out, &all.collect());
    }
    for file in files {
        let (_, words, style) = state(file.state);
        let path = file.path.display().to_string();
        writeln!(
            out,
            "{style}{words:9}{style:#}  {}  {DIM}# {}{DIM:#}",
            words::printable(&path),
            file.what
        )?;
    }
    out.flush()
}

/// Prints a JSON Schema.
///
/// # Errors
///
/// The stream cannot be written.
pub fn schema(out: &mut impl Write, schema: &Value) -> io::Result<()> {
    document(out, schema)
}

/// The findings on this machine, one line each.
#[must_use]
pub fn found(found: &LocalFindings) -> Vec<String> {
    let keys = found.keys.iter();
    let keys =
        keys.map(|(provider, variable)| format!("found: a key for {provider} in {variable}"));
    let local = found.local.iter().map(|server| {
        let models = words::counted(server.models.len() as u64, "model");
        format!("found: {} on this machine with {models}", server.name)
    });
    let servers = found.servers.iter().map(|servers| {
        let count = words::counted(servers.servers.len() as u64, "MCP server");
        let (path, of) = (servers.path.display(), servers.owner);
        format!("found: {path} ({of}) with {count}")
    });
    let all: Vec<String> = keys.chain(local).chain(servers).collect();
    if all.is_empty() {
        return vec!["found: no key, no models on this machine, no MCP servers".to_owned()];
    }
    all
}

const fn state(state: FileState) -> (&'static str, &'static str, anstyle::Style) {
    match state {
        FileState::Missing => ("missing", "not there", DIM),
        FileState::Read => ("read", "read", GOOD),
        FileState::Unused => ("unused", "not used", WARM),
    }
}

fn described(value: &Explanation) -> Value {
    json!({ "key": value.key, "value": value.value, "origin": origin(&value.place) })
}

fn server(server: &McpServerEntry) -> Value {
    json!({
        "id": server.id.as_str(),
        "enabled": server.enabled,
        "command": server.shown_command(),
        "url": server.shown_url(),
        "origin": origin(&server.place),
    })
}

/// The origin of a value, for programs.
pub(super) fn origin(place: &ValueSource) -> Value {
    match &place.origin {
        Origin::File(path) => json!({ "kind": "file", "file": path, "line": place.line }),
        Origin::Flag(name) => json!({ "kind": "flag", "name": name }),
        Origin::Variable(name) => json!({ "kind": "environment", "name": name }),
        Origin::Default | _ => json!({ "kind": "default" }),
    }
}

/// A value in TOML syntax.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| format!("{name} = {}", toml(field)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The maximum length of a value, in characters.
const MAX_LENGTH: usize = 100;
