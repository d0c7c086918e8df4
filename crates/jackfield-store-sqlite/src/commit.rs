//! The changes to the rows that each request makes, within a transaction that several requests share.

use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::sessions::LabelChange;
use jackfield_ports::journal::summary::{AT_ONCE, is_for_owner, normalize};
use jackfield_ports::journal::waits;
use jackfield_ports::journal::{AppendRefusal, DeliveryOutcome, Epoch};
use jackfield_record::DecodeError;
use rusqlite::types::Type;
use rusqlite::{Connection, params};

use crate::chain;
use crate::derived;
use crate::error::damaged;
use crate::holds::HoldLock;
use crate::owned::OwnerRow;
use crate::owners::Incarnation;
use crate::parts;
use crate::requests::{AppendJob, DeliverJob, WaitUpdate};
use crate::rows::{self, StoredSession};

/// Why a session cannot be owned or changed.
pub(crate) enum NotOwned {
    /// A live process has a hold on it.
    Held,
    /// A live process owns it.
    Owned,
    /// Its row or its steps cannot be read.
    Unreadable(DecodeError),
    /// It does not exist.
    Unknown,
}

/// A session that was taken over.
pub(crate) struct TakenSession {
    pub(crate) epoch: Epoch,
    /// The contents of its row, if known.
    pub(crate) row: Option<OwnerRow>,
}

/// Takes ownership of a session and creates it if it does not exist.
pub(crate) fn own(
    connection: &Connection,
    session: &SessionId,
    incarnation: &Incarnation,
    now: WallTime,
) -> rusqlite::Result<Result<TakenSession, NotOwned>> {
    let Some(row) = rows::session(connection, session)? else {
        let mut past = connection.prepare_cached("SELECT epoch + 1 FROM past")?;
        let epoch = past.query_row((), |row| row.get(0))?;
        // `RETURNING` the number and epoch would cost more than the rest of the statement.
        let mut insert = connection.prepare_cached(
            "INSERT INTO sessions (id, epoch, owner, created, changed) VALUES (?1, ?2, ?3, ?4, ?4)",
        )?;
        let number = insert.insert(params![
            session.as_str(),
            epoch,
            incarnation.name(),
            now.as_millis()
        ])?;
        return Ok(Ok(TakenSession {
            epoch: Epoch(epoch),
            row: Some(OwnerRow::new(number, epoch)),
        }));
    };
    let other = row.owner.as_deref();
    if other.is_some_and(|owner| incarnation.is_alive(owner) && owner != incarnation.name()) {
        return Ok(Err(NotOwned::Owned));
    }
    if let Err(error) = derived::catch_up(connection, &row)? {
        return Ok(Err(NotOwned::Unreadable(error)));
    }
    let epoch = row.epoch.saturating_add(1);
    let mut update = connection
        .prepare_cached("UPDATE sessions SET epoch = ?2, owner = ?3 WHERE number = ?1")?;
    update.execute(params![row.number, epoch, incarnation.name()])?;
    // A summary derived just now is read again when it is needed, and damage is reported then.
    let summary = derived::summary(&row).ok();
    let known = summary.filter(|_| row.summarized_steps == row.steps);
    let known = known.map(|summary| OwnerRow::from_row(&row, epoch, summary));
    Ok(Ok(TakenSession {
        epoch: Epoch(epoch),
        row: known,
    }))
}

/// Gives up the ownership of a session under this epoch.
pub(crate) fn release(
    connection: &Connection,
    session: &SessionId,
    epoch: Epoch,
    incarnation: &Incarnation,
) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE sessions SET owner = NULL WHERE id = ?1 AND epoch = ?2 AND owner = ?3",
    )?;
    update.execute(params![session.as_str(), epoch.0, incarnation.name()])?;
    Ok(())
}

