//! Holds on sessions: each held session has a file beside the database. Holders lock it shared, and a deletion
//! locks it exclusively.
//!
//! As with [owners](crate::owners), the operating system releases a lock when its process ends. A file without a
//! lock has no meaning and is removed; so after locking a file, check that it still exists.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_domain::ids::SessionId;

use crate::owners::{create_private_dir, is_there, open_private, sibling_path};

/// The holds on the sessions of one database.
#[derive(Clone)]
pub(crate) struct Holds {
    folder: PathBuf,
}

/// A locked file, removed with the last of its locks.
pub(crate) struct HoldLock {
    file: File,
    path: PathBuf,
}

impl Holds {
    pub(crate) fn new(database: &Path) -> Self {
        Self {
            folder: sibling_path(database, "-holds"),
        }
    }

    /// Takes a shared hold on a session. Waits while the session is being deleted.
    pub(crate) fn hold(&self, session: &SessionId) -> io::Result<HoldLock> {
        loop {
            let (file, path) = self.open(session)?;
            file.lock_shared()?;
            if is_there(&path, &file) {
                return Ok(HoldLock { file, path });
            }
        }
    }

    /// Takes the exclusive lock, which prevents holds on a session; `None` if there is a hold.
    pub(crate) fn try_exclusive(&self, session: &SessionId) -> io::Result<Option<HoldLock>> {
        let mut tries = TRIES;
        loop {
            let (file, path) = self.open(session)?;
            match file.try_lock() {
                Ok(()) if is_there(&path, &file) => return Ok(Some(HoldLock { file, path })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if tries == 0 => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    // A listing locks the file for a moment to test it.
                    tries -= 1;
                    std::thread::sleep(MOMENT);
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// The sessions held now, as far as can be determined.
    pub(crate) fn held_sessions(&self) -> HeldSessions {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let held = entries.flatten().filter(|entry| is_held(&entry.path()));
        HeldSessions(held.map(|entry| entry.file_name()).collect())
    }

    fn open(&self, session: &SessionId) -> io::Result<(File, PathBuf)> {
        create_private_dir(&self.folder)?;
        let path = self.folder.join(name(session));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).read(true);
        Ok((open_private(&mut options, &path)?, path))
    }
}

impl Drop for HoldLock {
    fn drop(&mut self) {
        let _let_go = self.file.unlock();
        if self.file.try_lock().is_ok() && is_there(&self.path, &self.file) {
            let _gone = std::fs::remove_file(&self.path);
        }
    }
}

/// The sessions that were held at one instant.
pub(crate) struct HeldSessions(HashSet<OsString>);

impl HeldSessions {
    pub(crate) fn contains(&self, session: &SessionId) -> bool {
        !self.0.is_empty() && self.0.contains(&name(session))
    }
}

/// Whether this file is locked; removes a file that is not.
fn is_held(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock() {
            Ok(()) => {
                if is_there(path, &file) {
                    let _gone = std::fs::remove_file(path);
                }
                false
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// The name of a session's file. Some systems reserve names that an id alone might equal.
fn name(session: &SessionId) -> OsString {
    format!("of-{session}").into()
}

/// How often a lock that is taken is tried again.
const TRIES: u32 = 5;
/// The longest time for which a listing keeps a lock.
const MOMENT: Duration = Duration::from_millis(10);
