//! Reads what is new in the journal.

use std::time::Duration;

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, EngineError, JournalError, SessionQuery};

use super::{Ledger, MOMENT};

/// How far the journal was read.
#[derive(Debug, Default)]
pub(super) struct LedgerReading {
    /// When the spending records were read.
    records: Option<WallTime>,
    /// When the session that had changed last had changed, by the journal's clock.
    sessions: Option<WallTime>,
}

impl LedgerReading {
    /// Whether all spending records were read at least once.
    pub(super) const fn has_records(&self) -> bool {
        self.records.is_some()
    }

    /// Adds what is new.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub(super) async fn read_on(
        &mut self,
        ledger: &Ledger,
        engine: &Engine,
        now: WallTime,
    ) -> Result<(), EngineError> {
        let is_due = |read: WallTime| now.since(read) >= RECORDS_PAUSE;
        if self.records.is_none_or(is_due) {
            self.read_records(ledger, engine, now).await?;
        }
        self.read_sessions(ledger, engine).await
    }

    /// Reads the spending records: at first all of them, and later those of requests that began lately. A record is
    /// stored when its request ends.
    async fn read_records(
        &mut self,
        ledger: &Ledger,
        engine: &Engine,
        now: WallTime,
    ) -> Result<(), EngineError> {
        let read = self.records;
        let since = read.map(|read| before(read, LONGEST_REQUEST));
        // Those of the time around a reading are remembered one by one.
        let recent = before(read.unwrap_or(now), MOMENT);
        let add = |record: &SpendingRecord| {
            let mut state = ledger.lock();
            if record.at.after(record.took) >= recent {
                state.add_recent(record);
            } else if read.is_none() {
                state.add_counted(record);
            }
        };
        let _unreadable = engine.read_spending(since, add).await?;
        self.records = Some(now);
        ledger.lock().forget_records(before(now, MOMENT));
        Ok(())
    }

    /// Reads the sessions that have changed.
    async fn read_sessions(&mut self, ledger: &Ledger, engine: &Engine) -> Result<(), EngineError> {
        let since = self.sessions.map(|read| before(read, MOMENT));
        let mut newest = self.sessions;
        let mut place = None;
        loop {
            let query = SessionQuery {
                before: place.take(),
                limit: PAGE,
                ..SessionQuery::default()
            };
            let rows = engine.sessions(&query).await?;
            let mut is_last = rows.len() < PAGE;
            for row in rows {
                newest = newest.max(Some(row.changed));
                if since.is_some_and(|since| row.changed < since) {
                    is_last = true;
                    break;
                }
                place = Some((row.changed, row.session.clone()));
                if ledger.lock().has_counted(&row) {
                    continue;
                }
                match engine.load(&row.session).await {
                    Ok(loaded) => {
                        let mut state = ledger.lock();
                        state.add_steps(&row.session, Some(&row), &loaded.steps);
                    }
                    // Deleted in the meantime, or written by a newer version.
                    Err(EngineError::Journal(
                        JournalError::UnknownSession { .. }
                        | JournalError::Newer { .. }
                        | JournalError::Corrupt { .. },
                    )) => {}
                    Err(error) => return Err(error),
                }
            }
            if is_last {
                break;
            }
        }
        self.sessions = newest;
        Ok(())
    }
}

fn before(time: WallTime, by: Duration) -> WallTime {
    let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    WallTime::from_millis(time.as_millis().saturating_sub(by))
}

/// How often the spending records of other processes are read.
const RECORDS_PAUSE: Duration = Duration::from_secs(120);
/// The longest request of another process whose record is found before the next start.
const LONGEST_REQUEST: Duration = Duration::from_secs(600);
/// How many sessions are listed at once.
const PAGE: usize = 200;
