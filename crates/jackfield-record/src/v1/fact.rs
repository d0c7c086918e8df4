//! Forms of facts and of the steps that contain them.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{
    AfterLoss, CachedCall, CallEnd, Compaction, Envelope, Fact, InputKind, Late, ModelCallEnd,
    ToolUse, TurnEnd,
};
use jackfield_domain::failure::{Disposition, ModelFailure, ToolFailureKind};
use jackfield_domain::ids::{
    ForkPlace, ModelAttempt, SessionId, ToolAttempt, ToolCallId, ToolName, TurnId, WaitId,
};
use jackfield_domain::limits::LimitKind;
use jackfield_domain::message::Message;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::request::ModelRef;
use jackfield_domain::restrictions::Restrictions;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::target::{Reservation, TargetChoice};
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::tool::Catalog;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{CancelCause, JobHandle, Wait, WaitEnd};

stored_struct! { Envelope as EnvelopeForm {
    step: u64, version: u32, now: Now, input: InputKind, facts: Vec<Fact>
} }

stored_struct! { CachedCall as CachedCallForm {
    call: ToolCallId, session: SessionId, turn: TurnId
} }

stored_struct! { Compaction as CompactionForm {
    attempt: ModelAttempt, messages: Vec<Arc<Message>>, replaced: usize; maybe failure: ModelCallEnd, model: ModelRef, usage: Usage
} }

stored_enum! { Fact as FactForm {
    BackendSession { attempt: ModelAttempt, id: Arc<str> },
    CallAccepted { attempt: ToolAttempt, handle: JobHandle },
    CallClosed {
        call: ToolCallId, end: CallEnd, result: Arc<ToolResult>;
        maybe cached: Arc<CachedCall>, revealed: Arc<Catalog>, shown: usize
    },
    CallLost {
        attempt: ToolAttempt,
        disposition: Disposition,
        kind: ToolFailureKind,
        message: Arc<str>,
        then: AfterLoss
    },
    CallStarted {
        attempt: ToolAttempt, may_repeat: bool, time_limit: Duration;
        maybe approval: WaitId, edited: Arc<ToolInput>, repeat_until: WallTime
    },
    Compacted(compaction: Arc<Compaction>),
    Late(late: Late),
    ModelCallEnded {
        attempt: ModelAttempt, why: ModelCallEnd;
        maybe first_token: Duration, partial: Arc<Message>, retry_at: WallTime, usage: Usage;
        many settled: Reservation;
        flag at_once, withdrawn
    },
    ModelCallStarted {
        attempt: ModelAttempt, active: Duration, tools: ToolUse;
        maybe choice: Arc<TargetChoice>;
        many reserved: Reservation;
        zero target
    },
    ReplyReceived {
        attempt: ModelAttempt, reply: Arc<Reply>;
        maybe first_token: Duration;
        many settled: Reservation
    },
    SessionForked {
        from: SessionId, at: ForkPlace, messages: Arc<Vec<Arc<Message>>>;
        many revealed: ToolName
    },
    SessionImported {
        source: Arc<str>, messages: Arc<Vec<Arc<Message>>>;
        maybe created: WallTime, title: Arc<str>
    },
    TurnEnded { end: TurnEnd; maybe view: Digest },
    TurnOpened { turn: TurnId, ordinal: u32, opening: Opening, setup: Arc<Setup> },
    TurnResumed { nth: u32; maybe restrictions: Arc<Restrictions> },
    WaitClosed { wait: WaitId, end: WaitEnd; maybe subject: Digest },
    WaitOpened { wait: Wait },
} }

/// The names of all kinds of facts, which distinguish an unknown kind from a damaged fact.
pub(crate) const KINDS: &[&str] = &[
    "backend_session",
    "call_accepted",
    "call_closed",
    "call_lost",
    "call_started",
    "compacted",
    "late",
    "model_call_ended",
    "model_call_started",
    "reply_received",
    "session_forked",
    "session_imported",
    "turn_ended",
    "turn_opened",
    "turn_resumed",
    "wait_closed",
    "wait_opened",
];

stored_struct! { ForkPlace as ForkPlaceForm { turn: TurnId, ordinal: u32; maybe round: u32 } }

stored_enum! { AfterLoss as AfterLossForm { Ask, Repeat, Report } }

stored_enum! { CallEnd as CallEndForm {
    ByClient,
    Cached,
    Cancelled,
    ClientExpired,
    Denied,
    NotRun,
    Ran,
    Reported,
} }

stored_enum! { InputKind as InputKindForm {
    Began,
    Delivered,
    Forked,
    Imported,
    Recovered,
    ReplyDelta,
    ReplyEnded,
    ReplyFailed,
    ToolAccepted,
    ToolAsked,
    ToolFailed,
    ToolFinished,
    Woke,
} }

stored_enum! { Late as LateForm {
    Outcome { attempt: ToolAttempt, is_error: bool, size: usize },
    Usage { attempt: ModelAttempt, usage: Usage },
} }

stored_enum! { ModelCallEnd as ModelCallEndForm {
    Cancelled,
    Failed(failure: ModelFailure),
    Lost,
} }

stored_enum! { ToolUse as ToolUseForm { Allowed, FirstRoundOnly, LastRound(limit: LimitKind) } }

stored_enum! { TurnEnd as TurnEndForm {
    Answered(finish: FinishReason),
    Cancelled(cause: CancelCause),
    ClientExpired,
    Failed(failure: ModelFailure),
    Interrupted(failure: ModelFailure),
    Limited { limit: LimitKind, is_error: bool },
} }
