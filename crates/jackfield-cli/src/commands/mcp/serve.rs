//! `jackfield mcp serve`: serves Jackfield's tools to other programs.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use jackfield_assembly::{Assembly, Config, Environment, Registry};
use jackfield_engine::ServerTools;
use jackfield_mcp_server::{Offer, ToolServer};

use crate::args::McpServe;
use crate::commands::{ask, servers};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};
use crate::signals::Interrupts;

/// Serves one client, until its input ends or a signal arrives.
///
/// Standard output is reserved for the protocol.
///
/// # Errors
///
/// [`CommandError`] if the configuration is invalid.
pub(super) async fn run(serve: &McpServe, registry: &Registry) -> Result<Exit, CommandError> {
    let mut interrupts = Interrupts::watch();
    let (mut config, environment) = if serve.no_config {
        let nothing: [(&str, &str); 0] = [];
        (Config::default(), Environment::from_iter(nothing))
    } else {
        let mut flags = ask::flags(&serve.setup);
        // If only built-in tools are offered, the file of servers is not read.
        let mut tools = serve.tools.iter();
        flags.without_servers = tools.all(|pattern| pattern.starts_with("builtin/"));
        ask::load_config(&flags)?
    };
    // A server without any offered tool is not started.
    let patterns = serve.tools.iter().map(|pattern| pattern.as_str().into());
    let wanted = ServerTools::Only(patterns.collect());
    config.servers.retain(|id, _| wanted.may_offer_from(id));
    // Many clients list tools once, and miss those that appear later.
    config.start_wait = config.start_wait.max(LONG_WAIT);
    let Assembly {
        engine,
        options,
        servers,
        ..
    } = registry.assemble(&config, &environment)?;
    let server = ToolServer::new(engine, options).offering(serve.tools.iter().map(String::as_str));
    if io::stdin().is_terminal() {
        render::remark(WAITING);
    }
    let offered = server.clone();
    let checking = tokio::spawn(async move { warn(&offered.offer().await) });
    let asked = async {
        interrupts.recv().await;
    };
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    server.serve(input, output, asked).await;
    checking.abort();
    servers::stop(servers.all()).await;
    Ok(Exit::Answered)
}

/// Warns of tools that are not offered, with the reason.
fn warn(offer: &Offer) {
    for problem in offer.problems.iter().chain(&offer.skipped) {
        render::remark(&format!("warning: {}", words::problem(problem)));
    }
    for withheld in &offer.withheld {
        let (name, why) = (&withheld.name, &withheld.reason);
        render::remark(&format!("warning: `{name}` is not offered: {why}"));
    }
    // A failed toolbox may have the tools.
    if offer.problems.is_empty() && offer.skipped.is_empty() {
        for pattern in &offer.idle {
            render::remark(&format!("warning: --tools '{pattern}' fits no tool"));
        }
    }
}

/// The minimum time a list waits for starting servers.
const LONG_WAIT: Duration = Duration::from_secs(30);

/// A notice for people who start it by hand.
const WAITING: &str = "this is an MCP server: it waits for a client's messages on standard input and \
                       answers on standard output; Ctrl-D ends it, and `jackfield mcp serve --help` \
                       says how a client is told of it";
