//! One line of the log for each request, when its answer has left: what was asked, and how it ended.
//! Nothing of what was said is in it.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::{Method, StatusCode};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use jackfield_domain::ids::{SessionId, TurnId};
use tracing::field::display;

/// The line of a request, while it is not written.
#[derive(Clone, Debug)]
pub(crate) struct Access(Arc<AccessLine>);

#[derive(Debug)]
struct AccessLine {
    begun: Instant,
    code: OnceLock<&'static str>,
    id: String,
    method: Method,
    path: String,
    told: OnceLock<(Option<SessionId>, TurnId)>,
}

impl Access {
    pub(crate) fn new(id: &str, method: &Method, path: &str) -> Self {
        Self(Arc::new(AccessLine {
            begun: Instant::now(),
            code: OnceLock::new(),
            id: id.to_owned(),
            method: method.clone(),
            path: path.chars().take(LONGEST_PATH).collect(),
            told: OnceLock::new(),
        }))
    }

    /// Says which turn the request is told, and in which session, where that is kept.
    pub(crate) fn tells(&self, session: Option<&SessionId>, turn: &TurnId) {
        let _once = self.0.told.set((session.cloned(), turn.clone()));
    }

    /// Says why there is no answer, or no whole one.
    pub(crate) fn fails(&self, code: &'static str) {
        let _first = self.0.code.set(code);
    }

    /// Writes the line: at once, or, where the answer comes in pieces, with the last of them.
    fn follow(self, response: Response) -> Response {
        let status = response.status();
        if let Some(RefusalCode(code)) = response.extensions().get() {
            self.fails(code);
        }
        if response.body().size_hint().exact().is_some() {
            self.write(Some(status), true);
            return response;
        }
        response.map(|body| {
            Body::new(FollowedBody {
                access: self,
                body,
                ended: false,
                status,
            })
        })
    }

    fn write(&self, status: Option<StatusCode>, whole: bool) {
        let AccessLine {
            begun,
            code,
            id,
            method,
            path,
            told,
        } = &*self.0;
        let told = told.get();
        let session = told.and_then(|(session, _)| session.as_ref()).map(display);
        let turn = told.map(|(_, turn)| display(turn));
        let (code, ms) = (code.get().map(display), millis(begun.elapsed()));
        let number = status.map(|status| status.as_u16());
        let broken = (!whole).then_some(true);
        // One macro for each level, as that is a part of the place of the line.
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    request = %id, %method, %path, status = number, ms, code, session, turn, broken,
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

/// Why a request was refused, beside its refusal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusalCode(pub(crate) &'static str);

/// A request that is not answered. Dropped so, its client went away before.
#[derive(Debug)]
pub(crate) struct UnansweredGuard(Option<Access>);

impl UnansweredGuard {
    pub(crate) const fn new(access: Option<Access>) -> Self {
        Self(access)
    }

    /// It is answered so.
    pub(crate) fn answered(mut self, response: Response) -> Response {
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

/// With a tenth of a millisecond.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

/// An answer in pieces, which is followed to its end.
struct FollowedBody {
    access: Access,
    body: Body,
    ended: bool,
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
            Poll::Ready(Some(Ok(_))) => self.ended = self.body.is_end_stream(),
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

/// What is asked every few seconds by those who watch over the process; it is of interest when it fails.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];
/// How much of a path is in the log, in characters.
const LONGEST_PATH: usize = 200;
