//! `jackfield sessions export`: a session as one document.

use std::io::{self, Write as _};
use std::path::Path;

use jackfield_domain::ids::SessionId;
use jackfield_engine::{Engine, Loaded};
use jackfield_record::Recording;

use crate::args::{Export, ExportFormat};
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;
use jackfield_export::{Format, document};

/// Writes the document.
///
/// # Errors
///
/// [`CommandError`] if there is no such session, it cannot be read, or the document cannot be written.
pub(super) async fn run(
    engine: &Engine,
    session: &SessionId,
    args: &Export,
) -> Result<Exit, CommandError> {
    let loaded = engine.load(session).await?;
    let format = match args.format {
        ExportFormat::Json => Format::Json,
        ExportFormat::Markdown => Format::Markdown,
    };
    let document = if args.facts {
        facts(session, loaded, args.redact)?
    } else {
        document(
            session,
            &loaded.steps,
            &loaded.deliveries,
            format,
            args.redact,
        )
    };
    let Some(file) = args.output.as_ref().filter(|file| file.as_os_str() != "-") else {
        let mut out = io::stdout().lock();
        let written = out
            .write_all(document.as_bytes())
            .and_then(|()| out.flush());
        return printed::finish(written, Exit::Answered);
    };
    let cannot = |error: io::Error| {
        let message = format!("{} cannot be written", file.display());
        CommandError::new(Exit::Internal, message).with_cause(&error)
    };
    write_whole(file, document.as_bytes()).map_err(cannot)?;
    Ok(Exit::Answered)
}

/// The session as a file for `replay`.
fn facts(session: &SessionId, loaded: Loaded, redact: bool) -> Result<String, CommandError> {
    if redact {
        let message = "facts cannot be redacted: what is decided again hangs on the very bytes";
        let help =
            "leave `--redact` out and read the file before you hand it on, or leave `--facts` out";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    let recording = Recording {
        deliveries: loaded.deliveries,
        session: session.clone(),
        steps: loaded.steps,
    };
    let message = format!("session {session} cannot be written");
    let cannot = |error| CommandError::new(Exit::Internal, message).with_cause(&error);
    recording.to_lines().map_err(cannot)
}

/// Writes a private file atomically. Special files such as `/dev/stdout` are written directly, and symbolic links
/// are kept.
fn write_whole(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if std::fs::metadata(file).is_ok_and(|there| !there.is_file()) {
        let mut open = std::fs::OpenOptions::new().write(true).open(file)?;
        return open.write_all(bytes).and_then(|()| open.flush());
    }
    let file = &std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.new", std::process::id()));
    let temporary = file.with_file_name(hidden);
    let written = write_new(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, file));
    if written.is_err() {
        // Removes the partial file; a failure here adds nothing to the error.
        let _removed = std::fs::remove_file(&temporary);
    }
    written
}

fn write_new(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(file)?;
    open.write_all(bytes)?;
    open.sync_all()
}
