//! Changes the provider's reply as little as possible on its way to the client, and reads its usage.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use jackfield_dialect_claude::wire as claude;
use jackfield_dialect_kit::serve::ServeError;
use jackfield_dialect_kit::usage_reports::UsageReports;

use super::batch_addresses::result_addresses;
use super::json::{self, Member};
use super::language::Language;
use super::piece::{self, EventKind};

/// What to do with a reply.
#[derive(Clone, Debug)]
pub(super) struct ReplyRules {
    /// Whether the cost that the reply states is what the provider charges.
    pub(super) has_cost: bool,
    pub(super) language: Language,
    /// Whether the id of the response is read.
    pub(super) reads_id: bool,
    /// The provider's name of the model and the client's, if they differ.
    pub(super) rename: Option<ModelNames>,
    /// The address of the gateway, which the results of a batch of Claude's have in place of the provider's: a client
    /// that follows them would go there, with its key of the gateway.
    pub(super) results_at: Option<Arc<str>>,
    /// Whether the usage is taken out, because the client did not ask for it.
    pub(super) removes_usage: bool,
}

/// The names of a model.
#[derive(Clone, Debug)]
pub(super) struct ModelNames {
    /// The client's name, as JSON.
    pub(super) client: String,
    /// The provider's name, as JSON.
    pub(super) upstream: String,
}

impl ModelNames {
    /// These names of a model.
    pub(super) fn new(client: &str, upstream: &str) -> Self {
        Self {
            client: serde_json::Value::from(client).to_string(),
            upstream: serde_json::Value::from(upstream).to_string(),
        }
    }
}

/// The form of a reply's body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BodyForm {
    /// A stream of events.
    Events,
    /// One JSON document.
    Json,
    /// Anything else, which is not read.
    Opaque,
}

/// A reply on its way to the client.
#[derive(Debug)]
pub(super) struct ReplyFilter {
    /// Bytes of an unfinished event or document.
    buffer: BytesMut,
    /// Claude's reports about the usage, as one.
    claude_usage: claude::Usage,
    /// The data of the event by which the provider said that it cannot reply.
    error: Option<String>,
    form: BodyForm,
    /// Whether the last bytes brought a piece of the reply, not only signs of life.
    has_piece: bool,
    /// The id of the response, once it is known.
    response_id: Option<String>,
    rules: ReplyRules,
    /// How much of the buffer has no end of an event.
    scanned: usize,
    usage: UsageReports,
}

impl ReplyFilter {
    pub(super) fn new(form: BodyForm, rules: ReplyRules) -> Self {
        Self {
            buffer: BytesMut::new(),
            claude_usage: claude::Usage::default(),
            error: None,
            form,
            has_piece: false,
            response_id: None,
            scanned: 0,
            usage: UsageReports::new(rules.has_cost),
            rules,
        }
    }

    /// The usage, as far as the reply reported it.
    pub(super) const fn usage(&self) -> &UsageReports {
        &self.usage
    }

    /// Whether the last bytes brought a piece of the reply, not only signs of life.
    pub(super) const fn has_piece(&self) -> bool {
        self.has_piece
    }

    /// The data of the event by which the provider said that it cannot reply, if there was one.
    pub(super) fn error(&self) -> Option<(Language, &str)> {
        Some((self.rules.language, self.error.as_deref()?))
    }

    /// The id of the response, if it is read and known.
    pub(super) fn response_id(&self) -> Option<&str> {
        self.response_id.as_deref()
    }

    /// Whether the client gets nothing before the whole event or document was read.
    fn is_held(&self) -> bool {
        self.may_change() || (self.rules.reads_id && self.form == BodyForm::Json)
    }

    /// Whether bytes of the reply can change.
    pub(super) const fn may_change(&self) -> bool {
        match self.form {
            BodyForm::Events => self.rules.rename.is_some() || self.rules.removes_usage,
            BodyForm::Json => self.rules.rename.is_some() || self.rules.results_at.is_some(),
            BodyForm::Opaque => false,
        }
    }

