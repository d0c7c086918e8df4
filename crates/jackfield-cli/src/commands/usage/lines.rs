//! Sums usage into rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::price::{Cost, Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending::{CallSpending, TurnSpending};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;

use crate::args::UsageGrouping;
use crate::commands::since;

/// All rows and their total.
#[derive(Clone, Debug)]
pub struct UsageTable {
    /// The total.
    pub all: UsageTotals,
    /// The grouping of the rows.
    pub by: UsageGrouping,
    from: Option<WallTime>,
    /// Rows by their sort key.
    lines: BTreeMap<(i64, String), UsageRow>,
    tools: BTreeMap<String, ToolLine>,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct UsageRow {
    /// Its label.
    pub about: String,
    /// Its session, if it belongs to one.
    pub session: Option<SessionId>,
    /// The sums.
    pub sums: UsageTotals,
}

/// Usage and cost.
#[derive(Clone, Debug, Default)]
pub struct UsageTotals {
    /// The cost per currency, and how much of it is an estimate.
    pub costs: BTreeMap<Arc<str>, (Money, Money)>,
    /// How many model calls used tokens.
    pub replies: u64,
    /// How many turns began.
    pub turns: u64,
    /// Tokens of models without a price.
    pub unpriced: u64,
    /// The token usage.
    pub usage: Usage,
}

/// The statistics of a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolLine {
    /// The bytes that it returned.
    pub bytes: u64,
    /// How many of its calls have ended.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// How often it was started.
    pub starts: u64,
    /// An estimate of the tokens of its results, as sent to models.
    pub tokens: u64,
    /// How long its calls took.
    pub duration: Duration,
}

impl UsageTable {
    /// An empty table.
    #[must_use]
    pub fn new(by: UsageGrouping, from: Option<WallTime>) -> Self {
        Self {
            all: UsageTotals::default(),
            by,
            from,
            lines: BTreeMap::new(),
            tools: BTreeMap::new(),
        }
    }

    /// Adds the usage of a session.
    pub fn add(&mut self, session: &SessionId, title: &str, turns: &[TurnSpending]) {
        let from = self.from;
        let is_in = |at: WallTime| from.is_none_or(|from| at >= from);
        for turn in turns {
            if is_in(turn.at) {
                self.all.turns += 1;
                self.line(session, title, turn, &turn.model, turn.at, None)
                    .turns += 1;
            }
            for reply in turn.replies.iter().filter(|reply| is_in(reply.at)) {
                let price = reply.price.as_ref();
                self.all.add(&reply.usage, price);
                let place = Some((reply.attempt.round, reply.attempt.attempt));
                let sums = self.line(session, title, turn, &reply.model, reply.at, place);
                sums.add(&reply.usage, price);
            }
            for call in turn.calls.iter().filter(|call| is_in(call.at)) {
                let name = call.origin.as_ref().map_or_else(
                    || call.name.to_string(),
                    |origin| format!("{}/{}", origin.toolbox, origin.tool),
                );
                self.tools.entry(name).or_default().add(call);
            }
        }
    }

    /// Adds the usage of a request that was passed through without a turn, if it used any.
    pub fn add_record(&mut self, record: &SpendingRecord) {
        let SpendingRecord {
            at, price, usage, ..
        } = record;
        if usage.total() == 0 || self.from.is_some_and(|from| *at < from) {
            return;
        }
        let (order, about) = match self.by {
            UsageGrouping::Day => (0, since::day(*at)),
            UsageGrouping::Model | UsageGrouping::Tool => (0, model_name(&record.model)),
            UsageGrouping::Reply | UsageGrouping::Session | UsageGrouping::Turn => {
                (i64::MAX, PASSED_THROUGH.to_owned())
            }
        };
        self.all.add(usage, price.as_ref());
        let line = self.lines.entry((order, about.clone())).or_default();
        line.about = about;
        line.sums.add(usage, price.as_ref());
    }

    /// The rows, in order; empty when grouped by tool.
    pub fn lines(&self) -> impl Iterator<Item = &UsageRow> {
        self.lines
            .values()
            .filter(|_| self.by != UsageGrouping::Tool)
    }

    /// The tools, by name; empty for other groupings.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &ToolLine)> {
        let tools = self.tools.iter().filter(|_| self.by == UsageGrouping::Tool);
        tools.map(|(name, tool)| (name.as_str(), tool))
    }

    /// The row for these keys.
    fn line(
        &mut self,
        session: &SessionId,
        title: &str,
        turn: &TurnSpending,
        model: &ModelRef,
        at: WallTime,
        place: Option<(u32, u32)>,
    ) -> &mut UsageTotals {
        let ordinal = turn.ordinal;
        let began = turn.at.as_millis();
        let (order, about, session) = match self.by {
            UsageGrouping::Day => (0, since::day(at), None),
            UsageGrouping::Model | UsageGrouping::Tool => (0, model_name(model), None),
            UsageGrouping::Reply => {
                let (round, attempt) = place.unwrap_or((1, 1));
                let about = format!("{session} {ordinal}.{round}.{attempt}");
                (began, about, Some(session.clone()))
            }
            UsageGrouping::Session => (0, format!("{session}  {title}"), Some(session.clone())),
            UsageGrouping::Turn => (began, format!("{session} {ordinal}"), Some(session.clone())),
        };
        let line = self.lines.entry((order, about.clone())).or_default();
        line.about = about;
        line.session = session;
        &mut line.sums
    }
}

impl UsageTotals {
    fn add(&mut self, usage: &Usage, price: Option<&Price>) {
        self.replies += 1;
        self.usage += *usage;
        let Some(price) = price else {
            self.unpriced = self.unpriced.saturating_add(usage.total());
            return;
        };
        let Cost {
            amount,
            currency,
            estimated,
        } = price.bill(usage);
        let (all, guessed) = self.costs.entry(currency).or_default();
        *all += amount;
        *guessed += estimated;
    }
}

impl ToolLine {
    fn add(&mut self, call: &CallSpending) {
        self.bytes = self.bytes.saturating_add(call.bytes as u64);
        self.calls += 1;
        self.errors += u64::from(call.is_error);
        self.starts += u64::from(call.attempts);
        self.tokens = self.tokens.saturating_add(call.tokens);
        self.duration = self.duration.saturating_add(call.took);
    }
}

fn model_name(model: &ModelRef) -> String {
    format!("{}/{}", model.provider, model.model)
}

/// The label of requests without a session, where rows are about parts of sessions. No id has a space.
const PASSED_THROUGH: &str = "passed through";
