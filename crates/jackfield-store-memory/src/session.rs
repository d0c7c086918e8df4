//! One session: its steps, its inbox, its owner.

use std::collections::HashSet;
use std::sync::Arc;

use jackfield_domain::ids::DeliveryId;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::waits::Taken;
use jackfield_ports::journal::{Append, Delivered, Epoch, Refusal};
use jackfield_record::EncodeError;
use tokio::sync::Notify;

use crate::waits::Waits;

/// A record, as it would be stored.
#[derive(Clone, Eq, PartialEq)]
pub(crate) struct Record(Arc<[u8]>);

impl Record {
    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Record {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

/// A session's rows.
#[derive(Default)]
pub(crate) struct Session {
    arrived: Arc<Notify>,
    deliveries: Vec<Record>,
    delivered: HashSet<DeliveryId>,
    epoch: u64,
    steps: Vec<Step>,
    waits: Waits,
}

/// A step, and the epoch that wrote it.
struct Step {
    epoch: Epoch,
    record: Record,
}

impl Session {
    /// Takes the ownership.
    pub(crate) fn own(&mut self) -> Epoch {
        self.epoch += 1;
        Epoch(self.epoch)
    }

    /// Appends steps, of which these are the records.
    pub(crate) fn append(&mut self, append: &Append, records: Vec<Vec<u8>>) -> Result<(), Refusal> {
        if append.epoch.0 != self.epoch {
            return Err(Refusal::StaleEpoch);
        }
        let mut numbered = (0..).zip(&append.steps);
        if !numbered.all(|(nth, step)| append.position.checked_add(nth) == Some(step.step)) {
            return Err(Refusal::Position);
        }
        if append.position != self.steps.len() as u64 {
            return if self.is_repeated(append, &records) {
                Ok(())
            } else {
                Err(Refusal::Position)
            };
        }
        self.waits.check(append)?;
        for (step, record) in append.steps.iter().zip(records) {
            self.waits.apply(step);
            self.steps.push(Step {
                epoch: append.epoch,
                record: record.into(),
            });
        }
        Ok(())
    }

    /// Whether exactly this was appended before.
    fn is_repeated(&self, append: &Append, records: &[Vec<u8>]) -> bool {
        let begin = usize::try_from(append.position).unwrap_or(usize::MAX);
        let written = begin
            .checked_add(records.len())
            .and_then(|end| self.steps.get(begin..end));
        written.is_some_and(|written| {
            let mut pairs = written.iter().zip(records);
            !records.is_empty()
                && pairs.all(|(step, record)| {
                    step.epoch == append.epoch && step.record.bytes() == *record
                })
        })
    }

    /// Puts something into the inbox, if it may come in.
    pub(crate) fn deliver(&mut self, delivery: Delivery) -> Result<Delivered, EncodeError> {
        if self.delivered.contains(&delivery.id) {
            return Ok(Delivered::AlreadyThere);
        }
        let record = jackfield_record::encode_delivery(&delivery)?;
        if let DeliveryBody::Answer { answer, wait } = &delivery.body {
            let taken = Taken {
                at: delivery.at,
                by: Arc::clone(&delivery.by),
                delivery: delivery.id.clone(),
                place: self.deliveries.len() as u64,
            };
            if let Err(closed) = self.waits.answer(wait, answer, taken) {
                return Ok(closed);
            }
        }
        self.delivered.insert(delivery.id);
        self.deliveries.push(record.into());
        self.arrived.notify_waiters();
        Ok(Delivered::Accepted)
    }

    /// The records of all steps and all deliveries.
    pub(crate) fn records(&self) -> (Vec<Record>, Vec<Record>) {
        let steps = self.steps.iter().map(|step| step.record.clone());
        (steps.collect(), self.deliveries.clone())
    }

    /// The records of the deliveries from this place on.
    pub(crate) fn deliveries_from(&self, place: u64) -> Vec<Record> {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.deliveries.get(place..).unwrap_or_default().to_vec()
    }

    /// What is told of every arrival.
    pub(crate) fn arrived(&self) -> Arc<Notify> {
        Arc::clone(&self.arrived)
    }
}
