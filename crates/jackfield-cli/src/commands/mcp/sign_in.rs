//! `jackfield mcp login` and `logout`: signs in at a server by OAuth, and out.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use jackfield_assembly::{Environment, PendingSignIn, ServerFault, ServerSignIn, ServerToolbox};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::commands::browser;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};

/// Signs in: shows the address, opens a browser if that is wanted and possible, and waits for its answer.
pub(super) async fn login(
    server: &ServerToolbox,
    environment: &Environment,
    opens: bool,
) -> Result<Exit, CommandError> {
    let sign_in = sign_in(server)?;
    let pending = sign_in
        .begin()
        .await
        .map_err(|fault| failed(server, &fault))?;
    render::remark("open this address in a browser, and sign in there:");
    let mut out = io::stdout();
    let shown = writeln!(out, "{}", pending.url()).and_then(|()| out.flush());
    shown.map_err(|error| {
        CommandError::new(Exit::Internal, "standard output cannot be written").with_cause(&error)
    })?;
    if let Some(scope) = pending.scope() {
        render::remark(&format!("it asks for: {}", words::one_line(scope)));
    }
    if opens && browser::open(pending.url(), environment) {
        render::remark("a browser was started with it");
    }
    let redirect = timeout(TIME_LIMIT, answer(&pending)).await.map_err(|_| {
        let message = format!(
            "nobody signed in within {} minutes",
            TIME_LIMIT.as_secs() / 60
        );
        CommandError::new(Exit::Server, message)
    })??;
    let finished = sign_in.finish(pending, &redirect).await;
    finished.map_err(|fault| failed(server, &fault))?;
    let id = &server.config.id;
    let place = sign_in.place();
    render::remark(&format!("signed in: {id}; the tokens are in {place}"));
    render::remark(&format!("next: jackfield mcp test {id}"));
    Ok(Exit::Answered)
}

/// Forgets the sign-in, and has its tokens revoked.
pub(super) async fn logout(server: &ServerToolbox) -> Result<Exit, CommandError> {
    let id = &server.config.id;
    let ended = sign_in(server)?.sign_out().await;
    match ended.map_err(|fault| failed(server, &fault))? {
        None => render::remark(&format!("nobody was signed in: {id}")),
        Some(revoked) => {
            render::remark(&format!("signed out: {id}"));
            if let Err(fault) = revoked {
                let fault = fault.to_string();
                let why = words::told(&fault);
                render::remark(&format!("warning: the tokens may still be good: {why}"));
            }
        }
    }
    Ok(Exit::Answered)
}

fn sign_in(server: &ServerToolbox) -> Result<&ServerSignIn, CommandError> {
    server.sign_in().ok_or_else(|| {
        let id = &server.config.id;
        let (why, help) = if !server.config.enabled {
            ("it is switched off", "switch it on: set `enabled` to true")
        } else if server.config.url.is_none() {
            (
                "it is started by a command, and gets its keys in `env`",
                "only a server with a `url` has a sign-in",
            )
        } else {
            (
                "it has a key in its `headers`, or an address that cannot be used",
                "take `Authorization` out of its `headers`, and see `jackfield mcp test`",
            )
        };
        CommandError::new(Exit::Usage, format!("there is no sign-in at `{id}`: {why}"))
            .with_help(help)
    })
}

fn failed(server: &ServerToolbox, fault: &ServerFault) -> CommandError {
    let id = &server.config.id;
    let reason = words::told(&fault.reason);
    CommandError::new(Exit::Server, format!("{id}: {reason}")).with_help(words::told(&fault.advice))
}

/// The address that a browser on this machine was sent to, or that a person pastes: the browser of another machine ends
/// at an address that leads nowhere.
async fn answer(pending: &PendingSignIn) -> Result<String, CommandError> {
    let pasted = paste();
    let redirect = tokio::select! {
        redirect = pending.redirect() => redirect,
        Ok(pasted) = pasted => return Ok(pasted),
    };
    redirect.map_err(|error| {
        CommandError::new(
            Exit::Internal,
            "the answer of the browser cannot be received",
        )
        .with_cause(&error)
    })
}

/// A line of the terminal, if there is one. The thread that reads it ends with the process.
fn paste() -> oneshot::Receiver<String> {
    let (sender, line) = oneshot::channel();
    if io::stdin().is_terminal() {
        render::remark(
            "if the browser is on another machine, paste the address here that it ends at",
        );
        std::thread::spawn(move || {
            let mut text = String::new();
            while io::stdin()
                .read_line(&mut text)
                .is_ok_and(|length| length > 0)
            {
                if !text.trim().is_empty() {
                    let _gone = sender.send(text);
                    return;
                }
            }
        });
    }
    line
}

/// How long a person may take.
const TIME_LIMIT: Duration = Duration::from_secs(600);
