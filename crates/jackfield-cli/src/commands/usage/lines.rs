//! Sums of what was used, line by line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::price::{Cost, Money, Price};
use jackfield_domain::spending::{CallSpending, TurnSpending};
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;

use crate::args::UsageGrouping;
use crate::commands::since;

/// All lines, and what they come to.
#[derive(Clone, Debug)]
pub struct UsageTable {
    /// All of it.
    pub all: UsageTotals,
    /// What a line is about.
    pub by: UsageGrouping,
    from: Option<WallTime>,
    /// By what orders them.
    lines: BTreeMap<(i64, String), UsageRow>,
    tools: BTreeMap<String, ToolLine>,
}

/// A line.
#[derive(Clone, Debug, Default)]
pub struct UsageRow {
    /// What it is about.
    pub about: String,
    /// The session that it is of, if it is of one.
    pub session: Option<SessionId>,
    /// The sums.
    pub sums: UsageTotals,
}

/// What was used, and what it cost.
#[derive(Clone, Debug, Default)]
pub struct UsageTotals {
    /// How much of each currency, and how much of that is an estimate.
    pub costs: BTreeMap<Arc<str>, (Money, Money)>,
    /// How many model calls used something.
    pub replies: u64,
    /// How many turns began.
    pub turns: u64,
    /// Tokens of models that had no price.
    pub unpriced: u64,
    /// What was used.
    pub usage: Usage,
}

/// What a tool did.
#[derive(Clone, Debug, Default)]
pub struct ToolLine {
    /// The bytes that it returned.
    pub bytes: u64,
    /// How many of its calls have ended.
    pub calls: u64,
    /// How many of them with an error.
    pub errors: u64,
    /// How often it was started.
    pub starts: u64,
    /// An estimate of the tokens of its outcomes, as models were shown them.
    pub tokens: u64,
    /// How long its calls took.
    pub took: Duration,
}

impl UsageTable {
    /// No lines yet.
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

    /// Adds what a session used.
    pub fn add(&mut self, session: &SessionId, title: &str, turns: &[TurnSpending]) {
        let from = self.from;
        let is_in = |at: WallTime| from.is_none_or(|from| at >= from);
        for turn in turns {
            if is_in(turn.at) {
                self.all.turns += 1;
                self.line(session, title, turn, turn.at, None).turns += 1;
            }
            let price = turn.price.as_ref();
            for reply in turn.replies.iter().filter(|reply| is_in(reply.at)) {
                self.all.add(&reply.usage, price);
                let place = Some((reply.attempt.round, reply.attempt.attempt));
                let sums = self.line(session, title, turn, reply.at, place);
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

    /// The lines, in order; none where tools are asked for.
    pub fn lines(&self) -> impl Iterator<Item = &UsageRow> {
        self.lines
            .values()
            .filter(|_| self.by != UsageGrouping::Tool)
    }

    /// The tools, by name; none where something else is asked for.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &ToolLine)> {
        let tools = self.tools.iter().filter(|_| self.by == UsageGrouping::Tool);
        tools.map(|(name, tool)| (name.as_str(), tool))
    }

    /// The sums that this belongs to.
    fn line(
        &mut self,
        session: &SessionId,
        title: &str,
        turn: &TurnSpending,
        at: WallTime,
        place: Option<(u32, u32)>,
    ) -> &mut UsageTotals {
        let TurnSpending { model, ordinal, .. } = turn;
        let began = turn.at.as_millis();
        let (order, about, session) = match self.by {
            UsageGrouping::Day => (0, since::day(at), None),
            UsageGrouping::Model | UsageGrouping::Tool => {
                (0, format!("{}/{}", model.provider, model.model), None)
            }
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
        self.took = self.took.saturating_add(call.took);
    }
}
