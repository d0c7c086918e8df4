//! The key or the user that a client of a gateway is.

use std::fmt;

use super::EntryName;
use crate::digest::Digest;

/// The key or the user that a client is. It is looked up for each request of a browser that is logged in.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ClientLookup {
    /// The digest of the secret of its key.
    Key(Digest),
    /// The name of a user that signed in.
    User(EntryName),
}

impl ClientLookup {
    /// The lookup of this text, as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            (KEY, digest) => Digest::from_hex(digest).map(Self::Key),
            (USER, name) => EntryName::parse(name).ok().map(Self::User),
            _ => None,
        }
    }
}

/// `key:` and the digest in hexadecimal, or `user:` and the name. The form outlives the process.
impl fmt::Display for ClientLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(digest) => write!(f, "{KEY}:{}", digest.to_hex()),
            Self::User(name) => write!(f, "{USER}:{name}"),
        }
    }
}

const KEY: &str = "key";
const USER: &str = "user";
