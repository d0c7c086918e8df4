//! The body of a reply that is passed through.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_engine::RouteCall;
use jackfield_ports::upstream::RawBody;
use tokio::time::timeout;

use super::record::SpendingDraft;
use super::reply::ReplyFilter;
use super::request_span::RequestSpan;
use super::silence;
use super::upstream_response::ResponseKeeper;
use crate::failures::from_turn_end;

/// The body of a reply that is passed through. What it used is recorded when it is dropped.
pub struct PassthroughBody {
    /// The call of the route's target that answers, if the request is one of a route.
    pub(super) call: Option<RouteCall>,
    pub(super) draft: Option<SpendingDraft>,
    /// The failure that broke the reply off, while the last bytes before it go out.
    pub(super) failed: Option<ModelFailure>,
    /// `None` for the body of an error, which is passed on as it comes.
    pub(super) filter: Option<ReplyFilter>,
    /// A piece that has arrived.
    pub(super) first: Option<Bytes>,
    pub(super) idle: Duration,
    pub(super) is_ended: bool,
    /// `None` unless the provider keeps the response.
    pub(super) keeper: Option<ResponseKeeper>,
    pub(super) raw: Box<dyn RawBody>,
    pub(super) span: Option<RequestSpan>,
}

impl fmt::Debug for PassthroughBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassthroughBody").finish_non_exhaustive()
    }
}

impl PassthroughBody {
    /// The next piece, which is not empty; `None` at the end.
    ///
    /// # Errors
    ///
    /// The provider's reply broke off. The client's reply has to break off, too.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ServeError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let failure = match self.failed.take() {
            Some(failure) => failure,
            None => match self.next_piece().await {
                Ok(piece) => return Ok(piece),
                Err(failure) => {
                    // What arrived before the failure is the client's.
                    let rest = self.filter.as_mut().map(ReplyFilter::finish);
                    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                        self.failed = Some(failure);
                        return Ok(Some(rest));
                    }
                    failure
                }
            },
        };
        let error = from_turn_end(&TurnEnd::Failed(failure));
        if let Some(span) = &mut self.span {
            span.failed(&error);
        }
        Err(error)
    }

    /// Waits for the first piece, which [`next`](Self::next) returns then.
    pub(super) async fn prefetch(&mut self) -> Result<(), ModelFailure> {
        self.first = self.next_piece().await?;
        Ok(())
    }

    /// Stores whose the response is, once its id is known.
    async fn keep_response(&mut self) {
        if let (Some(filter), Some(draft)) = (&self.filter, &mut self.draft)
            && let Some(id) = filter.response_id()
            && let Some(keeper) = self.keeper.take()
        {
            keeper.keep(id, draft).await;
        }
    }

    async fn next_piece(&mut self) -> Result<Option<Bytes>, ModelFailure> {
        while !self.is_ended {
            let piece = timeout(self.idle, self.raw.next()).await;
            let piece = piece.unwrap_or_else(|_| Err(silence(self.idle, Phase::MidReply).into()));
            let piece = match piece {
                Ok(piece) => piece,
                Err(error) => {
                    self.is_ended = true;
                    if let Some(call) = self.call.take() {
                        call.failed(&error.failure);
                    }
                    return Err(error.failure);
                }
            };
            let piece = match piece {
                Some(piece) => {
                    if let Some(draft) = &mut self.draft {
                        draft.piece(piece.len());
                    }
                    match &mut self.filter {
                        Some(filter) => filter.push(piece),
                        None => piece,
                    }
                }
                None => {
                    self.is_ended = true;
                    if let Some(call) = self.call.take() {
                        call.answered();
                    }
                    let filter = self.filter.as_mut();
                    filter.map_or_else(Bytes::new, ReplyFilter::finish)
                }
            };
            self.keep_response().await;
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }
}

impl Drop for PassthroughBody {
    fn drop(&mut self) {
        let Some(filter) = &mut self.filter else {
            return;
        };
        if !self.is_ended {
            // A body of known length is not read beyond its last byte.
            let _unsent = filter.finish();
        }
        if let Some(draft) = &mut self.draft {
            draft.usage = filter.usage();
        }
        // The client may have gone, or had all of it: the target has begun to answer in any case.
        if let Some(call) = self.call.take() {
            call.answered();
        }
    }
}
