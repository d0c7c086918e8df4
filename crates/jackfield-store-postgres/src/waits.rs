//! The rows of waits.

use std::sync::Arc;

use jackfield_domain::ids::{DeliveryId, WaitId};
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::WaitEndKind;
use jackfield_ports::journal::waits::{TakenDelivery, WaitRow, WaitState};
use tokio_postgres::Row;

use crate::error::Fault;
use crate::pool::{Connection, column, count, int, values};
use crate::requests::utf8;

/// The row of a wait, if there is one.
pub(crate) async fn find(
    connection: &mut Connection,
    session: i64,
    wait: &WaitId,
) -> Result<Option<WaitRow>, Fault> {
    let wait = wait.as_str();
    let values = values![session => INT8, wait => TEXT];
    let row = connection.query_row(FIND, values).await?;
    row.as_ref().map(from_row).transpose()
}

/// Reads a row whose first columns are `wait, state, at, by, how, delivery, place`.
pub(crate) fn from_row(row: &Row) -> Result<WaitRow, Fault> {
    let wait = jackfield_record::decode_wait(column(row, 0)?).map_err(Fault::row)?;
    let at = |row| column(row, 2).map(WallTime::from_millis);
    let by = |row| column::<Option<&[u8]>>(row, 3)?.map(utf8).transpose();
    let state = match column(row, 1)? {
        "answered" => WaitState::Answered(TakenDelivery {
            at: at(row)?,
            by: by(row)?.ok_or_else(|| Fault::row("an answer without a sender"))?,
            delivery: DeliveryId::parse(column(row, 5)?).map_err(Fault::row)?,
            index: count(row, 6)?,
        }),
        "closed" => WaitState::Closed {
            at: at(row)?,
            by: by(row)?,
            how: match column(row, 4)? {
                "answered" => WaitEndKind::Answered,
                "cancelled" => WaitEndKind::Cancelled,
                "expired" => WaitEndKind::Expired,
                _ => WaitEndKind::Superseded,
            },
        },
        _ => WaitState::Open,
    };
    Ok(WaitRow { state, wait })
}

/// Inserts the row of a new wait; a row that is there stays.
pub(crate) async fn open(
    connection: &mut Connection,
    session: i64,
    wait: &WaitId,
    record: &[u8],
) -> Result<(), Fault> {
    let wait = wait.as_str();
    let values = values![session => INT8, wait => TEXT, record => BYTEA];
    connection.execute(OPEN, values).await?;
    Ok(())
}

/// Updates the state of a wait.
pub(crate) async fn set(
    connection: &mut Connection,
    session: i64,
    row: &WaitRow,
) -> Result<(), Fault> {
    let (state, at, by, how, delivery, place) = match &row.state {
        WaitState::Answered(taken) => (
            "answered",
            Some(taken.at),
            Some(Arc::clone(&taken.by)),
            None,
            Some(taken.delivery.as_str()),
            Some(int(taken.index)),
        ),
        WaitState::Closed { at, by, how } => (
            "closed",
            Some(*at),
            by.clone(),
            Some(end_name(*how)),
            None,
            None,
        ),
        WaitState::Open => ("open", None, None, None, None, None),
    };
    let id = row.wait.id.as_str();
    let at = at.map(WallTime::as_millis);
    let by = by.as_deref().map(str::as_bytes);
    let values = values![
        session => INT8, id => TEXT, state => TEXT, at => INT8, by => BYTEA, how => TEXT, delivery => TEXT,
        place => INT8,
    ];
    connection.execute(SET, values).await?;
    Ok(())
}

const fn end_name(how: WaitEndKind) -> &'static str {
    match how {
        WaitEndKind::Answered => "answered",
        WaitEndKind::Cancelled => "cancelled",
        WaitEndKind::Expired => "expired",
        WaitEndKind::Superseded => "superseded",
    }
}

const FIND: &str = "SELECT wait, state, at, by, how, delivery, place FROM jackfield.waits
     WHERE session = $1 AND id = $2";
const OPEN: &str = "INSERT INTO jackfield.waits (session, id, wait, state)
     VALUES ($1, $2, $3, 'open') ON CONFLICT DO NOTHING";
const SET: &str = "UPDATE jackfield.waits
     SET state = $3, at = $4, by = $5, how = $6, delivery = $7, place = $8
     WHERE session = $1 AND id = $2";
