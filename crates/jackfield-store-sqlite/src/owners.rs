//! Liveness of processes: each process that has the file open holds a lock under a unique name.
//!
//! The operating system releases a lock when its process ends, in whichever way; so a lock that can be taken proves
//! that its holder is dead. The lock files are close-on-exec, as are all files opened by the standard library, so
//! no child process inherits one.
//!
//! Do not place the file on a network file system that does not support locks; SQLite has the same restriction.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// One process's use of the file, as other processes see it.
pub(crate) struct Incarnation {
    folder: PathBuf,
    /// `None` for an observer, which owns no sessions.
    lock: Option<File>,
    name: String,
}

impl Incarnation {
    /// Creates and locks a new owner file; other processes see this one as alive from then on.
    pub(crate) fn start(database: &Path) -> io::Result<Self> {
        let folder = sibling_path(database, "-owners");
        create_private_dir(&folder)?;
        remove_stale(&folder);
        loop {
            let name = new_name();
            let path = folder.join(&name);
            let file = create(&path)?;
            let locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(error),
            };
            // A process that swept between the two steps may be testing the file, or may have removed it.
            if locked && is_there(&path, &file) {
                return Ok(Self {
                    folder,
                    lock: Some(file),
                    name,
                });
            }
        }
    }

    /// Tests whether others are alive, and owns no session.
    pub(crate) fn observer(database: &Path) -> Self {
        Self {
            folder: sibling_path(database, "-owners"),
            lock: None,
            name: String::new(),
        }
    }

    /// The unique name of this owner.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the owner of this name is alive; also `true` if that cannot be determined.
    pub(crate) fn is_alive(&self, owner: &str) -> bool {
        owner == self.name || is_locked(&self.folder.join(owner))
    }
}

impl Drop for Incarnation {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let _gone = std::fs::remove_file(self.folder.join(&self.name));
        }
    }
}

/// A lock on the file's form: shared by processes that know the form, exclusive for a migration.
pub(crate) struct FormLock(File);

impl FormLock {
    pub(crate) fn open(database: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).read(true);
        open_private(&mut options, &sibling_path(database, "-form")).map(Self)
    }

    /// Takes the lock shared, also from exclusive; waits for a running migration.
    pub(crate) fn lock_shared(&self) -> io::Result<()> {
        self.0.lock_shared()
    }

    /// Takes the lock exclusively, if it is free.
    pub(crate) fn try_exclusive(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(crate) fn release(&self) -> io::Result<()> {
        self.0.unlock()
    }
}

/// Opens a file, and restricts a new one to its owner, as conversations and keys are private. A symbolic link in its
/// place is an error: its maker would choose which file is written.
///
/// # Errors
///
/// It cannot be opened, or is a symbolic link.
pub fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::{fs::OFlags, io::Errno};
        use std::os::unix::fs::OpenOptionsExt as _;
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let opened = options.mode(0o600).custom_flags(no_link).open(path);
        opened.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => io::Error::other(format!(
                "{} is a symbolic link, which is not followed: remove it",
                path.display()
            )),
            _ => error,
        })
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// Creates a folder and its missing parents, accessible only to their owner.
pub(crate) fn create_private_dir(folder: &Path) -> io::Result<()> {
    let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = folder.ancestors().take_while(missing).collect();
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)?;
    // SQLite makes a file durable within its folder, but not the folder itself.
    #[cfg(unix)]
    for parent in missing.iter().filter_map(|made| made.parent()) {
        let here = parent.as_os_str().is_empty();
        let parent = File::open(if here { Path::new(".") } else { parent });
        // Some platforms cannot sync folders.
        let _synced = parent.and_then(|parent| parent.sync_all());
    }
    #[cfg(not(unix))]
    let _nothing_to_do = missing;
    Ok(())
}

/// A file's identity and its path.
pub(crate) struct LocatedFile {
    #[cfg(unix)]
    file: (u64, u64),
    #[cfg(unix)]
    path: PathBuf,
}

impl LocatedFile {
    /// The existing file at a path. It is not opened, as closing it would release SQLite's locks.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        #[cfg(unix)]
        return Ok(Self {
            file: identity(&found),
            path: path.to_owned(),
        });
        #[cfg(not(unix))]
        return Ok(Self {});
    }

    /// Whether the path still leads to the same file; also `true` if that cannot be determined.
    #[cfg(unix)]
    pub(crate) fn is_there(&self) -> bool {
        match std::fs::metadata(&self.path) {
            Ok(found) => identity(&found) == self.file,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Whether the file still exists: here an open file cannot be removed.
    #[cfg(not(unix))]
    pub(crate) const fn is_there(&self) -> bool {
        true
    }
}

#[cfg(unix)]
fn identity(file: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (file.dev(), file.ino())
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    open_private(&mut options, path)
}

/// Whether the lock of this file is held; removes a file whose lock is free.
fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => {
                // Names are unique, so no new owner will use this one.
                let _gone = std::fs::remove_file(path);
                false
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Removes the owner files of dead processes.
fn remove_stale(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let _alive = is_locked(&entry.path());
    }
}

/// Whether the path still leads to this open file.
#[cfg(unix)]
pub(crate) fn is_there(path: &Path, file: &File) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(ours)) => identity(&there) == identity(&ours),
        (Ok(_) | Err(_), _) => false,
    }
}

#[cfg(not(unix))]
pub(crate) fn is_there(path: &Path, _file: &File) -> bool {
    path.exists()
}

/// The path of a file beside the database: the database's name with a suffix.
pub(crate) fn sibling_path(database: &Path, after: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(after);
    name.into()
}

/// A unique name: the process id, the time, and a counter within the process.
fn new_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.unwrap_or_default().as_nanos();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{time}-{next}", std::process::id())
}
