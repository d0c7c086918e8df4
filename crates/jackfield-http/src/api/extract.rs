//! Extractors for handlers: the client, its session, a bounded body and parameters.

pub(crate) mod writes;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Request};
use jackfield_dialect_kit::body::without_type_names;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_gateway::{BodyRoom, Gateway, Principal, RequestSlot};
use serde::de::DeserializeOwned;

use super::problem::{ProblemDetails, ProblemKind};
use super::{login, owner};
use crate::body;

#[derive(Clone, Debug)]
pub(crate) struct Requester(pub(crate) Arc<Principal>);

impl FromRequestParts<Gateway> for Requester {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        let known = login::authenticate(gateway, parts).await.map(Self)?;
        parts.extensions.insert(known.clone());
        Ok(known)
    }
}

/// A request that may ask a model, admitted before its body is read. Budgets are looked at where a turn begins.
pub(crate) struct ModelSlot(pub(crate) RequestSlot);

impl FromRequestParts<Gateway> for ModelSlot {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        let Requester(client) = Requester::from_request_parts(parts, gateway).await?;
        let slot = gateway.admit_to_rates(&client).await;
        Ok(slot.map(Self).map_err(|refused| refused.error)?)
    }
}

/// The session in the path. It exists and the client sees it. A session of another principal is reported as
/// missing.
#[derive(Clone, Debug)]
pub(crate) struct OwnedSession {
    pub(crate) client: Arc<Principal>,
    pub(crate) session: SessionId,
}

impl FromRequestParts<Gateway> for OwnedSession {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        let Requester(client) = Requester::from_request_parts(parts, gateway).await?;
        let text = path_parameter(parts, gateway, "session").await?;
        let session = owner::session(gateway, &client, &text).await?;
        Ok(Self { client, session })
    }
}

/// The turn in the path. Its existence is checked later, by the lookup.
#[derive(Clone, Debug)]
pub(crate) struct TurnPath(pub(crate) TurnId);

impl FromRequestParts<Gateway> for TurnPath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        let text = path_parameter(parts, gateway, "turn").await?;
        TurnId::parse(&text)
            .map(Self)
            .map_err(|_| no_turn(&shortened(&text)))
    }
}

/// The number of a step in the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepPath(pub(crate) u64);

impl FromRequestParts<Gateway> for StepPath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        let text = path_parameter(parts, gateway, "step").await?;
        text.parse().map(Self).map_err(|_| {
            let detail = format!("there is no step `{}`: it is a number", shortened(&text));
            ProblemDetails::new(ProblemKind::NotFound, detail)
        })
    }
}

/// The name of a chat in the path.
#[derive(Clone, Debug)]
pub(crate) struct ChatPath(pub(crate) String);

impl FromRequestParts<Gateway> for ChatPath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        path_parameter(parts, gateway, "chat").await.map(Self)
    }
}

/// The id of an MCP server in the path.
#[derive(Clone, Debug)]
pub(crate) struct ServerPath(pub(crate) String);

impl FromRequestParts<Gateway> for ServerPath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        path_parameter(parts, gateway, "server").await.map(Self)
    }
}

/// The name of a user or a team, or the id of a key, in the path.
#[derive(Clone, Debug)]
pub(crate) struct NamePath(pub(crate) String);

impl FromRequestParts<Gateway> for NamePath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        path_parameter(parts, gateway, "name").await.map(Self)
    }
}

/// The name of a provider in the path.
#[derive(Clone, Debug)]
pub(crate) struct ProviderPath(pub(crate) String);

impl FromRequestParts<Gateway> for ProviderPath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        path_parameter(parts, gateway, "provider").await.map(Self)
    }
}

/// The approval id in the path.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalPath(pub(crate) String);

impl FromRequestParts<Gateway> for ApprovalPath {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        path_parameter(parts, gateway, "approval").await.map(Self)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Gateway> for Parameters<T> {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        _gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(rejection) => {
                let why = root_cause(&rejection);
                Err(ProblemDetails::new(
                    ProblemKind::Invalid,
                    format!("the parameters of the address cannot be read: {why}"),
                ))
            }
        }
    }
}

/// A JSON body, and the digest of its bytes.
#[derive(Clone, Debug)]
pub(crate) struct JsonBody<T> {
    /// The digest of the bytes.
    pub(crate) digest: Digest,
    pub(crate) value: T,
}

impl<T: DeserializeOwned> FromRequest<Gateway> for JsonBody<T> {
    type Rejection = ProblemDetails;

    async fn from_request(
        request: Request<Body>,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        let (bytes, _room) = read(request, gateway).await?;
        parse(&bytes)
    }
}

/// A JSON body that may be empty.
#[derive(Clone, Debug)]
pub(crate) struct OptionalJsonBody<T>(pub(crate) T);

impl<T: Default + DeserializeOwned> FromRequest<Gateway> for OptionalJsonBody<T> {
    type Rejection = ProblemDetails;

    async fn from_request(
        request: Request<Body>,
        gateway: &Gateway,
    ) -> Result<Self, ProblemDetails> {
        let (bytes, _room) = read(request, gateway).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        parse(&bytes).map(|given| Self(given.value))
    }
}

/// The error for an unknown turn.
pub(crate) fn no_turn(id: &str) -> ProblemDetails {
    ProblemDetails::new(
        ProblemKind::NotFound,
        format!("there is no turn `{id}` in this session"),
    )
}

async fn path_parameter(
    parts: &mut Parts,
    gateway: &Gateway,
    name: &str,
) -> Result<String, ProblemDetails> {
    let wrong = || ProblemDetails::new(ProblemKind::Invalid, "the address is not UTF-8");
    let parameters = RawPathParams::from_request_parts(parts, gateway).await;
    let parameters = parameters.map_err(|_| wrong())?;
    let mut parameters = parameters.iter();
    let found = parameters.find(|(known, _)| *known == name);
    found.map(|(_, text)| text.to_owned()).ok_or_else(wrong)
}

/// Reads a whole body of a known client, within the limits.
async fn read(
    request: Request<Body>,
    gateway: &Gateway,
) -> Result<(Bytes, BodyRoom), ProblemDetails> {
    let (mut parts, body) = request.into_parts();
    let Requester(client) = Requester::from_request_parts(&mut parts, gateway).await?;
    check_content_type(&parts.headers)?;
    Ok(body::read(gateway, &client, &parts.headers, body).await?)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), ProblemDetails> {
    let kind = headers
        .get(CONTENT_TYPE)
        .map(|kind| kind.to_str().unwrap_or("?"));
    let Some(kind) = kind else {
        return Ok(());
    };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = format!(
        "the body has to be `application/json`, not `{}`",
        shortened(kind)
    );
    Err(ProblemDetails::new(
        ProblemKind::UnsupportedMediaType,
        detail,
    ))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<JsonBody<T>, ProblemDetails> {
    // serde would read an array as the fields of an object, by position.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(ProblemDetails::field(
            "",
            "an object is expected, not an array",
        ));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value: T = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = pointer(error.path());
        let message = without_type_names(&error.into_inner().to_string());
        ProblemDetails::field(place, message)
    })?;
    reader
        .end()
        .map_err(|error| ProblemDetails::field("", error.to_string()))?;
    Ok(JsonBody {
        digest: Digest::of(bytes),
        value,
    })
}

/// A serde path as a JSON Pointer (RFC 6901).
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Unknown => {}
        }
    }
    pointer
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// The beginning of a foreign text, to quote in an error.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
