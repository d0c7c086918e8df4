//! One session: its steps, its inbox, its owner.

use std::collections::HashSet;
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::marks;
use jackfield_ports::journal::sessions::SessionRow;
use jackfield_ports::journal::summary::{self, AT_ONCE, OpenTurnSummary, Summary};
use jackfield_ports::journal::waits::{TakenDelivery, WaitRow};
use jackfield_ports::journal::{Append, AppendRefusal, DeliveryOutcome, Epoch};
use jackfield_record::EncodeError;
use tokio::sync::Notify;

use crate::marks::Marks;
use crate::record::{NewSteps, Record, SharedTexts, StoredStep};
use crate::waits::WaitTable;

/// A session's rows.
pub(crate) struct SessionRows {
    /// Told of every delivery.
    arrived: Arc<Notify>,
    bytes: u64,
    changed: WallTime,
    created: WallTime,
    deliveries: Vec<Record>,
    delivered: HashSet<DeliveryId>,
    epoch: u64,
    /// Told of every append.
    grown: Arc<Notify>,
    /// The place after the last delivery that an owner has to see.
    loud: u64,
    /// Where it is found again.
    marked: Vec<Digest>,
    owned: bool,
    /// Whether it was marked as restored from an older state since the last append.
    restored: bool,
    /// How many deliveries an owner had seen when it last appended.
    seen: u64,
    steps: Vec<StepRow>,
    summary: Summary,
    waits: WaitTable,
    /// What is searched, by step.
    words: Vec<String>,
}

/// A step, and the epoch that wrote it.
struct StepRow {
    epoch: Epoch,
    kept: StoredStep,
}

impl SessionRows {
    /// A session that is there from now on; its epochs come after this one.
    pub(crate) fn new(now: WallTime, epoch: u64) -> Self {
        Self {
            arrived: Arc::default(),
            bytes: 0,
            changed: now,
            created: now,
            deliveries: Vec::new(),
            delivered: HashSet::new(),
            epoch,
            grown: Arc::default(),
            loud: 0,
            marked: Vec::new(),
            owned: false,
            restored: false,
            seen: 0,
            steps: Vec::new(),
            summary: Summary::default(),
            waits: WaitTable::default(),
            words: Vec::new(),
        }
    }

    /// Takes the ownership.
    pub(crate) fn own(&mut self) -> Epoch {
        self.epoch += 1;
        self.owned = true;
        Epoch(self.epoch)
    }

    /// Lets go of it, if it is owned under this epoch.
    pub(crate) fn release(&mut self, epoch: Epoch) {
        self.owned &= epoch.0 != self.epoch;
    }

    /// Marks it as restored from an older state, until the next append.
    pub(crate) const fn mark_restored(&mut self) {
        self.restored = true;
    }

    /// Whether it is marked so.
    pub(crate) const fn is_restored(&self) -> bool {
        self.restored
    }

    /// Whether it is owned, and the last epoch of it.
    pub(crate) const fn owner(&self) -> (bool, u64) {
        (self.owned, self.epoch)
    }

    /// Where it is found again.
    pub(crate) fn marked(&self) -> &[Digest] {
        &self.marked
    }

    /// Lets those who wait for it find that it is gone.
    pub(crate) fn end(&self) {
        self.arrived.notify_waiters();
        self.grown.notify_waiters();
    }

    /// Appends steps, which are kept like this.
    pub(crate) fn append(
        &mut self,
        append: &Append,
        coming: NewSteps,
        (shared, marks): (&mut SharedTexts, &mut Marks),
        now: WallTime,
    ) -> Result<(), AppendRefusal> {
        if append.epoch.0 != self.epoch || !self.owned {
            return Err(AppendRefusal::StaleEpoch);
        }
        let mut numbered = (0..).zip(&append.steps);
        if !numbered.all(|(nth, step)| append.position.checked_add(nth) == Some(step.step)) {
            return Err(AppendRefusal::Position);
        }
        if append.position != self.steps.len() as u64 {
            return if self.is_repeated(append, &coming) {
                Ok(())
            } else {
                Err(AppendRefusal::Position)
            };
        }
        self.waits.check(append)?;
        let mut records = match coming {
            NewSteps::Records(records) => Some(records.into_iter()),
            NewSteps::Values => None,
        };
        for step in &append.steps {
            self.waits.apply(step);
            let marked = marks::of(&self.summary, step);
            self.marked.extend(marked.iter().map(|mark| mark.place));
            marks.keep(&append.session, &marked);
            self.summary.apply(step);
            let kept = match records.as_mut().and_then(Iterator::next) {
                Some(record) => {
                    self.words.extend(summary::words(step));
                    self.bytes += record.length as u64;
                    StoredStep::Record(shared.keep(record))
                }
                None => StoredStep::Value(Arc::new(step.clone())),
            };
            let epoch = append.epoch;
            self.steps.push(StepRow { epoch, kept });
        }
        self.changed = now;
        self.restored = false;
        self.seen = self.seen.max(append.seen);
        self.grown.notify_waiters();
        Ok(())
    }

