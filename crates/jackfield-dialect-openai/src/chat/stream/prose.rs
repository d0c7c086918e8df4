//! Assembles all content of a reply other than calls: text, refusals and reasoning, one block after another.

use jackfield_domain::block::{Annotation, Content, OpaqueBlock};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::{Map, Value, json};

use super::inline::{Inline, Piece};
use super::read::{Fault, Held, field, text};
use crate::chat::DIALECT;
use crate::chat::reply::state;
use crate::profile::InlineThinking;

/// The open block, and data kept until the end.
#[derive(Debug, Default)]
pub(super) struct Prose {
    audio: Map<String, Value>,
    /// Blanks before the first text, dropped if no text follows.
    blanks: String,
    details: Vec<Value>,
    inline: Inline,
    open: Option<(u32, Kind)>,
    /// The field in which reasoning arrives.
    reasoning: Option<&'static str>,
    /// Whether the model refused.
    pub(super) refuses: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Refusal,
    Text,
    Thinking,
}

/// The destination of deltas.
#[derive(Debug)]
pub(super) struct Into<'a> {
    pub(super) held: &'a mut Held,
    pub(super) next: &'a mut u32,
    pub(super) out: &'a mut Vec<Delta>,
    pub(super) owner: &'a StateOwner,
}

impl Prose {
    /// Reads a delta, or the message of a reply that is not streamed.
    pub(super) fn push(
        &mut self,
        said: &Value,
        whole: bool,
        to: &mut Into<'_>,
    ) -> Result<(), Fault> {
        self.reasoning(said, whole, to)?;
        match field(said, "content") {
            None => {}
            Some(Value::String(text)) => self.text(text, to)?,
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, to)?;
                }
            }
            Some(_) => return Err("the content is neither text nor parts".into()),
        }
        if let Some(Value::Array(annotations)) = field(said, "annotations") {
            for json in annotations {
                self.annotation(json, to);
            }
        }
        if let Some(words) = text(said, "refusal") {
            self.refuses = true;
            self.say(Kind::Refusal, words, to);
        }
        if let Some(Value::Object(audio)) = field(said, "audio") {
            self.audio(audio, to.held)?;
        }
        Ok(())
    }

    fn reasoning(&mut self, said: &Value, whole: bool, to: &mut Into<'_>) -> Result<(), Fault> {
        let details = field(said, state::REASONING_DETAILS).and_then(Value::as_array);
        for part in details.into_iter().flatten() {
            to.held.count(part.to_string().len())?;
            self.detail(part, whole);
        }
        let found = state::REASONING_FIELDS
            .iter()
            .find_map(|field| Some((*field, text(said, field)?)));
        let (name, words) = match (found, details) {
            (Some((name, words)), _) => (name, words.to_owned()),
            // The text of the parts may repeat that of another field.
            (None, Some(parts))
                if self
                    .reasoning
                    .is_none_or(|field| field == state::REASONING_DETAILS) =>
            {
                (state::REASONING_DETAILS, state::details_text(parts))
            }
            (None, _) => return Ok(()),
        };
        if words.is_empty() {
            return Ok(());
        }
        let field = *self.reasoning.get_or_insert(name);
        let begins = !matches!(self.open, Some((_, Kind::Thinking)));
        self.say(Kind::Thinking, &words, to);
        if begins {
            self.set_field(field, to);
        }
        Ok(())
    }

    /// Records the field of the open block's reasoning as state.
    fn set_field(&self, field: &str, to: &mut Into<'_>) {
        if let Some((index, _)) = self.open {
            let json = json!(field);
            let state = state::of(to.owner, state::REASONING_FIELD, json, StateScope::Block);
            to.out.push(Delta::StateSet { index, state });
        }
    }

    /// Adds a part of the reasoning; in a stream the same part arrives in fragments.
    fn detail(&mut self, part: &Value, whole: bool) {
        let same = |one: &Value| {
            part.get("index").is_some()
                && ["index", "type"]
                    .iter()
                    .all(|key| one.get(key) == part.get(key))
        };
        let last = self.details.last_mut();
        let (Some(Value::Object(known)), Value::Object(more)) =
            (last.filter(|last| !whole && same(last)), part)
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
    pub(super) fn find_thinking(&mut self, way: InlineThinking) {
        self.inline = Inline::new(way);
    }

    pub(super) fn text(&mut self, words: &str, to: &mut Into<'_>) -> Result<(), Fault> {
        if self.inline.is_over() {
            return self.words(words, to);
        }
        to.held.count(words.len())?;
        for piece in self.inline.push(words) {
            self.piece(piece, to)?;
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, to: &mut Into<'_>) -> Result<(), Fault> {
        match piece {
            Piece::Text(words) => self.words(&words, to)?,
            // Blanks before the first text of the reasoning are dropped.
            Piece::Thinking(words) if matches!(self.open, Some((_, Kind::Thinking))) => {
                self.say(Kind::Thinking, &words, to);
            }
            Piece::Thinking(words) => self.say(Kind::Thinking, words.trim_start(), to),
        }
        Ok(())
    }

    /// Ends the text: another block follows, or nothing.
    pub(super) fn end_text(&mut self, to: &mut Into<'_>) -> Result<(), Fault> {
        match self.inline.end() {
            Some(piece) => self.piece(piece, to),
            None => Ok(()),
        }
    }

    fn words(&mut self, words: &str, to: &mut Into<'_>) -> Result<(), Fault> {
        if matches!(self.open, Some((_, Kind::Text))) {
            self.say(Kind::Text, words, to);
            return Ok(());
        }
        to.held.count(words.len())?;
        self.blanks.push_str(words);
        if !words.trim().is_empty() {
            let words = std::mem::take(&mut self.blanks);
            self.say(Kind::Text, &words, to);
        }
        Ok(())
    }

    /// A content part, as Mistral sends.
    fn part(&mut self, part: &Value, to: &mut Into<'_>) -> Result<(), Fault> {
        if let Value::String(words) = part {
            return self.text(words, to);
        }
        match text(part, "type") {
            Some("text") => self.text(text(part, "text").unwrap_or_default(), to)?,
            Some("refusal") => {
                if let Some(words) = text(part, "refusal") {
                    self.refuses = true;
                    self.say(Kind::Refusal, words, to);
                }
            }
            Some("thinking") => {
                let words = match field(part, "thinking") {
                    Some(Value::String(words)) => words.clone(),
                    Some(Value::Array(parts)) => state::details_text(parts),
                    Some(_) | None => String::new(),
                };
                self.say(Kind::Thinking, &words, to);
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    fn annotation(&self, json: &Value, to: &mut Into<'_>) {
        if let Some((index, Kind::Text)) = self.open
            && json.is_object()
        {
            let annotation = annotation(json);
            to.out.push(Delta::AnnotationAdded { index, annotation });
        }
    }

    fn audio(&mut self, more: &Map<String, Value>, held: &mut Held) -> Result<(), Fault> {
        for (key, value) in more {
            match (self.audio.get_mut(key), value) {
                (_, Value::Null) => {}
                (Some(Value::String(known)), Value::String(more))
                    if matches!(key.as_str(), "data" | "transcript") =>
                {
                    held.count(more.len())?;
                    known.push_str(more);
                }
                _ => {
                    held.count(key.len() + value.to_string().len())?;
                    self.audio.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, kind: Kind, words: &str, to: &mut Into<'_>) {
        if words.is_empty() {
            return;
        }
        let index = match self.open {
            Some((index, open)) if open == kind => index,
            Some(_) | None => {
                self.end(to.out);
                let index = *to.next;
                *to.next += 1;
                let start = match kind {
                    Kind::Refusal => BlockStart::Refusal,
                    Kind::Text => BlockStart::Text,
                    Kind::Thinking => BlockStart::Thinking { redacted: false },
                };
                to.out.push(Delta::BlockStarted { index, start });
                self.open = Some((index, kind));
                index
            }
        };
        let text = words.into();
        to.out.push(Delta::TextAppended { index, text });
    }

    /// Ends the open block, as another one starts.
    pub(super) fn end(&mut self, out: &mut Vec<Delta>) {
        self.blanks.clear();
        if let Some((index, _)) = self.open.take() {
            out.push(Delta::BlockEnded { index });
        }
    }

    /// Ends everything; audio is emitted as one block.
    pub(super) fn settle(&mut self, to: &mut Into<'_>) {
        self.end(to.out);
        if self.audio.is_empty() {
            return;
        }
        let audio = Value::Object(std::mem::take(&mut self.audio));
        let index = *to.next;
        *to.next += 1;
        let start = BlockStart::Whole(Content::Opaque(OpaqueBlock {
            fallback: text(&audio, "transcript").map(std::convert::Into::into),
            kind: state::AUDIO.into(),
            json: audio,
            owner: to.owner.clone(),
        }));
        to.out.push(Delta::BlockStarted { index, start });
        to.out.push(Delta::BlockEnded { index });
    }

    /// The state that belongs to the whole reply.
    pub(super) fn into_states(self, owner: &StateOwner) -> Vec<OpaqueState> {
        if self.details.is_empty() {
            return Vec::new();
        }
        let json = Value::Array(self.details);
        vec![state::of(
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
        title: text(source, "title").map(std::convert::Into::into),
        url: text(source, "url").map(std::convert::Into::into),
        json: json.clone(),
    }
}
