//! The admission of requests of this API that write, before their bodies are read.

use axum::body::Body;
use axum::extract::{FromRequestParts as _, MatchedPath, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Request;
use jackfield_gateway::Gateway;

use super::Requester;
use crate::api::document::ROOT;
use crate::api::problem::ProblemDetails;

/// Admits a request that writes: it has its share of the gateway's requests, and counts for the client's rate.
pub(crate) async fn admit(
    State(gateway): State<Gateway>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, ProblemDetails> {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.and_then(|path| path.as_str().strip_prefix(ROOT));
    let path = path.unwrap_or_default();
    let is_question = QUESTIONS.contains(&path);
    if request.method().is_safe() || UNMETERED.contains(&path) {
        return Ok(next.run(request).await);
    }
    let (mut parts, body) = request.into_parts();
    let Requester(client) = Requester::from_request_parts(&mut parts, &gateway).await?;
    let _slot = if is_question {
        gateway.acquire_slot(&client)?
    } else {
        let slot = gateway.admit_without_model(&client).await;
        slot.map_err(|refused| refused.error)?
    };
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// What only asks a server something.
const QUESTIONS: &[&str] = &["/servers/{server}/complete", "/servers/{server}/prompts"];

/// What ends something, or has no client yet, is always taken. What may ask a model is admitted as such.
const UNMETERED: &[&str] = &[
    "/approvals/{approval}/allow",
    "/approvals/{approval}/deny",
    "/login",
    "/sessions/{session}/compact",
    "/sessions/{session}/turns",
    "/sessions/{session}/turns/{turn}/cancel",
    "/sessions/{session}/turns/{turn}/results",
    "/ui/chat",
];
