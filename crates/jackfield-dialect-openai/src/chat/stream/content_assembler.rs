//! Assembles all content of a reply other than calls: text, refusals and reasoning, one block after another.

use jackfield_domain::block::{Annotation, Content, OpaqueBlock};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::{Map, Value, json};

use super::inline_thinking::{InlineThinkingParser, Piece};
use super::json_fields::{BufferedBytes, Fault, field, text};
use super::repeated_prefill::RepeatedPrefill;
use crate::chat::DIALECT;
use crate::chat::reply::state;
use crate::profile::InlineThinking;

/// The open block, and data kept until the end.
#[derive(Debug, Default)]
pub(super) struct ContentAssembler {
    audio: Map<String, Value>,
    /// Blanks before the first text, dropped if no text follows.
    leading_blanks: String,
    details: Vec<Value>,
    inline: InlineThinkingParser,
    open_block: Option<(u32, Kind)>,
    /// The field in which reasoning arrives.
    reasoning_field: Option<&'static str>,
    prefill: RepeatedPrefill,
    pub(super) has_refusal: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Refusal,
    Text,
    Thinking,
}

#[derive(Debug)]
pub(super) struct DeltaEmitter<'a> {
    pub(super) buffered: &'a mut BufferedBytes,
    pub(super) next_index: &'a mut u32,
    pub(super) deltas: &'a mut Vec<Delta>,
    pub(super) owner: &'a StateOwner,
}

