//! Matches requests to earlier turns: an answer stays undelivered until a client has received all of it, and a client that sends the
//! request again gets the undelivered answer. Nothing starts twice.

use std::fmt;
use std::sync::Arc;

use jackfield_domain::caller::Caller;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::failure::RetryAdvice;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::wait::DeliveryBody;
use jackfield_engine::{
    DeliveryState, Disconnect, Durability, Engine, EngineError, Loaded, Mark, StartedTurn,
    was_cancelled_by_disconnect,
};
use thiserror::Error;
use tokio::sync::OwnedMutexGuard;

use crate::in_flight::{InFlight, InFlightRequests, RequestKey};
use crate::key_locks::KeyLocks;
use crate::locator::load_if_readable;

/// The identity of a request, by which a retry is recognised.
#[derive(Clone, Debug)]
pub struct RequestIdentity {
    /// The digest of its body.
    pub body: Digest,
    /// Where its turn can be: in a durable or in an ephemeral session, or in either if `None`.
    pub durability: Option<Durability>,
    /// What happens to the turn when its last client disconnects.
    pub disconnect: Disconnect,
    /// Whether the request is marked as a retry.
    pub is_repeat: bool,
    /// Its idempotency key.
    pub key: Option<Arc<str>>,
    /// Its principal. Requests of other principals are never found.
    pub principal: Arc<str>,
    /// The session that it names outside its body, if any: the same message in another session, or later in the
    /// same session, is another request.
    pub session: Option<SessionId>,
}

/// The result of [`RequestMatcher::find`].
#[derive(Debug)]
pub enum RequestMatch {
    /// A new request. Keep the claim until the turn has begun or will not begin.
    New {
        /// The session of an earlier turn with the idempotency key, which does not count: it has no reply.
        after: Option<SessionId>,
        /// The claim.
        claim: Claim,
    },
    /// The undelivered answer of an earlier request.
    Existing(Box<StartedTurn>),
}

/// Keeps other requests waiting that have the same idempotency key, or that have an equal body and are marked
/// as retries. Pass it to [`Engine::begin_with_guard`], which holds it until they can find the turn.
#[derive(Debug)]
#[must_use = "dropping it lets the next one in"]
pub struct Claim {
    _body: Option<InFlight>,
    _key: Option<OwnedMutexGuard<()>>,
}

/// Matches requests to earlier turns. Clones share what is in flight.
#[derive(Clone)]
pub struct RequestMatcher {
    engine: Engine,
    /// Requests whose turns have not begun yet.
    in_flight: Arc<InFlightRequests>,
    /// Serialises requests of one principal with one idempotency key.
    keys: Arc<KeyLocks<(Arc<str>, Arc<str>)>>,
}

impl fmt::Debug for RequestMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestMatcher").finish_non_exhaustive()
    }
}

/// Why a request matches no turn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The idempotency key was used for another request.
    #[error(
        "the idempotency key `{key}` was used for another request: send the same request again, or take another key"
    )]
    KeyConflict {
        /// The key.
        key: Arc<str>,
    },
}

