//! Approvals: lists and answers the open questions of the client's sessions.

use axum::Json;
use axum::extract::State;
use jackfield_domain::ids::{SessionId, WaitId};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{
    Answer, Approval, DeliveryBody, UnknownAnswer, WaitEnd, WaitEndKind, WaitKind,
};
use jackfield_engine::{DeliveryOutcome, OpenQuestion};
use serde::Deserialize;

use super::extract::{ApprovalPath, OptionalJsonBody, Parameters, Requester};
use super::owner;
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::turns::delivery_id;
use super::wire::approval::{ApprovalList, ApprovalView};
use super::wire::request::{Allow, Deny};
use super::wire::words;
use crate::auth::Principal;
use crate::gateway::Gateway;

/// Which questions are listed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApprovalQuery {
    /// Only those of this session.
    session: Option<String>,
}

/// The open questions, oldest first.
#[utoipa::path(
    get, path = "/approvals", tag = "approvals", operation_id = "list_approvals", params(ApprovalQuery),
    responses((status = 200, description = "The questions.", body = ApprovalList), Problems)
)]
pub(crate) async fn list(
    Requester(asker): Requester,
    State(gateway): State<Gateway>,
    Parameters(ApprovalQuery { session }): Parameters<ApprovalQuery>,
) -> Result<Json<ApprovalList>, ProblemDetails> {
    let session = match session {
        None => None,
        Some(text) => {
            let text: String = text.chars().take(SessionId::MAX + 1).collect();
            let session = SessionId::parse(&text).map_err(|_| ProblemDetails::no_session(&text))?;
            if !owner::sees(&gateway, &asker, &session).await? {
                return Err(ProblemDetails::no_session(&text));
            }
            Some(session)
        }
    };
    let open = gateway.engine().open_questions(session.as_ref()).await?;
    let mut approvals = Vec::new();
    let mut last: Option<(SessionId, bool)> = None;
    for asked in &open {
        let sees = match &last {
            Some((known, sees)) if *known == asked.session => *sees,
            _ => owner::sees(&gateway, &asker, &asked.session).await?,
        };
        last = Some((asked.session.clone(), sees));
        if sees {
            approvals.push(ApprovalView::of(asked));
        }
    }
    Ok(Json(ApprovalList { approvals }))
}

/// One question, answered or not.
#[utoipa::path(
    get, path = "/approvals/{approval}", tag = "approvals", operation_id = "get_approval", params(("approval" = String, Path)),
    responses((status = 200, description = "The question.", body = ApprovalView), Problems)
)]
pub(crate) async fn get(
    Requester(asker): Requester,
    ApprovalPath(id): ApprovalPath,
    State(gateway): State<Gateway>,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let asked = find(&gateway, &asker, &id).await?;
    Ok(Json(ApprovalView::of(&asked)))
}

/// Says yes: the call runs, once, as it is or with other arguments; or all calls of its tool in the
/// session.
#[utoipa::path(
    post, path = "/approvals/{approval}/allow", tag = "approvals", operation_id = "allow_call", params(("approval" = String, Path)),
    request_body = Option<Allow>,
    responses((status = 200, description = "The question, answered.", body = ApprovalView), Problems)
)]
pub(crate) async fn allow(
    Requester(asker): Requester,
    ApprovalPath(id): ApprovalPath,
    State(gateway): State<Gateway>,
    OptionalJsonBody(allow): OptionalJsonBody<Allow>,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let asked = find(&gateway, &asker, &id).await?;
    let Allow {
        arguments,
        for_session,
    } = allow;
    let is_text = matches!(asked.input, Some(ToolInput::Text(_)));
    let answer = match &asked.wait.kind {
        WaitKind::UnknownOutcome if arguments.is_some() || for_session => {
            let detail = "its outcome is not known: it can only be run again as it was";
            return Err(ProblemDetails::field("/arguments", detail));
        }
        WaitKind::UnknownOutcome => Answer::UnknownOutcome(UnknownAnswer::Retry),
        WaitKind::Approval { .. } | WaitKind::ClientResult | WaitKind::Elicitation { .. } => {
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
    deliver(&gateway, &asker, asked, answer).await
}

/// Denies the call; the model gets the reason.
#[utoipa::path(
    post, path = "/approvals/{approval}/deny", tag = "approvals", operation_id = "deny_call", params(("approval" = String, Path)),
    request_body = Option<Deny>,
    responses((status = 200, description = "The question, answered.", body = ApprovalView), Problems)
)]
pub(crate) async fn deny(
    Requester(asker): Requester,
    ApprovalPath(id): ApprovalPath,
    State(gateway): State<Gateway>,
    OptionalJsonBody(Deny { reason }): OptionalJsonBody<Deny>,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let reason = reason.unwrap_or_default();
    if reason.len() > LONGEST_REASON {
        let why = format!("a reason has at most {LONGEST_REASON} bytes");
        return Err(ProblemDetails::field("/reason", why));
    }
    let asked = find(&gateway, &asker, &id).await?;
    let answer = match &asked.wait.kind {
        WaitKind::UnknownOutcome => Answer::UnknownOutcome(UnknownAnswer::Report),
        WaitKind::Approval { .. } | WaitKind::ClientResult | WaitKind::Elicitation { .. } => {
            Answer::Approval(Approval::Denied {
                reason: reason.trim().into(),
            })
        }
    };
    deliver(&gateway, &asker, asked, answer).await
}

