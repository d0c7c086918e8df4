//! The manners in which a vendor, or a server that claims compatibility, sends the same reply.

/// A way to put a reply on the wire.
///
/// Each was observed on a real server, and in each the reply means the same. A renderer changes only what the
/// manner names, and only where the reply has it: a reply without calls is sent in its usual form in every manner
/// about calls.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Manner {
    /// The arguments of a call are a JSON value and not JSON text. The scripted arguments are a whole object then,
    /// or empty.
    ArgumentsAsObject,
    /// All arguments come in the event that also begins the call.
    ArgumentsAtOnce,
    /// There are no fragments: the arguments are only in the event that ends the call.
    ArgumentsAtEnd,
    /// Each piece of the arguments repeats all those before it.
    ArgumentsCumulative,
    /// A call without arguments has an empty text as arguments.
    ArgumentsEmpty,
    /// All calls begin before any of them has arguments, and then their fragments alternate.
    ArgumentsInterleaved,
    /// A call without arguments has no field for them.
    ArgumentsMissing,
    /// A call without arguments has `null` as arguments.
    ArgumentsNull,
    /// All calls come in one event, each with all its arguments.
    CallsInOnePiece,
    /// Nothing follows the finish reason: no marker that the stream is over.
    EndMarkerMissing,
    /// The finish reason is that of a text reply, although there are calls.
    FinishSaysStop,
    /// The ids of calls are empty.
    IdEmpty,
    /// Calls have no ids.
    IdMissing,
    /// All calls have the id of the first.
    IdSame,
    /// The required index of blocks or calls is missing.
    IndexMissing,
    /// All indices are -1.
    IndexNegative,
    /// Indices begin with 1 where 0 is the first.
    IndexOneBased,
    /// All indices are 0.
    IndexReused,
    /// All fragments of a call but the first have an empty id and an empty name.
    LaterIdAndNameEmpty,
    /// The name of a call comes after its arguments.
    NameLate,
    /// The name of a call comes with each of its pieces, whole each time.
    NameRepeated,
    /// The reply comes as one JSON document, although a stream was asked for.
    NotStreamed,
    /// Unused fields are `null` instead of missing.
    NullsForNothing,
    /// No event has a role.
    RoleMissing,
    /// Each event has a role.
    RoleRepeated,
    /// The usage comes in an event of its own, after the one with the finish reason.
    UsageApart,
    /// Each event has the usage so far; the last one has all of it.
    UsageInEachPiece,
    /// There is no usage.
    UsageMissing,
    /// As in the vendor's documentation.
    Usual,
}

impl Manner {
    /// All manners but the usual one, each once.
    pub const HOSTILE: &[Self] = &[
        Self::ArgumentsAsObject,
        Self::ArgumentsAtOnce,
        Self::ArgumentsAtEnd,
        Self::ArgumentsCumulative,
        Self::ArgumentsEmpty,
        Self::ArgumentsInterleaved,
        Self::ArgumentsMissing,
        Self::ArgumentsNull,
        Self::CallsInOnePiece,
        Self::EndMarkerMissing,
        Self::FinishSaysStop,
        Self::IdEmpty,
        Self::IdMissing,
        Self::IdSame,
        Self::IndexMissing,
        Self::IndexNegative,
        Self::IndexOneBased,
        Self::IndexReused,
        Self::LaterIdAndNameEmpty,
        Self::NameLate,
        Self::NameRepeated,
        Self::NotStreamed,
        Self::NullsForNothing,
        Self::RoleMissing,
        Self::RoleRepeated,
        Self::UsageApart,
        Self::UsageInEachPiece,
        Self::UsageMissing,
    ];
}
