//! Sums what turns and model calls without a session used into rows, by day, model, provider, reply, session, tag, tool,
//! turn or user.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::caller::tags::{Tag, TagNames};
use crate::ids::SessionId;
use crate::price::{self, Cost, Price};
use crate::request::ModelRef;
use crate::spending::{AttemptSpending, CallSpending, ReplySpending, TurnSpending};
use crate::spending_record::SpendingRecord;
use crate::time::WallTime;
use crate::usage::Usage;

/// What a row of a report is about.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum SpendingGroup {
    /// A day.
    Day,
    /// A model.
    #[default]
    Model,
    /// A provider.
    Provider,
    /// A model call.
    Reply,
    /// A session.
    Session,
    /// The value of the tag of this name.
    Tag(Arc<str>),
    /// A tool: rows of their own, see [`SpendingReport::tools`].
    Tool,
    /// A turn.
    Turn,
    /// A user: a principal.
    User,
}

impl fmt::Display for SpendingGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Tag(name) = self {
            return write!(f, "{TAG}{name}");
        }
        let word = WORDS.iter().find(|(_, group)| group == self);
        f.write_str(word.map_or("", |(word, _)| word))
    }
}

impl FromStr for SpendingGroup {
    type Err = UnknownGroup;

    fn from_str(text: &str) -> Result<Self, UnknownGroup> {
        if let Some(name) = text
            .strip_prefix(TAG)
            .filter(|name| TagNames::parse([*name]).is_ok())
        {
            return Ok(Self::Tag(name.into()));
        }
        let word = WORDS.iter().find(|(word, _)| *word == text);
        word.map(|(_, group)| group.clone()).ok_or(UnknownGroup)
    }
}

/// A word that is not for rows of a report.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error(
    "one of day, model, provider, reply, session, tool, turn and user is expected, or `tag:` and a name, such as `tag:team`"
)]
pub struct UnknownGroup;

/// What was used from an instant on: rows, and their total.
#[derive(Clone, Debug)]
pub struct SpendingReport {
    day_of: fn(WallTime) -> String,
    group: SpendingGroup,
    rows: BTreeMap<RowKey, SpendingRow>,
    since: Option<WallTime>,
    until: Option<WallTime>,
    tools: BTreeMap<String, ToolSpending>,
    total: SpendingTotals,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct SpendingRow {
    /// What it is about: a day, `provider/model`, a provider, a principal or [`COMMAND_LINE`], a session's id,
    /// `session turn`, `session turn.round.attempt`, [`WITHOUT_SESSION`], the value of a tag or [`UNTAGGED`].
    pub label: String,
    /// Its session, if it belongs to one.
    pub session: Option<SessionId>,
    /// The title of that session.
    pub title: Arc<str>,
    /// The sums.
    pub totals: SpendingTotals,
}

/// Usage and cost.
#[derive(Clone, Debug, Default)]
pub struct SpendingTotals {
    /// The number of model calls and passed-through requests that have ended.
    pub attempts: u64,
    /// How many of them failed.
    pub failures: u64,
    /// The times to the first piece of a reply, as far as they are known, in milliseconds and in no order.
    pub first_tokens: Vec<u32>,
    /// The cost per currency.
    pub costs: BTreeMap<Arc<str>, Cost>,
    /// How many of the replies were made with keys of people, which the gateway does not pay.
    pub own_key_replies: u64,
    /// The number of model calls that used tokens.
    pub replies: u64,
    /// The number of turns that began.
    pub turns: u64,
    /// Tokens of models without a price.
    pub unpriced: u64,
    /// The tokens.
    pub usage: Usage,
}

/// The effort of a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolSpending {
    /// The bytes that it returned.
    pub bytes: u64,
    /// The number of its calls that have ended.
    pub calls: u64,
    /// The time that they took together.
    pub duration: Duration,
    /// The number of them that failed.
    pub errors: u64,
    /// How often it was started.
    pub starts: u64,
    /// An estimate of the tokens of its results, as sent to models.
    pub tokens: u64,
}

/// The order of rows: by time where they are about turns or replies, requests without a session last.
type RowKey = (i64, String);

/// The label of turns without a principal, where rows are about users. No principal has a space.
pub const COMMAND_LINE: &str = "command line";

/// The label of turns and requests without the tag, where rows are about a tag.
pub const UNTAGGED: &str = "untagged";

/// The label of requests without a session, where rows are about sessions or parts of them. No id has a space.
pub const WITHOUT_SESSION: &str = "without a session";

/// What precedes the name of a tag.
const TAG: &str = "tag:";

