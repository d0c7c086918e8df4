//! Decodes the events of a streamed reply into deltas (Claude Messages API, 2026-10-21, streaming).

use std::sync::Arc;

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use serde_json::{Map, Value};

use super::block::{self, OpenBlock, RequestTools};
use crate::reply::{finish_reason, read_usage, state};
use crate::wire;
use crate::{error, request};

/// Reads one streamed reply, event by event.
///
/// Unknown events, fields and fragments are ignored, and so is `ping`. A known event that is malformed, or out of
/// order, is a [`DecodeError::Violation`]. After any error the decoder must not be used any more.
#[derive(Debug)]
pub struct Decoder {
    end: PartialEnd,
    open_blocks: Vec<(u32, OpenBlock)>,
    owner: StateOwner,
    stage: Stage,
    has_emitted: bool,
    tools: RequestTools,
    usage: UsageReports,
    /// The reports about the usage, as one.
    wire_usage: wire::Usage,
}

/// The known parts of the reply's end.
#[derive(Debug, Default)]
struct PartialEnd {
    id: Option<String>,
    model: Option<String>,
    stop_details: Option<Value>,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Waiting,
    Running,
    Stopped,
}

impl Decoder {
    /// A decoder for a reply of this owner; opaque state in the reply gets this owner.
    #[must_use]
    pub fn new(owner: StateOwner) -> Self {
        Self {
            end: PartialEnd::default(),
            open_blocks: Vec::new(),
            owner,
            stage: Stage::Waiting,
            has_emitted: false,
            tools: RequestTools::default(),
            usage: UsageReports::default(),
            wire_usage: wire::Usage::default(),
        }
    }

    /// A decoder for the reply to this request, which was sent as this body.
    ///
    /// Calls of its text tools are returned as text, which Claude puts into a JSON field, and renamed properties in
    /// arguments get the tools' own names back.
    #[must_use]
    pub fn for_request(owner: StateOwner, request: &ModelRequest, body: &wire::Request) -> Self {
        let mut decoder = Self::new(owner);
        decoder.tools.names = request::names(body.tools.as_deref().unwrap_or_default());
        decoder.tools.offered = request::NAMES.reply_tools(request);
        decoder
    }

    /// Reads a whole reply, with the same result as a stream of it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if a block is malformed, or the stop reason is missing.
    pub fn decode_message(
        mut self,
        message: &wire::Message,
    ) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        let mut out = Vec::new();
        for (index, block) in (0..).zip(&message.content) {
            let json = serde_json::to_value(block);
            let Ok(Value::Object(fields)) = json else {
                return Err(self.violation("a block is no object".to_owned()));
            };
            self.start_block(index, fields, &mut out)
                .and_then(|()| self.end_block(index, &mut out))
                .map_err(|fault| self.fault(fault))?;
        }
        self.stage = Stage::Stopped;
        self.has_emitted = !out.is_empty();
        self.end = PartialEnd {
            id: Some(message.id.clone()),
            model: Some(message.model.clone()),
            stop_details: message.stop_details.clone(),
            stop_reason: message.stop_reason.clone(),
            stop_sequence: message.stop_sequence.clone(),
        };
        self.update_usage(message.usage.as_ref());
        Ok((out, self.finish()?))
    }

    fn handle(
        &mut self,
        event: wire::IncomingEvent<'_>,
        data: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        match (&*event.kind, self.stage) {
            ("error", _) => {
                let error = event.error.unwrap_or_default();
                Err(Fault::Failed(error::from_detail(&error, self.phase())))
            }
            ("message_start", Stage::Waiting) => {
                let message = event.message.unwrap_or_default();
                self.stage = Stage::Running;
                self.end.id = message.id;
                self.end.model = message.model;
                self.update_usage(message.usage.as_ref());
                Ok(())
            }
            ("content_block_delta", Stage::Running) => {
                let index = event.index.ok_or("a piece belongs to no block")?;
                let delta = event.delta.ok_or("a piece is missing")?;
                let owner = &self.owner;
                let open = self
                    .open_blocks
                    .iter_mut()
                    .rev()
                    .find(|(known, _)| *known == index);
                let (_, open) = open.ok_or("a piece came for a block that is not open")?;
                Ok(open.append(index, delta, data, owner, out)?)
            }
            ("content_block_start", Stage::Running) => {
                let index = event.index.ok_or("a block has no number")?;
                let fields = event.content_block.ok_or("a block is missing")?;
                self.start_block(index, fields, out)
            }
            ("content_block_stop", Stage::Running) => {
                let index = event.index.ok_or("an end belongs to no block")?;
                self.end_block(index, out)
            }
            ("message_delta", Stage::Running) => {
                if let Some(delta) = event.delta {
                    let end = &mut self.end;
                    keep_latest(&mut end.stop_reason, delta.stop_reason);
                    keep_latest(&mut end.stop_sequence, delta.stop_sequence);
                    keep_latest(&mut end.stop_details, delta.stop_details);
                }
                self.update_usage(event.usage.as_ref());
                Ok(())
            }
            ("message_stop", Stage::Running) => {
                if !self.open_blocks.is_empty() {
                    return Err("the reply ended inside a block".into());
                }
                if self.end.stop_reason.is_none() {
                    return Err("the reply does not say why it ended".into());
                }
                self.stage = Stage::Stopped;
                Ok(())
            }
            ("message_start", _) => Err("the reply began twice".into()),
            (known, _) if EVENTS.contains(&known) => Err("the reply has not begun".into()),
            (_, _) => Ok(()),
        }
    }

    fn start_block(
        &mut self,
        index: u32,
        fields: Map<String, Value>,
        out: &mut Vec<Delta>,
    ) -> Result<(), Fault> {
        if self.open_blocks.iter().any(|(known, _)| *known == index) {
            return Err("a block began twice".into());
        }
        let open = block::start(index, fields, &self.owner, &self.tools, out)?;
        self.open_blocks.push((index, open));
        Ok(())
    }

    fn end_block(&mut self, index: u32, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let place = self
            .open_blocks
            .iter()
            .position(|(known, _)| *known == index);
        let place = place.ok_or("a block ended that is not open")?;
        let (_, open) = self.open_blocks.swap_remove(place);
        open.end(index, &self.owner, out);
        Ok(())
    }

    fn update_usage(&mut self, usage: Option<&wire::Usage>) {
        if let Some(usage) = usage {
            read_usage(usage, &mut self.wire_usage, &mut self.usage);
        }
    }

    const fn phase(&self) -> Phase {
        if self.has_emitted {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        }
    }

    fn violation(&self, reason: String) -> DecodeError {
        DecodeError::Violation {
            phase: self.phase(),
            reason,
        }
    }

    fn fault(&self, fault: Fault) -> DecodeError {
        match fault {
            Fault::Broken(reason) => self.violation(reason.to_owned()),
            Fault::Failed(failure) => DecodeError::Failed(failure),
        }
    }
}

