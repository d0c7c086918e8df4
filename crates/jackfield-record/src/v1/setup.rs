//! Forms of setups and openings.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::tags::Tag;
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::compaction::CompactionPolicy;
use jackfield_domain::digest::Digest;
use jackfield_domain::limits::{Allowance, LimitKind, Limits, OnLimit};
use jackfield_domain::message::Message;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::price::{Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::{Opening, Setup, Transcript};
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::target::Target;
use jackfield_domain::tool::{Catalog, ToolChoice};
use jackfield_domain::trace::TraceContext;

use super::message::MessageForm;
use super::stored::{Invalid, Stored};

stored_struct! { Allowance as AllowanceForm { ; maybe active: Duration, cost: Money, tokens: u64; flag unpriced } }

stored_struct! { Caller as CallerForm {
    dialect: Arc<str>, display: Display, model: Arc<str>, principal: Arc<str>;
    maybe body: Digest, echo: Arc<str>, key: Arc<str>, view: Digest
} }

stored_struct! { CompactionPolicy as CompactionPolicyForm { at_percent: u32 } }

stored_struct! { Display as DisplayForm { server_tools: bool; flag calls_as_written } }

stored_enum! { LimitKind as LimitKindForm { ActiveTime, Cost, NoProgress, Rounds, Tokens } }

stored_struct! { Limits as LimitsForm {
    approval: Duration,
    client_tool: Duration,
    model_idle: Duration,
    model_retries: u32,
    on_limit: OnLimit,
    parallel_calls: u32,
    repeats: u32,
    retry_after: Duration,
    rounds: u32,
    shown: usize,
    stored: usize,
    tool_call: Duration
} }

stored_enum! { OnLimit as OnLimitForm { Answer, Error } }

stored_enum! { Opening as OpeningForm {
    ClientResults(results: Vec<Arc<ToolOutcome>>),
    Transcript(transcript: Transcript),
    UserMessage(message: Arc<Message>),
} }

stored_struct! { Setup as SetupForm {
    allowance: Allowance,
    can_supersede: bool,
    catalog: Arc<Catalog>,
    choice: ToolChoice,
    limits: Limits,
    model: ModelRef,
    settings: Arc<Settings>,
    system: Arc<SystemPrompt>,
    tools_after_first_round: bool;
    maybe
        affinity: u32,
        assistant: Arc<str>,
        caller: Arc<Caller>,
        compaction: CompactionPolicy,
        first_byte: Duration,
        given: Arc<str>,
        price: Price,
        route: Arc<str>,
        strict: NoteEffect,
        trace: Arc<TraceContext>,
        whole: Duration,
        window: u64;
    many budgets: Arc<str>, fallbacks: Target, own_keys: Arc<str>, tags: Tag;
    flag pauses
} }

stored_struct! { TraceContext as TraceContextForm { parent: Arc<str>; maybe state: Arc<str> } }

/// Money is stored as its number of trillionths of a unit.
impl Stored for Money {
    type Form = u64;

    fn form(&self) -> u64 {
        self.as_picos()
    }

    fn of(form: u64) -> Result<Self, Invalid> {
        Ok(Self::from_picos(form))
    }
}

/// A transcript is stored as the list of its messages.
impl Stored for Transcript {
    type Form = Vec<MessageForm>;

    fn form(&self) -> Self::Form {
        self.messages()
            .iter()
            .map(|message| message.as_ref().form())
            .collect()
    }

    fn of(form: Self::Form) -> Result<Self, Invalid> {
        let messages: Result<_, _> = form
            .into_iter()
            .map(|message| Message::of(message).map(Arc::new))
            .collect();
        messages.map(Self::stored)
    }
}
