//! Identifiers: newtypes over short strings. Some come from outside and are validated; most are derived by
//! hashing.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::digest::Digest;

/// The text is not a valid identifier.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("`{text}` is not a valid {kind}: 1 to {max} characters of A-Z, a-z, 0-9, {further} are")]
pub struct InvalidId {
    /// The characters beside letters and digits, for a person.
    pub further: &'static str,
    /// The kind of identifier.
    pub kind: &'static str,
    /// The maximum length, in characters.
    pub max: usize,
    /// The text, cut to 80 characters.
    pub text: String,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $max:literal) => {
        id! { $(#[$doc])* $name, $kind, $max, "_-", "`_` and `-`" }
    };
    ($(#[$doc:meta])* $name:ident, $kind:literal, $max:literal, $chars:literal, $further:literal) => {
        $(#[$doc])*
        #[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The maximum length, in characters.
            pub const MAX: usize = $max;

            /// Validates an identifier that came from outside.
            ///
            /// # Errors
            ///
            #[doc = concat!("[`InvalidId`] unless the text is 1 to [`Self::MAX`] letters, digits, ", $further, ".")]
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                if is_valid(text, $max, $chars) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidId {
                        further: $further,
                        kind: $kind,
                        max: $max,
                        text: text.chars().take(80).collect(),
                    })
                }
            }

            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// A persisted conversation.
    SessionId, "session id", 64
}
id! {
    /// One turn of a session; derived from the session and the turn's ordinal.
    TurnId, "turn id", 64
}
id! {
    /// A tool call. Jackfield's id, never the provider's: at most 40 characters, which every vendor accepts.
    ToolCallId, "tool call id", 40
}
id! {
    /// A wait.
    WaitId, "wait id", 64
}
id! {
    /// A delivery to a session's inbox. The sender chooses the id, and the inbox deduplicates by it.
    DeliveryId, "delivery id", 128
}
id! {
    /// The key by which a tool may recognise a repeated call; the same for all attempts at a call.
    IdempotencyKey, "idempotency key", 64
}
id! {
    /// A source of tools: an MCP server, the built-in tools, the client.
    ToolboxId, "toolbox id", 64
}

impl ToolboxId {
    /// What the ids of the servers that teams have begin with.
    pub const OF_TEAMS: &str = "team-";
    /// What the ids of the servers that users have begin with.
    pub const OF_USERS: &str = "own-";

    /// Whether it is, by its id, the server of a user or a team.
    #[must_use]
    pub fn is_of_people(&self) -> bool {
        self.as_str().starts_with(Self::OF_USERS) || self.as_str().starts_with(Self::OF_TEAMS)
    }
}
id! {
    /// The model-facing name of a tool: any that a vendor's language takes. The dialect of another vendor maps it.
    ToolName, "tool name", 128, "_-.:", "`_`, `-`, `.` and `:`"
}

impl ToolName {
    /// A placeholder name, for the case that the naming rules exclude.
    pub(crate) fn fallback() -> Self {
        Self("tool".into())
    }
}

impl SessionId {
    /// An id that proves its owner before the session has any steps: these characters, and a digest of them with the
    /// principal.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] if the characters make no id.
    pub fn issue(characters: &str, principal: &str) -> Result<Self, InvalidId> {
        Self::parse(&format!(
            "{characters}-{}",
            owner_tag(characters, principal)
        ))
    }

    /// Whether it was made for this principal.
    #[must_use]
    pub fn is_issued_to(&self, principal: &str) -> bool {
        let parts = self.as_str().rsplit_once('-');
        parts.is_some_and(|(characters, tag)| tag == owner_tag(characters, principal))
    }

    /// The id of the session of a conversation that a principal brings along from another program; always the same.
    #[must_use]
    pub fn imported(principal: &str, source: &str, conversation: &str) -> Self {
        let parts = ["imported session", principal, source, conversation];
        let mut characters = Digest::of_parts(parts).to_hex();
        characters.truncate(24);
        let tag = owner_tag(&characters, principal);
        Self(format!("{characters}-{tag}").into())
    }
}

fn owner_tag(characters: &str, principal: &str) -> String {
    let mut tag = Digest::of_parts(["session", principal, characters]).to_hex();
    tag.truncate(12);
    tag
}

impl TurnId {
    /// The id of a session's turn, counted from 1.
    #[must_use]
    pub fn derive(session: &SessionId, ordinal: u32) -> Self {
        Self(derived("turn", &[session.as_str(), &ordinal.to_string()]))
    }
}

impl ToolCallId {
    /// The id of the call in the block at `index` of an attempt at a reply.
    #[must_use]
    pub fn derive(turn: &TurnId, attempt: ModelAttempt, index: u32) -> Self {
        let place = format!("{}.{}.{index}", attempt.round, attempt.attempt);
        Self(derived("call", &[turn.as_str(), &place]))
    }
}

impl IdempotencyKey {
    /// The key of a call: the same for all of its attempts.
    #[must_use]
    pub fn derive(call: &ToolCallId) -> Self {
        Self(derived("key", &[call.as_str()]))
    }
}

impl WaitId {
    /// The length of an id that was derived.
    pub const LENGTH: usize = "wait_".len() + DERIVED;

    /// The id of the nth wait of a call, counted from 1.
    #[must_use]
    pub fn derive(call: &ToolCallId, nth: u32) -> Self {
        Self(derived("wait", &[call.as_str(), &nth.to_string()]))
    }
}

/// An attempt at a model call.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ModelAttempt {
    /// The round, from 1.
    pub round: u32,
    /// The attempt within the round, from 1; the count continues after a crash. 0 is the compaction of the round.
    pub attempt: u32,
}

impl ModelAttempt {
    /// The attempt at a summary for the compaction of a round. A round has at most one.
    #[must_use]
    pub const fn compaction(round: u32) -> Self {
        Self { round, attempt: 0 }
    }

    /// Whether it is the attempt at the summary of a compaction, and no reply of the round.
    #[must_use]
    pub const fn is_compaction(self) -> bool {
        self.attempt == 0
    }
}

/// An attempt at a tool call.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ToolAttempt {
    /// The call.
    pub call: ToolCallId,
    /// The attempt, from 1; the count continues after a crash.
    pub attempt: u32,
}

/// A place at which a session can be forked.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ForkPlace {
    /// The turn's place in its session, from 1.
    pub ordinal: u32,
    /// The round whose end it is, from 1; `None` is the end of the turn, including everything after its last
    /// round.
    pub round: Option<u32>,
    /// The turn.
    pub turn: TurnId,
}

/// Whether the text is 1 to `max` letters, digits and further characters.
fn is_valid(text: &str, max: usize, further: &str) -> bool {
    (1..=max).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || further.as_bytes().contains(&b))
}

/// `prefix_` and 24 hexadecimal digits of the digest of the parts.
fn derived(prefix: &str, parts: &[&str]) -> Arc<str> {
    let digest = Digest::of_parts(std::iter::once(prefix).chain(parts.iter().copied()));
    let mut id = digest.to_hex();
    id.truncate(DERIVED);
    format!("{prefix}_{id}").into()
}

/// How many digits of its digest a derived id has.
const DERIVED: usize = 24;
