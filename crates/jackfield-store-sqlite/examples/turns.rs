//! A program that does with a journal what the comparable turn does with it, for those who count system calls
//! and instructions: three rounds of five calls, eight commits.
//!
//! `turns FILE COUNT`: so many turns, one after the other, each in a session of its own. What two counts
//! differ by is the turns' own.
//!
//! The steps are those of a turn that was recorded.

use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, InputKind};
use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::{Append, Appended, Journal as _};
use jackfield_record::decode_envelope;
use jackfield_store_sqlite::{Options, SqliteJournal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, count] = &*arguments else {
        return Err("usage: turns FILE COUNT".into());
    };
    let batches = batches()?;
    let mut options = Options::default();
    // However slow the disk is below whoever counts.
    options.inline_limit = Duration::from_secs(60);
    let journal = SqliteJournal::open(file, options)?;
    for nth in 0..count.parse::<u32>()? {
        turn(&journal, &SessionId::parse(&format!("s{nth}"))?, &batches).await?;
    }
    journal.close().await;
    Ok(())
}

/// One turn, as the engine does it: its inbox is waited for while it goes on.
async fn turn(
    journal: &SqliteJournal,
    session: &SessionId,
    batches: &[Vec<Envelope>],
) -> Result<(), Box<dyn Error>> {
    let epoch = journal.own(session).await?.epoch;
    let loaded = journal.load(session).await?;
    let mut position = loaded.steps.len() as u64;
    let mut inbox = pin!(journal.inbox(session, 0));
    for steps in batches {
        let append = Append {
            epoch,
            position,
            seen: 0,
            session: session.clone(),
            steps: steps.clone(),
        };
        let appended = journal.append(&append).await;
        if !matches!(appended, Appended::Committed) {
            return Err(format!("{appended:?}").into());
        }
        position += steps.len() as u64;
        let heard = poll_fn(|context| Poll::Ready(inbox.as_mut().poll(context).is_ready())).await;
        if heard {
            return Err("something was delivered".into());
        }
    }
    journal.release(session, epoch).await?;
    Ok(())
}

/// The steps of the turn, as they are appended: what the tools said is one append a round.
fn batches() -> Result<Vec<Vec<Envelope>>, Box<dyn Error>> {
    let mut batches: Vec<Vec<Envelope>> = Vec::new();
    for line in include_str!("turn.jsonl").lines() {
        let step = decode_envelope(line.as_bytes())?;
        let goes_on = step.input == InputKind::ToolFinished;
        match batches.last_mut() {
            Some(batch)
                if goes_on
                    && batch
                        .iter()
                        .all(|step| step.input == InputKind::ToolFinished) =>
            {
                batch.push(step);
            }
            Some(_) | None => batches.push(vec![step]),
        }
    }
    Ok(batches)
}
