//! `jackfield mcp accept`: shows changed tool definitions of a server, and accepts them.

use std::io::{self, IsTerminal as _, Write};

use jackfield_assembly::{AcceptError, ChangedTool, ServerStatus, ServerTest, ServerToolbox};

use crate::approval::Terminal;
use crate::commands::servers;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};
use crate::withdrawal::ReadQuestion;

/// The arguments of the command.
#[derive(Clone, Debug)]
pub struct Accept {
    pub json: bool,
    /// The tools, by the server's own names; all if empty.
    pub tools: Vec<String>,
    /// Whether to accept without asking.
    pub yes: bool,
}

/// Starts the server, shows the changes, asks, and accepts what was shown.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(server: ServerToolbox, accept: Accept) -> Result<Exit, CommandError> {
    let done = perform(&server, &accept).await;
    servers::stop(vec![server]).await;
    done
}

async fn perform(server: &ServerToolbox, accept: &Accept) -> Result<Exit, CommandError> {
    let patience = servers::start_notice(std::slice::from_ref(server));
    let tested = server.test().await;
    drop(patience);
    usable(server, &tested)?;
    let changes = chosen(server, server.changed(), &accept.tools)?;
    if !accept.json || changes.is_empty() {
        printed(render::changes(
            &mut anstream::stdout(),
            server,
            &changes,
            accept.json.then_some(false),
        ))?;
    }
    if changes.is_empty() {
        return Ok(Exit::Answered);
    }
    let accepted = match accept_prompt(accept) {
        AcceptPrompt::Nobody if accept.json => false,
        AcceptPrompt::Nobody => return Err(no_terminal(server)),
        AcceptPrompt::Person(mut terminal) => {
            let asked = tokio::task::spawn_blocking(move || {
                confirmed(&mut terminal, &mut anstream::stderr())
            });
            if !asked.await.unwrap_or(false) {
                render::remark("nothing was accepted");
                return Ok(Exit::Cancelled);
            }
            true
        }
        AcceptPrompt::Yes => true,
    };
    if accepted {
        let (keeper, what) = (server.clone(), changes.clone());
        let stored = tokio::task::spawn_blocking(move || keeper.accept(&what)).await;
        let stored =
            stored.map_err(|error| CommandError::new(Exit::Internal, error.to_string()))?;
        stored.map_err(|error| not_stored(server, &error))?;
    }
    if accept.json {
        printed(render::changes(
            &mut anstream::stdout(),
            server,
            &changes,
            Some(accepted),
        ))?;
    } else {
        render::remark(&format!("accepted: {}", names(&changes)));
    }
    if !accepted {
        return Err(no_terminal(server));
    }
    // The server may have changed again since; that was not shown.
    server.test().await;
    let mut again = server.changed();
    again.retain(|now| changes.iter().any(|one| one.tool == now.tool));
    if !again.is_empty() {
        let message = format!("it has changed again since it was shown: {}", names(&again));
        return Err(CommandError::new(Exit::Server, message).with_help(again_help(server)));
    }
    Ok(Exit::Answered)
}

/// Asks whether to accept what was shown; only a yes counts.
pub fn confirmed(terminal: &mut Terminal, err: &mut impl Write) -> bool {
    let asked = write!(err, "accept this? [y/N] ").and_then(|()| err.flush());
    let line = asked
        .ok()
        .and_then(|()| terminal.line(&ReadQuestion::never_withdrawn()));
    let word = line.unwrap_or_default().trim().to_lowercase();
    word == "y" || word == "yes"
}

/// How acceptance is asked for.
enum AcceptPrompt {
    Nobody,
    Person(Terminal),
    Yes,
}

fn accept_prompt(accept: &Accept) -> AcceptPrompt {
    if accept.yes {
        return AcceptPrompt::Yes;
    }
    // A person can only accept what they have seen.
    let sees = io::stdout().is_terminal() && io::stderr().is_terminal();
    if accept.json || !sees {
        return AcceptPrompt::Nobody;
    }
    Terminal::open().map_or(AcceptPrompt::Nobody, AcceptPrompt::Person)
}

