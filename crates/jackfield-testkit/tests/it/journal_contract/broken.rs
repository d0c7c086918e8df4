//! A journal with one mistake.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "each method knows only the mistakes that are its own, and tests may fail"
)]

mod finding;
mod leases;
mod lists;
mod mistake;
mod spending;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::{MonoTime, WallTime};
use jackfield_domain::wait::{CancelCause, Delivery, DeliveryBody, WaitEnd, WaitEndKind};
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::SpendingLog;
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease,
    Loaded,
};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::contract::journal::{JournalHarness, START};

pub(super) use self::mistake::Mistake;

/// A journal in memory, with a mistake around it.
pub(super) struct Broken {
    clock: Arc<AtomicI64>,
    journal: Arc<Mistaken>,
}

struct Mistaken {
    count: AtomicUsize,
    epochs: Mutex<HashMap<SessionId, Epoch>>,
    /// What was ever found, and for whom.
    found: Mutex<Vec<(String, FoundTurn)>>,
    inner: MemoryJournal,
    is: Mistake,
    /// What epochs were counted up to before they began again.
    past: AtomicUsize,
    reading: AtomicBool,
    /// How many appends were refused.
    refused: AtomicUsize,
    /// Whether an append came again.
    repeated: AtomicBool,
    /// Every spending record that came, in the order in which they came.
    spent: Mutex<Vec<SpendingRecord>>,
    taken: AtomicBool,
    written: Mutex<Vec<Append>>,
}

#[async_trait]
impl JournalHarness for Broken {
    async fn fresh() -> Self {
        let clock = Arc::new(AtomicI64::new(START.as_millis()));
        let journal = Arc::new(Mistaken::new(super::MISTAKE.get(), &clock));
        Self { clock, journal }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal) as _
    }

    fn set_clock(&self, now: WallTime) {
        self.clock.store(now.as_millis(), Ordering::Relaxed);
    }

    async fn reopened(&self) -> Arc<dyn Journal> {
        if self.journal.is == Mistake::Forgetful {
            return Arc::new(Mistaken::new(Mistake::Forgetful, &self.clock));
        }
        self.journal()
    }

    async fn another_process(&self) -> Option<Arc<dyn Journal>> {
        let mut another = Mistaken::new(self.journal.is, &self.clock);
        another.inner = self.journal.inner.another_process();
        Some(Arc::new(another))
    }

    async fn pass_leases(&self) {
        self.journal.inner.pass_leases();
    }
}

impl Mistaken {
    fn new(is: Mistake, clock: &Arc<AtomicI64>) -> Self {
        let clock = Arc::clone(clock);
        let fast = i64::from(is == Mistake::ClockFast);
        let now = move || WallTime::from_millis(clock.load(Ordering::Relaxed) + fast);
        Self {
            count: AtomicUsize::new(0),
            epochs: Mutex::default(),
            found: Mutex::default(),
            inner: MemoryJournal::with_clock(now).leased(AN_HOUR),
            is,
            past: AtomicUsize::new(0),
            reading: AtomicBool::new(false),
            refused: AtomicUsize::new(0),
            repeated: AtomicBool::new(false),
            spent: Mutex::default(),
            taken: AtomicBool::new(false),
            written: Mutex::default(),
        }
    }

    fn which(&self, session: &SessionId) -> SessionId {
        match self.is {
            Mistake::SessionsMixed => id(SessionId::parse("one")),
            _ => session.clone(),
        }
    }

    async fn length(&self, session: &SessionId) -> (u64, u64) {
        let loaded = self.inner.load(session).await.unwrap_or_default();
        (loaded.steps.len() as u64, loaded.deliveries.len() as u64)
    }

    /// Appends and keeps in mind what was written.
    async fn write(&self, append: &Append) -> Appended {
        let appended = self.inner.append(append).await;
        if matches!(appended, Appended::Committed) {
            self.written.lock().expect("no panic").push(append.clone());
        }
        appended
    }

    /// Puts a cancel in the place of what was not accepted.
    async fn keep(&self, session: &SessionId, id: DeliveryId, by: Arc<str>) {
        let _kept = self.inner.deliver(session, id, by, cancel()).await.is_ok();
    }
}

/// The append with its steps at this place.
fn moved(append: &Append, position: u64) -> Append {
    let mut moved = append.clone();
    moved.position = position;
    for (step, number) in moved.steps.iter_mut().zip(position..) {
        step.step = number;
    }
    moved
}

fn has_large_text(step: &Envelope) -> bool {
    format!("{step:?}").len() > 65_536
}

