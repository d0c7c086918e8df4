//! Reads a file of servers, in either of the two shapes that people have.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use jackfield_tools_mcp::Patterns;
use serde_json::{Value, json};

use crate::near::did_you_mean;
use crate::place::Problem;
use crate::servers::McpServer;
use crate::servers::fields::{Fields, Pages, duration, filled, flag, text, texts};
use crate::surroundings::Surroundings;
use crate::web;

/// The servers of a file, and everything that is wrong with it.
pub(crate) fn read(
    surroundings: &Surroundings,
    path: &Path,
    bytes: &[u8],
) -> (Vec<McpServer>, Vec<Problem>) {
    let mut pages = Pages::new(surroundings.shown(path));
    // Editors on Windows begin files with it.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let root: Value = match serde_json::from_slice(bytes) {
        Ok(root) => root,
        Err(error) => {
            let place = pages.place(None, Some(error.line()));
            // The place is told already, and comments are what most stumble over.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            let problem = Problem::new(place, format!("this is not JSON: {message}"));
            let help =
                "mend that line; JSON has no comments, and no comma after the last of a list";
            return (Vec::new(), vec![problem.with_help(help)]);
        }
    };
    if let Ok(text) = std::str::from_utf8(bytes) {
        pages.index(text);
    }
    let folder = path.parent().unwrap_or(&surroundings.directory);
    let reader = Reader {
        base: (folder.to_owned(), surroundings.home.clone()),
        pages: &pages,
    };
    let servers = reader.servers(&root);
    (servers, pages.problems())
}

/// Every field that may be in a file of servers, with `NAME` for a server of it.
#[must_use]
pub fn server_keys() -> Vec<String> {
    let pages = Pages::new(Path::new("sample"));
    let reader = Reader {
        base: (PathBuf::new(), None),
        pages: &pages,
    };
    let server = json!({ "id": "NAME", "command": "NAME", "tools": {} });
    reader.servers(&json!({ "servers": [server], "mcpServers": { "NAME": server } }));
    let asked = pages.asked().into_iter();
    let mut keys: Vec<String> = asked.map(|key| key.replace("[0]", ".NAME")).collect();
    keys.sort();
    keys.dedup();
    keys
}

struct Reader<'a> {
    base: (PathBuf, Option<PathBuf>),
    pages: &'a Pages,
}

