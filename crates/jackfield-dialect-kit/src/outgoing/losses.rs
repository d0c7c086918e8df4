//! What stays behind of a conversation, with its note.

use std::fmt::Display;

use jackfield_domain::block::{Block, CachePoint, OpaqueBlock, Text};
use jackfield_domain::media::{Image, ImageDetail};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::{SystemPart, SystemPrompt};

use super::BlockPath;
use crate::notes::Notes;

impl Notes {
    /// Notes opaque state that is not sent: all but that at the indices `sent`.
    pub fn withheld(&mut self, at: impl Display, states: &[OpaqueState], sent: &[usize]) {
        for k in (0..states.len()).filter(|k| !sent.contains(k)) {
            let path = format_args!("{at}.opaque[{k}]");
            self.dropped(NoteEffect::Quality, "state_withheld", path);
        }
    }

    /// Notes a cache point, if the block has one, that the dialect has no place for.
    pub fn cache_point_lost(&mut self, at: impl Display, block: &Block) {
        if block.cache.is_some() {
            let path = format_args!("{at}.cache");
            self.dropped(NoteEffect::Cost, "cache_point_not_possible", path);
        }
    }

    /// The word for the lifetime of a cache point, out of a vendor's two, each with its seconds, the shorter one
    /// first; `None` leaves it to the vendor. Another lifetime becomes the one that is not shorter, if there is one.
    pub fn cache_lifetime(
        &mut self,
        at: impl Display,
        point: CachePoint,
        [short, long]: [(u32, &'static str); 2],
    ) -> Option<String> {
        let seconds = point.seconds?;
        if seconds != short.0 && seconds != long.0 {
            let path = format_args!("{at}.cache");
            self.approximated(NoteEffect::Cost, "cache_lifetime", path);
        }
        let word = if seconds <= short.0 { short.1 } else { long.1 };
        Some(word.to_owned())
    }

    /// Notes the level of detail of an image, which the vendor has no field for.
    pub fn image_detail_lost(&mut self, at: impl Display, image: &Image) {
        let effect = match image.detail {
            None => return,
            Some(ImageDetail::Auto) => NoteEffect::Cosmetic,
            Some(ImageDetail::Low) => NoteEffect::Cost,
            Some(ImageDetail::High | ImageDetail::Original) => NoteEffect::Quality,
        };
        self.dropped(effect, "image_detail", format_args!("{at}.detail"));
    }

    /// The texts that end a reply, but for blank ones, which are noted.
    pub fn stop_sequences(&mut self, settings: &Settings) -> Vec<String> {
        let mut sequences = Vec::new();
        for (n, text) in settings.stop.iter().enumerate() {
            if text.trim().is_empty() {
                let path = format_args!("settings.stop[{n}]");
                self.dropped(NoteEffect::Meaning, "blank_stop_sequence", path);
            } else {
                sequences.push((**text).to_owned());
            }
        }
        sequences
    }

    /// Whether a text is blank, and therefore left out, which is noted.
    pub fn is_blank(&mut self, at: impl Display, text: &str) -> bool {
        let is_blank = text.trim().is_empty();
        if is_blank {
            self.dropped(NoteEffect::Cosmetic, "blank_text", at);
        }
        is_blank
    }

    /// Notes the annotations of a text that is sent without them.
    pub fn annotations_lost(&mut self, at: impl Display, text: &Text) {
        for k in 0..text.annotations.len() {
            let path = format_args!("{at}.annotations[{k}]");
            self.dropped(NoteEffect::Quality, "annotation_not_sent", path);
        }
    }

    /// The text in place of an opaque block that is not sent; noted either way.
    pub fn fallback<'b>(&mut self, at: BlockPath, opaque: &'b OpaqueBlock) -> Option<&'b str> {
        let text = opaque.fallback.as_deref();
        let text = text.filter(|text| !text.trim().is_empty());
        match text {
            Some(_) => self.opaque_as_text(at.role, at),
            None => self.dropped(NoteEffect::Quality, "opaque_withheld", at),
        }
        text
    }

    /// Notes the text of an opaque block that is sent in its own form.
    pub fn fallback_lost(&mut self, at: BlockPath, opaque: &OpaqueBlock) {
        if opaque.fallback.is_some() {
            let path = format_args!("{at}.fallback");
            self.dropped(NoteEffect::Cosmetic, "fallback_not_sent", path);
        }
    }

    /// The parts of the system prompt that are not blank.
    pub fn system_parts<'p>(&mut self, system: &'p SystemPrompt) -> Vec<&'p SystemPart> {
        let parts = system.parts.iter().enumerate();
        let sent =
            parts.filter(|(n, part)| !self.is_blank(format_args!("system.parts[{n}]"), &part.text));
        sent.map(|(_, part)| part).collect()
    }
}
