//! The conversation: domain messages as wire messages, in an order that the server takes.

use jackfield_dialect_kit::ids::WireIds;
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::block::{Block, RanBy};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::system_prompt::SystemPrompt;
use serde_json::{Map, Value};

use super::Unsupported;
use super::content::{into_content, joined, text_part};
use crate::chat::wire;
use crate::json_word;
use crate::profile::{LIFETIMES, MessageOrder, Prefill, Profile, SystemRole};

/// The assistant message inserted where the order requires one between tools and the user.
const ANSWER_AFTER_TOOLS: &str = "I have seen the results.";

/// The context for mapping messages.
#[derive(Debug)]
pub(super) struct RequestWriter<'a> {
    pub(super) ids: WireIds,
    pub(super) messages: Vec<wire::Message>,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
    pub(super) profile: &'a Profile,
}

/// Maps the system prompt and the conversation.
pub(super) fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &Profile,
    notes: &mut Notes,
) -> Result<Vec<wire::Message>, Unsupported> {
    let mut writer = RequestWriter {
        ids: WireIds::new(request, owner, profile.call_ids),
        messages: Vec::with_capacity(request.messages.len() + 1),
        notes,
        owner,
        profile,
    };
    writer.system_prompt(&request.system);
    let with_calls = turns_with_calls(request);
    for (n, (message, calls)) in request.messages.iter().zip(with_calls).enumerate() {
        let path = format_args!("messages[{n}]");
        if message.blocks.is_empty() {
            writer
                .notes
                .dropped(NoteEffect::Cosmetic, "empty_message", path);
        }
        match message.role {
            Role::Assistant => writer.assistant(n, message, calls)?,
            Role::System => writer.system_message(n, message)?,
            Role::Tool => writer.outcomes(n, message)?,
            Role::User => writer.user_message(n, message)?,
        }
    }
    Ok(writer.messages)
}

/// Tells the server to continue the last message, if it is the model's.
pub(super) fn mark_prefill(
    messages: &mut [wire::Message],
    extra: &mut Map<String, Value>,
    profile: &Profile,
) {
    let last = messages.last_mut();
    let Some(last) = last.filter(|last| last.role == wire::Role::Assistant) else {
        return;
    };
    match profile.prefill {
        Prefill::AsItIs => {}
        Prefill::ContinueFinalMessage => {
            extra.insert("add_generation_prompt".to_owned(), Value::Bool(false));
            extra.insert("continue_final_message".to_owned(), Value::Bool(true));
        }
        Prefill::Prefix | Prefill::RepeatedPrefix => last.prefix = Some(true),
    }
}

/// Asks for JSON in the system prompt, unless that prompt or the first message after it does so. Later messages are
/// not considered, as they may change between rounds, and the prompt would change with them.
pub(super) fn ask_for_json(
    messages: &mut Vec<wire::Message>,
    profile: &Profile,
    notes: &mut Notes,
) {
    let leads = |message: &wire::Message| {
        matches!(message.role, wire::Role::Developer | wire::Role::System)
    };
    let first = messages.iter().position(|message| !leads(message));
    let considered = first.map_or(messages.len(), |first| first + 1);
    if messages.iter().take(considered).any(mentions_json) {
        return;
    }
    json_word::note(notes);
    match messages.first_mut().filter(|first| leads(first)) {
        Some(first) => match &mut first.content {
            Some(wire::Content::Parts(parts)) => parts.push(text_part(json_word::INSTRUCTION)),
            Some(wire::Content::Text(text)) => {
                text.push_str("\n\n");
                text.push_str(json_word::INSTRUCTION);
            }
            None => first.content = Some(wire::Content::Text(json_word::INSTRUCTION.to_owned())),
        },
        None => {
            let role = system_role(profile);
            let content = Some(wire::Content::Text(json_word::INSTRUCTION.to_owned()));
            messages.insert(
                0,
                wire::Message {
                    content,
                    ..wire::Message::new(role)
                },
            );
        }
    }
}

fn mentions_json(message: &wire::Message) -> bool {
    match &message.content {
        None => false,
        Some(wire::Content::Parts(parts)) => json_word::is_in(&joined(parts)),
        Some(wire::Content::Text(text)) => json_word::is_in(text),
    }
}

