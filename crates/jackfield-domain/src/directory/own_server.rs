//! The MCP server of a user or a team.

use std::sync::Arc;

use thiserror::Error;

use super::{EntryName, user_principal};
use crate::digest::Digest;
use crate::ids::{InvalidId, ToolboxId};

/// An MCP server that a user or a team has for itself. The values of its headers or variables are secrets of the entry,
/// and stand elsewhere, encrypted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OwnServer {
    /// How it is reached.
    pub endpoint: OwnEndpoint,
    /// Whether turns do not get its tools at present.
    pub is_disabled: bool,
    /// Whether it was taken away.
    pub is_removed: bool,
    /// Its name among those of the owner.
    pub name: Arc<str>,
    /// To whom it belongs.
    pub owner: ServerOwner,
    /// The names of its secrets: the headers of each request, or variables of the program.
    pub secrets: Vec<Arc<str>>,
}

/// How the server of a user or a team is reached.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum OwnEndpoint {
    /// Over Streamable HTTP, at this address.
    Http(Arc<str>),
    /// A program of the administrator's list, by its name there.
    Program(Arc<str>),
}

impl OwnEndpoint {
    /// The program; `None` for a server over HTTP.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        match self {
            Self::Http(_) => None,
            Self::Program(program) => Some(program),
        }
    }

    /// The address; `None` for a program.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Http(url) => Some(url),
            Self::Program(_) => None,
        }
    }
}

/// To whom a server belongs.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ServerOwner {
    /// To a team: each of its users has the tools, over a connection of its own.
    Team(EntryName),
    /// To a user.
    User(EntryName),
}

impl ServerOwner {
    /// The name of an entry of this owner.
    #[must_use]
    pub fn entry(&self, name: &str) -> EntryName {
        match self {
            Self::Team(team) => EntryName(format!("team:{team}/{name}").into()),
            Self::User(user) => EntryName::of_user(user, name),
        }
    }
}

impl std::fmt::Display for ServerOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Team(team) => write!(f, "team:{team}"),
            Self::User(user) => f.write_str(&user_principal(user)),
        }
    }
}

impl OwnServer {
    /// The maximum length of a name, in bytes.
    pub const MAX_NAME: usize = 32;
    /// The maximum number of secrets.
    pub const MAX_SECRETS: usize = 16;

    /// The name of its entry.
    #[must_use]
    pub fn entry(&self) -> EntryName {
        self.owner.entry(&self.name)
    }

    /// Whether turns get its tools.
    #[must_use]
    pub const fn is_used(&self) -> bool {
        !self.is_disabled && !self.is_removed
    }

    /// The address at which users sign in. A program, and a server that gets a header `Authorization`, have no sign-in.
    #[must_use]
    pub fn sign_in_address(&self) -> Option<&str> {
        let mut headers = self.secrets.iter();
        let has_key = headers.any(|name| name.eq_ignore_ascii_case("authorization"));
        self.endpoint.url().filter(|_| !has_key)
    }

    /// The id of its toolbox: `own-NAME` or `team-NAME`. Two users with a server of one name have the same id, and each
    /// of them only the own server behind it.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] for a name that [`check`](Self::check) refuses.
    pub fn toolbox(&self) -> Result<ToolboxId, InvalidId> {
        let owner = match self.owner {
            ServerOwner::Team(_) => ToolboxId::OF_TEAMS,
            ServerOwner::User(_) => ToolboxId::OF_USERS,
        };
        ToolboxId::parse(&format!("{owner}{}", self.name))
    }

    /// Which server it is: equal as long as owner, name and address or program are. Another key makes no other server.
    #[must_use]
    pub fn identity(&self) -> Digest {
        let (kind, place) = match &self.endpoint {
            OwnEndpoint::Http(url) => ("http", url),
            OwnEndpoint::Program(program) => ("program", program),
        };
        Digest::of_parts([self.entry().as_str(), kind, place])
    }

