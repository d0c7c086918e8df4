//! How a conversation begins, by which requests without a session are recognised as parts of one.

use crate::conversation_key::ConversationKey;
use crate::digest::Digest;
use crate::estimate;
use crate::message::{Message, Role};

/// The beginning of a conversation that its client keeps, and how long it has become.
///
/// A provider that has read a conversation keeps its beginning in the prompt cache, so its later requests cost less
/// there than elsewhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Beginning {
    /// Equal for requests of one principal whose conversations begin with the same message of the client.
    pub key: Digest,
    /// The tokens of the whole request, estimated.
    pub tokens: u64,
}

impl Beginning {
    /// The beginning of this conversation of a principal; `preamble` is what comes before its messages, in tokens.
    #[must_use]
    pub fn of<'m>(
        principal: &str,
        preamble: u64,
        messages: impl Iterator<Item = &'m Message> + Clone,
    ) -> Self {
        let tokens = messages.clone().map(estimate::message);
        let mut key = ConversationKey::new();
        for message in messages {
            key.push_message(message);
            if message.role == Role::User {
                break;
            }
        }
        Self {
            key: Digest::of_parts(["beginning", principal, &key.digest().to_hex()]),
            tokens: tokens.fold(preamble, u64::saturating_add),
        }
    }
}
