//! Collecting: a turn owes its answer until somebody has it whole, and whoever sends the request again is
//! told what is owed. Nothing is started twice.

use std::sync::Arc;

use jackfield_domain::caller::Caller;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::failure::RetryAdvice;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::wait::DeliveryBody;
use jackfield_ports::journal::marks::Mark;
use jackfield_ports::journal::{JournalError, Loaded};
use tokio::sync::OwnedMutexGuard;

use crate::background::StartedTurn;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::in_flight::{InFlight, RequestKey};
use crate::options::Disconnect;
use crate::subscribers::{DeliveryState, was_unheard};

/// A request, as far as that tells whether it was sent before.
#[derive(Clone, Debug)]
pub struct RequestIdentity {
    /// The digest of its body.
    pub body: Digest,
    /// What becomes of the turn that it collects when nobody listens to it any more.
    pub disconnect: Disconnect,
    /// Whether it says itself that it is sent again.
    pub is_repeat: bool,
    /// The idempotency key that it bears.
    pub key: Option<Arc<str>>,
    /// Whose it is. What others have sent is never found.
    pub principal: Arc<str>,
    /// The session that it names beside its body, if it names one: the same words in another session, or
    /// later in the same one, are another request.
    pub session: Option<SessionId>,
}

/// What a request gets.
#[derive(Debug)]
pub enum RequestMatch {
    /// Nothing: it is the first of its kind, and so until the claim is dropped, which is to be when its turn
    /// has begun, or nothing of it is on its way any more.
    New(Claim),
    /// The answer of a turn that was begun for it before.
    Owed(Box<StartedTurn>),
}

/// Keeps others waiting that have the same idempotency key, or an equal body and say that it is sent again.
/// Hand it to [`Engine::begin_holding`], which holds it until there is something that they find.
#[derive(Debug)]
#[must_use = "dropping it lets the next one in"]
pub struct Claim {
    _body: Option<InFlight>,
    _key: Option<OwnedMutexGuard<()>>,
}

impl Engine {
    /// Finds the turn that was begun for a request before, if its answer is owed to this one: the turn of its
    /// idempotency key; or one of an equal body, if the request says that it is a repeat, or if the answer was
    /// never written whole and nobody is connected to it any more. Equal bodies alone prove nothing.
    ///
    /// Waits while what the first of its kind begins is not known yet, for as long as the claim of that is
    /// held.
    ///
    /// # Errors
    ///
    /// [`EngineError::KeyConflict`] if the key was used for another body, and [`EngineError::Journal`] if the
    /// journal cannot be read.
    pub async fn collect(&self, request: &RequestIdentity) -> Result<RequestMatch, EngineError> {
        if let Some(key) = &request.key {
            return self.collect_by_key(request, key).await;
        }
        let sent = RequestKey {
            body: request.body,
            principal: Arc::clone(&request.principal),
            session: request.session.clone(),
        };
        let (opening, earlier) = self.shared.openings.enter(sent, request.is_repeat);
        // A repeat may have overtaken the one that it repeats.
        earlier.over().await;
        while let Some((owed, session, turn)) = self.most_owed(request).await? {
            if owed != AnswerState::Undelivered || request.is_repeat {
                return self.reattach(&session, &turn, request).await;
            }
            if let Some(begun) = self.try_reattach(&session, &turn, request).await? {
                return Ok(begun);
            }
        }
        Ok(RequestMatch::New(Claim {
            _body: Some(opening),
            _key: None,
        }))
    }

    /// Of the turns of an equal body the one whose answer is owed the most, and of those that are owed as much,
    /// the one that was begun last.
    async fn most_owed(
        &self,
        request: &RequestIdentity,
    ) -> Result<Option<(AnswerState, SessionId, TurnId)>, EngineError> {
        let found = match &request.session {
            Some(session) => self.last_equal(session, request).await?,
            None => {
                let marks = [Mark::Body(request.body)];
                let found = self.find(&request.principal, &marks, MOST_EQUAL).await?;
                let found = found.into_iter();
                found.map(|found| (found.session, found.turn)).collect()
            }
        };
        let mut best: Option<(AnswerState, SessionId, TurnId)> = None;
        let settled = &self.shared.settled;
        for (session, turn) in found {
            // Before the journal is read: what is forgotten here in between is in there by then.
            let hearing = self.shared.listening.of(&turn, 0);
            // Programs that ask the same a thousand times are not to have a thousand sessions read.
            let is_anothers = hearing != DeliveryState::Nothing || settled.has(&session, &turn);
            if is_anothers && !request.is_repeat {
                continue;
            }
            let Some(loaded) = self.readable_one(&session).await? else {
                continue;
            };
            let Some(owed) = owed(&turn, &loaded, hearing, request.is_repeat) else {
                if !request.is_repeat {
                    settled.add(session, turn);
                }
                continue;
            };
            if best.as_ref().is_none_or(|(known, ..)| owed < *known) {
                best = Some((owed, session, turn));
            }
        }
        Ok(best)
    }

    async fn collect_by_key(
        &self,
        request: &RequestIdentity,
        key: &Arc<str>,
    ) -> Result<RequestMatch, EngineError> {
        let claimed = (Arc::clone(&request.principal), Arc::clone(key));
        let first = self.shared.claimed.of(&claimed).lock_owned().await;
        let marks = [Mark::of_key(key)];
        for found in self.find(&request.principal, &marks, 1).await? {
            let Some(loaded) = self.readable_one(&found.session).await? else {
                continue;
            };
            if is_withdrawn(&found.turn, &loaded) || came_to_nothing(&found.turn, &loaded) {
                continue;
            }
            let is_elsewhere = request.session.as_ref();
            let is_elsewhere = is_elsewhere.is_some_and(|named| *named != found.session);
            if is_elsewhere || body_of(&found.turn, &loaded) != Some(request.body) {
                let key = Arc::clone(key);
                return Err(EngineError::KeyConflict { key });
            }
            return self.reattach(&found.session, &found.turn, request).await;
        }
        Ok(RequestMatch::New(Claim {
            _body: None,
            _key: Some(first),
        }))
    }

