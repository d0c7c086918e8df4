//! What is known of a session by what its client was shown, and brought.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::client_view::{Segments, told};
use crate::digest::Digest;
use crate::fact::{Envelope, Fact, TurnEnd};
use crate::fork::ForkPlace;
use crate::ids::{SessionId, ToolCallId, TurnId, WaitId};
use crate::locate::key::{of_beginnings, of_result, said_before};
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
    /// Whether it broke off: nothing of what it says last was given to anybody whole.
    has_failed: bool,
    id: TurnId,
    is_over: bool,
    /// The late results that it began with.
    late: BTreeMap<ToolCallId, Digest>,
    ordinal: u32,
    /// Its round.
    round: u32,
    /// Which reply of it is being told.
    segment: u32,
    view: Option<Digest>,
}

/// A call that a client was handed.
#[derive(Clone, Debug, PartialEq)]
struct IndexedCall {
    /// The round that made it.
    round: u32,
    /// With which reply of its turn it was handed out.
    segment: u32,
    state: IndexedCallState,
    /// The place of its turn.
    turn: usize,
    wait: WaitId,
}

#[derive(Clone, Debug, PartialEq)]
enum IndexedCallState {
    /// The client brought this.
    Brought {
        /// What each beginning of it says: it may be the result itself, with words of the client behind it.
        beginnings: Vec<Digest>,
        /// What all of it says.
        content: Digest,
        /// Within which reply.
        segment: u32,
    },
    /// The turn waits for it.
    Open,
    /// The turn does not wait for it any more.
    TooLate,
}

