//! Writes a session of another journal.

use jackfield_domain::time::WallTime;
use jackfield_ports::journal::copy::{Imported, SessionCopy};
use jackfield_ports::journal::summary::AT_ONCE;
use jackfield_ports::journal::{Append, Epoch};

use crate::commit;
use crate::derived::KnownRow;
use crate::error::Fault;
use crate::pool::{Connection, Transaction, column, count, int, values};
use crate::requests::AppendJob;
use crate::waits;

/// Writes it in one transaction.
pub(crate) async fn import(
    connection: &mut Connection,
    copy: &SessionCopy,
) -> Result<Imported, Fault> {
    let id = copy.session.as_str();
    let (created, changed) = (copy.created.as_millis(), copy.changed.as_millis());
    let values = values![id => TEXT, created => INT8];
    let made = connection
        .begin(Transaction::Synced, CREATE, values)
        .await?;
    let Some(made) = made.first() else {
        connection.roll_back().await?;
        return Ok(Imported::AlreadyThere);
    };
    let (number, epoch) = (column(made, 0)?, Epoch(count(made, 1)?));
    let mut known = KnownRow::new(number, epoch);
    let mut position = 0;
    for steps in copy.loaded.steps.chunks(STEPS) {
        let append = Append {
            epoch,
            position,
            seen: 0,
            session: copy.session.clone(),
            steps: steps.to_vec(),
        };
        // Nobody owns a session that is being made.
        let job = AppendJob {
            begins: false,
            ..AppendJob::new(&append).map_err(Fault::row)?
        };
        if !job.is_numbered {
            return Err(Fault::row("its steps are not numbered in order"));
        }
        let after = known.append(connection, &job, Some(0), Some(changed));
        known = after
            .await?
            .ok_or_else(|| Fault::row("a new row has changed"))?;
        position = job.end();
    }
    for row in copy.waits() {
        let record = jackfield_record::encode_wait(&row.wait).map_err(Fault::row)?;
        waits::open(connection, number, &row.wait.id, &record).await?;
        waits::set(connection, number, &row).await?;
    }
    let mut bytes = 0;
    for (place, delivery) in (0_i64..).zip(&copy.loaded.deliveries) {
        let record = jackfield_record::encode_delivery(delivery).map_err(Fault::row)?;
        bytes += record.len() as u64;
        let values =
            values![number => INT8, place => INT8, delivery.id.as_str() => TEXT, record => BYTEA];
        connection.execute(DELIVERY, values).await?;
    }
    finish(connection, copy, number, bytes).await?;
    connection.commit().await?;
    Ok(Imported::Written)
}

/// Sets what no step tells.
async fn finish(
    connection: &mut Connection,
    copy: &SessionCopy,
    number: i64,
    bytes: u64,
) -> Result<(), Fault> {
    let (loud, seen) = (copy.owner_inbox_end(), copy.seen());
    let summary = copy.summary();
    let due = if summary.open.is_some() && seen < loud {
        Some(AT_ONCE)
    } else {
        summary.due()
    };
    let due = due.map(WallTime::as_millis);
    let values = values![
        number => INT8, int(copy.loaded.deliveries.len() as u64) => INT8, int(loud) => INT8, int(seen) => INT8,
        int(bytes) => INT8, due => INT8, copy.loaded.restored => BOOL, copy.changed.as_millis() => INT8,
    ];
    connection.execute(FINISH, values).await?;
    commit::label(connection, number, &copy.labels).await
}

/// How many steps are written at once.
const STEPS: usize = 200;

const CREATE: &str = "INSERT INTO jackfield.sessions (id, epoch, owner, created, changed)
     VALUES ($1, nextval('jackfield.epochs'), '', $2, $2) ON CONFLICT (id) DO NOTHING RETURNING number, epoch";
const DELIVERY: &str =
    "INSERT INTO jackfield.deliveries (session, place, id, record) VALUES ($1, $2, $3, $4)";
const FINISH: &str =
    "UPDATE jackfield.sessions SET owner = NULL, deliveries = $2, loud = $3, seen = $4,
         bytes = bytes + $5, due = $6, restored = $7, changed = $8
     WHERE number = $1";
