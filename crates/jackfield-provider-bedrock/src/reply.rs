//! Decodes the events of a reply into deltas.
//!
//! A block has no start but for a call: its first piece begins it. The reason of the end comes before the usage, which
//! ends the reply.

mod blocks;

use std::sync::Arc;

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use serde_json::Value;

use self::blocks::{Fault, KnownTools, OpenBlock};
use crate::error;
use crate::frames::EXCEPTION;
use crate::profile::ModelProfile;
use crate::wire::{self, Event};

/// The state of reasoning that is shown: its signature, which is empty for models that do not sign.
pub(crate) const SIGNATURE: &str = "signature";
/// The state of reasoning that is hidden: the encrypted reasoning in base64.
pub(crate) const REDACTED: &str = "redacted_content";

/// Where Claude's own reply has the stop sequence that was met, whole and in the event that ends a stream. A path that
/// leads nowhere is ignored.
pub(crate) const STOP_PATHS: &[&str] = &["/stop_sequence", "/delta/stop_sequence"];

/// Reads one reply, event by event.
///
/// Unknown events, fields and pieces are ignored. A known event that is malformed is a [`DecodeError::Violation`].
/// After any error the decoder must not be used any more.
#[derive(Debug)]
pub struct Decoder {
    has_calls: bool,
    has_emitted: bool,
    is_done: bool,
    /// The blocks that have begun and not ended, by their indices.
    open: Vec<(u32, OpenBlock)>,
    owner: StateOwner,
    reason: Option<String>,
    /// The stop sequence that was met, if the model tells.
    stop: Option<Arc<str>>,
    tools: KnownTools,
    usage: UsageReports,
}

impl Decoder {
    /// A decoder for a reply of this owner.
    #[must_use]
    pub fn new(owner: StateOwner) -> Self {
        Self {
            has_calls: false,
            has_emitted: false,
            is_done: false,
            open: Vec::new(),
            owner,
            reason: None,
            stop: None,
            tools: KnownTools::default(),
            usage: UsageReports::default(),
        }
    }

    /// A decoder for the reply to this request: calls of text tools come as text, which is in a JSON field on the
    /// wire, and arguments with the tools' own names.
    #[must_use]
    pub fn for_request(owner: StateOwner, request: &ModelRequest, profile: &ModelProfile) -> Self {
        let mut decoder = Self::new(owner);
        let fitted = wire::NAMES.fit(request, &mut Notes::default());
        decoder.tools = KnownTools {
            offered: wire::NAMES.reply_tools(request),
            properties: profile.property_names(&fitted),
        };
        decoder
    }

    fn event(&mut self, name: &str, event: Event, out: &mut Vec<Delta>) -> Result<(), Fault> {
        match name {
            "contentBlockStart" => {
                let index = event.content_block_index.ok_or("a block has no number")?;
                if let Some(call) = event.start.and_then(|start| start.tool_use) {
                    if self.open.iter().any(|(known, _)| *known == index) {
                        return Err("a block began twice");
                    }
                    let open = OpenBlock::call(index, call, &self.owner, &self.tools, out);
                    self.open.push((index, open));
                }
            }
            "contentBlockDelta" => {
                let index = event
                    .content_block_index
                    .ok_or("a piece belongs to no block")?;
                let delta = event.delta.ok_or("a piece is missing")?;
                let place = self.open.iter().position(|(known, _)| *known == index);
                let place = match place {
                    Some(place) => place,
                    None => {
                        let Some(open) = OpenBlock::of(index, &delta, out)? else {
                            return Ok(());
                        };
                        self.open.push((index, open));
                        self.open.len() - 1
                    }
                };
                if let Some((_, open)) = self.open.get_mut(place) {
                    open.append(index, delta, out)?;
                }
            }
            "contentBlockStop" => {
                let index = event
                    .content_block_index
                    .ok_or("an end belongs to no block")?;
                // A block without any piece has never begun.
                if let Some(place) = self.open.iter().position(|(known, _)| *known == index) {
                    let (_, open) = self.open.remove(place);
                    open.end(index, &self.owner, out);
                }
            }
            "messageStop" => {
                let reason = event.stop_reason;
                self.reason = Some(reason.ok_or("the reply does not say why it ended")?);
                self.stop = stop_sequence(&event.additional_model_response_fields);
            }
            "metadata" => {
                self.close(out);
                self.report(event.usage.as_ref(), event.service_tier.as_ref());
                self.is_done = self.reason.is_some();
            }
            _ => {}
        }
        Ok(())
    }

    fn report(&mut self, usage: Option<&wire::TokenUsage>, tier: Option<&Value>) {
        if let Some(usage) = usage {
            read_usage(usage, &mut self.usage);
        }
        self.usage
            .tier(tier.and_then(|tier| tier.get("type")?.as_str()));
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        for (index, open) in std::mem::take(&mut self.open) {
            open.end(index, &self.owner, out);
        }
    }