impl SessionIndex {
    /// What these steps tell of a session: all of them, from the first one on.
    #[must_use]
    pub fn of(session: SessionId, steps: &[Envelope]) -> Self {
        let mut known = Self {
            calls: BTreeMap::new(),
            principal: None,
            session,
            turns: Vec::new(),
        };
        let mut segments = None;
        for (fact, is_last) in steps.iter().flat_map(told) {
            known.see(fact);
            if let Some(opened) = Segments::open(fact) {
                segments = Some(opened);
            } else if let Some(segments) = &mut segments
                && segments.apply(fact, is_last)
            {
                known.hand_over(segments);
            }
            if let (Some(turn), Some(segments)) = (known.turns.last_mut(), &segments) {
                turn.round = segments.turn().rounds();
                turn.segment = segments.now();
            }
        }
        known
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// Whose it is: of its first caller. None if no client came back for anything of it.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// Whether a client was handed this call in it.
    #[must_use]
    pub fn has_asked(&self, call: &ToolCallId) -> bool {
        self.calls.contains_key(call)
    }

    /// What results are to it of which it has asked for one at least.
    ///
    /// # Errors
    ///
    /// A call whose result was brought before with other words beside it: the history was edited there.
    pub(crate) fn take(&self, brings: ClientResults) -> Result<Located, ToolCallId> {
        let weighed = self.weigh(&brings);
        let ClientResults { results, words } = brings;
        Ok(match weighed {
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
                    words: Arc::new(Message::new(Role::User, new)),
                }
            }
            Ok((turn, ResultsMatch::TooLate)) => self.late(turn, results),
        })
    }

    /// Where a history goes on whose first so many messages have this view, if that is known here.
    pub(super) fn at(&self, view: Digest, known: usize) -> Option<Located> {
        let mut ends = self.turns.iter().rev();
        let turn = ends.find(|turn| turn.view == Some(view))?;
        let session = self.session.clone();
        Some(match self.fork_behind(turn) {
            None => Located::Continue { known, session },
            Some(at) => Located::Fork { at, known, session },
        })
    }

    /// Where what follows this reply of a turn goes on, if it brings no results; `None` if there is no such
    /// reply.
    pub(super) fn after(&self, turn: &TurnId, segment: u32) -> Option<Located> {
        let place = self.turns.iter().position(|known| known.id == *turn)?;
        let turn = self.turns.get(place)?;
        if segment > turn.segment {
            return None;
        }
        let asked = self.calls.iter().filter(|(_, call)| {
            let is_its = call.turn == place && call.segment == segment;
            is_its && call.state != IndexedCallState::TooLate
        });
        let calls: Vec<ToolCallId> = asked.map(|(id, _)| id.clone()).collect();
        if !calls.is_empty() {
            return Some(Located::Refused(ResultsRefused::Missing { calls }));
        }
        let session = self.session.clone();
        // Whoever goes on from a turn that is at work means that one.
        let at = self.fork_behind(turn).filter(|_| turn.is_over);
        Some(match at {
            None => Located::Continue { known: 0, session },
            Some(at) => Located::Fork {
                at,
                known: 0,
                session,
            },
        })
    }

    /// Whether the turn behind this one is the last one, and open.
    pub(super) fn is_at_work_after(&self, turn: &TurnId) -> bool {
        match self.turns.as_slice() {
            [.., before, last] => before.id == *turn && !last.is_over,
            [] | [_] => false,
        }
    }

    fn see(&mut self, fact: &Fact) {
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
                    .map(|outcome| (outcome.call.clone(), of_result(&outcome.result)));
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
                            answer: Answer::ClientResult(given),
                            ..
                        } => IndexedCallState::Brought {
                            beginnings: of_beginnings(&given.result),
                            content: of_result(&given.result),
                            segment,
                        },
                        WaitEnd::Answered { .. }
                        | WaitEnd::Cancelled
                        | WaitEnd::Expired
                        | WaitEnd::Superseded => IndexedCallState::TooLate,
                    };
                }
            }
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::ReplyReceived { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnResumed { .. } => {}
        }
    }

    /// A reply has ended with calls: what was brought of its last round before it was over is answered by
    /// the next one, too.
    fn hand_over(&mut self, segments: &Segments) {
        for open in segments.turn().calls() {
            if let Some(call) = self.calls.get_mut(&open.call.id)
                && let IndexedCallState::Brought { segment, .. } = &mut call.state
            {
                *segment = segments.now();
            }
        }
    }

    /// What results are to the turn that asked for them.
    fn weigh(
        &self,
        brings: &ClientResults,
    ) -> Result<(&IndexedTurn, ResultsMatch), ResultsRefused> {
        let ClientResults { results, words } = brings;
        let unknown = |result: &Arc<ToolOutcome>| ResultsRefused::Unknown {
            call: result.call.clone(),
        };
        let mut of = None;
        let mut again = None;
        let mut more = None;
        let mut too_late = false;
        for (place, result) in (1..).zip(results) {
            let call = self
                .calls
                .get(&result.call)
                .ok_or_else(|| unknown(result))?;
            if *of.get_or_insert(call.turn) != call.turn {
                return Err(unknown(result));
            }
            match &call.state {
                IndexedCallState::Brought {
                    beginnings,
                    content,
                    segment,
                } => {
                    if of_result(&result.result) != *content {
                        // Words stand behind the last result, and are none.
                        let words = if place == results.len() {
                            words.len()
                        } else {
                            0
                        };
                        let id = || result.call.clone();
                        let known = said_before(&result.result, words, *content);
                        let at = self.closed(call);
                        // What stands before the words, if anything does.
                        let own = result.result.content.len().checked_sub(words + 1);
                        let own =
                            own.and_then(|last| of_beginnings(&result.result).get(last).copied());
                        more = Some(match (known, at) {
                            (Some(known), Some(at)) if words > 0 => {
                                ResultsMatch::More { at, known }
                            }
                            _ if own.is_some_and(|own| beginnings.contains(&own)) => {
                                ResultsMatch::Edited(id())
                            }
                            _ => return Err(ResultsRefused::Conflict { call: id() }),
                        });
                    }
                    again = again.max(Some(*segment));
                }
                IndexedCallState::Open => {}
                IndexedCallState::TooLate => too_late = true,
            }
        }
        let place = of.unwrap_or_default();
        let brought: BTreeSet<&ToolCallId> = results.iter().map(|result| &result.call).collect();
        let open = self
            .calls
            .iter()
            .filter(|(_, call)| call.turn == place && call.state == IndexedCallState::Open);
        let (brought, missing): (Vec<_>, Vec<_>) = open.partition(|(id, _)| brought.contains(id));
        let turn = self.turns.get(place);
        let turn = turn.ok_or(ResultsRefused::Missing { calls: Vec::new() })?;
        Ok(match (brought.is_empty(), again) {
            (false, _) if missing.is_empty() => (turn, ResultsMatch::Waits),
            (false, _) => {
                let calls = missing.into_iter().map(|(id, _)| id.clone());
                return Err(ResultsRefused::Missing {
                    calls: calls.collect(),
                });
            }
            (true, Some(_)) if let Some(more) = more => (turn, more),
            // The turn is about to end without them, and says so.
            (true, _) if too_late && !turn.is_over => (turn, ResultsMatch::Again(turn.segment)),
            (true, _) if too_late => (turn, ResultsMatch::TooLate),
            // Whoever asks again for what broke off wants it tried again.
            (true, Some(segment)) if turn.has_failed && segment == turn.segment => {
                (turn, ResultsMatch::TooLate)
            }
            (true, Some(segment)) => (turn, ResultsMatch::Again(segment)),
            (true, None) => (turn, ResultsMatch::TooLate),
        })
    }

    /// Where the round of a call ends, as [`ForkPlace`] has it; `None` while it goes on.
    fn closed(&self, call: &IndexedCall) -> Option<Option<u32>> {
        let turn = self.turns.get(call.turn)?;
        if turn.round > call.round {
            return Some(Some(call.round));
        }
        turn.is_over.then_some(None)
    }

    /// Results that a turn has ended without, or that it broke off behind.
    fn late(&self, turn: &IndexedTurn, results: Vec<Arc<ToolOutcome>>) -> Located {
        let same = |begun: &&IndexedTurn| {
            !begun.has_failed
                && begun.late.len() == results.len()
                && results
                    .iter()
                    .all(|result| begun.late.get(&result.call) == Some(&of_result(&result.result)))
        };
        if let Some(begun) = self.turns.iter().find(same) {
            return Located::Collect {
                segment: 0,
                session: self.session.clone(),
                turn: begun.id.clone(),
            };
        }
        Located::Late {
            at: self.fork_behind(turn),
            results,
            session: self.session.clone(),
        }
    }

    /// Where the session is to be forked to go on behind this turn; `None` if it ends there.
    fn fork_behind(&self, turn: &IndexedTurn) -> Option<ForkPlace> {
        let is_last = self.turns.last().is_some_and(|last| last.id == turn.id);
        (!is_last || !turn.is_over).then(|| ForkPlace {
            ordinal: turn.ordinal,
            round: None,
            turn: turn.id.clone(),
        })
    }
}

/// What results are to a turn.
enum ResultsMatch {
    /// They were brought before: this reply answers them.
    Again(u32),
    /// They were brought before, the one of this call with other words behind it than those that stand there
    /// now.
    Edited(ToolCallId),
    /// They were brought before, with this many of the words that stand beside them now; the round that asked
    /// for them ends there.
    More { at: Option<u32>, known: usize },
    /// It has ended without them, or broke off behind them.
    TooLate,
    /// It waits for them.
    Waits,
}
