//! `jackfield mcp`: lists, inspects and tests MCP servers, signs in at them, and serves tools over MCP.

mod inspect;
pub(crate) mod manage;
mod serve;
mod sign_in;

pub mod accept;

use std::io;

use jackfield_assembly::{Registry, ServerTest, ServerToolbox};
use tokio::task::JoinSet;

use crate::args::Mcp;
use crate::commands::mcp::accept::Accept;
use crate::commands::{ask, servers};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Adds, removes, lists, inspects or tests servers, shows their logs, accepts changes, or serves.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(mcp: Mcp, registry: &Registry) -> Result<Exit, CommandError> {
    let source = match &mcp {
        Mcp::Accept { source, .. }
        | Mcp::Inspect { source, .. }
        | Mcp::List { source, .. }
        | Mcp::Login { source, .. }
        | Mcp::Logout { source, .. }
        | Mcp::Logs { source, .. }
        | Mcp::Test { source, .. } => source,
        Mcp::Add(add) => return manage::add(add),
        Mcp::Import(import) => return manage::import(import),
        Mcp::Remove { server, source } => {
            return manage::remove(server, &ask::source_flags(source));
        }
        Mcp::Serve(serve) => return serve::run(serve, registry).await,
    };
    let (config, environment) = ask::load_config(&ask::source_flags(source))?;
    if matches!(mcp, Mcp::List { .. } | Mcp::Test { .. }) {
        let silent = config.remarks.iter().filter(|remark| remark.help.is_none());
        silent.for_each(|remark| render::remark(&remark.to_string()));
    }
    let all = registry.assemble(&config, &environment)?.servers.all();
    if let Mcp::Accept {
        json,
        server,
        tools,
        yes,
        ..
    } = mcp
    {
        let accept = Accept { json, tools, yes };
        return accept::run(named(&all, &server)?, accept).await;
    }
    match &mcp {
        Mcp::Inspect { server, json, .. } => {
            return inspect::run(named(&all, server)?, *json).await;
        }
        Mcp::Login {
            server, no_browser, ..
        } => return sign_in::login(&named(&all, server)?, &environment, !no_browser).await,
        Mcp::Logout { server, .. } => return sign_in::logout(&named(&all, server)?).await,
        Mcp::Accept { .. }
        | Mcp::Add(_)
        | Mcp::Import(_)
        | Mcp::List { .. }
        | Mcp::Logs { .. }
        | Mcp::Remove { .. }
        | Mcp::Serve(_)
        | Mcp::Test { .. } => {}
    }
    let chosen = match &mcp {
        Mcp::Accept { .. }
        | Mcp::Add(_)
        | Mcp::Import(_)
        | Mcp::Inspect { .. }
        | Mcp::List { .. }
        | Mcp::Login { .. }
        | Mcp::Logout { .. }
        | Mcp::Remove { .. }
        | Mcp::Serve(_) => all,
        Mcp::Logs { server, .. } => vec![named(&all, server)?],
        Mcp::Test { servers: names, .. } if names.is_empty() => {
            all.into_iter().filter(|one| one.config.enabled).collect()
        }
        Mcp::Test { servers: names, .. } => {
            let named = names.iter().map(|name| named(&all, name));
            named.collect::<Result<_, _>>()?
        }
    };
    let patience = servers::start_notice(&chosen);
    let tried = test(&chosen, matches!(mcp, Mcp::List { .. })).await;
    drop(patience);
    let out = &mut anstream::stdout();
    let unusable = tried.iter().any(|(_, tested)| !tested.usable);
    let (exit, printed) = match &mcp {
        Mcp::Accept { json, .. } | Mcp::List { json, .. } => {
            (Exit::Answered, render::list_servers(out, &tried, *json))
        }
        Mcp::Add(_)
        | Mcp::Import(_)
        | Mcp::Inspect { .. }
        | Mcp::Login { .. }
        | Mcp::Logout { .. }
        | Mcp::Remove { .. }
        | Mcp::Serve(_) => (Exit::Answered, Ok(())),
        Mcp::Logs { json, .. } => (Exit::Answered, render::logs(out, &tried, *json)),
        Mcp::Test { json, .. } if unusable => (Exit::Server, render::tested(out, &tried, *json)),
        Mcp::Test { json, .. } => (Exit::Answered, render::tested(out, &tried, *json)),
    };
    servers::stop(chosen).await;
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::new(
            Exit::Internal,
            "standard output cannot be written",
        )
        .with_cause(&error)),
        // A closed pipe is no error: the reader has what it wants.
        Ok(()) | Err(_) => Ok(exit),
    }
}

/// Tests all servers concurrently; the results keep their order. A list waits for them as long as a turn does.
async fn test(servers: &[ServerToolbox], is_list: bool) -> Vec<(ServerToolbox, ServerTest)> {
    let mut testing = JoinSet::new();
    for (place, server) in servers.iter().cloned().enumerate() {
        testing.spawn(async move {
            let tested = if is_list {
                server.test_briefly().await
            } else {
                server.test().await
            };
            (place, server, tested)
        });
    }
    let mut tried = testing.join_all().await;
    tried.sort_by_key(|(place, ..)| *place);
    let tried = tried.into_iter();
    tried.map(|(_, server, tested)| (server, tested)).collect()
}

fn named(all: &[ServerToolbox], name: &str) -> Result<ServerToolbox, CommandError> {
    let found = all.iter().find(|server| server.config.id.as_str() == name);
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|server| server.config.id.as_str()).collect();
        let known = if known.is_empty() {
            "none is configured".to_owned()
        } else {
            format!("there are: {}", known.join(", "))
        };
        let message = format!("there is no MCP server `{name}`; {known}");
        CommandError::new(Exit::Usage, message).with_help("`jackfield mcp list` shows the servers")
    })
}