fn closes(append: &Append, by_answer: bool) -> bool {
    let mut facts = append.steps.iter().flat_map(|step| &step.facts);
    facts.any(|fact| {
        matches!(fact, Fact::WaitClosed { end, .. } if !by_answer || matches!(end, WaitEnd::Answered { .. }))
    })
}

fn cancel() -> DeliveryBody {
    DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: id(TurnId::parse("turn")),
    }
}

fn id<T, E: std::fmt::Display>(parsed: Result<T, E>) -> T {
    parsed.unwrap_or_else(|invalid| panic!("{invalid}"))
}

#[async_trait]
impl Journal for Mistaken {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        let session = self.which(session);
        if self.is == Mistake::AlwaysTheSameEpoch
            && let Some(epoch) = self.epochs.lock().expect("no panic").get(&session)
        {
            return Ok(Lease::unlimited(*epoch));
        }
        let lease = self.leased(&session).await?;
        let epoch = lease.epoch;
        self.epochs.lock().expect("no panic").insert(session, epoch);
        Ok(Lease {
            epoch: self.outer_epoch(epoch),
            ..lease
        })
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        let session = self.which(session);
        let loaded = self.inner.load(&session).await;
        if self.is == Mistake::UnknownIsEmpty {
            return Ok(loaded.unwrap_or_default());
        }
        let mut loaded = loaded?;
        match self.is {
            Mistake::CloseLoses if self.taken.load(Ordering::Relaxed) => loaded.deliveries.clear(),
            Mistake::DeliveriesReversed => loaded.deliveries.reverse(),
            Mistake::EmptyIsUnknown if loaded.steps.is_empty() => {
                return Err(JournalError::UnknownSession { session });
            }
            Mistake::InstantsRounded => {
                for step in &mut loaded.steps {
                    let elapsed = step.now.mono.elapsed().as_millis();
                    let elapsed = Duration::from_millis(u64::try_from(elapsed).expect("short"));
                    step.now.mono = MonoTime::from_start(elapsed);
                }
            }
            Mistake::LargeTextsCut => loaded.steps.retain(|step| !has_large_text(step)),
            Mistake::LargeTextsForgotten if self.taken.load(Ordering::Relaxed) => {
                loaded.steps.retain(|step| !has_large_text(step));
            }
            Mistake::LoadWithoutInbox => loaded.deliveries.clear(),
            Mistake::RestoredForEver => loaded.restored = self.taken.load(Ordering::Relaxed),
            Mistake::StepsReversed => loaded.steps.reverse(),
            Mistake::TimeLost => {
                for delivery in &mut loaded.deliveries {
                    delivery.at = WallTime::default();
                }
            }
            _ => {}
        }
        Ok(loaded)
    }

    async fn append(&self, append: &Append) -> Appended {
        let mut append = append.clone();
        append.session = self.which(&append.session);
        append.epoch = self.inner_epoch(append.epoch);
        let (steps, deliveries) = self.length(&append.session).await;
        let refused = Appended::Refused(AppendRefusal::Position);
        let (repeated, last) = {
            let written = self.written.lock().expect("no panic");
            (written.contains(&append), written.last() == Some(&append))
        };
        if repeated {
            self.repeated.store(true, Ordering::Relaxed);
        }
        match self.is {
            Mistake::AllSeen => append.seen = u64::MAX,
            Mistake::AnswerRefused if closes(&append, true) => {
                return Appended::Refused(AppendRefusal::Answered);
            }
            Mistake::AnyUnseenHinders if closes(&append, false) && append.seen < deliveries => {
                return Appended::Refused(AppendRefusal::Answered);
            }
            Mistake::GapClosed if append.position > steps => append = moved(&append, steps),
            Mistake::NothingSeen => append.seen = 0,
            Mistake::NumbersIgnored => append = moved(&append, append.position),
            Mistake::OnlyLastRecognised if repeated && !last => return refused,
            Mistake::OverlapCut if append.position < steps && !repeated => {
                let written = usize::try_from(steps - append.position).expect("few");
                append.steps = append.steps.into_iter().skip(written).collect();
                append.position = steps;
            }
            Mistake::RepetitionRefused if repeated => return refused,
            Mistake::RepetitionWritten if repeated => append = moved(&append, steps),
            Mistake::StaleEpochTaken => {
                let epochs = self.epochs.lock().expect("no panic");
                append.epoch = *epochs.get(&append.session).unwrap_or(&append.epoch);
            }
            Mistake::StaleRepetitionCommitted if repeated => return Appended::Committed,
            _ => {}
        }
        let mut appended = self.write(&append).await;
        if self.is == Mistake::LeaseOverstayed {
            appended = self.overstay(append.clone(), appended).await;
        }
        if matches!(appended, Appended::Refused(_)) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        match (self.is, &appended) {
            (Mistake::HalfWritten, Appended::Refused(AppendRefusal::Answered)) => {
                append.steps.truncate(1);
                self.write(&append).await;
            }
            (Mistake::WrittenPlaceCommitted, Appended::Refused(AppendRefusal::Position))
                if append.position < steps =>
            {
                return Appended::Committed;
            }
            (_, _) => {}
        }
        appended
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        let session = self.which(session);
        let nth = self.count.fetch_add(1, Ordering::Relaxed);
        let is_cancel = matches!(body, DeliveryBody::Cancel { .. });
        let delivery = match self.is {
            Mistake::IdsIgnored => super::broken::id(DeliveryId::parse(&format!("{id}-{nth}"))),
            _ => id.clone(),
        };
        match self.is {
            Mistake::CancelNeedsTurn if is_cancel && self.length(&session).await.0 == 0 => {
                return Ok(DeliveryOutcome::NoSuchWait);
            }
            Mistake::DeliveryMakesSession | Mistake::DeliveryTakesOwnership => {
                self.inner.own(&session).await?;
            }
            _ => {}
        }
        let delivered = self
            .inner
            .deliver(&session, delivery, Arc::clone(&by), body);
        let delivered = delivered.await?;
        let kept = match (&delivered, self.is) {
            (DeliveryOutcome::Closed { how, .. }, Mistake::LateAccepted) => {
                *how == WaitEndKind::Expired
            }
            (DeliveryOutcome::Closed { how, .. }, Mistake::SecondAccepted) => {
                *how == WaitEndKind::Answered
            }
            (DeliveryOutcome::NoSuchWait, Mistake::NoWaitAccepted) => true,
            // It had been closed, and was opened again.
            (DeliveryOutcome::Closed { .. }, Mistake::WaitReopened) => {
                self.length(&session).await.0 > 2
            }
            (
                DeliveryOutcome::Closed { .. } | DeliveryOutcome::NoSuchWait,
                Mistake::RefusedKept,
            ) => {
                self.keep(&session, id, by).await;
                return Ok(delivered);
            }
            (_, _) => false,
        };
        if kept {
            self.keep(&session, id, by).await;
            return Ok(DeliveryOutcome::Accepted);
        }
        Ok(match (delivered, self.is) {
            (DeliveryOutcome::Closed { at, .. }, Mistake::EndForgotten) => {
                DeliveryOutcome::Closed {
                    at,
                    by: None,
                    how: WaitEndKind::Expired,
                }
            }
            (delivered, _) => delivered,
        })
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        let session = self.which(session);
        let (_, there) = self.length(&session).await;
        match self.is {
            Mistake::InboxEmptyAtOnce if there <= from => return Ok(Vec::new()),
            Mistake::InboxForOne if self.reading.swap(true, Ordering::Relaxed) => {
                std::future::pending::<()>().await;
            }
            Mistake::InboxFromStart => return self.inner.inbox(&session, 0).await,
            Mistake::InboxNeverWakes if there <= from => std::future::pending().await,
            Mistake::InboxTaken if self.taken.swap(true, Ordering::Relaxed) => {
                std::future::pending::<()>().await;
            }
            _ => {}
        }
        let mut deliveries = self.inner.inbox(&session, from).await?;
        self.reading.store(false, Ordering::Relaxed);
        self.taken.store(false, Ordering::Relaxed);
        if self.is == Mistake::InboxLags && deliveries.len() > 1 {
            deliveries.pop();
        }
        Ok(deliveries)
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        self.let_go(session, epoch).await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.steps_from(session, from).await
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        match self.is {
            Mistake::HoldForgotten => return Ok(Hold::new(())),
            Mistake::HoldForever => std::mem::forget(self.inner.hold(session).await?),
            Mistake::HoldOwns => {
                self.own(session).await?;
            }
            _ => {}
        }
        self.inner.hold(&self.which(session)).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        self.listed(query).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        self.end(session).await
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        match self.is {
            Mistake::LabelForgotten => Ok(()),
            _ => self.inner.label(&self.which(session), change).await,
        }
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.mark(session).await
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        self.have_to_do(now, most).await
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        self.asked(query).await
    }

    async fn open_waits_mark(&self) -> Result<OpenWaitsMark, JournalError> {
        self.noticed().await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        self.find_again(principal, marks, most).await
    }

    async fn close(&self) {
        self.end_all().await;
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        Some(self)
    }
}

const AN_HOUR: Duration = Duration::from_secs(60 * 60);
