//! Reads a file of servers, in either of the two common forms, or as other programs keep it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use jackfield_tools_mcp::Patterns;
use serde_json::{Value, json};

use crate::place::ConfigProblem;
use crate::servers::McpServerEntry;
use crate::servers::comments::blanked;
use crate::servers::fields::{FileProblems, ServerFields, duration, filled, flag, text, texts};
use crate::servers::foreign::{self, NamedTransport, UnsupportedServer};
use crate::servers::oauth;
use crate::surroundings::Surroundings;
use crate::web;

/// The content of a file of servers.
#[derive(Default)]
pub(crate) struct ServersFile {
    /// Its problems.
    pub(crate) problems: Vec<ConfigProblem>,
    /// Remarks about what is left out, as other programs use such files, too.
    pub(crate) remarks: Vec<ConfigProblem>,
    /// Its servers.
    pub(crate) servers: Vec<McpServerEntry>,
}

/// Reads a file of servers.
pub(crate) fn read(surroundings: &Surroundings, path: &Path, bytes: &[u8]) -> ServersFile {
    let mut pages = FileProblems::new(surroundings.display_path(path));
    let (root, text) = match json(bytes) {
        Ok(root) => root,
        Err(error) => {
            let place = pages.place(None, Some(error.line()));
            // The message includes the position already.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            let problem = ConfigProblem::new(place, format!("this is not JSON: {message}"));
            return ServersFile {
                problems: vec![problem.with_help("mend that line")],
                ..ServersFile::default()
            };
        }
    };
    if let Ok(text) = std::str::from_utf8(&text) {
        pages.index(text);
    }
    let folder = path.parent().unwrap_or(&surroundings.directory);
    let reader = ServersReader {
        base: (folder.to_owned(), surroundings.home.clone()),
        pages: &pages,
    };
    let servers = reader.servers(&root);
    let (problems, remarks) = pages.into_problems();
    ServersFile {
        problems,
        remarks,
        servers,
    }
}

/// Parses a file that may have comments and trailing commas; also returns its text without them.
pub(crate) fn json(bytes: &[u8]) -> Result<(Value, Cow<'_, [u8]>), serde_json::Error> {
    // Editors on Windows write a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Ok(root) = serde_json::from_slice(bytes) {
        return Ok((root, bytes.into()));
    }
    let plain = blanked(bytes);
    Ok((serde_json::from_slice(&plain)?, plain.into()))
}

/// Every field that a file of servers may have, with `NAME` for the name of a server.
#[must_use]
pub fn server_keys() -> Vec<String> {
    let pages = FileProblems::new(Path::new("sample"));
    let reader = ServersReader {
        base: (PathBuf::new(), None),
        pages: &pages,
    };
    let server = json!({ "id": "NAME", "command": "NAME", "oauth": {}, "tools": {} });
    reader.servers(&json!({ "servers": [server], "mcpServers": { "NAME": server } }));
    let read_fields = pages.read_fields().into_iter();
    let mut keys: Vec<String> = read_fields.map(|key| key.replace("[0]", ".NAME")).collect();
    keys.sort();
    keys.dedup();
    keys
}

struct ServersReader<'a> {
    base: (PathBuf, Option<PathBuf>),
    pages: &'a FileProblems,
}

