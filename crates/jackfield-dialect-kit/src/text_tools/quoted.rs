//! Text of the conversation that a model may quote.

use std::cell::OnceCell;
use std::fmt;

use jackfield_domain::block::Content;
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::outcome::OutcomePart;

/// What the user and the tools wrote into a conversation. A call that stands there word for word is a quotation: a page
/// that a tool fetched must not get its calls run by being shown.
#[derive(Default)]
pub(super) struct QuotedTexts {
    messages: Messages,
    /// The texts without what a quotation may change; made for the first call that is looked for.
    plain: OnceCell<String>,
}

impl QuotedTexts {
    pub(super) const fn of(messages: Messages) -> Self {
        Self {
            messages,
            plain: OnceCell::new(),
        }
    }

    /// Whether this text of a call stands in the conversation, as it is or in a JSON string.
    pub(super) fn has(&self, call: &str) -> bool {
        let plain = self.plain.get_or_init(|| {
            let mut plain = String::new();
            for message in self.messages.iter() {
                push_message(message, &mut plain);
                // No text has it that was made plain, so no call is found across messages.
                plain.push(' ');
            }
            plain
        });
        let mut wanted = String::new();
        push_plain(call, &mut wanted);
        !wanted.is_empty() && plain.contains(&wanted)
    }
}

impl fmt::Debug for QuotedTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuotedTexts").finish_non_exhaustive()
    }
}

fn push_message(message: &Message, plain: &mut String) {
    for block in &message.blocks {
        match &block.content {
            Content::Document(document) if message.role != Role::Assistant => {
                push_source(&document.source, plain);
            }
            Content::Text(text) if message.role != Role::Assistant => push_plain(&text.text, plain),
            Content::ToolOutcome(outcome) => {
                for part in &outcome.result.content {
                    match part {
                        OutcomePart::Document(document) => push_source(&document.source, plain),
                        OutcomePart::Text(text) => push_plain(text, plain),
                        OutcomePart::Audio(_) | OutcomePart::Image(_) => {}
                    }
                }
                if let Some(structured) = &outcome.result.structured {
                    push_plain(&structured.to_string(), plain);
                }
            }
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_) => {}
        }
    }
}

fn push_source(source: &MediaSource, plain: &mut String) {
    match source {
        MediaSource::Text(text) => push_plain(text, plain),
        MediaSource::Base64 { .. } | MediaSource::File { .. } | MediaSource::Url(_) => {}
    }
}

/// Adds a text without blanks, with the escapes of JSON strings as what they stand for. Characters that have two of
/// them, such as emoji, are left out.
fn push_plain(text: &str, plain: &mut String) {
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let escaped = (character == '\\').then(|| escape(rest)).flatten();
        let (character, length) = escaped.unwrap_or_else(|| (character, character.len_utf8()));
        let is_single = u32::from(character) <= 0xffff;
        if is_single && !character.is_whitespace() && character != '\\' {
            plain.push(character);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// The character that an escape at the beginning of a text stands for, and the length of the escape. A string in a
/// string has several backslashes.
fn escape(text: &str) -> Option<(char, usize)> {
    let written = text.trim_start_matches('\\');
    let backslashes = text.len() - written.len();
    match written.chars().next()? {
        'n' | 'r' | 't' => Some((' ', backslashes + 1)),
        'u' => {
            let code = u32::from_str_radix(written.get(1..5)?, 16).ok()?;
            // Half of a pair.
            let character = char::from_u32(code).unwrap_or(' ');
            Some((character, backslashes + 5))
        }
        _ => None,
    }
}
