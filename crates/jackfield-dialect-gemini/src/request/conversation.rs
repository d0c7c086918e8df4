//! Maps the conversation: domain messages as contents.

use std::collections::HashMap;

use jackfield_dialect_kit::ids::{IdForm, WireIds};
use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::BlockPath;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;

use super::Unsupported;
use crate::options::Profile;
use crate::reply::state;
use crate::wire;

/// The mapped conversation and system prompt.
#[derive(Debug)]
pub(super) struct MappedConversation {
    pub(super) contents: Vec<wire::Content>,
    pub(super) system: Vec<wire::Part>,
}

/// The context for mapping blocks.
#[derive(Debug)]
pub(super) struct RequestWriter<'a> {
    /// The names of the called functions, for their results.
    pub(super) called: HashMap<ToolCallId, String>,
    pub(super) ids: WireIds,
    pub(super) notes: &'a mut Notes,
    pub(super) owner: &'a StateOwner,
    pub(super) profile: &'a Profile,
}

/// Maps the system prompt and the conversation.
///
/// Messages of the model that follow each other become one content, as a call has to follow a user's content or
/// results; those of the user stay apart.
pub(super) fn to_wire(
    request: &ModelRequest,
    owner: &StateOwner,
    profile: &Profile,
    notes: &mut Notes,
) -> Result<MappedConversation, Unsupported> {
    let parts = notes.system_parts(&request.system).into_iter();
    let mut system: Vec<wire::Part> = parts.map(|part| plain(&part.text)).collect();
    let is_said = |message: &Message| matches!(message.role, Role::System | Role::User);
    let messages = request.messages.iter().enumerate();
    let said = messages.filter(|(_, message)| is_said(message));
    let last_said = said.map(|(n, _)| n).last();
    let mut writer = RequestWriter {
        called: HashMap::new(),
        ids: WireIds::new(request, owner, IdForm::Usual),
        notes,
        owner,
        profile,
    };
    let mut contents: Vec<wire::Content> = Vec::new();
    // The role of the message that the last content was made of.
    let mut last = None;
    for (n, message) in request.messages.iter().enumerate() {
        let is_current = last_said.is_none_or(|said| n > said);
        let parts = writer.message(n, message, is_current)?;
        let path = format_args!("messages[{n}]");
        writer.notes.withheld(path, &message.opaque, &[]);
        if parts.is_empty() {
            if message.blocks.is_empty() && message.opaque.is_empty() {
                writer
                    .notes
                    .dropped(NoteEffect::Cosmetic, "empty_message", path);
            }
            continue;
        }
        let (role, joins) = match message.role {
            Role::Assistant => ("model", last == Some(Role::Assistant)),
            Role::System if last.is_none() => {
                writer
                    .notes
                    .approximated(NoteEffect::Cosmetic, "system_message_moved", path);
                system.extend(parts);
                continue;
            }
            Role::System => {
                writer
                    .notes
                    .approximated(NoteEffect::Meaning, "system_message_as_user", path);
                ("user", last == Some(Role::User))
            }
            Role::Tool | Role::User => ("user", false),
        };
        last = Some(match message.role {
            Role::System => Role::User,
            role @ (Role::Assistant | Role::Tool | Role::User) => role,
        });
        match contents.last_mut().filter(|_| joins) {
            Some(before) => {
                if message.role == Role::Assistant {
                    writer
                        .notes
                        .approximated(NoteEffect::Cosmetic, "messages_merged", path);
                }
                before.parts.get_or_insert_default().extend(parts);
            }
            None => contents.push(wire::Content {
                role: Some(role.to_owned()),
                parts: Some(parts),
            }),
        }
    }
    Ok(MappedConversation { contents, system })
}

impl RequestWriter<'_> {
    /// The parts of a message. The first call of each step has a signature; where there is none, a word of the vendor's
    /// stands in its place. The vendor checks the current turn alone, but what it has cached of a turn has to stay the
    /// same in the next one.
    fn message(
        &mut self,
        n: usize,
        message: &Message,
        is_current: bool,
    ) -> Result<Vec<wire::Part>, Unsupported> {
        let mut parts = Vec::with_capacity(message.blocks.len());
        let mut has_called = false;
        for (at, block) in BlockPath::of(message, n) {
            let Some(mut part) = self.block(at, block)? else {
                continue;
            };
            self.notes.cache_point_lost(at, block);
            let is_first_call = part.function_call.is_some() && !has_called;
            has_called |= is_first_call;
            if is_first_call && self.profile.signed_calls && part.thought_signature.is_none() {
                let effect = if is_current {
                    NoteEffect::Quality
                } else {
                    NoteEffect::Cosmetic
                };
                let path = format_args!("{at}.opaque");
                self.notes.approximated(effect, "signature_missing", path);
                part.thought_signature = Some(state::NO_SIGNATURE.to_owned());
            }
            parts.push(part);
        }
        Ok(parts)
    }
}

pub(super) fn plain(text: &str) -> wire::Part {
    wire::Part {
        text: Some(text.to_owned()),
        ..wire::Part::default()
    }
}
