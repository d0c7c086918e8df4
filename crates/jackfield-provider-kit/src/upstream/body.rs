//! The body of a raw response.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::RawBody;

use super::mask::Mask;
use crate::secret::Secret;
use crate::transport::{Incoming, TimedChunks};

/// A body as it arrives.
pub(super) struct HttpBody {
    key: Option<Secret>,
    /// Hides the key in the body of an error or a redirect, in which servers quote it.
    mask: Option<Mask>,
    /// The number of bytes that may still follow.
    left: usize,
    started: bool,
    state: BodyState,
}

enum BodyState {
    /// It broke off. The connection is closed.
    Broken(ModelFailure),
    Complete,
    Open(TimedChunks),
}

impl HttpBody {
    pub(super) fn new(incoming: Incoming, limit: usize, key: Option<Secret>) -> Self {
        let status = incoming.status();
        let mask = key.as_ref().filter(|_| !status.is_success());
        let mask = mask.and_then(Mask::new);
        Self {
            key,
            mask,
            left: limit,
            started: false,
            state: BodyState::Open(incoming.into_chunks()),
        }
    }

    /// Ends the body with this error.
    fn break_off(&mut self, mut error: ModelError) -> ModelError {
        let failure = &mut error.failure;
        if self.started {
            failure.phase = Phase::MidReply;
        }
        if let Some(key) = &self.key {
            failure.message = key.redact(&failure.message);
        }
        self.state = BodyState::Broken(failure.clone());
        error
    }
}

#[async_trait]
impl RawBody for HttpBody {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        loop {
            let chunks = match &mut self.state {
                BodyState::Broken(failure) => return Err(failure.clone().into()),
                BodyState::Complete => return Ok(None),
                BodyState::Open(chunks) => chunks,
            };
            match chunks.next().await {
                Some(Ok(piece)) if piece.is_empty() => {}
                Some(Ok(piece)) if piece.len() > self.left => {
                    let error = chunks.too_long();
                    return Err(self.break_off(error));
                }
                Some(Ok(piece)) => {
                    self.left -= piece.len();
                    let piece = match &mut self.mask {
                        Some(mask) => mask.push(&piece),
                        None => piece,
                    };
                    if !piece.is_empty() {
                        self.started = true;
                        return Ok(Some(piece));
                    }
                }
                Some(Err(error)) => {
                    let error = self.break_off(error);
                    let rest = self.mask.take().map(Mask::finish);
                    return match rest.filter(|rest| !rest.is_empty()) {
                        Some(rest) => Ok(Some(rest)),
                        None => Err(error),
                    };
                }
                None => {
                    self.state = BodyState::Complete;
                    let rest = self.mask.take().map(Mask::finish);
                    return Ok(rest.filter(|rest| !rest.is_empty()));
                }
            }
        }
    }
}
