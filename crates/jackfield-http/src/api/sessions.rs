//! Sessions: create, list, get, fork, delete and export.

pub(crate) mod forks;
pub(crate) mod import;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_domain::turn_log::SessionLog;
use jackfield_engine::{
    CompactSession, EngineError, JournalError, LabelChange, SessionQuery, SessionRow,
};
use jackfield_gateway::{Gateway, Principal, RequestedModel};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::extract::{JsonBody, ModelSlot, OptionalJsonBody, OwnedSession, Parameters, Requester};
use super::owner;
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::story;
use super::wire::request::{CreateSession, EditSession, Fork};
use super::wire::session::{ForkedView, ImportedView, SessionPage, SessionView, TurnPage};
use super::wire::turn::TurnView;

/// Which sessions are listed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SessionsFilter {
    /// Only those that are archived, or only those that are not.
    archived: Option<bool>,
    /// At most this many.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<usize>,
    /// Those that come after a page: what that page said as `next`.
    page: Option<String>,
    /// Only those that are pinned, or only those that are not.
    pinned: Option<bool>,
    /// Only those with this text in a message, case-insensitive.
    #[param(max_length = 1000)]
    search: Option<String>,
}

/// Which turns are listed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Turns {
    /// Only those behind the turn of this number.
    after: Option<u32>,
    /// At most this many.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<usize>,
}

/// How a session is exported.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExportQuery {
    /// `json`, the default, or `markdown`.
    #[param(inline)]
    format: ExportQueryFormat,
    /// Whether what may be private is left out: what tools were given and gave back, files, reasoning, and
    /// what looks like a key anywhere else.
    redact: bool,
}

/// In which form a session is exported.
#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportQueryFormat {
    #[default]
    Json,
    Markdown,
}

/// Lists the sessions of the token, the newest change first; an admin's token lists all.
#[utoipa::path(
    get, path = "/sessions", tag = "sessions", operation_id = "list_sessions", params(SessionsFilter),
    responses((status = 200, description = "A page of them.", body = SessionPage), Problems)
)]
pub(crate) async fn list(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(filter): Parameters<SessionsFilter>,
) -> Result<Json<SessionPage>, ProblemDetails> {
    let limit = limit(filter.limit)?;
    let search = filter.search.filter(|search| !search.trim().is_empty());
    if search
        .as_ref()
        .is_some_and(|search| search.len() > MAX_SEARCH)
    {
        let why = format!("at most {MAX_SEARCH} bytes can be searched for");
        return Err(ProblemDetails::parameter("search", why));
    }
    let parse = |text| parse_page_token(text, &client);
    let mut before = filter.page.as_deref().map(parse).transpose()?;
    let (mut rows, mut examined) = (Vec::new(), 0);
    let mut next = None;
    'pages: loop {
        let query = SessionQuery {
            before: before.clone(),
            archived: filter.archived,
            limit: PAGE,
            pinned: filter.pinned,
            text: search.clone(),
            session: None,
        };
        let found = gateway.engine().sessions(&query).await?;
        let is_last = found.len() < PAGE;
        for row in found {
            if rows.len() == limit || examined == MAX_EXAMINED {
                next = before.as_ref().map(|before| page_token(before, &client));
                break 'pages;
            }
            examined += 1;
            before = Some((row.changed, row.session.clone()));
            if owner::can_see_row(&client, &row) {
                rows.push(row);
            }
        }
        if is_last {
            break;
        }
    }
    Ok(Json(SessionPage {
        sessions: rows.iter().map(SessionView::from).collect(),
        next,
    }))
}

/// Creates an empty session.
#[utoipa::path(
    post, path = "/sessions", tag = "sessions", operation_id = "create_session", request_body = Option<CreateSession>,
    responses((status = 201, description = "The session.", body = SessionView), Problems)
)]
pub(crate) async fn create(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    OptionalJsonBody(CreateSession {}): OptionalJsonBody<CreateSession>,
) -> Result<Response, ProblemDetails> {
    let session = owner::new_session(&client)?;
    gateway.engine().create(&session).await?;
    created_response(&gateway, &session).await
}

