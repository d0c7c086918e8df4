//! An index of a session by what its client has received and sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::client_view::{Segments, event_facts};
use crate::conversation_key::{count_known_parts, prefix_digests, result_digest};
use crate::digest::Digest;
use crate::fact::{Envelope, Fact, TurnEnd};
use crate::ids::{ForkPlace, SessionId, ToolCallId, TurnId, WaitId};
use crate::locate::{ClientResults, Located, ResultsRefused};
use crate::message::{Message, Role};
use crate::outcome::ToolOutcome;
use crate::setup::Opening;
use crate::wait::{Answer, WaitEnd, WaitKind};

/// A session, as its clients know it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionIndex {
    calls: BTreeMap<ToolCallId, IndexedCall>,
    principal: Option<Arc<str>>,
    session: SessionId,
    turns: Vec<IndexedTurn>,
}

#[derive(Clone, Debug, PartialEq)]
struct IndexedTurn {
    /// Whether it was interrupted: the client did not receive its last reply completely.
    has_failed: bool,
    id: TurnId,
    is_over: bool,
    /// The late results that opened it.
    late: BTreeMap<ToolCallId, Digest>,
    ordinal: u32,
    /// The current round.
    round: u32,
    /// The current segment.
    segment: u32,
    view: Option<Digest>,
}

/// A client tool call.
#[derive(Clone, Debug, PartialEq)]
struct IndexedCall {
    /// The round that made it.
    round: u32,
    /// The segment that delivered it to the client.
    segment: u32,
    state: IndexedCallState,
    /// The index of its turn.
    turn: usize,
    wait: WaitId,
}

#[derive(Clone, Debug, PartialEq)]
enum IndexedCallState {
    /// The client sent its result.
    Answered {
        /// The digests of the result's prefixes: the result may be one of them, followed by the client's text.
        prefixes: Vec<Digest>,
        /// The digest of the whole result.
        content: Digest,
        /// The segment in which it arrived.
        segment: u32,
    },
    /// The turn waits for it.
    Open,
    /// The turn does not wait for it anymore.
    TooLate,
}

