//! Usage and cost, summed over the client's sessions and the model calls without a session.

use axum::Json;
use axum::extract::State;
use jackfield_domain::spending;
use jackfield_domain::spending::report::{SpendingGroup, SpendingReport, SpendingTotals};
use jackfield_domain::time::WallTime;
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
    /// What it is about. By session, `without a session` is the line of all requests that were passed through
    /// to a provider, and of ephemeral turns.
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

/// Reports usage and cost.
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
    let mut report = SpendingReport::new(by.into(), since, day_of);
    // Records that cannot be read are left out, like the sessions that cannot be read.
    let _unreadable = engine
        .read_spending(since, |record| {
            if owner::can_see_principal(&client, &record.principal) {
                report.add_record(record);
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
                    let turns = spending::by_turn(&loaded.steps);
                    report.add_session(&row.session, &row.title, &turns);
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
    Ok(Json(UsageReport::new(&report)))
}

impl UsageReport {
    fn new(report: &SpendingReport) -> Self {
        let lines = report.rows().map(|row| LineView {
            about: row.label.clone(),
            sums: SumsView::new(&row.totals),
        });
        let tools = report.tools().map(|(tool, spending)| ToolLineView {
            tool: tool.to_owned(),
            calls: spending.calls,
            errors: spending.errors,
            starts: spending.starts,
            bytes: spending.bytes,
            duration_ms: words::millis(spending.duration),
        });
        Self {
            lines: lines.collect(),
            tools: tools.collect(),
            total: SumsView::new(report.total()),
        }
    }
}

impl SumsView {
    fn new(totals: &SpendingTotals) -> Self {
        let costs = totals.costs.iter();
        Self {
            turns: totals.turns,
            replies: totals.replies,
            usage: UsageView::from(&totals.usage),
            cost: costs
                .map(|(currency, (amount, estimated))| CostView {
                    currency: currency.to_string(),
                    amount: amount.to_string(),
                    estimated: estimated.to_string(),
                })
                .collect(),
            unpriced_tokens: totals.unpriced,
        }
    }
}

impl From<UsageGroup> for SpendingGroup {
    fn from(group: UsageGroup) -> Self {
        match group {
            UsageGroup::Day => Self::Day,
            UsageGroup::Model => Self::Model,
            UsageGroup::Session => Self::Session,
            UsageGroup::Tool => Self::Tool,
        }
    }
}

/// The date of an instant, in UTC.
fn day_of(at: WallTime) -> String {
    at.to_rfc3339().chars().take(DAY).collect()
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
