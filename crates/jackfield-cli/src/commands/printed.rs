//! The outcome of printing.

use std::io;

use crate::exit::Exit;
use crate::fault::CommandError;

/// The exit code of a command that ends by printing.
///
/// # Errors
///
/// [`CommandError`] if standard output cannot be written. A closed pipe is no error.
pub(crate) fn finish(printed: io::Result<()>, exit: Exit) -> Result<Exit, CommandError> {
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
