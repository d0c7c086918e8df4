//! Locates the session that a client's request continues, if the client keeps the conversation itself.
//!
//! Such a client sends its whole history with each request, and often does not name a session. The facts record
//! what it has received: the ids of its client tool calls and, at the end of each turn, the [key](chain) of the
//! client's conversation. [`locate`] compares the two. It is pure; the engine searches for candidates.
//!
//! A key covers who said what: text without whitespace, and the ids, arguments and results of client tool
//! calls. It does not cover system prompts, reasoning and other tool calls, so it does not depend on the
//! dialect of a turn or on how the client stores it.

use std::sync::Arc;

use crate::block::{Block, Content};
use crate::call_order::call_positions;
use crate::conversation_key::ConversationKey;
use crate::digest::Digest;
use crate::ids::{ForkPlace, SessionId, ToolCallId, TurnId};
use crate::message::{Message, Role};
use crate::outcome::{OutcomePart, ToolOutcome, ToolResult};
use crate::rules::RuleViolation;
use crate::server_tool::restore_server_calls;
use crate::setup::{Opening, Transcript};

mod session_index;

pub use self::session_index::SessionIndex;

/// The place that a request continues.
#[derive(Clone, Debug, PartialEq)]
pub enum Located {
    /// It brings the results that a turn waits for.
    Answer {
        /// The results, including any that were sent before.
        results: Vec<Arc<ToolOutcome>>,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// It repeats results: their reply is undelivered, or was delivered before.
    Collect {
        /// The segment of the turn.
        segment: u32,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// It continues at the end of a session.
    Continue {
        /// The number of messages of the history that the session has; the rest opens the next turn.
        known_messages: usize,
        /// The session.
        session: SessionId,
    },
    /// It continues from the end of a turn that is not the session's last one, or whose session is busy.
    Fork {
        /// The place at which to fork the session.
        at: ForkPlace,
        /// The number of messages of the history that precede that place; the rest opens the next turn.
        known_messages: usize,
        /// The session.
        session: SessionId,
    },
    /// It brings results that are too late: the turn ended without them, or was interrupted after them, so that
    /// the client sends them again. They open another turn.
    Late {
        /// The place at which to fork the session first, if it has continued.
        at: Option<ForkPlace>,
        /// The results.
        results: Vec<Arc<ToolOutcome>>,
        /// The session.
        session: SessionId,
    },
    /// It repeats results and adds a message that it did not have before, for instance because the user aborted
    /// the reply and wrote something else. The new part opens another turn.
    More {
        /// The place at which to fork the session first: after the results, if known, and before the reply to
        /// them.
        at: Option<ForkPlace>,
        /// The session.
        session: SessionId,
        /// The new part.
        text: Arc<Message>,
    },
    /// It belongs to no known session.
    New,
    /// It brings results that cannot be accepted.
    Refused(ResultsRefused),
}

/// Why results cannot be accepted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ResultsRefused {
    /// A call already has another result.
    Conflict {
        /// The call.
        call: ToolCallId,
    },
    /// The turn also waits for results of other calls; it keeps waiting.
    Missing {
        /// The calls.
        calls: Vec<ToolCallId>,
    },
    /// The turn made no such client tool call.
    Unknown {
        /// The call.
        call: ToolCallId,
    },
}

/// The keys by which the session of a history can be found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryKeys {
    /// The prefixes of the history that may be a session's whole conversation, the longest first: their number
    /// of messages, and their keys.
    prefixes: Vec<(usize, Digest)>,
    /// The client tool results at its end.
    results: ClientResults,
    /// The key of the whole history.
    view: Option<Digest>,
}

/// The client tool results at the end of a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClientResults {
    /// The results, in the order of their calls. Text that follows them is part of the last one.
    pub(crate) results: Vec<Arc<ToolOutcome>>,
    /// That text: each block is also a part of the last result.
    pub(crate) trailing_text: Vec<Block>,
}

impl HistoryKeys {
    /// The keys of this history.
    #[must_use]
    pub fn from_history(history: &[Message]) -> Self {
        let (beginnings, view) = session_prefixes(history);
        Self {
            prefixes: beginnings,
            results: trailing_results(history),
            view,
        }
    }

    /// The calls whose results it brings, up to a limit that no real conversation reaches.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCallId> {
        let results = self.results.results.iter().take(MAX_TRACES);
        results.map(|result| &result.call)
    }

    /// The key of the whole history; `None` if it is empty.
    #[must_use]
    pub const fn view(&self) -> Option<Digest> {
        self.view
    }

    /// The keys of the prefixes that may be a session's whole conversation, the longest first, up to a limit
    /// that no real conversation reaches.
    pub fn views(&self) -> impl Iterator<Item = Digest> {
        let beginnings = self.prefixes.iter().take(MAX_TRACES);
        beginnings.map(|(_, view)| *view)
    }
}

