//! The sessions that are held: each has a file beside the database, which all of its holders lock together
//! and which a deletion locks alone.
//!
//! As with [owners](crate::owners), the operating system lets go of a lock when its process ends. A file
//! without a lock means nothing and is taken away; so whoever locks one looks whether it is still there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_domain::ids::SessionId;

use crate::owners::{beside, is_there, make_folder, private};

/// The holds of one database.
#[derive(Clone)]
pub(crate) struct Holds {
    folder: PathBuf,
}

/// A locked file. It is taken away with the last of its locks.
pub(crate) struct HoldLock {
    file: File,
    path: PathBuf,
}

impl Holds {
    pub(crate) fn of(database: &Path) -> Self {
        Self {
            folder: beside(database, "-holds"),
        }
    }

    /// Holds a session, with others. Waits while it is being deleted.
    pub(crate) fn hold(&self, session: &SessionId) -> io::Result<HoldLock> {
        loop {
            let (file, path) = self.open(session)?;
            file.lock_shared()?;
            if is_there(&path, &file) {
                return Ok(HoldLock { file, path });
            }
        }
    }

    /// Keeps everybody from holding a session; `None` if somebody does.
    pub(crate) fn keep_off(&self, session: &SessionId) -> io::Result<Option<HoldLock>> {
        let mut tries = TRIES;
        loop {
            let (file, path) = self.open(session)?;
            match file.try_lock() {
                Ok(()) if is_there(&path, &file) => return Ok(Some(HoldLock { file, path })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if tries == 0 => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    // A list that looks at the file has it for a moment.
                    tries -= 1;
                    std::thread::sleep(MOMENT);
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// The sessions that are held now, as far as can be seen.
    pub(crate) fn all(&self) -> HeldSessions {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let held = entries.flatten().filter(|entry| is_held(&entry.path()));
        HeldSessions(held.map(|entry| entry.file_name()).collect())
    }

    fn open(&self, session: &SessionId) -> io::Result<(File, PathBuf)> {
        make_folder(&self.folder)?;
        let path = self.folder.join(name(session));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).read(true);
        private(&mut options);
        Ok((options.open(&path)?, path))
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

/// Sessions that were held at one instant.
pub(crate) struct HeldSessions(HashSet<OsString>);

impl HeldSessions {
    pub(crate) fn has(&self, session: &SessionId) -> bool {
        !self.0.is_empty() && self.0.contains(&name(session))
    }
}

/// Whether somebody has a lock on this file; one that nobody has is taken away.
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

/// The name of a session's file. An id alone may be a name that some systems keep for themselves.
fn name(session: &SessionId) -> OsString {
    format!("of-{session}").into()
}

/// How often a lock is tried again that somebody else has.
const TRIES: u32 = 5;
/// How long a look at a lock takes at most.
const MOMENT: Duration = Duration::from_millis(10);
