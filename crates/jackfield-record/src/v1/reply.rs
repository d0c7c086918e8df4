//! Forms of replies.

use std::borrow::Cow;
use std::sync::Arc;

use jackfield_domain::message::Message;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::price::{Money, ServiceTier};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::usage::Usage;

stored_enum! { FinishReason as FinishReasonForm {
    ContentFilter,
    ContextFull,
    Length,
    Paused,
    Refused,
    Stop,
    StopSequence(text: Arc<str>),
    ToolCalls,
    Unrecognized(reason: Arc<str>),
} }

stored_struct! { Note as NoteForm {
    code: Cow<'static, str>, effect: NoteEffect, kind: NoteKind, path: String
} }

stored_enum! { NoteEffect as NoteEffectForm { Cosmetic, Cost, Quality, Meaning } }

stored_enum! { NoteKind as NoteKindForm { Approximated, Carried, Dropped, Refused } }

stored_struct! { Reply as ReplyForm { message: Arc<Message>, end: ReplyEnd } }

stored_struct! { ReplyEnd as ReplyEndForm {
    finish: FinishReason;
    maybe model: Arc<str>, upstream: Arc<str>, usage: Usage;
    many notes: Note, opaque: OpaqueState
} }

stored_struct! { Usage as UsageForm {
    cache_read: u64, cache_write: u64, input: u64, output: u64, reasoning: u64;
    maybe billed: Money, tier: ServiceTier;
    zero audio_input, audio_output, cache_write_long, estimated_input, estimated_output, image_input, image_output
} }
