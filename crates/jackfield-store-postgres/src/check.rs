//! Checks a whole database: whether every record can be read, and the rows say what the records say.

use std::time::{Duration, Instant};

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_ports::journal::admin::{CheckProgress, CheckReport, QuickChecked};
use jackfield_ports::journal::marks::{StepMarks, possible_marks, step_marks};
use jackfield_ports::journal::summary::{Summary, is_for_owner};
use jackfield_record::DecodeError;

use crate::error::Fault;
use crate::pool::{Connection, column, values};
use crate::records;
use crate::schema::FORM;
use crate::spending::{self, SpendingFault, SpendingRow};
use crate::waits;

/// Checks the database for at most about `limit`.
pub(crate) async fn check(
    connection: &mut Connection,
    limit: Duration,
    mut progress: impl FnMut(CheckProgress),
) -> Result<CheckReport, Fault> {
    let deadline = Instant::now().checked_add(limit);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let mut report = CheckReport::default();
    let mut ids: Vec<String> = Vec::new();
    for row in connection.query(SESSIONS, &[]).await? {
        ids.push(column(&row, 0)?);
    }
    let total = ids.len() as u64;
    for (done, id) in (0..).zip(&ids) {
        if is_over() {
            return Ok(report);
        }
        progress(CheckProgress { done, total });
        check_session(connection, id, &mut report).await?;
    }
    progress(CheckProgress { done: total, total });
    let mut after: (Option<i64>, Option<Vec<u8>>) = (None, None);
    loop {
        if is_over() {
            return Ok(report);
        }
        let (begin, limit) = (after.0.unwrap_or(i64::MIN), PAGE);
        let values = values![begin => INT8, after.0 => INT8, after.1 => BYTEA, limit => INT8];
        let rows = connection.query(spending::PAGE, values).await?;
        let Some(last) = rows.last() else {
            break;
        };
        after = (Some(column(last, 1)?), Some(column(last, 0)?));
        for row in &rows {
            check_spending(&SpendingRow::from_row(row)?, &mut report);
        }
    }
    report.is_complete = true;
    Ok(report)
}

/// Checks the form of the tables.
pub(crate) async fn quick(connection: &mut Connection) -> Result<QuickChecked, Fault> {
    let row = connection.query_row(FORM_OF, &[]).await?;
    let form: Option<i32> = row.map(|row| column(&row, 0)).transpose()?;
    let mut checked = QuickChecked {
        damage: Vec::new(),
        is_complete: true,
    };
    if form != Some(FORM) {
        let found = form.map_or_else(|| "no form".to_owned(), |form| format!("form {form}"));
        let damage =
            format!("the database: its tables have {found}, and this version writes {FORM}");
        checked.damage.push(damage);
    }
    Ok(checked)
}

async fn check_session(
    connection: &mut Connection,
    id: &str,
    report: &mut CheckReport,
) -> Result<(), Fault> {
    let what = format!("session {id}");
    let Ok(session) = SessionId::parse(id) else {
        let damage = format!("the list of sessions: {id:?} is no session id");
        report.damage.push(damage);
        return Ok(());
    };
    match read_session(connection, &session).await {
        Ok(Some(read)) => {
            report.sessions += 1;
            report.steps += read.steps;
            match read.found {
                Ok(()) => {}
                Err(SessionFault::Record(error)) if error.is_newer() => report.newer.push(session),
                Err(SessionFault::Record(error)) => {
                    report.damage.push(record_damage(&what, &error));
                }
                Err(SessionFault::Row(why)) => report.damage.push(format!("{what}: {why}")),
            }
        }
        // It was deleted meanwhile.
        Ok(None) => {}
        Err(Fault::Row(why)) => {
            report.sessions += 1;
            report.damage.push(format!("{what}: {why}"));
        }
        Err(fault) => return Err(fault),
    }
    Ok(())
}

struct ReadSession {
    found: Result<(), SessionFault>,
    steps: u64,
}

/// The damage of one session.
enum SessionFault {
    Record(DecodeError),
    Row(&'static str),
}

/// Reads all rows and records of a session, of one state of it.
async fn read_session(
    connection: &mut Connection,
    session: &SessionId,
) -> Result<Option<ReadSession>, Fault> {
    let Some(row) = records::session(connection, session).await? else {
        return Ok(None);
    };
    let read = |steps, found| Ok(Some(ReadSession { found, steps }));
    if let Some(newer) = row.newer() {
        return read(0, Err(SessionFault::Record(newer)));
    }
    let steps = match records::steps(connection, &row, 0).await? {
        Ok(steps) => steps,
        Err(error) => return read(0, Err(SessionFault::Record(error))),
    };
    let number = steps.len() as u64;
    let deliveries = match records::deliveries(connection, &row, 0).await? {
        Ok(deliveries) => deliveries,
        Err(error) => return read(number, Err(SessionFault::Record(error))),
    };
    let (mut summary, mut marked) = (Summary::default(), Vec::new());
    for step in &steps {
        marked.extend(step_marks(&summary, step));
        summary.apply(step);
    }
    if row.summary()? != summary {
        return read(number, Err(SessionFault::Row(OTHER)));
    }
    let loud = deliveries
        .iter()
        .rposition(|delivery| is_for_owner(&delivery.body));
    if loud.map_or(0, |last| last as u64 + 1) != row.loud {
        return read(number, Err(SessionFault::Row(OTHER)));
    }
    for wait in connection.query(WAITS, values![row.number => INT8]).await? {
        waits::from_row(&wait)?;
    }
    let mut stored = Vec::new();
    for mark in connection.query(MARKS, values![row.number => INT8]).await? {
        let place: &[u8] = column(&mark, 0)?;
        stored.push(StepMarks {
            place: Digest::from_bytes(place.try_into().map_err(Fault::row)?),
            turn: TurnId::parse(column(&mark, 1)?).map_err(Fault::row)?,
        });
    }
    // Steps that came meanwhile have marks of their own.
    if !possible_marks(steps.first(), &marked).any(|marks| stored.starts_with(marks)) {
        return read(number, Err(SessionFault::Row(NOT_FOUND)));
    }
    read(number, Ok(()))
}

fn check_spending(row: &SpendingRow, report: &mut CheckReport) {
    let what = format!("spending record {:?}", row.id);
    match row.read() {
        Ok(_) => {}
        Err(SpendingFault::Different) => {
            let damage = format!("{what}: its row does not say what its record says");
            report.damage.push(damage);
        }
        Err(SpendingFault::Newer) => report.newer_spending += 1,
        Err(SpendingFault::Record(error)) => report.damage.push(record_damage(&what, &error)),
    }
}

/// The sentence about a record that cannot be decoded.
fn record_damage(what: &str, error: &DecodeError) -> String {
    let why = std::error::Error::source(error).map(ToString::to_string);
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{what}: {error}{why}")
}

const SESSIONS: &str = "SELECT id FROM jackfield.sessions ORDER BY number";
const FORM_OF: &str = "SELECT form FROM jackfield.journal";
const WAITS: &str =
    "SELECT wait, state, at, by, how, delivery, place FROM jackfield.waits WHERE session = $1";
const MARKS: &str = "SELECT place, turn FROM jackfield.marks WHERE session = $1 ORDER BY number";
/// How many spending records are read at once.
const PAGE: i64 = 1000;
const OTHER: &str = "its row does not say what its steps and deliveries say";
const NOT_FOUND: &str = "it is not found by what its steps say";