/// Deletes a session that has no owner and no hold; the lock proves the latter.
pub(crate) fn delete(
    connection: &Connection,
    session: &SessionId,
    incarnation: &Incarnation,
    exclusive_hold: Option<&HoldLock>,
) -> rusqlite::Result<Result<(), NotOwned>> {
    let Some(row) = rows::session(connection, session)? else {
        return Ok(Err(NotOwned::Unknown));
    };
    if row
        .owner
        .as_deref()
        .is_some_and(|owner| incarnation.is_alive(owner))
    {
        return Ok(Err(NotOwned::Owned));
    }
    if exclusive_hold.is_none() {
        return Ok(Err(NotOwned::Held));
    }
    let mut past = connection.prepare_cached("UPDATE past SET epoch = max(epoch, ?1)")?;
    past.execute([row.epoch])?;
    chain::delete(connection, &row.end())?;
    parts::delete_session(connection, row.number)?;
    Ok(Ok(()))
}

/// Changes the labels of a session.
pub(crate) fn label(
    connection: &Connection,
    session: &SessionId,
    change: &LabelChange,
) -> rusqlite::Result<Result<(), NotOwned>> {
    let Some(row) = rows::session(connection, session)? else {
        return Ok(Err(NotOwned::Unknown));
    };
    if let Some(newer) = derived::newer(&row) {
        return Ok(Err(NotOwned::Unreadable(newer)));
    }
    let mut update = connection.prepare_cached(
        "UPDATE sessions SET pinned = coalesce(?2, pinned), archived = coalesce(?3, archived) WHERE number = ?1",
    )?;
    update.execute(params![row.number, change.pinned, change.archived])?;
    match change.title.as_deref() {
        None => {}
        Some("") => {
            let mut delete = connection.prepare_cached("DELETE FROM titles WHERE session = ?1")?;
            delete.execute([row.number])?;
        }
        Some(title) => {
            let mut insert = connection.prepare_cached(
                "INSERT OR REPLACE INTO titles (session, title, words) VALUES (?1, ?2, ?3)",
            )?;
            insert.execute(params![row.number, title, normalize(title)])?;
        }
    }
    Ok(Ok(()))
}

/// Appends steps and returns the new contents of the row, if known. Every check precedes the first write.
pub(crate) fn append(
    connection: &Connection,
    append: &AppendJob,
    known: Option<&OwnerRow>,
    now: WallTime,
) -> rusqlite::Result<Result<Option<OwnerRow>, AppendRefusal>> {
    // If the row is unchanged and the append touches no wait, nothing has to be read. The steps are written first,
    // which yields their numbers; they are deleted again if the row turns out to have changed.
    if let Some(known) = known
        && known.is_followed_by(append)
    {
        let last = chain::insert_steps(connection, known.number, known.last, append)?;
        if let Some(after) = derived::update_known_row(connection, known, append, last, now)? {
            parts::insert(connection, known.number, &append.parts)?;
            return Ok(Ok(Some(after)));
        }
        chain::delete_steps(connection, append, last)?;
    }
    // A session that does not exist has never had an owner.
    let Some(row) = rows::session(connection, &append.session)? else {
        return Ok(Err(AppendRefusal::StaleEpoch));
    };
    // An owner that released the session may not append any more.
    if row.epoch != append.epoch.0 || row.owner.is_none() {
        return Ok(Err(AppendRefusal::StaleEpoch));
    }
    if !append.is_numbered {
        return Ok(Err(AppendRefusal::Position));
    }
    if row.steps != append.position {
        let repeated = is_repeated(connection, &row, append)?;
        return Ok(if repeated {
            Ok(None)
        } else {
            Err(AppendRefusal::Position)
        });
    }
    for change in &append.changes {
        if let WaitUpdate::Closed { end, wait, .. } = change
            && let Some(found) = rows::wait(connection, row.number, wait)?
            && !found.may_close(end, append.seen)
        {
            return Ok(Err(AppendRefusal::Answered));
        }
    }
    let last = chain::insert_steps(connection, row.number, row.last, append)?;
    parts::insert(connection, row.number, &append.parts)?;
    for change in &append.changes {
        match change {
            WaitUpdate::Closed { at, end, wait } => {
                if let Some(mut found) = rows::wait(connection, row.number, wait)? {
                    found.close(end, *at);
                    rows::set_wait(connection, row.number, &found)?;
                }
            }
            WaitUpdate::Opened { record, wait } => {
                rows::open_wait(connection, row.number, &wait.id, record)?;
            }
        }
    }
    Ok(Ok(Some(derived::update_row(
        connection, &row, append, last, now,
    )?)))
}

