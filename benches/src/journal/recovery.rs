//! From the death of a process to turns that go on: the file is opened, what is due is found, and taken up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use jackfield_domain::fact::Fact;
use jackfield_domain::time::WallTime;
use jackfield_engine::{News, Observer, ResumeSession};
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::sessions::SessionQuery;
use jackfield_store_sqlite::{Options, SqliteJournal};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::ours::Ours;
use crate::plan::Plan;
use crate::process::{Provider, beside};

/// How long it took until turns went on.
#[derive(Clone, Copy, Debug)]
pub struct Recovered {
    /// All of them, one after another.
    pub all: Duration,
    /// The first of them.
    pub first: Duration,
}

/// Leaves so many turns in their calls, and takes them up again.
///
/// # Errors
///
/// If anything fails.
pub fn measure(runtime: &Runtime, turns: usize) -> anyhow::Result<Recovered> {
    let folder = super::folder()?;
    let file = folder.path().join("journal.db");
    let provider = Provider::start()?;
    let server = [beside("bench-echo")?.display().to_string()];
    runtime.block_on(async {
        let journal = Arc::new(SqliteJournal::open(&file, Options::default())?);
        let on = Arc::<SqliteJournal>::clone(&journal);
        let ours = Arc::new(Ours::start_on(on, &provider.base_url, &server).await?);
        let mut left = JoinSet::new();
        for _ in 0..turns {
            let ours = Arc::clone(&ours);
            left.spawn(async move { ours.turn(Plan::one_round(5, A_WHILE)).await });
        }
        until_in_calls(&journal, turns).await?;
        left.shutdown().await;
        journal.close().await;

        let started = Instant::now();
        let journal = Arc::new(SqliteJournal::open(&file, Options::default())?);
        let due = journal.due(WallTime::from_millis(i64::MAX), turns).await?;
        let opened = started.elapsed();
        ensure!(
            due.sessions.len() == turns,
            "{} are due",
            due.sessions.len()
        );
        // The server is there before: what its start takes is measured by itself.
        let again = Ours::start_on(journal, &provider.base_url, &server).await?;
        let started = Instant::now();
        let mut first = None;
        for session in due.sessions {
            let resume = ResumeSession::new(session, again.options.policy.clone());
            let (tells, told) = oneshot::channel();
            let mut goes_on = GoesOn(Some(tells));
            tokio::select! {
                ended = again.engine.resume(resume, &mut goes_on) => {
                    ended?;
                    bail!("a turn ended before it could be left again");
                }
                at = told => {
                    first.get_or_insert(at?.duration_since(started) + opened);
                }
            }
        }
        Ok(Recovered {
            all: started.elapsed() + opened,
            first: first.context("there is no turn")?,
        })
    })
}

/// Hears when a turn was taken up: it was committed, and what follows from it is performed.
struct GoesOn(Option<oneshot::Sender<Instant>>);

impl Observer for GoesOn {
    fn tell(&mut self, news: News<'_>) {
        if let News::Fact { .. } = news
            && let Some(tells) = self.0.take()
        {
            // Nobody may wait for it any more.
            let _gone = tells.send(Instant::now());
        }
    }
}

/// Waits until all turns are in their calls.
async fn until_in_calls(journal: &SqliteJournal, turns: usize) -> anyhow::Result<()> {
    let query = SessionQuery {
        most: turns,
        ..SessionQuery::default()
    };
    loop {
        let mut in_calls = 0;
        for row in journal.sessions(&query).await? {
            let loaded = journal.load(&row.session).await?;
            let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
            in_calls += usize::from(facts.any(|fact| matches!(fact, Fact::CallStarted { .. })));
        }
        if in_calls == turns {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How long the calls take in which the turns are left, in milliseconds.
const A_WHILE: u64 = 20_000;
