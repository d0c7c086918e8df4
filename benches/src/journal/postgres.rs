//! What a journal in PostgreSQL takes, on a server on this machine whose commits are synced to the same disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::future::try_join_all;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal as _;
use jackfield_store_postgres::{Address, Options, PostgresJournal};
use jackfield_store_sqlite::SqliteJournal;
use jackfield_testservers::postgres::PostgresServer;
use tokio::runtime::Runtime;

use super::appends::{AT_ONCE, append, each};
use super::recovery::{go_on, left_in_calls, write_in};
use crate::measure::{Samples, begin};
use crate::ours::Ours;
use crate::plan::Plan;
use crate::process::{Provider, beside};
use crate::provider::ANSWER;

/// What it took.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// An append, one turn after the other.
    pub alone: Duration,
    /// The turn that everyone can compare, with the journal in a file.
    pub file: Samples,
    /// A row of a plain table, which the server inserts by itself, a synced transaction each.
    pub plain: Duration,
    /// The same turn with the journal in the database.
    pub postgres: Samples,
    /// Taking up each of [`SESSIONS`] open turns of a process that has ended, several at once, until it goes on.
    pub recovered: Duration,
    /// Taking each of [`SESSIONS`] sessions of a process that has ended, several at once.
    pub taken: Duration,
    /// An append, [`AT_ONCE`] turns at once.
    pub together: Duration,
}

/// Measures so many turns and appends; `None` if PostgreSQL is not installed.
///
/// # Errors
///
/// If anything else fails.
pub fn measure(runtime: &Runtime, turns: usize, times: usize) -> anyhow::Result<Option<Measured>> {
    // A path beside the build may be too long for a socket.
    let Ok(server) = PostgresServer::start_synced(Path::new("/var/tmp")) else {
        return Ok(None);
    };
    let mut measured = Measured {
        plain: plain(&server, times)?,
        ..Measured::default()
    };
    let open = || {
        PostgresJournal::open(
            Address::parse(&server.url("postgres", "postgres"))?,
            Options::default(),
        )
        .map_err(anyhow::Error::from)
    };
    let journal = Arc::new(open()?);
    let other = Arc::new(open()?);
    runtime.block_on(async {
        append(
            Arc::clone(&journal),
            "warm-up".to_owned(),
            times.div_ceil(10),
        )
        .await?;
        let started = Instant::now();
        append(Arc::clone(&journal), "alone".to_owned(), times).await?;
        measured.alone = each(started.elapsed(), times);
        let started = Instant::now();
        let all = (0..AT_ONCE).map(|nth| {
            let journal = Arc::clone(&journal);
            tokio::spawn(append(journal, format!("turn_{nth}"), times))
        });
        for appended in try_join_all(all).await? {
            appended?;
        }
        measured.together = each(started.elapsed(), times * AT_ONCE);
        compare(&journal, turns, &mut measured).await?;
        measured.taken = take_over(&journal, &other).await?;
        let last = Arc::new(open()?);
        measured.recovered = recover(&other, &last).await?;
        last.close().await;
        anyhow::Ok(())
    })?;
    Ok(Some(measured))
}

/// A loop within the server: no exchange with a client takes part in it.
fn plain(server: &PostgresServer, times: usize) -> anyhow::Result<Duration> {
    server.sql("CREATE TABLE rows (record bytea NOT NULL)")?;
    let insert = |times: usize| {
        server.sql(&format!(
            "DO $$ BEGIN FOR nth IN 1..{times} LOOP
                 INSERT INTO rows VALUES (convert_to(repeat('x', 700), 'UTF8')); COMMIT; END LOOP; END $$"
        ))
    };
    insert(1)?;
    let started = Instant::now();
    insert(times)?;
    Ok(each(started.elapsed(), times))
}

/// The turn that everyone can compare on both, turn about, after some that are not counted.
async fn compare(
    journal: &Arc<PostgresJournal>,
    turns: usize,
    measured: &mut Measured,
) -> anyhow::Result<()> {
    let folder = super::folder()?;
    let provider = Provider::start()?;
    let server = [beside("bench-echo")?.display().to_string()];
    let file = folder.path().join("journal.db");
    let file = Arc::new(SqliteJournal::open(
        file,
        jackfield_store_sqlite::Options::default(),
    )?);
    let in_file = Ours::start_on(
        Arc::<SqliteJournal>::clone(&file),
        &provider.base_url,
        &server,
    );
    let in_file = in_file.await?;
    let shared = Ours::start_on(
        Arc::<PostgresJournal>::clone(journal),
        &provider.base_url,
        &server,
    );
    let shared = shared.await?;
    let right = (ANSWER.to_owned(), 15);
    let warm_up = turns.div_ceil(10);
    for nth in 0..turns + warm_up {
        let watch = begin();
        let ended = in_file.turn(Plan::COMPARED).await?;
        let took_file = watch();
        ensure!(ended == right, "with a file it ended so: {ended:?}");
        let watch = begin();
        let ended = shared.turn(Plan::COMPARED).await?;
        let took_shared = watch();
        ensure!(ended == right, "with a database it ended so: {ended:?}");
        if nth >= warm_up {
            measured.file.push(took_file);
            measured.postgres.push(took_shared);
        }
    }
    in_file.stop().await;
    shared.stop().await;
    file.close().await;
    Ok(())
}

/// One process owns sessions and ends; another takes them, some at a time.
async fn take_over(
    journal: &Arc<PostgresJournal>,
    other: &Arc<PostgresJournal>,
) -> anyhow::Result<Duration> {
    let ids: Vec<SessionId> = (0..SESSIONS)
        .map(|nth| SessionId::parse(&format!("taken_{nth}")))
        .collect::<Result<_, _>>()?;
    for some in ids.chunks(AT_A_TIME) {
        try_join_all(some.iter().map(|id| journal.own(id))).await?;
    }
    journal.close().await;
    let started = Instant::now();
    for some in ids.chunks(AT_A_TIME) {
        try_join_all(some.iter().map(|id| other.own(id))).await?;
    }
    Ok(each(started.elapsed(), SESSIONS))
}

/// One process ends with open turns, and another finds them and takes them up, some at a time.
async fn recover(
    journal: &Arc<PostgresJournal>,
    other: &Arc<PostgresJournal>,
) -> anyhow::Result<Duration> {
    let provider = Provider::start()?;
    let server = [beside("bench-echo")?.display().to_string()];
    let left = Arc::new(left_in_calls(&provider.base_url, &server, 0).await?);
    write_in(journal, SESSIONS, &left).await?;
    journal.close().await;
    let again = Ours::start_on(
        Arc::<PostgresJournal>::clone(other),
        &provider.base_url,
        &server,
    );
    let again = again.await?;
    let started = Instant::now();
    let due = other.due(WallTime::from_millis(i64::MAX), SESSIONS).await?;
    ensure!(
        due.sessions.len() == SESSIONS,
        "{} are due",
        due.sessions.len()
    );
    for some in due.sessions.chunks(AT_A_TIME) {
        let going = some.iter().map(|id| go_on(&again.engine, id.clone()));
        try_join_all(going).await?;
    }
    let took = each(started.elapsed(), SESSIONS);
    again.stop().await;
    Ok(took)
}

/// How many sessions are taken.
pub const SESSIONS: usize = 1000;
/// As many turns as a keeper starts at once.
const AT_A_TIME: usize = 8;
