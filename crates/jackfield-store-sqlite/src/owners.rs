//! Who is alive: each process that has the file open holds a lock under a name of its own.
//!
//! The operating system lets go of a lock when its process ends, however it ends; a lock that can be
//! taken therefore means that its holder is dead. The lock files are opened close-on-exec, as all
//! files of the standard library are, so no child holds one.
//!
//! Network file systems that do not keep locks are no place for the file; SQLite says the same.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// One process's life with the file, as others see it.
pub(crate) struct Incarnation {
    folder: PathBuf,
    /// None who only looks at the lives of others.
    lock: Option<File>,
    name: String,
}

impl Incarnation {
    /// Begins a life: from now on others find this one alive.
    pub(crate) fn begin(database: &Path) -> io::Result<Self> {
        let folder = beside(database, "-owners");
        make_folder(&folder)?;
        sweep(&folder);
        loop {
            let name = new_name();
            let path = folder.join(&name);
            let file = create(&path)?;
            let locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(error),
            };
            // Somebody who swept between the two steps is looking at it, or has taken it away.
            if locked && is_there(&path, &file) {
                return Ok(Self {
                    folder,
                    lock: Some(file),
                    name,
                });
            }
        }
    }

    /// Looks at the lives of others, and owns nothing.
    pub(crate) fn observer(database: &Path) -> Self {
        Self {
            folder: beside(database, "-owners"),
            lock: None,
            name: String::new(),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the owner of this name still lives, as far as anybody can tell: when in doubt, it does.
    pub(crate) fn is_alive(&self, owner: &str) -> bool {
        owner == self.name || holds(&self.folder.join(owner))
    }
}

impl Drop for Incarnation {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let _gone = std::fs::remove_file(self.folder.join(&self.name));
        }
    }
}

/// A lock that many share as long as they know the file's form, and that one holds alone to change it.
pub(crate) struct FormLock(File);

impl FormLock {
    pub(crate) fn open(database: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).read(true);
        private(&mut options);
        options.open(beside(database, "-form")).map(Self)
    }

    /// Holds it with others, from holding it alone, too; waits for whoever is changing it.
    pub(crate) fn share(&self) -> io::Result<()> {
        self.0.lock_shared()
    }

    /// Takes it alone, if nobody has it.
    pub(crate) fn alone(&self) -> io::Result<bool> {
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

/// Only for its owner to read and write, as what is said to a model is nobody else's.
pub(crate) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _nothing_to_do = options;
}

/// Makes a folder for nobody else, with those above it.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
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
    // SQLite sees to it that a file outlives a loss of power within its folder, not the folder.
    #[cfg(unix)]
    for parent in missing.iter().filter_map(|made| made.parent()) {
        let here = parent.as_os_str().is_empty();
        let parent = File::open(if here { Path::new(".") } else { parent });
        // Where folders cannot be synced there is no more to be done.
        let _synced = parent.and_then(|parent| parent.sync_all());
    }
    #[cfg(not(unix))]
    let _nothing_to_do = missing;
    Ok(())
}

/// A file, and where it is to be found.
pub(crate) struct LocatedFile {
    #[cfg(unix)]
    file: (u64, u64),
    #[cfg(unix)]
    path: PathBuf,
}

impl LocatedFile {
    /// The file that is there. It is not opened: to close it again would take SQLite its locks.
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

    /// Whether it is still there, and no other one in its place; in doubt it is.
    #[cfg(unix)]
    pub(crate) fn is_there(&self) -> bool {
        match std::fs::metadata(&self.path) {
            Ok(found) => identity(&found) == self.file,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Whether it is still there: an open file cannot be taken away.
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
    private(&mut options);
    options.open(path)
}

/// Whether somebody holds the lock of this file.
fn holds(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => {
                // Nobody can have this name any more.
                let _gone = std::fs::remove_file(path);
                false
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Takes away what the dead have left.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let _alive = holds(&entry.path());
    }
}

/// Whether a file is still the one at its path.
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

/// The path of a file beside the database: its name with something after it.
pub(crate) fn beside(database: &Path, after: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(after);
    name.into()
}

/// A name that nobody has had: the process, the time, and a number within the process.
fn new_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.unwrap_or_default().as_nanos();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{time}-{next}", std::process::id())
}
