//! Liveness and readiness endpoints for monitoring. Neither needs a token, and neither reveals anything about
//! sessions.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use jackfield_gateway::Gateway;
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::{ProblemDetails, ProblemKind, Problems};

/// How the gateway is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthView {
    /// `ok`.
    status: &'static str,
    /// The version of the gateway.
    version: &'static str,
}

/// Checks that the process answers, and nothing else.
#[utoipa::path(
    get, path = "/healthz", tag = "health", operation_id = "healthz", security(()),
    responses((status = 200, description = "The process answers.", body = HealthView))
)]
pub(crate) async fn alive() -> Response {
    ok()
}

/// Checks whether the gateway takes requests: the journal can be written, and the gateway is not shutting down. If it
/// takes none, `detail` says why.
#[utoipa::path(
    get, path = "/readyz", tag = "health", operation_id = "readyz", security(()),
    responses((status = 200, description = "Requests are taken.", body = HealthView), Problems)
)]
pub(crate) async fn ready(State(gateway): State<Gateway>) -> Response {
    let engine = gateway.engine();
    if engine.is_draining() {
        let detail = "the gateway is ending: it takes no requests any more";
        return unavailable(detail);
    }
    match gateway.check_writable().await {
        Ok(()) => ok(),
        Err(Some(outage)) => unavailable(&format!("the journal cannot be written: {outage}")),
        Err(None) => unavailable("the journal cannot be written; the log says why"),
    }
}

fn unavailable(detail: &str) -> Response {
    let problem = ProblemDetails::new(ProblemKind::Unavailable, detail);
    problem.retry_after(Duration::from_secs(1)).into_response()
}

fn ok() -> Response {
    let health = HealthView {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    };
    (StatusCode::OK, Json(health)).into_response()
}
