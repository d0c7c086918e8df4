//! Usage and cost, summed over the client's sessions and the model calls without a session: as JSON, as a
//! table to download, or as a chart.

mod table;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use jackfield_domain::caller::tags::TagNames;
use jackfield_domain::spending;
use jackfield_domain::spending::report::{
    SpendingGroup, SpendingReport, SpendingRow, SpendingTotals,
};
use jackfield_domain::time::WallTime;
use jackfield_engine::{EngineError, JournalError, SessionQuery};
use jackfield_export::values;
use jackfield_gateway::{Gateway, Principal};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Parameters, Requester};
use super::owner;
use super::problem::{ProblemDetails, Problems};
use super::wire::turn::{CostView, UsageView};

/// Of what, and by what.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UsageQuery {
    /// What a line is about: `day` (in UTC), `model` (the default), `provider`, `session`, `tool`, `user` (a token, with
    /// the end user behind it; `command line` has none), or `tag:` and the name of a tag, such as `tag:team`; what has no
    /// such tag is `untagged`.
    #[param(pattern = "^(day|model|provider|session|tool|user|tag:[a-z0-9_.-]{1,32})$")]
    by: Option<String>,
    /// Only what was used from this day on, in UTC, such as `2026-11-01`.
    since: Option<String>,
    /// Only what was used up to this day, in UTC; that day counts.
    until: Option<String>,
    /// In which form.
    #[param(inline)]
    format: UsageFormat,
    /// Of what a chart is; not for other forms, and not by tool.
    #[param(inline)]
    of: UsageMeasure,
}

/// In which form.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageFormat {
    /// A table of comma-separated values (RFC 4180).
    Csv,
    /// JSON.
    #[default]
    Json,
    /// A chart: a picture of the lines with most, without words of its own.
    Svg,
}

/// Of what a chart is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageMeasure {
    /// The cost, in the currency that most was spent in.
    Cost,
    /// The share of model calls that failed.
    Failures,
    /// The time to the first piece of a reply that half of the replies did not exceed.
    FirstToken,
    /// The tokens: input, and output.
    #[default]
    Tokens,
}

/// What was used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageReport)]
pub(crate) struct UsageReport {
    /// A line for each model, day, provider, session, user or value of a tag; none by tool.
    lines: Vec<LineView>,
    /// The names of the tags that are recorded.
    tags: Vec<String>,
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
    /// The title of the session, by session.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
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
    /// How many model calls and passed-through requests have ended.
    attempts: u64,
    /// How many of them failed.
    failures: u64,
    /// The time to the first piece of a reply that half of the replies did not exceed, in milliseconds; null where it
    /// was not recorded.
    first_token_p50_ms: Option<u32>,
    /// The same for 95% of the replies.
    first_token_p95_ms: Option<u32>,
    /// The tokens.
    usage: UsageView,
    /// What that cost, by currency.
    cost: Vec<CostView>,
    /// Tokens of models without a price.
    unpriced_tokens: u64,
    /// How many of the replies were made with keys of people, which the gateway does not pay.
    own_key_replies: u64,
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
    responses((status = 200, description = "What was used.",
            content((UsageReport = "application/json"), (String = "text/csv"), (String = "image/svg+xml"))), Problems)
)]
pub(crate) async fn usage(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(query): Parameters<UsageQuery>,
) -> Result<Response, ProblemDetails> {
    let day_given = |name, day: &Option<String>| day.as_deref().map(|day| start_of(name, day));
    let since = day_given("since", &query.since).transpose()?;
    let until = day_given("until", &query.until).transpose()?;
    let by = group(query.by.as_deref())?;
    let report = gather(&gateway, &client, by, [since, until]).await?;
    Ok(match query.format {
        UsageFormat::Json => {
            Json(UsageReport::new(&report, &gateway.config().tags)).into_response()
        }
        UsageFormat::Csv => {
            let mut response = file(table::csv(&report), "text/csv; charset=utf-8");
            let name = HeaderValue::from_static("attachment; filename=\"usage.csv\"");
            response.headers_mut().insert(CONTENT_DISPOSITION, name);
            response
        }
        UsageFormat::Svg => {
            let now = gateway.engine().now();
            let last = until.map_or(now, |until| until.min(now));
            file(
                table::chart(&report, query.of, since, last),
                "image/svg+xml",
            )
        }
    })
}

