//! The MCP servers of users and teams: set, listed, switched and taken away by an administrator.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::sync::Arc;

use jackfield_assembly::Registry;
use jackfield_domain::directory::{EntryName, OwnEndpoint, OwnServer, ServerOwner};
use jackfield_engine::Credential;
use serde_json::Value;

use crate::args::{NamedServer, OwnServerCommand, Source};
use crate::commands::directory::{author, with_directory, with_directory_and_secrets};
use crate::commands::session_journal::JournalAccess;
use crate::commands::{ask, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;
use crate::secret_line;

/// Runs a command on the servers of the owner that `owner` makes of a name.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(crate) async fn run(
    command: OwnServerCommand,
    owner_of: fn(EntryName) -> ServerOwner,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let owner_of = |name: &str| EntryName::parse(name).map(owner_of);
    match command {
        OwnServerCommand::DisableServer(server) => {
            let owner = owner_of(&server.owner)?;
            switch(&owner, &server, true, registry).await
        }
        OwnServerCommand::EnableServer(server) => {
            let owner = owner_of(&server.owner)?;
            switch(&owner, &server, false, registry).await
        }
        OwnServerCommand::ListServers {
            owner,
            source,
            json,
        } => list(&owner_of(&owner)?, &source, json, registry).await,
        OwnServerCommand::RemoveServer(server) => {
            let owner = owner_of(&server.owner)?;
            remove(&owner, &server, registry).await
        }
        OwnServerCommand::SetServer {
            owner,
            name,
            url,
            program,
            header,
            variable,
            source,
        } => {
            let endpoint = match (url, program) {
                (Some(url), _) => OwnEndpoint::Http(url.into()),
                (None, program) => OwnEndpoint::Program(program.unwrap_or_default().into()),
            };
            let server = OwnServer {
                endpoint,
                is_disabled: false,
                is_removed: false,
                name: name.into(),
                owner: owner_of(&owner)?,
                secrets: header.into_iter().chain(variable).map(Into::into).collect(),
            };
            set(server, &source, registry).await
        }
    }
}

async fn set(
    server: OwnServer,
    source: &Source,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    // What is wrong there is reported before secrets are typed.
    ask::load_config(&ask::flags_without_servers(source))?;
    let secrets = read_secrets(&server.secrets)?;
    let by = author();
    let set = with_directory_and_secrets(source, registry, async |directory| {
        directory.set_server(&by, server, &secrets).await
    });
    let server = set.await?;
    let toolbox = server
        .toolbox()
        .map(|id| id.to_string())
        .unwrap_or_default();
    render::remark(&format!(
        "set: the server {} of {}",
        server.name, server.owner
    ));
    render::remark(&format!(
        "its tools are {toolbox}/…, as `x-jackfield-tools` and rules name them"
    ));
    Ok(Exit::Answered)
}

/// The values of these headers or variables: from the terminal without an echo, or else lines of standard input, in this
/// order.
fn read_secrets(names: &[Arc<str>]) -> Result<Vec<(Arc<str>, Credential)>, CommandError> {
    let unreadable = |error: io::Error| {
        CommandError::new(Exit::Usage, "the values cannot be read").with_cause(&error)
    };
    let mut values = Vec::new();
    if names.is_empty() {
        return Ok(values);
    }
    let mut lines = Vec::new();
    if io::stdin().is_terminal() {
        for name in names {
            let line = secret_line::read(&format!("value of {name} (shown as stars): "));
            lines.push(line.map_err(unreadable)?);
        }
    } else {
        let mut text = String::new();
        let read = io::stdin().take(MAX_INPUT).read_to_string(&mut text);
        read.map_err(unreadable)?;
        lines.extend(text.lines().map(str::to_owned));
    }
    if lines.len() != names.len() {
        let message = format!(
            "standard input has {} lines, and there are {} headers or variables: one line is the value of one",
            lines.len(),
            names.len()
        );
        return Err(CommandError::new(Exit::Usage, message));
    }
    for (name, line) in names.iter().zip(lines) {
        values.push((Arc::clone(name), Credential::new(line.trim())));
    }
    Ok(values)
}

async fn remove(
    owner: &ServerOwner,
    NamedServer { name, source, .. }: &NamedServer,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let by = author();
    let removed = with_directory(source, JournalAccess::Write, registry, async |directory| {
        directory.remove_server(&by, owner, name).await
    });
    removed.await?;
    render::remark(&format!("removed: the server {name} of {owner}"));
    Ok(Exit::Answered)
}

async fn switch(
    owner: &ServerOwner,
    NamedServer { name, source, .. }: &NamedServer,
    is_disabled: bool,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let by = author();
    let switched = with_directory(source, JournalAccess::Write, registry, async |directory| {
        directory.switch_server(&by, owner, name, is_disabled).await
    });
    switched.await?;
    let state = if is_disabled { "disabled" } else { "enabled" };
    render::remark(&format!("{state}: the server {name} of {owner}"));
    Ok(Exit::Answered)
}

async fn list(
    owner: &ServerOwner,
    source: &Source,
    json: bool,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let servers = with_directory(source, JournalAccess::Read, registry, async |directory| {
        directory.servers(owner).await
    });
    let servers = servers.await?;
    let mut out = io::stdout();
    if json {
        let all: Vec<Value> = servers
            .iter()
            .map(|(server, _)| render::directory::server_json(server))
            .collect();
        let written = writeln!(out, "{:#}", Value::Array(all));
        return printed::finish(written.and_then(|()| out.flush()), Exit::Answered);
    }
    if servers.is_empty() {
        render::remark(&format!("{owner} has no servers"));
    }
    let mut written = Ok(());
    for (server, change) in &servers {
        let place = match &server.endpoint {
            OwnEndpoint::Http(url) => url.to_string(),
            OwnEndpoint::Program(program) => format!("the program {program}"),
        };
        let state = if server.is_disabled { "  disabled" } else { "" };
        let (name, since) = (&server.name, change.at.to_rfc3339());
        written = written.and_then(|()| writeln!(out, "{name}  {place}{state}  since {since}"));
    }
    printed::finish(written.and_then(|()| out.flush()), Exit::Answered)
}

/// The longest input, in bytes.
const MAX_INPUT: u64 = 256 << 10;