const fn system_role(profile: &Profile) -> wire::Role {
    match profile.system_role {
        SystemRole::Developer => wire::Role::Developer,
        SystemRole::OneSystem | SystemRole::System => wire::Role::System,
    }
}

/// For each message, whether the model calls tools in its turn: from one user message to the next.
fn turns_with_calls(request: &ModelRequest) -> Vec<bool> {
    let mut has_calls = Vec::with_capacity(request.messages.len());
    let mut began = 0;
    for message in request.messages.iter() {
        if message.role == Role::User {
            began = has_calls.len();
        }
        let calls = message.calls().any(|call| call.ran_by != RanBy::Provider);
        has_calls.push(calls);
        if calls {
            has_calls
                .iter_mut()
                .skip(began)
                .for_each(|calls: &mut bool| *calls = true);
        }
    }
    // Messages after the last call of a turn belong to that turn as well.
    let mut turn = false;
    for (message, calls) in request.messages.iter().zip(&mut has_calls) {
        turn = *calls || (turn && message.role != Role::User);
        *calls = turn;
    }
    has_calls
}

impl RequestWriter<'_> {
    fn system_prompt(&mut self, system: &SystemPrompt) {
        let parts = self.notes.system_parts(system).into_iter();
        let texts: Vec<wire::Part> = parts.map(|part| text_part(&part.text)).collect();
        if texts.is_empty() {
            return;
        }
        if texts.len() > 1 && self.profile.system_role == SystemRole::OneSystem {
            self.notes
                .approximated(NoteEffect::Cosmetic, "texts_joined", "system.parts");
        }
        self.push_system(texts);
    }

    /// A system message; at the start of the conversation it joins the system prompt.
    fn system_message(&mut self, n: usize, message: &Message) -> Result<(), Unsupported> {
        let Some(content) = self.message_content(n, message)? else {
            return Ok(());
        };
        let path = format_args!("messages[{n}]");
        let leads = self
            .messages
            .iter()
            .all(|told| matches!(told.role, wire::Role::Developer | wire::Role::System));
        if leads {
            self.notes
                .approximated(NoteEffect::Cosmetic, "system_message_moved", path);
            self.add_to_system_prompt(content);
        } else if self.profile.system_role == SystemRole::OneSystem {
            self.notes
                .approximated(NoteEffect::Meaning, "system_message_as_user", path);
            self.push_user(n, content, true);
        } else {
            self.push(system_role(self.profile), content);
        }
        Ok(())
    }

    /// Appends to the system prompt, which has no cache points.
    fn add_to_system_prompt(&mut self, content: wire::Content) {
        let before = self.messages.pop().and_then(|message| message.content);
        let mut parts = before.map_or_else(Vec::new, into_parts);
        parts.extend(into_parts(content));
        for part in &mut parts {
            if let wire::Part::Text {
                prompt_cache_breakpoint,
                ..
            } = part
            {
                *prompt_cache_breakpoint = None;
            }
        }
        self.push_system(parts);
    }

    fn push_system(&mut self, texts: Vec<wire::Part>) {
        let one = texts.len() == 1 || self.profile.system_role == SystemRole::OneSystem;
        let content = if one {
            wire::Content::Text(joined(&texts))
        } else {
            wire::Content::Parts(texts)
        };
        self.push(system_role(self.profile), content);
    }

    fn user_message(&mut self, n: usize, message: &Message) -> Result<(), Unsupported> {
        if let Some(content) = self.message_content(n, message)? {
            self.push_user(n, content, false);
        }
        Ok(())
    }

    /// The content of a user or system message; `None` if nothing of it is left.
    fn message_content(
        &mut self,
        n: usize,
        message: &Message,
    ) -> Result<Option<wire::Content>, Unsupported> {
        let path = format_args!("messages[{n}]");
        self.notes.withheld(path, &message.opaque, &[]);
        let mut parts = Vec::with_capacity(message.blocks.len());
        for (at, block) in BlockPath::of(message, n) {
            if let Some(mut part) = self.part(at, block)? {
                self.set_cache_point(at, block, &mut part);
                parts.push(part);
            }
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let texts = parts.len();
        let content = into_content(parts);
        if texts > 1 && matches!(content, wire::Content::Text(_)) {
            let path = format_args!("messages[{n}].blocks");
            self.notes
                .approximated(NoteEffect::Cosmetic, "texts_joined", path);
        }
        Ok(Some(content))
    }

    /// Adds a user message where the message order permits one; `noted` if a note already reports the move.
    pub(super) fn push_user(&mut self, n: usize, content: wire::Content, noted: bool) {
        let order = self.profile.message_order;
        let last = self.messages.last().map(|message| message.role);
        let path = format_args!("messages[{n}]");
        if order == MessageOrder::AnswerAfterTools && last == Some(wire::Role::Tool) {
            self.notes
                .approximated(NoteEffect::Cosmetic, "answer_inserted", path);
            let answer = wire::Content::Text(ANSWER_AFTER_TOOLS.to_owned());
            self.push(wire::Role::Assistant, answer);
        }
        match self.messages.last_mut() {
            Some(before) if order != MessageOrder::Free && before.role == wire::Role::User => {
                if !noted {
                    self.notes
                        .approximated(NoteEffect::Cosmetic, "messages_merged", path);
                }
                merge(before, content);
            }
            Some(_) | None => self.push(wire::Role::User, content),
        }
    }

    /// Adds an assistant message where the message order permits one.
    pub(super) fn push_assistant(&mut self, n: usize, message: wire::Message) {
        match self.messages.last_mut() {
            Some(before)
                if self.profile.message_order != MessageOrder::Free
                    && before.role == wire::Role::Assistant
                    && before.tool_calls.is_none() =>
            {
                let path = format_args!("messages[{n}]");
                self.notes
                    .approximated(NoteEffect::Cosmetic, "messages_merged", path);
                if let Some(content) = message.content {
                    merge(before, content);
                }
                for (field, more) in [
                    (&mut before.refusal, message.refusal),
                    (&mut before.reasoning_content, message.reasoning_content),
                    (&mut before.reasoning, message.reasoning),
                    (&mut before.thinking, message.thinking),
                ] {
                    if let Some(more) = more {
                        field.get_or_insert_default().push_str(&more);
                    }
                }
                if let Some(details) = message.reasoning_details {
                    before
                        .reasoning_details
                        .get_or_insert_default()
                        .extend(details);
                }
                before.audio = before.audio.take().or(message.audio);
                before.tool_calls = message.tool_calls;
            }
            Some(_) | None => self.messages.push(message),
        }
    }

    fn push(&mut self, role: wire::Role, content: wire::Content) {
        self.messages.push(wire::Message {
            content: Some(content),
            ..wire::Message::new(role)
        });
    }

    pub(super) fn set_cache_point(&mut self, at: BlockPath, block: &Block, part: &mut wire::Part) {
        let Some(point) = block.cache else { return };
        let place = match part {
            wire::Part::File {
                prompt_cache_breakpoint,
                ..
            }
            | wire::Part::ImageUrl {
                prompt_cache_breakpoint,
                ..
            }
            | wire::Part::InputAudio {
                prompt_cache_breakpoint,
                ..
            }
            | wire::Part::Text {
                prompt_cache_breakpoint,
                ..
            } if self.profile.cache_points => prompt_cache_breakpoint,
            wire::Part::File { .. }
            | wire::Part::ImageUrl { .. }
            | wire::Part::InputAudio { .. }
            | wire::Part::Other(_)
            | wire::Part::Refusal { .. }
            | wire::Part::Text { .. } => {
                self.notes.cache_point_lost(at, block);
                return;
            }
        };
        *place = Some(wire::CacheBreakpoint {
            mode: "explicit".to_owned(),
            ttl: self.notes.cache_lifetime(at, point, LIFETIMES),
        });
    }
}

/// Appends content to a message.
fn merge(before: &mut wire::Message, more: wire::Content) {
    let mut parts = before.content.take().map_or_else(Vec::new, into_parts);
    parts.extend(into_parts(more));
    before.content = Some(into_content(parts));
}

fn into_parts(content: wire::Content) -> Vec<wire::Part> {
    match content {
        wire::Content::Parts(parts) => parts,
        wire::Content::Text(text) if text.is_empty() => Vec::new(),
        wire::Content::Text(text) => vec![text_part(&text)],
    }
}