/// The keys of a history after each of its messages.
#[must_use]
pub fn chain(history: &[Message]) -> Vec<Digest> {
    let mut key = ConversationKey::new();
    let after = |message: &Message| {
        key.push_message(message);
        key.digest()
    };
    history.iter().map(after).collect()
}

/// Locates a request with this history among these sessions.
///
/// Sessions of other principals are skipped. A session is found by the calls whose results end the history, or
/// else by the longest prefix of the history that is all that a client has received up to the end of a turn. A
/// prefix without a model's message does not count, and one that matches several sessions identifies none.
#[must_use]
pub fn locate(principal: &str, history: &HistoryKeys, sessions: &[SessionIndex]) -> Located {
    let own = || {
        sessions
            .iter()
            .filter(|known| known.principal() == Some(principal))
    };
    let has_call = |known: &&SessionIndex| history.calls().any(|call| known.has_call(call));
    if let Some(known) = own().find(has_call)
        && let Ok(located) = known.locate_results(history.results.clone())
    {
        return located;
    }
    for (place, view) in &history.prefixes {
        let mut fits = own().filter_map(|known| known.locate_view(*view, *place));
        if let Some(located) = fits.next() {
            return match fits.next() {
                None => located,
                Some(_) => Located::New,
            };
        }
    }
    Located::New
}

/// Locates a request with this history in a session that it names.
///
/// The session's own history takes precedence: of an unknown history, only the part after the model's last
/// message that a client's message follows is used.
#[must_use]
pub fn locate_in(history: &[Message], session: &SessionIndex) -> Located {
    let client_results = trailing_results(history);
    let mut results = client_results.results.iter();
    let mut edited = None;
    if results.any(|result| session.has_call(&result.call)) {
        match session.locate_results(client_results) {
            // The client names the session, so it continues the session's present end.
            Ok(Located::More {
                session,
                text: words,
                ..
            }) => {
                let at = None;
                return Located::More {
                    at,
                    session,
                    text: words,
                };
            }
            Ok(located) => return located,
            Err(call) => edited = Some(call),
        }
    }
    let (beginnings, view) = session_prefixes(history);
    let session_id = || session.session().clone();
    // Words of the model that it is to continue are new, with what they follow.
    let said = history
        .iter()
        .rposition(|message| message.role != Role::Assistant);
    let said = history
        .get(..said.map_or(0, |last| last + 1))
        .unwrap_or_default();
    let is_all_known = view.is_some_and(|view| session.locate_view(view, history.len()).is_some());
    if said.len() < history.len() && is_all_known {
        return Located::Continue {
            known_messages: history.len(),
            session: session_id(),
        };
    }
    let mut known = beginnings
        .iter()
        .filter_map(|(place, view)| session.locate_view(*view, *place));
    match known.next() {
        // The client names a busy session, so it means that session, not a fork.
        Some(Located::Fork { at, .. }) if session.is_next_turn_open(&at.turn) => {}
        Some(located) => return located,
        None => {}
    }
    if let Some(call) = edited {
        return Located::Refused(ResultsRefused::Conflict { call });
    }
    Located::Continue {
        known_messages: trailing_start(said),
        session: session_id(),
    }
}

/// Locates a request that continues from a reply that its client names: a segment of a turn. All of its history
/// is new.
///
/// `None` if the session has no such reply, or not for this principal.
#[must_use]
pub fn locate_after(
    principal: &str,
    turn: &TurnId,
    segment: u32,
    history: &[Message],
    session: &SessionIndex,
) -> Option<Located> {
    if session.principal() != Some(principal) {
        return None;
    }
    let after = session.locate_segment(turn, segment)?;
    let client_results = trailing_results(history);
    if client_results.results.is_empty() {
        return Some(after);
    }
    let mut results = client_results.results.iter();
    let unknown = results.find(|result| !session.has_call(&result.call));
    Some(match unknown {
        None => session
            .locate_results(client_results)
            .unwrap_or_else(|call| Located::Refused(ResultsRefused::Conflict { call })),
        Some(result) => Located::Refused(ResultsRefused::Unknown {
            call: result.call.clone(),
        }),
    })
}

