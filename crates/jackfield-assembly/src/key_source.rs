//! Where a key is, and how it is read from there.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::keyring::Keyring;
use crate::surroundings::{Environment, read_small};

/// The source of a key. Never the key itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeySource {
    /// No key is needed.
    None,
    /// A file that contains only the key.
    File(PathBuf),
    /// The keyring of the operating system.
    Keyring,
    /// An environment variable.
    Variable(Arc<str>),
}

/// The text of a key, which may be empty. In the keyring it has a name, and a command that puts it there. Blocks on the
/// disk, or until the keyring answers.
///
/// # Errors
///
/// Why there is none, in a sentence.
pub(crate) fn read_source(
    source: &KeySource,
    (name, command): (&str, &str),
    environment: &Environment,
) -> Result<String, String> {
    match source {
        KeySource::None => Ok(String::new()),
        KeySource::File(path) => {
            let bytes = read_small(path);
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
            text.map_err(|error| format!("the file `{}` cannot be read: {error}", path.display()))
        }
        KeySource::Keyring => {
            let key = Keyring::find(environment).and_then(|keyring| keyring.key(name));
            let key = key.map_err(|error| format!("the keyring cannot be read: {error}"))?;
            key.ok_or_else(|| format!("the keyring has no key: `{command}`"))
        }
        KeySource::Variable(name) => match environment.get(name) {
            Some(Ok(text)) => Ok(text),
            Some(Err(_)) => Err(format!("{name} is not UTF-8")),
            None => Err(format!("{name} is not set")),
        },
    }
}
