//! `jackfield demo --web` and `jackfield demo serve`: a gateway of the demo model, with all of it in a temporary folder.

use std::future::ready;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::pin::pin;

use jackfield_assembly::{ApprovalsMode, Config, Environment, Registry};
use jackfield_demo::brain;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::tool::UnknownPolicy;
use jackfield_engine::ServerTools;
use jackfield_server::{RunError, RunningGateway, immediate_shutdown_signal, shutdown_signal};

use super::NOTES;
use super::sessions::{self, INVOICES};
use crate::commands::browser::free_port;
use crate::commands::browser::link::{base, link};
use crate::commands::{browser, printed, serve};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// What it is for, which decides what it prints.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    /// A person with a browser.
    Page,
    /// An SDK.
    Sdks,
}

/// Serves until a signal ends it, and removes everything.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(super) async fn run(purpose: Purpose, bind: Option<SocketAddr>) -> Result<Exit, CommandError> {
    if bind.is_some_and(|bind| !bind.ip().is_loopback()) {
        let message = "the demo needs no key, so it listens to programs on this machine alone";
        let help = "name an address such as 127.0.0.1:9000; `jackfield serve` takes others";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    // Before there is anything to be removed.
    let mut ends = pin!(shutdown_signal());
    let folder = tempfile::Builder::new().prefix("jackfield-demo-").tempdir();
    let folder = folder.map_err(|error| {
        let fault = CommandError::new(Exit::Configuration, "a temporary folder cannot be made");
        fault.with_cause(&error).with_help(OTHER_FOLDER)
    })?;
    let (_model, mut config) = super::model_and_config().await?;
    let outbox = folder.path().join("outbox.txt");
    let outbox = outbox.to_string_lossy();
    super::add_server(&mut config, INVOICES, &["demo", "invoice-server", &outbox])?;
    for (tool, verdict) in [
        (format!("{INVOICES}/sent_invoices"), RuleVerdict::Allow),
        (format!("{NOTES}/add_note"), RuleVerdict::Ask),
    ] {
        let pattern = tool.into();
        config
            .options
            .policy
            .rules
            .push(PolicyRule { pattern, verdict });
    }
    config.options.policy.can_ask = true;
    config.options.when_unknown = UnknownPolicy::Ask;
    config.data = Some(folder.path().to_owned());
    config.serve.approvals = ApprovalsMode::Wait;
    config.serve.offer = ServerTools::All;
    let (registry, environment) = (Registry::default().guarded(), super::environment());
    let started = match bind {
        Some(bind) => {
            config.serve.bind = bind;
            RunningGateway::start(config.clone(), &environment, &registry).await
        }
        None => free_port::start(config.clone(), &environment, &registry).await,
    };
    let running = started.map_err(|error| {
        // The remedies of a gateway, a key or a token, are none here.
        if let RunError::NoKeys { why } = error {
            let message = format!("the demo cannot keep its sessions: {why}");
            CommandError::new(Exit::Configuration, message).with_help(OTHER_FOLDER)
        } else {
            error.into()
        }
    })?;
    let readied = async {
        if purpose == Purpose::Page {
            sessions::play(running.engine(), &config.options).await?;
        }
        show(purpose, &running, &config)
    };
    let readied = tokio::select! {
        readied = readied => Some(readied),
        () = &mut ends => None,
    };
    if matches!(readied, Some(Ok(()))) {
        running.run_until(ends, immediate_shutdown_signal()).await;
    } else {
        running
            .run_until(ready(()), immediate_shutdown_signal())
            .await;
    }
    folder.close().map_err(|error| {
        CommandError::new(Exit::Internal, "the temporary folder cannot be removed")
            .with_cause(&error)
    })?;
    readied.unwrap_or(Ok(()))?;
    Ok(Exit::Answered)
}

/// Prints where it is, and what there is to see.
fn show(purpose: Purpose, running: &RunningGateway, config: &Config) -> Result<(), CommandError> {
    let base = base("http", running.address);
    let page = running
        .page_token()
        .map_or_else(|| format!("{base}/"), |token| link(&base, token));
    if running.address.port() != config.serve.bind.port() && config.serve.bind.port() != 0 {
        render::remark(&format!(
            "{} is taken, so a free port is used",
            config.serve.bind
        ));
    }
    let lines = match purpose {
        Purpose::Page => {
            render::remark(super::MODEL);
            render::remark(SEEN);
            render::remark(ASKED);
            vec![page.clone()]
        }
        Purpose::Sdks => lines_for_sdks(&base, &page),
    };
    render::remark("Ctrl-C ends it and removes everything");
    let mut out = io::stdout();
    let printed = writeln!(out, "{}", lines.join("\n")).and_then(|()| out.flush());
    printed::finish(printed, Exit::Answered)?;
    if purpose == Purpose::Page && io::stderr().is_terminal() {
        // Without a browser, the printed link is enough.
        let _started = browser::open(&page, &Environment::of_process());
    }
    Ok(())
}

/// The addresses, and a line to try each of two APIs with.
fn lines_for_sdks(base: &str, page: &str) -> Vec<String> {
    let messages = r#""messages": [{"role": "user", "content": "What is 15% of 2500?"}]"#;
    let (model, json) = (brain::NAME, "-H 'content-type: application/json'");
    let openai = format!(r#"{{"model": "{model}", {messages}}}"#);
    let anthropic = format!(r#"{{"model": "{model}", "max_tokens": 500, {messages}}}"#);
    let mut lines = Vec::from(serve::bases(base, page));
    lines.push(format!(
        "curl {base}/v1/chat/completions {json} -d '{openai}'"
    ));
    lines.push(format!("curl {base}/v1/messages {json} -d '{anthropic}'"));
    lines
}

const ASKED: &str = "ask it: \"What is 15% of 2500, and what time is it in Tokyo?\", \"Notes about React, friends' too\", \
                     \"Add a note: Buy tea.\", \"Which invoices were sent?\"";
const OTHER_FOLDER: &str = "set TMPDIR to a folder with room that this user can write";
const SEEN: &str = "the page has a finished session, one that waits for an approval, and one with a call whose outcome \
                    is unknown";
