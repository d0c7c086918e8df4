//! Changes values of a configuration file, which keeps its comments and its order.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::key_source::KeySource;
use crate::load::{Flags, named_file};
use crate::place::ConfigError;
use crate::replaced_file::{replace, text_of};
use crate::surroundings::Surroundings;

/// The configuration file that commands change for a person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigFile(PathBuf);

impl ConfigFile {
    /// The file that is named by flags or environment, or else the user's own; `None` if there is no user.
    ///
    /// # Errors
    ///
    /// The name in the environment is not UTF-8.
    pub fn of(surroundings: &Surroundings, flags: &Flags) -> Result<Option<Self>, ConfigError> {
        let named = named_file(surroundings, flags)?;
        Ok(named.or_else(|| surroundings.user_file()).map(Self))
    }

    /// The path of the file, whether or not it exists.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Adds a rule that allows the tools of this pattern, after all other rules, so that it decides. Blocks on the
    /// disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or its rules are not in a table.
    pub fn allow(&self, pattern: &str) -> io::Result<()> {
        self.change(|document| {
            let policy = table(document.as_table_mut(), "policy", true)?;
            let tools = table(policy, "tools", false)?;
            // An earlier rule of the same pattern may stand before others.
            tools.remove(pattern);
            tools.insert(pattern, value("allow"));
            Ok(())
        })
    }

    /// Says where the key of a provider is, in place of an earlier source. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or its providers are not tables.
    pub fn set_key(&self, provider: &str, key: &KeySource) -> io::Result<()> {
        self.change(|document| {
            let providers = table(document.as_table_mut(), "providers", true)?;
            let provider = table(providers, provider, false)?;
            for name in ["api_key_env", "api_key_file", "api_key_keyring"] {
                provider.remove(name);
            }
            match key {
                KeySource::File(path) => {
                    provider.insert("api_key_file", value(path.display().to_string()))
                }
                KeySource::Keyring => provider.insert("api_key_keyring", value(true)),
                KeySource::None => provider.insert("api_key_env", value("")),
                KeySource::Variable(name) => provider.insert("api_key_env", value(&**name)),
            };
            Ok(())
        })
    }

    /// Removes the keyring as the source of a provider's key. Other sources stay. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// As for [`set_key`](Self::set_key).
    pub fn forget_keyring(&self, provider: &str) -> io::Result<()> {
        self.change(|document| {
            let providers = document.get_mut("providers");
            let providers = providers.and_then(Item::as_table_like_mut);
            let table = providers.and_then(|providers| providers.get_mut(provider));
            if let Some(table) = table.and_then(Item::as_table_like_mut) {
                table.remove("api_key_keyring");
            }
            Ok(())
        })
    }

    /// Sets the default model. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn set_model(&self, model: &str) -> io::Result<()> {
        self.change(|document| {
            document.insert("model", value(model));
            Ok(())
        })
    }

    fn change(&self, change: impl FnOnce(&mut DocumentMut) -> io::Result<()>) -> io::Result<()> {
        let text = text_of(&self.0, MAX_BYTES)?;
        let mut document: DocumentMut = text.parse().map_err(io::Error::other)?;
        change(&mut document)?;
        replace(&self.0, &document.to_string())
    }
}

/// The table of this name, which is created if it does not exist.
fn table<'t>(
    parent: &'t mut dyn TableLike,
    name: &str,
    is_implicit: bool,
) -> io::Result<&'t mut dyn TableLike> {
    let mut new = Table::new();
    new.set_implicit(is_implicit);
    let item = parent.entry(name).or_insert(Item::Table(new));
    let table = item.as_table_like_mut();
    table.ok_or_else(|| io::Error::other(format!("`{name}` is no table there")))
}

/// The maximum size of the file, in bytes.
const MAX_BYTES: u64 = 1 << 20;
