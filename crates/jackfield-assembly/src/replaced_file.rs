//! Replaces a configuration file as a whole, so that no reader sees a part of it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use jackfield_store_sqlite::open_private;

/// The text of a configuration file; empty if it does not exist.
///
/// # Errors
///
/// It cannot be read, or is not UTF-8.
pub(crate) fn text_of(path: &Path, most: u64) -> io::Result<String> {
    match crate::bounded_file::read_at_most(path, most) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Replaces a file, or creates it for this user alone. A link stays, and its target is replaced.
///
/// # Errors
///
/// The file or its folder cannot be written.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let path = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let new = beside(&path);
    let written = write(&new, &path, text);
    if written.is_err() {
        // It may not exist.
        let _removed = fs::remove_file(&new);
    }
    written
}

fn write(new: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // The file may get keys of servers.
    let mut file = open_private(&mut options, new)?;
    file.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(path) {
        file.set_permissions(metadata.permissions())?;
    }
    file.sync_all()?;
    fs::rename(new, path)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}