impl<'a> Reader<'a> {
    fn servers(&self, root: &'a Value) -> Vec<McpServer> {
        let Some(mut root) = Fields::of(self.pages, root, String::new()) else {
            return Vec::new();
        };
        let mut servers: Vec<McpServer> = Vec::new();
        let mut found: Vec<(Option<&str>, Fields<'a>)> = Vec::new();
        match root.find("servers") {
            None => {}
            Some(Value::Array(list)) => {
                for (nth, value) in list.iter().enumerate() {
                    let fields = Fields::of(self.pages, value, format!("servers[{nth}]"));
                    found.extend(fields.map(|fields| (None, fields)));
                }
            }
            Some(_) => root.problem(
                "servers",
                "a list of servers was expected; a table of servers by id is called `mcpServers`",
            ),
        }
        if let Some(table) = root.find("mcpServers") {
            let table = Fields::of(self.pages, table, "mcpServers".to_owned());
            for (id, value) in table.iter().flat_map(Fields::all) {
                let path = format!("mcpServers.{id}");
                let fields = Fields::of(self.pages, value, path);
                found.extend(fields.map(|fields| (Some(id.as_str()), fields)));
            }
        }
        if found.len() > MOST {
            root.problem(
                "servers",
                format!("there are more than {MOST} servers in this file"),
            );
            found.truncate(MOST);
        }
        root.finish();
        for (id, fields) in found {
            let place = fields.place();
            let Some(server) = self.server(id, fields) else {
                continue;
            };
            if servers.iter().any(|other| other.id == server.id) {
                let message = format!("there is a server `{}` in this file already", server.id);
                self.pages.problem(Problem::new(place, message));
                continue;
            }
            servers.push(server);
        }
        servers
    }

    fn server(&self, id: Option<&str>, mut fields: Fields<'a>) -> Option<McpServer> {
        let id = match id {
            Some(id) => parse_id(id).map_err(|message| {
                let place = fields.place();
                self.pages.problem(Problem::new(place, message));
            }),
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
        // Another transport is no problem of a server that is not used.
        let spoken = transport(&mut fields);
        if let (Err((name, message)), true) = (&spoken, enabled) {
            fields.problem(name, message.as_str());
        }
        let command = fields.take("command", filled);
        if command.is_none() && spoken.is_ok() && fields.find("command").is_none() {
            fields.problem("command", "missing: the program that is the server");
        }
        let server = McpServer {
            arguments: fields.take("args", texts).unwrap_or_default(),
            base: self.base.clone(),
            command: command.unwrap_or_default(),
            description: fields.take("description", text),
            enabled,
            environment: environment(&mut fields),
            folder: fields.take("cwd", filled),
            // One that cannot be used is not kept: there are problems.
            id: id.ok()?,
            itself: false,
            lazy: fields.take("lazy", flag).unwrap_or_default(),
            name: fields.take("name", text),
            place: fields.place(),
            prefix: fields.take("prefix", prefix),
            start_timeout: fields.take("start_timeout", start_timeout),
            timeout: fields.take("timeout", duration),
            tools: patterns(&mut fields, self.pages),
            trusted: fields.take("trust", flag).unwrap_or_default(),
        };
        fields.finish();
        Some(server)
    }
}

/// What the server is reached by: standard input and output, or why not.
fn transport(fields: &mut Fields<'_>) -> Result<(), (&'static str, String)> {
    let mut spoken = Ok(());
    for name in ["transport", "type"] {
        let Some(said) = fields.take(name, text) else {
            continue;
        };
        if &*said != STDIO {
            let hint = if did_you_mean(&said, &[STDIO]).contains("did you mean") {
                did_you_mean(&said, &[STDIO])
            } else {
                format!(": servers are reached over `{STDIO}` only so far")
            };
            spoken = Err((name, format!("`{said}` is not a transport{hint}")));
        }
    }
    for name in ["url", "headers"] {
        if fields.find(name).is_some() && spoken.is_ok() {
            let message = "servers at an address are not reached yet: give a `command`, or set \
                           \"enabled\": false";
            spoken = Err((name, message.to_owned()));
        }
    }
    spoken
}

fn environment(fields: &mut Fields<'_>) -> Vec<(Arc<str>, Arc<str>)> {
    let mut variables = Vec::new();
    let Some(value) = fields.find("env") else {
        return variables;
    };
    let Some(table) = value.as_object() else {
        fields.problem("env", "an object of texts was expected");
        return variables;
    };
    for (name, value) in table {
        let key = format!("env.{name}");
        if name.is_empty() || name.contains(['=', '\0']) {
            fields.problem(&key, "this is no name of an environment variable");
        }
        match text(value) {
            Ok(value) => variables.push((name.as_str().into(), value)),
            Err(message) => fields.problem(&key, message),
        }
    }
    variables
}

/// `{"allow": […], "deny": […]}`, or a list of what is allowed.
fn patterns(fields: &mut Fields<'_>, pages: &Pages) -> Patterns {
    let owned = |texts: Option<Vec<Arc<str>>>| {
        let texts = texts.unwrap_or_default();
        texts.iter().map(ToString::to_string).collect()
    };
    let Some(value) = fields.find("tools") else {
        return Patterns::default();
    };
    if value.is_array() {
        return Patterns {
            allow: owned(fields.take("tools", texts)),
            deny: Vec::new(),
        };
    }
    let Some(mut tools) = Fields::of(pages, value, fields.key("tools")) else {
        return Patterns::default();
    };
    let allow = owned(tools.take("allow", texts));
    let deny = owned(tools.take("deny", texts));
    tools.finish();
    Patterns { allow, deny }
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

/// What tools' names begin with.
fn prefix(value: &Value) -> Result<Arc<str>, String> {
    let text = text(value)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.len() > LONGEST_PREFIX || !text.chars().all(fits) {
        return Err(format!(
            "a prefix has at most {LONGEST_PREFIX} letters, digits, `_` and `-`"
        ));
    }
    Ok(text)
}

fn start_timeout(value: &Value) -> Result<Duration, String> {
    let limit = duration(value)?;
    if limit > LONGEST_START {
        return Err("this must be two minutes at most".to_owned());
    }
    Ok(limit)
}

/// The toolbox that every pattern `builtin/*` is about.
const BUILTIN: &str = "builtin";
/// The longest beginning of tools' names.
const LONGEST_PREFIX: usize = 32;
/// A turn waits no longer for tools.
const LONGEST_START: Duration = Duration::from_secs(120);
/// The most servers of a file.
const MOST: usize = 200;
const STDIO: &str = "stdio";
