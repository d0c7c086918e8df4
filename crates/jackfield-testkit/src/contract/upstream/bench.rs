//! The test bench of the clauses: a server, the upstream that connects to it, and requests.

use std::error::Error as _;
use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jackfield_domain::failure::ModelFailure;
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawBody, RawReply, RawRequest, Upstream as _};

use super::UpstreamHarness;
use crate::server::{Response, TIME_LIMIT, TestServer};

/// The key that every upstream is configured with.
pub(super) const KEY: &str = "sk-contract-5ecret-0123456789";

/// A body of a client, with everything that a program that reads and writes JSON changes.
pub(super) const BODY: &str =
    "{ \"model\":\"m\",  \"z\" : 1e3,\"a\":[1.0,-0],\r\n\"z\":\"\\u00e9\\/\\ud83c\\udf28 é\" }\n";

/// A server, and an upstream that connects to it.
pub(super) struct Bench<'a, H: UpstreamHarness> {
    pub(super) harness: &'a H,
    pub(super) server: TestServer,
    pub(super) upstream: H::Upstream,
}

impl<'a, H: UpstreamHarness> Bench<'a, H> {
    pub(super) async fn new(harness: &'a H) -> Self {
        let server = TestServer::start().await;
        Self {
            harness,
            upstream: harness.connect(&server.base_url(), KEY),
            server,
        }
    }

    /// A request of the first endpoint.
    #[track_caller]
    pub(super) fn request(&self) -> RawRequest {
        let Some((path, _)) = self.harness.endpoints().first() else {
            panic!("the harness has no endpoints");
        };
        RawRequest {
            credential: None,
            body: Bytes::from_static(BODY.as_bytes()),
            headers: headers(&[("content-type", "application/json")]),
            method: Method::POST,
            path: path.replace('*', "x-1"),
            query: None,
        }
    }

    /// Sends the usual request, which gets this response.
    pub(super) async fn call(&self, response: Response) -> Result<RawReply, ModelError> {
        self.server.answer(response);
        self.send(self.request()).await
    }

    /// The reply to the usual request, which gets this response.
    pub(super) async fn reply(&self, response: Response) -> RawReply {
        reply(self.call(response).await)
    }

    /// The body of the reply to the usual request, as far as it comes, and how it ends.
    pub(super) async fn body(&self, response: Response) -> (Bytes, Result<(), ModelError>) {
        read(&mut *self.reply(response).await.body).await
    }

    /// Sends a request, and waits for its reply.
    pub(super) async fn send(&self, request: RawRequest) -> Result<RawReply, ModelError> {
        within_time(self.upstream.send(request)).await
    }

    /// The headers with which these of a client arrive, after a response without a body.
    pub(super) async fn arrived(&self, headers: HeaderMap) -> Vec<(String, String)> {
        self.server.answer(Response::json(200, "{}"));
        let mut request = self.request();
        request.headers = headers;
        let mut reply = reply(self.send(request).await);
        let _body = read(&mut *reply.body).await;
        let nth = self.server.requests().len() - 1;
        self.server.request(nth).await.headers
    }
}

/// The reply, which must have come.
#[track_caller]
pub(super) fn reply(sent: Result<RawReply, ModelError>) -> RawReply {
    match sent {
        Ok(reply) => reply,
        Err(error) => panic!("a reply was expected, not: {}", error_text(&error)),
    }
}

/// The failure, which must have come.
#[track_caller]
pub(super) fn failure<T>(sent: Result<T, ModelError>) -> ModelFailure {
    let Err(error) = sent else {
        panic!("a failure was expected");
    };
    let failure = error.failure;
    assert!(
        !failure.message.is_empty() && !failure.message.contains('\n'),
        "a message is one line: {:?}",
        failure.message
    );
    failure
}

/// A body as far as it comes, and how it ends.
pub(super) async fn read(body: &mut dyn RawBody) -> (Bytes, Result<(), ModelError>) {
    let mut whole = BytesMut::new();
    loop {
        match within_time(body.next()).await {
            Ok(Some(piece)) => {
                assert!(!piece.is_empty(), "a piece is empty");
                whole.extend_from_slice(&piece);
            }
            Ok(None) => return (whole.freeze(), Ok(())),
            Err(error) => return (whole.freeze(), Err(error)),
        }
    }
}

/// Headers of a client, in order.
pub(super) fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        let (Ok(name), Ok(value)) = (name, value) else {
            panic!("not a header: {lines:?}");
        };
        headers.append(name, value);
    }
    headers
}

/// The values of a header, in order.
pub(super) fn values<'a>(headers: &'a [(String, String)], name: &str) -> Vec<&'a str> {
    let found = headers.iter().filter(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).collect()
}

/// The `Display` and `Debug` output of an error and its causes.
pub(super) fn error_text(error: &ModelError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a `String` cannot fail.
        let _written = write!(text, " {error} {error:?}").is_ok();
        cause = error.source();
    }
    text
}

/// Awaits an answer with a time limit, so that an upstream that never answers fails here instead of hanging.
async fn within_time<T>(answer: impl Future<Output = T>) -> T {
    match tokio::time::timeout(TIME_LIMIT, answer).await {
        Ok(answer) => answer,
        Err(_) => panic!("the upstream said nothing for {} s", TIME_LIMIT.as_secs()),
    }
}
