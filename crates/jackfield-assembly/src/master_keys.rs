//! The master keys of secrets, `[secrets]`.

use std::io;

use jackfield_engine::MasterKeys;

use crate::config::{Config, KeySource};
use crate::keyring::Keyring;
use crate::place::{ConfigError, ConfigProblem};
use crate::surroundings::{Environment, read_small};

impl Config {
    /// The master keys, under which secrets are encrypted; `None` if none are configured. Blocks on the disk, or until
    /// the keyring answers.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if they are configured and cannot be read.
    pub fn master_keys(
        &self,
        environment: &Environment,
    ) -> Result<Option<MasterKeys>, ConfigError> {
        let Some((source, place)) = &self.secrets else {
            return Ok(None);
        };
        let keys = read(source, environment).and_then(|text| {
            let keys = MasterKeys::parse(&text);
            keys.map_err(|error| error.to_string())
        });
        keys.map(Some).map_err(|why| {
            let problem = ConfigProblem::new(place.clone(), format!("the master key: {why}"));
            ConfigError::Wrong(vec![problem])
        })
    }
}

fn read(source: &KeySource, environment: &Environment) -> Result<String, String> {
    match source {
        KeySource::None => Ok(String::new()),
        KeySource::File(path) => {
            let bytes = read_small(path);
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
            text.map_err(|error| format!("the file `{}` cannot be read: {error}", path.display()))
        }
        KeySource::Keyring => {
            let text =
                Keyring::find(environment).and_then(|keyring| keyring.key(MASTER_KEY_IN_KEYRING));
            let text = text.map_err(|error| format!("the keyring cannot be read: {error}"))?;
            text.ok_or_else(|| {
                "the keyring has none: `jackfield secrets new-key --keyring`".to_owned()
            })
        }
        KeySource::Variable(name) => match environment.get(name) {
            Some(Ok(text)) => Ok(text.to_string()),
            Some(Err(_)) => Err(format!("{name} is not UTF-8")),
            None => Err(format!("{name} is not set")),
        },
    }
}

/// The name of the master keys in the keyring.
pub const MASTER_KEY_IN_KEYRING: &str = "secrets.master";
