//! Rounds that read nothing from the provider's cache, although the round before used it.

use std::sync::Arc;

use crate::message::Message;
use crate::note::{Note, NoteEffect, NoteKind};
use crate::request::{ModelRef, ModelRequest};
use crate::tool::{ToolChoice, ToolDefinition};
use crate::usage::Usage;

/// The requests whose use of the cache is compared.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheWatch {
    /// The last request.
    asked: Option<Asked>,
    /// The one before it.
    cached: Cached,
}

/// A request whose reply was written to the cache or read from it.
#[derive(Clone, Debug, Default)]
enum Cached {
    #[default]
    No,
    Request(Asked),
    /// Another process made it.
    Unknown,
}

/// What may change between two requests of a turn. Of its messages, only a compaction changes those that were sent, and
/// it begins with the first; a share of all would have the loop copy them before it adds one.
#[derive(Clone, Debug)]
struct Asked {
    choice: ToolChoice,
    first: Option<Arc<Message>>,
    model: ModelRef,
    tools: Arc<Vec<Arc<ToolDefinition>>>,
}

impl CacheWatch {
    /// After a change of the process, with the usage of the turn's last reply.
    pub(super) const fn recovered(last: &Usage) -> Self {
        let cached = if uses_cache(last) {
            Cached::Unknown
        } else {
            Cached::No
        };
        Self {
            asked: None,
            cached,
        }
    }

    /// Records a request.
    pub(super) fn ask(&mut self, request: &ModelRequest) {
        self.asked = Some(Asked {
            choice: request.choice.clone(),
            first: request.messages.iter().next().cloned(),
            model: request.model.clone(),
            tools: Arc::clone(&request.tools),
        });
    }

    /// The note on a reply with this usage to the last request, if it should have read from the cache and did not.
    pub(super) fn missed(&mut self, usage: &Usage) -> Option<Note> {
        let asked = self.asked.take()?;
        let path = match std::mem::take(&mut self.cached) {
            Cached::No => None,
            Cached::Request(before) => Some(first_difference(&before, &asked)),
            Cached::Unknown => Some(UNKNOWN.to_owned()),
        };
        if uses_cache(usage) {
            self.cached = Cached::Request(asked);
        }
        let is_read = usage.cache_read > 0 || usage.estimated_input > 0;
        let path = path.filter(|_| !is_read)?;
        let note = Note::new(NoteKind::Dropped, NoteEffect::Cost, CACHE_MISSED, path);
        Some(note)
    }
}

const fn uses_cache(usage: &Usage) -> bool {
    usage.cache_read > 0 || usage.cache_write > 0
}

/// The path of the first part of a request that the one before it had otherwise; [`WHOLE`] if there is none.
fn first_difference(before: &Asked, now: &Asked) -> String {
    if before.model != now.model {
        return "model".to_owned();
    }
    if before.tools != now.tools {
        let same = before.tools.iter().zip(now.tools.iter());
        let n = same.take_while(|(before, now)| before == now).count();
        return format!("tools[{n}]");
    }
    if before.choice != now.choice {
        return "choice".to_owned();
    }
    if before.first != now.first {
        return "messages[0]".to_owned();
    }
    WHOLE.to_owned()
}

/// The code of the note.
const CACHE_MISSED: &str = "cache_missed";
/// The path if another process made the request before.
const UNKNOWN: &str = "unknown";
/// The path if nothing has changed: what was cached has expired, or is elsewhere.
const WHOLE: &str = "request";
