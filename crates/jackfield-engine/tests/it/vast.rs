//! A journal of a hundred thousand sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Answer, Approval, Delivery, DeliveryBody, Wait};
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{
    DueSessions, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::{
    Append, Appended, DeliveryOutcome, Epoch, Journal, JournalError, Lease, Loaded,
};

use crate::keeping::waits;

/// Sessions that wait, a hundred thousand if need be, of which a few have their answer.
pub(crate) struct Vast {
    /// How often it was asked what is due.
    pub(crate) asked: AtomicUsize,
    answered: BTreeSet<SessionId>,
    due: Mutex<BTreeMap<WallTime, BTreeSet<SessionId>>>,
    /// How often a session was owned.
    pub(crate) epochs: AtomicUsize,
    template: Vec<Envelope>,
    /// The sessions that anything was done with.
    pub(crate) touched: Mutex<BTreeSet<SessionId>>,
}

impl Vast {
    /// Sessions that are due at these times, each with these steps; some are answered.
    pub(crate) fn of(
        due: BTreeMap<WallTime, BTreeSet<SessionId>>,
        answered: BTreeSet<SessionId>,
        template: Vec<Envelope>,
    ) -> Arc<Self> {
        Arc::new(Self {
            asked: AtomicUsize::new(0),
            answered,
            due: Mutex::new(due),
            epochs: AtomicUsize::new(0),
            template,
            touched: Mutex::default(),
        })
    }

    fn touch(&self, session: &SessionId) {
        let mut touched = self.touched.lock().expect("no panic under the lock");
        touched.insert(session.clone());
    }
}

#[async_trait]
impl Journal for Vast {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        self.touch(session);
        let epoch = self.epochs.fetch_add(1, Ordering::SeqCst);
        Ok(Lease::unlimited(Epoch(epoch as u64)))
    }

    async fn release(&self, session: &SessionId, _: Epoch) -> Result<(), JournalError> {
        self.touch(session);
        Ok(())
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.touch(session);
        let denied = |wait: Wait| Delivery {
            at: WallTime::from_millis(0),
            body: DeliveryBody::Answer {
                answer: Answer::Approval(Approval::Denied {
                    reason: "no".into(),
                }),
                wait: wait.id,
            },
            by: "somebody".into(),
            id: DeliveryId::parse("no").expect("a valid id"),
        };
        let is_answered = self.answered.contains(session);
        let waits = waits(&self.template).into_iter();
        Ok(Loaded {
            deliveries: waits.filter(|_| is_answered).map(denied).collect(),
            steps: self.template.clone(),
            ..Loaded::default()
        })
    }

    async fn append(&self, append: &Append) -> Appended {
        self.touch(&append.session);
        let mut facts = append.steps.iter().flat_map(|step| &step.facts);
        if facts.any(|fact| matches!(fact, Fact::TurnEnded { .. })) {
            let mut due = self.due.lock().expect("no panic under the lock");
            for sessions in due.values_mut() {
                sessions.remove(&append.session);
            }
            due.retain(|_, sessions| !sessions.is_empty());
        }
        Appended::Committed
    }

    async fn deliver(
        &self,
        _: &SessionId,
        _: DeliveryId,
        _: Arc<str>,
        _: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        Ok(DeliveryOutcome::NoSuchWait)
    }

    async fn inbox(&self, _: &SessionId, _: u64) -> Result<Vec<Delivery>, JournalError> {
        std::future::pending().await
    }

    async fn follow(&self, _: &SessionId, _: u64) -> Result<Vec<Envelope>, JournalError> {
        std::future::pending().await
    }

    async fn sessions(&self, _: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: &SessionId) -> Result<(), JournalError> {
        Ok(())
    }

    async fn mark_restored(&self, _: &SessionId) -> Result<(), JournalError> {
        Ok(())
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let due = self.due.lock().expect("no panic under the lock");
        let sessions = due.range(..=now).flat_map(|(_, sessions)| sessions);
        let next = due.range(now..).map(|(at, _)| *at).find(|at| *at > now);
        Ok(DueSessions {
            next,
            sessions: sessions.take(most).cloned().collect(),
        })
    }

    async fn waits(&self, _: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        Ok(Vec::new())
    }

    async fn find(&self, _: &str, _: &[Mark], _: usize) -> Result<Vec<FoundTurn>, JournalError> {
        Ok(Vec::new())
    }
}
