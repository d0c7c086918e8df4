//! Servers of another program's file, in the form of our own.

use std::path::Path;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use serde_json::{Map, Value, json};

use crate::bounded_file::read_at_most;
use crate::load::MAX_SERVERS;
use crate::place::{ConfigError, ConfigProblem};
use crate::servers::{McpServerEntry, OAuthEntry};
use crate::surroundings::Surroundings;

/// The servers of another program's file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportedServers {
    /// What is left out, and why.
    pub remarks: Vec<ConfigProblem>,
    /// The servers that can be used, as entries of a file of servers.
    pub servers: Vec<(ToolboxId, Value)>,
}

impl ImportedServers {
    /// Reads a file in any of the common forms. Whether its servers are trusted is not taken over.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no servers but wrong ones.
    pub fn read(surroundings: &Surroundings, path: &Path) -> Result<Self, ConfigError> {
        let path = surroundings.directory.join(path);
        let bytes = read_at_most(&path, MAX_SERVERS).map_err(|source| ConfigError::Unreadable {
            path: path.clone(),
            source,
        })?;
        let file = crate::servers::read(surroundings, &path, &bytes);
        if file.servers.is_empty() {
            ConfigError::check(file.problems)?;
            return Ok(Self {
                remarks: file.remarks,
                servers: Vec::new(),
            });
        }
        let wrong = |server: &McpServerEntry| {
            let key = server.place.key.as_deref().unwrap_or_default();
            let mut keys = file
                .problems
                .iter()
                .filter_map(|problem| problem.place.key.as_deref());
            keys.any(|wrong| wrong == key || wrong.starts_with(&format!("{key}.")))
        };
        let servers = file.servers.iter().filter(|server| !wrong(server));
        let servers = servers
            .map(|server| (server.id.clone(), entry(server)))
            .collect();
        let mut remarks = file.remarks;
        let trusted = file.servers.iter().filter(|server| server.trusted);
        remarks.extend(trusted.map(|server| {
            let mut place = server.place.clone();
            place.key = place.key.map(|key| format!("{key}.trust"));
            ConfigProblem::new(place, "left out: whom you trust is not taken over")
        }));
        remarks.extend(file.problems);
        Ok(Self { remarks, servers })
    }
}

/// The entry of a server; paths do not depend on the file that it stands in.
fn entry(server: &McpServerEntry) -> Value {
    let (base, _) = &server.base;
    let absolute = |path: &str| {
        let is_free = path.starts_with(['/', '~', '$']) || Path::new(path).is_absolute();
        match is_free {
            true => path.to_owned(),
            false => base.join(path).display().to_string(),
        }
    };
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| {
        let is_empty = match &value {
            Value::Array(items) => items.is_empty(),
            Value::Null => true,
            Value::Object(fields) => fields.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        if !is_empty {
            fields.insert(name.to_owned(), value);
        }
    };
    let is_path = server.command.contains('/');
    let command = match is_path {
        true => absolute(&server.command),
        false => server.command.to_string(),
    };
    match &server.url {
        Some(url) => {
            set("type", json!("http"));
            set("url", json!(&**url));
        }
        None => set("command", json!(command)),
    }
    let headers = server.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), json!(&**value)));
    set("headers", Value::Object(headers.collect()));
    set(
        "args",
        json!(
            server
                .arguments
                .iter()
                .map(|one| &**one)
                .collect::<Vec<_>>()
        ),
    );
    let variables = server.environment.iter();
    let variables = variables.map(|(name, value)| (name.to_string(), json!(&**value)));
    set("env", Value::Object(variables.collect()));
    set("oauth", Value::Object(sign_in(&server.oauth)));
    set("cwd", json!(server.folder.as_deref().map(absolute)));
    set("name", json!(server.name.as_deref()));
    set("description", json!(server.description.as_deref()));
    set("prefix", json!(server.prefix.as_deref()));
    let roots = server.roots.iter().map(|root| {
        let is_uri = root.starts_with("file://");
        Value::from(if is_uri {
            root.to_string()
        } else {
            absolute(root)
        })
    });
    set("roots", Value::Array(roots.collect()));
    set(
        "lazy",
        if server.lazy {
            json!(true)
        } else {
            Value::Null
        },
    );
    set(
        "enabled",
        if server.enabled {
            Value::Null
        } else {
            json!(false)
        },
    );
    let time =
        |time: Option<Duration>| time.map(|time| humantime::format_duration(time).to_string());
    set("timeout", json!(time(server.timeout)));
    set("start_timeout", json!(time(server.start_timeout)));
    let mut tools = Map::new();
    for (name, patterns) in [("allow", &server.tools.allow), ("deny", &server.tools.deny)] {
        if !patterns.is_empty() {
            tools.insert(name.to_owned(), json!(patterns));
        }
    }
    set("tools", Value::Object(tools));
    Value::Object(fields)
}

/// The field `oauth` of a server.
fn sign_in(oauth: &OAuthEntry) -> Map<String, Value> {
    let OAuthEntry {
        allow_private,
        client_id,
        client_metadata_url,
        client_secret,
        redirect_uri,
        scope,
    } = oauth;
    let mut fields = Map::new();
    if !allow_private.is_empty() {
        let allowed = allow_private.iter().map(|one| json!(&**one));
        fields.insert("allow_private".to_owned(), allowed.collect());
    }
    for (name, text) in [
        ("client_id", client_id),
        ("client_metadata_url", client_metadata_url),
        ("client_secret", client_secret),
        ("redirect_uri", redirect_uri),
        ("scope", scope),
    ] {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(&**text));
        }
    }
    fields
}
