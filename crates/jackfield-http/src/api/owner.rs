//! Whose a session is: of the principal that made it. Whoever is marked as admin sees all.
//!
//! A session that a caller began a turn in says so in its facts. One in which nothing has happened yet, or
//! that is a fork, has no such fact; the id that the API gave it tells, as it is made with the principal.

use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_engine::{EngineError, ServerTools, SessionRow};

use super::problem::{ProblemDetails, ProblemKind};
use crate::auth::Principal;
use crate::flow::tools;
use crate::gateway::Gateway;
use crate::ids;

/// Whether there is such a session, and this asker sees it.
pub(crate) async fn sees(
    gateway: &Gateway,
    asker: &Principal,
    session: &SessionId,
) -> Result<bool, EngineError> {
    let row = gateway.engine().session(session).await?;
    Ok(row.is_some_and(|row| sees_row(asker, &row)))
}

/// Whether this asker sees a session of a list.
pub(crate) fn sees_row(asker: &Principal, row: &SessionRow) -> bool {
    asker.admin
        || match &row.principal {
            Some(principal) => is_its(asker, principal),
            None => ids::is_of(&row.session, &asker.principal),
        }
}

/// Whether a principal is the asker, or somebody behind its token.
fn is_its(asker: &Principal, principal: &str) -> bool {
    let behind = principal.strip_prefix(&*asker.principal);
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The asker, or somebody behind its token: neither sees what is the other's where conversations are found
/// by what was said. The name of a token has no `/`.
pub(crate) fn principal(asker: &Principal, user: Option<&str>) -> Arc<str> {
    match user {
        None => Arc::clone(&asker.principal),
        Some(user) => format!("{}/{user}", asker.principal).into(),
    }
}

/// The gateway's tools that a turn is offered: those that are asked for, of those that the token may use.
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

/// The id of a new session of this asker.
pub(crate) fn new_session(asker: &Principal) -> Result<SessionId, ProblemDetails> {
    ids::session_of(&asker.principal)
        .map_err(|error| ProblemDetails::new(ProblemKind::Internal, error.to_string()))
}
