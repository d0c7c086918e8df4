//! Inspection of the database as a whole.

use std::time::Duration;

use async_trait::async_trait;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::admin::{
    CheckProgress, CheckReport, JournalAdmin, QuickChecked, RestoredState,
};
use jackfield_ports::journal::copy::{Imported, SessionCopy};
use jackfield_ports::journal::sessions::{SessionQuery, SessionRow};

use super::{PostgresJournal, again};
use crate::check;
use crate::error::Fault;
use crate::import;
use crate::listing;
use crate::pool::{Connection, column, count};

#[async_trait]
impl JournalAdmin for PostgresJournal {
    fn location(&self) -> String {
        self.pool.place()
    }

    fn repair_help(&self) -> &str {
        "restore a backup of the database, or move what can still be read into a new one"
    }

    async fn check(
        &self,
        limit: Duration,
        progress: Box<dyn FnMut(CheckProgress) + Send>,
    ) -> Result<CheckReport, JournalError> {
        let checking = async {
            let mut connection = self.pool.get().await?;
            check::check(&mut connection, limit, progress).await
        };
        checking.await.map_err(|fault| self.unreachable(fault))
    }

    /// Whether the database answers, and its tables have the form that this version writes.
    async fn quick_check(&self, limit: Duration) -> Result<QuickChecked, JournalError> {
        let looking = async { again!(check::quick(&mut self.pool.get().await?).await) };
        match tokio::time::timeout(limit, looking).await {
            Ok(checked) => checked.map_err(|fault| self.unreachable(fault)),
            Err(_) => Ok(QuickChecked::default()),
        }
    }

    async fn restored(&self) -> Result<Option<RestoredState>, JournalError> {
        let found = again!(restored(&mut self.pool.get().await?).await);
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn readable_sessions(&self, limit: usize) -> Result<Vec<SessionRow>, JournalError> {
        let query = SessionQuery {
            limit,
            ..SessionQuery::default()
        };
        let (name, held) = (self.process.name(), self.holds.sessions());
        let found = again!({
            let mut connection = self.pool.get().await?;
            listing::sessions(&mut connection, &query, &name, &held).await
        });
        found.map_err(|fault| self.unreachable(fault))
    }

    async fn import(&self, copy: &SessionCopy) -> Result<Imported, JournalError> {
        let imported = again!(import::import(&mut self.pool.get().await?, copy).await);
        imported.map_err(|fault| self.unreachable(fault))
    }

    /// The tables with their indexes.
    async fn size(&self) -> Result<u64, JournalError> {
        let size = again!(size(&mut self.pool.get().await?).await);
        size.map_err(|fault| self.unreachable(fault))
    }
}

async fn restored(connection: &mut Connection) -> Result<Option<RestoredState>, Fault> {
    let row = connection.query_row(RESTORED, &[]).await?;
    let row = row.ok_or_else(|| Fault::row("a count without a row"))?;
    let (marked, parked) = (count(&row, 0)?, count(&row, 1)?);
    Ok((marked > 0).then(|| RestoredState {
        marks: "the mark in the column `restored` of `sessions`".to_owned(),
        parked,
        why: vec![format!("{marked} sessions were marked as restored")],
    }))
}

async fn size(connection: &mut Connection) -> Result<u64, Fault> {
    let row = connection.query_row(SIZE, &[]).await?;
    row.map_or(Ok(0), |row| {
        let size: i64 = column(&row, 0)?;
        u64::try_from(size).map_err(Fault::row)
    })
}

const RESTORED: &str = "SELECT count(*), count(open) FROM jackfield.sessions WHERE restored";
const SIZE: &str = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
     WHERE relkind = 'r' AND relnamespace = (
         SELECT relnamespace FROM pg_class WHERE oid = 'jackfield.sessions'::regclass)";