/// One session.
#[utoipa::path(
    get, path = "/sessions/{session}", tag = "sessions", operation_id = "get_session", params(("session" = String, Path)),
    responses((status = 200, description = "The session.", body = SessionView), Problems)
)]
pub(crate) async fn get(
    own: OwnedSession,
    State(gateway): State<Gateway>,
) -> Result<Json<SessionView>, ProblemDetails> {
    view(&gateway, &own.session).await.map(Json)
}

/// Gives a session another title, pins it or puts it away. What is left out stays. A turn may be at work meanwhile.
#[utoipa::path(
    patch, path = "/sessions/{session}", tag = "sessions", operation_id = "edit_session", params(("session" = String, Path)),
    request_body = EditSession,
    responses((status = 200, description = "The session.", body = SessionView), Problems)
)]
pub(crate) async fn edit(
    own: OwnedSession,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<EditSession>,
) -> Result<Json<SessionView>, ProblemDetails> {
    let title = value.title.as_deref();
    if title.is_some_and(|title| title.chars().count() > MAX_TITLE) {
        let why = format!("a title has at most {MAX_TITLE} characters");
        return Err(ProblemDetails::field("/title", why));
    }
    let change = LabelChange {
        archived: value.archived,
        pinned: value.pinned,
        title: title.map(Into::into),
    };
    if change == LabelChange::default() {
        let why = "say what changes: `title`, `pinned` or `archived`";
        return Err(ProblemDetails::field("", why));
    }
    gateway.engine().label(&own.session, &change).await?;
    view(&gateway, &own.session).await.map(Json)
}

/// Deletes a session for good. A session with a running turn is busy: cancel the turn first. So is one that is open
/// in `jackfield chat`.
#[utoipa::path(
    delete, path = "/sessions/{session}", tag = "sessions", operation_id = "delete_session", params(("session" = String, Path)),
    responses((status = 204, description = "It is deleted."), Problems)
)]
pub(crate) async fn delete(
    own: OwnedSession,
    State(gateway): State<Gateway>,
) -> Result<StatusCode, ProblemDetails> {
    let engine = gateway.engine();
    match engine.delete(&own.session).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        // The journal does not know the turn that is in progress. The row of the session has it, whichever
        // process drives it.
        Err(error @ EngineError::Journal(JournalError::Owned { .. })) => {
            let row = engine.session(&own.session).await?;
            let open = row.and_then(|row| row.open).map(|open| open.turn);
            Err(open.map_or_else(
                || error.into(),
                |turn| ProblemDetails::busy(&own.session, &turn),
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// Creates a session with the messages of this one up to a place: for the turn 0, those before its first turn. This one
/// stays as it is.
#[utoipa::path(
    post, path = "/sessions/{session}/fork", tag = "sessions", operation_id = "fork_session", params(("session" = String, Path)),
    request_body = Option<Fork>,
    responses((status = 201, description = "The new session.", body = SessionView), Problems)
)]
pub(crate) async fn fork(
    own: OwnedSession,
    State(gateway): State<Gateway>,
    OptionalJsonBody(Fork { turn, round }): OptionalJsonBody<Fork>,
) -> Result<Response, ProblemDetails> {
    if turn.is_none() && round.is_some() {
        return Err(ProblemDetails::field(
            "/turn",
            "say which turn the round is of",
        ));
    }
    let engine = gateway.engine();
    let place = if (turn, round) == (Some(0), None) {
        engine.fork_beginning(&own.session).await?
    } else {
        let places = engine.fork_places(&own.session).await?;
        places.into_iter().rev().find(|place| match turn {
            Some(turn) => place.ordinal == turn && place.round == round,
            None => place.round.is_none(),
        })
    };
    let Some(place) = place else {
        let why = match (turn, round) {
            (Some(turn), Some(round)) => format!("there is no closed round {round} in turn {turn}"),
            (Some(0), None) => "no turn of this session has begun".to_owned(),
            (Some(turn), None) => format!("there is no turn {turn} that has ended"),
            (None, _) => "no turn of this session has ended".to_owned(),
        };
        return Err(ProblemDetails::field("/turn", why));
    };
    let session = owner::new_session(&own.client)?;
    engine.fork(&own.session, &place, &session).await?;
    created_response(&gateway, &session).await
}

/// Begins a session with what was said in this one, in which a summary by the model of the last turn replaces the
/// beginning. This one stays as it is.
#[utoipa::path(
    post, path = "/sessions/{session}/compact", tag = "sessions", operation_id = "compact_session",
    params(("session" = String, Path),
        ("X-Jackfield-Tags" = Option<String>, Header, description = "What the usage of the summary is summed by, as of a turn.")),
    responses((status = 201, description = "The new session.", body = SessionView), Problems)
)]
pub(crate) async fn compact(
    own: OwnedSession,
    // It counts as a request that is answered.
    ModelSlot(slot): ModelSlot,
    State(gateway): State<Gateway>,
    headers: HeaderMap,
) -> Result<Response, ProblemDetails> {
    slot.check_budgets()?;
    let _held = gateway.hold_turn(&own.client.principal)?;
    let engine = gateway.engine();
    let loaded = engine.load(&own.session).await?;
    let log = SessionLog::from_steps(&loaded.steps, &[]);
    drop(loaded);
    let requested = match log.turns.last() {
        Some(turn) => {
            gateway.check_model_of_turn(&own.client, &turn.setup)?;
            RequestedModel {
                assistant: None,
                model: turn.setup.model.clone(),
                route: turn.setup.route.clone(),
            }
        }
        None => {
            let requested = gateway.default_model();
            gateway.check_model(&own.client, None, &requested)?;
            requested
        }
    };
    let mut options = gateway.options_for(&requested).ok_or_else(|| {
        let detail = format!("there is no provider `{}`", requested.model.provider);
        ProblemDetails::new(ProblemKind::Unavailable, detail)
    })?;
    options.budgets = own.client.budgets();
    options.tags = gateway.tags_of_headers(&headers, [], None);
    let session = owner::new_session(&own.client)?;
    let request = CompactSession {
        from: own.session,
        options,
        principal: owner::principal(&own.client, None),
        to: session.clone(),
    };
    engine.compact(request).await?;
    created_response(&gateway, &session).await
}

