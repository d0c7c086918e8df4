//! Usage and cost, summed over the client's sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jackfield_domain::price::{Cost, Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending::{self, CallSpending, TurnSpending};
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
    /// What it is about.
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
        ..UsageAggregate::default()
    };
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
            let is_older = since.is_some_and(|since| *row.changed.to_rfc3339() < *since);
            if is_older {
                break 'pages;
            }
            before = Some((row.changed, row.session.clone()));
            if row.turns == 0 || !owner::can_see_row(&client, &row) {
                continue;
            }
            match engine.load(&row.session).await {
                Ok(loaded) => {
                    for turn in spending::by_turn(&loaded.steps) {
                        aggregate.add(row.session.as_str(), &turn, since);
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
    fn add(&mut self, session: &str, turn: &TurnSpending, since: Option<&str>) {
        let counts = |at: &str| since.is_none_or(|since| at >= since);
        let about = |by: UsageGroup, at: &str, model: &ModelRef| match by {
            UsageGroup::Day => at.chars().take(DAY).collect(),
            UsageGroup::Model | UsageGroup::Tool => words::model(model),
            UsageGroup::Session => session.to_owned(),
        };
        let began = turn.at.to_rfc3339();
        if counts(&began) {
            let line = about(self.by, &began, &turn.model);
            self.lines.entry(line).or_default().turns += 1;
            self.all.turns += 1;
        }
        for reply in &turn.replies {
            let at = reply.at.to_rfc3339();
            if counts(&at) {
                let line = self
                    .lines
                    .entry(about(self.by, &at, &reply.model))
                    .or_default();
                line.add(&reply.usage, reply.price.as_ref());
                self.all.add(&reply.usage, reply.price.as_ref());
            }
        }
        for call in &turn.calls {
            if counts(&call.at.to_rfc3339()) {
                let name = call.origin.as_ref().map_or_else(
                    || call.name.to_string(),
                    |origin| format!("{}/{}", origin.toolbox, origin.tool),
                );
                self.tools.entry(name).or_default().add(call);
            }
        }
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

/// Validates a date. Timestamps compare to it as text.
fn day(text: &str) -> Result<&str, ProblemDetails> {
    let mut bytes = text.bytes().enumerate();
    let fits = bytes.all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if fits && text.len() == DAY {
        Ok(text)
    } else {
        let why = "a day such as `2026-11-01` is expected";
        Err(ProblemDetails::parameter("since", why))
    }
}

/// The length of a date.
const DAY: usize = 10;
/// How many rows are read at once.
const PAGE: usize = 200;
