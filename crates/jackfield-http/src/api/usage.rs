//! Usage and cost, summed over the client's sessions and the requests that were passed through for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jackfield_domain::price::{Cost, Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending::{self, CallSpending, TurnSpending};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_engine::{EngineError, JournalError, SessionQuery};
use jackfield_gateway::Gateway;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Parameters, Requester};
use super::owner;
use super::problem::{ProblemDetails, Problems};
use super::wire::turn::{CostView, UsageView};
use super::wire::words;

/// Of what, and by what.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UsageQuery {
    /// What a line is about.
    #[param(inline)]
    by: UsageGroup,
    /// Only what was used from this day on, in UTC, such as `2026-11-01`.
    since: Option<String>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageGroup {
    /// A day, in UTC.
    Day,
    /// A model.
    #[default]
    Model,
    /// A session.
    Session,
    /// A tool.
    Tool,
}

/// What was used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageReport)]
pub(crate) struct UsageReport {
    /// A line for each model, day or session; none by tool.
    lines: Vec<LineView>,
    /// A line for each tool, where that was asked for.
    tools: Vec<ToolLineView>,
    /// All of it.
    total: SumsView,
}

/// A line.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageLine)]
pub(crate) struct LineView {
    /// What it is about. By session, `passed through` is the line of all requests that were passed through to a
    /// provider, as they belong to no session.
    about: String,
    #[serde(flatten)]
    sums: SumsView,
}

/// Sums.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageSums)]
pub(crate) struct SumsView {
    /// How many turns began.
    turns: u64,
    /// How many model calls used something.
    replies: u64,
    /// The tokens.
    usage: UsageView,
    /// What that cost, by currency.
    cost: Vec<CostView>,
    /// Tokens of models without a price.
    unpriced_tokens: u64,
}

/// What a tool did.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolLine)]
pub(crate) struct ToolLineView {
    /// The tool, as `server/tool`.
    tool: String,
    /// How many of its calls have ended.
    calls: u64,
    /// How many of them with an error.
    errors: u64,
    /// How often it was started.
    starts: u64,
    /// The bytes that it gave back.
    bytes: u64,
    /// The time that it took, all together.
    duration_ms: u64,
}

