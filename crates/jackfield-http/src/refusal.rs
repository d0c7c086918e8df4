//! Refusals, and how they are written.

use axum::body::Body;
use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode, Uri};
use jackfield_dialect_kit::serve::{ServeDialect, ServeError, ServeErrorKind};

use crate::access::RefusalCode;
use crate::ids::RequestId;
use crate::{api, dialects, mcp_refusal, retry_headers};

/// How the refusal of a request is written.
pub(crate) struct RefusalForm {
    dialect: &'static dyn ServeDialect,
    is_api: bool,
    is_mcp: bool,
    request_id: String,
}

impl RefusalForm {
    /// The form for this request.
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let path = request.uri().path();
        let id = request.extensions().get::<RequestId>();
        Self {
            dialect: dialects::for_request(path, request.headers()),
            is_api: api::owns_path(path),
            is_mcp: mcp_refusal::owns_path(path),
            request_id: id.map(|id| id.0.clone()).unwrap_or_default(),
        }
    }

    /// Writes the refusal attached to a response, if there is one.
    pub(crate) fn write(&self, mut response: Response) -> Response {
        match response.extensions_mut().remove::<HttpRefusal>() {
            None => response,
            Some(refusal) if self.is_api => api::refusal_response(refusal.error),
            Some(refusal) if self.is_mcp => mcp_refusal::response(refusal.error, refusal.status),
            Some(refusal) => {
                refusal.into_dialect_response(response, self.dialect, &self.request_id)
            }
        }
    }
}

/// The rest of a path as text.
#[derive(Clone, Debug)]
pub(crate) struct PathTail(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathTail {
    type Rejection = HttpRefusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpRefusal> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => {
                let message = format!("there is nothing at {}: it is no text", parts.uri.path());
                Err(ServeError::new(ServeErrorKind::NoSuchAddress, message).into())
            }
        }
    }
}

pub(crate) fn json(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// The refusal of an address that there is not.
pub(crate) fn no_such_address(uri: &Uri) -> HttpRefusal {
    let message = format!("there is nothing at {}", uri.path());
    ServeError::new(ServeErrorKind::NoSuchAddress, message).into()
}

/// A refusal, which [`RefusalForm`] writes in the dialect of its path.
#[derive(Clone, Debug)]
pub(crate) struct HttpRefusal {
    pub(crate) error: ServeError,
    /// Overrides the status of the dialect.
    pub(crate) status: Option<StatusCode>,
}

impl From<ServeError> for HttpRefusal {
    fn from(error: ServeError) -> Self {
        Self {
            error,
            status: None,
        }
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response.extensions_mut().insert(self);
        response
    }
}

impl HttpRefusal {
    fn into_dialect_response(
        self,
        mut response: Response,
        dialect: &dyn ServeDialect,
        request_id: &str,
    ) -> Response {
        let Self { error, status } = self;
        let refused = dialect.error(&error, request_id);
        let own = StatusCode::from_u16(refused.status);
        let own = own.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *response.status_mut() = status.unwrap_or(own);
        *response.body_mut() = Body::from(refused.body);
        let headers = response.headers_mut();
        // The length of the replaced body.
        headers.remove(CONTENT_LENGTH);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
            .extensions_mut()
            .insert(RefusalCode(error.kind.code()));
        let headers = response.headers_mut();
        if let Some(wait) = refused.retry_after {
            retry_headers::insert(headers, wait);
        }
        if let Some(should) = retry_headers::should_retry(error.kind.may_pass_later(), own) {
            headers.insert("x-should-retry", HeaderValue::from_static(should));
        }
        if let ServeErrorKind::Model(failure) = &error.kind
            && let Some(id) = &failure.request_id
            && let Ok(id) = HeaderValue::try_from(&**id)
        {
            headers.insert(PROVIDER_REQUEST, id);
        }
        if own == StatusCode::REQUEST_TIMEOUT || own == StatusCode::PAYLOAD_TOO_LARGE {
            // The rest of the request body is not read.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The header with the provider's id of the model request that failed or that produced the reply.
pub(crate) const PROVIDER_REQUEST: &str = "x-jackfield-provider-request-id";
