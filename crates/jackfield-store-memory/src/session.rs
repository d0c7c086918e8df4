//! One session: its steps, its inbox and its owner.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{DeliveryId, SessionId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::Delivery;
use jackfield_ports::journal::fold::SessionFold;
use jackfield_ports::journal::sessions::{LabelChange, ListedWait, SessionQuery, SessionRow};
use jackfield_ports::journal::summary;
use jackfield_ports::journal::waits::{WaitChange, changes};
use jackfield_ports::journal::{Append, AppendRefusal, DeliveryOutcome, Epoch, Lease};
use jackfield_ports::lease::LeaseDeadline;
use jackfield_record::EncodeError;
use tokio::sync::Notify;

use crate::marks::Marks;
use crate::record::{NewSteps, Record, SharedTexts, StoredStep};

/// The data of a session.
pub(crate) struct SessionRows {
    delivery_notify: Arc<Notify>,
    bytes: u64,
    changed: WallTime,
    created: WallTime,
    deliveries: Vec<Record>,
    delivered: HashSet<DeliveryId>,
    epoch: u64,
    /// The title that it was given, and its words for search.
    given_title: Option<(Arc<str>, String)>,
    is_archived: bool,
    is_pinned: bool,
    append_notify: Arc<Notify>,
    /// All values that follow from its steps and deliveries.
    fold: SessionFold,
    mark_places: Vec<Digest>,
    owner: Option<Owner>,
    steps: Vec<StepRow>,
    /// The waits, each with its number among all that were ever opened.
    opened_waits: Vec<(u64, WaitId)>,
    /// The searchable text, by step.
    searchable_texts: Vec<String>,
}

/// The owner of a session.
struct Owner {
    deadline: LeaseDeadline,
    process: u64,
}

/// A step, and the epoch that appended it.
struct StepRow {
    epoch: Epoch,
    stored: StoredStep,
}

impl SessionRows {
    /// A new session; its epochs are higher than `epoch`.
    pub(crate) fn new(now: WallTime, epoch: u64) -> Self {
        Self {
            delivery_notify: Arc::default(),
            bytes: 0,
            changed: now,
            created: now,
            deliveries: Vec::new(),
            delivered: HashSet::new(),
            epoch,
            given_title: None,
            is_archived: false,
            is_pinned: false,
            append_notify: Arc::default(),
            fold: SessionFold::default(),
            mark_places: Vec::new(),
            owner: None,
            steps: Vec::new(),
            opened_waits: Vec::new(),
            searchable_texts: Vec::new(),
        }
    }

    /// Takes the ownership for this process, with a lease of this length; `None` if another process is the owner.
    pub(crate) fn own(&mut self, process: u64, length: Option<Duration>) -> Option<Lease> {
        if let Some(owner) = &self.owner {
            if owner.process != process && !owner.deadline.has_passed() {
                return None;
            }
            owner.deadline.end_now();
        }
        self.epoch += 1;
        let deadline = length.map_or_else(LeaseDeadline::never, |length| {
            LeaseDeadline::at(Instant::now() + length)
        });
        self.owner = Some(Owner {
            deadline: deadline.clone(),
            process,
        });
        Some(Lease {
            epoch: Epoch(self.epoch),
            deadline,
        })
    }

    /// Releases it, if it is owned under this epoch.
    pub(crate) fn release(&mut self, epoch: Epoch) {
        self.owner.take_if(|_| epoch.0 == self.epoch);
    }

    /// Releases it, if this process owns it.
    pub(crate) fn release_by(&mut self, process: u64) {
        self.owner.take_if(|owner| owner.process == process);
    }

    /// Lets the lease of its owner pass.
    pub(crate) fn pass_lease(&self) {
        if let Some(owner) = &self.owner {
            owner.deadline.end_now();
        }
    }

    fn is_owned(&self) -> bool {
        self.owner
            .as_ref()
            .is_some_and(|owner| !owner.deadline.has_passed())
    }