/// The question of this id, if the client sees its session.
async fn find(
    gateway: &Gateway,
    asker: &Principal,
    id: &str,
) -> Result<OpenQuestion, ProblemDetails> {
    let none = || {
        let id: String = id.chars().take(80).collect();
        let detail = format!(
            "there is no question `{id}`; `GET /api/v1/approvals` lists those that are open"
        );
        ProblemDetails::new(ProblemKind::NotFound, detail)
    };
    let wanted = WaitId::parse(id).map_err(|_| none())?;
    let found = gateway.engine().questions_like(wanted.as_str()).await?;
    let asked = found.into_iter().find(|asked| asked.wait.id == wanted);
    let asked = asked.ok_or_else(none)?;
    if owner::sees(gateway, asker, &asked.session).await? {
        Ok(asked)
    } else {
        Err(none())
    }
}

async fn deliver(
    gateway: &Gateway,
    asker: &Principal,
    asked: OpenQuestion,
    answer: Answer,
) -> Result<Json<ApprovalView>, ProblemDetails> {
    let wait = asked.wait.id.clone();
    let id = delivery_id(wait.as_str())?;
    let body = DeliveryBody::Answer { answer, wait };
    let engine = gateway.engine();
    let by = format!("{}, by the API", asker.name);
    match engine.deliver(&asked.session, id, by, body).await? {
        DeliveryOutcome::Accepted | DeliveryOutcome::AlreadyThere => {
            if let Some(turn) = &asked.turn {
                engine.take_up_first(&asked.session, turn).await?;
            }
            let now = find(gateway, asker, asked.wait.id.as_str()).await?;
            Ok(Json(ApprovalView::of(&now)))
        }
        DeliveryOutcome::Closed { at, by, how } => {
            Err(closed(how, by.as_deref(), &at.to_rfc3339()))
        }
        DeliveryOutcome::NoSuchWait => match &asked.end {
            Some((at, end)) => {
                let by = match end {
                    WaitEnd::Answered { by, .. } => Some(&**by),
                    WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => None,
                };
                Err(closed(end.kind(), by, &at.to_rfc3339()))
            }
            None => Err(ProblemDetails::new(
                ProblemKind::NotFound,
                "there is no such question",
            )),
        },
    }
}

/// The error for a question that is closed.
fn closed(how: WaitEndKind, by: Option<&str>, at: &str) -> ProblemDetails {
    let detail = match (how, by) {
        (WaitEndKind::Answered, Some(by)) => format!("{by} answered it at {at}"),
        (WaitEndKind::Answered, None) => format!("it was answered at {at}"),
        (WaitEndKind::Cancelled, _) => format!("the turn was cancelled at {at}"),
        (WaitEndKind::Expired, _) => format!("nobody answered until {at}"),
        (WaitEndKind::Superseded, _) => format!("a new message took its place at {at}"),
    };
    let problem = ProblemDetails::new(ProblemKind::Closed, detail);
    let problem = problem.with("how", words::wait_end(how)).with("at", at);
    match by {
        Some(by) => problem.with("by", by),
        None => problem,
    }
}

/// The maximum length of a reason, in bytes.
const LONGEST_REASON: usize = 10_000;