    fn seen(&mut self, out: &[Delta]) {
        self.has_emitted |= !out.is_empty();
        self.has_calls |= out.iter().any(|delta| match delta {
            Delta::BlockStarted { start, .. } => match start {
                BlockStart::ToolCall { ran_by, .. } => *ran_by == RanBy::Engine,
                BlockStart::Refusal
                | BlockStart::Text
                | BlockStart::Thinking { .. }
                | BlockStart::Whole(_) => false,
            },
            Delta::AnnotationAdded { .. }
            | Delta::ArgumentsAppended { .. }
            | Delta::BlockEnded { .. }
            | Delta::StateSet { .. }
            | Delta::TextAppended { .. } => false,
        });
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
}

impl DecodeReply for Decoder {
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        let name = name.unwrap_or_default();
        if let Some(exception) = name.strip_prefix(EXCEPTION) {
            let body = serde_json::from_str(data).unwrap_or_default();
            let failure = error::from_body(None, exception, &body, self.phase());
            return Err(DecodeError::Failed(failure));
        }
        let mut out = Vec::new();
        if self.is_done || !EVENTS.contains(&name) {
            return Ok(out);
        }
        let event = serde_json::from_str(data)
            .map_err(|fault| self.violation(format!("broken event: {fault}")))?;
        self.event(name, event, &mut out)
            .map_err(|fault| self.violation(fault.to_owned()))?;
        self.seen(&out);
        Ok(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.usage()
    }

    fn is_complete(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        let phase = self.phase();
        let Some(reason) = self.reason.as_ref().filter(|_| self.is_done) else {
            return Err(DecodeError::Truncated { phase });
        };
        if UNUSABLE.contains(&reason.as_str()) {
            let kind = ModelFailureKind::UnusableReply;
            let message = format!("the model wrote what Bedrock cannot read ({reason})");
            return Err(DecodeError::Failed(ModelFailure::new(kind, phase, message)));
        }
        let mut end = ReplyEnd::new(finish_reason(reason, self.has_calls, self.stop));
        end.usage = self.usage.usage();
        end.notes.extend(self.usage.notes());
        Ok(end)
    }

    fn read_whole(mut self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        let reply: wire::ConverseResponse = serde_json::from_slice(body)
            .map_err(|fault| self.violation(format!("no reply: {fault}")))?;
        let mut out = Vec::new();
        let blocks = reply.output.message.content.into_iter().flatten();
        for (index, block) in (0..).zip(blocks) {
            blocks::whole(index, block, &self.owner, &self.tools, &mut out);
        }
        self.seen(&out);
        self.is_done = true;
        self.reason = Some(reply.stop_reason);
        self.stop = stop_sequence(&reply.additional_model_response_fields);
        self.report(reply.usage.as_ref(), reply.service_tier.as_ref());
        Ok((out, self.finish()?))
    }
}

/// The stop sequence in fields of the model's own reply.
fn stop_sequence(fields: &Value) -> Option<Arc<str>> {
    let found = STOP_PATHS
        .iter()
        .find_map(|path| fields.pointer(path)?.as_str());
    found.map(Arc::from)
}

/// The meaning of a `stopReason`. Only Claude tells which sequence stopped the reply.
fn finish_reason(reason: &str, has_calls: bool, stop: Option<Arc<str>>) -> FinishReason {
    match reason {
        "content_filtered" | "guardrail_intervened" => FinishReason::ContentFilter,
        "end_turn" if has_calls => FinishReason::ToolCalls,
        "end_turn" => FinishReason::Stop,
        "max_tokens" => FinishReason::Length,
        "model_context_window_exceeded" => FinishReason::ContextFull,
        "stop_sequence" => FinishReason::StopSequence(stop.unwrap_or_default()),
        "tool_use" => FinishReason::ToolCalls,
        unknown => FinishReason::Unrecognized(unknown.into()),
    }
}

/// Reads a report as totals: on the wire, the input excludes what was cached.
fn read_usage(usage: &wire::TokenUsage, reports: &mut UsageReports) {
    let cache_read = usage.cache_read_input_tokens.unwrap_or(0);
    let cache_write = usage.cache_write_input_tokens.unwrap_or(0);
    let fresh = usage.input_tokens.unwrap_or(0);
    let details = usage.cache_details.as_ref().and_then(Value::as_array);
    let details = details.into_iter().flatten();
    let long = details.filter(|detail| detail.get("ttl").is_some_and(|ttl| ttl == "1h"));
    let long = long.filter_map(|detail| detail.get("inputTokens")?.as_u64());
    let told = Usage {
        cache_read,
        cache_write,
        cache_write_long: long.fold(0, u64::saturating_add),
        input: fresh.saturating_add(cache_read).saturating_add(cache_write),
        output: usage.output_tokens.unwrap_or(0),
        ..Usage::default()
    };
    reports.add(told, None);
}

/// The events that are read.
const EVENTS: [&str; 5] = [
    "contentBlockDelta",
    "contentBlockStart",
    "contentBlockStop",
    "messageStop",
    "metadata",
];
/// Reasons of an end after which nothing of the reply can be used.
const UNUSABLE: [&str; 2] = ["malformed_model_output", "malformed_tool_use"];
