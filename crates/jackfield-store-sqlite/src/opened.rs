//! Opening the file: creating it if it does not exist, locking its form, and migrating it.

use std::fs::{FileType, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use crate::error::{JobError, OpenError};
use crate::forms::FORM;
use crate::owners::{FormLock, LocatedFile, create_private_dir, open_private};
use crate::restored;
use crate::schema;
use crate::witness::Witness;

/// A file that is open and up to date.
pub(crate) struct ReadyFile {
    pub(crate) connection: Connection,
    /// Keeps other processes from migrating the file while it is open here.
    pub(crate) form: FormLock,
    pub(crate) path: PathBuf,
    pub(crate) location: LocatedFile,
    /// The note of the last append.
    pub(crate) witness: Witness,
}

/// Opens a file. A missing file is created with the folders above it, readable only by its owner.
pub(crate) fn open(path: &Path) -> Result<ReadyFile, OpenError> {
    let io = |error| OpenError::io(path, error);
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        create_private_dir(folder).map_err(io)?;
    }
    let found = std::fs::metadata(path).ok().map(|found| found.file_type());
    if let Some(kind) = found.filter(|found| !found.is_file()) {
        return Err(OpenError::NotAFile {
            kind: file_type_name(kind),
            path: path.to_owned(),
        });
    }
    // An existing file must not be opened here: closing it would release the POSIX locks that SQLite holds on it in
    // this process.
    if found.is_none() {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).read(true);
        drop(open_private(&mut options, path).map_err(io)?);
    }
    // The canonical path is the same for every alias, so SQLite and our locks use the same name.
    let path = path.canonicalize().map_err(io)?;
    let io = |error| OpenError::io(&path, error);
    let place = LocatedFile::at(&path).map_err(io)?;
    let form = FormLock::open(&path).map_err(io)?;
    let connection = schema::connect(&path, true);
    let mut connection = connection.map_err(|error| OpenError::store(&path, &error))?;
    let is_read_only = connection.is_readonly("main");
    if is_read_only.map_err(|error| OpenError::store(&path, &error))? {
        // SQLite silently opens a file read-only where it cannot write, and fails only at the first write.
        let fault = JobError::ReadOnly("SQLite could open it only to read".into());
        return Err(OpenError::read_only(&path, fault));
    }
    prepare(&path, &mut connection, &form)?;
    let witness = Witness::new(&path);
    if found.is_none() {
        // This witness belongs to an earlier file.
        witness.clear();
    } else {
        restored::compare(&connection, &path, &witness)?;
    }
    Ok(ReadyFile {
        connection,
        form,
        path,
        location: place,
        witness,
    })
}

/// Migrates the file if needed, or returns why it cannot be used.
fn prepare(path: &Path, connection: &mut Connection, form: &FormLock) -> Result<(), OpenError> {
    let io = |error| OpenError::io(path, error);
    let store = |error: rusqlite::Error| OpenError::store(path, &error);
    for _ in 0..TRIES {
        let alone = form.try_exclusive().map_err(io)?;
        if !alone {
            // The process that has the lock alone is migrating the file.
            form.lock_shared().map_err(io)?;
        }
        match schema::read_state(connection).map_err(store)? {
            schema::DatabaseState::Ready => return form.lock_shared().map_err(io),
            schema::DatabaseState::Older(_) if alone => {
                schema::migrate(connection).map_err(store)?;
                return form.lock_shared().map_err(io);
            }
            // That process has died meanwhile, or an older build is at work, or a program that a process with the file
            // starts has its lock until it runs.
            schema::DatabaseState::Older(_) => {
                form.release().map_err(io)?;
                thread::sleep(BETWEEN_TRIES);
            }
            schema::DatabaseState::Newer(found) => {
                return Err(OpenError::Newer {
                    found,
                    known: FORM,
                    path: path.to_owned(),
                });
            }
            schema::DatabaseState::NotOurs => {
                return Err(OpenError::NotOurs {
                    path: path.to_owned(),
                });
            }
        }
    }
    Err(OpenError::InUse {
        path: path.to_owned(),
    })
}

/// A name for the kind of an entry that is not a file.
fn file_type_name(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    if kind.is_dir() {
        return "a folder";
    }
    "no file"
}

/// How often a file that another process is migrating is looked at again.
const TRIES: usize = 10;
/// The pause before it is.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);