    /// The bytes for the client after this piece of the provider's; possibly none.
    pub(super) fn push(&mut self, piece: Bytes) -> Bytes {
        self.has_piece = match self.form {
            BodyForm::Events => false,
            // Some servers send white space while a model works on a whole reply.
            BodyForm::Json => !piece.iter().all(u8::is_ascii_whitespace),
            BodyForm::Opaque => true,
        };
        if self.form == BodyForm::Opaque {
            return piece;
        }
        if !self.is_held() {
            // The client gets the piece as it is, and a copy is read for the usage.
            if self.buffer.len() + piece.len() <= MAX_READ {
                self.buffer.extend_from_slice(&piece);
                if self.form == BodyForm::Events {
                    self.read_events(None);
                }
            } else {
                self.buffer.clear();
                self.scanned = 0;
                self.has_piece = true;
            }
            return piece;
        }
        self.buffer.extend_from_slice(&piece);
        let mut out = Vec::new();
        if self.form == BodyForm::Events {
            self.read_events(Some(&mut out));
        }
        if self.buffer.len() > MAX_READ {
            // Too long to be changed.
            out.extend_from_slice(&self.buffer.split());
            self.form = BodyForm::Opaque;
            self.has_piece = true;
        }
        out.into()
    }

    /// The event that says to the client why its stream breaks off here; empty where it would not be read as one.
    pub(super) fn last_words(&self, error: &ServeError) -> Bytes {
        match self.form {
            BodyForm::Events if self.buffer.is_empty() => {
                let mut text = String::new();
                self.rules.language.error_event(error).write(&mut text);
                text.into()
            }
            BodyForm::Events | BodyForm::Json | BodyForm::Opaque => Bytes::new(),
        }
    }

    /// The last bytes for the client, when the provider's reply is complete.
    pub(super) fn finish(&mut self) -> Bytes {
        let rest = self.buffer.split().freeze();
        let is_json = self.form == BodyForm::Json;
        let changed = match std::str::from_utf8(&rest) {
            Ok(text) if is_json => self.document(text),
            Ok(_) | Err(_) => None,
        };
        match changed {
            Some(changed) => changed.into(),
            None if self.is_held() => rest,
            None => Bytes::new(),
        }
    }

    /// Reads the whole events in the buffer, and writes them to `out`.
    fn read_events(&mut self, mut out: Option<&mut Vec<u8>>) {
        while let Some(length) = event_length(&self.buffer, self.scanned) {
            self.scanned = 0;
            let event = self.buffer.split_to(length);
            let changed = match std::str::from_utf8(&event) {
                Ok(text) => self.event(text),
                Err(_) => {
                    self.has_piece = true;
                    EventChange::None
                }
            };
            if let Some(out) = &mut out {
                match changed {
                    EventChange::None => out.extend_from_slice(&event),
                    EventChange::Removed => {}
                    EventChange::Replaced(text) => out.extend_from_slice(text.as_bytes()),
                }
            }
        }
        self.scanned = self.buffer.len();
    }

    /// Reads an event.
    fn event(&mut self, text: &str) -> EventChange {
        let lines = data_lines(text);
        let &[(start, data)] = &*lines else {
            self.has_piece |= !lines.is_empty();
            return EventChange::None;
        };
        let members = json::members(data);
        match piece::kind_of(self.rules.language, data, members.as_deref()) {
            EventKind::Error => {
                self.error.get_or_insert_with(|| data.to_owned());
            }
            EventKind::Life => {}
            EventKind::Piece => self.has_piece = true,
        }
        let Some(members) = members else {
            return EventChange::None;
        };
        let named = self.rules.rename.as_ref();
        let has_model = named.is_some_and(|names| text.contains(&names.upstream));
        let has_id = self.rules.reads_id && self.response_id.is_none();
        let has_usage = [self.rules.language.usage_member(), SERVICE_TIER];
        if !has_model && !has_id && !has_usage.iter().any(|member| text.contains(member)) {
            return EventChange::None;
        }
        let mut edits = self.document_edits(data, &members);
        if self.rules.removes_usage
            && let Some(usage) = json::only(&members, "usage")
        {
            let choices = json::only(&members, "choices");
            if usage.value != "null" && choices.is_some_and(|choices| is_empty_list(choices.value))
            {
                return EventChange::Removed;
            }
            if let Some(range) = json::removal(data, usage) {
                edits.push((range, String::new()));
            }
        }
        if edits.is_empty() {
            return EventChange::None;
        }
        let changed = json::replace(data, edits);
        let end = start + data.len();
        EventChange::Replaced(json::replace(text, vec![(start..end, changed)]))
    }