/// Whether the same append was committed before, under the same ownership.
fn is_repeated(
    connection: &Connection,
    row: &StoredSession,
    append: &AppendJob,
) -> rusqlite::Result<bool> {
    // An empty append proves nothing, and no step was written beyond the end.
    if append.records.is_empty() || append.position > row.steps {
        return Ok(false);
    }
    let mut query =
        connection.prepare_cached("SELECT epoch, record FROM steps WHERE number = ?1")?;
    let numbers = chain::numbers(connection, &row.end(), append.position)?;
    if numbers.len() < append.records.len() {
        return Ok(false);
    }
    for (number, record) in numbers.iter().zip(&append.records) {
        let mut found = query.query([number])?;
        let same = match found.next()? {
            Some(step) => {
                step.get::<_, u64>(0)? == append.epoch.0
                    && step.get_ref(1)?.as_blob()? == record.as_slice()
            }
            None => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds a delivery to an inbox.
pub(crate) fn deliver(
    connection: &Connection,
    job: &DeliverJob,
    now: WallTime,
) -> rusqlite::Result<Result<DeliveryOutcome, NotOwned>> {
    let Some(row) = rows::session(connection, &job.session)? else {
        return Ok(Err(NotOwned::Unknown));
    };
    if let Some(newer) = derived::newer(&row) {
        return Ok(Err(NotOwned::Unreadable(newer)));
    }
    let id = job.id.as_str();
    let mut known =
        connection.prepare_cached("SELECT 1 FROM deliveries WHERE session = ?1 AND id = ?2")?;
    if known.exists(params![row.number, id])? {
        return Ok(Ok(DeliveryOutcome::AlreadyThere));
    }
    let delivery = Delivery {
        at: now,
        body: job.body.clone(),
        by: Arc::clone(&job.by),
        id: job.id.clone(),
    };
    let record = jackfield_record::encode_delivery(&delivery)
        .map_err(|error| damaged(0, Type::Blob, error))?;
    if let DeliveryBody::Answer { answer, wait } = &delivery.body {
        let Some(mut found) = rows::wait(connection, row.number, wait)? else {
            return Ok(Ok(DeliveryOutcome::NoSuchWait));
        };
        let taken = waits::TakenDelivery {
            at: now,
            by: Arc::clone(&delivery.by),
            delivery: delivery.id.clone(),
            index: row.deliveries,
        };
        if let Err(outcome) = found.answer(answer, taken) {
            return Ok(Ok(outcome));
        }
        rows::set_wait(connection, row.number, &found)?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO deliveries (session, place, id, record) VALUES (?1, ?2, ?3, ?4)",
    )?;
    insert.execute(params![row.number, row.deliveries, id, record])?;
    let mut update = connection.prepare_cached(
        "UPDATE sessions SET deliveries = deliveries + 1, changed = ?2, bytes = bytes + ?3
         WHERE number = ?1",
    )?;
    update.execute(params![row.number, now.as_millis(), record.len()])?;
    if is_for_owner(&delivery.body) {
        // Makes the open turn due for its next owner.
        let mut update = connection.prepare_cached(
            "UPDATE sessions SET loud = deliveries, due = iif(open IS NULL, NULL, ?2)
             WHERE number = ?1",
        )?;
        update.execute(params![row.number, AT_ONCE.as_millis()])?;
    }
    Ok(Ok(DeliveryOutcome::Accepted))
}
