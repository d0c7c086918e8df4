//! The manners in which a vendor, or a server that only claims to be it, sends one and the same reply.

/// How a reply is put on the wire.
///
/// Each of them was seen on a real server, and in each the reply means the same. A renderer changes
/// nothing but what the manner names, and only where the reply has it: a reply without calls is sent in
/// its usual form in every manner that is about calls.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Manner {
    /// The arguments of a call are a JSON value and not a text of JSON. The scripted arguments are a
    /// whole object then, or nothing at all.
    ArgumentsAsObject,
    /// All arguments come in the event that also begins the call.
    ArgumentsAtOnce,
    /// No pieces come: the arguments stand only in what ends the call.
    ArgumentsAtEnd,
    /// Each piece of the arguments repeats all those before it.
    ArgumentsCumulative,
    /// A call without arguments has an empty text for them.
    ArgumentsEmpty,
    /// All calls begin before any of them has arguments, and then their pieces take turns.
    ArgumentsInterleaved,
    /// A call without arguments says nothing of them.
    ArgumentsMissing,
    /// A call without arguments has `null` for them.
    ArgumentsNull,
    /// All calls come in one event, each with all its arguments.
    CallsInOnePiece,
    /// Nothing follows what says why the reply ended: no marker that the stream is over.
    EndMarkerMissing,
    /// The reason to end is the one of a reply of words, although there are calls.
    FinishSaysStop,
    /// The ids of calls are empty.
    IdEmpty,
    /// Calls have no ids.
    IdMissing,
    /// All calls have the id of the first.
    IdSame,
    /// Blocks or calls are not numbered where they ought to be.
    IndexMissing,
    /// Their numbers are all -1.
    IndexNegative,
    /// Their numbers begin with 1 where 0 is the first.
    IndexOneBased,
    /// Their numbers are all 0.
    IndexReused,
    /// All pieces of a call but the first have an empty text for its id, and one for its name.
    LaterIdAndNameEmpty,
    /// The name of a call comes after its arguments.
    NameLate,
    /// The name of a call comes with each of its pieces, whole each time.
    NameRepeated,
    /// The reply comes as one JSON document, although a stream was asked for.
    NotStreamed,
    /// Fields that have nothing to say are `null`, and not left out.
    NullsForNothing,
    /// Nothing says whose message it is.
    RoleMissing,
    /// Each event says whose message it is.
    RoleRepeated,
    /// The usage comes in an event of its own, after the one that says why the reply ended.
    UsageApart,
    /// Each event tells the usage so far; the last one tells all of it.
    UsageInEachPiece,
    /// Nothing tells the usage.
    UsageMissing,
    /// As the vendor's documentation has it.
    Usual,
}

impl Manner {
    /// All of them but the usual one, each once.
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
