//! Session ownership: a session belongs to the principal that created it. Admins see all sessions.
//!
//! A session in which a client began a turn records its principal in its facts. A session without turns, or a
//! fork, has no such fact; there the id proves the owner, as the API derives it from the principal.

use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_engine::{EngineError, ServerTools, SessionRow};

use super::problem::{ProblemDetails, ProblemKind};
use crate::auth::Principal;
use crate::flow::tools;
use crate::gateway::Gateway;
use crate::ids;

/// Whether the session exists and this client sees it.
pub(crate) async fn sees(
    gateway: &Gateway,
    asker: &Principal,
    session: &SessionId,
) -> Result<bool, EngineError> {
    let row = gateway.engine().session(session).await?;
    Ok(row.is_some_and(|row| sees_row(asker, &row)))
}

/// Whether this client sees a listed session.
pub(crate) fn sees_row(asker: &Principal, row: &SessionRow) -> bool {
    asker.admin
        || match &row.principal {
            Some(principal) => is_its(asker, principal),
            None => ids::is_of(&row.session, &asker.principal),
        }
}

/// Whether a principal is the client's own, or an end user of it.
fn is_its(asker: &Principal, principal: &str) -> bool {
    let behind = principal.strip_prefix(&*asker.principal);
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The client's principal, or that of one of its end users. Their conversations are found separately. Token names
/// contain no `/`, so the names cannot collide.
pub(crate) fn principal(asker: &Principal, user: Option<&str>) -> Arc<str> {
    match user {
        None => Arc::clone(&asker.principal),
        Some(user) => format!("{}/{user}", asker.principal).into(),
    }
}

/// The server tools that a turn is offered: the requested ones that the token may use.
pub(crate) fn server_tools(
    asker: &Principal,
    wanted: Option<&[String]>,
    brings_own: bool,
) -> Result<ServerTools, ProblemDetails> {
    let wanted = match wanted {
        None => None,
        Some([]) => Some("none".to_owned()),
        Some(patterns) => {
            let wrong = |pattern: &String| pattern.trim().is_empty() || pattern.contains(',');
            if let Some(at) = patterns.iter().position(wrong) {
                let place = format!("/server_tools/{at}");
                let why = "a pattern such as `files/*` is expected";
                return Err(ProblemDetails::field(place, why));
            }
            Some(patterns.join(","))
        }
    };
    let used = tools::used(&asker.tools, wanted.as_deref(), brings_own)?;
    Ok(tools::offered(used))
}

/// A new session id for this client.
pub(crate) fn new_session(asker: &Principal) -> Result<SessionId, ProblemDetails> {
    ids::session_of(&asker.principal)
        .map_err(|error| ProblemDetails::new(ProblemKind::Internal, error.to_string()))
}
