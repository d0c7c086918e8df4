//! Assembles the calls of a reply from fragments, by the rules of many servers.

use std::collections::HashSet;
use std::sync::Arc;

use jackfield_domain::block::{RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::{StateOwner, StateScope};
use serde_json::Value;

use super::arguments::Arguments;
use super::json_fields::{BufferedBytes, Fault, field, number, text};
use crate::chat::reply::state;
use jackfield_dialect_kit::outgoing::names::ReplyTools;
use jackfield_dialect_kit::outgoing::tools::TEXT_FIELD;

/// The most calls of one reply.
const MAX_CALLS: usize = 1024;

/// The longest id that is kept; servers that need their ids back do not create longer ones.
const MAX_ID: usize = 256;

/// The calls of the reply so far.
#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    calls: Vec<Call>,
    offered: ReplyTools,
    /// How many of the first calls have ended.
    ended_count: usize,
    /// How many calls were started in the output: always the first ones.
    started_count: usize,
    used_ids: HashSet<Arc<str>>,
}

#[derive(Debug)]
struct Call {
    arguments: Arguments,
    /// The index of its block, once started.
    block: Option<u32>,
    /// Whether no more fragments may follow.
    ended: bool,
    extra: Option<Value>,
    /// Whether it is a text tool's call that arrives as text.
    is_text: bool,
    id: Option<Arc<str>>,
    index: Option<i64>,
    name: String,
    /// Whether its name was repeated after its arguments were complete.
    renamed: bool,
    /// The text of a text tool's call.
    text_input: String,
}

#[derive(Debug)]
struct CallFragment<'a> {
    arguments: std::borrow::Cow<'a, str>,
    extra: Option<&'a Value>,
    is_text: bool,
    id: Option<&'a str>,
    index: Option<i64>,
    name: Option<&'a str>,
}

/// The index for a `function_call`, which has none of its own.
const LEGACY: i64 = i64::MIN;

