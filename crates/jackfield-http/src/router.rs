//! The routes of the gateway, and the rendering of refusals.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use jackfield_dialect_kit::serve::{ServeDialect, ServeError, ServeErrorKind};

use crate::access::RefusalCode;
use crate::gateway::Gateway;
use crate::{api, counting, dialects, flow, listing, retry_headers, stored};

/// The router with all paths of the gateway.
pub fn router(gateway: &Gateway) -> Router {
    Router::new()
        .merge(api::router())
        // Claude clients probe for a server before their first request.
        .route("/api/hello", get(hello))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(counting::answer))
        .route("/v1/models", get(listing::all))
        .route("/v1/models/{*id}", get(listing::one))
        .route("/v1/responses", post(responses))
        .route(
            "/v1/responses/{id}",
            get(stored::show).delete(stored::withdraw),
        )
        .route("/v1/responses/{id}/cancel", post(stored::cancel))
        .route("/v1/responses/{id}/input_items", get(stored::input_items))
        .fallback(no_such_address)
        .method_not_allowed_fallback(wrong_method)
        .with_state(gateway.clone())
}

async fn chat(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    let dialect = if gateway.shared.config.serve.extensions {
        &dialects::CHAT_EXTENDED
    } else {
        &dialects::CHAT
    };
    flow::answer(&gateway, dialect, request).await
}

async fn messages(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    flow::answer(&gateway, &dialects::CLAUDE, request).await
}

async fn responses(
    State(gateway): State<Gateway>,
    request: Request<Body>,
) -> Result<Response, HttpRefusal> {
    flow::answer(&gateway, &dialects::RESPONSES, request).await
}

async fn hello() -> Response {
    json("{}")
}

async fn no_such_address(uri: Uri) -> HttpRefusal {
    let message = format!("there is nothing at {}", uri.path());
    ServeError::new(ServeErrorKind::NoSuchAddress, message).into()
}

async fn wrong_method(method: Method, uri: Uri) -> HttpRefusal {
    let message = format!("{method} is not for {}", uri.path());
    HttpRefusal {
        error: ServeError::new(ServeErrorKind::NoSuchAddress, message),
        status: Some(StatusCode::METHOD_NOT_ALLOWED),
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

/// A response with a JSON body.
pub(crate) fn json(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// A refusal. The outermost layer writes it in the dialect of its path.
#[derive(Clone, Debug)]
pub(crate) struct HttpRefusal {
    error: ServeError,
    /// Overrides the status of the dialect.
    status: Option<StatusCode>,
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
    /// Writes the refusal attached to a response, if there is one.
    pub(crate) fn write(
        mut response: Response,
        dialect: &dyn ServeDialect,
        request_id: &str,
    ) -> Response {
        match response.extensions_mut().remove::<Self>() {
            None => response,
            Some(refusal) => refusal.into_dialect_response(response, dialect, request_id),
        }
    }

    /// Writes the refusal as a problem document, as `/api/v1` does.
    pub(crate) fn write_problem(mut response: Response) -> Response {
        match response.extensions_mut().remove::<Self>() {
            None => response,
            Some(refusal) => api::refusal_response(refusal.error),
        }
    }

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
            headers.insert(flow::PROVIDER_REQUEST, id);
        }
        if own == StatusCode::REQUEST_TIMEOUT || own == StatusCode::PAYLOAD_TOO_LARGE {
            // The rest of the request body is not read.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