/// The turns of a session, in order.
#[utoipa::path(
    get, path = "/sessions/{session}/turns", tag = "turns", operation_id = "list_turns",
    params(("session" = String, Path), Turns),
    responses((status = 200, description = "A page of them.", body = TurnPage), Problems)
)]
pub(crate) async fn turns(
    own: OwnedSession,
    State(gateway): State<Gateway>,
    Parameters(Turns { after, limit }): Parameters<Turns>,
) -> Result<Json<TurnPage>, ProblemDetails> {
    let limit = self::limit(limit)?;
    let loaded = gateway.engine().load(&own.session).await?;
    let after = after.unwrap_or(0);
    let log = SessionLog::from_steps(&loaded.steps, &[]);
    let mut later = log.turns.iter().filter(|turn| turn.ordinal > after);
    let turns = later.by_ref().take(limit);
    let turns: Vec<TurnView> = turns.map(|turn| story::view(turn, &own.session)).collect();
    let next = later
        .next()
        .and_then(|_| turns.last())
        .map(|turn| turn.number);
    Ok(Json(TurnPage { turns, next }))
}

/// Exports a whole session as one document.
#[utoipa::path(
    get, path = "/sessions/{session}/export", tag = "sessions", operation_id = "export_session",
    params(("session" = String, Path), ExportQuery),
    responses(
        (status = 200, description = "The session: as JSON the document `jackfield.session`, whose turns have the \
            fields of `Turn` and more.",
            content((serde_json::Value = "application/json"), (String = "text/markdown"))),
        Problems
    )
)]
pub(crate) async fn export(
    own: OwnedSession,
    State(gateway): State<Gateway>,
    Parameters(ExportQuery { format, redact }): Parameters<ExportQuery>,
) -> Result<Response, ProblemDetails> {
    let slot = gateway.admit_without_model(&own.client).await;
    let _slot = slot.map_err(|refused| refused.error)?;
    let loaded = gateway.engine().load(&own.session).await?;
    let (format, media_type, ending) = match format {
        ExportQueryFormat::Json => (jackfield_export::Format::Json, JSON, "json"),
        ExportQueryFormat::Markdown => (jackfield_export::Format::Markdown, MARKDOWN, "md"),
    };
    let (session, steps, late) = (&own.session, &loaded.steps, &loaded.deliveries);
    let body = jackfield_export::document(session, steps, late, format, redact);
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    let title = row(&gateway, &own.session).await?.title;
    if let Ok(name) = HeaderValue::from_str(&attachment(&own.session, &title, ending)) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// The name of a file for browsers, by RFC 6266: the title where they read UTF-8, or else the id.
fn attachment(session: &SessionId, title: &str, ending: &str) -> String {
    // What no file system refuses or reads as a path, and no reader mistakes.
    let is_kept = |letter: &char| letter.is_alphanumeric() || " _-,()".contains(*letter);
    let words: String = title.chars().filter(is_kept).take(MAX_FILE_NAME).collect();
    let words = words.trim();
    // The characters of an id need no quoting.
    let plain = format!("attachment; filename=\"{session}.{ending}\"");
    if words.is_empty() {
        return plain;
    }
    let name = utf8_percent_encode(words, NON_ALPHANUMERIC);
    format!("{plain}; filename*=UTF-8''{name}.{ending}")
}

/// The response for a session that was just created.
async fn created_response(
    gateway: &Gateway,
    session: &SessionId,
) -> Result<Response, ProblemDetails> {
    let view = view(gateway, session).await?;
    let mut response = (StatusCode::CREATED, Json(view)).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/api/v1/sessions/{session}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

async fn view(gateway: &Gateway, session: &SessionId) -> Result<SessionView, ProblemDetails> {
    let engine = gateway.engine();
    let row = row(gateway, session).await?;
    let mut view = SessionView::from(&row);
    if row.unreadable.is_none() {
        let loaded = engine.load(session).await?;
        let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
        view.forked_from = log.forked.as_ref().map(ForkedView::from);
        view.imported_from = log.imported.as_ref().map(ImportedView::from);
    }
    Ok(view)
}

pub(crate) async fn row(
    gateway: &Gateway,
    session: &SessionId,
) -> Result<SessionRow, ProblemDetails> {
    let found = gateway.engine().session(session).await?;
    found.ok_or_else(|| ProblemDetails::no_session(session.as_str()))
}

/// The number of entries of a page.
pub(super) fn limit(given: Option<usize>) -> Result<usize, ProblemDetails> {
    match given {
        None => Ok(USUAL_LIMIT),
        Some(limit @ 1..=LIMIT) => Ok(limit),
        Some(limit) => {
            let why = format!("a number from 1 to {LIMIT} is expected, not {limit}");
            Err(ProblemDetails::parameter("limit", why))
        }
    }
}

/// A place in the list of this client. It may name a session that the client does not see.
fn page_token((changed, session): &(WallTime, SessionId), client: &Principal) -> String {
    let place = format!("{}.{session}", changed.as_millis());
    let tag = Digest::of_parts(["page", &client.principal, &place]).to_hex();
    format!("{}.{place}", tag.get(..12).unwrap_or_default())
}

fn parse_page_token(
    text: &str,
    client: &Principal,
) -> Result<(WallTime, SessionId), ProblemDetails> {
    let wrong = || ProblemDetails::parameter("page", "this is nothing that a page said as `next`");
    let (_, place) = text.split_once('.').ok_or_else(wrong)?;
    let (changed, session) = place.split_once('.').ok_or_else(wrong)?;
    let changed: i64 = changed.parse().map_err(|_| wrong())?;
    let session = SessionId::parse(session).map_err(|_| wrong())?;
    let before = (WallTime::from_millis(changed), session);
    // What was said to another client names what that one sees.
    if page_token(&before, client) != text {
        return Err(wrong());
    }
    Ok(before)
}

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// The maximum length of a search text.
const MAX_SEARCH: usize = 1_000;
/// The maximum length of a title, in characters.
const MAX_TITLE: usize = 200;
/// The maximum length of the name of an exported file, in characters.
const MAX_FILE_NAME: usize = 80;
const LIMIT: usize = 200;
/// The maximum number of sessions examined for one page, where most belong to other principals.
const MAX_EXAMINED: usize = 2_000;
/// How many rows are read at once.
const PAGE: usize = 200;
pub(super) const USUAL_LIMIT: usize = 50;
