//! `jackfield demo`: like `ask`, with a model that needs neither key nor network; and its gateway.

#[cfg_attr(not(feature = "serve"), path = "demo/without_gateway.rs")]
mod gateway;
mod invoices;
#[cfg(feature = "serve")]
mod sessions;

use std::io::{self, IsTerminal as _};

use jackfield_assembly::{
    Config, Environment, KeySource, McpServerEntry, Origin, ProviderConfig, Registry,
};
use jackfield_demo::brain;
use jackfield_demo::server::{DemoServer, ReplyPace};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::message::Message;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::request::ModelRef;
use jackfield_engine::ServerTools;

use self::gateway::Purpose;
use crate::args::{Demo, DemoCommand, Strict};
use crate::commands::ask;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Asks the demo model.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(demo: Demo) -> Result<Exit, CommandError> {
    match demo.command {
        Some(DemoCommand::InvoiceServer { outbox }) => return invoices::run(outbox).await,
        Some(DemoCommand::Serve { bind }) => return gateway::run(Purpose::Sdks, bind).await,
        None if demo.web => return gateway::run(Purpose::Page, demo.bind).await,
        None => {}
    }
    let question = demo.question.join(" ");
    let is_asked = !question.trim().is_empty();
    let question = if is_asked { &question } else { QUESTION };
    render::remark(MODEL);
    render::remark(
        "its tools are those of `jackfield mcp serve` and `jackfield notes-server`, MCP servers in processes of their own",
    );
    if !is_asked {
        render::remark(&format!("> {QUESTION}"));
    }
    let (_server, mut config) = model_and_config().await?;
    if demo.bounds.no_tools {
        config.options.server_tools = ServerTools::None;
    }
    config.options.strict = demo.bounds.strict.and_then(Strict::effect);
    config.options.allowance.cost = demo.bounds.max_cost;
    if let Some(rounds) = demo.bounds.max_rounds {
        config.options.limits.rounds = rounds;
    }
    let registry = Registry::default().guarded();
    let assembled = registry.assemble(&config, &environment())?;
    let (message, session) = (Message::user(question), ask::new_session()?);
    ask::converse(
        assembled,
        message,
        session,
        &demo.output,
        false,
        false,
        None,
    )
    .await
}

/// Starts the demo model, and configures it with its tools, and nothing of the user's own.
async fn model_and_config() -> Result<(DemoServer, Config), CommandError> {
    let pace = if io::stdout().is_terminal() {
        ReplyPace::READABLE
    } else {
        ReplyPace::UNPACED
    };
    let server = DemoServer::start(pace).await.map_err(|error| {
        CommandError::new(Exit::Internal, "the demo model does not start").with_cause(&error)
    })?;
    let mut provider = ProviderConfig::default();
    provider.base_url = Some(server.base_url().into());
    provider.key = Some(KeySource::Variable(KEY.into()));
    provider.kind = Some(("claude".into(), Origin::Default.into()));
    let mut config = Config::default();
    config.options.model = ModelRef {
        model: brain::NAME.into(),
        provider: PROVIDER.into(),
    };
    config.providers = [(PROVIDER.into(), provider)].into();
    config.builtins = false;
    for (id, arguments) in [
        (TOOLS, &["mcp", "serve", "--no-config"][..]),
        (NOTES, &["notes-server", "--samples"]),
    ] {
        add_server(&mut config, id, arguments)?;
        config.options.policy.rules.push(PolicyRule {
            pattern: format!("{id}/*").into(),
            verdict: RuleVerdict::Allow,
        });
    }
    Ok((server, config))
}

/// The variables of the demo: the user's own keys are not used.
fn environment() -> Environment {
    [(KEY, "opens-nothing")].into_iter().collect()
}

/// Adds tools of this program, as an MCP server in a separate process.
fn add_server(config: &mut Config, id: &str, arguments: &[&str]) -> Result<(), CommandError> {
    let broken = |error: &(dyn std::error::Error + 'static)| {
        CommandError::new(Exit::Internal, "the demo's tools cannot be started").with_cause(error)
    };
    let id = ToolboxId::parse(id).map_err(|error| broken(&error))?;
    let arguments = arguments.iter().copied();
    let mut server =
        McpServerEntry::of_this_program(id.clone(), arguments).map_err(|error| broken(&error))?;
    // Without a prefix, as their own names are clear.
    server.prefix = Some("".into());
    config.servers.insert(id, server);
    Ok(())
}

const MODEL: &str =
    "this is the demo model: it follows rules and knows no more than its tools; no key, no network";

/// The name of its provider.
const PROVIDER: &str = "demo";

const QUESTION: &str = "What is 15% of 2500, and what time is it in Tokyo?";

/// The variable of a dummy key.
const KEY: &str = "JACKFIELD_DEMO_KEY";

/// The id of the server of sample notes.
const NOTES: &str = "demo-notes";

/// The id of the tool server.
const TOOLS: &str = "demo-tools";
