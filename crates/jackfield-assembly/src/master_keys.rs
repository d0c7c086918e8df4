//! The master keys of secrets, `[secrets]`.

use jackfield_engine::MasterKeys;

use crate::config::Config;
use crate::key_source::read_source;
use crate::place::{ConfigError, ConfigProblem};
use crate::surroundings::Environment;

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
        let entry = (MASTER_KEY_IN_KEYRING, "jackfield secrets new-key --keyring");
        let keys = read_source(source, entry, environment).and_then(|text| {
            let keys = MasterKeys::parse(&text);
            keys.map_err(|error| error.to_string())
        });
        keys.map(Some).map_err(|why| {
            let problem = ConfigProblem::new(place.clone(), format!("the master key: {why}"));
            ConfigError::Wrong(vec![problem])
        })
    }
}

/// The name of the master keys in the keyring.
pub const MASTER_KEY_IN_KEYRING: &str = "secrets.master";
