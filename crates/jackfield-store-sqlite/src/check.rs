//! Checks a whole file: its pages, and whether every record can be read.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::admin::{CheckProgress, CheckReport, QuickChecked};
use jackfield_ports::journal::directory::ChangeQuery;
use jackfield_ports::journal::marks::{possible_marks, step_marks};
use jackfield_ports::journal::summary::{Summary, is_for_owner};
use jackfield_record::DecodeError;
use rusqlite::{Connection, ErrorCode, params};

use crate::chain;
use crate::derived;
use crate::directory::{self, ChangeFault};
use crate::error::JobError;
use crate::marks;
use crate::parts;
use crate::rows::{self, StoredSession};
use crate::spending::{self, SpendingFault};

/// Checks the file for at most `limit`.
pub(crate) fn check(
    connection: &Connection,
    limit: Duration,
    mut progress: impl FnMut(CheckProgress),
) -> CheckReport {
    run_within(connection, limit, |check| {
        check.check_pages()?;
        check.check_sessions(&mut progress)?;
        check.check_spending()?;
        check.check_directory()
    })
}

/// Checks the pages of the file for at most `limit`.
pub(crate) fn quick(connection: &Connection, limit: Duration) -> QuickChecked {
    let CheckReport {
        damage,
        is_complete,
        ..
    } = run_within(connection, limit, |check| check.check_pages());
    QuickChecked {
        damage,
        is_complete,
    }
}

fn run_within(
    connection: &Connection,
    limit: Duration,
    run: impl FnOnce(&mut CheckRun<'_>) -> Result<(), TimeUp>,
) -> CheckReport {
    let interrupt = connection.get_interrupt_handle();
    let (done, timer) = channel::<()>();
    let deadline = Instant::now().checked_add(limit);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if timer.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        });
        let mut check = CheckRun {
            report: CheckReport::default(),
            connection,
            deadline,
        };
        check.report.is_complete = run(&mut check).is_ok();
        drop(done);
        check.report
    })
}

/// The time limit was reached.
struct TimeUp;

struct CheckRun<'a> {
    report: CheckReport,
    connection: &'a Connection,
    deadline: Option<Instant>,
}

