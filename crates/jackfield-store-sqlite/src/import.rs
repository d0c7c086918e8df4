//! Writes a session of another journal.

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::copy::{Imported, SessionCopy};
use jackfield_ports::journal::sessions::LabelChange;
use jackfield_ports::journal::summary::AT_ONCE;
use jackfield_ports::journal::waits::WaitRow;
use jackfield_ports::journal::{Append, Epoch};
use jackfield_record::EncodeError;
use rusqlite::types::Type;
use rusqlite::{Connection, params};

use crate::commit;
use crate::error::damaged;
use crate::owners::Incarnation;
use crate::requests::AppendJob;
use crate::rows;

/// A session of another journal, encoded by its requester.
pub(crate) struct ImportJob {
    append: Append,
    changed: WallTime,
    created: WallTime,
    /// The ids and the records of its deliveries.
    deliveries: Vec<(String, Vec<u8>)>,
    due: Option<WallTime>,
    owner_inbox_end: u64,
    seen: u64,
    session: SessionId,
    labels: LabelChange,
    waits: Vec<WaitRow>,
}

impl ImportJob {
    pub(crate) fn new(copy: &SessionCopy) -> Result<Self, EncodeError> {
        let deliveries = copy.loaded.deliveries.iter().map(|delivery| {
            let record = jackfield_record::encode_delivery(delivery)?;
            Ok((delivery.id.to_string(), record))
        });
        let (owner_inbox_end, seen, summary) =
            (copy.owner_inbox_end(), copy.seen(), copy.summary());
        let has_unseen = summary.open.is_some() && seen < owner_inbox_end;
        Ok(Self {
            append: Append {
                epoch: Epoch(0),
                position: 0,
                seen: 0,
                session: copy.session.clone(),
                steps: copy.loaded.steps.clone(),
            },
            changed: copy.changed,
            created: copy.created,
            deliveries: deliveries.collect::<Result<_, EncodeError>>()?,
            due: if has_unseen {
                Some(AT_ONCE)
            } else {
                summary.due()
            },
            owner_inbox_end,
            seen,
            session: copy.session.clone(),
            labels: copy.labels.clone(),
            waits: copy.waits(),
        })
    }

    pub(crate) fn write(
        &self,
        connection: &Connection,
        incarnation: &Incarnation,
    ) -> rusqlite::Result<Imported> {
        if rows::session(connection, &self.session)?.is_some() {
            return Ok(Imported::AlreadyThere);
        }
        let owned = commit::own(connection, &self.session, incarnation, self.created)?;
        let owned = owned.map_err(|_| impossible("a new session has an owner"))?;
        let append = Append {
            epoch: owned.epoch,
            ..self.append.clone()
        };
        let job = AppendJob::from_append(&append).map_err(|error| damaged(0, Type::Blob, error))?;
        let appended = commit::append(connection, &job, None, self.changed)?;
        appended.map_err(|_| impossible("its steps are not numbered in order"))?;
        let row = rows::session(connection, &self.session)?;
        let number = row
            .ok_or_else(|| impossible("a new session is gone"))?
            .number;
        for wait in &self.waits {
            rows::set_wait(connection, number, wait)?;
        }
        let mut insert = connection.prepare_cached(
            "INSERT INTO deliveries (session, place, id, record) VALUES (?1, ?2, ?3, ?4)",
        )?;
        let mut bytes = 0;
        for (place, (id, record)) in self.deliveries.iter().enumerate() {
            bytes += record.len();
            insert.execute(params![number, place, id, record])?;
        }
        let labelled = commit::label(connection, &self.session, &self.labels)?;
        labelled.map_err(|_| impossible("a new session takes no labels"))?;
        let mut finish = connection.prepare_cached(
            "UPDATE sessions SET owner = NULL, deliveries = ?2, loud = ?3, seen = ?4, bytes = bytes + ?5, due = ?6,
                 changed = ?7
             WHERE number = ?1",
        )?;
        finish.execute(params![
            number,
            self.deliveries.len(),
            self.owner_inbox_end,
            self.seen,
            bytes,
            self.due.map(WallTime::as_millis),
            self.changed.as_millis(),
        ])?;
        Ok(Imported::Written)
    }
}

/// An error that undoes everything.
fn impossible(why: &'static str) -> rusqlite::Error {
    damaged(0, Type::Null, Impossible(why))
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Impossible(&'static str);
