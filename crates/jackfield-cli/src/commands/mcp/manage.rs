//! `jackfield mcp add`, `remove` and `import`: changes the file of MCP servers.

use std::path::Path;

use jackfield_assembly::{
    Flags, ImportedServers, KNOWN_SERVERS, KnownArguments, KnownServer, ServerFile, Surroundings,
    did_you_mean, server_id,
};
use jackfield_domain::ids::ToolboxId;
use serde_json::{Value, json};

use crate::args::{McpAdd, McpImport};
use crate::commands::ask;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

pub(super) fn add(add: &McpAdd) -> Result<Exit, CommandError> {
    let surroundings = ask::surroundings()?;
    let file = file(&surroundings, &ask::source_flags(&add.source))?;
    let id = id(&add.name)?;
    let mut server = match (add.command.split_first(), known(&add.name)) {
        _ if add.url.is_some() => endpoint_entry(add),
        (Some(_), _) if !add.arguments.is_empty() => {
            let message = "arguments of a server stand behind its command, after `--`";
            return Err(CommandError::new(Exit::Usage, message).with_help(EXAMPLE));
        }
        (Some((program, arguments)), _) => json!({ "command": program, "args": arguments }),
        (None, Some(known)) => known_entry(known, &add.arguments, &surroundings)?,
        (None, None) => return Err(unknown(&add.name)),
    };
    if let Value::Object(fields) = &mut server {
        if !add.env.is_empty() {
            let variables = add.env.iter();
            let variables = variables.map(|(name, value)| (name.clone(), json!(value)));
            fields.insert("env".to_owned(), Value::Object(variables.collect()));
        }
        if add.trust {
            fields.insert("trust".to_owned(), json!(true));
        }
    }
    let known = write(&file, &[(id.clone(), server)], add.force)?;
    if !known.is_empty() {
        let message = format!("there is a server `{id}` in {} already", shown(&file));
        let help = "give it another name, or replace it with --force";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    render::remark(&format!("added: {id}, in {}", shown(&file)));
    render::remark(&format!("next: jackfield mcp test {id}"));
    Ok(Exit::Answered)
}

pub(super) fn remove(name: &str, flags: &Flags) -> Result<Exit, CommandError> {
    let surroundings = ask::surroundings()?;
    let file = file(&surroundings, flags)?;
    let id = id(name)?;
    let removed = file.remove(&id).map_err(|error| unusable(&file, &error))?;
    if !removed {
        let message = format!("there is no server `{id}` in {}", shown(&file));
        let help =
            "`jackfield mcp list` shows the servers, and `jackfield config path` where they stand";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    render::remark(&format!("removed: {id}, from {}", shown(&file)));
    Ok(Exit::Answered)
}

/// Takes over servers of another program's file.
pub(super) fn import(import: &McpImport) -> Result<Exit, CommandError> {
    let surroundings = ask::surroundings()?;
    let file = file(&surroundings, &ask::source_flags(&import.source))?;
    let imported = ImportedServers::read(&surroundings, &import.file)?;
    imported.remarks.iter().for_each(render::config_remark);
    let mut servers = imported.servers;
    let ids: Vec<String> = servers.iter().map(|(id, _)| id.to_string()).collect();
    if let Some(other) = import.servers.iter().find(|name| !ids.contains(name)) {
        let path = import.file.display();
        let message = format!(
            "there is no usable server `{other}` in {path}{}",
            did_you_mean(other, &ids)
        );
        return Err(CommandError::new(Exit::Usage, message));
    }
    servers.retain(|(id, _)| {
        import.servers.is_empty() || import.servers.iter().any(|name| name == id.as_str())
    });
    if servers.is_empty() {
        let message = format!(
            "there is no server in {} that can be used",
            import.file.display()
        );
        return Err(CommandError::new(Exit::Usage, message));
    }
    let known = write(&file, &servers, import.force)?;
    report_import(&servers, &known, &file);
    Ok(Exit::Answered)
}

/// Says which servers were taken over, and which were there already.
pub(crate) fn report_import(
    servers: &[(ToolboxId, Value)],
    known: &[ToolboxId],
    file: &ServerFile,
) {
    let names = |wanted: bool| {
        let ids = servers.iter().map(|(id, _)| id);
        let ids = ids.filter(|id| known.contains(id) == wanted);
        let ids: Vec<&str> = ids.map(ToolboxId::as_str).collect();
        ids.join(", ")
    };
    let (new, old) = (names(false), names(true));
    if !old.is_empty() {
        render::remark(&format!("left as they are: {old}; --force replaces them"));
    }
    if !new.is_empty() {
        render::remark(&format!("imported: {new}, in {}", shown(file)));
        render::remark("next: jackfield mcp test");
    }
}

pub(crate) fn file(surroundings: &Surroundings, flags: &Flags) -> Result<ServerFile, CommandError> {
    ServerFile::of(surroundings, flags)?.ok_or_else(|| {
        let message = "there is no file of MCP servers that could be changed";
        let help = "name it with `--mcp-config FILE`, or set HOME";
        CommandError::new(Exit::Configuration, message).with_help(help)
    })
}

/// Adds the servers to the file; returns those that it had already.
pub(crate) fn write(
    file: &ServerFile,
    servers: &[(ToolboxId, Value)],
    force: bool,
) -> Result<Vec<ToolboxId>, CommandError> {
    let added = file.add(servers, force);
    added.map_err(|error| unusable(file, &error))
}

fn unusable(file: &ServerFile, error: &std::io::Error) -> CommandError {
    let message = format!("{} cannot be changed", shown(file));
    CommandError::new(Exit::Configuration, message)
        .with_cause(error)
        .with_help("mend it, or name another file with `--mcp-config FILE`")
}

fn shown(file: &ServerFile) -> std::path::Display<'_> {
    file.path().display()
}

fn id(name: &str) -> Result<ToolboxId, CommandError> {
    server_id(name).map_err(|why| CommandError::new(Exit::Usage, why))
}

fn known(name: &str) -> Option<&'static KnownServer> {
    KNOWN_SERVERS.iter().find(|known| known.name == name)
}

