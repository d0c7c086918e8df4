//! Locating: which session a client goes on with that keeps the conversation on its side.
//!
//! Such a client sends its whole history with each request, and often nothing that names a session. What it
//! was shown is known from the facts: the ids of the calls that it was handed, and, with the end of each
//! turn, the [key](chain) of the conversation as the client has it then. [`locate`] compares the two.
//! It is pure; the search for candidates is the engine's.
//!
//! A key says who said what: the words without whitespace, the ids and the arguments of the client's calls,
//! and what came of them. System prompts, reasoning and calls that the client did not run are no part of
//! it, so that it makes no difference in which dialect a client was shown a turn, or how it stores it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::block::{Block, Content};
use crate::digest::Digest;
use crate::fork::ForkPlace;
use crate::ids::{SessionId, ToolCallId, TurnId};
use crate::message::{Message, Role};
use crate::outcome::{OutcomePart, ToolOutcome, ToolResult};
use crate::rules::RuleViolation;
use crate::server_tool::as_run;
use crate::setup::{Opening, Transcript};

pub(crate) mod key;
mod session_index;

use self::key::ConversationKey;
pub use self::session_index::SessionIndex;

/// Where a request belongs.
#[derive(Clone, Debug, PartialEq)]
pub enum Located {
    /// It brings the results that a turn waits for.
    Answer {
        /// The results, those included that were brought before.
        results: Vec<Arc<ToolOutcome>>,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// It brings results once more: the reply to them is owed, or was given.
    Collect {
        /// Which reply of the turn.
        segment: u32,
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// It goes on where a session ends.
    Continue {
        /// How many messages of the history the session knows; the rest opens the next turn.
        known: usize,
        /// The session.
        session: SessionId,
    },
    /// It goes on from the end of a turn of a session that has gone on otherwise, or is at work.
    Fork {
        /// Where the session is to be forked.
        at: ForkPlace,
        /// How many messages of the history are known there; the rest opens the next turn.
        known: usize,
        /// The session.
        session: SessionId,
    },
    /// It brings results that came too late: a turn has ended without them, or it broke off behind them,
    /// so that they are brought once more. They open another turn.
    Late {
        /// Where the session is to be forked before, if it has gone on.
        at: Option<ForkPlace>,
        /// The results.
        results: Vec<Arc<ToolOutcome>>,
        /// The session.
        session: SessionId,
    },
    /// It brings results once more, and says something beside them that it did not say then, as where
    /// somebody broke off the reply to them and said something else: what is new of it opens another turn.
    More {
        /// Where the session is to be forked before; behind the results, if that is known, and not behind
        /// what was said to them.
        at: Option<ForkPlace>,
        /// The session.
        session: SessionId,
        /// What is new of it.
        words: Arc<Message>,
    },
    /// It belongs to no session that is known.
    New,
    /// It brings results that cannot be taken.
    Refused(ResultsRefused),
}

/// Why results cannot be taken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ResultsRefused {
    /// A call has another result by now.
    Conflict {
        /// The call.
        call: ToolCallId,
    },
    /// The turn waits for results of other calls, too; it goes on waiting.
    Missing {
        /// The calls.
        calls: Vec<ToolCallId>,
    },
    /// The turn made no such call.
    Unknown {
        /// The call.
        call: ToolCallId,
    },
}

/// By what the session of a history can be found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryKeys {
    /// Its beginnings that may be all that a session knows, the longest first: how many messages they have,
    /// and their keys.
    beginnings: Vec<(usize, Digest)>,
    /// What it brings.
    brings: ClientResults,
    /// The key of all of it.
    view: Option<Digest>,
}

/// What a history ends with that brings results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClientResults {
    /// The results, in the order of their calls. Words that follow them belong to the last one.
    pub(crate) results: Vec<Arc<ToolOutcome>>,
    /// These words: a part each of the last result.
    pub(crate) words: Vec<Block>,
}

impl HistoryKeys {
    /// Those of this history.
    #[must_use]
    pub fn of(history: &[Message]) -> Self {
        let (beginnings, view) = beginnings(history);
        Self {
            beginnings,
            brings: brings(history),
            view,
        }
    }

