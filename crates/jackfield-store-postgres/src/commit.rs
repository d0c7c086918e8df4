//! The changes that each request makes, each in a transaction that locks the session's row first.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::ids::{DeliveryId, SessionId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::sessions::LabelChange;
use jackfield_ports::journal::summary::{AT_ONCE, is_for_owner, normalize};
use jackfield_ports::journal::waits::{TakenDelivery, WaitRow};
use jackfield_ports::journal::{AppendRefusal, DeliveryOutcome, Epoch};
use jackfield_record::DecodeError;

use crate::derived::KnownRow;
use crate::error::Fault;
use crate::pool::{Connection, Transaction, Values, column, count, int, values};
use crate::process::{self, Incarnation};
use crate::requests::{AppendJob, WaitUpdate, without_nul};
use crate::rows::{SELECT_LOCKED, StoredSession};
use crate::waits;

/// Why a session cannot be owned or changed.
pub(crate) enum NotOwned {
    /// A live process has a hold on it.
    Held,
    /// A live process owns it.
    Owned,
    /// This process is dead to the database, and has to begin again.
    Ourselves,
    /// A newer build has written it.
    Unreadable(DecodeError),
    /// It does not exist.
    Unknown,
}

/// Begins a transaction with the row of a session, locked.
async fn lock(
    connection: &mut Connection,
    kind: Transaction,
    session: &SessionId,
    now: Option<i64>,
) -> Result<Option<StoredSession>, Fault> {
    let session = session.as_str();
    let values = values![session => TEXT, now => INT8];
    let rows = connection.begin(kind, SELECT_LOCKED, values).await?;
    rows.first().map(StoredSession::from_row).transpose()
}

/// Takes ownership of a session and creates it if it does not exist.
pub(crate) async fn own(
    connection: &mut Connection,
    session: &SessionId,
    incarnation: &Incarnation,
    now: Option<i64>,
) -> Result<Result<KnownRow, NotOwned>, Fault> {
    let name = incarnation.name.as_str();
    loop {
        let Some(row) = lock(connection, Transaction::Synced, session, now).await? else {
            let id = session.as_str();
            let values = values![id => TEXT, name => TEXT, now => INT8];
            let created = connection.query_row(CREATE, values).await?;
            match created {
                Some(row) => {
                    let known = KnownRow::new(column(&row, 0)?, Epoch(count(&row, 1)?));
                    return finish_owning(connection, name, known).await;
                }
                // Another process creates it at the same time.
                None => {
                    connection.roll_back().await?;
                    continue;
                }
            }
        };
        if let Some(newer) = row.newer() {
            connection.roll_back().await?;
            return Ok(Err(NotOwned::Unreadable(newer)));
        }
        if let Some(owner) = row.owner.as_deref().filter(|owner| *owner != name)
            && !process::is_dead(connection, owner).await?
        {
            connection.roll_back().await?;
            return Ok(Err(NotOwned::Owned));
        }
        let values = values![row.number => INT8, name => TEXT];
        let taken = connection.query_row(TAKE, values).await?;
        let taken = taken.ok_or_else(|| Fault::row("a locked row is gone"))?;
        let known = KnownRow::from_row(&row, Epoch(count(&taken, 0)?))?;
        return finish_owning(connection, name, known).await;
    }
}

/// Commits an ownership, if the owner still counts as alive.
async fn finish_owning(
    connection: &mut Connection,
    name: &str,
    known: KnownRow,
) -> Result<Result<KnownRow, NotOwned>, Fault> {
    if process::is_dead(connection, name).await? {
        connection.roll_back().await?;
        return Ok(Err(NotOwned::Ourselves));
    }
    connection.commit().await?;
    Ok(Ok(known))
}

