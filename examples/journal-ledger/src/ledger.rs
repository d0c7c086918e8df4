//! The journal: one table of sessions behind a lock, and one signal for all waiting readers.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::fold::SessionFold;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::summary::{normalize, searchable_text};
use jackfield_ports::journal::waits::{WaitChange, changes};
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease,
    Loaded,
};
use jackfield_record::{decode_delivery, decode_envelope, encode_delivery, encode_envelope};
use tokio::sync::Notify;

/// A journal in memory.
pub struct Ledger {
    changed: Notify,
    clock: Box<dyn Fn() -> WallTime + Send + Sync>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// The highest epoch of all deleted sessions: it is not reused.
    deleted: u64,
    /// The holds that live, of sessions that need not exist.
    holds: HashMap<SessionId, Weak<()>>,
    /// The turns by their marks, the oldest first.
    marks: HashMap<Digest, Vec<(SessionId, TurnId)>>,
    sessions: HashMap<SessionId, Stored>,
    /// The number of the newest wait.
    newest_wait: u64,
    /// All waits, by number.
    waits: BTreeMap<u64, (SessionId, WaitId)>,
}

#[derive(Default)]
struct Stored {
    changed: WallTime,
    created: WallTime,
    /// The ids of the deliveries, and their records.
    deliveries: Vec<(DeliveryId, Vec<u8>)>,
    epoch: u64,
    fold: SessionFold,
    given_title: Option<Arc<str>>,
    is_archived: bool,
    is_owned: bool,
    is_pinned: bool,
    /// The epochs that appended the steps, and their records.
    steps: Vec<(Epoch, Vec<u8>)>,
    words: Vec<String>,
}

