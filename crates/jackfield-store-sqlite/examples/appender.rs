//! A program that appends, and says of every append what became of it, for those who look at the
//! system calls in between.
//!
//! - `appender FILE append COUNT`: one after the other, by the journal's thread alone; an append without an answer is repeated once.
//! - `appender FILE owned COUNT`: the same, and the session is taken before each of them and let go after it.
//! - `appender FILE together COUNT`: all at once, each in a session of its own.
//! - `appender FILE plain MODE COUNT`: rows of a table without a journal, one transaction each, with
//!   `PRAGMA synchronous` of this mode. This is what the journal is compared with.
//! - `appender FILE read`: the marks of what the journal holds.
//!
//! Every append and every row has a mark of its own, as a text: `mark-00000`, `mark-00001`, …

#![expect(clippy::print_stdout, reason = "a program for a terminal")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{SessionId, ToolAttempt, ToolCallId};
use jackfield_domain::time::Now;
use jackfield_domain::wait::JobHandle;
use jackfield_ports::journal::{Append, Appended, Epoch, Journal as _, JournalError};
use jackfield_store_sqlite::{Options, SqliteJournal};
use rusqlite::Connection;
use serde_json::Value;
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        [file, "append", count] => append_each(Path::new(file), count.parse()?).await,
        [file, "owned", count] => append_owned(Path::new(file), count.parse()?).await,
        [file, "together", count] => append_together(Path::new(file), count.parse()?).await,
        [file, "plain", mode, count] => insert(Path::new(file), mode, count.parse()?),
        [file, "read"] => read(Path::new(file)).await,
        _ => Err(
            "usage: appender FILE append|owned|together COUNT, plain MODE COUNT, or read".into(),
        ),
    }
}

async fn append_each(file: &Path, count: u32) -> Result<(), Box<dyn Error>> {
    let mut options = Options::default();
    // All by one thread, however quick the disk is just now: faults are counted by thread.
    options.inline_limit = Duration::ZERO;
    let journal = SqliteJournal::open(file, options)?;
    let session = SessionId::parse("one")?;
    let epoch = journal.own(&session).await?.epoch;
    let mut position = 0;
    for nth in 0..count {
        let append = marked(&session, epoch, position, nth)?;
        for _ in 0..2 {
            match journal.append(&append).await {
                Appended::Committed => {
                    say(&format!("acknowledged {nth}"));
                    position += 1;
                    break;
                }
                Appended::Refused(refusal) => {
                    say(&format!("refused {nth}: {refusal}"));
                    break;
                }
                Appended::Unknown(why) => say(&format!("unknown {nth}: {why}")),
            }
        }
    }
    journal.close().await;
    Ok(())
}

async fn append_owned(file: &Path, count: u32) -> Result<(), Box<dyn Error>> {
    let journal = SqliteJournal::open(file, Options::default())?;
    let session = SessionId::parse("one")?;
    for nth in 0..count {
        let epoch = journal.own(&session).await?.epoch;
        let append = marked(&session, epoch, u64::from(nth), nth)?;
        match journal.append(&append).await {
            Appended::Committed => say(&format!("acknowledged {nth}")),
            Appended::Refused(refusal) => say(&format!("refused {nth}: {refusal}")),
            Appended::Unknown(why) => say(&format!("unknown {nth}: {why}")),
        }
        journal.release(&session, epoch).await?;
    }
    journal.close().await;
    Ok(())
}

async fn append_together(file: &Path, count: u32) -> Result<(), Box<dyn Error>> {
    let journal = Arc::new(SqliteJournal::open(file, Options::default())?);
    let mut appends = Vec::new();
    for nth in 0..count {
        let session = SessionId::parse(&format!("s{nth}"))?;
        let epoch = journal.own(&session).await?.epoch;
        appends.push((nth, marked(&session, epoch, 0, nth)?));
    }
    let mut tasks = JoinSet::new();
    for (nth, append) in appends {
        let journal = Arc::clone(&journal);
        tasks.spawn(async move {
            match journal.append(&append).await {
                Appended::Committed => say(&format!("acknowledged {nth}")),
                Appended::Refused(refusal) => say(&format!("refused {nth}: {refusal}")),
                Appended::Unknown(why) => say(&format!("unknown {nth}: {why}")),
            }
        });
    }
    tasks.join_all().await;
    journal.close().await;
    Ok(())
}

fn insert(file: &Path, mode: &str, count: u32) -> Result<(), Box<dyn Error>> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", mode)?;
    connection.execute_batch("CREATE TABLE rows (mark TEXT NOT NULL)")?;
    let mut insert = connection.prepare("INSERT INTO rows VALUES (?1)")?;
    for nth in 0..count {
        insert.execute([mark(nth)])?;
        say(&format!("acknowledged {nth}"));
    }
    Ok(())
}

async fn read(file: &Path) -> Result<(), Box<dyn Error>> {
    let journal = SqliteJournal::open(file, Options::default())?;
    let loaded = match journal.load(&SessionId::parse("one")?).await {
        Ok(loaded) => loaded,
        Err(JournalError::UnknownSession { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for fact in loaded.steps.iter().flat_map(|step| &step.facts) {
        if let Fact::CallAccepted { attempt, .. } = fact {
            say(&format!("holds {}", attempt.call));
        }
    }
    journal.close().await;
    Ok(())
}

/// An append of two facts, which are there both or not at all.
fn marked(
    session: &SessionId,
    epoch: Epoch,
    position: u64,
    nth: u32,
) -> Result<Append, Box<dyn Error>> {
    let call = ToolCallId::parse(&mark(nth))?;
    let fact = |attempt| Fact::CallAccepted {
        attempt: ToolAttempt {
            attempt,
            call: call.clone(),
        },
        handle: JobHandle(Arc::new(Value::Null)),
    };
    Ok(Append {
        epoch,
        position,
        seen: 0,
        session: session.clone(),
        steps: vec![Envelope {
            facts: vec![fact(1), fact(2)],
            input: InputKind::ToolAccepted,
            now: Now::default(),
            step: position,
            version: 1,
        }],
    })
}

fn mark(nth: u32) -> String {
    format!("mark-{nth:05}")
}

/// Says a line with one call of the system.
fn say(line: &str) {
    println!("{line}");
}