fn usable(server: &ServerToolbox, tested: &ServerTest) -> Result<(), CommandError> {
    let id = &server.config.id;
    match &tested.state {
        ServerStatus::Failed { advice, reason } => {
            let message = format!("the server `{id}` is not available: {reason}");
            Err(CommandError::new(Exit::Server, message).with_help(advice.clone()))
        }
        ServerStatus::Off => {
            let fault =
                CommandError::new(Exit::Usage, format!("the server `{id}` is switched off"));
            Err(fault.with_help("set \"enabled\": true where it is configured"))
        }
        ServerStatus::Ready { .. } | ServerStatus::Starting | ServerStatus::Stopped
            if !tested.usable =>
        {
            let mut fault = CommandError::new(
                Exit::Server,
                format!("the tools of the server `{id}` cannot be had"),
            );
            fault.causes.clone_from(&tested.problems);
            Err(fault)
        }
        ServerStatus::Ready { .. } | ServerStatus::Starting | ServerStatus::Stopped => Ok(()),
    }
}

fn chosen(
    server: &ServerToolbox,
    changed: Vec<ChangedTool>,
    tools: &[String],
) -> Result<Vec<ChangedTool>, CommandError> {
    let is_changed = |tool: &&String| changed.iter().any(|one| *one.tool == ***tool);
    if let Some(other) = tools.iter().find(|tool| !is_changed(tool)) {
        let id = &server.config.id;
        let known = if changed.is_empty() {
            "nothing is".to_owned()
        } else {
            format!("there are: {}", names(&changed))
        };
        let message = if other.is_empty() {
            format!("what `{id}` says of itself has not changed; {known}")
        } else {
            format!("no changed tool of `{id}` is called `{other}`; {known}")
        };
        return Err(CommandError::new(Exit::Usage, message)
            .with_help("`jackfield mcp list` shows which tools of which server have changed"));
    }
    let mut chosen = changed;
    chosen.retain(|one| tools.is_empty() || tools.iter().any(|tool| **tool == *one.tool));
    Ok(chosen)
}

fn names(changed: &[ChangedTool]) -> String {
    let names = changed.iter().take(MAX_NAMED).map(|one| {
        if one.tool.is_empty() {
            "what it says of itself".to_owned()
        } else {
            words::shortened(&one.tool, 80)
        }
    });
    let mut names: Vec<String> = names.collect();
    if changed.len() > MAX_NAMED {
        names.push(format!("and {} more", changed.len() - MAX_NAMED));
    }
    names.join(", ")
}

fn no_terminal(server: &ServerToolbox) -> CommandError {
    let fault = CommandError::new(
        Exit::Usage,
        "there is no terminal to confirm on; nothing was accepted",
    );
    fault.with_help(format!(
        "run `jackfield mcp accept {}` in a terminal, or read the differences and give --yes",
        server.config.id
    ))
}

fn again_help(server: &ServerToolbox) -> String {
    format!(
        "what was shown is accepted, and what came after it is not: run `jackfield mcp accept {}` again",
        server.config.id
    )
}

fn not_stored(server: &ServerToolbox, error: &AcceptError) -> CommandError {
    let fault = CommandError::new(Exit::Internal, "nothing was accepted").with_cause(error);
    match error {
        AcceptError::Overtaken { .. } => fault.with_help(format!(
            "run `jackfield mcp accept {}` again, which shows what has changed since",
            server.config.id
        )),
        AcceptError::NotStored(_) | _ => fault,
    }
}

/// Unlike elsewhere, a closed pipe is an error: the changes were not seen.
fn printed(printed: io::Result<()>) -> Result<(), CommandError> {
    printed.map_err(|error| {
        CommandError::new(Exit::Internal, "standard output cannot be written").with_cause(&error)
    })
}

/// How many tools are named in a sentence.
const MAX_NAMED: usize = 50;
