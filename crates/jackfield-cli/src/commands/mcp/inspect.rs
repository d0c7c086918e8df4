//! `jackfield mcp inspect`: all that a server has.

use std::io;

use jackfield_assembly::ServerToolbox;

use crate::commands::servers;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Starts a server, and prints what it has.
///
/// # Errors
///
/// [`CommandError`] if standard output cannot be written.
pub(super) async fn run(server: ServerToolbox, as_json: bool) -> Result<Exit, CommandError> {
    let patience = servers::start_notice(std::slice::from_ref(&server));
    let inspection = server.inspect().await;
    drop(patience);
    let printed = render::inspected(&mut anstream::stdout(), &server, &inspection, as_json);
    servers::stop(vec![server]).await;
    match printed {
        // A closed pipe is no error: the reader has what it wants.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::new(
            Exit::Internal,
            "standard output cannot be written",
        )
        .with_cause(&error)),
        Ok(()) | Err(_) if inspection.test.usable => Ok(Exit::Answered),
        Ok(()) | Err(_) => Ok(Exit::Server),
    }
}
