//! A journal with injected faults: lost answers, refusals and changes of owner.

mod directory;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::chat_model::BoxError;
use jackfield_ports::journal::admin::JournalAdmin;
use jackfield_ports::journal::directory::Directory;
use jackfield_ports::journal::logins::Logins;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::meters::Meters;
use jackfield_ports::journal::secrets::Secrets;
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use jackfield_ports::journal::upstream_responses::UpstreamResponses;
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease,
    Loaded,
};

use super::rulebook::locked;
use crate::gate::Gate;

/// A [`Journal`] around another one, with injected faults. Clones share their state.
#[derive(Clone)]
pub struct FaultyJournal {
    inner: Arc<dyn Journal>,
    state: Arc<Mutex<FakeJournalState>>,
}

#[derive(Default)]
struct FakeJournalState {
    appends: Vec<Append>,
    delivery_gate: Option<Gate>,
    /// For how many of the next requests for ownership another process is the owner.
    ownership_refusals: usize,
    /// How many further requests of each kind fail.
    failing: BTreeMap<JournalRequest, usize>,
    faults: VecDeque<Option<AppendFault>>,
    load_gates: VecDeque<Gate>,
    ownership_gate: Option<Gate>,
    secrets_gate: Option<Gate>,
    /// How many further requests of each kind succeed before any fails.
    passing: BTreeMap<JournalRequest, usize>,
    /// Appends that are longer, written out, are refused.
    room: Option<usize>,
    unreachable: bool,
}

/// A request to a journal other than an append, which has [`AppendFault`]s.
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
    /// Any request to the logins.
    Logins,
    /// `mark_restored`.
    MarkRestored,
    /// `waits`.
    Waits,
    /// `own`.
    Own,
    /// `SpendingLog::delete_before`.
    DeleteSpending,
    /// Any request to the directory.
    Directory,
    /// `record` of the log of spending records.
    RecordSpending,
    /// Any request to the meters.
    Meters,
    /// `release`.
    Release,
    /// `rename`.
    Label,
    /// `sessions`.
    Sessions,
    /// `records` of the log of spending records.
    SpendingRecords,
    /// Any request to the responses that providers keep.
    UpstreamResponses,
}

/// A fault of one append.
#[derive(Clone, Debug)]
pub enum AppendFault {
    /// Another owner takes the session over just before, so that the append is refused as stale.
    ChangeHands,
    /// The append is committed, and the answer is lost.
    CommitAndLose,
    /// It waits at this gate before anything else, and is then written.
    Hold(Gate),
    /// It is committed, and the answer waits at this gate. If dropped meanwhile, it stays committed.
    HoldAnswer(Gate),
    /// It is lost: nothing is written, and the result is unknown.
    Lose,
    /// It is refused, and nothing is written.
    Refuse(AppendRefusal),
}

impl FaultyJournal {
    /// Wraps this journal, without faults.
    #[must_use]
    pub fn new(inner: Arc<dyn Journal>) -> Self {
        Self {
            inner,
            state: Arc::default(),
        }
    }

    /// Adds a fault for the next append without one.
    pub fn push_fault(&self, fault: AppendFault) -> &Self {
        locked(&self.state).faults.push_back(Some(fault));
        self
    }

    /// Lets this many appends succeed before the next fault.
    pub fn push_successes(&self, appends: usize) -> &Self {
        let passing = std::iter::repeat_with(|| None).take(appends);
        locked(&self.state).faults.extend(passing);
        self
    }

    /// Lets the next `times` requests of this kind fail as if the journal were unreachable; then they work again.
    pub fn fail_next(&self, request: JournalRequest, times: usize) -> &Self {
        locked(&self.state).failing.insert(request, times);
        self
    }

    /// Lets this many requests of this kind succeed, and the one after them fail as [`fail_next`](Self::fail_next) says.
    pub fn fail_after(&self, request: JournalRequest, successes: usize) -> &Self {
        locked(&self.state).passing.insert(request, successes);
        self.fail_next(request, 1)
    }

    /// Refuses appends whose steps are longer than this, written out, as a disk that is nearly full does; `None` is room
    /// for all.
    pub fn leave_room(&self, room: Option<usize>) -> &Self {
        locked(&self.state).room = room;
        self
    }

    /// Lets the next `times` requests for ownership find the session owned by another live process.
    pub fn refuse_ownership(&self, times: usize) -> &Self {
        locked(&self.state).ownership_refusals = times;
        self
    }

    /// How many further requests of this kind will fail.
    #[must_use]
    pub fn remaining_failures(&self, request: JournalRequest) -> usize {
        let state = locked(&self.state);
        state.failing.get(&request).copied().unwrap_or(0)
    }

    /// Makes every later delivery wait at this gate before anything else.
    pub fn hold_deliveries(&self, gate: &Gate) -> &Self {
        locked(&self.state).delivery_gate = Some(gate.clone());
        self
    }

    /// Makes every later request for ownership wait at this gate before anything else.
    pub fn hold_ownership(&self, gate: &Gate) -> &Self {
        locked(&self.state).ownership_gate = Some(gate.clone());
        self
    }