/// The opening of a turn that follows these messages with the new part of a history. Calls that its client saw
/// as run by the server are converted back to server tool calls.
///
/// # Errors
///
/// The first rule that the whole conversation violates.
pub fn opening(before: &[Arc<Message>], new: &[Message]) -> Result<Opening, RuleViolation> {
    if !new.is_empty() && new.iter().all(|message| message.role == Role::User) {
        let mut merged = Message::new(Role::User, Vec::new());
        for message in new {
            merged.blocks.extend(message.blocks.iter().cloned());
            merged.opaque.extend(message.opaque.iter().cloned());
        }
        return Ok(Opening::UserMessage(Arc::new(merged)));
    }
    let before = before.iter().map(|message| Message::clone(message));
    // Remains of text that a client split into messages of its own.
    let is_blank = |message: &Message| {
        message.role == Role::Assistant && message.blocks.iter().all(Block::is_blank)
    };
    let new = restore_server_calls(new);
    let new = new.into_iter().filter(|message| !is_blank(message));
    let mut new = new.peekable();
    if new.peek().is_none() {
        return Err(RuleViolation::NoMessage);
    }
    let all = before.chain(new).collect();
    Transcript::parse(all).map(Opening::Transcript)
}

/// The results at the end of a history, in the order of their calls. Text that follows them is part of the last
/// one, because a turn that waits for results accepts nothing else.
#[must_use]
pub fn results(history: &[Message]) -> Vec<Arc<ToolOutcome>> {
    trailing_results(history).results
}

/// The results at the end of a history, and the text between them.
fn trailing_results(history: &[Message]) -> ClientResults {
    let (before, new) = history.split_at(trailing_start(history));
    let last_other = before
        .iter()
        .rposition(|message| message.role != Role::Assistant);
    let calls = before.get(last_other.map_or(0, |last| last + 1)..);
    let calls = calls.unwrap_or_default().iter();
    let places = call_positions(calls.flat_map(|message| message.calls().map(|call| &call.id)));
    let place = |outcome: &ToolOutcome| places.get(&outcome.call).copied().unwrap_or(usize::MAX);
    let mut outcomes: Vec<ToolOutcome> = Vec::new();
    let (mut parts, mut words) = (Vec::new(), Vec::new());
    for block in new.iter().flat_map(|message| &message.blocks) {
        match client_block(block) {
            ClientBlock::Nothing => {}
            ClientBlock::Outcome(outcome) => outcomes.push(outcome),
            ClientBlock::Part(part) => {
                parts.push(part);
                words.push(block.clone());
            }
        }
    }
    outcomes.sort_by_key(place);
    if let Some(last) = outcomes.last_mut() {
        last.result.content.append(&mut parts);
    }
    ClientResults {
        results: outcomes.into_iter().map(Arc::new).collect(),
        trailing_text: words,
    }
}

/// What a client's block adds to the results.
enum ClientBlock {
    Nothing,
    Outcome(ToolOutcome),
    Part(OutcomePart),
}

fn client_block(block: &Block) -> ClientBlock {
    match &block.content {
        Content::Audio(audio) => ClientBlock::Part(OutcomePart::Audio(audio.clone())),
        Content::Document(document) => ClientBlock::Part(OutcomePart::Document(document.clone())),
        Content::Image(image) => ClientBlock::Part(OutcomePart::Image(image.clone())),
        Content::Opaque(block) => match &block.fallback {
            Some(fallback) => ClientBlock::Part(OutcomePart::Text(Arc::clone(fallback))),
            None => ClientBlock::Nothing,
        },
        Content::Refusal(text) => ClientBlock::Part(OutcomePart::Text(Arc::clone(text))),
        Content::Text(text) => ClientBlock::Part(OutcomePart::Text(Arc::clone(&text.text))),
        Content::Thinking(_) | Content::ToolCall(_) => ClientBlock::Nothing,
        Content::ToolOutcome(outcome) => ClientBlock::Outcome(ToolOutcome {
            call: outcome.call.clone(),
            opaque: outcome.opaque.clone(),
            result: ToolResult::clone(&outcome.result),
        }),
    }
}

/// The index of the first message after the model's last one.
fn trailing_start(history: &[Message]) -> usize {
    let last = history
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    last.map_or(0, |last| last + 1)
}

/// The prefixes of a history that end with a message of the model and are followed by one of the client: their
/// lengths and keys, the longest first. Also the key of the whole history.
fn session_prefixes(history: &[Message]) -> (Vec<(usize, Digest)>, Option<Digest>) {
    let mut found = Vec::new();
    let mut key = ConversationKey::new();
    // The last message with content, if it is the model's.
    let mut last: Option<usize> = None;
    for (place, message) in (1..).zip(history) {
        if !key.push_message(message) {
            continue;
        }
        if message.role == Role::Assistant {
            last = Some(place);
        } else if let Some(place) = last.take() {
            // The client's message begins a new side.
            found.push((place, key.before()));
        }
    }
    found.reverse();
    (found, (!history.is_empty()).then(|| key.digest()))
}

/// The maximum number of calls, and of prefixes, that are searched for per history.
const MAX_TRACES: usize = 1_000;
