//! Adds servers to a file of MCP servers, and removes them. Its comments and its order stay.

use std::io;
use std::path::{Path, PathBuf};

use jackfield_domain::ids::ToolboxId;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use crate::file::{self, Draft, Trust};
use crate::load::{Flags, MAX_SERVERS, read_if_there};
use crate::place::ConfigError;
use crate::replaced_file::{replace, text_of};
use crate::servers::id_of_name;
use crate::surroundings::Surroundings;

/// The file of MCP servers to which a person adds servers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerFile(PathBuf);

impl ServerFile {
    /// The file that flags, environment or configuration name, or else the user's own; `None` if there is none of
    /// these.
    ///
    /// # Errors
    ///
    /// A configuration file cannot be read.
    pub fn of(surroundings: &Surroundings, flags: &Flags) -> Result<Option<Self>, ConfigError> {
        if let Some(path) = &flags.mcp_config {
            return Ok(Some(Self(surroundings.directory.join(path))));
        }
        let named = match &flags.config {
            Some(path) => Some(path.clone()),
            None => surroundings
                .environment
                .variable("JACKFIELD_CONFIG")?
                .map(PathBuf::from),
        };
        let named = named.map(|path| surroundings.directory.join(path));
        let (path, other) = match named {
            Some(path) => (Some(path), None),
            None => (surroundings.user_file(), surroundings.user_servers()),
        };
        let Some(path) = path else {
            return Ok(None);
        };
        let mut draft = Draft::default();
        if let Some(bytes) = read_if_there(&path)? {
            file::read(&mut draft, &path, &bytes, Trust::Own);
        }
        let base = path.parent().unwrap_or(&surroundings.directory);
        let servers = draft
            .mcp_config
            .map(|file| surroundings.resolve(&file, base));
        Ok(servers.or(other).map(Self))
    }

    /// The path of the file, whether or not it exists.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Adds servers in the form that the file has; returns those that it had already, which stay as they are unless
    /// `replaces`. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or is not JSON.
    pub fn add(
        &self,
        servers: &[(ToolboxId, Value)],
        replaces: bool,
    ) -> io::Result<Vec<ToolboxId>> {
        let root = self.read()?;
        let object = object(&root)?;
        let mut known = Vec::new();
        for (id, server) in servers {
            match property(&object, id) {
                Some(property) if replaces => property.set_value(input(server)),
                Some(_) => known.push(id.clone()),
                None => {
                    table(&object)?.append(id.as_str(), input(server));
                }
            }
        }
        if known.len() < servers.len() {
            self.write(&root)?;
        }
        Ok(known)
    }

    /// Removes a server; returns whether it was there. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or is not JSON.
    pub fn remove(&self, id: &ToolboxId) -> io::Result<bool> {
        let root = self.read()?;
        let found = root.object_value().and_then(|object| property(&object, id));
        let Some(property) = found else {
            return Ok(false);
        };
        property.remove();
        self.write(&root)?;
        Ok(true)
    }

    fn read(&self) -> io::Result<CstRootNode> {
        let text = text_of(&self.0, MAX_SERVERS)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        CstRootNode::parse(text, &ParseOptions::default()).map_err(io::Error::other)
    }

    fn write(&self, root: &CstRootNode) -> io::Result<()> {
        replace(&self.0, &root.to_string())
    }
}

fn object(root: &CstRootNode) -> io::Result<CstObject> {
    let object = root.object_value();
    object.ok_or_else(|| io::Error::other("it is no JSON object"))
}

/// The table for new servers, which is created if there is none.
fn table(object: &CstObject) -> io::Result<CstObject> {
    let mut tables = TABLES.iter();
    let found = tables.find_map(|name| object.object_value(name));
    let found = found.or_else(|| object.object_value_or_create(TABLES[0]));
    found.ok_or_else(|| io::Error::other(format!("`{}` is no object there", TABLES[0])))
}

/// The server of this id.
fn property(object: &CstObject, id: &ToolboxId) -> Option<CstObjectProp> {
    let mut tables = TABLES.iter().filter_map(|name| object.object_value(name));
    tables.find_map(|table| {
        let mut servers = table.properties().into_iter();
        servers.find(|server| {
            let name = server.decoded_name();
            name.and_then(|name| id_of_name(&name).ok()).as_ref() == Some(id)
        })
    })
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Null => CstInputValue::Null,
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::Object(fields) => {
            let fields = fields.iter();
            CstInputValue::Object(
                fields
                    .map(|(name, field)| (name.clone(), input(field)))
                    .collect(),
            )
        }
        Value::String(text) => CstInputValue::String(text.clone()),
    }
}

/// The tables of servers; new files have the first one.
const TABLES: &[&str] = &["mcpServers", "servers"];