    /// Whether exactly this was appended before.
    fn is_repeated(&self, append: &Append, coming: &NewSteps) -> bool {
        let begin = usize::try_from(append.position).unwrap_or(usize::MAX);
        let written = begin
            .checked_add(append.steps.len())
            .and_then(|end| self.steps.get(begin..end));
        let mut records = match coming {
            NewSteps::Records(records) => records.iter(),
            NewSteps::Values => [].iter(),
        };
        written.is_some_and(|written| {
            let mut pairs = written.iter().zip(&append.steps);
            !append.steps.is_empty()
                && pairs.all(|(step, again)| {
                    let is_same = match &step.kept {
                        StoredStep::Record(record) => records
                            .next()
                            .is_some_and(|new| record.bytes() == new.record),
                        StoredStep::Value(step) => **step == *again,
                    };
                    is_same && step.epoch == append.epoch
                })
        })
    }

    /// Puts something into the inbox, if it may come in.
    pub(crate) fn deliver(&mut self, delivery: Delivery) -> Result<DeliveryOutcome, EncodeError> {
        if self.delivered.contains(&delivery.id) {
            return Ok(DeliveryOutcome::AlreadyThere);
        }
        let record = jackfield_record::encode_delivery(&delivery)?;
        if let DeliveryBody::Answer { answer, wait } = &delivery.body {
            let taken = TakenDelivery {
                at: delivery.at,
                by: Arc::clone(&delivery.by),
                delivery: delivery.id.clone(),
                place: self.deliveries.len() as u64,
            };
            if let Err(closed) = self.waits.answer(wait, answer, taken) {
                return Ok(closed);
            }
        }
        self.changed = delivery.at;
        self.bytes += record.len() as u64;
        self.delivered.insert(delivery.id);
        self.deliveries.push(Record::whole(record));
        if summary::is_for_owner(&delivery.body) {
            self.loud = self.deliveries.len() as u64;
        }
        self.arrived.notify_waiters();
        Ok(DeliveryOutcome::Accepted)
    }

    /// All steps as they are kept, and the records of all deliveries.
    pub(crate) fn records(&self) -> (Vec<StoredStep>, Vec<Record>) {
        let steps = self.steps.iter().map(|step| step.kept.clone());
        (steps.collect(), self.deliveries.clone())
    }

    /// The records of the deliveries from this place on.
    pub(crate) fn deliveries_from(&self, place: u64) -> Vec<Record> {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.deliveries.get(place..).unwrap_or_default().to_vec()
    }

    /// The steps from this number on, as they are kept.
    pub(crate) fn steps_from(&self, number: u64) -> Vec<StoredStep> {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let steps = self.steps.get(number..).unwrap_or_default();
        steps.iter().map(|step| step.kept.clone()).collect()
    }

    /// What is told of every arrival.
    pub(crate) fn arrived(&self) -> Arc<Notify> {
        Arc::clone(&self.arrived)
    }

    /// What is told of every append.
    pub(crate) fn grown(&self) -> Arc<Notify> {
        Arc::clone(&self.grown)
    }

    /// Whether this, which is folded, is in the text of a message.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.words.iter().any(|words| words.contains(text))
    }

    /// When it was changed last.
    pub(crate) const fn changed(&self) -> WallTime {
        self.changed
    }

    /// Its questions that nobody has answered.
    pub(crate) fn open_waits(&self) -> impl Iterator<Item = (u64, &WaitRow)> {
        self.waits.open()
    }

    /// When it has something to do that nobody is at, if it has.
    pub(crate) fn due(&self) -> Option<WallTime> {
        if self.owned {
            None
        } else if self.summary.open.is_some() && self.seen < self.loud {
            Some(AT_ONCE)
        } else if self.restored {
            None
        } else {
            self.summary.due()
        }
    }

    /// How it is listed.
    pub(crate) fn listed(&self, session: SessionId, held: bool) -> SessionRow {
        let mut open = self.summary.open.as_ref().map(OpenTurnSummary::listed);
        if let Some(open) = &mut open {
            open.parked |= self.restored;
        }
        SessionRow {
            bytes: self.bytes,
            changed: self.changed,
            created: self.created,
            held,
            open,
            owned: self.owned,
            principal: self.summary.principal.clone(),
            session,
            steps: self.steps.len() as u64,
            title: Arc::clone(&self.summary.title),
            turns: self.summary.turns,
            unreadable: None,
        }
    }
}