impl ContentAssembler {
    /// Reads a delta, or the message of a reply that is not streamed.
    pub(super) fn push(
        &mut self,
        message: &Value,
        is_whole: bool,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        self.push_reasoning(message, is_whole, emitter)?;
        match field(message, "content") {
            None => {}
            Some(Value::String(text)) => self.push_text(text, emitter)?,
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.push_part(part, emitter)?;
                }
            }
            Some(_) => return Err("the content is neither text nor parts".into()),
        }
        if let Some(Value::Array(annotations)) = field(message, "annotations") {
            for json in annotations {
                self.push_annotation(json, emitter);
            }
        }
        if let Some(words) = text(message, "refusal") {
            self.has_refusal = true;
            self.append(Kind::Refusal, words, emitter);
        }
        if let Some(Value::Object(audio)) = field(message, "audio") {
            self.push_audio(audio, emitter.buffered)?;
        }
        Ok(())
    }

    fn push_reasoning(
        &mut self,
        message: &Value,
        is_whole: bool,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        let details = field(message, state::REASONING_DETAILS).and_then(Value::as_array);
        for part in details.into_iter().flatten() {
            emitter.buffered.add(part.to_string().len())?;
            self.push_detail(part, is_whole);
        }
        let found = state::REASONING_FIELDS
            .iter()
            .find_map(|field| Some((*field, text(message, field)?)));
        let (name, words) = match (found, details) {
            (Some((name, words)), _) => (name, words.to_owned()),
            // The text of the parts may repeat that of another field.
            (None, Some(parts))
                if self
                    .reasoning_field
                    .is_none_or(|field| field == state::REASONING_DETAILS) =>
            {
                (state::REASONING_DETAILS, state::details_text(parts))
            }
            (None, _) => return Ok(()),
        };
        if words.is_empty() {
            return Ok(());
        }
        let field = *self.reasoning_field.get_or_insert(name);
        let begins = !matches!(self.open_block, Some((_, Kind::Thinking)));
        self.append(Kind::Thinking, &words, emitter);
        if begins {
            self.emit_reasoning_field(field, emitter);
        }
        Ok(())
    }

    /// Records the field of the open block's reasoning as state.
    fn emit_reasoning_field(&self, field: &str, emitter: &mut DeltaEmitter<'_>) {
        if let Some((index, _)) = self.open_block {
            let json = json!(field);
            let state = state::new_state(
                emitter.owner,
                state::REASONING_FIELD,
                json,
                StateScope::Block,
            );
            emitter.deltas.push(Delta::StateSet { index, state });
        }
    }

    /// Adds a part of the reasoning; in a stream the same part arrives in fragments.
    fn push_detail(&mut self, part: &Value, is_whole: bool) {
        let is_same_part = |one: &Value| {
            part.get("index").is_some()
                && ["index", "type"]
                    .iter()
                    .all(|key| one.get(key) == part.get(key))
        };
        let last = self.details.last_mut();
        let (Some(Value::Object(known)), Value::Object(more)) =
            (last.filter(|last| !is_whole && is_same_part(last)), part)
        else {
            self.details.push(part.clone());
            return;
        };
        for (key, value) in more {
            match (known.get_mut(key), value) {
                (Some(Value::String(known)), Value::String(more))
                    if matches!(key.as_str(), "data" | "summary" | "text") =>
                {
                    known.push_str(more);
                }
                (Some(_), Value::Null) => {}
                _ => {
                    known.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// Enables the detection of reasoning within the text.
    pub(super) fn detect_inline_thinking(&mut self, mode: InlineThinking) {
        self.inline = InlineThinkingParser::new(mode);
    }

    /// Leaves out these words at the beginning of the text.
    pub(super) fn leave_out(&mut self, repeated: String) {
        self.prefill = RepeatedPrefill::new(repeated);
    }

    pub(super) fn push_text(
        &mut self,
        words: &str,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        if self.inline.is_done() {
            return self.push_visible_text(words, emitter);
        }
        emitter.buffered.add(words.len())?;
        for piece in self.inline.push(words) {
            self.push_piece(piece, emitter)?;
        }
        Ok(())
    }

    fn push_piece(&mut self, piece: Piece, emitter: &mut DeltaEmitter<'_>) -> Result<(), Fault> {
        match piece {
            Piece::Text(words) => self.push_visible_text(&words, emitter)?,
            // Blanks before the first text of the reasoning are dropped.
            Piece::Thinking(words) if matches!(self.open_block, Some((_, Kind::Thinking))) => {
                self.append(Kind::Thinking, &words, emitter);
            }
            Piece::Thinking(words) => self.append(Kind::Thinking, words.trim_start(), emitter),
        }
        Ok(())
    }

    /// Ends the text: another block follows, or nothing.
    pub(super) fn end_text(&mut self, emitter: &mut DeltaEmitter<'_>) -> Result<(), Fault> {
        if let Some(piece) = self.inline.end() {
            self.push_piece(piece, emitter)?;
        }
        let held = self.prefill.end();
        self.push_new_text(&held, emitter)
    }

    fn push_visible_text(
        &mut self,
        words: &str,
        emitter: &mut DeltaEmitter<'_>,
    ) -> Result<(), Fault> {
        let words = self.prefill.push(words);
        self.push_new_text(&words, emitter)
    }

    fn push_new_text(&mut self, words: &str, emitter: &mut DeltaEmitter<'_>) -> Result<(), Fault> {
        if matches!(self.open_block, Some((_, Kind::Text))) {
            self.append(Kind::Text, words, emitter);
            return Ok(());
        }
        emitter.buffered.add(words.len())?;
        self.leading_blanks.push_str(words);
        if !words.trim().is_empty() {
            let words = std::mem::take(&mut self.leading_blanks);
            self.append(Kind::Text, &words, emitter);
        }
        Ok(())
    }

    /// A content part, as Mistral sends.
    fn push_part(&mut self, part: &Value, emitter: &mut DeltaEmitter<'_>) -> Result<(), Fault> {
        if let Value::String(words) = part {
            return self.push_text(words, emitter);
        }
        match text(part, "type") {
            Some("text") => self.push_text(text(part, "text").unwrap_or_default(), emitter)?,
            Some("refusal") => {
                if let Some(words) = text(part, "refusal") {
                    self.has_refusal = true;
                    self.append(Kind::Refusal, words, emitter);
                }
            }
            Some("thinking") => {
                let words = match field(part, "thinking") {
                    Some(Value::String(words)) => words.clone(),
                    Some(Value::Array(parts)) => state::details_text(parts),
                    Some(_) | None => String::new(),
                };
                self.append(Kind::Thinking, &words, emitter);
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    fn push_annotation(&self, json: &Value, emitter: &mut DeltaEmitter<'_>) {
        if let Some((index, Kind::Text)) = self.open_block
            && json.is_object()
        {
            let annotation = annotation(json);
            emitter
                .deltas
                .push(Delta::AnnotationAdded { index, annotation });
        }
    }

    fn push_audio(
        &mut self,
        more: &Map<String, Value>,
        buffered: &mut BufferedBytes,
    ) -> Result<(), Fault> {
        for (key, value) in more {
            match (self.audio.get_mut(key), value) {
                (_, Value::Null) => {}
                (Some(Value::String(known)), Value::String(more))
                    if matches!(key.as_str(), "data" | "transcript") =>
                {
                    buffered.add(more.len())?;
                    known.push_str(more);
                }
                _ => {
                    buffered.add(key.len() + value.to_string().len())?;
                    self.audio.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(())
    }

    fn append(&mut self, kind: Kind, words: &str, emitter: &mut DeltaEmitter<'_>) {
        if words.is_empty() {
            return;
        }
        let index = match self.open_block {
            Some((index, open)) if open == kind => index,
            Some(_) | None => {
                self.end_block(emitter.deltas);
                let index = *emitter.next_index;
                *emitter.next_index += 1;
                let start = match kind {
                    Kind::Refusal => BlockStart::Refusal,
                    Kind::Text => BlockStart::Text,
                    Kind::Thinking => BlockStart::Thinking { redacted: false },
                };
                emitter.deltas.push(Delta::BlockStarted { index, start });
                self.open_block = Some((index, kind));
                index
            }
        };
        let text = words.into();
        emitter.deltas.push(Delta::TextAppended { index, text });
    }

    /// Ends the open block, as another one starts.
    pub(super) fn end_block(&mut self, out: &mut Vec<Delta>) {
        self.leading_blanks.clear();
        if let Some((index, _)) = self.open_block.take() {
            out.push(Delta::BlockEnded { index });
        }
    }

    /// Ends everything; audio is emitted as one block.
    pub(super) fn finish(&mut self, emitter: &mut DeltaEmitter<'_>) {
        self.end_block(emitter.deltas);
        if self.audio.is_empty() {
            return;
        }
        let audio = Value::Object(std::mem::take(&mut self.audio));
        let index = *emitter.next_index;
        *emitter.next_index += 1;
        let start = BlockStart::Whole(Content::Opaque(OpaqueBlock {
            fallback: text(&audio, "transcript").map(Into::into),
            kind: state::AUDIO.into(),
            json: audio,
            owner: emitter.owner.clone(),
        }));
        emitter.deltas.push(Delta::BlockStarted { index, start });
        emitter.deltas.push(Delta::BlockEnded { index });
    }

    /// The state that belongs to the whole reply.
    pub(super) fn into_states(self, owner: &StateOwner) -> Vec<OpaqueState> {
        if self.details.is_empty() {
            return Vec::new();
        }
        let json = Value::Array(self.details);
        vec![state::new_state(
            owner,
            state::REASONING_DETAILS,
            json,
            StateScope::Reply,
        )]
    }
}

/// A citation in the vendor's form.
pub(crate) fn annotation(json: &Value) -> Annotation {
    let source = json.get("url_citation").unwrap_or(json);
    Annotation {
        dialect: DIALECT.into(),
        title: text(source, "title").map(Into::into),
        url: text(source, "url").map(Into::into),
        json: json.clone(),
    }
}