    /// The calls whose results it brings; no more of them than a conversation comes to have.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCallId> {
        let results = self.brings.results.iter().take(MOST_TRACES);
        results.map(|result| &result.call)
    }

    /// The key of the whole history; `None` of an empty one.
    #[must_use]
    pub const fn view(&self) -> Option<Digest> {
        self.view
    }

    /// The keys of its beginnings that may be all that a session knows, the longest first; no more of them
    /// than a conversation comes to have.
    pub fn views(&self) -> impl Iterator<Item = Digest> {
        let beginnings = self.beginnings.iter().take(MOST_TRACES);
        beginnings.map(|(_, view)| *view)
    }
}

/// The key of a history after each of its messages.
#[must_use]
pub fn chain(history: &[Message]) -> Vec<Digest> {
    let mut key = ConversationKey::new();
    let after = |message: &Message| {
        key.message(message);
        key.digest()
    };
    history.iter().map(after).collect()
}

/// Where a request with this history belongs, among these sessions.
///
/// A session of anybody but the principal is passed over. A session is found by the calls whose results the
/// history ends with, and otherwise by the longest beginning of the history that is all that a client was
/// shown up to the end of a turn; one in which no model has said anything is none, and one that fits
/// several sessions tells nothing.
#[must_use]
pub fn locate(principal: &str, history: &HistoryKeys, sessions: &[SessionIndex]) -> Located {
    let own = || {
        sessions
            .iter()
            .filter(|known| known.principal() == Some(principal))
    };
    let asked = |known: &&SessionIndex| history.calls().any(|call| known.has_asked(call));
    if let Some(known) = own().find(asked)
        && let Ok(located) = known.take(history.brings.clone())
    {
        return located;
    }
    for (place, view) in &history.beginnings {
        let mut fits = own().filter_map(|known| known.at(*view, *place));
        if let Some(located) = fits.next() {
            return match fits.next() {
                None => located,
                Some(_) => Located::New,
            };
        }
    }
    Located::New
}

/// Where a request with this history belongs in a session that it names.
///
/// What the session knows holds: of a history that it does not know, only what comes after the last words
/// of the model is taken.
#[must_use]
pub fn locate_in(history: &[Message], session: &SessionIndex) -> Located {
    let brings = brings(history);
    let mut results = brings.results.iter();
    let mut edited = None;
    if results.any(|result| session.has_asked(&result.call)) {
        match session.take(brings) {
            // Whoever names a session means that one, with what was said in it since.
            Ok(Located::More { session, words, .. }) => {
                let at = None;
                return Located::More { at, session, words };
            }
            Ok(located) => return located,
            Err(call) => edited = Some(call),
        }
    }
    let (beginnings, _) = beginnings(history);
    let mut known = beginnings
        .iter()
        .filter_map(|(place, view)| session.at(*view, *place));
    match known.next() {
        // Whoever names a session that is at work means that one.
        Some(Located::Fork { at, .. }) if session.is_at_work_after(&at.turn) => {}
        Some(located) => return located,
        None => {}
    }
    if let Some(call) = edited {
        return Located::Refused(ResultsRefused::Conflict { call });
    }
    Located::Continue {
        known: trailing(history),
        session: session.session().clone(),
    }
}

/// Where a request belongs that goes on from a reply that its client names: that of this segment of a
/// turn. All of its history is new.
///
/// `None` if there is no such reply in the session, or not for this principal.
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
    let after = session.after(turn, segment)?;
    let brings = brings(history);
    if brings.results.is_empty() {
        return Some(after);
    }
    let mut results = brings.results.iter();
    let unknown = results.find(|result| !session.has_asked(&result.call));
    Some(match unknown {
        None => session
            .take(brings)
            .unwrap_or_else(|call| Located::Refused(ResultsRefused::Conflict { call })),
        Some(result) => Located::Refused(ResultsRefused::Unknown {
            call: result.call.clone(),
        }),
    })
}

