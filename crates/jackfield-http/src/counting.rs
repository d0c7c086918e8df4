//! `POST /v1/messages/count_tokens` and `POST /v1beta/models/MODEL:countTokens`

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use jackfield_dialect_kit::serve::{ADDRESS, ServeDialect as _};
use jackfield_gateway::Gateway;

use crate::auth::authenticate;
use crate::dialects::{CLAUDE, GEMINI};
use crate::refusal::{self, HttpRefusal};
use crate::{body, flow, notes, passthrough};

/// Answers with the token count of a request: the provider's own if the request is passed through, else an estimate
/// without a call to the provider.
pub(crate) async fn answer(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, request.headers(), request.extensions()).await?;
    let slot = gateway.acquire_slot(&client)?;
    let (head, body) = request.into_parts();
    let (body, room) = body::read(&gateway, &client, &head.headers, body).await?;
    if let Some(passthrough) = passthrough::passthrough(&gateway, &client, &head, &body).await? {
        return passthrough::respond(passthrough, Some(slot), Some(room), &head.extensions).await;
    }
    let header = |name: &str| {
        let value = head.headers.get(name).and_then(|value| value.to_str().ok());
        value.map(str::to_owned)
    };
    let owner = |model: &str| gateway.owner_of(CLAUDE.name(), model);
    let incoming = CLAUDE.count_request(&header, &body, &owner)?;
    let requested = gateway.requested_model(&incoming.model)?;
    gateway.check_model(&client, Some(&incoming.model), &requested)?;
    let (body, mut lost) = CLAUDE.count_response(&incoming);
    lost.extend(incoming.notes);
    let mut response = refusal::json(body);
    notes::insert(response.headers_mut(), notes::header(&lost));
    Ok(response)
}

/// The same in Gemini's form.
pub(crate) async fn answer_in_gemini(
    gateway: &Gateway,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(gateway, request.headers(), request.extensions()).await?;
    let slot = gateway.acquire_slot(&client)?;
    let (head, body) = request.into_parts();
    let (body, room) = body::read(gateway, &client, &head.headers, body).await?;
    if let Some(passthrough) = passthrough::passthrough(gateway, &client, &head, &body).await? {
        return passthrough::respond(passthrough, Some(slot), Some(room), &head.extensions).await;
    }
    let owner = |model: &str| gateway.owner_of(GEMINI.name(), model);
    let header = |name: &str| (name == ADDRESS).then(|| flow::address(&head.uri));
    let incoming = GEMINI.request(&header, &body, &owner)?;
    let requested = gateway.requested_model(&incoming.model)?;
    gateway.check_model(&client, Some(&incoming.model), &requested)?;
    let (body, mut lost) = GEMINI.count_response(&incoming);
    lost.extend(incoming.notes);
    let mut response = refusal::json(body);
    notes::insert(response.headers_mut(), notes::header(&lost));
    Ok(response)
}