impl RequestMatcher {
    /// A matcher for the turns of this engine.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            in_flight: Arc::default(),
            keys: Arc::default(),
        }
    }

    /// Finds an earlier turn of a request whose answer this request should get: the turn with its idempotency
    /// key; or a turn with an equal body, if the request is marked as a retry, or if the answer was never fully
    /// written and no client is connected to it. Equal bodies alone prove nothing.
    ///
    /// Waits while an earlier request of the same kind holds its claim.
    ///
    /// # Errors
    ///
    /// [`MatchError::KeyConflict`] if the key was used for another body, and [`MatchError::Engine`] if the
    /// journal cannot be read.
    pub async fn find(&self, request: &RequestIdentity) -> Result<RequestMatch, MatchError> {
        if let Some(key) = &request.key {
            return self.match_by_key(request, key).await;
        }
        let key = RequestKey {
            body: request.body,
            principal: Arc::clone(&request.principal),
            session: request.session.clone(),
        };
        let (in_flight, earlier) = self.in_flight.insert(key, request.is_repeat);
        // A retry may have overtaken the original request.
        earlier.finished().await;
        while let Some((state, session, turn)) = self.best_match(request).await? {
            if state != AnswerState::Undelivered || request.is_repeat {
                return self.reattach(&session, &turn, request).await;
            }
            if let Some(begun) = self.try_reattach(&session, &turn, request).await? {
                return Ok(begun);
            }
        }
        Ok(RequestMatch::New {
            after: None,
            claim: Claim {
                _body: Some(in_flight),
                _key: None,
            },
        })
    }

    /// Among the turns with an equal body, the one whose answer needs delivery most; of several, the newest.
    async fn best_match(
        &self,
        request: &RequestIdentity,
    ) -> Result<Option<(AnswerState, SessionId, TurnId)>, EngineError> {
        let found = match &request.session {
            Some(session) => self.last_equal(session, request).await?,
            None => {
                let marks = [Mark::Body(request.body)];
                let found =
                    self.engine
                        .find(request.durability, &request.principal, &marks, MAX_EQUAL);
                let found = found.await?.into_iter();
                found.map(|found| (found.session, found.turn)).collect()
            }
        };
        let mut best: Option<(AnswerState, SessionId, TurnId)> = None;
        for (session, turn) in found {
            // Read before the journal: what is removed here in between is in the journal by then.
            let delivery_state = self.engine.delivery_state(&session, &turn);
            // Clients that repeat one request many times must not cause as many sessions to be loaded.
            if delivery_state != DeliveryState::Unknown && !request.is_repeat {
                continue;
            }
            let Some(loaded) = load_if_readable(&self.engine, &session).await? else {
                continue;
            };
            let Some(state) = answer_state(&turn, &loaded, delivery_state, request.is_repeat)
            else {
                if !request.is_repeat {
                    self.engine.remember_delivered(&session, &turn);
                }
                continue;
            };
            if best.as_ref().is_none_or(|(known, ..)| state < *known) {
                best = Some((state, session, turn));
            }
        }
        Ok(best)
    }

    async fn match_by_key(
        &self,
        request: &RequestIdentity,
        key: &Arc<str>,
    ) -> Result<RequestMatch, MatchError> {
        let claim_key = (Arc::clone(&request.principal), Arc::clone(key));
        let first = self.keys.lock(&claim_key).await;
        Ok(match self.find_keyed(request, key).await? {
            KeyedTurn::Existing(started) => RequestMatch::Existing(started),
            KeyedTurn::None { after } => RequestMatch::New {
                after,
                claim: Claim {
                    _body: None,
                    _key: Some(first),
                },
            },
        })
    }

    /// Looks for the turn of a request with this idempotency key, without a claim.
    pub(crate) async fn find_keyed(
        &self,
        request: &RequestIdentity,
        key: &Arc<str>,
    ) -> Result<KeyedTurn, MatchError> {
        let marks = [Mark::of_key(key)];
        let found = self
            .engine
            .find(request.durability, &request.principal, &marks, 1);
        let mut after = None;
        for found in found.await? {
            let Some(loaded) = load_if_readable(&self.engine, &found.session).await? else {
                continue;
            };
            if is_withdrawn(&found.turn, &loaded) || ended_without_reply(&found.turn, &loaded) {
                after = Some(found.session);
                continue;
            }
            let is_elsewhere = request.session.as_ref();
            let is_elsewhere = is_elsewhere.is_some_and(|named| *named != found.session);
            if is_elsewhere || body_digest(&found.turn, &loaded) != Some(request.body) {
                let key = Arc::clone(key);
                return Err(MatchError::KeyConflict { key });
            }
            let disconnect = request.disconnect;
            let started = self
                .engine
                .subscribe(&found.session, &found.turn, 0, disconnect);
            return Ok(KeyedTurn::Existing(Box::new(started.await?)));
        }
        Ok(KeyedTurn::None { after })
    }

    /// The last turn of the session that a request names, if a request with an equal body began it. Earlier
    /// turns do not count, because the session has continued since.
    async fn last_equal(
        &self,
        session: &SessionId,
        request: &RequestIdentity,
    ) -> Result<Vec<(SessionId, TurnId)>, EngineError> {
        let Some(loaded) = load_if_readable(&self.engine, session).await? else {
            return Ok(Vec::new());
        };
        let mut facts = loaded.steps.iter().flat_map(|step| &step.facts).rev();
        let last = facts.find_map(|fact| {
            if let Fact::TurnOpened { setup, turn, .. } = fact {
                Some((setup.caller.as_ref(), turn))
            } else {
                None
            }
        });
        let is_equal = |caller: &Caller| {
            caller.body == Some(request.body) && caller.principal == request.principal
        };
        Ok(match last {
            Some((Some(caller), turn)) if is_equal(caller) => vec![(session.clone(), turn.clone())],
            Some(_) | None => Vec::new(),
        })
    }

    async fn reattach(
        &self,
        session: &SessionId,
        turn: &TurnId,
        request: &RequestIdentity,
    ) -> Result<RequestMatch, MatchError> {
        let begun = self.engine.subscribe(session, turn, 0, request.disconnect);
        Ok(RequestMatch::Existing(Box::new(begun.await?)))
    }

    /// Like [`reattach`](Self::reattach), for a request that is not marked as a retry. `None` if another client
    /// has the answer by now.
    async fn try_reattach(
        &self,
        session: &SessionId,
        turn: &TurnId,
        request: &RequestIdentity,
    ) -> Result<Option<RequestMatch>, MatchError> {
        let disconnect = request.disconnect;
        let begun = self
            .engine
            .subscribe_exclusive(session, turn, 0, disconnect);
        let Some(begun) = begun.await? else {
            return Ok(None);
        };
        let Some(loaded) = load_if_readable(&self.engine, session).await? else {
            return Ok(None);
        };
        if answer_state(turn, &loaded, DeliveryState::Unknown, false).is_none() {
            // It was written since the last check, and recorded in the journal.
            begun.connection.mark_written();
            return Ok(None);
        }
        Ok(Some(RequestMatch::Existing(Box::new(begun))))
    }
}