    /// Makes the next load wait at this gate after reading, so that its result is outdated.
    pub fn hold_next_load(&self, gate: &Gate) -> &Self {
        locked(&self.state).load_gates.push_back(gate.clone());
        self
    }

    /// Makes every later read of an entry's secrets wait at this gate before anything else.
    pub fn hold_secrets(&self, gate: &Gate) -> &Self {
        locked(&self.state).secrets_gate = Some(gate.clone());
        self
    }

    /// Sets whether the journal is unreachable; if so, every append is `Unknown`.
    pub fn set_unreachable(&self, unreachable: bool) {
        locked(&self.state).unreachable = unreachable;
    }

    /// All attempted appends, in order, including repetitions.
    #[must_use]
    pub fn appends(&self) -> Vec<Append> {
        locked(&self.state).appends.clone()
    }

    fn check_reachable(&self, request: JournalRequest) -> Result<(), JournalError> {
        let mut state = locked(&self.state);
        if !state.unreachable
            && let Some(left) = state.passing.get_mut(&request)
            && *left > 0
        {
            *left -= 1;
            return Ok(());
        }
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

    /// The log of the wrapped journal, without which this one has none either.
    fn inner_log(&self) -> Result<&dyn SpendingLog, JournalError> {
        let log = self.inner.spending();
        log.ok_or_else(|| JournalError::Unreachable {
            source: "there is no log of spending records".into(),
        })
    }
}

impl fmt::Debug for FaultyJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyJournal").finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for FaultyJournal {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        self.check_reachable(JournalRequest::Own)?;
        let held = {
            let mut state = locked(&self.state);
            if let Some(left) = state.ownership_refusals.checked_sub(1) {
                state.ownership_refusals = left;
                let session = session.clone();
                return Err(JournalError::Owned { session });
            }
            state.ownership_gate.clone()
        };
        if let Some(gate) = held {
            gate.pass().await;
        }
        self.inner.own(session).await
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        self.check_reachable(JournalRequest::Hold)?;
        self.inner.hold(session).await
    }

    async fn exists(&self, session: &SessionId) -> Result<bool, JournalError> {
        self.check_reachable(JournalRequest::Exists)?;
        self.inner.exists(session).await
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.check_reachable(JournalRequest::Load)?;
        let held = locked(&self.state).load_gates.pop_front();
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
            let length = format!("{:?}", append.steps).len();
            if state.room.is_some_and(|room| length > room) {
                let why = "the disk is nearly full".into();
                return Appended::Refused(AppendRefusal::Unwritable { why });
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
        self.check_reachable(JournalRequest::Deliver)?;
        let held = locked(&self.state).delivery_gate.clone();
        if let Some(gate) = held {
            gate.pass().await;
        }
        self.inner.deliver(session, id, by, body).await
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        self.check_reachable(JournalRequest::Inbox)?;
        self.inner.inbox(session, from).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        self.check_reachable(JournalRequest::Release)?;
        self.inner.release(session, epoch).await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.check_reachable(JournalRequest::Follow)?;
        self.inner.follow(session, from).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        self.check_reachable(JournalRequest::Sessions)?;
        self.inner.sessions(query).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        self.check_reachable(JournalRequest::Delete)?;
        self.inner.delete(session).await
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        self.check_reachable(JournalRequest::Label)?;
        self.inner.label(session, change).await
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.check_reachable(JournalRequest::MarkRestored)?;
        self.inner.mark_restored(session).await
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        self.check_reachable(JournalRequest::Due)?;
        self.inner.due(now, most).await
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        self.check_reachable(JournalRequest::Waits)?;
        self.inner.waits(query).await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        self.check_reachable(JournalRequest::Find)?;
        self.inner.find(principal, marks, most).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn admin(&self) -> Option<&dyn JournalAdmin> {
        self.inner.admin()
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        self.inner.spending().map(|_| self as &dyn SpendingLog)
    }

    fn directory(&self) -> Option<&dyn Directory> {
        self.inner.directory().map(|_| self as &dyn Directory)
    }

    fn logins(&self) -> Option<&dyn Logins> {
        self.inner.logins().map(|_| self as &dyn Logins)
    }

    fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        let responses = self.inner.upstream_responses();
        responses.map(|_| self as &dyn UpstreamResponses)
    }

    fn meters(&self) -> Option<&dyn Meters> {
        self.inner.meters().map(|_| self as &dyn Meters)
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        self.inner.secrets().map(|_| self as &dyn Secrets)
    }
}

#[async_trait]
impl SpendingLog for FaultyJournal {
    async fn record(&self, record: &SpendingRecord) -> Result<bool, JournalError> {
        self.check_reachable(JournalRequest::RecordSpending)?;
        self.inner_log()?.record(record).await
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        self.check_reachable(JournalRequest::SpendingRecords)?;
        self.inner_log()?.records(query).await
    }

    async fn delete_before(&self, before: WallTime, limit: usize) -> Result<usize, JournalError> {
        self.check_reachable(JournalRequest::DeleteSpending)?;
        self.inner_log()?.delete_before(before, limit).await
    }
}

fn lost() -> BoxError {
    "the answer got lost".into()
}