impl Ledger {
    /// An empty journal with this clock.
    pub fn new(clock: impl Fn() -> WallTime + Send + Sync + 'static) -> Self {
        Self {
            changed: Notify::new(),
            clock: Box::new(clock),
            table: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from a session until there is something.
    async fn wait_for<T>(
        &self,
        session: &SessionId,
        read: impl Fn(&Stored) -> Result<Vec<T>, JournalError>,
    ) -> Result<Vec<T>, JournalError> {
        loop {
            let changed = self.changed.notified();
            let found = read(self.table().get(session)?)?;
            if !found.is_empty() {
                return Ok(found);
            }
            changed.await;
        }
    }
}

impl Table {
    fn get(&mut self, session: &SessionId) -> Result<&mut Stored, JournalError> {
        let found = self.sessions.get_mut(session);
        found.ok_or_else(|| JournalError::UnknownSession {
            session: session.clone(),
        })
    }

    fn is_held(&self, session: &SessionId) -> bool {
        let hold = self.holds.get(session);
        hold.is_some_and(|hold| hold.strong_count() > 0)
    }

    fn append(&mut self, append: &Append, now: WallTime) -> Result<(), AppendRefusal> {
        let found = self.get(&append.session).ok();
        let owned = found.filter(|found| found.is_owned && found.epoch == append.epoch.0);
        let stored = owned.ok_or(AppendRefusal::StaleEpoch)?;
        let encoded = append.steps.iter().map(encode_envelope);
        let records: Result<Vec<Vec<u8>>, _> = encoded.collect();
        let records = records.map_err(|error| AppendRefusal::Unwritable {
            why: error.to_string().into(),
        })?;
        let records = records.into_iter().map(|record| (append.epoch, record));
        let records: Vec<(Epoch, Vec<u8>)> = records.collect();
        let begin = usize::try_from(append.position).unwrap_or(usize::MAX);
        let end = begin.saturating_add(records.len());
        if begin < end && stored.steps.get(begin..end) == Some(&records) {
            return Ok(());
        }
        stored.fold.check(append)?;
        stored.changed = now;
        stored.steps.extend(records);
        stored
            .words
            .extend(append.steps.iter().filter_map(searchable_text));
        for marked in stored.fold.apply(append) {
            let session = append.session.clone();
            let turns = self.marks.entry(marked.place).or_default();
            turns.push((session, marked.turn));
        }
        for change in append.steps.iter().flat_map(changes) {
            if let WaitChange::Opened(wait) = change {
                let opened = (append.session.clone(), wait.id.clone());
                if !self.waits.values().any(|known| *known == opened) {
                    self.newest_wait += 1;
                    self.waits.insert(self.newest_wait, opened);
                }
            }
        }
        Ok(())
    }
}

impl Stored {
    fn row(&self, session: &SessionId, held: bool) -> SessionRow {
        let steps = self.steps.iter().map(|(_, record)| record.len());
        let deliveries = self.deliveries.iter().map(|(_, record)| record.len());
        let summary = &self.fold.summary;
        SessionRow {
            archived: self.is_archived,
            bytes: steps.chain(deliveries).sum::<usize>() as u64,
            changed: self.changed,
            created: self.created,
            held,
            open: self.fold.open_turn(),
            owned: self.is_owned,
            pinned: self.is_pinned,
            principal: summary.principal.clone(),
            session: session.clone(),
            steps: self.fold.steps,
            title: Arc::clone(self.given_title.as_ref().unwrap_or(&summary.title)),
            turns: summary.turns,
            unreadable: None,
        }
    }

    fn steps_from(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        let records = self
            .steps
            .iter()
            .skip(usize::try_from(from).unwrap_or(usize::MAX));
        let steps = records.map(|(_, record)| decode_envelope(record));
        steps.collect::<Result<_, _>>().map_err(corrupt(session))
    }

    fn deliveries_from(
        &self,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Delivery>, JournalError> {
        let records = self
            .deliveries
            .iter()
            .skip(usize::try_from(from).unwrap_or(usize::MAX));
        let deliveries = records.map(|(_, record)| decode_delivery(record));
        deliveries
            .collect::<Result<_, _>>()
            .map_err(corrupt(session))
    }
}

#[async_trait]
impl Journal for Ledger {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        let (mut table, now) = (self.table(), (self.clock)());
        let deleted = table.deleted;
        let stored = table.sessions.entry(session.clone());
        let stored = stored.or_insert_with(|| Stored {
            changed: now,
            created: now,
            epoch: deleted,
            ..Stored::default()
        });
        (stored.epoch, stored.is_owned) = (stored.epoch + 1, true);
        Ok(Lease::unlimited(Epoch(stored.epoch)))
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        if let Ok(stored) = self.table().get(session) {
            stored.is_owned &= stored.epoch != epoch.0;
        }
        Ok(())
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        let mut table = self.table();
        let known = table.holds.get(session).and_then(Weak::upgrade);
        let hold = known.unwrap_or_default();
        table.holds.retain(|_, hold| hold.strong_count() > 0);
        table.holds.insert(session.clone(), Arc::downgrade(&hold));
        Ok(Hold::new(hold))
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        let mut table = self.table();
        let stored = table.get(session)?;
        Ok(Loaded {
            deliveries: stored.deliveries_from(session, 0)?,
            restored: stored.fold.restored,
            steps: stored.steps_from(session, 0)?,
        })
    }

    async fn append(&self, append: &Append) -> Appended {
        let appended = self.table().append(append, (self.clock)());
        self.changed.notify_waiters();
        appended.map_or_else(Appended::Refused, |()| Appended::Committed)
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        let mut table = self.table();
        let (stored, at) = (table.get(session)?, (self.clock)());
        if stored.deliveries.iter().any(|(known, _)| *known == id) {
            return Ok(DeliveryOutcome::AlreadyThere);
        }
        let delivery = Delivery { at, body, by, id };
        let record = encode_delivery(&delivery).map_err(|error| JournalError::Unreachable {
            source: error.into(),
        })?;
        if let Err(outcome) = stored.fold.deliver(&delivery) {
            return Ok(outcome);
        }
        stored.changed = at;
        stored.deliveries.push((delivery.id, record));
        self.changed.notify_waiters();
        Ok(DeliveryOutcome::Accepted)
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        self.wait_for(session, |stored| stored.deliveries_from(session, from))
            .await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.wait_for(session, |stored| stored.steps_from(session, from))
            .await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        let (table, text) = (self.table(), query.text.as_deref().map(normalize));
        let has_text = |stored: &Stored| {
            let title = stored.given_title.as_deref().map(normalize);
            text.as_ref().is_none_or(|text| {
                let mut words = stored.words.iter().chain(&title);
                words.any(|words| words.contains(text))
            })
        };
        let is_asked = |id: &SessionId| query.session.as_ref().is_none_or(|asked| asked == id);
        let all = table.sessions.iter();
        let found = all.filter(|(id, stored)| is_asked(id) && has_text(stored));
        let rows = found.map(|(id, stored)| stored.row(id, table.is_held(id)));
        let mut rows: Vec<SessionRow> = rows
            .filter(|row| query.accepts_labels(row.pinned, row.archived))
            .collect();
        rows.sort_by(|one, other| {
            (other.changed, &other.session).cmp(&(one.changed, &one.session))
        });
        if let Some((at, last)) = &query.before {
            rows.retain(|row| (row.changed, &row.session) < (*at, last));
        }
        rows.truncate(query.limit);
        Ok(rows)
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        let mut table = self.table();
        let (held, stored) = (table.is_held(session), table.get(session)?);
        let (epoch, owned, session) = (stored.epoch, stored.is_owned, session.clone());
        if owned {
            return Err(JournalError::Owned { session });
        }
        if held {
            return Err(JournalError::Held { session });
        }
        table.sessions.remove(&session);
        table.marks.retain(|_, turns| {
            turns.retain(|(of, _)| *of != session);
            !turns.is_empty()
        });
        table.waits.retain(|_, (of, _)| *of != session);
        table.deleted = table.deleted.max(epoch);
        self.changed.notify_waiters();
        Ok(())
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        let mut table = self.table();
        let stored = table.get(session)?;
        if let Some(title) = &change.title {
            stored.given_title = (!title.is_empty()).then(|| Arc::clone(title));
        }
        stored.is_archived = change.archived.unwrap_or(stored.is_archived);
        stored.is_pinned = change.pinned.unwrap_or(stored.is_pinned);
        Ok(())
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.table().get(session)?.fold.restored = true;
        Ok(())
    }

    async fn due(&self, now: WallTime, limit: usize) -> Result<DueSessions, JournalError> {
        let table = self.table();
        let free = table.sessions.iter().filter(|(_, stored)| !stored.is_owned);
        let due = free.filter_map(|(id, stored)| Some((stored.fold.due()?, id.clone())));
        let mut due: Vec<(WallTime, SessionId)> = due.collect();
        due.sort_unstable();
        let count = due.iter().take_while(|(at, _)| *at <= now).count();
        let next = due.get(count).map(|(at, _)| *at);
        let sessions = due.into_iter().take(count.min(limit)).map(|(_, id)| id);
        Ok(DueSessions {
            next: if count > limit { Some(now) } else { next },
            sessions: sessions.collect(),
        })
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        let table = self.table();
        let all = table.waits.iter().filter_map(|(number, (session, wait))| {
            let fold = &table.sessions.get(session)?.fold;
            Some(ListedWait {
                number: *number,
                principal: fold.summary.principal.clone(),
                row: fold.wait(wait)?.clone(),
                session: session.clone(),
            })
        });
        Ok(query.select(all))
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        limit: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        let table = self.table();
        let found = marks.iter().flat_map(|mark| {
            let turns = table.marks.get(&mark.place(principal));
            let newest = turns.into_iter().flat_map(|turns| turns.iter().rev());
            newest.take(limit).map(|(session, turn)| FoundTurn {
                mark: mark.clone(),
                session: session.clone(),
                turn: turn.clone(),
            })
        });
        Ok(found.collect())
    }

    async fn close(&self) {
        let mut table = self.table();
        for stored in table.sessions.values_mut() {
            stored.is_owned = false;
        }
    }

    fn is_durable(&self) -> bool {
        false
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

fn corrupt<E: Into<jackfield_ports::chat_model::BoxError>>(
    session: &SessionId,
) -> impl FnOnce(E) -> JournalError {
    let session = session.clone();
    move |source| JournalError::Corrupt {
        session,
        source: source.into(),
    }
}
