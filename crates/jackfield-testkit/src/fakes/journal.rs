//! A journal that loses answers, refuses and changes hands when it is told to.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::chat_model::BoxError;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{DueSessions, SessionQuery, SessionRow, WaitQuery};
use jackfield_ports::journal::waits::WaitRow;
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Loaded,
};

use super::rulebook::locked;
use crate::gate::Gate;

/// A [`Journal`] around another one, with what goes wrong between the two. Clones are the same.
#[derive(Clone)]
pub struct FaultyJournal {
    inner: Arc<dyn Journal>,
    state: Arc<Mutex<FakeJournalState>>,
}

#[derive(Default)]
struct FakeJournalState {
    appends: Vec<Append>,
    deliveries: Option<Gate>,
    /// How often the next one that is asked for is owned by another process.
    elsewhere: usize,
    /// How many requests of each kind fail still.
    failing: BTreeMap<JournalRequest, usize>,
    faults: VecDeque<Option<AppendFault>>,
    loads: VecDeque<Gate>,
    owning: Option<Gate>,
    unreachable: bool,
}

/// What a journal is asked for, other than an append, for which there are [`AppendFault`]s.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum JournalRequest {
    /// `delete`.
    Delete,
    /// `deliver`.
    Deliver,
    /// `due`.
    Due,
    /// `exists`.
    Exists,
    /// `find`.
    Find,
    /// `follow`.
    Follow,
    /// `hold`.
    Hold,
    /// `inbox`.
    Inbox,
    /// `load`.
    Load,
    /// `mark_restored`.
    MarkRestored,
    /// `open_waits`.
    OpenWaits,
    /// `own`.
    Own,
    /// `release`.
    Release,
    /// `sessions`.
    Sessions,
}

/// What goes wrong with one append.
#[derive(Clone, Debug)]
pub enum AppendFault {
    /// Somebody else takes the session over just before, so that it is refused as stale.
    ChangeHands,
    /// It is committed, and the answer is lost.
    CommitAndLose,
    /// It waits here before anything else, and is then written.
    Hold(Gate),
    /// It is committed, and the answer waits here. Dropped meanwhile, it is committed all the same.
    HoldAnswer(Gate),
    /// It is lost on the way: nothing is written, and nobody knows.
    Lose,
    /// It is refused, and nothing is written.
    Refuse(AppendRefusal),
}

impl FaultyJournal {
    /// Around this journal, without any fault yet.
    #[must_use]
    pub fn new(inner: Arc<dyn Journal>) -> Self {
        Self {
            inner,
            state: Arc::default(),
        }
    }

    /// What goes wrong with the next append that has nothing arranged yet.
    pub fn will(&self, fault: AppendFault) -> &Self {
        locked(&self.state).faults.push_back(Some(fault));
        self
    }

    /// Lets that many appends go well before the next fault.
    pub fn will_pass(&self, appends: usize) -> &Self {
        let passing = std::iter::repeat_with(|| None).take(appends);
        locked(&self.state).faults.extend(passing);
        self
    }

    /// Has the next so many requests of this kind fail, as the journal cannot be reached; then they work again.
    pub fn will_fail(&self, request: JournalRequest, times: usize) -> &Self {
        locked(&self.state).failing.insert(request, times);
        self
    }

    /// Has the next so many find that the session which they want to own is another live process's.
    pub fn will_own_elsewhere(&self, times: usize) -> &Self {
        locked(&self.state).elsewhere = times;
        self
    }

    /// How many requests of this kind are still to fail.
    #[must_use]
    pub fn still_fails(&self, request: JournalRequest) -> usize {
        let state = locked(&self.state);
        state.failing.get(&request).copied().unwrap_or(0)
    }

    /// Has every delivery from now on wait here before anything else.
    pub fn hold_deliveries(&self, gate: &Gate) -> &Self {
        locked(&self.state).deliveries = Some(gate.clone());
        self
    }

    /// Has everybody wait here who takes a session from now on, before anything else.
    pub fn hold_owning(&self, gate: &Gate) -> &Self {
        locked(&self.state).owning = Some(gate.clone());
        self
    }

    /// Has the next load wait here when it has read what there is: what it tells is old by then.
    pub fn will_hold_load(&self, gate: &Gate) -> &Self {
        locked(&self.state).loads.push_back(gate.clone());
        self
    }

