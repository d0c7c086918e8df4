//! `jackfield config init`: writes a first configuration from what is found on this machine.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_assembly::{
    Config, ConfigProblem, Flags, ImportedServers, KeySource, KeyState, LocalFindings, LocalServer,
    ProviderConfig, Registry, Surroundings, found_servers,
};
use jackfield_domain::ids::ToolboxId;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::approval::Terminal;
use crate::args::config::Init;
use crate::commands::mcp::manage;
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::reach::reach;
use crate::render::{self, words};
use crate::withdrawal::ReadQuestion;

/// Detects keys and servers, and writes a configuration file, or prints it.
///
/// # Errors
///
/// [`CommandError`] if the file exists already, or cannot be written.
pub(crate) async fn run(
    init: &Init,
    surroundings: &Surroundings,
    registry: &Registry,
) -> Result<Exit, CommandError> {
    let file = match (&init.out, surroundings.user_file()) {
        (Some(file), _) => Some(surroundings.directory.join(file)),
        (None, own) => own,
    };
    if let (false, false, Some(file)) = (init.print, init.force, &file)
        && file.symlink_metadata().is_ok()
    {
        return Err(already_exists(file));
    }
    let found = detect(!init.no_probe, surroundings, registry).await?;
    let text = found.file(surroundings.home.as_deref());
    for line in render::found(&found) {
        render::remark(&line);
    }
    if init.print {
        let mut out = io::stdout();
        let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        return printed::finish(done, Exit::Answered);
    }
    let file = file.ok_or_else(|| {
        let message = "there is no home folder, and so no place for a configuration of your own";
        let help = "name a file with `--out FILE`, print it with `--print`, or set HOME";
        CommandError::new(Exit::Configuration, message).with_help(help)
    })?;
    write(&file, &text, init.force)?;
    render::remark(&format!("written: {}", file.display()));
    take_over(init.import, surroundings, &found)?;
    render::remark("next: jackfield doctor");
    Ok(Exit::Answered)
}

/// Copies the MCP servers of other programs into a file of our own, if the person wants it. Those of a project, which
/// may be a stranger's, are left to `mcp import`. A person is asked unless it `is_wanted`.
pub(super) fn take_over(
    is_wanted: bool,
    surroundings: &Surroundings,
    found: &LocalFindings,
) -> Result<(), CommandError> {
    let mut servers: Vec<(ToolboxId, Value)> = Vec::new();
    let mut remarks: Vec<ConfigProblem> = Vec::new();
    for one in found.servers.iter().filter(|one| !one.of_project) {
        // What is wrong with a file was said when it was found.
        let Ok(imported) = ImportedServers::read(surroundings, &one.path) else {
            continue;
        };
        remarks.extend(imported.remarks);
        for (id, server) in imported.servers {
            if !servers.iter().any(|(known, _)| *known == id) {
                servers.push((id, server));
            }
        }
    }
    if servers.is_empty() || !(is_wanted || wants(&servers)) {
        return Ok(());
    }
    remarks.iter().for_each(render::config_remark);
    let file = manage::file(surroundings, &Flags::default())?;
    let known = manage::write(&file, &servers, false)?;
    manage::report_import(&servers, &known, &file);
    Ok(())
}

/// Asks whether to take over these servers; no without a terminal.
fn wants(servers: &[(ToolboxId, Value)]) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    let Ok(mut terminal) = Terminal::open() else {
        return false;
    };
    let ids: Vec<&str> = servers.iter().map(|(id, _)| id.as_str()).collect();
    let servers = words::counted(ids.len() as u64, "MCP server");
    render::remark(&format!(
        "take over {servers} of other programs ({})? [y]es  [n]o",
        words::shortened(&ids.join(", "), MAX_NAMES)
    ));
    let said = terminal.line(&ReadQuestion::never_withdrawn());
    said.is_some_and(|said| ["y", "yes"].contains(&said.trim().to_lowercase().as_str()))
}

