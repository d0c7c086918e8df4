//! Session ownership: a session belongs to the principal that created it. Admins see all sessions.
//!
//! A session in which a client began a turn records its principal in its facts. A session without turns, or a
//! fork, has no such fact; there the id proves the owner, as the API derives it from the principal.

use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_engine::{EngineError, ServerTools, SessionRow, is_of_principal};
use jackfield_gateway::{AssistantConfig, Gateway, Principal, ids, tools};

use super::problem::{ProblemDetails, ProblemKind};

/// The session of this id. One that is missing, or that this client does not see, is a problem.
pub(crate) async fn session(
    gateway: &Gateway,
    client: &Principal,
    id: &str,
) -> Result<SessionId, ProblemDetails> {
    let Ok(session) = SessionId::parse(id) else {
        return Err(ProblemDetails::no_session(id));
    };
    if can_see(gateway, client, &session).await? {
        Ok(session)
    } else {
        Err(ProblemDetails::no_session(session.as_str()))
    }
}

/// Whether the session exists and this client sees it.
pub(crate) async fn can_see(
    gateway: &Gateway,
    client: &Principal,
    session: &SessionId,
) -> Result<bool, EngineError> {
    let row = gateway.engine().session(session).await?;
    Ok(row.is_some_and(|row| can_see_row(client, &row)))
}

/// Whether this client sees a listed session.
pub(crate) fn can_see_row(client: &Principal, row: &SessionRow) -> bool {
    can_see_owned(client, &row.session, row.principal.as_deref())
}

/// Whether this client sees a session with this owner.
pub(crate) fn can_see_owned(client: &Principal, session: &SessionId, owner: Option<&str>) -> bool {
    match owner {
        Some(principal) => can_see_principal(client, principal),
        None => client.admin || session.is_issued_to(&client.principal),
    }
}

/// Whether this client sees what belongs to a principal: its own, or an end user of it.
pub(crate) fn can_see_principal(client: &Principal, principal: &str) -> bool {
    client.admin || is_of_principal(principal, &client.principal)
}

/// The client's principal, or that of one of its end users. Their conversations are found separately. Token names
/// contain no `/`, so the names cannot collide.
pub(crate) fn principal(client: &Principal, user: Option<&str>) -> Arc<str> {
    match user {
        None => Arc::clone(&client.principal),
        Some(user) => format!("{}/{user}", client.principal).into(),
    }
}

/// The server tools that a turn is offered: the requested ones that the token may use, or else those of its
/// assistant, or those that the gateway offers for plain models.
pub(crate) fn server_tools(
    gateway: &Gateway,
    client: &Principal,
    assistant: Option<&AssistantConfig>,
    requested: Option<&[String]>,
    has_client_tools: bool,
) -> Result<ServerTools, ProblemDetails> {
    let requested = match requested {
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
    let offered = match assistant {
        Some(_) => &ServerTools::All,
        None => &gateway.config().offered_tools,
    };
    Ok(tools::select(
        &tools::permitted(&client.tools, assistant),
        offered,
        requested.as_deref(),
        has_client_tools,
    )?)
}

pub(crate) fn new_session(client: &Principal) -> Result<SessionId, ProblemDetails> {
    ids::session_for(&client.principal)
        .map_err(|error| ProblemDetails::new(ProblemKind::Internal, error.to_string()))
}
