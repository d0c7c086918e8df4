//! What comes of printing.

use std::io;

use crate::exit::Exit;
use crate::fault::CommandError;

/// The exit of a command whose last deed was to print this.
///
/// # Errors
///
/// A [`CommandError`] if standard output cannot be written; whoever read it may go away.
pub(crate) fn ended(printed: io::Result<()>, exit: Exit) -> Result<Exit, CommandError> {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::new(
            Exit::Internal,
            "standard output cannot be written",
        )
        .because(&error)),
        // Whoever read it went away with what they wanted.
        Ok(()) | Err(_) => Ok(exit),
    }
}