/// What a turn begins with that goes on behind these messages with what is new of a history. What its
/// client was shown as run by the server is told as it was run.
///
/// # Errors
///
/// The first rule that the whole conversation breaks.
pub fn opening(before: &[Arc<Message>], new: &[Message]) -> Result<Opening, RuleViolation> {
    if !new.is_empty() && new.iter().all(|message| message.role == Role::User) {
        let mut one = Message::new(Role::User, Vec::new());
        for message in new {
            one.blocks.extend(message.blocks.iter().cloned());
            one.opaque.extend(message.opaque.iter().cloned());
        }
        return Ok(Opening::UserMessage(Arc::new(one)));
    }
    let before = before.iter().map(|message| Message::clone(message));
    // What is left of words that a client cut into messages of their own.
    let says_nothing = |message: &Message| {
        message.role == Role::Assistant && message.blocks.iter().all(Block::is_blank)
    };
    let new = as_run(new);
    let new = new.into_iter().filter(|message| !says_nothing(message));
    let all = before.chain(new).collect();
    Transcript::parse(all).map(Opening::Transcript)
}

/// Puts the outcomes of a history into the order of their calls, as it is kept here and as models are told
/// it: clients bring them in any order, such as that in which their tools finished.
pub fn in_call_order(messages: &mut [Message]) {
    for n in 1..messages.len() {
        if let Some([asks, answers]) = messages.get_mut(n - 1..=n)
            && answers.role == Role::Tool
        {
            let places = places(asks.calls().map(|call| &call.id));
            // What answers none of them stays behind those that do, for whoever judges it.
            answers.blocks.sort_by_key(|block| match &block.content {
                Content::ToolOutcome(outcome) => {
                    places.get(&outcome.call).copied().unwrap_or(usize::MAX)
                }
                Content::Audio(_)
                | Content::Document(_)
                | Content::Image(_)
                | Content::Opaque(_)
                | Content::Refusal(_)
                | Content::Text(_)
                | Content::Thinking(_)
                | Content::ToolCall(_) => usize::MAX,
            });
        }
    }
}

/// The results that a history ends with, in the order of their calls. Words that follow them belong to
/// the last one, as nothing else can be told to a turn that waits for it.
#[must_use]
pub fn results(history: &[Message]) -> Vec<Arc<ToolOutcome>> {
    brings(history).results
}

/// The results that a history ends with, and the words among them.
fn brings(history: &[Message]) -> ClientResults {
    let (before, new) = history.split_at(trailing(history));
    let silent = before
        .iter()
        .rposition(|message| message.role != Role::Assistant);
    let asks = before.get(silent.map_or(0, |last| last + 1)..);
    let asks = asks.unwrap_or_default().iter();
    let places = places(asks.flat_map(|message| message.calls().map(|call| &call.id)));
    let place = |outcome: &ToolOutcome| places.get(&outcome.call).copied().unwrap_or(usize::MAX);
    let mut outcomes: Vec<ToolOutcome> = Vec::new();
    let (mut parts, mut words) = (Vec::new(), Vec::new());
    for block in new.iter().flat_map(|message| &message.blocks) {
        match said(block) {
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
        words,
    }
}

/// The place of each of these calls among them.
pub(crate) fn places<'a>(
    calls: impl Iterator<Item = &'a ToolCallId>,
) -> HashMap<&'a ToolCallId, usize> {
    let mut places = HashMap::new();
    for (place, call) in calls.enumerate() {
        places.entry(call).or_insert(place);
    }
    places
}

/// What a client brings with a block.
enum ClientBlock {
    Nothing,
    Outcome(ToolOutcome),
    Part(OutcomePart),
}

fn said(block: &Block) -> ClientBlock {
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

/// Where the messages begin that come after the last one of the model.
fn trailing(history: &[Message]) -> usize {
    let last = history
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    last.map_or(0, |last| last + 1)
}

/// The beginnings of a history that end with words of the model and have something of the client behind
/// them: how long they are, and their keys; the longest first. And the key of all of it.
fn beginnings(history: &[Message]) -> (Vec<(usize, Digest)>, Option<Digest>) {
    let mut found = Vec::new();
    let mut key = ConversationKey::new();
    // The last message that says something, if it is the model's.
    let mut last: Option<(usize, Digest)> = None;
    for (place, message) in (1..).zip(history) {
        if !key.message(message) {
            continue;
        }
        if message.role == Role::Assistant {
            last = Some((place, key.digest()));
        } else {
            found.extend(last.take());
        }
    }
    found.reverse();
    (found, (!history.is_empty()).then(|| key.digest()))
}

/// How many calls, and how many beginnings, of one history are looked for.
const MOST_TRACES: usize = 1_000;
