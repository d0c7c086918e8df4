//! The forks of a session.

use axum::Json;
use axum::extract::State;
use jackfield_gateway::Gateway;

use super::{LIMIT, row};
use crate::api::extract::OwnedSession;
use crate::api::owner;
use crate::api::problem::{ProblemDetails, Problems};
use crate::api::wire::session::{ForkList, ForkView, SessionView};

/// The forks of a session behind whole turns, which are other versions of what follows. Those of the last thousand
/// turns, at most a hundred of each, and two hundred in all.
#[utoipa::path(
    get, path = "/sessions/{session}/forks", tag = "sessions", operation_id = "list_forks", params(("session" = String, Path)),
    responses((status = 200, description = "The forks.", body = ForkList), Problems)
)]
pub(crate) async fn forks(
    own: OwnedSession,
    State(gateway): State<Gateway>,
) -> Result<Json<ForkList>, ProblemDetails> {
    let engine = gateway.engine();
    let last = row(&gateway, &own.session).await?.turns;
    let mut forks = Vec::new();
    for (turn, fork) in engine.forks(&own.session, last).await? {
        let row = engine.session(&fork).await?;
        if let Some(row) = row.filter(|row| owner::can_see_row(&own.client, row)) {
            let session = SessionView::from(&row);
            forks.push(ForkView { turn, session });
        }
        if forks.len() == LIMIT {
            break;
        }
    }
    Ok(Json(ForkList { forks }))
}