    /// The last turn of the session that a request names, if it was begun by one of an equal body: what came
    /// before that was gone on from.
    async fn last_equal(
        &self,
        session: &SessionId,
        request: &RequestIdentity,
    ) -> Result<Vec<(SessionId, TurnId)>, EngineError> {
        let Some(loaded) = self.readable_one(session).await? else {
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
    ) -> Result<RequestMatch, EngineError> {
        let begun = self.subscribe(session, turn, 0, request.disconnect).await?;
        Ok(RequestMatch::Owed(Box::new(begun)))
    }

    /// Does so for one that does not say that it was sent before, unless somebody else has the answer by now.
    async fn try_reattach(
        &self,
        session: &SessionId,
        turn: &TurnId,
        request: &RequestIdentity,
    ) -> Result<Option<RequestMatch>, EngineError> {
        let Some(connection) = self.connect_alone(session, turn, 0, request.disconnect) else {
            return Ok(None);
        };
        let Some(loaded) = self.readable_one(session).await? else {
            return Ok(None);
        };
        if owed(turn, &loaded, DeliveryState::Nothing, false).is_none() {
            // It was written since the last look, and forgotten here.
            connection.written();
            return Ok(None);
        }
        let begun = self.subscribed(connection, &loaded)?;
        Ok(Some(RequestMatch::Owed(Box::new(begun))))
    }

    async fn readable_one(&self, session: &SessionId) -> Result<Option<Loaded>, EngineError> {
        match self.shared.journal.load(session).await {
            Ok(loaded) => Ok(Some(loaded)),
            Err(
                JournalError::Corrupt { .. }
                | JournalError::Newer { .. }
                | JournalError::UnknownSession { .. },
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// How much an answer is owed, the most first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum AnswerState {
    /// Nobody has it, and nobody is getting it.
    Undelivered,
    /// Somebody may be getting it.
    InDelivery,
    /// It was written whole; what was written may still not have arrived.
    Delivered,
}

/// How much the first answer of a turn is owed to another request of the same body, if it is.
fn owed(
    turn: &TurnId,
    loaded: &Loaded,
    hearing: DeliveryState,
    is_repeat: bool,
) -> Option<AnswerState> {
    if is_withdrawn(turn, loaded) || came_to_nothing(turn, loaded) {
        return None;
    }
    let is_written = loaded.deliveries.iter().any(|delivery| {
        matches!(&delivery.body, DeliveryBody::Written { segment: 0, turn: of } if of == turn)
    });
    match hearing {
        DeliveryState::Nothing if !is_written => Some(AnswerState::Undelivered),
        // The old connection may be dead without anybody having noticed.
        DeliveryState::Live if is_repeat => Some(AnswerState::InDelivery),
        DeliveryState::Nothing | DeliveryState::Written if is_repeat => {
            Some(AnswerState::Delivered)
        }
        DeliveryState::Live | DeliveryState::Nothing | DeliveryState::Written => None,
    }
}

fn is_withdrawn(turn: &TurnId, loaded: &Loaded) -> bool {
    loaded.deliveries.iter().any(
        |delivery| matches!(&delivery.body, DeliveryBody::Withdrawn { turn: of } if of == turn),
    )
}

/// Whether a turn ended before its model had said anything, by something that may pass, or because nobody
/// listened to it any more: whoever sends the request again wants it tried again, and there is nothing of it
/// that would be done twice.
fn came_to_nothing(turn: &TurnId, loaded: &Loaded) -> bool {
    let (mut is_its, mut has_replied) = (false, false);
    for fact in loaded.steps.iter().flat_map(|step| &step.facts) {
        match fact {
            Fact::TurnOpened { turn: opened, .. } => is_its = opened == turn,
            Fact::ReplyReceived { .. } => has_replied |= is_its,
            Fact::TurnEnded { end, .. } if is_its => {
                return !has_replied
                    && match end {
                        TurnEnd::Failed(failure) | TurnEnd::Interrupted(failure) => {
                            failure.advice != RetryAdvice::Never
                        }
                        TurnEnd::Cancelled(_) => was_unheard(turn, loaded),
                        TurnEnd::Answered(_) | TurnEnd::ClientExpired | TurnEnd::Limited { .. } => {
                            false
                        }
                    };
            }
            Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallEnded { .. }
            | Fact::ModelCallStarted { .. }
            | Fact::SessionForked { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => {}
        }
    }
    false
}

/// The body of the request that began a turn.
fn body_of(turn: &TurnId, loaded: &Loaded) -> Option<Digest> {
    let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
    facts.find_map(|fact| match fact {
        Fact::TurnOpened {
            setup,
            turn: opened,
            ..
        } if opened == turn => setup.caller.as_ref()?.body,
        Fact::CallAccepted { .. }
        | Fact::CallClosed { .. }
        | Fact::CallLost { .. }
        | Fact::CallStarted { .. }
        | Fact::Late(_)
        | Fact::ModelCallEnded { .. }
        | Fact::ModelCallStarted { .. }
        | Fact::ReplyReceived { .. }
        | Fact::SessionForked { .. }
        | Fact::TurnEnded { .. }
        | Fact::TurnOpened { .. }
        | Fact::TurnResumed { .. }
        | Fact::WaitClosed { .. }
        | Fact::WaitOpened { .. } => None,
    })
}

/// How many turns of an equal body are looked at, the newest first.
const MOST_EQUAL: usize = 16;
