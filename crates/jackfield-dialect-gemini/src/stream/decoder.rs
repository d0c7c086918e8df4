//! Decodes the fragments of a reply into deltas.
//!
//! A fragment has the form of a whole reply, and no number: texts continue the open block, and calls come whole. No
//! event ends the stream; the fragment with the finish reason is usually the last one.

use std::sync::Arc;

use jackfield_dialect_kit::decode::{DecodeError, DecodeReply};
use jackfield_dialect_kit::failure;
use jackfield_dialect_kit::outgoing::names::ReplyTools;
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::block::{OpaqueBlock, RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::usage::Usage;
use serde_json::{Map, Value};

use crate::reply::{Ending, ending, read_usage, state};
use crate::request::NAMES;
use crate::request::medium;
use crate::{error, media, wire};

/// Reads one reply, fragment by fragment.
///
/// Unknown fields are ignored. A fragment that is malformed is a [`DecodeError::Violation`]. After any error the
/// decoder must not be used any more.
#[derive(Debug)]
pub struct Decoder {
    /// Why the vendor did not let the model see the prompt.
    blocked: Option<String>,
    finish_message: Option<String>,
    finish_reason: Option<String>,
    has_calls: bool,
    has_emitted: bool,
    id: Option<String>,
    model: Option<String>,
    next_index: u32,
    open: Option<OpenText>,
    owner: StateOwner,
    /// Fields beside the content that the client of a turn may see.
    sources: Map<String, Value>,
    tools: ReplyTools,
    usage: UsageReports,
}

/// A block of text that the next fragment may continue.
#[derive(Clone, Copy, Debug)]
struct OpenText {
    index: u32,
    is_thought: bool,
}

impl Decoder {
    /// A decoder for a reply of this owner; opaque state in the reply gets this owner.
    #[must_use]
    pub fn new(owner: StateOwner) -> Self {
        Self {
            blocked: None,
            finish_message: None,
            finish_reason: None,
            has_calls: false,
            has_emitted: false,
            id: None,
            model: None,
            next_index: 0,
            open: None,
            owner,
            sources: Map::new(),
            tools: ReplyTools::default(),
            usage: UsageReports::default(),
        }
    }

    /// A decoder for the reply to this request.
    ///
    /// Calls get the tools' own names back, and calls of text tools come as text, which is in a JSON field on the wire.
    #[must_use]
    pub fn for_request(owner: StateOwner, request: &ModelRequest) -> Self {
        let mut decoder = Self::new(owner);
        decoder.tools = NAMES.reply_tools(request);
        decoder
    }

    fn fragment(&mut self, fragment: wire::Reply, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if let Some(detail) = &fragment.error {
            let failure = error::from_detail(None, detail, self.phase(out));
            return Err(DecodeError::Failed(failure));
        }
        let feedback = fragment.prompt_feedback;
        let reason = feedback
            .as_ref()
            .and_then(|feedback| feedback.get("blockReason"));
        let reason = reason.and_then(Value::as_str).map(str::to_owned);
        self.blocked = self.blocked.take().or(reason);
        if let Some(usage) = &fragment.usage_metadata {
            read_usage(usage, &mut self.usage);
        }
        self.model = fragment.model_version.or_else(|| self.model.take());
        self.id = fragment.response_id.or_else(|| self.id.take());
        let mut candidates = fragment.candidates.into_iter().flatten();
        // There is one candidate, unless the request asked for more, which Jackfield's never does.
        let Some(candidate) = candidates.find(|one| one.index.unwrap_or(0) == 0) else {
            return Ok(());
        };
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.part(part, out);
        }
        for (key, json) in candidate.extra {
            if SOURCES.contains(&key.as_str()) && !json.is_null() {
                self.sources.insert(key, json);
            }
        }
        self.finish_message = candidate
            .finish_message
            .or_else(|| self.finish_message.take());
        if let Some(reason) = candidate.finish_reason {
            if let Ending::Failed(kind) = ending(&reason, self.has_calls) {
                let words = self.finish_message.as_deref().unwrap_or_default();
                let message = failure::message(words, &[&reason]);
                let failure = ModelFailure::new(kind, self.phase(out), message);
                return Err(DecodeError::Failed(failure));
            }
            self.finish_reason = Some(reason);
        }
        Ok(())
    }

    fn part(&mut self, part: wire::Part, out: &mut Vec<Delta>) {
        if let Some(kind) = state::unknown_kind(&part) {
            let json = serde_json::to_value(&part).unwrap_or_default();
            let block = OpaqueBlock {
                fallback: None,
                json,
                kind: kind.into(),
                owner: self.owner.clone(),
            };
            let start = BlockStart::Whole(jackfield_domain::block::Content::Opaque(block));
            self.whole(start, None, out);
            return;
        }
        let signature = part.thought_signature.filter(|text| !text.is_empty());
        if let Some(call) = part.function_call {
            self.call(call, signature, out);
            return;
        }
        let media_part = wire::Part {
            inline_data: part.inline_data,
            file_data: part.file_data,
            ..wire::Part::default()
        };
        if let Some((kind, source)) = media::source(&media_part, &self.owner) {
            self.whole(BlockStart::Whole(medium(kind, source)), signature, out);
            return;
        }
        let is_thought = part.thought == Some(true);
        let text = part.text.unwrap_or_default();
        match signature {
            // A signed part is returned as it came, and is never joined to another one.
            Some(signature) => {
                self.close(out);
                let index = self.begin_text(is_thought, Some(&signature), out);
                append(index, text, out);
                out.push(Delta::BlockEnded { index });
            }
            None if text.is_empty() => {}
            None => {
                let known = self.open.filter(|open| open.is_thought == is_thought);
                let index = match known {
                    Some(open) => open.index,
                    None => {
                        self.close(out);
                        let index = self.begin_text(is_thought, None, out);
                        self.open = Some(OpenText { index, is_thought });
                        index
                    }
                };
                append(index, text, out);
            }
        }
    }

    /// Begins a block of text or thoughts. Thoughts without a signature are marked as this model's own.
    fn begin_text(
        &mut self,
        is_thought: bool,
        signature: Option<&str>,
        out: &mut Vec<Delta>,
    ) -> u32 {
        let start = if is_thought {
            BlockStart::Thinking { redacted: false }
        } else {
            BlockStart::Text
        };
        let index = self.begin(start, out);
        let signature = signature.or_else(|| is_thought.then_some(""));
        self.sign(index, signature, out);
        index
    }

    fn call(&mut self, call: wire::FunctionCall, signature: Option<String>, out: &mut Vec<Delta>) {
        self.close(out);
        self.has_calls = true;
        let text = call
            .args
            .as_ref()
            .filter(|_| self.tools.is_text(&call.name));
        let text = text.and_then(|args| args.get(TEXT_FIELD)?.as_str());
        // The API has no id for each call; the domain then assigns one.
        let id = call.id.filter(|id| !id.is_empty());
        let start = BlockStart::ToolCall {
            json: text.is_none(),
            name: self.tools.own(&call.name),
            ran_by: RanBy::Engine,
            upstream: id.map(|id| UpstreamId {
                id: id.into(),
                owner: self.owner.clone(),
            }),
        };
        let arguments = match (text, &call.args) {
            (Some(text), _) => text.to_owned(),
            (None, None | Some(Value::Null)) => String::new(),
            (None, Some(args)) => args.to_string(),
        };
        let index = self.begin(start, out);
        self.sign(index, signature.as_deref(), out);
        if !arguments.is_empty() {
            let text = arguments.into();
            out.push(Delta::ArgumentsAppended { index, text });
        }
        out.push(Delta::BlockEnded { index });
    }

    fn whole(&mut self, start: BlockStart, signature: Option<String>, out: &mut Vec<Delta>) {
        self.close(out);
        let index = self.begin(start, out);
        self.sign(index, signature.as_deref(), out);
        out.push(Delta::BlockEnded { index });
    }

    fn begin(&mut self, start: BlockStart, out: &mut Vec<Delta>) -> u32 {
        let index = self.next_index;
        self.next_index = self.next_index.saturating_add(1);
        out.push(Delta::BlockStarted { index, start });
        index
    }

    fn sign(&self, index: u32, signature: Option<&str>, out: &mut Vec<Delta>) {
        if let Some(signature) = signature {
            let state = state::signed(&self.owner, signature);
            out.push(Delta::StateSet { index, state });
        }
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        if let Some(OpenText { index, .. }) = self.open.take() {
            out.push(Delta::BlockEnded { index });
        }
    }

    const fn phase(&self, out: &[Delta]) -> Phase {
        if self.has_emitted || !out.is_empty() {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        }
    }

    fn violation(&self, reason: String) -> DecodeError {
        DecodeError::Violation {
            phase: self.phase(&[]),
            reason,
        }
    }
}