/// The words for the groups without a name.
const WORDS: [(&str, SpendingGroup); 8] = [
    ("day", SpendingGroup::Day),
    ("model", SpendingGroup::Model),
    ("provider", SpendingGroup::Provider),
    ("reply", SpendingGroup::Reply),
    ("session", SpendingGroup::Session),
    ("tool", SpendingGroup::Tool),
    ("turn", SpendingGroup::Turn),
    ("user", SpendingGroup::User),
];

impl SpendingReport {
    /// An empty report of what was used from `since` on. `day_of` is the date of an instant, in the reader's time
    /// zone.
    #[must_use]
    pub fn new(
        group: SpendingGroup,
        since: Option<WallTime>,
        day_of: fn(WallTime) -> String,
    ) -> Self {
        Self {
            day_of,
            group,
            rows: BTreeMap::new(),
            since,
            until: None,
            tools: BTreeMap::new(),
            total: SpendingTotals::default(),
        }
    }

    /// The same, without what was used at this instant or later.
    #[must_use]
    pub const fn until(mut self, until: Option<WallTime>) -> Self {
        self.until = until;
        self
    }

    /// Adds the turns of a session.
    pub fn add_session(&mut self, session: &SessionId, title: &Arc<str>, turns: &[TurnSpending]) {
        for turn in turns {
            for attempt in &turn.attempts {
                // A row about a reply has no room for attempts without one.
                if self.counts(attempt.at) && self.group != SpendingGroup::Reply {
                    let (key, has_session) = self.attempt_key(session, turn, attempt);
                    let row = self.row(key, session, title, has_session);
                    let failed = attempt.failure.is_some();
                    row.totals.add_attempt(failed, attempt.first_token);
                    self.total.add_attempt(failed, attempt.first_token);
                }
            }
            if self.counts(turn.at) {
                let (key, has_session) = self.key(session, turn, None);
                let row = self.row(key, session, title, has_session);
                row.totals.turns += 1;
                self.total.turns += 1;
            }
            for reply in &turn.replies {
                if self.counts(reply.at) {
                    let (key, has_session) = self.key(session, turn, Some(reply));
                    let row = self.row(key, session, title, has_session);
                    let price = reply.price.as_ref();
                    row.totals.add(&reply.usage, price);
                    row.totals.own_key_replies += u64::from(reply.own_key);
                    self.total.add(&reply.usage, price);
                    self.total.own_key_replies += u64::from(reply.own_key);
                }
            }
            for call in &turn.calls {
                if self.counts(call.at) {
                    let name = call.origin.as_ref().map_or_else(
                        || call.name.to_string(),
                        |origin| format!("{}/{}", origin.toolbox, origin.tool),
                    );
                    self.tools.entry(name).or_default().add(call);
                }
            }
        }
    }

    /// Adds a model call that belongs to no session, if it used anything or failed.
    pub fn add_record(&mut self, record: &SpendingRecord) {
        let SpendingRecord {
            at, price, usage, ..
        } = record;
        // A model call has no status of its own; one that used nothing had no reply.
        let succeeded = match record.status {
            Some(status) => (200..400).contains(&status),
            None => usage.total() > 0,
        };
        if (usage.total() == 0 && succeeded) || !self.counts(*at) {
            return;
        }
        let key = match &self.group {
            SpendingGroup::Day => (0, (self.day_of)(*at)),
            SpendingGroup::Model | SpendingGroup::Tool => (0, model_name(&record.model)),
            SpendingGroup::Provider => (0, record.model.provider.to_string()),
            SpendingGroup::Tag(name) => tag_key(&record.tags, name),
            SpendingGroup::User => (0, record.principal.to_string()),
            SpendingGroup::Reply | SpendingGroup::Session | SpendingGroup::Turn => {
                (i64::MAX, WITHOUT_SESSION.to_owned())
            }
        };
        let label = key.1.clone();
        let row = self.rows.entry(key).or_default();
        row.label = label;
        for totals in [&mut row.totals, &mut self.total] {
            totals.add_attempt(!succeeded, record.first_token.filter(|_| succeeded));
            if usage.total() > 0 {
                totals.add(usage, price.as_ref());
                totals.own_key_replies += u64::from(record.own_key);
            }
        }
    }

    /// What its rows are about.
    #[must_use]
    pub const fn group(&self) -> &SpendingGroup {
        &self.group
    }

    /// The rows, in order; none by tool.
    pub fn rows(&self) -> impl Iterator<Item = &SpendingRow> {
        let is_by_tool = self.group == SpendingGroup::Tool;
        self.rows.values().filter(move |_| !is_by_tool)
    }

