//! Files of this user alone that several processes write: replaced atomically, under a lock beside them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use jackfield_store_sqlite::open_private;

/// Waits for the lock of a file, and creates the folder of both. The operating system releases the lock when the process
/// ends.
///
/// # Errors
///
/// Another process keeps it for longer than this, or it cannot be made.
pub(crate) fn lock(file: &Path, time_limit: Duration) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).write(true);
    let lock = open_private(&mut options, &file.with_extension("lock"))?;
    let since = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if since.elapsed() < time_limit => {
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let message = "another process does not let go of it";
                return Err(io::Error::new(ErrorKind::TimedOut, message));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Writes a file atomically and durably. The caller has its lock.
///
/// # Errors
///
/// The file or its folder cannot be written.
pub(crate) fn write(file: &Path, text: &str) -> io::Result<()> {
    // The writer has the lock, so a temporary file is a leftover of a killed process.
    let beside = file.with_extension("tmp");
    write_new(&beside, text)?.sync_all()?;
    fs::rename(beside, file)?;
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        // Makes the name durable, too. Where a folder cannot be synced, the file is complete all the same.
        let _lasting = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// Writes a file anew in place of the one that is there. A planted link is removed, and not followed.
///
/// # Errors
///
/// The file cannot be replaced.
pub(crate) fn write_new(file: &Path, text: &str) -> io::Result<File> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    let mut open = open_private(&mut options, file)?;
    open.write_all(text.as_bytes())?;
    Ok(open)
}

/// The poll interval of the lock.
const PAUSE: Duration = Duration::from_millis(5);