/// What was used, and what it cost.
#[utoipa::path(
    get, path = "/usage", tag = "usage", operation_id = "get_usage", params(UsageQuery),
    responses((status = 200, description = "What was used.", body = UsageReport), Problems)
)]
pub(crate) async fn usage(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(UsageQuery { by, since }): Parameters<UsageQuery>,
) -> Result<Json<UsageReport>, ProblemDetails> {
    let since = since.as_deref().map(day).transpose()?;
    let engine = gateway.engine();
    let mut aggregate = UsageAggregate {
        by,
        since,
        ..UsageAggregate::default()
    };
    // Records that cannot be read are left out, like the sessions that cannot be read.
    let _unreadable = engine
        .read_spending(since, |record| {
            if owner::can_see_principal(&client, &record.principal) {
                aggregate.add_record(record);
            }
        })
        .await?;
    let mut before = None;
    'pages: loop {
        let query = SessionQuery {
            before: before.take(),
            limit: PAGE,
            ..SessionQuery::default()
        };
        let rows = engine.sessions(&query).await?;
        let is_last = rows.len() < PAGE;
        for row in rows {
            // Rows are ordered by last change, newest first.
            if since.is_some_and(|since| row.changed < since) {
                break 'pages;
            }
            before = Some((row.changed, row.session.clone()));
            if row.turns == 0 || !owner::can_see_row(&client, &row) {
                continue;
            }
            match engine.load(&row.session).await {
                Ok(loaded) => {
                    for turn in spending::by_turn(&loaded.steps) {
                        aggregate.add(row.session.as_str(), &turn);
                    }
                }
                // Deleted in the meantime, or written by a newer version.
                Err(EngineError::Journal(
                    JournalError::UnknownSession { .. }
                    | JournalError::Newer { .. }
                    | JournalError::Corrupt { .. },
                )) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if is_last {
            break;
        }
    }
    Ok(Json(aggregate.report()))
}

#[derive(Default)]
struct UsageAggregate {
    all: UsageSums,
    by: UsageGroup,
    lines: BTreeMap<String, UsageSums>,
    since: Option<WallTime>,
    tools: BTreeMap<String, Tool>,
}

#[derive(Default)]
struct UsageSums {
    costs: BTreeMap<Arc<str>, (Money, Money)>,
    replies: u64,
    turns: u64,
    unpriced: u64,
    usage: Usage,
}

#[derive(Default)]
struct Tool {
    bytes: u64,
    calls: u64,
    errors: u64,
    millis: u64,
    starts: u64,
}

impl UsageAggregate {
    fn add(&mut self, session: &str, turn: &TurnSpending) {
        let since = self.since;
        let counts = |at: WallTime| since.is_none_or(|since| at >= since);
        if counts(turn.at) {
            self.line(session, turn.at, &turn.model).turns += 1;
            self.all.turns += 1;
        }
        for reply in turn.replies.iter().filter(|reply| counts(reply.at)) {
            let price = reply.price.as_ref();
            self.line(session, reply.at, &reply.model)
                .add(&reply.usage, price);
            self.all.add(&reply.usage, price);
        }
        for call in &turn.calls {
            if counts(call.at) {
                let name = call.origin.as_ref().map_or_else(
                    || call.name.to_string(),
                    |origin| format!("{}/{}", origin.toolbox, origin.tool),
                );
                self.tools.entry(name).or_default().add(call);
            }
        }
    }

    /// Adds the usage of a request that was passed through without a turn, if it used any.
    fn add_record(&mut self, record: &SpendingRecord) {
        if record.usage.total() > 0 {
            let price = record.price.as_ref();
            self.line(PASSED_THROUGH, record.at, &record.model)
                .add(&record.usage, price);
            self.all.add(&record.usage, price);
        }
    }

    /// The line of this session, time or model.
    fn line(&mut self, session: &str, at: WallTime, model: &ModelRef) -> &mut UsageSums {
        let about = match self.by {
            UsageGroup::Day => at.to_rfc3339().chars().take(DAY).collect(),
            UsageGroup::Model | UsageGroup::Tool => words::model(model),
            UsageGroup::Session => session.to_owned(),
        };
        self.lines.entry(about).or_default()
    }

    fn report(self) -> UsageReport {
        let (lines, tools) = if self.by == UsageGroup::Tool {
            (BTreeMap::new(), self.tools)
        } else {
            (self.lines, BTreeMap::new())
        };
        UsageReport {
            lines: lines
                .into_iter()
                .map(|(about, sums)| LineView {
                    about,
                    sums: sums.view(),
                })
                .collect(),
            tools: tools
                .into_iter()
                .map(|(tool, did)| ToolLineView {
                    tool,
                    calls: did.calls,
                    errors: did.errors,
                    starts: did.starts,
                    bytes: did.bytes,
                    duration_ms: did.millis,
                })
                .collect(),
            total: self.all.view(),
        }
    }
}

impl UsageSums {
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

    fn view(self) -> SumsView {
        let costs = self.costs.into_iter();
        SumsView {
            turns: self.turns,
            replies: self.replies,
            usage: UsageView::from(&self.usage),
            cost: costs
                .map(|(currency, (amount, estimated))| CostView {
                    currency: currency.to_string(),
                    amount: amount.to_string(),
                    estimated: estimated.to_string(),
                })
                .collect(),
            unpriced_tokens: self.unpriced,
        }
    }
}

impl Tool {
    fn add(&mut self, call: &CallSpending) {
        self.bytes = self.bytes.saturating_add(call.bytes as u64);
        self.calls += 1;
        self.errors += u64::from(call.is_error);
        self.millis = self.millis.saturating_add(words::millis(call.took));
        self.starts += u64::from(call.attempts);
    }
}

/// The beginning of a day.
fn day(text: &str) -> Result<WallTime, ProblemDetails> {
    let midnight = WallTime::from_rfc3339(&format!("{text}T00:00:00Z"));
    // A day that its month does not have is one of the next month.
    let midnight = midnight.filter(|at| at.to_rfc3339().get(..DAY) == Some(text));
    midnight.ok_or_else(|| {
        let why = "a day such as `2026-11-01` is expected";
        ProblemDetails::parameter("since", why)
    })
}

/// The length of a date.
const DAY: usize = 10;
/// How many rows are read at once.
const PAGE: usize = 200;
/// The line of requests without a session. No session id has a space.
const PASSED_THROUGH: &str = "passed through";