    /// Changes its labels.
    pub(crate) fn label(&mut self, change: &LabelChange) {
        if let Some(title) = &change.title {
            let given = (!title.is_empty()).then(|| (Arc::clone(title), summary::normalize(title)));
            self.given_title = given;
        }
        self.is_archived = change.archived.unwrap_or(self.is_archived);
        self.is_pinned = change.pinned.unwrap_or(self.is_pinned);
    }

    /// Whether its labels are those that a query asks for.
    pub(crate) fn has_labels(&self, query: &SessionQuery) -> bool {
        query.accepts_labels(self.is_pinned, self.is_archived)
    }

    /// Marks it as restored from an older state, until the next append.
    pub(crate) const fn mark_restored(&mut self) {
        self.fold.restored = true;
    }

    /// Whether it is marked as restored.
    pub(crate) const fn is_restored(&self) -> bool {
        self.fold.restored
    }

    /// Whether it is owned, and its last epoch.
    pub(crate) fn owner(&self) -> (bool, u64) {
        (self.is_owned(), self.epoch)
    }

    pub(crate) fn mark_places(&self) -> &[Digest] {
        &self.mark_places
    }

    /// Wakes all waiting tasks, which then find that the session is deleted.
    pub(crate) fn notify_deleted(&self) {
        self.delivery_notify.notify_waiters();
        self.append_notify.notify_waiters();
    }

    /// Extends the lease of its owner.
    pub(crate) fn extend_lease(&self, length: Option<Duration>) {
        if let (Some(owner), Some(length)) = (&self.owner, length) {
            owner.deadline.extend_to(Instant::now() + length);
        }
    }

    /// Appends steps in this stored form.
    pub(crate) fn append(
        &mut self,
        append: &Append,
        new_steps: NewSteps,
        (shared, marks): (&mut SharedTexts, &mut Marks),
        now: WallTime,
    ) -> Result<(), AppendRefusal> {
        if append.epoch.0 != self.epoch || !self.is_owned() {
            return Err(AppendRefusal::StaleEpoch);
        }
        if let Err(refusal) = self.fold.check(append) {
            return if self.is_repeated(append, &new_steps) {
                Ok(())
            } else {
                Err(refusal)
            };
        }
        let before = self.opened_waits.len();
        for change in append.steps.iter().flat_map(changes) {
            if let WaitChange::Opened(wait) = change
                && self.fold.wait(&wait.id).is_none()
                && !self
                    .opened_waits
                    .iter()
                    .skip(before)
                    .any(|(_, id)| *id == wait.id)
            {
                let nth = NEXT_WAIT.fetch_add(1, Ordering::Relaxed);
                self.opened_waits.push((nth, wait.id.clone()));
            }
        }
        let marked = self.fold.apply(append);
        self.mark_places
            .extend(marked.iter().map(|mark| mark.place));
        marks.insert(&append.session, &marked);
        let mut records = match new_steps {
            NewSteps::Records(records) => Some(records.into_iter()),
            NewSteps::Values => None,
        };
        for step in &append.steps {
            let stored = match records.as_mut().and_then(Iterator::next) {
                Some(record) => {
                    self.searchable_texts.extend(summary::searchable_text(step));
                    self.bytes += record.length as u64;
                    StoredStep::Record(shared.intern(record))
                }
                None => StoredStep::Value(Arc::new(step.clone())),
            };
            let epoch = append.epoch;
            self.steps.push(StepRow { epoch, stored });
        }
        self.changed = now;
        self.append_notify.notify_waiters();
        Ok(())
    }