impl DecodeReply for Decoder {
    fn push(&mut self, _name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        let mut out = Vec::new();
        let fragments = fragments(data.as_bytes())
            .map_err(|fault| self.violation(format!("broken event: {fault}")))?;
        for fragment in fragments {
            self.fragment(fragment, &mut out)?;
        }
        self.has_emitted |= !out.is_empty();
        Ok(out)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage.usage()
    }

    /// Never: nothing says that no fragment follows.
    fn is_complete(&self) -> bool {
        false
    }

    /// Some servers write a finish reason into every fragment, so it ends no block.
    fn rest(&mut self) -> Result<Vec<Delta>, DecodeError> {
        let mut out = Vec::new();
        if self.finish_reason.is_some() {
            self.close(&mut out);
        }
        Ok(out)
    }

    fn finish(mut self) -> Result<ReplyEnd, DecodeError> {
        let reason = match &self.finish_reason {
            Some(reason) => match ending(reason, self.has_calls) {
                Ending::Finished(reason) => reason,
                Ending::Failed(_) => return Err(self.violation("the reply failed".to_owned())),
            },
            None => {
                let phase = self.phase(&[]);
                let Some(reason) = &self.blocked else {
                    return Err(DecodeError::Truncated { phase });
                };
                // A blocked prompt has no candidate.
                let kind = ModelFailureKind::ContentFilter;
                let message = failure::message("the prompt was blocked", &[reason]);
                let failure = ModelFailure::new(kind, phase, message);
                return Err(DecodeError::Failed(failure));
            }
        };
        let mut end = ReplyEnd::new(reason);
        let named = |text: Option<String>| text.filter(|text| !text.is_empty()).map(Arc::from);
        end.model = named(self.model);
        end.upstream = named(self.id);
        end.usage = self.usage.usage();
        end.notes.extend(self.usage.notes());
        if let Some(words) = self.finish_message.filter(|words| !words.is_empty()) {
            self.sources
                .insert("finishMessage".to_owned(), words.into());
        }
        if !self.sources.is_empty() {
            end.opaque.push(OpaqueState {
                kind: state::CANDIDATE.into(),
                json: Value::Object(self.sources),
                owner: self.owner,
                scope: StateScope::Reply,
            });
        }
        Ok(end)
    }

    /// One document, or a list of fragments, as the vendor streams without `alt=sse`.
    fn read_whole(mut self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        let fragments = fragments(body)
            .map_err(|fault| self.violation(format!("this is not a reply: {fault}")))?;
        let mut out = Vec::new();
        for fragment in fragments {
            self.fragment(fragment, &mut out)?;
        }
        self.close(&mut out);
        self.has_emitted = !out.is_empty();
        Ok((out, self.finish()?))
    }
}

fn fragments(body: &[u8]) -> Result<Vec<wire::Reply>, serde_json::Error> {
    if body.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(body);
    }
    serde_json::from_slice(body).map(|one| vec![one])
}

fn append(index: u32, text: String, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        let text = text.into();
        out.push(Delta::TextAppended { index, text });
    }
}

/// The fields of a candidate that say where the answer comes from.
const SOURCES: [&str; 3] = [
    "citationMetadata",
    "groundingMetadata",
    "urlContextMetadata",
];
