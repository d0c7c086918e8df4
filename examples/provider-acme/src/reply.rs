//! A reply, event by event.

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_domain::block::{RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::Phase;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::usage::Usage;

use crate::error;
use crate::wire::{self, Event};

/// Reads one reply. Acme's blocks do not overlap, so at most one is open.
#[derive(Debug)]
pub struct Decoder {
    end: Option<String>,
    next: u32,
    open: Option<Open>,
    owner: StateOwner,
    told: bool,
    used: Option<wire::Used>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Open {
    Call(u32),
    Text(u32),
}

impl Decoder {
    /// A decoder of a reply by this owner: the ids of its calls are marked as its.
    pub(crate) const fn new(owner: StateOwner) -> Self {
        Self {
            end: None,
            next: 0,
            open: None,
            owner,
            told: false,
            used: None,
        }
    }

    fn text(&mut self, text: String, out: &mut Vec<Delta>) {
        let index = match self.open {
            Some(Open::Text(index)) => index,
            Some(Open::Call(_)) | None => {
                let index = self.start(BlockStart::Text, out);
                self.open = Some(Open::Text(index));
                index
            }
        };
        let text = text.into();
        out.push(Delta::TextAppended { index, text });
    }

    fn call(&mut self, call: wire::Call, out: &mut Vec<Delta>) {
        let start = BlockStart::ToolCall {
            json: true,
            name: call.tool.into(),
            ran_by: RanBy::Engine,
            upstream: Some(UpstreamId {
                id: call.id.into(),
                owner: self.owner.clone(),
            }),
        };
        let index = self.start(start, out);
        self.open = Some(Open::Call(index));
        if !call.args.is_empty() {
            let text = call.args.into();
            out.push(Delta::ArgumentsAppended { index, text });
        }
    }

    /// Begins a block, which ends the one before.
    fn start(&mut self, start: BlockStart, out: &mut Vec<Delta>) -> u32 {
        self.stop(out);
        let index = self.next;
        self.next += 1;
        out.push(Delta::BlockStarted { index, start });
        index
    }

    fn stop(&mut self, out: &mut Vec<Delta>) {
        if let Some(Open::Call(index) | Open::Text(index)) = self.open.take() {
            out.push(Delta::BlockEnded { index });
        }
    }

    const fn phase(&self) -> Phase {
        if self.told {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        }
    }

    fn violation(&self, reason: String) -> DecodeError {
        let phase = self.phase();
        DecodeError::Violation { phase, reason }
    }
}

impl DecodeReply for Decoder {
    fn push(&mut self, _name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        let mut out = Vec::new();
        if self.end.is_some() {
            return Ok(out);
        }
        let event: Event = serde_json::from_str(data)
            .map_err(|fault| self.violation(format!("broken event: {fault}")))?;
        if let Some(failure) = event.error {
            let failure = error::classify(None, &failure, self.phase());
            return Err(DecodeError::Failed(failure));
        }
        if let Some(text) = event.text {
            self.text(text, &mut out);
        }
        if let Some(call) = event.call {
            self.call(call, &mut out);
        }
        if let Some(piece) = event.args {
            let Some(Open::Call(index)) = self.open else {
                return Err(self.violation("arguments belong to no call".to_owned()));
            };
            let text = piece.into();
            out.push(Delta::ArgumentsAppended { index, text });
        }
        // Acme counts up as it goes: the last word counts.
        self.used = event.used.or(self.used);
        if event.end.is_some() {
            self.stop(&mut out);
            self.end = event.end;
        }
        self.told |= !out.is_empty();
        Ok(out)
    }

    fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let Some(end) = &self.end else {
            let phase = self.phase();
            return Err(DecodeError::Truncated { phase });
        };
        let mut reply = ReplyEnd::new(match end.as_str() {
            "calls" => FinishReason::ToolCalls,
            "done" => FinishReason::Stop,
            "limit" => FinishReason::Length,
            other => FinishReason::Unrecognized(other.into()),
        });
        reply.usage = self.used.map(|used| Usage {
            cache_read: used.cached,
            input: used.input,
            output: used.output,
            ..Usage::default()
        });
        Ok(reply)
    }

    /// Acme always streams; a document in the place of events is an error with a status of success.
    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        Err(match serde_json::from_slice::<wire::ErrorBody>(body) {
            Ok(body) => DecodeError::Failed(error::classify(None, &body.error, self.phase())),
            Err(fault) => self.violation(format!("this is no stream: {fault}")),
        })
    }
}
