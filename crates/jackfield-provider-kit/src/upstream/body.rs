//! The body of a raw response.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::RawBody;

use crate::secret::Secret;
use crate::transport::{Incoming, TimedChunks};

/// A body as it arrives.
pub(super) struct HttpBody {
    key: Option<Secret>,
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
        Self {
            key,
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
                    self.started = true;
                    return Ok(Some(piece));
                }
                Some(Err(error)) => return Err(self.break_off(error)),
                None => {
                    self.state = BodyState::Complete;
                    return Ok(None);
                }
            }
        }
    }
}
