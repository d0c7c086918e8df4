//! The open questions as server-sent events: the oldest of them at once, and again whenever they change.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream as Chunks};
use jackfield_engine::{EngineError, ListedWait, WaitQuery};
use jackfield_gateway::{Gateway, Principal, RequestSlot};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::approvals;
use super::extract::Requester;
use super::problem::{ProblemDetails, Problems};
use super::sessions::USUAL_LIMIT;
use super::wire::approval::{ApprovalList, ApprovalView};
use crate::event_stream::event_stream;
use crate::revocation::end_when_revoked;

/// Streams the open questions: the event `approvals` has the first page of their list, at once and whenever it changes,
/// whichever process asks or answers them. Ends only with the connection.
#[utoipa::path(
    get, path = "/approvals/events", tag = "approvals", operation_id = "watch_approvals",
    responses((status = 200, description = "The questions, as they are asked and answered.", body = ApprovalList,
            content_type = "text/event-stream"), Problems)
)]
pub(crate) async fn events(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Result<Response, ProblemDetails> {
    client.check_approvals()?;
    let slot = Arc::new(gateway.acquire_slot(&client)?);
    let questions = QuestionStream::new(gateway.clone(), &client, slot);
    let response = event_stream(Body::from_stream(questions.chunks()));
    Ok(end_when_revoked(response, gateway, client))
}

pub(crate) struct QuestionStream {
    changes: watch::Receiver<u64>,
    client: Arc<Principal>,
    gateway: Gateway,
    /// Whether the questions may have changed since the last look.
    is_due: bool,
    /// What was sent last; others may have questions that this client does not see.
    last: Option<String>,
    /// What it had, which does not change while it is open: each question is read once.
    shown: Vec<ApprovalView>,
    /// When anything was sent last.
    sent: Instant,
    _slot: Arc<RequestSlot>,
}

impl QuestionStream {
    /// The questions that this client sees.
    pub(crate) fn new(gateway: Gateway, client: &Arc<Principal>, slot: Arc<RequestSlot>) -> Self {
        Self {
            // Before the first look, so that no change in between is missed.
            changes: gateway.watch_questions(),
            client: Arc::clone(client),
            gateway,
            is_due: true,
            last: None,
            shown: Vec::new(),
            sent: Instant::now(),
            _slot: slot,
        }
    }

    pub(crate) fn chunks(self) -> impl Chunks<Item = Result<Bytes, EngineError>> {
        stream::unfold(self, |mut questions| async {
            let text = questions.next().await?;
            Some((Ok(Bytes::from(text)), questions))
        })
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let keep_alive = self.gateway.config().keep_alive;
        loop {
            if self.gateway.engine().is_draining() {
                return None;
            }
            if self.is_due {
                self.is_due = false;
                // A journal that cannot be read ends the stream, and the client comes again.
                let list = self.list().await.ok()?;
                // JSON on one line: line breaks in texts are escaped.
                let data = serde_json::to_string(&list).ok()?;
                self.shown = list.approvals;
                if self.last.as_ref() != Some(&data) {
                    self.sent = Instant::now();
                    let text = format!("event: approvals\ndata: {data}\n\n");
                    self.last = Some(data);
                    return Some(text);
                }
            }
            let waited = timeout(keep_alive.min(TICK), self.changes.changed()).await;
            self.is_due = waited.is_ok();
            if !self.is_due && self.sent.elapsed() >= keep_alive {
                self.sent = Instant::now();
                return Some(": still there\n\n".to_owned());
            }
        }
    }

    /// The first page of the open questions.
    async fn list(&mut self) -> Result<ApprovalList, EngineError> {
        let query = WaitQuery {
            limit: USUAL_LIMIT,
            ..WaitQuery::default()
        };
        let page = approvals::visible(&self.gateway, &self.client, query).await?;
        let mut shown = std::mem::take(&mut self.shown);
        let is_new = |listed: &&ListedWait| !shown.iter().any(|view| view.is_of(listed));
        let new: Vec<ListedWait> = page.waits.iter().filter(is_new).cloned().collect();
        let loaded = approvals::load(&self.gateway, &new).await?;
        shown.extend(loaded.iter().map(ApprovalView::from_question));
        let of_page = page.waits.iter().filter_map(|listed| {
            let place = shown.iter().position(|view| view.is_of(listed))?;
            Some(shown.swap_remove(place))
        });
        Ok(ApprovalList {
            approvals: of_page.collect(),
            next: page.next,
        })
    }
}

/// The longest time until a stream notices the shutdown of the gateway.
const TICK: Duration = Duration::from_secs(1);