/// Detects keys in the environment, local model servers, and files of MCP servers.
pub(super) async fn detect(
    probe: bool,
    surroundings: &Surroundings,
    registry: &Registry,
) -> Result<LocalFindings, CommandError> {
    let mut config = Config::default();
    let mut candidates = candidates(surroundings);
    candidates.retain(|(_, address)| registry.has_provider(address.kind));
    for (name, address) in &candidates {
        let mut provider = ProviderConfig::default();
        provider.base_url = Some(address.base_url.as_str().into());
        provider.key = Some(KeySource::None);
        let place = config.model_place.clone();
        provider.kind = Some((address.kind.into(), place));
        config.providers.insert((*name).into(), provider);
    }
    let assembled = registry.assemble(&config, &surroundings.environment)?;
    let keys = assembled.providers.iter();
    let keys = keys.filter_map(|(name, state)| match &state.key {
        KeyState::Found(variable) => Some((Arc::clone(name), variable.clone())),
        KeyState::Missing(_) | KeyState::NotNeeded => None,
    });
    let keys = keys.collect();
    if !probe {
        candidates.clear();
    }
    let mut probing = JoinSet::new();
    for (place, (name, address)) in candidates.into_iter().enumerate() {
        let engine = assembled.engine.clone();
        probing.spawn(async move {
            let reached = timeout(TIME_LIMIT, reach(engine, name.into())).await;
            let models = reached.ok().and_then(|reached| reached.listed.ok());
            (place, name, address, models)
        });
    }
    let mut probed = probing.join_all().await;
    probed.sort_by_key(|(place, ..)| *place);
    let local = probed.into_iter().filter_map(|(_, name, address, models)| {
        Some(LocalServer {
            base_url: (!address.is_usual).then_some(address.base_url),
            kind: (address.kind != name).then_some(address.kind),
            models: models?.into_iter().map(|model| model.id).collect(),
            name: name.into(),
        })
    });
    let local = local.collect();
    Ok(LocalFindings {
        keys,
        local,
        servers: found_servers(surroundings),
    })
}

/// An address at which a local model server may listen.
struct Address {
    base_url: String,
    /// Whether it is the default address of its kind.
    is_usual: bool,
    kind: &'static str,
}

/// The usual addresses of local model servers, on this machine only.
fn candidates(surroundings: &Surroundings) -> Vec<(&'static str, Address)> {
    let usual = |name: &'static str, base_url: &str| {
        let address = Address {
            base_url: base_url.to_owned(),
            is_usual: true,
            kind: name,
        };
        (name, address)
    };
    let mut all = vec![
        usual("ollama", "http://127.0.0.1:11434"),
        usual("llama-cpp", "http://127.0.0.1:8080"),
        usual("vllm", "http://127.0.0.1:8000"),
        usual("lm-studio", "http://127.0.0.1:1234"),
        usual("sglang", "http://127.0.0.1:30000"),
    ];
    // Ollama itself reads its listen address from this variable.
    let moved = surroundings.environment.get("OLLAMA_HOST");
    let moved = moved.and_then(Result::ok).and_then(|host| loopback(&host));
    if let (Some(base_url), Some((_, ollama))) = (moved, all.first_mut()) {
        ollama.is_usual = base_url == ollama.base_url;
        ollama.base_url = base_url;
    }
    all
}

/// A base URL for a host on this machine, such as `127.0.0.1:11434`; `None` for other hosts.
fn loopback(host: &str) -> Option<String> {
    let host = host.trim().trim_start_matches("http://");
    let host = host.trim_end_matches('/');
    let (name, port) = host.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    // The wildcard address includes this machine.
    let is_here = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", ""].contains(&name);
    is_here.then(|| match name {
        "[::1]" => format!("http://[::1]:{port}"),
        _ => format!("http://127.0.0.1:{port}"),
    })
}

/// Writes a file atomically. Replaces an existing one only with `force`.
pub(super) fn write(file: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let new = temporary_path(file);
    let written = || -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut out = OpenOptions::new().write(true).create_new(true).open(&new)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        if force {
            return fs::rename(&new, file);
        }
        // Unlike a rename, a hard link fails if the file was created in the meantime.
        fs::hard_link(&new, file).and_then(|()| fs::remove_file(&new))
    };
    written().map_err(|error| {
        // Removes the partial file; it may not exist.
        let _removed = fs::remove_file(&new).is_ok();
        if error.kind() == ErrorKind::AlreadyExists && file.symlink_metadata().is_ok() {
            return already_exists(file);
        }
        let message = format!("`{}` cannot be written", file.display());
        let fault = CommandError::new(Exit::Configuration, message).with_cause(&error);
        fault.with_help("name another file with `--out FILE`, or print it with `--print`")
    })
}

fn temporary_path(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    file.with_file_name(name)
}

fn already_exists(file: &Path) -> CommandError {
    let message = format!("`{}` is there already", file.display());
    let help = "look at what it would be with `--print`, write another one with `--out FILE`, or \
                replace it with `--force`";
    CommandError::new(Exit::Configuration, message).with_help(help)
}

/// How much of the names of servers is shown, in characters.
const MAX_NAMES: usize = 200;

/// How long a local server may take to list its models.
const TIME_LIMIT: Duration = Duration::from_secs(2);
