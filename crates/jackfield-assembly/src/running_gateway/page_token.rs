//! The token in the link of the gateway's page, which the page needs where no key is required.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use jackfield_ports::credential::Credential;

use crate::config::Config;
use crate::servers::private_file;

/// The token in the link. It cannot be printed by accident.
#[derive(Clone, Debug)]
pub struct PageToken(Credential);

impl PageToken {
    /// A new token: 256 random bits.
    ///
    /// # Errors
    ///
    /// The operating system has no random numbers.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            let message = format!("the operating system has no random numbers: {error}");
            io::Error::other(message)
        })?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(Credential::new(digits.collect::<String>())))
    }

    /// The token itself, for the link and its digest alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl Config {
    /// The token of this user's gateways on this machine. It is made where there is none, in a file that this user alone
    /// can read.
    ///
    /// # Errors
    ///
    /// There is no folder for data, it cannot be read or written, or there are no random numbers.
    pub fn page_token(&self) -> io::Result<PageToken> {
        let Some(folder) = &self.data else {
            let message = "this user has no folder for data; set HOME or XDG_DATA_HOME";
            return Err(io::Error::new(ErrorKind::NotFound, message));
        };
        let file = folder.join("page-token");
        if let Some(token) = read(&file)? {
            return Ok(token);
        }
        let _lock = private_file::lock(&file, LOCK_TIME_LIMIT)?;
        if let Some(token) = read(&file)? {
            return Ok(token);
        }
        let token = PageToken::new()?;
        private_file::write(&file, token.expose())?;
        Ok(token)
    }
}

/// The token in a file, if it has one.
fn read(file: &Path) -> io::Result<Option<PageToken>> {
    match fs::read_to_string(file) {
        Ok(text) if text.trim().len() == LENGTH => {
            Ok(Some(PageToken(Credential::new(text.trim()))))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// The length of a token, in letters.
const LENGTH: usize = 64;
const LOCK_TIME_LIMIT: Duration = Duration::from_secs(5);