    /// The changed document; `None` if nothing changes.
    fn document(&mut self, text: &str) -> Option<String> {
        let members = json::members(text)?;
        let mut edits = self.document_edits(text, &members);
        if let Some(gateway) = &self.rules.results_at {
            edits.extend(result_addresses(text, gateway));
        }
        (!edits.is_empty()).then(|| json::replace(text, edits))
    }

    /// Reads the usage of a document or an event's data, and returns the edits that rename its model.
    fn document_edits(
        &mut self,
        text: &str,
        members: &[Member<'_>],
    ) -> Vec<(std::ops::Range<usize>, String)> {
        let mut edits = Vec::new();
        self.read_members(members, 0, &mut edits);
        if self.form == BodyForm::Json {
            self.read_id(members);
        }
        // The reply stands in a member of some events.
        for name in ["message", "response"] {
            if let Some(member) = json::only(members, name)
                && let Some(inner) = text.get(member.range.clone()).and_then(json::members)
            {
                self.read_members(&inner, member.range.start, &mut edits);
                if name == "response" {
                    self.read_id(&inner);
                }
            }
        }
        edits
    }

    /// Reads the id of the response in its members.
    fn read_id(&mut self, members: &[Member<'_>]) {
        if self.rules.reads_id
            && self.response_id.is_none()
            && let Some(id) = json::only(members, "id")
        {
            self.response_id = json::string(id.value).map(Into::into);
        }
    }

    fn read_members(
        &mut self,
        members: &[Member<'_>],
        offset: usize,
        edits: &mut Vec<(std::ops::Range<usize>, String)>,
    ) {
        let language = self.rules.language;
        // Beside the usage: the tier of OpenAI, which the others have in it.
        let tier = json::only(members, SERVICE_TIER);
        let tier = tier.and_then(|tier| json::string(tier.value));
        self.usage.tier(tier.as_deref());
        let usage = json::only(members, language.usage_member());
        if let Some(usage) = usage.filter(|usage| usage.value != "null") {
            language.read_usage(usage.value, &mut self.claude_usage, &mut self.usage);
            // A server that counts has read the prompt.
            self.has_piece |= self.usage.usage().is_some_and(|usage| usage.input > 0);
        }
        if let Some(names) = &self.rules.rename
            && let Some(model) = json::only(members, language.model_member())
            && model.value == names.upstream
        {
            let range = offset + model.range.start..offset + model.range.end;
            edits.push((range, names.client.clone()));
        }
    }
}

enum EventChange {
    None,
    Removed,
    Replaced(String),
}

fn is_empty_list(json: &str) -> bool {
    let inner = json
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

/// The length of the first event with the empty line behind it, if it is whole. It does not end before `scanned`.
fn event_length(bytes: &[u8], scanned: usize) -> Option<usize> {
    let is_break = |at: usize| matches!(bytes.get(at), Some(b'\n' | b'\r'));
    let mut at = scanned;
    // A pair is not to be read from its middle.
    if at > 0 && bytes.get(at - 1) == Some(&b'\r') {
        at -= 1;
    }
    let mut is_line_empty = at == 0 || is_break(at - 1);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' | b'\r' => {
                let is_pair = *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
                // The second half of a pair may be on its way.
                if *byte == b'\r' && at + 1 == bytes.len() {
                    return None;
                }
                at += if is_pair { 2 } else { 1 };
                if is_line_empty {
                    return Some(at);
                }
                is_line_empty = true;
            }
            _ => {
                is_line_empty = false;
                at += 1;
            }
        }
    }
    None
}

/// The data lines of an event, and where each begins.
fn data_lines(event: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in event.split_inclusive(['\n', '\r']) {
        let text = line.trim_end_matches(['\n', '\r']);
        if let Some(data) = text.strip_prefix("data:") {
            let inner = data.strip_prefix(' ').unwrap_or(data);
            found.push((at + text.len() - inner.len(), inner));
        }
        at += line.len();
    }
    found
}

/// The member with the service tier of a reply of OpenAI.
const SERVICE_TIER: &str = "service_tier";

/// The size up to which an event or a document is read, in bytes.
const MAX_READ: usize = 16 << 20;