/// The turn of an idempotency key.
pub(crate) enum KeyedTurn {
    Existing(Box<StartedTurn>),
    None {
        /// The session of a turn with the key that does not count.
        after: Option<SessionId>,
    },
}

/// How much an answer needs delivery, the most first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum AnswerState {
    /// No client has it, and none is receiving it.
    Undelivered,
    /// A client may be receiving it.
    InDelivery,
    /// It was fully written; it may still not have arrived.
    Delivered,
}

/// How much the first answer of a turn needs delivery to another request with the same body; `None` if that
/// request must not get it.
fn answer_state(
    turn: &TurnId,
    loaded: &Loaded,
    delivery_state: DeliveryState,
    is_repeat: bool,
) -> Option<AnswerState> {
    if is_withdrawn(turn, loaded) || ended_without_reply(turn, loaded) {
        return None;
    }
    let is_written = loaded.deliveries.iter().any(|delivery| {
        matches!(&delivery.body, DeliveryBody::Written { segment: 0, turn: of } if of == turn)
    });
    match delivery_state {
        DeliveryState::Unknown if !is_written => Some(AnswerState::Undelivered),
        // The old connection may be dead without being noticed.
        DeliveryState::Live if is_repeat => Some(AnswerState::InDelivery),
        DeliveryState::Unknown | DeliveryState::Written if is_repeat => {
            Some(AnswerState::Delivered)
        }
        DeliveryState::Live | DeliveryState::Unknown | DeliveryState::Written => None,
    }
}

fn is_withdrawn(turn: &TurnId, loaded: &Loaded) -> bool {
    loaded.deliveries.iter().any(
        |delivery| matches!(&delivery.body, DeliveryBody::Withdrawn { turn: of } if of == turn),
    )
}

/// Whether a turn ended before its model had replied, because of a transient failure or because all clients had
/// disconnected. A retry then starts a new turn; nothing would be done twice.
fn ended_without_reply(turn: &TurnId, loaded: &Loaded) -> bool {
    let Some(log) = SessionLog::of_turn(turn, &loaded.steps, &[]) else {
        return false;
    };
    let has_replied = log.entries.iter().any(|entry| entry.reply().is_some());
    !has_replied
        && match log.end() {
            Some((_, TurnEnd::Failed(failure) | TurnEnd::Interrupted(failure))) => {
                failure.advice != RetryAdvice::Never
            }
            Some((_, TurnEnd::Cancelled(_))) => was_cancelled_by_disconnect(turn, loaded),
            Some((_, TurnEnd::Answered(_) | TurnEnd::ClientExpired | TurnEnd::Limited { .. }))
            | None => false,
        }
}

/// The body digest of the request that began a turn.
fn body_digest(turn: &TurnId, loaded: &Loaded) -> Option<Digest> {
    let log = SessionLog::of_turn(turn, &loaded.steps, &[])?;
    log.setup.caller.as_ref()?.body
}

/// The maximum number of turns with an equal body that are checked, the newest first.
const MAX_EQUAL: usize = 16;