/// Deletes a session that has no owner and no hold.
pub(crate) async fn delete(
    connection: &mut Connection,
    session: &SessionId,
    name: &str,
    held_here: &[String],
) -> Result<Result<(), NotOwned>, Fault> {
    let id = session.as_str();
    // A process that takes a hold now waits for the deletion, and then holds a session that does not exist.
    connection
        .begin(Transaction::Synced, LOCK_HOLDS, values![id => TEXT])
        .await?;
    let none: Option<i64> = None;
    let values = values![id => TEXT, none => INT8];
    let row = connection.query_row(SELECT_LOCKED, values).await?;
    let row = row.as_ref().map(StoredSession::from_row).transpose()?;
    let refusal = match &row {
        None => Some(NotOwned::Unknown),
        Some(StoredSession {
            owner: Some(owner), ..
        }) if !process::is_dead(connection, owner).await? => Some(NotOwned::Owned),
        Some(_) if held_here.iter().any(|held| held == id) => Some(NotOwned::Held),
        Some(_) => {
            let values = values![id => TEXT, name => TEXT];
            let held = connection.query(HELD, values).await?;
            (!held.is_empty()).then_some(NotOwned::Held)
        }
    };
    if let Some(refusal) = refusal {
        connection.roll_back().await?;
        return Ok(Err(refusal));
    }
    if let Some(row) = row {
        connection
            .execute(DELETE, values![row.number => INT8])
            .await?;
    }
    connection.commit().await?;
    Ok(Ok(()))
}

/// Changes one column or two of a session, if it can be read.
pub(crate) async fn update(
    connection: &mut Connection,
    session: &SessionId,
    change: Change<'_>,
) -> Result<Result<(), NotOwned>, Fault> {
    let Some(row) = lock(connection, Transaction::Synced, session, None).await? else {
        connection.roll_back().await?;
        return Ok(Err(NotOwned::Unknown));
    };
    if let Some(newer) = row.newer() {
        connection.roll_back().await?;
        return Ok(Err(NotOwned::Unreadable(newer)));
    }
    match change {
        Change::Restored => {
            connection
                .execute(RESTORE, values![row.number => INT8])
                .await?;
        }
        Change::Labels(change) => {
            label(connection, row.number, change).await?;
        }
    }
    connection.commit().await?;
    Ok(Ok(()))
}

/// Changes the labels of a session by its number.
pub(crate) async fn label(
    connection: &mut Connection,
    number: i64,
    change: &LabelChange,
) -> Result<(), Fault> {
    let given = change.title.as_deref().filter(|title| !title.is_empty());
    let words = given.map(|title| without_nul(&normalize(title)));
    let given = given.map(str::as_bytes);
    let values = values![
        number => INT8, change.title.is_some() => BOOL, given => BYTEA, words => TEXT,
        change.pinned => BOOL, change.archived => BOOL,
    ];
    connection.execute(LABEL, values).await?;
    Ok(())
}

/// A change to a session that needs no ownership.
#[derive(Clone, Copy)]
pub(crate) enum Change<'a> {
    Restored,
    Labels(&'a LabelChange),
}

/// Appends steps and returns what is then known of the row, if anything. Every check precedes the first write.
pub(crate) async fn append(
    connection: &mut Connection,
    append: &AppendJob<'_>,
    now: Option<i64>,
) -> Result<Result<Option<KnownRow>, AppendRefusal>, Fault> {
    let checked = match lock(connection, Transaction::Synced, append.session, now).await? {
        // An owner that released the session may not append any more, nor one of a session that does not exist.
        Some(row) if row.epoch == append.epoch.0 && row.owner.is_some() => {
            check(connection, &row, append)
                .await?
                .map(|found| (row, found))
        }
        Some(_) | None => Err(AppendRefusal::StaleEpoch),
    };
    let (row, mut found) = match checked {
        Ok((row, Some(found))) => (row, found),
        Ok((_, None)) => {
            connection.roll_back().await?;
            return Ok(Ok(None));
        }
        Err(refusal) => {
            connection.roll_back().await?;
            return Ok(Err(refusal));
        }
    };
    let before = KnownRow::from_row(&row, append.epoch)?;
    let appended = before.append(connection, append, Some(row.loud), now);
    let Some(known) = appended.await? else {
        // The row is locked, so the lease has passed.
        connection.roll_back().await?;
        return Ok(Err(AppendRefusal::StaleEpoch));
    };
    for change in &append.changes {
        match change {
            WaitUpdate::Closed { at, end, wait } => {
                if let Some(found) = found.get_mut(*wait) {
                    found.close(end, *at);
                    waits::set(connection, row.number, found).await?;
                }
            }
            WaitUpdate::Opened { record, wait } => {
                waits::open(connection, row.number, &wait.id, record).await?;
                let opened = || WaitRow::opened((*wait).clone());
                found.entry(wait.id.clone()).or_insert_with(opened);
            }
        }
    }
    connection.commit().await?;
    Ok(Ok(Some(known)))
}