impl<'a> ServersReader<'a> {
    fn servers(&self, root: &'a Value) -> Vec<McpServerEntry> {
        let Some(mut root) = ServerFields::of(self.pages, root, String::new()) else {
            return Vec::new();
        };
        let mut servers: Vec<McpServerEntry> = Vec::new();
        let mut found: Vec<(Option<&str>, ServerFields<'a>)> = Vec::new();
        match root.find("servers") {
            None => {}
            Some(Value::Array(list)) => {
                for (nth, value) in list.iter().enumerate() {
                    let fields = ServerFields::of(self.pages, value, format!("servers[{nth}]"));
                    found.extend(fields.map(|fields| (None, fields)));
                }
            }
            Some(table) => self.table("servers", table, &mut found),
        }
        if let Some(table) = root.find("mcpServers") {
            self.table("mcpServers", table, &mut found);
        }
        if found.len() > LIMIT {
            root.problem(
                "servers",
                format!("there are more than {LIMIT} servers in this file"),
            );
            found.truncate(LIMIT);
        }
        root.finish_shared();
        for (name, fields) in found {
            let place = fields.place();
            let Some(server) = self.server(name, fields) else {
                continue;
            };
            if servers.iter().any(|other| other.id == server.id) {
                let message = format!("there is a server `{}` in this file already", server.id);
                if name.is_none_or(|name| name == server.id.as_str()) {
                    self.pages.problem(ConfigProblem::new(place, message));
                } else {
                    let message = format!("left out: {message}");
                    self.pages.remark(ConfigProblem::new(place, message));
                }
                continue;
            }
            servers.push(server);
        }
        servers
    }

    /// The servers of a table, by name.
    fn table(
        &self,
        key: &str,
        table: &'a Value,
        found: &mut Vec<(Option<&'a str>, ServerFields<'a>)>,
    ) {
        let table = ServerFields::of(self.pages, table, key.to_owned());
        for (name, value) in table.iter().flat_map(ServerFields::all) {
            let fields = ServerFields::of(self.pages, value, format!("{key}.{name}"));
            found.extend(fields.map(|fields| (Some(name.as_str()), fields)));
        }
    }

    fn server(&self, name: Option<&str>, mut fields: ServerFields<'a>) -> Option<McpServerEntry> {
        let id = match name {
            Some(name) => match id_of_name(name) {
                Ok(id) => Ok(id),
                Err(why) => {
                    fields.remark(None, format!("left out: {why}"));
                    return None;
                }
            },
            None => match fields.find("id") {
                Some(_) => fields.take("id", |id| parse_id(&text(id)?)).ok_or(()),
                None => {
                    fields.problem("id", "missing: each server of a list has an id");
                    Err(())
                }
            },
        };
        let enabled = fields.take("enabled", flag);
        let disabled = fields.take("disabled", flag);
        let enabled = enabled.unwrap_or(true) && !disabled.unwrap_or(false);
        let named = foreign::transport(&mut fields);
        let is_known = named.is_ok();
        let unsupported = named.as_ref().err();
        let unsupported = unsupported
            .cloned()
            .or_else(|| foreign::missing_input(&mut fields));
        match &unsupported {
            Some(UnsupportedServer::Slip(name, message)) => fields.problem(name, message.as_str()),
            // A disabled server is not worth a remark.
            Some(UnsupportedServer::LeftOut(why)) if enabled => {
                fields.remark(None, format!("left out: {why}"));
                return None;
            }
            Some(UnsupportedServer::Mendable(why)) if enabled => {
                let remark = ConfigProblem::new(fields.place(), format!("left out: {why}"));
                self.pages.remark(remark.with_help(NOT_STARTED));
                return None;
            }
            Some(UnsupportedServer::LeftOut(_) | UnsupportedServer::Mendable(_)) | None => {}
        }
        let has_command = fields.find("command").is_some();
        let has_url = foreign::has_url(&mut fields);
        let named = named.ok().flatten();
        let is_open = named.is_none();
        let over_http = match named {
            Some(NamedTransport::Http) => true,
            Some(NamedTransport::Stdio) => false,
            None => has_url,
        };
        if is_known && is_open && has_command && has_url {
            let message = "both `command` and `url` are here: a server has one of them, or a `type` that says which counts";
            fields.problem("url", message);
        }
        let (others, owner): (&[&'static str], _) = match over_http {
            true => (&["args", "cwd", "env"], "command"),
            false => (&["headers", "oauth"], "url"),
        };
        for name in others {
            if is_known && fields.find(name).is_some_and(|value| !is_empty(value)) {
                let message = format!("left out: only a server with a `{owner}` has this");
                fields.remark(Some(name), message);
            }
        }
        let url = foreign::url(&mut fields).filter(|_| over_http);
        let headers = headers(&mut fields);
        let oauth = oauth::read(&mut fields, self.pages);
        let command = fields.take("command", filled).filter(|_| !over_http);
        if is_known && over_http && !has_url {
            fields.problem("url", "missing: the address of the server");
        }
        if is_known && !over_http && !has_command {
            let message = "missing: the program that is the server, or its `url`";
            fields.problem("command", message);
        }
        let id = id.ok();
        let changed = name.filter(|name| id.as_ref().is_some_and(|id| id.as_str() != *name));
        if let (Some(id), Some(_)) = (&id, changed) {
            let message =
                format!("its tools are named after `{id}`, as names of tools are limited");
            fields.remark(None, message);
        }
        let server = McpServerEntry {
            arguments: fields.take("args", texts).unwrap_or_default(),
            base: self.base.clone(),
            command: command.unwrap_or_default(),
            description: fields.take("description", text),
            enabled,
            environment: environment(&mut fields),
            folder: fields.take("cwd", filled),
            headers: if over_http { headers } else { Vec::new() },
            // A server without a valid id has a problem, and is not kept.
            id: id?,
            itself: false,
            lazy: fields.take("lazy", flag).unwrap_or_default(),
            name: fields
                .take("name", text)
                .or_else(|| changed.map(Into::into)),
            oauth,
            owner: None,
            place: fields.place(),
            prefix: fields.take("prefix", prefix),
            roots: fields.take("roots", texts).unwrap_or_default(),
            start_timeout: limit(&mut fields, self.pages, "start_timeout", start_timeout),
            timeout: limit(&mut fields, self.pages, "timeout", duration),
            tools: patterns(&mut fields, self.pages),
            trusted: fields.take("trust", flag).unwrap_or_default(),
            url,
        };
        fields.finish_shared();
        Some(server)
    }
}

/// Whether a field says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Null | Value::Number(_) => false,
    }
}

