//! The sign-in at one server: in the keyring where there is one, and otherwise in a file of this user alone.
//!
//! The file says which of the two it is, so that the keyring is asked only for a server with a sign-in.

use std::any::Any;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolboxId;
use jackfield_tools_mcp::TokenStore;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::bounded_file::read_at_most;
use crate::keyring::Keyring;
use crate::servers::private_file;
use crate::surroundings::Environment;

/// The sign-in at one server.
#[derive(Clone)]
pub(crate) struct SignInFile {
    /// Its name in the keyring.
    account: String,
    environment: Environment,
    file: PathBuf,
}

impl SignInFile {
    /// The sign-in at the server with this id and this address. One at another address gets none of its tokens.
    pub(crate) fn new(data: &Path, id: &ToolboxId, url: &str, environment: &Environment) -> Self {
        let digest = Digest::of_parts([id.as_str(), url]).to_hex();
        let digest = digest.get(..16).unwrap_or_default();
        Self {
            account: format!("mcp-{id}-{digest}"),
            environment: environment.clone(),
            file: data.join("mcp-sign-in").join(format!("{id}-{digest}.json")),
        }
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> String {
        match self.is_in_keyring() {
            Ok(Some(true)) => "the keyring".to_owned(),
            Ok(_) | Err(_) => self.file.display().to_string(),
        }
    }

    /// The content of the file, if there is one.
    fn content(&self) -> io::Result<Option<String>> {
        let bytes = match read_at_most(&self.file, LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let file = self.file.display();
                return Err(io::Error::new(error.kind(), format!("{file}: {error}")));
            }
        };
        let text = String::from_utf8(bytes);
        let text =
            text.map_err(|_| io::Error::other(format!("{} is damaged", self.file.display())))?;
        Ok(Some(text))
    }

    /// Whether the file says that the keyring has it; `None` if there is no file.
    fn is_in_keyring(&self) -> io::Result<Option<bool>> {
        let content = self.content()?;
        Ok(content.map(|text| names_keyring(&text)))
    }

    fn load_now(&self) -> io::Result<Option<String>> {
        let Some(text) = self.content()? else {
            return Ok(None);
        };
        if !names_keyring(&text) {
            return Ok(Some(text));
        }
        let kept = Keyring::find(&self.environment)?.key(&self.account)?;
        kept.map(Some)
            .ok_or_else(|| io::Error::other("the keyring has it no more"))
    }

    fn store_now(&self, text: &str) -> io::Result<()> {
        let keyring = Keyring::find(&self.environment).ok();
        let kept = keyring.is_some_and(|keyring| keyring.set(&self.account, text).is_ok());
        if kept {
            return private_file::write(&self.file, &json!({ KEPT: KEYRING }).to_string());
        }
        private_file::write(&self.file, text)
    }

    fn remove_now(&self) -> io::Result<bool> {
        let is_in_keyring = self.is_in_keyring();
        let removed = match fs::remove_file(&self.file) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if matches!(is_in_keyring, Ok(Some(true))) {
            Keyring::find(&self.environment)?.remove(&self.account)?;
        }
        Ok(removed)
    }

    /// Does what may block on the disk, on the keyring or on another process.
    async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let file = self.clone();
        let ended = spawn_blocking(move || act(&file)).await;
        ended.map_err(io::Error::other)?
    }
}

#[async_trait]
impl TokenStore for SignInFile {
    async fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        let locked = self.blocking(|file| private_file::lock(&file.file, TIME_LIMIT));
        Ok(Box::new(locked.await?))
    }

    async fn load(&self) -> io::Result<Option<String>> {
        self.blocking(Self::load_now).await
    }

    async fn store(&self, text: &str) -> io::Result<()> {
        let text = text.to_owned();
        self.blocking(move |file| file.store_now(&text)).await
    }

    async fn remove(&self) -> io::Result<bool> {
        self.blocking(Self::remove_now).await
    }
}

fn names_keyring(text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    value.get(KEPT).and_then(Value::as_str) == Some(KEYRING)
}

/// The field of a file whose content is elsewhere, and its value.
const KEPT: &str = "kept";
const KEYRING: &str = "keyring";
/// The largest file, in bytes.
const LIMIT: u64 = 1 << 20;
/// How long to wait for the lock: a renewal under it takes at most 20 s.
const TIME_LIMIT: Duration = Duration::from_secs(30);