/// The rows of the waits that an append closes, if it may be written; `None` if it was written before.
async fn check(
    connection: &mut Connection,
    row: &StoredSession,
    append: &AppendJob<'_>,
) -> Result<Result<Option<HashMap<WaitId, WaitRow>>, AppendRefusal>, Fault> {
    if !append.is_numbered {
        return Ok(Err(AppendRefusal::Position));
    }
    if row.steps != append.position {
        let is_repeated = is_repeated(connection, row, append).await?;
        return Ok(if is_repeated {
            Ok(None)
        } else {
            Err(AppendRefusal::Position)
        });
    }
    let mut found = HashMap::new();
    for change in &append.changes {
        let wait = match change {
            WaitUpdate::Closed { wait, .. } => *wait,
            WaitUpdate::Opened { wait, .. } => &wait.id,
        };
        if !found.contains_key(wait)
            && let Some(known) = waits::find(connection, row.number, wait).await?
        {
            found.insert(wait.clone(), known);
        }
        if let WaitUpdate::Closed { end, wait, .. } = change
            && let Some(known) = found.get(*wait)
            && !known.may_close(end, append.seen)
        {
            return Ok(Err(AppendRefusal::Answered));
        }
    }
    Ok(Ok(Some(found)))
}

/// Whether the same append was committed before, under the same ownership.
async fn is_repeated(
    connection: &mut Connection,
    row: &StoredSession,
    append: &AppendJob<'_>,
) -> Result<bool, Fault> {
    // An empty append proves nothing, and no step was written beyond the end.
    if append.records.is_empty() || append.end() > row.steps {
        return Ok(false);
    }
    let (begin, end) = (int(append.position), int(append.end()));
    let values = values![row.number => INT8, begin => INT8, end => INT8];
    let written = connection.query(WRITTEN, values).await?;
    if written.len() != append.records.len() {
        return Ok(false);
    }
    for (step, record) in written.iter().zip(&append.records) {
        if count(step, 0)? != append.epoch.0 || column::<&[u8]>(step, 1)? != record.as_slice() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds a delivery to an inbox.
pub(crate) async fn deliver(
    connection: &mut Connection,
    session: &SessionId,
    id: &DeliveryId,
    by: &Arc<str>,
    body: &DeliveryBody,
    now: Option<i64>,
) -> Result<Result<DeliveryOutcome, NotOwned>, Fault> {
    // The record that a reply was written may be lost: then the reply is still owed and is sent again.
    let kind = match body {
        DeliveryBody::Written { .. } => Transaction::Unsynced,
        DeliveryBody::Answer { .. }
        | DeliveryBody::Cancel { .. }
        | DeliveryBody::Late { .. }
        | DeliveryBody::Withdrawn { .. } => Transaction::Synced,
    };
    let Some(row) = lock(connection, kind, session, now).await? else {
        connection.roll_back().await?;
        return Ok(Err(NotOwned::Unknown));
    };
    let refusal = match row.newer() {
        Some(newer) => Some(Err(NotOwned::Unreadable(newer))),
        None => add_delivery(connection, &row, id, by, body).await?.map(Ok),
    };
    if let Some(refusal) = refusal {
        connection.roll_back().await?;
        return Ok(refusal);
    }
    connection.commit().await?;
    Ok(Ok(DeliveryOutcome::Accepted))
}

/// Writes a delivery; returns the outcome if it is not accepted.
async fn add_delivery(
    connection: &mut Connection,
    row: &StoredSession,
    id: &DeliveryId,
    by: &Arc<str>,
    body: &DeliveryBody,
) -> Result<Option<DeliveryOutcome>, Fault> {
    let values = values![row.number => INT8, id.as_str() => TEXT];
    if connection.query_row(DELIVERED, values).await?.is_some() {
        return Ok(Some(DeliveryOutcome::AlreadyThere));
    }
    let at = WallTime::from_millis(row.now);
    let delivery = Delivery {
        at,
        body: body.clone(),
        by: Arc::clone(by),
        id: id.clone(),
    };
    let record = jackfield_record::encode_delivery(&delivery).map_err(Fault::row)?;
    if let DeliveryBody::Answer { answer, wait } = body {
        let Some(mut found) = waits::find(connection, row.number, wait).await? else {
            return Ok(Some(DeliveryOutcome::NoSuchWait));
        };
        let taken = TakenDelivery {
            at,
            by: Arc::clone(by),
            delivery: id.clone(),
            index: row.deliveries,
        };
        if let Err(outcome) = found.answer(answer, taken) {
            return Ok(Some(outcome));
        }
        waits::set(connection, row.number, &found).await?;
    }
    let at_once = is_for_owner(body).then_some(AT_ONCE.as_millis());
    let values: Values<'_> = values![
        row.number => INT8, int(row.deliveries) => INT8, id.as_str() => TEXT, record => BYTEA, row.now => INT8,
        int(record.len() as u64) => INT8, at_once => INT8,
    ];
    connection.execute(DELIVER, values).await?;
    Ok(None)
}

const CREATE: &str = "INSERT INTO jackfield.sessions (id, epoch, owner, created, changed)
     SELECT $1, nextval('jackfield.epochs'), $2, at, at
     FROM (SELECT coalesce($3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS at) AS clock
     ON CONFLICT (id) DO NOTHING RETURNING number, epoch";
const TAKE: &str = "UPDATE jackfield.sessions SET owner = $2, epoch = greatest(epoch + 1, nextval('jackfield.epochs'))
     WHERE number = $1 RETURNING epoch";
pub(crate) const RELEASE: &str =
    "UPDATE jackfield.sessions SET owner = NULL WHERE id = $1 AND epoch = $2";

/// The lock that orders the holds on a session and its deletion.
const LOCK_HOLDS: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('jackfield hold ' || $1, 0))";
pub(crate) const HOLD: &str = "INSERT INTO jackfield.holds (process, nth, session)
     SELECT $2, $3, $1
     FROM (SELECT pg_advisory_xact_lock_shared(hashtextextended('jackfield hold ' || $1, 0))) AS locked
     WHERE EXISTS (SELECT 1 FROM jackfield.processes WHERE name = $2 AND alive_until > clock_timestamp())
     ON CONFLICT (process, nth) DO UPDATE SET session = excluded.session";
const HELD: &str = "SELECT 1 FROM jackfield.holds JOIN jackfield.processes ON name = process
     WHERE session = $1 AND process <> $2 AND alive_until > clock_timestamp()";
const DELETE: &str = "WITH a AS (DELETE FROM jackfield.steps WHERE session = $1),
         b AS (DELETE FROM jackfield.parts WHERE session = $1),
         c AS (DELETE FROM jackfield.deliveries WHERE session = $1),
         d AS (DELETE FROM jackfield.waits WHERE session = $1),
         e AS (DELETE FROM jackfield.texts WHERE session = $1),
         f AS (DELETE FROM jackfield.marks WHERE session = $1)
     DELETE FROM jackfield.sessions WHERE number = $1";

const RESTORE: &str = "UPDATE jackfield.sessions SET restored = true WHERE number = $1";
const LABEL: &str =
    "UPDATE jackfield.sessions SET given_title = CASE WHEN $2 THEN $3 ELSE given_title END,
         given_words = CASE WHEN $2 THEN $4 ELSE given_words END, pinned = coalesce($5, pinned),
         archived = coalesce($6, archived)
     WHERE number = $1";

const WRITTEN: &str = "SELECT epoch, record FROM jackfield.steps
     WHERE session = $1 AND position >= $2 AND position < $3 ORDER BY position";

const DELIVERED: &str = "SELECT 1 FROM jackfield.deliveries WHERE session = $1 AND id = $2";
/// Makes the open turn due for its next owner, if the delivery is for it.
const DELIVER: &str = "WITH stored AS (
         INSERT INTO jackfield.deliveries (session, place, id, record) VALUES ($1, $2, $3, $4)
     )
     UPDATE jackfield.sessions SET deliveries = $2 + 1, changed = $5, bytes = bytes + $6,
         loud = CASE WHEN $7::bigint IS NULL THEN loud ELSE $2 + 1 END,
         due = CASE WHEN $7::bigint IS NULL THEN due WHEN open IS NULL THEN NULL ELSE $7 END
     WHERE number = $1";
