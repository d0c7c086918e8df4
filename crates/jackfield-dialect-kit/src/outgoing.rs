//! The way out: a request of the domain as a body of a vendor.
//!
//! What every dialect does alike is here, as functions on [`Notes`](crate::notes::Notes) and on the request: the
//! place of a block, what stays behind with its note, names and arguments of calls, results, the offered tools,
//! extensions. A dialect walks its request with them, and adds the vendor's forms.

pub mod cache_points;
pub mod calls;
pub mod extensions;
pub mod losses;
pub mod names;
pub mod results;
pub mod tool_search;
pub mod tools;

use std::fmt::{self, Display, Formatter};

use jackfield_domain::block::Block;
use jackfield_domain::message::{Message, Role};
use thiserror::Error;

/// A part of a request that a dialect cannot express without changing its meaning.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{reason} ({path})")]
pub struct Unsupported {
    /// The path in the domain request, such as `messages[0].blocks[1]`.
    pub path: String,
    /// The reason, for a person.
    pub reason: &'static str,
}

/// The place of a block in a request; its path is written out only when a note needs it.
#[derive(Clone, Copy, Debug)]
pub struct BlockPath {
    /// The index of the message.
    pub message: usize,
    /// The index of the block.
    pub block: usize,
    /// The role of the message.
    pub role: Role,
}

impl BlockPath {
    /// The blocks of the message at this index, with their places.
    pub fn of(message: &Message, n: usize) -> impl Iterator<Item = (Self, &Block)> {
        let role = message.role;
        let place = move |(block, content)| {
            let at = Self {
                message: n,
                block,
                role,
            };
            (at, content)
        };
        message.blocks.iter().enumerate().map(place)
    }

    /// A block that the dialect cannot express.
    #[must_use]
    pub fn unsupported(self, reason: &'static str) -> Unsupported {
        Unsupported {
            path: self.to_string(),
            reason,
        }
    }
}

impl Display for BlockPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "messages[{}].blocks[{}]", self.message, self.block)
    }
}
