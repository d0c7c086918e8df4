//! Appends a second: alone, and of many turns at once, against rows of a plain SQLite table with the same
//! durability, which one writer inserts, a transaction each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::future::try_join_all;
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{SessionId, ToolAttempt, ToolCallId};
use jackfield_domain::time::Now;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::journal::{Append, Appended, Journal};
use jackfield_store_sqlite::{Options, SqliteJournal};
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::measure::Series;

/// What an append took, on the average.
#[derive(Clone, Copy, Debug)]
pub struct Appends {
    /// One turn after the other.
    pub alone: Duration,
    /// A row of a plain table.
    pub plain: Duration,
    /// [`AT_ONCE`] turns at once.
    pub together: Duration,
}

/// Appends so often in each way.
///
/// # Errors
///
/// If anything fails.
pub fn measure(runtime: &Runtime, times: usize) -> anyhow::Result<Appends> {
    let folder = super::folder()?;
    let plain = plain(&folder.path().join("plain.db"), times)?;
    let (alone, together) = runtime.block_on(async {
        let file = folder.path().join("journal.db");
        let journal = Arc::new(SqliteJournal::open(file, Options::default())?);
        let started = Instant::now();
        append(Arc::clone(&journal), "alone".to_owned(), times).await?;
        let alone = each(started.elapsed(), times);
        let started = Instant::now();
        let turns = (0..AT_ONCE).map(|nth| {
            let journal = Arc::clone(&journal);
            tokio::spawn(append(journal, format!("turn_{nth}"), times))
        });
        for appended in try_join_all(turns).await? {
            appended?;
        }
        let together = each(started.elapsed(), times * AT_ONCE);
        journal.close().await;
        anyhow::Ok((alone, together))
    })?;
    Ok(Appends {
        alone,
        plain,
        together,
    })
}

/// The floor: as much in a row as an append has in its record, a synced transaction each.
///
/// # Errors
///
/// If the file cannot be written.
pub fn plain(file: &std::path::Path, times: usize) -> anyhow::Result<Duration> {
    let connection = rows(file)?;
    let record = jackfield_record::encode_envelope(&step(0)?)?;
    let mut insert = connection.prepare(INSERT)?;
    let started = Instant::now();
    for _ in 0..times {
        insert.execute([&record])?;
    }
    Ok(each(started.elapsed(), times))
}

/// The same in a file that has been in use for a while: each insert by itself. As long as its log grows, a sync
/// has to write the length of the log, too, and takes twice as long.
///
/// # Errors
///
/// If the file cannot be written.
pub fn settled(file: &std::path::Path, times: usize) -> anyhow::Result<Series> {
    let connection = rows(file)?;
    let record = jackfield_record::encode_envelope(&step(0)?)?;
    let mut insert = connection.prepare(INSERT)?;
    let mut took = Series::default();
    for nth in 0..times + UNTIL_SETTLED {
        let started = Instant::now();
        insert.execute([&record])?;
        if nth >= UNTIL_SETTLED {
            took.push(started.elapsed());
        }
    }
    Ok(took)
}

/// A plain table in a file that has been in use for a while, for whoever inserts now and then.
pub struct Plain {
    connection: Connection,
    record: Vec<u8>,
}

impl Plain {
    /// Makes the file, and uses it for a while.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn settled(file: &std::path::Path) -> anyhow::Result<Self> {
        let plain = Self {
            connection: rows(file)?,
            record: jackfield_record::encode_envelope(&step(0)?)?,
        };
        for _ in 0..UNTIL_SETTLED {
            plain.insert()?;
        }
        Ok(plain)
    }

    /// Inserts a row, a synced transaction.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn insert(&self) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(INSERT)?;
        insert.execute([&self.record])?;
        Ok(())
    }
}

fn rows(file: &std::path::Path) -> anyhow::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.execute_batch("CREATE TABLE rows (record BLOB NOT NULL)")?;
    Ok(connection)
}

/// Appends so often to a session of its own.
pub(super) async fn append<J: Journal>(
    journal: Arc<J>,
    session: String,
    times: usize,
) -> anyhow::Result<()> {
    let session = SessionId::parse(&session)?;
    let epoch = journal.own(&session).await?.epoch;
    for position in 0..u64::try_from(times)? {
        let append = Append {
            epoch,
            position,
            seen: 0,
            session: session.clone(),
            steps: vec![step(position)?],
        };
        let appended = journal.append(&append).await;
        ensure!(matches!(appended, Appended::Committed), "{appended:?}");
    }
    Ok(())
}

/// A step of about as many bytes as one with an outcome has.
fn step(position: u64) -> anyhow::Result<Envelope> {
    let words: Value = json!({ "text": "x".repeat(500) });
    Ok(Envelope {
        facts: vec![Fact::CallAccepted {
            attempt: ToolAttempt {
                attempt: 1,
                call: ToolCallId::parse(&format!("call_{position}"))?,
            },
            handle: JobHandle(Arc::new(words)),
        }],
        input: InputKind::ToolAccepted,
        now: Now::default(),
        step: position,
        version: 1,
    })
}

pub(super) fn each(whole: Duration, times: usize) -> Duration {
    whole / u32::try_from(times).unwrap_or(u32::MAX).max(1)
}

const INSERT: &str = "INSERT INTO rows VALUES (?1)";
/// SQLite begins its log anew after a thousand pages.
const UNTIL_SETTLED: usize = 1200;

/// How many turns append at once.
pub const AT_ONCE: usize = 64;
