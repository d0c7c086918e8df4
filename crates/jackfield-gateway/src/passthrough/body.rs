//! The body of a reply that is passed through.

use std::fmt;

use bytes::{Bytes, BytesMut};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_engine::RouteCall;
use jackfield_ports::upstream::RawBody;

use super::batch::BatchRequest;
use super::record::SpendingDraft;
use super::reply::ReplyFilter;
use super::request_span::RequestSpan;
use super::routed;
use super::upstream_response::ResponseKeeper;
use super::waiting::Waiting;
use crate::failures::from_turn_end;

/// The body of a reply that is passed through. What it used is recorded when it is dropped.
pub struct PassthroughBody {
    /// What reads the reply to a request about batches.
    pub(super) batch: Option<Box<BatchRequest>>,
    /// The call of the route's target that answers, if the request is one of a route.
    pub(super) call: Option<RouteCall>,
    pub(super) draft: Option<SpendingDraft>,
    /// The failure that broke the reply off, while the last bytes before it go out.
    pub(super) failed: Option<ModelFailure>,
    /// `None` for the body of an error, which is passed on as it comes.
    pub(super) filter: Option<ReplyFilter>,
    /// A piece that has arrived.
    pub(super) first: Option<Bytes>,
    pub(super) is_ended: bool,
    /// `None` unless the provider keeps the response.
    pub(super) keeper: Option<ResponseKeeper>,
    pub(super) raw: Box<dyn RawBody>,
    pub(super) span: Option<RequestSpan>,
    pub(super) waiting: Waiting,
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
                    let rest = self.filter.as_mut().map(|filter| {
                        // The client cannot know that the gateway waited for too long.
                        let mut last = if failure.kind == ModelFailureKind::Timeout {
                            filter.last_words(&from_turn_end(&TurnEnd::Failed(failure.clone())))
                        } else {
                            Bytes::new()
                        };
                        // What arrived before the failure is the client's.
                        if last.is_empty() {
                            last = filter.finish();
                        }
                        last
                    });
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

    /// Waits for the first bytes, or for the first piece of the reply. [`next`](Self::next) returns then what has come.
    ///
    /// # Errors
    ///
    /// It does not come in time, or the reply ends without, as by an error of the provider.
    pub(super) async fn prefetch(&mut self, for_piece: bool) -> Result<(), ModelFailure> {
        let mut first = BytesMut::new();
        loop {
            let Some(bytes) = self.next_piece().await? else {
                if self.waiting.is_begun() {
                    break;
                }
                let why = "the provider ended its reply before it began";
                return Err(unusable(why));
            };
            if !self.waiting.is_begun()
                && let Some((language, error)) = self.filter.as_ref().and_then(ReplyFilter::error)
            {
                return Err(routed::error_event(language, error));
            }
            first.extend_from_slice(&bytes);
            if self.waiting.is_begun() || !for_piece {
                break;
            }
            if first.len() > MAX_HELD {
                return Err(unusable("the provider says too much before its reply"));
            }
        }
        self.first = (!first.is_empty()).then(|| first.freeze());
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
            let piece = self.waiting.bounded(self.raw.next()).await;
            let piece = piece.and_then(|piece| piece.map_err(|error| error.failure));
            let piece = match piece {
                Ok(piece) => piece,
                Err(failure) => {
                    self.is_ended = true;
                    if let Some(call) = self.call.take() {
                        call.failed(&failure);
                    }
                    return Err(failure);
                }
            };
            let piece = match piece {
                Some(piece) => {
                    if let Some(draft) = &mut self.draft {
                        draft.piece(piece.len());
                    }
                    if let Some(batch) = self.batch.take_if(|batch| batch.push(&piece)) {
                        batch.finish().await;
                    }
                    let piece = match &mut self.filter {
                        Some(filter) => filter.push(piece),
                        None => piece,
                    };
                    let filter = self.filter.as_ref();
                    self.waiting
                        .heard(filter.is_none_or(ReplyFilter::has_piece));
                    piece
                }
                None => {
                    self.is_ended = true;
                    if let Some(call) = self.call.take() {
                        call.answered();
                    }
                    if let Some(batch) = self.batch.take() {
                        batch.finish().await;
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
            draft.used(filter.usage());
        }
        // The client may have gone, or had all of it: the target has begun to answer in any case.
        if let Some(call) = self.call.take() {
            call.answered();
        }
    }
}

fn unusable(why: &str) -> ModelFailure {
    let kind = ModelFailureKind::UnusableReply;
    ModelFailure::new(kind, Phase::BeforeFirstDelta, why)
}

/// How much is held back while there are only signs of life, in bytes.
const MAX_HELD: usize = 1 << 20;
