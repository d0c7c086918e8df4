//! Takes the key of a provider from a person, and stores it.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use jackfield_assembly::{ConfigFile, Environment, KeySource, Keyring};

use crate::exit::Exit;
use crate::fault::CommandError;
use crate::secret_line;

/// Reads a key: from the terminal without an echo, or else from standard input.
///
/// # Errors
///
/// It cannot be read, or no header can hold it.
pub(crate) fn read_key(provider: &str) -> Result<String, CommandError> {
    let unreadable = |error: io::Error| {
        CommandError::new(Exit::Usage, "the key cannot be read").with_cause(&error)
    };
    let mut key = String::new();
    if io::stdin().is_terminal() {
        let prompt = format!("key of {provider} (shown as stars): ");
        key = secret_line::read(&prompt).map_err(unreadable)?;
    } else {
        let read = io::stdin().take(MAX_KEY).read_to_string(&mut key);
        read.map_err(unreadable)?;
    }
    let key = key.trim();
    if key.is_empty() {
        return Err(CommandError::new(Exit::Usage, "the key is empty"));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = "this is no key: it has spaces, or characters that no header can hold";
        return Err(CommandError::new(Exit::Usage, message));
    }
    Ok(key.to_owned())
}

/// Stores a key in the keyring, and says so in the configuration.
///
/// # Errors
///
/// There is no keyring, or it or the configuration cannot be written.
pub(crate) fn store_in_keyring(
    provider: &str,
    key: &str,
    file: &ConfigFile,
    environment: &Environment,
) -> Result<(), CommandError> {
    let keyring = Keyring::find(environment).map_err(|error| no_keyring(&error))?;
    keyring
        .set(provider, key)
        .map_err(|error| no_keyring(&error))?;
    file.set_key(provider, &KeySource::Keyring)
        .map_err(|error| cannot_write(file.path(), &error))
}

/// Stores a key in a file beside the configuration that only this user can read, and says so in the configuration.
/// Returns the file's path.
///
/// # Errors
///
/// One of the files cannot be written.
pub(crate) fn store_in_file(
    provider: &str,
    key: &str,
    file: &ConfigFile,
) -> Result<PathBuf, CommandError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = file.path().with_file_name(format!("{provider}.key"));
    let written = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // A new file, since the permissions of one that is there would stay.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut options = OpenOptions::new();
        let mut out = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        writeln!(out, "{key}")?;
        out.sync_all()
    };
    written().map_err(|error| cannot_write(&path, &error))?;
    file.set_key(provider, &KeySource::File(path.clone()))
        .map_err(|error| cannot_write(file.path(), &error))?;
    Ok(path)
}

/// The error of a keyring that cannot be used.
pub(crate) fn no_keyring(error: &io::Error) -> CommandError {
    let help = "put the key into an environment variable, or into a file and name that with \
                `api_key_file`; `jackfield setup` does the latter";
    CommandError::new(Exit::Configuration, "the keyring cannot be used")
        .with_cause(error)
        .with_help(help)
}

/// The error of a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> CommandError {
    let message = format!("`{}` cannot be written", path.display());
    CommandError::new(Exit::Configuration, message).with_cause(error)
}

/// The largest input with a key, in bytes.
const MAX_KEY: u64 = 64 << 10;