impl CallAssembler {
    pub(super) fn new(offered: ReplyTools) -> Self {
        Self {
            offered,
            ..Self::default()
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a fragment of a call; in a reply that is not streamed, it is the whole call and has a position.
    pub(super) fn push(
        &mut self,
        json: &Value,
        place: Option<usize>,
        buffered: &mut BufferedBytes,
    ) -> Result<(), Fault> {
        let mut piece = CallFragment::read(json)?;
        if let Some(place) = place {
            piece.index = i64::try_from(place).ok();
        }
        self.add_fragment(&piece, buffered)
    }

    /// Adds a fragment of a `function_call`.
    pub(super) fn push_legacy(
        &mut self,
        json: &Value,
        buffered: &mut BufferedBytes,
    ) -> Result<(), Fault> {
        let mut piece = CallFragment::read(json)?;
        piece.index = Some(LEGACY);
        self.add_fragment(&piece, buffered)
    }

    fn add_fragment(
        &mut self,
        piece: &CallFragment<'_>,
        buffered: &mut BufferedBytes,
    ) -> Result<(), Fault> {
        let size = piece.arguments.len() * 2 + piece.name.map_or(0, str::len);
        buffered.add(size)?;
        let place = match self.find(piece) {
            Some(place) => place,
            None => {
                if self.calls.len() >= MAX_CALLS {
                    return Err("the reply has more calls than any may have".into());
                }
                self.calls.push(Call::new(piece.index, piece.is_text));
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(place) else {
            return Ok(());
        };
        if call.ended {
            // The call was output completely: repetition is permitted, additions are not.
            return if call.adds_nothing(piece) {
                Ok(())
            } else {
                Err("a call goes on after its end".into())
            };
        }
        if let Some(extra) = piece.extra {
            buffered.add(extra.to_string().len())?;
            call.extra = Some(extra.clone());
        }
        if call.id.is_none() {
            call.id = piece.id.map(Into::into);
        }
        if let Some(name) = piece.name {
            call.add_name(name);
        }
        if call.is_text {
            call.text_input.push_str(&piece.arguments);
        } else {
            call.arguments.push(&piece.arguments);
        }
        Ok(())
    }

    /// The call to which a fragment belongs; `None` if it starts a new one.
    fn find(&self, piece: &CallFragment<'_>) -> Option<usize> {
        let calls = || self.calls.iter().enumerate().rev();
        let at_index = |call: &Call| piece.index.is_none() || call.index == piece.index;
        let by_id = piece.id.and_then(|id| {
            calls().find(|(_, call)| at_index(call) && call.id.as_deref() == Some(id))
        });
        let by_index = || calls().find(|(_, call)| at_index(call));
        let (place, call) = by_id.or_else(by_index)?;
        let other_id =
            by_id.is_none() && piece.id.is_some() && call.id.is_some() && call.has_begun();
        let blank = piece.arguments.trim().is_empty();
        let whole = call.arguments.is_complete();
        let repeated = by_id.is_some() && call.arguments.repeats_last(&piece.arguments);
        let starts_call = match piece.name {
            _ if repeated => false,
            // A name may come last; the same name again without arguments may be a repetition or start another
            // call.
            Some(name) if whole => !blank || !(call.name.is_empty() || name == call.name),
            Some(name) => {
                let other = !call.name.is_empty() && name != call.name;
                other && (!call.arguments.is_blank() || self.is_second_name(call, name, piece))
            }
            None => whole && call.renamed && piece.arguments.trim_start().starts_with('{'),
        };
        (!other_id && !starts_call).then_some(place)
    }

    /// Whether a name belongs to another call rather than being the rest of this call's name.
    fn is_second_name(&self, call: &Call, name: &str, piece: &CallFragment<'_>) -> bool {
        if name.starts_with(&call.name) || self.offered.contains(&format!("{}{name}", call.name)) {
            return false;
        }
        piece.index.is_none() || self.offered.contains(&call.name)
    }

    /// Emits all deltas that are certain; calls start in order.
    ///
    /// A call with complete arguments ends once another one has started, so that its consumer need not wait for all
    /// calls. Servers that interleave fragments start the next call before that.
    pub(super) fn emit(&mut self, next: &mut u32, owner: &StateOwner, out: &mut Vec<Delta>) {
        let others = self.calls.len().saturating_sub(1);
        let started = self.calls.iter_mut().take(self.started_count.min(others));
        for call in started.skip(self.ended_count) {
            if let Some(index) = call.block
                && !call.ended
                && call.is_fully_emitted()
            {
                call.ended = true;
                out.push(Delta::BlockEnded { index });
            }
        }
        while self
            .calls
            .get(self.ended_count)
            .is_some_and(|call| call.ended)
        {
            self.ended_count += 1;
        }
        while let Some(call) = self.calls.get_mut(self.started_count) {
            if !call.can_start(&self.offered) {
                break;
            }
            let json = !call.is_text;
            call.start(json, &self.offered, next, owner, &mut self.used_ids, out);
            self.started_count += 1;
        }
        let started = self.calls.iter_mut().take(self.started_count);
        for call in started.skip(self.ended_count) {
            let Some(index) = call.block.filter(|_| !call.ended) else {
                continue;
            };
            let more = if call.is_text {
                Some(std::mem::take(&mut call.text_input)).filter(|words| !words.is_empty())
            } else {
                call.arguments.take_ready()
            };
            if let Some(text) = more {
                let text = text.into();
                out.push(Delta::ArgumentsAppended { index, text });
            }
        }
    }

    /// Ends all calls; returns the repairs made.
    pub(super) fn finish(
        &mut self,
        next: &mut u32,
        owner: &StateOwner,
        out: &mut Vec<Delta>,
    ) -> Result<Vec<Note>, Fault> {
        let mut notes = Vec::new();
        let only = match self.offered.offered.as_slice() {
            [only] => Some(Arc::clone(only)),
            [] | [_, _, ..] => None,
        };
        for call in self.calls.iter_mut().skip(self.ended_count) {
            if call.ended {
                continue;
            }
            call.ended = true;
            if call.name.is_empty() {
                match &only {
                    Some(only) => call.name.push_str(only),
                    None => return Err("a call does not say of which tool".into()),
                }
            }
            let wrapped = !call.is_text && self.offered.is_text(&call.name);
            let final_arguments = call.arguments.finish();
            let mut rest = if call.is_text {
                std::mem::take(&mut call.text_input)
            } else {
                final_arguments.rest
            };
            let mut json = !call.is_text;
            if wrapped && call.block.is_none() {
                // Malformed JSON around the text is no text for a tool to run.
                let inner = if rest.is_empty() {
                    Some(String::new())
                } else {
                    unwrap_text_input(&rest)
                };
                if let Some(inner) = inner {
                    rest = inner;
                    json = false;
                }
            }
            let index = match call.block {
                Some(index) => index,
                None => call.start(json, &self.offered, next, owner, &mut self.used_ids, out),
            };
            if let Some(code) = final_arguments.repair {
                notes.push(Note::new(
                    NoteKind::Approximated,
                    NoteEffect::Quality,
                    code,
                    format!("blocks[{index}].input"),
                ));
            }
            if !rest.is_empty() {
                let text = rest.into();
                out.push(Delta::ArgumentsAppended { index, text });
            }
            out.push(Delta::BlockEnded { index });
        }
        self.ended_count = self.calls.len();
        self.started_count = self.calls.len();
        Ok(notes)
    }
}

impl Call {
    fn new(index: Option<i64>, is_text: bool) -> Self {
        Self {
            arguments: Arguments::default(),
            block: None,
            ended: false,
            extra: None,
            is_text,
            id: None,
            index,
            name: String::new(),
            renamed: false,
            text_input: String::new(),
        }
    }

    /// Whether its arguments were output completely, so that only a violation could follow.
    fn is_fully_emitted(&self) -> bool {
        !self.is_text && self.arguments.is_fully_emitted()
    }

    /// Whether a fragment adds nothing to what was output.
    fn adds_nothing(&self, piece: &CallFragment<'_>) -> bool {
        piece.arguments.trim().is_empty()
            || (!self.is_text && self.arguments.repeats_all(&piece.arguments))
    }

    /// Whether anything other than an id has arrived.
    fn has_begun(&self) -> bool {
        !self.name.is_empty() || !self.arguments.is_blank() || !self.text_input.is_empty()
    }

    /// Adds to the name, which may arrive whole, repeatedly, growing, or in fragments.
    fn add_name(&mut self, name: &str) {
        if self.block.is_some() || self.name == name {
            self.renamed |= self.arguments.is_complete();
        } else if name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else if self.arguments.is_blank() && self.text_input.is_empty() {
            self.name.push_str(name);
        }
    }

    fn can_start(&self, offered: &ReplyTools) -> bool {
        if self.name.is_empty() || (!self.is_text && offered.is_text(&self.name)) {
            return false;
        }
        let named = !self.arguments.is_blank() || !self.text_input.is_empty();
        named || offered.is_unambiguous(&self.name)
    }

    fn start(
        &mut self,
        json: bool,
        offered: &ReplyTools,
        next: &mut u32,
        owner: &StateOwner,
        used_ids: &mut HashSet<Arc<str>>,
        out: &mut Vec<Delta>,
    ) -> u32 {
        let index = *next;
        *next += 1;
        self.block = Some(index);
        let id = self.id.clone().filter(|id| used_ids.insert(Arc::clone(id)));
        out.push(Delta::BlockStarted {
            index,
            start: BlockStart::ToolCall {
                json,
                name: offered.own(&self.name),
                ran_by: RanBy::Engine,
                upstream: id.map(|id| UpstreamId {
                    id,
                    owner: owner.clone(),
                }),
            },
        });
        if let Some(extra) = self.extra.take() {
            let state = state::new_state(owner, state::EXTRA_CONTENT, extra, StateScope::Block);
            out.push(Delta::StateSet { index, state });
        }
        index
    }
}

impl<'a> CallFragment<'a> {
    fn read(json: &'a Value) -> Result<Self, Fault> {
        if !json.is_object() {
            return Err("a call is no object".into());
        }
        let custom = field(json, "custom");
        let is_text = custom.is_some() || text(json, "type") == Some("custom");
        let inner = custom.or_else(|| field(json, "function")).unwrap_or(json);
        let key = if custom.is_some() {
            "input"
        } else {
            "arguments"
        };
        let arguments = match field(inner, key) {
            None => "".into(),
            Some(Value::String(text)) => text.as_str().into(),
            Some(json) => json.to_string().into(),
        };
        let id = text(json, "id").filter(|id| *id != "null" && id.len() <= MAX_ID);
        Ok(Self {
            arguments,
            extra: field(json, "extra_content"),
            is_text,
            id,
            index: number(json, "index"),
            name: text(inner, "name"),
        })
    }
}

/// The text in the JSON arguments of a text tool.
fn unwrap_text_input(arguments: &str) -> Option<String> {
    let json: Value = serde_json::from_str(arguments).ok()?;
    let fields = json.as_object()?;
    Some(fields.get(TEXT_FIELD)?.as_str()?.to_owned())
}