    /// Checks the name, the address and the names of the secrets.
    ///
    /// # Errors
    ///
    /// [`InvalidOwnServer`] with the first thing that is wrong.
    pub fn check(&self) -> Result<(), InvalidOwnServer> {
        check_name(&self.name)?;
        let (what, place) = match &self.endpoint {
            OwnEndpoint::Http(url) => ("address", url),
            OwnEndpoint::Program(program) => ("program", program),
        };
        check_text(what, place, MAX_ADDRESS)?;
        if self.secrets.len() > Self::MAX_SECRETS {
            return Err(InvalidOwnServer::TooManySecrets);
        }
        for (nth, name) in self.secrets.iter().enumerate() {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            let is_valid = (1..=MAX_SECRET_NAME).contains(&name.len()) && name.bytes().all(fits);
            let mut before = self.secrets.iter().take(nth);
            if !is_valid || before.any(|other| other.eq_ignore_ascii_case(name)) {
                return Err(InvalidOwnServer::SecretName(shown(name)));
            }
        }
        Ok(())
    }

    /// Checks the value of a header or a variable.
    ///
    /// # Errors
    ///
    /// [`InvalidOwnServer`], without the value.
    pub fn check_secret(name: &str, value: &str) -> Result<(), InvalidOwnServer> {
        check_text(&format!("value of `{}`", shown(name)), value, MAX_SECRET)
    }
}

/// Why a server of a user or a team is not taken.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum InvalidOwnServer {
    /// The name cannot be one; it is cut to 80 characters.
    #[error(
        "`{0}` cannot be the name of a server: 1 to 32 characters of a-z, 0-9, `-` and `_` can, the first a letter or a digit"
    )]
    Name(String),
    /// The name of a header or a variable cannot be one, or is there twice; it is cut to 80 characters.
    #[error(
        "`{0}` cannot be the name of a header or a variable, or is there twice: 1 to 64 letters, digits, `-` and `_` can"
    )]
    SecretName(String),
    /// It would be filled in from the environment.
    #[error(
        "the {what} has `{template}` in it: nothing of the gateway's environment is put into the servers of people"
    )]
    Template {
        /// How the template begins.
        template: &'static str,
        /// Where it is.
        what: String,
    },
    /// It is empty, too long, or has control characters.
    #[error(
        "the {what} cannot be used: 1 to {max} bytes without line breaks and other control characters can"
    )]
    Text {
        /// The maximum length, in bytes.
        max: usize,
        /// Where it is.
        what: String,
    },
    /// There are more headers or variables than are taken.
    #[error("a server has at most {} headers or variables", OwnServer::MAX_SECRETS)]
    TooManySecrets,
}

/// Checks the name of a server.
///
/// # Errors
///
/// [`InvalidOwnServer::Name`].
fn check_name(name: &str) -> Result<(), InvalidOwnServer> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_valid = (1..=OwnServer::MAX_NAME).contains(&name.len())
        && name.bytes().next().is_some_and(is_plain)
        && name
            .bytes()
            .all(|byte| is_plain(byte) || byte == b'-' || byte == b'_');
    match is_valid {
        true => Ok(()),
        false => Err(InvalidOwnServer::Name(shown(name))),
    }
}

fn check_text(what: &str, text: &str, max: usize) -> Result<(), InvalidOwnServer> {
    let what = || what.to_owned();
    if text.is_empty() || text.len() > max || text.chars().any(char::is_control) {
        return Err(InvalidOwnServer::Text { max, what: what() });
    }
    match TEMPLATES.iter().find(|template| text.contains(**template)) {
        Some(template) => Err(InvalidOwnServer::Template {
            template,
            what: what(),
        }),
        None => Ok(()),
    }
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// How templates begin that this program or another one fills in from its environment.
const TEMPLATES: &[&str] = &["${", "{{", "$(", "{env:"];
/// The maximum length of an address, in bytes.
const MAX_ADDRESS: usize = 2048;
/// The maximum length of a secret, in bytes.
const MAX_SECRET: usize = 8192;
/// The maximum length of the name of a secret, in bytes.
const MAX_SECRET_NAME: usize = 64;