    /// Whether the journal can be reached from now on; where not, every append is `Unknown`.
    pub fn set_unreachable(&self, unreachable: bool) {
        locked(&self.state).unreachable = unreachable;
    }

    /// All appends that were tried, in order, repetitions included.
    #[must_use]
    pub fn appends(&self) -> Vec<Append> {
        locked(&self.state).appends.clone()
    }

    fn reach(&self, request: JournalRequest) -> Result<(), JournalError> {
        let mut state = locked(&self.state);
        let fails = match state.failing.get_mut(&request) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => false,
        };
        if fails || state.unreachable {
            return Err(JournalError::Unreachable { source: lost() });
        }
        Ok(())
    }
}

impl fmt::Debug for FaultyJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyJournal").finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for FaultyJournal {
    async fn own(&self, session: &SessionId) -> Result<Epoch, JournalError> {
        self.reach(JournalRequest::Own)?;
        let held = {
            let mut state = locked(&self.state);
            if let Some(left) = state.elsewhere.checked_sub(1) {
                state.elsewhere = left;
                let session = session.clone();
                return Err(JournalError::Owned { session });
            }
            state.owning.clone()
        };
        if let Some(gate) = held {
            gate.pass().await;
        }
        self.inner.own(session).await
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        self.reach(JournalRequest::Hold)?;
        self.inner.hold(session).await
    }

    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        self.reach(JournalRequest::Exists)?;
        self.inner.exists(session).await
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.reach(JournalRequest::Load)?;
        let held = locked(&self.state).loads.pop_front();
        let loaded = self.inner.load(session).await;
        if let Some(gate) = held {
            gate.pass().await;
        }
        loaded
    }

    async fn append(&self, append: &Append) -> Appended {
        let fault = {
            let mut state = locked(&self.state);
            state.appends.push(append.clone());
            if state.unreachable {
                return Appended::Unknown(lost());
            }
            state.faults.pop_front().flatten()
        };
        match fault {
            None => self.inner.append(append).await,
            Some(AppendFault::ChangeHands) => match self.inner.own(&append.session).await {
                Ok(_) => self.inner.append(append).await,
                Err(error) => Appended::Unknown(error.into()),
            },
            Some(AppendFault::CommitAndLose) => match self.inner.append(append).await {
                Appended::Committed | Appended::Unknown(_) => Appended::Unknown(lost()),
                refused @ Appended::Refused(_) => refused,
            },
            Some(AppendFault::Hold(gate)) => {
                gate.pass().await;
                self.inner.append(append).await
            }
            Some(AppendFault::HoldAnswer(gate)) => {
                let appended = self.inner.append(append).await;
                gate.pass().await;
                appended
            }
            Some(AppendFault::Lose) => Appended::Unknown(lost()),
            Some(AppendFault::Refuse(refusal)) => Appended::Refused(refusal),
        }
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        self.reach(JournalRequest::Deliver)?;
        let held = locked(&self.state).deliveries.clone();
        if let Some(gate) = held {
            gate.pass().await;
        }
        self.inner.deliver(session, id, by, body).await
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        self.reach(JournalRequest::Inbox)?;
        self.inner.inbox(session, from).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        self.reach(JournalRequest::Release)?;
        self.inner.release(session, epoch).await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.reach(JournalRequest::Follow)?;
        self.inner.follow(session, from).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        self.reach(JournalRequest::Sessions)?;
        self.inner.sessions(query).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        self.reach(JournalRequest::Delete)?;
        self.inner.delete(session).await
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.reach(JournalRequest::MarkRestored)?;
        self.inner.mark_restored(session).await
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        self.reach(JournalRequest::Due)?;
        self.inner.due(now, most).await
    }

    async fn open_waits(
        &self,
        query: &WaitQuery,
    ) -> Result<Vec<(SessionId, WaitRow)>, JournalError> {
        self.reach(JournalRequest::OpenWaits)?;
        self.inner.open_waits(query).await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        self.reach(JournalRequest::Find)?;
        self.inner.find(principal, marks, most).await
    }
}

fn lost() -> BoxError {
    "the answer got lost".into()
}