/// The entry of a server with an address.
fn endpoint_entry(add: &McpAdd) -> Value {
    let mut entry = json!({ "type": "http", "url": add.url });
    if !add.header.is_empty() {
        let headers = add.header.iter();
        let headers = headers.map(|(name, value)| (name.clone(), json!(value)));
        entry["headers"] = Value::Object(headers.collect());
    }
    if add.header.iter().any(|(_, value)| !value.contains("${")) {
        render::remark(
            "warning: the value of a header is written into the file as it is; \
             for a key, write ${NAME} in single quotes, and set that variable",
        );
    }
    entry
}

/// The entry of a well-known server with these arguments. Paths become absolute.
fn known_entry(
    known: &KnownServer,
    arguments: &[String],
    surroundings: &Surroundings,
) -> Result<Value, CommandError> {
    let base = &surroundings.directory;
    let folder = |path: &String| {
        let path = surroundings.resolve(path, base);
        if !path.is_dir() {
            let message = format!("there is no folder `{}`", path.display());
            return Err(CommandError::new(Exit::Usage, message));
        }
        Ok(path.display().to_string())
    };
    let arguments = match known.takes {
        KnownArguments::Folders if arguments.is_empty() => vec![base.display().to_string()],
        KnownArguments::Repository if arguments.len() > 1 => {
            let message = format!("`{}` takes one repository", known.name);
            return Err(CommandError::new(Exit::Usage, message));
        }
        KnownArguments::Folders | KnownArguments::Repository => {
            arguments.iter().map(folder).collect::<Result<_, _>>()?
        }
        KnownArguments::Options => arguments.to_vec(),
    };
    if !is_in_path(known.program) {
        render::remark(&format!(
            "warning: there is no program `{}` in PATH; it comes with {}",
            known.program, known.program_from
        ));
    }
    Ok(known.entry(&arguments))
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let name = Path::new(program).with_extension(std::env::consts::EXE_EXTENSION);
    // On Windows, `npx` is a script.
    let script = Path::new(program).with_extension("cmd");
    std::env::split_paths(&path)
        .any(|folder| folder.join(&name).is_file() || folder.join(&script).is_file())
}

fn unknown(name: &str) -> CommandError {
    let names: Vec<&str> = KNOWN_SERVERS.iter().map(|known| known.name).collect();
    let message = format!(
        "no server is known by the name `{name}`{}",
        did_you_mean(name, &names)
    );
    CommandError::new(Exit::Usage, message).with_help(EXAMPLE)
}

/// Help: how a command is given.
const EXAMPLE: &str = "give its command after `--`, as in `jackfield mcp add weather -- weather-server --units metric`, or its address with `--url`";
