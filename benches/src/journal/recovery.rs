//! From the death of a process, by SIGKILL, to turns that go on: the file is opened, what is due is found,
//! and taken up.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::SessionId;
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, Observer, ObserverEvent, ResumeSession};
use jackfield_ports::journal::{Append, Appended, Journal};
use jackfield_store_memory::MemoryJournal;
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
    /// How many facts each session has.
    pub facts: usize,
    /// The first of them.
    pub first: Duration,
}

/// Leaves so many turns in their calls, in sessions of at least so many facts, kills the process that owns
/// them all, and takes them up again.
///
/// # Errors
///
/// If anything fails.
pub fn measure(runtime: &Runtime, turns: usize, facts: usize) -> anyhow::Result<Recovered> {
    let folder = super::folder()?;
    let file = folder.path().join("journal.db");
    let provider = Provider::start()?;
    let server = [beside("bench-echo")?.display().to_string()];
    runtime.block_on(async {
        let left = Arc::new(left_in_calls(&provider.base_url, &server, facts).await?);
        write(&file, turns, &left).await?;
        let holder = Holder::start(&file, turns)?;

        let killed = Instant::now();
        holder.kill()?;
        let journal = Arc::new(SqliteJournal::open(&file, Options::default())?);
        let due = journal.due(WallTime::from_millis(i64::MAX), turns).await?;
        let found = killed.elapsed();
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
            let at = go_on(&again.engine, session).await?;
            first.get_or_insert_with(|| at.duration_since(started) + found);
        }
        let all = started.elapsed() + found;
        again.stop().await;
        Ok(Recovered {
            all,
            facts: left.iter().map(|step| step.facts.len()).sum(),
            first: first.context("there is no turn")?,
        })
    })
}

/// Takes up the turn of a session, and leaves it again; returns when it went on. Nothing of what it goes on with is in the
/// way of the next one: its calls are not made again.
pub(super) async fn go_on(engine: &Engine, session: SessionId) -> anyhow::Result<Instant> {
    let policy = Policy {
        can_ask: false,
        rules: vec![PolicyRule {
            pattern: "*".into(),
            verdict: RuleVerdict::Deny,
        }],
    };
    let resume = ResumeSession::new(session, policy);
    let (tells, mut told) = oneshot::channel();
    let mut goes_on = GoesOn(Some(tells));
    Ok(tokio::select! {
        // One that is over before it could be left again has gone on, too.
        ended = engine.resume(resume, &mut goes_on) => {
            ended?;
            told.try_recv().context("a turn ended without a word")?
        }
        at = &mut told => at?,
    })
}

/// The steps of a session whose last turn is in its calls; as many turns before it as its facts ask for.
pub(super) async fn left_in_calls(
    base_url: &str,
    server: &[String],
    facts: usize,
) -> anyhow::Result<Vec<Envelope>> {
    let journal = Arc::new(MemoryJournal::default());
    let on = Arc::<MemoryJournal>::clone(&journal);
    let ours = Arc::new(Ours::start_on(on, base_url, server).await?);
    let session = SessionId::parse("left")?;
    while count(&*journal, &session).await + FACTS_OF_CALLS < facts {
        ours.turn_of(session.clone(), Plan::COMPARED).await?;
    }
    let before = count(&*journal, &session).await;
    let mut left = JoinSet::new();
    let (ours_too, its) = (Arc::clone(&ours), session.clone());
    left.spawn(async move { ours_too.turn_of(its, Plan::one_round(5, A_WHILE)).await });
    while count(&*journal, &session).await < before + FACTS_OF_CALLS {
        ensure!(left.try_join_next().is_none(), "the turn ended");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    left.shutdown().await;
    Ok(journal.load(&session).await?.steps)
}

async fn count(journal: &dyn Journal, session: &SessionId) -> usize {
    let steps = journal.load(session).await.unwrap_or_default().steps;
    steps.iter().map(|step| step.facts.len()).sum()
}

/// Writes so many sessions with these steps.
async fn write(file: &Path, turns: usize, steps: &Arc<Vec<Envelope>>) -> anyhow::Result<()> {
    let journal = Arc::new(SqliteJournal::open(file, Options::default())?);
    write_in(&journal, turns, steps).await?;
    journal.close().await;
    Ok(())
}

/// Writes them in a journal that is open.
pub(super) async fn write_in<J: Journal + 'static>(
    journal: &Arc<J>,
    turns: usize,
    steps: &Arc<Vec<Envelope>>,
) -> anyhow::Result<()> {
    let mut writing = JoinSet::new();
    for nth in 0..turns {
        if writing.len() >= AT_ONCE {
            let written: Option<Result<anyhow::Result<()>, _>> = writing.join_next().await;
            written.context("nothing is written")???;
        }
        let (journal, steps) = (Arc::clone(journal), Arc::clone(steps));
        writing.spawn(async move {
            let session = SessionId::parse(&format!("left_{nth}"))?;
            let epoch = journal.own(&session).await?.epoch;
            let append = Append {
                epoch,
                position: 0,
                seen: 0,
                session: session.clone(),
                steps: steps.to_vec(),
            };
            let appended = journal.append(&append).await;
            ensure!(matches!(appended, Appended::Committed), "{appended:?}");
            journal.release(&session, epoch).await?;
            Ok(())
        });
    }
    for written in writing.join_all().await {
        written?;
    }
    Ok(())
}

/// A process that owns every session.
struct Holder(Child);

impl Holder {
    fn start(file: &Path, turns: usize) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--hold".as_ref(), file.as_os_str()])
            .stdout(Stdio::piped())
            .spawn()?;
        let said = child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        ensure!(line.trim() == turns.to_string(), "it holds {line:?}");
        Ok(Self(child))
    }

    /// Ends it as nothing can hinder, and waits until it is gone.
    fn kill(mut self) -> std::io::Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

/// Owns every session of a file, says how many they are, and waits to be killed.
///
/// # Errors
///
/// If the file cannot be read, or somebody else owns one.
pub fn hold(runtime: &Runtime, file: &Path, say: impl FnOnce(usize)) -> anyhow::Result<()> {
    runtime.block_on(async {
        let journal = SqliteJournal::open(file, Options::default())?;
        let due = journal
            .due(WallTime::from_millis(i64::MAX), usize::MAX)
            .await?;
        for session in &due.sessions {
            journal.own(session).await?;
        }
        say(due.sessions.len());
        std::future::pending().await
    })
}

/// Hears when a turn was taken up: it was committed, and what follows from it is performed.
struct GoesOn(Option<oneshot::Sender<Instant>>);

impl Observer for GoesOn {
    fn on_event(&mut self, news: ObserverEvent<'_>) {
        if let ObserverEvent::Fact { .. } = news
            && let Some(tells) = self.0.take()
        {
            // Nobody may wait for it any more.
            let _gone = tells.send(Instant::now());
        }
    }
}

/// How many sessions are written at once.
const AT_ONCE: usize = 64;
/// How long the calls take in which the turns are left, in milliseconds.
const A_WHILE: u64 = 20_000;
/// How many facts a turn has that is in its five calls: opened, asked, answered, started.
const FACTS_OF_CALLS: usize = 8;