    /// Whether exactly these steps were appended before.
    fn is_repeated(&self, append: &Append, new_steps: &NewSteps) -> bool {
        let begin = usize::try_from(append.position).unwrap_or(usize::MAX);
        let written = begin
            .checked_add(append.steps.len())
            .and_then(|end| self.steps.get(begin..end));
        let mut records = match new_steps {
            NewSteps::Records(records) => records.iter(),
            NewSteps::Values => [].iter(),
        };
        written.is_some_and(|written| {
            let mut pairs = written.iter().zip(&append.steps);
            !append.steps.is_empty()
                && pairs.all(|(step, repeated)| {
                    let is_same = match &step.stored {
                        StoredStep::Record(record) => records
                            .next()
                            .is_some_and(|new| record.bytes() == new.record),
                        StoredStep::Value(step) => **step == *repeated,
                    };
                    is_same && step.epoch == append.epoch
                })
        })
    }

    /// Adds a delivery to the inbox, if it is acceptable.
    pub(crate) fn deliver(&mut self, delivery: Delivery) -> Result<DeliveryOutcome, EncodeError> {
        if self.delivered.contains(&delivery.id) {
            return Ok(DeliveryOutcome::AlreadyThere);
        }
        let record = jackfield_record::encode_delivery(&delivery)?;
        if let Err(closed) = self.fold.deliver(&delivery) {
            return Ok(closed);
        }
        self.changed = delivery.at;
        self.bytes += record.len() as u64;
        self.delivered.insert(delivery.id);
        self.deliveries.push(Record::uncut(record));
        self.delivery_notify.notify_waiters();
        Ok(DeliveryOutcome::Accepted)
    }

    /// All steps and deliveries, in stored form.
    pub(crate) fn records(&self) -> (Vec<StoredStep>, Vec<Record>) {
        let steps = self.steps.iter().map(|step| step.stored.clone());
        (steps.collect(), self.deliveries.clone())
    }

    /// The deliveries from this index on, in stored form.
    pub(crate) fn deliveries_from(&self, place: u64) -> Vec<Record> {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.deliveries.get(place..).unwrap_or_default().to_vec()
    }

    /// The steps from this number on, in stored form.
    pub(crate) fn steps_from(&self, number: u64) -> Vec<StoredStep> {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let steps = self.steps.get(number..).unwrap_or_default();
        steps.iter().map(|step| step.stored.clone()).collect()
    }

    pub(crate) fn delivery_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.delivery_notify)
    }

    pub(crate) fn append_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.append_notify)
    }

    /// Whether the text of a message or the given title contains this normalized text.
    pub(crate) fn contains_text(&self, text: &str) -> bool {
        let title = self.given_title.as_ref().map(|(_, words)| words);
        let mut texts = self.searchable_texts.iter().chain(title);
        texts.any(|words| words.contains(text))
    }

    /// When it was last changed.
    pub(crate) const fn changed(&self) -> WallTime {
        self.changed
    }

    pub(crate) fn waits(&self, session: &SessionId) -> impl Iterator<Item = ListedWait> {
        self.opened_waits.iter().filter_map(|(number, id)| {
            Some(ListedWait {
                number: *number,
                principal: self.fold.summary.principal.clone(),
                row: self.fold.wait(id)?.clone(),
                session: session.clone(),
            })
        })
    }

    /// When it is due, if it has no owner and something to do.
    pub(crate) fn due(&self) -> Option<WallTime> {
        if self.is_owned() {
            None
        } else {
            self.fold.due()
        }
    }

    /// Its row in a list.
    pub(crate) fn to_row(&self, session: SessionId, held: bool) -> SessionRow {
        let summary = &self.fold.summary;
        SessionRow {
            archived: self.is_archived,
            bytes: self.bytes,
            changed: self.changed,
            created: self.created,
            held,
            open: self.fold.open_turn(),
            owned: self.is_owned(),
            pinned: self.is_pinned,
            principal: summary.principal.clone(),
            session,
            steps: self.steps.len() as u64,
            title: match &self.given_title {
                Some((title, _)) => Arc::clone(title),
                None => Arc::clone(&summary.title),
            },
            turns: summary.turns,
            unreadable: None,
        }
    }
}

/// The number of the next wait, of all journals of the process.
static NEXT_WAIT: AtomicU64 = AtomicU64::new(1);