/// Parses a duration. A bare number is ambiguous: seconds to one program, milliseconds to another.
fn limit(
    fields: &mut ServerFields<'_>,
    pages: &FileProblems,
    name: &'static str,
    parse: fn(&Value) -> Result<Duration, String>,
) -> Option<Duration> {
    if fields.find(name).is_some_and(Value::is_number) {
        let place = fields.place_of(name);
        let remark = ConfigProblem::new(place, "left out: it is not known of what unit this is");
        pages.remark(remark.with_help(WITH_A_UNIT));
        return None;
    }
    fields.take(name, parse)
}

fn environment(fields: &mut ServerFields<'_>) -> Vec<(Arc<str>, Arc<str>)> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    let what = "this is no name of an environment variable";
    named_texts(fields, "env", is_name, what)
}

fn headers(fields: &mut ServerFields<'_>) -> Vec<(Arc<str>, Arc<str>)> {
    let is_name = |name: &str| http::HeaderName::try_from(name).is_ok();
    named_texts(fields, "headers", is_name, "this is no name of a header")
}

/// Reads an object of texts with free names. A number and a boolean count as text, and `null` as absent.
fn named_texts(
    fields: &mut ServerFields<'_>,
    field: &'static str,
    is_name: impl Fn(&str) -> bool,
    what: &str,
) -> Vec<(Arc<str>, Arc<str>)> {
    let mut texts = Vec::new();
    let Some(value) = fields.find(field) else {
        return texts;
    };
    let Some(table) = value.as_object() else {
        fields.problem(field, "an object of texts was expected");
        return texts;
    };
    for (name, value) in table {
        let key = format!("{field}.{name}");
        if !is_name(name) {
            fields.problem(&key, what);
        }
        match value {
            Value::Bool(_) | Value::Number(_) => {
                texts.push((name.as_str().into(), value.to_string().into()));
            }
            // The server does not get this one.
            Value::Null => {}
            Value::Array(_) | Value::Object(_) | Value::String(_) => match text(value) {
                Ok(value) => texts.push((name.as_str().into(), value)),
                Err(message) => fields.problem(&key, message),
            },
        }
    }
    texts
}

/// Reads `{"allow": […], "deny": […]}` or a list of allowed tools, and the equivalents of other programs.
fn patterns(fields: &mut ServerFields<'_>, pages: &FileProblems) -> Patterns {
    let owned = |texts: Option<Vec<Arc<str>>>| -> Vec<String> {
        let texts = texts.unwrap_or_default();
        texts.iter().map(ToString::to_string).collect()
    };
    let mut patterns = Patterns::default();
    if let Some(value) = fields.find("tools") {
        if value.is_array() {
            patterns.allow = owned(fields.take("tools", texts));
        } else if let Some(mut tools) = ServerFields::of(pages, value, fields.key("tools")) {
            patterns.allow = owned(tools.take("allow", texts));
            patterns.deny = owned(tools.take("deny", texts));
            tools.finish();
        }
    }
    foreign::patterns(fields, &mut patterns);
    patterns
}

/// The id of a server with this name in a table; other programs allow more characters.
pub(crate) fn id_of_name(name: &str) -> Result<ToolboxId, String> {
    foreign::id(name).and_then(|id| parse_id(&id))
}

/// Parses the id of a server.
///
/// # Errors
///
/// Why it is invalid, or taken by tools that are no server's.
pub fn server_id(id: &str) -> Result<ToolboxId, String> {
    parse_id(id)
}

fn parse_id(id: &str) -> Result<ToolboxId, String> {
    if id == BUILTIN {
        return Err(format!("`{BUILTIN}` is the name of the built-in tools"));
    }
    if [web::OWN, web::FOUND].contains(&id) {
        return Err(format!(
            "`{id}` is the name of the web APIs under [web.tools]"
        ));
    }
    ToolboxId::parse(id).map_err(|error| error.to_string())
}

/// Parses the prefix of tool names.
fn prefix(value: &Value) -> Result<Arc<str>, String> {
    let text = text(value)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.len() > MAX_PREFIX || !text.chars().all(fits) {
        return Err(format!(
            "a prefix has at most {MAX_PREFIX} letters, digits, `_` and `-`"
        ));
    }
    Ok(text)
}

fn start_timeout(value: &Value) -> Result<Duration, String> {
    let limit = duration(value)?;
    if limit > MAX_START {
        return Err("this must be two minutes at most".to_owned());
    }
    Ok(limit)
}

/// Help: how a length of time is written.
const WITH_A_UNIT: &str = "write it as \"60s\"";
/// Help for a server that the person can mend.
const NOT_STARTED: &str = "until then, the server is not started";
/// The toolbox of the patterns `builtin/*`.
const BUILTIN: &str = "builtin";
/// The maximum length of a prefix of tool names.
const MAX_PREFIX: usize = 32;
/// The maximum start timeout: turns wait no longer for tools.
const MAX_START: Duration = Duration::from_secs(120);
/// The maximum number of servers in a file.
const LIMIT: usize = 200;
