//! What a message costs in a session that is long already, whose journal is in a file.

use std::path::Path;
use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_store_sqlite::{Options, SqliteJournal};
use tokio::runtime::Runtime;

use crate::measure::{Samples, Series, begin};
use crate::ours::Ours;
use crate::plan::Plan;
use crate::process::{Provider, beside};

/// What a message costs behind so many turns.
#[derive(Clone, Debug)]
pub struct Long {
    /// How many there are.
    pub before: usize,
    /// The first one in a process, which knows nothing of the session.
    pub first: Series,
    /// Each later one.
    pub later: Samples,
}

/// Lets one session grow, and measures so many messages to it behind each of these numbers of turns.
///
/// # Errors
///
/// If anything fails.
pub fn measure(runtime: &Runtime, before: &[usize], times: usize) -> anyhow::Result<Vec<Long>> {
    let folder = super::folder()?;
    let file = folder.path().join("journal.db");
    let provider = Provider::start()?;
    let server = [beside("bench-echo")?.display().to_string()];
    runtime.block_on(async {
        let (mut measured, mut turns) = (Vec::new(), 0);
        let later = (times / FIRSTS).max(1);
        for before in before.iter().copied() {
            let ours = begun(&file, &provider, &server).await?;
            while turns < before {
                turn(&ours).await?;
                turns += 1;
            }
            ours.stop().await;
            let mut long = Long {
                before,
                first: Series::default(),
                later: Samples::default(),
            };
            for _ in 0..FIRSTS {
                let ours = begun(&file, &provider, &server).await?;
                let took = begin();
                turn(&ours).await?;
                long.first.push(took().wall);
                for _ in 0..later {
                    let took = begin();
                    turn(&ours).await?;
                    long.later.push(took());
                }
                turns += 1 + later;
                ours.stop().await;
            }
            measured.push(long);
        }
        Ok(measured)
    })
}

/// An engine on a journal that was just opened.
async fn begun(file: &Path, provider: &Provider, server: &[String]) -> anyhow::Result<Ours> {
    let journal = Arc::new(SqliteJournal::open(file, Options::default())?);
    let ours = Ours::start_on(journal, &provider.base_url, server).await?;
    // In a session of its own: connections are made, and the server has said what it offers.
    ours.turn(PLAN).await?;
    Ok(ours)
}

async fn turn(ours: &Ours) -> anyhow::Result<()> {
    ours.turn_of(SessionId::parse("long")?, PLAN).await?;
    Ok(())
}

/// A turn with one call.
const PLAN: Plan = Plan::one_round(1, 0);
/// How many processes begin to know a session, as it were.
const FIRSTS: usize = 5;