impl CheckRun<'_> {
    /// Checks the structure of the pages.
    fn check_pages(&mut self) -> Result<(), TimeUp> {
        let found = self.query_strings("PRAGMA quick_check(20)");
        for found in self.record("the file", found)?.unwrap_or_default() {
            for line in found.lines() {
                // The heading names the database; there is only one here.
                if line != "ok" && !line.starts_with("***") {
                    self.report.damage.push(format!("the file: {line}"));
                }
            }
        }
        Ok(())
    }

    fn check_sessions(&mut self, progress: &mut impl FnMut(CheckProgress)) -> Result<(), TimeUp> {
        let strays = self.query_strings(STRAYS);
        for table in self.record("the file", strays)?.unwrap_or_default() {
            let message = format!("the file: a row of `{table}` belongs to no session");
            self.report.damage.push(message);
        }
        let ids = self.query_strings("SELECT id FROM sessions ORDER BY number");
        let ids = self
            .record("the list of sessions", ids)?
            .unwrap_or_default();
        let total = ids.len() as u64;
        for (done, id) in (0..).zip(&ids) {
            progress(CheckProgress { done, total });
            self.check_session(id)?;
        }
        progress(CheckProgress { done: total, total });
        Ok(())
    }

    fn check_session(&mut self, id: &str) -> Result<(), TimeUp> {
        let Ok(session) = SessionId::parse(id) else {
            let message = format!("the list of sessions: {id:?} is no session id");
            self.report.damage.push(message);
            return Ok(());
        };
        let what = format!("session {id}");
        let row = rows::session(self.connection, &session);
        let Some(Some(row)) = self.record(&what, row)? else {
            return Ok(());
        };
        self.report.sessions += 1;
        if row.is_newer() {
            self.report.newer.push(session);
            return Ok(());
        }
        let read = self.read(&row);
        match self.record(&what, read)? {
            Some(Ok(())) | None => {}
            Some(Err(SessionFault::Record(error))) if error.is_newer() => {
                self.report.newer.push(session);
            }
            Some(Err(SessionFault::Record(error))) => {
                self.report.damage.push(record_damage(&what, &error));
            }
            Some(Err(SessionFault::Row(why))) => self.report.damage.push(format!("{what}: {why}")),
        }
        Ok(())
    }

    fn check_spending(&mut self) -> Result<(), TimeUp> {
        let CheckReport {
            damage,
            newer_spending,
            ..
        } = &mut self.report;
        let read = spending::for_each(self.connection, |id, record| {
            let what = format!("spending record {id:?}");
            match record {
                Ok(_) => {}
                Err(SpendingFault::Different) => {
                    damage.push(format!("{what}: its row does not say what its record says"));
                }
                Err(SpendingFault::Newer) => *newer_spending += 1,
                Err(SpendingFault::Record(error)) => damage.push(record_damage(&what, &error)),
            }
        });
        self.record("the spending records", read).map(drop)
    }

    /// Reads all changes to the directory.
    fn check_directory(&mut self) -> Result<(), TimeUp> {
        let every = ChangeQuery {
            limit: usize::MAX,
            ..ChangeQuery::default()
        };
        let rows = directory::changes(self.connection, &every);
        let Some(rows) = self.record("the directory", rows)? else {
            return Ok(());
        };
        for row in rows {
            let what = format!("change {} of the directory", row.number);
            match row.read() {
                // A newer version opens the file in a form of its own first.
                Ok(_) | Err(ChangeFault::Newer) => {}
                Err(ChangeFault::Record(error)) => {
                    self.report.damage.push(record_damage(&what, &error));
                }
            }
        }
        Ok(())
    }

    /// Reads all rows and records of a session.
    fn read(&mut self, row: &StoredSession) -> rusqlite::Result<Result<(), SessionFault>> {
        let (mut summary, mut marked) = (Summary::default(), Vec::new());
        let (mut steps, known) = (0, row.summarized_steps);
        let mut first = None;
        let mut apply = |step: Envelope| {
            if steps < known {
                marked.extend(step_marks(&summary, &step));
                summary.apply(&step);
                first.get_or_insert(step);
            }
            steps += 1;
        };
        let connection = self.connection;
        let read = chain::for_each_step(connection, &row.end(), 0, |_, bytes| {
            let step = parts::read_step(connection, row.number, bytes)?;
            Ok(step.map(&mut apply))
        });
        let Ok(read) = chain::split_gap(read)? else {
            return Ok(Err(SessionFault::Row(MISSING)));
        };
        self.report.steps += steps;
        if let Err(error) = read {
            return Ok(Err(SessionFault::Record(error)));
        }
        let query = "SELECT record FROM deliveries WHERE session = ?1 ORDER BY place";
        let (mut deliveries, mut loud) = (0, 0);
        let read = self.for_each_record(query, row.number, |bytes| {
            deliveries += 1;
            Ok(jackfield_record::decode_delivery(bytes).map(|delivery| {
                if is_for_owner(&delivery.body) {
                    loud = deliveries;
                }
            }))
        })?;
        if let Err(error) = read {
            return Ok(Err(SessionFault::Record(error)));
        }
        let query = "SELECT wait FROM waits WHERE session = ?1";
        let read = self.for_each_record(query, row.number, |bytes| {
            Ok(jackfield_record::decode_wait(bytes).map(drop))
        })?;
        if let Err(error) = read {
            return Ok(Err(SessionFault::Record(error)));
        }
        if (steps, deliveries, loud) != (row.steps, row.deliveries, row.owner_inbox_end) {
            return Ok(Err(SessionFault::Row(MISSING)));
        }
        let listed = derived::summary(row)?;
        if listed != summary {
            return Ok(Err(SessionFault::Row(
                "its row does not say what its steps say",
            )));
        }
        let stored = marks::of_session(connection, row.number)?;
        if !possible_marks(first.as_ref(), &marked).any(|marks| marks == stored) {
            return Ok(Err(SessionFault::Row(
                "it is not found by what its steps say",
            )));
        }
        Ok(Ok(()))
    }

    /// Reads the records that a query returns.
    fn for_each_record(
        &self,
        query: &str,
        session: i64,
        mut read: impl FnMut(&[u8]) -> rusqlite::Result<Result<(), DecodeError>>,
    ) -> rusqlite::Result<Result<(), DecodeError>> {
        let mut query = self.connection.prepare_cached(query)?;
        let mut found = query.query(params![session])?;
        while let Some(row) = found.next()? {
            if let Err(error) = read(row.get_ref(0)?.as_blob()?)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn query_strings(&self, query: &str) -> rusqlite::Result<Vec<String>> {
        let mut query = self.connection.prepare(query)?;
        query.query_map((), |row| row.get(0))?.collect()
    }

    /// The value read; on an error records the damage and returns `None`. Fails only when the time limit is
    /// reached.
    fn record<T>(&mut self, what: &str, read: rusqlite::Result<T>) -> Result<Option<T>, TimeUp> {
        if self.deadline.is_some_and(|end| Instant::now() >= end) {
            return Err(TimeUp);
        }
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Err(TimeUp)
            }
            Err(error) => {
                let message = format!("{what}: {}", JobError::from_sqlite(&error));
                self.report.damage.push(message);
                Ok(None)
            }
        }
    }
}

/// The sentence about a record that cannot be decoded.
fn record_damage(what: &str, error: &DecodeError) -> String {
    let why = std::error::Error::source(error).map(ToString::to_string);
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("{what}: {error}{why}")
}

/// The damage of one session.
enum SessionFault {
    Record(DecodeError),
    Row(&'static str),
}

/// The tables with rows that belong to no session.
const STRAYS: &str = "SELECT \"table\" FROM (
         SELECT \"table\" FROM pragma_foreign_key_check
         UNION ALL SELECT 'steps' FROM steps WHERE session NOT IN (SELECT number FROM sessions)
         UNION ALL SELECT 'texts' FROM texts WHERE number NOT IN (SELECT number FROM steps)
     ) LIMIT 20";
const MISSING: &str = "some of its steps or deliveries are missing";