impl DecodeReply for Decoder {
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        if self.stage == Stage::Stopped {
            return Ok(Vec::new());
        }
        let mut event = match serde_json::from_str::<wire::IncomingEvent<'_>>(data) {
            Ok(event) => event,
            Err(_) if is_foreign(name, data) => return Ok(Vec::new()),
            Err(fault) => return Err(self.violation(format!("broken event: {fault}"))),
        };
        if event.kind.is_empty() {
            // Some servers send only an error.
            let named = name.filter(|name| *name != UNNAMED);
            let fallback = event.error.as_ref().map_or("", |_| "error");
            event.kind = named.unwrap_or(fallback).into();
        }
        let mut out = Vec::new();
        self.handle(event, data, &mut out)
            .map_err(|fault| self.fault(fault))?;
        self.has_emitted |= !out.is_empty();
        Ok(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.usage()
    }

    fn is_complete(&self) -> bool {
        self.stage == Stage::Stopped
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        if self.stage != Stage::Stopped {
            return Err(DecodeError::Truncated {
                phase: self.phase(),
            });
        }
        let Some(reason) = &self.end.stop_reason else {
            return Err(self.violation("the reply does not say why it ended".to_owned()));
        };
        let mut end = ReplyEnd::new(finish_reason(reason, self.end.stop_sequence.as_deref()));
        let named = |text: Option<String>| text.filter(|text| !text.is_empty()).map(Arc::from);
        end.model = named(self.end.model);
        end.upstream = named(self.end.id);
        end.usage = self.usage.usage();
        end.notes.extend(self.usage.notes());
        end.opaque
            .extend(self.end.stop_details.map(|json| OpaqueState {
                kind: state::STOP_DETAILS.into(),
                json,
                owner: self.owner,
                scope: StateScope::Reply,
            }));
        Ok(end)
    }

    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        // Some servers send errors with a success status.
        if let Ok(error) = serde_json::from_slice::<wire::ErrorBody>(body)
            && matches!(error.kind.as_str(), "" | "error")
        {
            let phase = Phase::BeforeFirstDelta;
            return Err(DecodeError::Failed(error::classify(
                500,
                |_| None,
                body,
                phase,
            )));
        }
        let message: wire::Message = serde_json::from_slice(body)
            .map_err(|fault| self.violation(format!("this is not a message: {fault}")))?;
        self.decode_message(&message)
    }
}

/// Replaces the known value unless the new one is missing.
fn keep_latest<T>(current: &mut Option<T>, update: Option<T>) {
    if update.is_some() {
        *current = update;
    }
}

/// Why an event cannot be read.
#[derive(Debug)]
enum Fault {
    Broken(&'static str),
    Failed(ModelFailure),
}

impl From<&'static str> for Fault {
    fn from(reason: &'static str) -> Self {
        Self::Broken(reason)
    }
}

/// The name of an event without a name.
const UNNAMED: &str = "message";

/// The events that are read.
const EVENTS: [&str; 7] = [
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "error",
    "message_delta",
    "message_start",
    "message_stop",
];

/// Whether an event of unexpected form is of an unknown type, which may have any form.
fn is_foreign(name: Option<&str>, data: &str) -> bool {
    let Ok(event) = serde_json::from_str::<wire::Kind>(data) else {
        // The data of an unknown event need not even be JSON.
        return name.is_some_and(|name| name != UNNAMED && !EVENTS.contains(&name));
    };
    let kind = event.kind.as_deref().or(name).unwrap_or_default();
    if kind != "content_block_delta" {
        return !EVENTS.contains(&kind);
    }
    // A fragment of an unknown kind may have any contents.
    let delta = event.delta.as_ref().and_then(|delta| delta.get("type"));
    let known = delta.and_then(Value::as_str).is_none_or(block::is_known);
    !known && event.index.is_some_and(|index| index.is_u64())
}