fn file(text: String, kind: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    // A chart may be opened by itself. It has a style, and nothing that runs.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

/// Sums what the client sees, from the first of these days to the end of the last.
async fn gather(
    gateway: &Gateway,
    client: &Principal,
    by: SpendingGroup,
    [since, until]: [Option<WallTime>; 2],
) -> Result<SpendingReport, ProblemDetails> {
    let until = until.map(|day| WallTime::from_millis(day.as_millis().saturating_add(DAY_MILLIS)));
    let engine = gateway.engine();
    let mut report = SpendingReport::new(by, since, day_of).until(until);
    // Records that cannot be read are left out, like the sessions that cannot be read.
    let _unreadable = engine
        .read_spending(since, |record| {
            if owner::can_see_principal(client, &record.principal) {
                report.add_record(record);
            }
        })
        .await?;
    let mut before = None;
    loop {
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
                return Ok(report);
            }
            before = Some((row.changed, row.session.clone()));
            let began_later = until.is_some_and(|until| row.created >= until);
            if row.turns == 0 || began_later || !owner::can_see_row(client, &row) {
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
            return Ok(report);
        }
    }
}

impl UsageReport {
    fn new(report: &SpendingReport, tags: &TagNames) -> Self {
        let tools = report.tools().map(|(tool, spending)| ToolLineView {
            tool: tool.to_owned(),
            calls: spending.calls,
            errors: spending.errors,
            starts: spending.starts,
            bytes: spending.bytes,
            duration_ms: values::millis(spending.duration),
        });
        Self {
            lines: report.rows().map(LineView::new).collect(),
            tags: tags.iter().map(str::to_owned).collect(),
            tools: tools.collect(),
            total: SumsView::new(report.total()),
        }
    }
}

impl LineView {
    fn new(row: &SpendingRow) -> Self {
        Self {
            about: row.label.clone(),
            title: row.session.as_ref().map(|_| row.title.to_string()),
            sums: SumsView::new(&row.totals),
        }
    }
}

impl SumsView {
    fn new(totals: &SpendingTotals) -> Self {
        Self {
            turns: totals.turns,
            replies: totals.replies,
            attempts: totals.attempts,
            failures: totals.failures,
            first_token_p50_ms: totals.first_token(50),
            first_token_p95_ms: totals.first_token(95),
            usage: UsageView::from(&totals.usage),
            cost: totals.costs.values().map(CostView::from).collect(),
            unpriced_tokens: totals.unpriced,
            own_key_replies: totals.own_key_replies,
        }
    }
}

/// What a line is about, by its word; a model if none is given.
fn group(by: Option<&str>) -> Result<SpendingGroup, ProblemDetails> {
    let group = by.map_or(Ok(SpendingGroup::Model), str::parse);
    let is_here = |group: &SpendingGroup| match group {
        SpendingGroup::Reply | SpendingGroup::Turn => false,
        SpendingGroup::Day
        | SpendingGroup::Model
        | SpendingGroup::Provider
        | SpendingGroup::Session
        | SpendingGroup::Tag(_)
        | SpendingGroup::Tool
        | SpendingGroup::User => true,
    };
    group.ok().filter(is_here).ok_or_else(|| {
        let why = "one of day, model, provider, session, tool and user is expected, or `tag:` and a name, such as `tag:team`";
        ProblemDetails::parameter("by", why)
    })
}

/// The date of an instant, in UTC.
fn day_of(at: WallTime) -> String {
    at.to_rfc3339().chars().take(DAY).collect()
}

/// The beginning of the day that this parameter names.
fn start_of(parameter: &'static str, text: &str) -> Result<WallTime, ProblemDetails> {
    let midnight = WallTime::from_rfc3339(&format!("{text}T00:00:00Z"));
    // A day that its month does not have is one of the next month.
    let midnight = midnight.filter(|at| at.to_rfc3339().get(..DAY) == Some(text));
    midnight.ok_or_else(|| {
        let why = "a day such as `2026-11-01` is expected";
        ProblemDetails::parameter(parameter, why)
    })
}

/// The length of a date.
const DAY: usize = 10;
/// A day, in milliseconds.
const DAY_MILLIS: i64 = 86_400_000;
/// How many rows are read at once.
const PAGE: usize = 200;