    /// The tools, by name; none unless the report is by tool.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &ToolSpending)> {
        let is_by_tool = self.group == SpendingGroup::Tool;
        let tools = self.tools.iter().filter(move |_| is_by_tool);
        tools.map(|(name, tool)| (name.as_str(), tool))
    }

    /// All of it.
    #[must_use]
    pub const fn total(&self) -> &SpendingTotals {
        &self.total
    }

    fn counts(&self, at: WallTime) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    /// The key of the row of a model call, and whether the row belongs to the session.
    fn attempt_key(
        &self,
        session: &SessionId,
        turn: &TurnSpending,
        attempt: &AttemptSpending,
    ) -> (RowKey, bool) {
        match &self.group {
            SpendingGroup::Day => ((0, (self.day_of)(attempt.at)), false),
            SpendingGroup::Model | SpendingGroup::Tool => ((0, model_name(&attempt.model)), false),
            SpendingGroup::Provider => ((0, attempt.model.provider.to_string()), false),
            SpendingGroup::Reply
            | SpendingGroup::Session
            | SpendingGroup::Tag(_)
            | SpendingGroup::Turn
            | SpendingGroup::User => self.key(session, turn, None),
        }
    }

    /// The key of the row of a turn, or of a reply in it, and whether the row belongs to the session.
    fn key(
        &self,
        session: &SessionId,
        turn: &TurnSpending,
        reply: Option<&ReplySpending>,
    ) -> (RowKey, bool) {
        let began = turn.at.as_millis();
        let ordinal = turn.ordinal;
        match &self.group {
            SpendingGroup::Day => {
                let at = reply.map_or(turn.at, |reply| reply.at);
                ((0, (self.day_of)(at)), false)
            }
            SpendingGroup::Model | SpendingGroup::Tool => {
                let model = reply.map_or(&turn.model, |reply| &reply.model);
                ((0, model_name(model)), false)
            }
            SpendingGroup::Provider => {
                let model = reply.map_or(&turn.model, |reply| &reply.model);
                ((0, model.provider.to_string()), false)
            }
            SpendingGroup::Tag(name) => (tag_key(&turn.tags, name), false),
            SpendingGroup::User => {
                let user = turn.principal.as_deref().unwrap_or(COMMAND_LINE);
                ((0, user.to_owned()), false)
            }
            SpendingGroup::Reply => {
                let place = reply.map(|reply| (reply.attempt.round, reply.attempt.attempt));
                let (round, attempt) = place.unwrap_or((1, 1));
                let label = format!("{session} {ordinal}.{round}.{attempt}");
                ((began, label), true)
            }
            SpendingGroup::Session => ((0, session.to_string()), true),
            SpendingGroup::Turn => ((began, format!("{session} {ordinal}")), true),
        }
    }

    fn row(
        &mut self,
        key: RowKey,
        session: &SessionId,
        title: &Arc<str>,
        has_session: bool,
    ) -> &mut SpendingRow {
        let label = key.1.clone();
        let row = self.rows.entry(key).or_default();
        row.label = label;
        if has_session {
            row.session = Some(session.clone());
            row.title = Arc::clone(title);
        }
        row
    }
}

impl SpendingTotals {
    /// The time to the first piece of a reply that this share of the replies did not exceed, in milliseconds;
    /// `None` if no time is known.
    #[must_use]
    pub fn first_token(&self, percent: usize) -> Option<u32> {
        let mut times = self.first_tokens.clone();
        times.sort_unstable();
        let nth = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(nth).copied()
    }

    fn add_attempt(&mut self, failed: bool, first_token: Option<Duration>) {
        self.attempts += 1;
        self.failures += u64::from(failed);
        let millis = first_token.map(|time| u32::try_from(time.as_millis()).unwrap_or(u32::MAX));
        self.first_tokens.extend(millis);
    }

    fn add(&mut self, usage: &Usage, price: Option<&Price>) {
        self.replies += 1;
        self.usage += *usage;
        match price::cost_of(usage, price) {
            Some(cost) => {
                let zero = || Cost::zero(Arc::clone(&cost.currency));
                let sum = self.costs.entry(Arc::clone(&cost.currency));
                sum.or_insert_with(zero).add(&cost);
            }
            None => self.unpriced = self.unpriced.saturating_add(usage.total()),
        }
    }
}

impl ToolSpending {
    fn add(&mut self, call: &CallSpending) {
        self.bytes = self.bytes.saturating_add(call.bytes as u64);
        self.calls += 1;
        self.duration = self.duration.saturating_add(call.took);
        self.errors += u64::from(call.is_error);
        self.starts += u64::from(call.attempts);
        self.tokens = self.tokens.saturating_add(call.tokens);
    }
}

/// The key of the row of what has these tags, by the tag of this name.
fn tag_key(tags: &[Tag], name: &str) -> RowKey {
    match Tag::find(tags, name) {
        Some(value) => (0, value.to_owned()),
        None => (i64::MAX, UNTAGGED.to_owned()),
    }
}

fn model_name(model: &ModelRef) -> String {
    format!("{}/{}", model.provider, model.model)
}
