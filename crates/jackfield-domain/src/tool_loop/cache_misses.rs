//! Rounds that read nothing from the provider's cache, although the round before used it.

use crate::message::Message;
use crate::note::{Note, NoteEffect, NoteKind};
use crate::request::ModelRequest;
use crate::usage::Usage;

/// The requests whose use of the cache is compared.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheWatch {
    /// The last request.
    asked: Option<Box<ModelRequest>>,
    /// The one before it, if its reply was written to the cache or read from it.
    cached: Option<Box<ModelRequest>>,
}

impl CacheWatch {
    /// Records a request.
    pub(super) fn ask(&mut self, request: &ModelRequest) {
        self.asked = Some(Box::new(request.clone()));
    }

    /// The note on a reply with this usage to the last request, if it should have read from the cache and did not.
    pub(super) fn missed(&mut self, usage: &Usage) -> Option<Note> {
        let asked = self.asked.take()?;
        let before = self.cached.take();
        let is_read = usage.cache_read > 0 || usage.estimated_input > 0;
        let note = before.filter(|_| !is_read).map(|before| {
            let path = first_difference(&before, &asked);
            Note::new(NoteKind::Dropped, NoteEffect::Cost, CACHE_MISSED, path)
        });
        self.cached = (usage.cache_read > 0 || usage.cache_write > 0).then_some(asked);
        note
    }
}

/// The path of the first part of a request that the one before it had otherwise; [`WHOLE`] if there is none.
fn first_difference(before: &ModelRequest, now: &ModelRequest) -> String {
    if before.model != now.model {
        return "model".to_owned();
    }
    if before.tools != now.tools {
        let same = before.tools.iter().zip(now.tools.iter());
        let n = same.take_while(|(before, now)| before == now).count();
        return format!("tools[{n}]");
    }
    if before.system != now.system {
        let same = before.system.parts.iter().zip(&now.system.parts);
        let n = same.take_while(|(before, now)| before == now).count();
        return format!("system.parts[{n}]");
    }
    if before.settings != now.settings {
        return "settings".to_owned();
    }
    if before.choice != now.choice {
        return "choice".to_owned();
    }
    let mut messages = now.messages.iter();
    for (n, message) in before.messages.iter().enumerate() {
        let k = messages
            .next()
            .map_or(Some(0), |now| different_block(message, now));
        if let Some(k) = k {
            return format!("messages[{n}].blocks[{k}]");
        }
    }
    WHOLE.to_owned()
}

/// The index of the first block that two messages do not share, cache points aside.
fn different_block(before: &Message, now: &Message) -> Option<usize> {
    let same = before.blocks.iter().zip(&now.blocks);
    let same = same
        .take_while(|(before, now)| before.content == now.content && before.opaque == now.opaque);
    let count = same.count();
    let is_same = before.role == now.role && count == before.blocks.len();
    (!(is_same && count == now.blocks.len())).then_some(count)
}

/// The code of the note.
const CACHE_MISSED: &str = "cache_missed";
/// The path if nothing has changed: what was cached has expired, or is elsewhere.
const WHOLE: &str = "request";
