//! Changes the provider's reply as little as possible on its way to the client, and reads its usage.

use bytes::{Bytes, BytesMut};
use jackfield_domain::usage::Usage;

use super::json::{self, Member};
use super::language::Language;

/// What to do with a reply.
#[derive(Clone, Debug)]
pub(super) struct ReplyRules {
    pub(super) language: Language,
    /// The provider's name of the model and the client's, if they differ.
    pub(super) rename: Option<ModelNames>,
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
    form: BodyForm,
    rules: ReplyRules,
    /// How much of the buffer has no end of an event.
    scanned: usize,
    usage: Option<Usage>,
}

impl ReplyFilter {
    pub(super) fn new(form: BodyForm, rules: ReplyRules) -> Self {
        Self {
            buffer: BytesMut::new(),
            form,
            rules,
            scanned: 0,
            usage: None,
        }
    }

    /// The usage, as far as the reply reported it.
    pub(super) const fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Whether bytes of the reply can change.
    pub(super) const fn may_change(&self) -> bool {
        match self.form {
            BodyForm::Events => self.rules.rename.is_some() || self.rules.removes_usage,
            BodyForm::Json => self.rules.rename.is_some(),
            BodyForm::Opaque => false,
        }
    }

    /// The bytes for the client after this piece of the provider's; possibly none.
    pub(super) fn push(&mut self, piece: Bytes) -> Bytes {
        if self.form == BodyForm::Opaque {
            return piece;
        }
        if !self.may_change() {
            // The client gets the piece as it is, and a copy is read for the usage.
            if self.buffer.len() + piece.len() <= MAX_READ {
                self.buffer.extend_from_slice(&piece);
                if self.form == BodyForm::Events {
                    self.read_events(None);
                }
            } else {
                self.buffer.clear();
                self.scanned = 0;
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
        }
        out.into()
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
            None if self.may_change() => rest,
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
                Err(_) => EventChange::None,
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
        let named = self.rules.rename.as_ref();
        let has_model = named.is_some_and(|names| text.contains(&names.upstream));
        if !has_model && !text.contains(self.rules.language.usage_member()) {
            return EventChange::None;
        }
        let Some((start, data)) = data_line(text) else {
            return EventChange::None;
        };
        let Some(members) = json::members(data) else {
            return EventChange::None;
        };
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
        let edits = self.document_edits(text, &members);
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
        // The reply stands in a member of some events.
        for name in ["message", "response"] {
            if let Some(member) = json::only(members, name)
                && let Some(inner) = text.get(member.range.clone()).and_then(json::members)
            {
                self.read_members(&inner, member.range.start, &mut edits);
            }
        }
        edits
    }

    fn read_members(
        &mut self,
        members: &[Member<'_>],
        offset: usize,
        edits: &mut Vec<(std::ops::Range<usize>, String)>,
    ) {
        let language = self.rules.language;
        if let Some(usage) = json::only(members, language.usage_member())
            && let Some(usage) = self.rules.language.usage(usage.value)
        {
            self.usage = Some(self.usage.map_or(usage, |known| larger(known, usage)));
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

/// Of two reports about one reply, each of which may lack some counts, the larger counts.
fn larger(one: Usage, other: Usage) -> Usage {
    Usage {
        cache_read: one.cache_read.max(other.cache_read),
        cache_write: one.cache_write.max(other.cache_write),
        input: one.input.max(other.input),
        output: one.output.max(other.output),
        reasoning: one.reasoning.max(other.reasoning),
        ..Usage::default()
    }
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

/// The data of an event with one data line, and where it begins.
fn data_line(event: &str) -> Option<(usize, &str)> {
    let mut at = 0;
    let mut found = None;
    for line in event.split_inclusive(['\n', '\r']) {
        let text = line.trim_end_matches(['\n', '\r']);
        if let Some(data) = text.strip_prefix("data:") {
            if found.is_some() {
                return None;
            }
            let inner = data.strip_prefix(' ').unwrap_or(data);
            found = Some((at + text.len() - inner.len(), inner));
        }
        at += line.len();
    }
    found
}

/// The size up to which an event or a document is read, in bytes.
const MAX_READ: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(language: Language, renames: bool, removes_usage: bool) -> ReplyRules {
        ReplyRules {
            language,
            rename: renames.then(|| ModelNames {
                client: r#""a/b""#.to_owned(),
                upstream: r#""b""#.to_owned(),
            }),
            removes_usage,
        }
    }

    /// What the client gets of a reply that arrives in two pieces, and its usage.
    fn filtered(
        form: BodyForm,
        rules: &ReplyRules,
        reply: &[u8],
        cut: usize,
    ) -> (Vec<u8>, Option<Usage>) {
        let mut filter = ReplyFilter::new(form, rules.clone());
        let mut out = Vec::new();
        for piece in [&reply[..cut], &reply[cut..]] {
            out.extend_from_slice(&filter.push(Bytes::copy_from_slice(piece)));
        }
        out.extend_from_slice(&filter.finish());
        (out, filter.usage())
    }

    /// Checks a reply, cut at every byte.
    #[track_caller]
    fn check(
        form: BodyForm,
        rules: &ReplyRules,
        reply: &str,
        expected: &str,
        tokens: Option<(u64, u64)>,
    ) {
        for cut in 0..=reply.len() {
            let (out, usage) = filtered(form, rules, reply.as_bytes(), cut);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "cut at {cut}");
            let usage = usage.map(|usage| (usage.input, usage.output));
            assert_eq!(usage, tokens, "cut at {cut}");
        }
    }

    const CHAT: &str = "data: {\"id\":\"x\",\"model\":\"b\",\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\":\\\"b\\\"\"}}],\"usage\":null}\r\n\r\n: a comment\n\ndata:{ \"model\" : \"b\" , \"choices\": [ ], \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2} }\n\ndata: [DONE]\n\n";

    #[test]
    fn a_stream_is_passed_on_as_it_is_and_its_usage_is_read() {
        let plain = rules(Language::Chat, false, false);
        check(BodyForm::Events, &plain, CHAT, CHAT, Some((7, 2)));
        // Whatever the form says.
        check(BodyForm::Opaque, &plain, CHAT, CHAT, None);
        let broken = "data: {\"usage\":\n\nno event at all";
        check(BodyForm::Events, &plain, broken, broken, None);
    }

    #[test]
    fn usage_that_the_client_did_not_ask_for_is_taken_out_of_a_chat_stream() {
        let expected = "data: {\"id\":\"x\",\"model\":\"b\",\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\":\\\"b\\\"\"}}]}\r\n\r\n: a comment\n\ndata: [DONE]\n\n";
        let rules = rules(Language::Chat, false, true);
        check(BodyForm::Events, &rules, CHAT, expected, Some((7, 2)));
        // Usage in a chunk with content is taken out alone.
        let content =
            "data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1},\"choices\":[{}]}\n\n";
        let expected = "data: {\"choices\":[{}]}\n\n";
        check(BodyForm::Events, &rules, content, expected, Some((1, 1)));
    }

    #[test]
    fn the_models_name_is_the_clients() {
        let named = rules(Language::Chat, true, false);
        let expected = CHAT.replacen("\"model\":\"b\"", "\"model\":\"a/b\"", 1);
        let expected = expected.replacen("\"model\" : \"b\"", "\"model\" : \"a/b\"", 1);
        check(BodyForm::Events, &named, CHAT, &expected, Some((7, 2)));
        let dated = CHAT.replace("\"model\":\"b\"", "\"model\":\"b-2026\"");
        let expected = dated.replacen("\"model\" : \"b\"", "\"model\" : \"a/b\"", 1);
        check(BodyForm::Events, &named, &dated, &expected, Some((7, 2)));
        let document = "{\"n\":1.50,\"model\":\"b\",\"x\":{\"model\":\"b\"},\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n";
        let expected = document.replacen("\"b\"", "\"a/b\"", 1);
        check(BodyForm::Json, &named, document, &expected, Some((3, 4)));
        let plain = rules(Language::Chat, false, false);
        check(BodyForm::Json, &plain, document, document, Some((3, 4)));
        let web_page = "<html>\"model\":\"b\"</html>";
        check(BodyForm::Json, &named, web_page, web_page, None);
    }

    #[test]
    fn claude_and_responses_report_usage_within_an_event() {
        let claude = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"b\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\n";
        let expected = claude.replace("\"b\"", "\"a/b\"");
        check(
            BodyForm::Events,
            &rules(Language::Claude, true, false),
            claude,
            &expected,
            Some((7, 9)),
        );
        let responses = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"model\":\"b\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n";
        let expected = responses.replace("\"b\"", "\"a/b\"");
        check(
            BodyForm::Events,
            &rules(Language::Responses, true, false),
            responses,
            &expected,
            Some((5, 1)),
        );
    }

    #[test]
    fn gemini_has_names_of_its_own_for_model_and_usage() {
        let gemini = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"modelVersion b\"}]}}],\"modelVersion\":\"b\"}\r\n\r\ndata: {\"modelVersion\":\"b\",\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":2,\"thoughtsTokenCount\":3}}\r\n\r\n";
        let expected = gemini.replace("\"b\"", "\"a/b\"");
        for (renames, expected) in [(true, &*expected), (false, gemini)] {
            let rules = rules(Language::Gemini, renames, false);
            check(BodyForm::Events, &rules, gemini, expected, Some((5, 5)));
        }
    }

    #[test]
    fn bytes_that_are_no_text_pass() {
        for form in [BodyForm::Events, BodyForm::Json] {
            let reply = b"data: \xff\"usage\"\n\n\xfe";
            for cut in 0..=reply.len() {
                let rules = rules(Language::Chat, true, true);
                assert_eq!(filtered(form, &rules, reply, cut).0, reply);
            }
        }
    }
}
