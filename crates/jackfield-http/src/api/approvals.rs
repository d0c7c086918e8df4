//! Approvals: lists and answers the open questions of the client's sessions.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jackfield_domain::ids::WaitId;
use jackfield_domain::tool::Safety;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{
    Answer, Approval, DeliveryBody, ElicitationAnswer, UnknownAnswer, WaitEnd, WaitEndKind,
    WaitKind,
};
use jackfield_engine::{
    DeliveryOutcome, EngineError, ListedWait, OpenQuestion, QuestionPage, WaitQuery,
};
use jackfield_gateway::Gateway;
use jackfield_gateway::Principal;
use serde::Deserialize;
use serde_json::Value;

use super::extract::{ApprovalPath, OptionalJsonBody, Parameters, Requester};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::turns::delivery_id;
use super::wire::approval::{ApprovalList, ApprovalView};
use super::wire::request::{Allow, Deny};
use super::{owner, sessions};

/// Which questions are listed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApprovalQuery {
    /// Those that come after a page: what that page said as `next`.
    after: Option<u64>,
    /// At most this many.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<usize>,
    /// Only those of this session.
    session: Option<String>,
}

/// Lists the open questions, oldest first.
#[utoipa::path(
    get, path = "/approvals", tag = "approvals", operation_id = "list_approvals", params(ApprovalQuery),
    responses((status = 200, description = "The questions.", body = ApprovalList), Problems)
)]
pub(crate) async fn list(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(ApprovalQuery {
        after,
        limit,
        session,
    }): Parameters<ApprovalQuery>,
) -> Result<Json<ApprovalList>, ProblemDetails> {
    client.check_approvals()?;
    let session = match session {
        None => None,
        Some(id) => Some(owner::session(&gateway, &client, &id).await?),
    };
    let query = WaitQuery {
        after: after.unwrap_or_default(),
        limit: sessions::limit(limit)?,
        session,
        ..WaitQuery::default()
    };
    let QuestionPage { next, waits, .. } = visible(&gateway, &client, query).await?;
    let open = load(&gateway, &waits).await?;
    let approvals = open.iter().map(ApprovalView::from_question).collect();
    Ok(Json(ApprovalList { approvals, next }))
}

/// The open questions of a query that this client sees, oldest first.
pub(super) async fn visible(
    gateway: &Gateway,
    client: &Principal,
    query: WaitQuery,
) -> Result<QuestionPage, EngineError> {
    let query = WaitQuery {
        principal: (!client.admin).then(|| Arc::clone(&client.principal)),
        ..query
    };
    let now = gateway.engine().now();
    // One that has expired cannot be answered; the next driver of its turn closes it.
    let sees = |listed: &ListedWait| {
        listed.row.wait.deadline >= now
            && owner::can_see_owned(client, &listed.session, listed.principal.as_deref())
    };
    gateway.engine().open_questions(&query, sees).await
}

/// These questions, but for those that were answered meanwhile.
pub(super) async fn load(
    gateway: &Gateway,
    waits: &[ListedWait],
) -> Result<Vec<OpenQuestion>, EngineError> {
    let mut open = gateway.engine().load_questions(waits).await?;
    open.retain(|asked| asked.end.is_none());
    Ok(open)
}

/// One question, answered or not.
#[utoipa::path(
    get, path = "/approvals/{approval}", tag = "approvals", operation_id = "get_approval", params(("approval" = String, Path)),
    responses((status = 200, description = "The question.", body = ApprovalView), Problems)
)]
pub(crate) async fn get(
    Requester(client): Requester,
    ApprovalPath(id): ApprovalPath,
    State(gateway): State<Gateway>,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let question = find(&gateway, &client, &id).await?;
    Ok(Json(ApprovalView::from_question(&question)))
}

/// Allows a call: once, as it is or with other arguments, or all calls of its tool in the session. A tool's own question
/// is answered with `content`. A turn that waits for its budget tries again.
#[utoipa::path(
    post, path = "/approvals/{approval}/allow", tag = "approvals", operation_id = "allow_call", params(("approval" = String, Path)),
    request_body = Option<Allow>,
    responses((status = 200, description = "The question, answered.", body = ApprovalView), Problems)
)]
pub(crate) async fn allow(
    Requester(client): Requester,
    ApprovalPath(id): ApprovalPath,
    State(gateway): State<Gateway>,
    OptionalJsonBody(allow): OptionalJsonBody<Allow>,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let question = find(&gateway, &client, &id).await?;
    gateway.check_turn(&client, &question.setup)?;
    let Allow {
        again,
        arguments,
        for_session,
        content,
    } = allow;
    let is_own = matches!(question.wait.kind, WaitKind::Elicitation { .. });
    if content.is_some() && !is_own {
        let why = "only a tool's own question is answered with content";
        return Err(ProblemDetails::field("/content", why));
    }
    let is_text = matches!(question.input, Some(ToolInput::Text(_)));
    let answer = match &question.wait.kind {
        WaitKind::UnknownOutcome if arguments.is_some() || for_session => {
            let detail = "its outcome is not known: it can only be run again as it was";
            return Err(ProblemDetails::field("/arguments", detail));
        }
        WaitKind::UnknownOutcome if !again && !is_read_only(&question) => {
            let why = "its outcome is not known, and the tool may act a second time: `again` runs it again, and `deny` tells the model";
            return Err(ProblemDetails::field("/again", why));
        }
        WaitKind::UnknownOutcome => Answer::UnknownOutcome(UnknownAnswer::Retry),
        WaitKind::Budget { .. } if arguments.is_some() || for_session => {
            let why = "a turn that waits for its budget can only be let go on";
            return Err(ProblemDetails::field("/arguments", why));
        }
        WaitKind::Elicitation { .. } if arguments.is_some() || for_session => {
            let why = "a tool's own question is answered with `content` alone";
            return Err(ProblemDetails::field("/arguments", why));
        }
        WaitKind::Elicitation { .. } => {
            let content = Value::Object(content.unwrap_or_default());
            Answer::Elicitation(ElicitationAnswer::Accepted(Arc::new(content)))
        }
        WaitKind::Approval { .. } | WaitKind::Budget { .. } | WaitKind::ClientResult => {
            if is_text && arguments.is_some() {
                let why = "this call has no JSON arguments that could be changed";
                return Err(ProblemDetails::field("/arguments", why));
            }
            Answer::Approval(Approval::Granted {
                edited: arguments.map(Into::into),
                for_session,
            })
        }
    };
    deliver(&gateway, &client, question, answer).await
}

