//! Opening the file: made if there is none, locked in its form, and brought up to date.

use std::fs::{FileType, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::{JobError, OpenError};
use crate::forms::FORM;
use crate::owners::{FormLock, LocatedFile, make_folder, private};
use crate::restored;
use crate::schema;
use crate::witness::Witness;

/// A file that is ready.
pub(crate) struct ReadyFile {
    /// What writes to it.
    pub(crate) connection: Connection,
    /// Held as long as the file's form has to stay as it is.
    pub(crate) form: FormLock,
    /// Its one name.
    pub(crate) path: PathBuf,
    pub(crate) place: LocatedFile,
    /// What was committed last.
    pub(crate) witness: Witness,
}

/// Opens a file, which is made if there is none: for nobody else to read, and with the folders above it.
pub(crate) fn open(path: &Path) -> Result<ReadyFile, OpenError> {
    let io = |error| OpenError::io(path, error);
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        make_folder(folder).map_err(io)?;
    }
    let found = std::fs::metadata(path).ok().map(|found| found.file_type());
    if let Some(kind) = found.filter(|found| !found.is_file()) {
        return Err(OpenError::NotAFile {
            kind: told(kind),
            path: path.to_owned(),
        });
    }
    // One that is there is not opened: to close it again would take SQLite the locks that it has on
    // it in this process.
    if found.is_none() {
        let mut make = OpenOptions::new();
        make.create(true).truncate(false).write(true).read(true);
        private(&mut make);
        drop(make.open(path).map_err(io)?);
    }
    // Below one name the file is one, whatever ways lead to it: SQLite and our locks agree on it.
    let path = path.canonicalize().map_err(io)?;
    let io = |error| OpenError::io(&path, error);
    let place = LocatedFile::at(&path).map_err(io)?;
    let form = FormLock::open(&path).map_err(io)?;
    let connection = schema::connect(&path, true);
    let mut connection = connection.map_err(|error| OpenError::store(&path, &error))?;
    let is_read_only = connection.is_readonly("main");
    if is_read_only.map_err(|error| OpenError::store(&path, &error))? {
        // SQLite opens it like that where it may not be written, and says so at the first write.
        let fault = JobError::ReadOnly("SQLite could open it only to read".into());
        return Err(OpenError::read_only(&path, fault));
    }
    ready(&path, &mut connection, &form)?;
    let witness = Witness::of(&path);
    if found.is_none() {
        // It is of a file that is no more.
        witness.clear();
    } else {
        restored::compare(&connection, &path, &witness)?;
    }
    Ok(ReadyFile {
        connection,
        form,
        path,
        place,
        witness,
    })
}

/// Makes the file ready, or says why not.
fn ready(path: &Path, connection: &mut Connection, form: &FormLock) -> Result<(), OpenError> {
    let io = |error| OpenError::io(path, error);
    let store = |error: rusqlite::Error| OpenError::store(path, &error);
    for _ in 0..TRIES {
        let alone = form.alone().map_err(io)?;
        if !alone {
            // Whoever has it alone is making it ready.
            form.share().map_err(io)?;
        }
        match schema::look(connection).map_err(store)? {
            schema::DatabaseState::Ready => return form.share().map_err(io),
            schema::DatabaseState::Older(_) if alone => {
                schema::migrate(connection).map_err(store)?;
                return form.share().map_err(io);
            }
            // Whoever had it alone has died meanwhile, or an older process is at work.
            schema::DatabaseState::Older(_) => form.release().map_err(io)?,
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

/// What something is that is no file.
fn told(kind: FileType) -> &'static str {
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

/// How often a file is looked at that is being made ready.
const TRIES: usize = 3;
