//! The access log, with one line per request, and the metrics of requests. Both come after the response was sent, with
//! the path and the outcome, and without conversation text.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::MatchedPath;
use axum::response::Response;
use http::header::CONTENT_LENGTH;
use http::{Method, StatusCode};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_gateway::{EndedRequest, GatewayConfig, GatewayMetrics};
use tracing::field::display;

/// The outcome of a request, until it is logged and counted.
#[derive(Clone, Debug)]
pub(crate) struct Access(Arc<AccessLine>);

#[derive(Debug)]
struct AccessLine {
    started: Instant,
    code: OnceLock<&'static str>,
    id: String,
    is_logged: bool,
    method: Method,
    metrics: Option<Arc<dyn GatewayMetrics>>,
    path: String,
    /// Whether the request was passed through.
    passthrough: OnceLock<()>,
    /// The template of the path.
    route: OnceLock<MatchedPath>,
    shown_turn: OnceLock<(Option<SessionId>, TurnId)>,
}

impl Access {
    /// The outcome of a request that begins now; `None` if it is neither logged nor counted.
    pub(crate) fn new(
        config: &GatewayConfig,
        id: &str,
        method: &Method,
        path: &str,
    ) -> Option<Self> {
        let (is_logged, metrics) = (config.access_log, config.metrics.clone());
        (is_logged || metrics.is_some()).then(|| {
            Self(Arc::new(AccessLine {
                started: Instant::now(),
                code: OnceLock::new(),
                id: id.to_owned(),
                is_logged,
                method: method.clone(),
                metrics,
                path: path.chars().take(MAX_PATH).collect(),
                passthrough: OnceLock::new(),
                route: OnceLock::new(),
                shown_turn: OnceLock::new(),
            }))
        })
    }

    /// Records the template of the path.
    pub(crate) fn record_route(&self, route: &MatchedPath) {
        let _once = self.0.route.set(route.clone());
    }

    /// Records the turn that the response shows, and its session if the turn is kept.
    pub(crate) fn record_turn(&self, session: Option<&SessionId>, turn: &TurnId) {
        let _once = self.0.shown_turn.set((session.cloned(), turn.clone()));
    }

    /// Records that the request was passed through.
    pub(crate) fn record_passthrough(&self) {
        let _once = self.0.passthrough.set(());
    }

    /// Records the error code of a missing or incomplete response. The first code wins.
    pub(crate) fn record_error(&self, code: &'static str) {
        let _first = self.0.code.set(code);
    }

    /// Logs and counts: immediately, or with the last chunk of a streamed body.
    fn follow(self, response: Response) -> Response {
        let status = response.status();
        if let Some(RefusalCode(code)) = response.extensions().get() {
            self.record_error(code);
        }
        if response.body().size_hint().exact().is_some() {
            self.write(Some(status), true);
            return response;
        }
        let length = response.headers().get(CONTENT_LENGTH);
        let left = length.and_then(|length| length.to_str().ok()?.parse().ok());
        response.map(|body| {
            Body::new(FollowedBody {
                access: self,
                body,
                ended: false,
                left,
                status,
            })
        })
    }

    fn write(&self, status: Option<StatusCode>, whole: bool) {
        let AccessLine {
            started: begun,
            code,
            id,
            is_logged,
            method,
            metrics,
            path,
            passthrough,
            route,
            shown_turn,
        } = &*self.0;
        let took = begun.elapsed();
        let number = status.map(|status| status.as_u16());
        if let Some(metrics) = metrics {
            let code = code.get().copied();
            metrics.request_ended(&EndedRequest {
                error: code.or_else(|| (!whole).then_some("client_disconnected")),
                method: method.as_str(),
                route: route.get().map_or("", MatchedPath::as_str),
                status: number,
                took,
            });
        }
        if !is_logged {
            return;
        }
        let shown_turn = shown_turn.get();
        let session = shown_turn
            .and_then(|(session, _)| session.as_ref())
            .map(display);
        let turn = shown_turn.map(|(_, turn)| display(turn));
        let (code, ms) = (code.get().map(display), millis(took));
        let broken = (!whole).then_some(true);
        let passthrough = passthrough.get().map(|()| true);
        // One macro arm per level, because the level is part of tracing's static callsite metadata.
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    request = %id, %method, %path, status = number, ms, code, session, turn, passthrough, broken,
                    "answered"
                )
            };
        }
        if status.is_some_and(|status| status.is_server_error()) {
            line!(warn);
        } else if status == Some(StatusCode::OK) && PROBES.contains(&path.as_str()) {
            line!(debug);
        } else {
            line!(info);
        }
    }
}

/// The error code of a refusal, attached to the response as an extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusalCode(pub(crate) &'static str);

/// Guards a request that has no response yet. If it is dropped, the client disconnected first.
#[derive(Debug)]
pub(crate) struct UnansweredGuard(Option<Access>);

impl UnansweredGuard {
    pub(crate) const fn new(access: Option<Access>) -> Self {
        Self(access)
    }

    /// Disarms the guard and follows this response.
    pub(crate) fn finish(mut self, response: Response) -> Response {
        match self.0.take() {
            Some(access) => access.follow(response),
            None => response,
        }
    }
}

impl Drop for UnansweredGuard {
    fn drop(&mut self) {
        if let Some(access) = &self.0 {
            access.write(None, false);
        }
    }
}

/// Milliseconds, rounded to a tenth.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

/// A streamed body that is followed to its end.
struct FollowedBody {
    access: Access,
    body: Body,
    ended: bool,
    /// How many bytes are still to come, if that is known: the connection does not ask for more after the last one.
    left: Option<u64>,
    status: StatusCode,
}

impl HttpBody for FollowedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(None) => self.ended = true,
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
                self.left = self.left.map(|left| left.saturating_sub(bytes));
                self.ended = self.left == Some(0) || self.body.is_end_stream();
            }
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for FollowedBody {
    fn drop(&mut self) {
        self.access.write(Some(self.status), self.ended);
    }
}

/// Paths that health checks poll every few seconds. Only their failures are logged at the usual level.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];
/// The maximum length of a logged path, in characters.
const MAX_PATH: usize = 200;
