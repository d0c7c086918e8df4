//! A reply, event by event.

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::Phase;
use jackfield_domain::reply::{FinishReason, ReplyEnd};

use crate::error;
use crate::wire::{ErrorBody, Event};

/// Reads one reply.
#[derive(Debug, Default)]
pub struct Decoder {
    done: Option<String>,
    has_begun: bool,
}

impl Decoder {
    const fn phase(&self) -> Phase {
        if self.has_begun {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        }
    }
}

impl DecodeReply for Decoder {
    fn push(&mut self, _name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        let mut deltas = Vec::new();
        let event: Event = serde_json::from_str(data).map_err(|fault| DecodeError::Violation {
            phase: self.phase(),
            reason: format!("broken event: {fault}"),
        })?;
        // To do: calls, usage, and an error within the stream.
        let index = 0;
        if let Some(text) = event.text {
            if !self.has_begun {
                let start = BlockStart::Text;
                deltas.push(Delta::BlockStarted { index, start });
                self.has_begun = true;
            }
            let text = text.into();
            deltas.push(Delta::TextAppended { index, text });
        }
        if event.done.is_some() && self.has_begun {
            deltas.push(Delta::BlockEnded { index });
        }
        self.done = event.done.or(self.done.take());
        Ok(deltas)
    }

    fn is_complete(&self) -> bool {
        self.done.is_some()
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let phase = self.phase();
        let Some(done) = self.done else {
            return Err(DecodeError::Truncated { phase });
        };
        Ok(ReplyEnd::new(match done.as_str() {
            "stop" => FinishReason::Stop,
            // To do: the vendor's other reasons.
            other => FinishReason::Unrecognized(other.into()),
        }))
    }

    /// A document in the place of events is an error. To do: or a whole reply, if the vendor sends those.
    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        let phase = self.phase();
        Err(match serde_json::from_slice::<ErrorBody>(body) {
            Ok(body) => DecodeError::Failed(error::classify(None, &body.error, phase)),
            Err(fault) => DecodeError::Violation {
                phase,
                reason: format!("this is no stream: {fault}"),
            },
        })
    }
}