impl SessionIndex {
    /// The index of a session, given all of its steps.
    #[must_use]
    pub fn from_steps(session: SessionId, steps: &[Envelope]) -> Self {
        let mut index = Self {
            calls: BTreeMap::new(),
            principal: None,
            session,
            turns: Vec::new(),
        };
        let mut segments = None;
        for (fact, is_last) in steps.iter().flat_map(event_facts) {
            index.apply(fact);
            if let Some(opened) = Segments::open(fact) {
                segments = Some(opened);
            } else if let Some(segments) = &mut segments
                && segments.apply(fact, is_last)
            {
                index.close_segment(segments);
            }
            if let (Some(turn), Some(segments)) = (index.turns.last_mut(), &segments) {
                turn.round = segments.turn().rounds();
                turn.segment = segments.current();
            }
        }
        index
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The owner: the principal of the first caller. `None` if no turn had a caller.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// Whether the session delivered this client tool call.
    #[must_use]
    pub fn has_call(&self, call: &ToolCallId) -> bool {
        self.calls.contains_key(call)
    }

    /// Locates a request with results, at least one of which is for a call of this session.
    ///
    /// # Errors
    ///
    /// The call whose result was sent before with different text after it: the client edited the history there.
    pub(crate) fn locate_results(
        &self,
        client_results: ClientResults,
    ) -> Result<Located, ToolCallId> {
        let matched = self.match_results(&client_results);
        let ClientResults {
            results,
            trailing_text: words,
        } = client_results;
        Ok(match matched {
            Err(refused) => Located::Refused(refused),
            Ok((_, ResultsMatch::Edited(call))) => return Err(call),
            Ok((turn, ResultsMatch::Waits)) => Located::Answer {
                results,
                session: self.session.clone(),
                turn: turn.id.clone(),
            },
            Ok((turn, ResultsMatch::Again(segment))) => Located::Collect {
                segment,
                session: self.session.clone(),
                turn: turn.id.clone(),
            },
            Ok((turn, ResultsMatch::More { at, known })) => {
                let new = words.into_iter().skip(known).collect();
                Located::More {
                    at: Some(ForkPlace {
                        ordinal: turn.ordinal,
                        round: at,
                        turn: turn.id.clone(),
                    }),
                    session: self.session.clone(),
                    text: Arc::new(Message::new(Role::User, new)),
                }
            }
            Ok((turn, ResultsMatch::TooLate)) => self.locate_late(turn, results),
        })
    }

    /// Locates a history whose first `known` messages have this key; `None` if no turn ended with that key.
    pub(super) fn locate_view(&self, view: Digest, known: usize) -> Option<Located> {
        let mut ends = self.turns.iter().rev();
        let turn = ends.find(|turn| turn.view == Some(view))?;
        let session = self.session.clone();
        Some(match self.fork_after(turn) {
            None => Located::Continue {
                known_messages: known,
                session,
            },
            Some(at) => Located::Fork {
                at,
                known_messages: known,
                session,
            },
        })
    }

    /// Locates a request that follows this segment of a turn and brings no results; `None` if there is no such
    /// segment.
    pub(super) fn locate_segment(&self, turn: &TurnId, segment: u32) -> Option<Located> {
        let place = self.turns.iter().position(|known| known.id == *turn)?;
        let turn = self.turns.get(place)?;
        if segment > turn.segment {
            return None;
        }
        let missing = self.calls.iter().filter(|(_, call)| {
            let is_delivered = call.turn == place && call.segment == segment;
            is_delivered && call.state != IndexedCallState::TooLate
        });
        let calls: Vec<ToolCallId> = missing.map(|(id, _)| id.clone()).collect();
        if !calls.is_empty() {
            return Some(Located::Refused(ResultsRefused::Missing { calls }));
        }
        let session = self.session.clone();
        // The client names a turn that is busy, so it means that turn, not a fork.
        let at = self.fork_after(turn).filter(|_| turn.is_over);
        Some(match at {
            None => Located::Continue {
                known_messages: 0,
                session,
            },
            Some(at) => Located::Fork {
                at,
                known_messages: 0,
                session,
            },
        })
    }

    /// Whether the turn after this one is the last one, and open.
    pub(super) fn is_next_turn_open(&self, turn: &TurnId) -> bool {
        match self.turns.as_slice() {
            [.., before, last] => before.id == *turn && !last.is_over,
            [] | [_] => false,
        }
    }

    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::TurnOpened {
                opening,
                ordinal,
                setup,
                turn,
            } => {
                if let (None, Some(caller)) = (&self.principal, &setup.caller) {
                    self.principal = Some(Arc::clone(&caller.principal));
                }
                let results = match opening {
                    Opening::ClientResults(results) => results.as_slice(),
                    Opening::Transcript(_) | Opening::UserMessage(_) => &[],
                };
                let late = results
                    .iter()
                    .map(|outcome| (outcome.call.clone(), result_digest(&outcome.result)));
                self.turns.push(IndexedTurn {
                    has_failed: false,
                    id: turn.clone(),
                    is_over: false,
                    late: late.collect(),
                    ordinal: *ordinal,
                    round: 0,
                    segment: 0,
                    view: None,
                });
            }
            Fact::TurnEnded { end, view } => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.has_failed = match end {
                        TurnEnd::Cancelled(_) | TurnEnd::Failed(_) | TurnEnd::Interrupted(_) => {
                            true
                        }
                        TurnEnd::Answered(_) | TurnEnd::ClientExpired | TurnEnd::Limited { .. } => {
                            false
                        }
                    };
                    turn.is_over = true;
                    turn.view = *view;
                }
            }
            Fact::WaitOpened { wait } => {
                if let (WaitKind::ClientResult, Some(turn)) =
                    (&wait.kind, self.turns.len().checked_sub(1))
                {
                    let call = IndexedCall {
                        round: self.turns.last().map_or(0, |turn| turn.round),
                        segment: self.turns.last().map_or(0, |turn| turn.segment),
                        state: IndexedCallState::Open,
                        turn,
                        wait: wait.id.clone(),
                    };
                    self.calls.insert(wait.call.clone(), call);
                }
            }
            Fact::WaitClosed { end, wait, .. } => {
                let segment = self.turns.last().map_or(0, |turn| turn.segment);
                let mut calls = self.calls.values_mut();
                if let Some(call) = calls.find(|call| call.wait == *wait) {
                    call.state = match end {
                        WaitEnd::Answered {
                            answer: Answer::ClientResult(client_result),
                            ..
                        } => IndexedCallState::Answered {
                            prefixes: prefix_digests(&client_result.result),
                            content: result_digest(&client_result.result),
                            segment,
                        },
                        WaitEnd::Answered { .. }
                        | WaitEnd::Cancelled
                        | WaitEnd::Expired
                        | WaitEnd::Superseded => IndexedCallState::TooLate,
                    };
                }
            }
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::ReplyReceived { .. }
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnResumed { .. } => {}
        }
    }

    /// A segment has ended with calls. Results of its last round that arrived before its end are answered by
    /// the next segment, too.
    fn close_segment(&mut self, segments: &Segments) {
        for open in segments.turn().calls() {
            if let Some(call) = self.calls.get_mut(&open.call.id)
                && let IndexedCallState::Answered { segment, .. } = &mut call.state
            {
                *segment = segments.current();
            }
        }
    }

    /// Compares results with the turn whose calls they answer.
    fn match_results(
        &self,
        client_results: &ClientResults,
    ) -> Result<(&IndexedTurn, ResultsMatch), ResultsRefused> {
        let ClientResults {
            results,
            trailing_text: words,
        } = client_results;
        let unknown = |result: &Arc<ToolOutcome>| ResultsRefused::Unknown {
            call: result.call.clone(),
        };
        let mut turn_index = None;
        let mut answered_segment = None;
        let mut follow_up = None;
        let mut too_late = false;
        for (place, result) in (1..).zip(results) {
            let call = self
                .calls
                .get(&result.call)
                .ok_or_else(|| unknown(result))?;
            if *turn_index.get_or_insert(call.turn) != call.turn {
                return Err(unknown(result));
            }
            match &call.state {
                IndexedCallState::Answered {
                    prefixes: beginnings,
                    content,
                    segment,
                } => {
                    if result_digest(&result.result) != *content {
                        // Only the last result can contain text that followed the results.
                        let words = if place == results.len() {
                            words.len()
                        } else {
                            0
                        };
                        let id = || result.call.clone();
                        let known_parts = count_known_parts(&result.result, words, *content);
                        let at = self.round_end(call);
                        // The part before the text, if there is any.
                        let own = result.result.content.len().checked_sub(words + 1);
                        let own =
                            own.and_then(|last| prefix_digests(&result.result).get(last).copied());
                        follow_up = Some(match (known_parts, at) {
                            (Some(known), Some(at)) if words > 0 => {
                                ResultsMatch::More { at, known }
                            }
                            _ if own.is_some_and(|own| beginnings.contains(&own)) => {
                                ResultsMatch::Edited(id())
                            }
                            _ => return Err(ResultsRefused::Conflict { call: id() }),
                        });
                    }
                    answered_segment = answered_segment.max(Some(*segment));
                }
                IndexedCallState::Open => {}
                IndexedCallState::TooLate => too_late = true,
            }
        }
        let place = turn_index.unwrap_or_default();
        let sent: BTreeSet<&ToolCallId> = results.iter().map(|result| &result.call).collect();
        let open = self
            .calls
            .iter()
            .filter(|(_, call)| call.turn == place && call.state == IndexedCallState::Open);
        let (answered, missing): (Vec<_>, Vec<_>) = open.partition(|(id, _)| sent.contains(id));
        let turn = self.turns.get(place);
        let turn = turn.ok_or(ResultsRefused::Missing { calls: Vec::new() })?;
        Ok(match (answered.is_empty(), answered_segment) {
            (false, _) if missing.is_empty() => (turn, ResultsMatch::Waits),
            (false, _) => {
                let calls = missing.into_iter().map(|(id, _)| id.clone());
                return Err(ResultsRefused::Missing {
                    calls: calls.collect(),
                });
            }
            (true, Some(_)) if let Some(more) = follow_up => (turn, more),
            // The turn is about to end without them, and the reply reports that.
            (true, _) if too_late && !turn.is_over => (turn, ResultsMatch::Again(turn.segment)),
            (true, _) if too_late => (turn, ResultsMatch::TooLate),
            // The client repeats a request whose reply was interrupted: it wants a new attempt.
            (true, Some(segment)) if turn.has_failed && segment == turn.segment => {
                (turn, ResultsMatch::TooLate)
            }
            (true, Some(segment)) => (turn, ResultsMatch::Again(segment)),
            (true, None) => (turn, ResultsMatch::TooLate),
        })
    }

    /// The end of a call's round, as in [`ForkPlace`]; `None` while the round is open.
    fn round_end(&self, call: &IndexedCall) -> Option<Option<u32>> {
        let turn = self.turns.get(call.turn)?;
        if turn.round > call.round {
            return Some(Some(call.round));
        }
        turn.is_over.then_some(None)
    }

    /// Locates results that a turn ended without, or after which it was interrupted.
    fn locate_late(&self, turn: &IndexedTurn, results: Vec<Arc<ToolOutcome>>) -> Located {
        let same = |begun: &&IndexedTurn| {
            !begun.has_failed
                && begun.late.len() == results.len()
                && results.iter().all(|result| {
                    begun.late.get(&result.call) == Some(&result_digest(&result.result))
                })
        };
        if let Some(begun) = self.turns.iter().find(same) {
            return Located::Collect {
                segment: 0,
                session: self.session.clone(),
                turn: begun.id.clone(),
            };
        }
        Located::Late {
            at: self.fork_after(turn),
            results,
            session: self.session.clone(),
        }
    }

    /// The place at which to fork the session to continue after this turn; `None` if the turn is the session's
    /// end.
    fn fork_after(&self, turn: &IndexedTurn) -> Option<ForkPlace> {
        let is_last = self.turns.last().is_some_and(|last| last.id == turn.id);
        (!is_last || !turn.is_over).then(|| ForkPlace {
            ordinal: turn.ordinal,
            round: None,
            turn: turn.id.clone(),
        })
    }
}

/// How results relate to a turn.
enum ResultsMatch {
    /// They were sent before; this segment answers them.
    Again(u32),
    /// They were sent before, but the result of this call with different text after it.
    Edited(ToolCallId),
    /// They were sent before, with only the first `known` blocks of the text that follows them now; `at` is the
    /// end of their round.
    More { at: Option<u32>, known: usize },
    /// The turn ended without them, or was interrupted after them.
    TooLate,
    /// The turn waits for them.
    Waits,
}