/// Denies the call; the model gets the reason. A tool's own question is declined, and a turn that waits for its
/// budget ends.
#[utoipa::path(
    post, path = "/approvals/{approval}/deny", tag = "approvals", operation_id = "deny_call", params(("approval" = String, Path)),
    request_body = Option<Deny>,
    responses((status = 200, description = "The question, answered.", body = ApprovalView), Problems)
)]
pub(crate) async fn deny(
    Requester(client): Requester,
    ApprovalPath(id): ApprovalPath,
    State(gateway): State<Gateway>,
    OptionalJsonBody(Deny { reason }): OptionalJsonBody<Deny>,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let reason = reason.unwrap_or_default();
    if reason.len() > MAX_REASON {
        let why = format!("a reason has at most {MAX_REASON} bytes");
        return Err(ProblemDetails::field("/reason", why));
    }
    let question = find(&gateway, &client, &id).await?;
    let answer = match &question.wait.kind {
        WaitKind::UnknownOutcome => Answer::UnknownOutcome(UnknownAnswer::Report),
        WaitKind::Elicitation { .. } => Answer::Elicitation(ElicitationAnswer::Declined),
        WaitKind::Approval { .. } | WaitKind::Budget { .. } | WaitKind::ClientResult => {
            Answer::Approval(Approval::Denied {
                reason: reason.trim().into(),
            })
        }
    };
    deliver(&gateway, &client, question, answer).await
}

/// Whether the tool has no effects.
fn is_read_only(question: &OpenQuestion) -> bool {
    let tool = question.tool.as_ref();
    tool.is_some_and(|tool| tool.safety == Safety::ReadOnly)
}

/// The question of this id, if the client sees its session.
async fn find(
    gateway: &Gateway,
    client: &Principal,
    id: &str,
) -> Result<OpenQuestion, ProblemDetails> {
    client.check_approvals()?;
    let not_found = || {
        let id: String = id.chars().take(80).collect();
        let detail = format!(
            "there is no question `{id}`; `GET /api/v1/approvals` lists those that are open"
        );
        ProblemDetails::new(ProblemKind::NotFound, detail)
    };
    let wait = WaitId::parse(id).map_err(|_| not_found())?;
    let sees = |listed: &ListedWait| {
        let owner = listed.principal.as_deref();
        listed.row.wait.id == wait && owner::can_see_owned(client, &listed.session, owner)
    };
    let found = gateway.engine().find_question(&wait, sees).await?;
    found.ok_or_else(not_found)
}

async fn deliver(
    gateway: &Gateway,
    client: &Principal,
    question: OpenQuestion,
    answer: Answer,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let wait = question.wait.id.clone();
    let id = delivery_id(wait.as_str())?;
    let body = DeliveryBody::Answer { answer, wait };
    let engine = gateway.engine();
    let by = format!("{}, by the API", client.name);
    match engine.deliver(&question.session, id, by, body).await? {
        DeliveryOutcome::Accepted | DeliveryOutcome::AlreadyThere => {
            if let Some(turn) = &question.turn {
                engine.prioritize_resume(&question.session, turn).await?;
            }
            let now = find(gateway, client, question.wait.id.as_str()).await?;
            Ok(Json(ApprovalView::from_question(&now)))
        }
        DeliveryOutcome::Closed { at, by, how } => {
            Err(closed_problem(how, by.as_deref(), &at.to_rfc3339()))
        }
        DeliveryOutcome::NoSuchWait => match &question.end {
            Some((at, end)) => {
                let by = match end {
                    WaitEnd::Answered { by, .. } => Some(&**by),
                    WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => None,
                };
                Err(closed_problem(end.kind(), by, &at.to_rfc3339()))
            }
            None => Err(ProblemDetails::new(
                ProblemKind::NotFound,
                "there is no such question",
            )),
        },
    }
}

/// The error for a question that is closed.
fn closed_problem(how: WaitEndKind, by: Option<&str>, at: &str) -> ProblemDetails {
    let detail = match (how, by) {
        (WaitEndKind::Answered, Some(by)) => format!("{by} answered it at {at}"),
        (WaitEndKind::Answered, None) => format!("it was answered at {at}"),
        (WaitEndKind::Cancelled, _) => format!("the turn was cancelled at {at}"),
        (WaitEndKind::Expired, _) => format!("no answer came until {at}"),
        (WaitEndKind::Superseded, _) => format!("a new message took its place at {at}"),
    };
    let problem = ProblemDetails::new(ProblemKind::Closed, detail);
    let problem = problem.with("how", how.as_str()).with("at", at);
    match by {
        Some(by) => problem.with("by", by),
        None => problem,
    }
}

/// The maximum length of a reason, in bytes.
const MAX_REASON: usize = 10_000;
