//! The turn that everyone can compare, with its journal in a file, against one in memory.

use std::sync::Arc;

use anyhow::ensure;
use jackfield_ports::journal::Journal as _;
use jackfield_store_memory::MemoryJournal;
use jackfield_store_sqlite::{Options, SqliteJournal};
use tokio::runtime::Runtime;

use super::appends::Plain;
use super::counting::Counting;
use crate::measure::{Samples, begin};
use crate::ours::Ours;
use crate::plan::Plan;
use crate::process::{Provider, beside};
use crate::provider::ANSWER;

/// What the turns took.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// How many appends each of them had.
    pub appends: u64,
    /// With the journal in a file.
    pub file: Samples,
    /// With the journal in memory.
    pub memory: Samples,
    /// With the journal in memory, and a synced row of a plain table beside each append.
    pub plain: Samples,
}

/// Runs so many turns of each, turn about, after some that are not counted.
///
/// # Errors
///
/// If anything fails.
pub fn measure(runtime: &Runtime, turns: usize) -> anyhow::Result<Turns> {
    let folder = super::folder()?;
    let provider = Provider::start()?;
    let server = [beside("bench-echo")?.display().to_string()];
    runtime.block_on(async {
        let journal = Arc::new(SqliteJournal::open(
            folder.path().join("journal.db"),
            Options::default(),
        )?);
        let counting = Arc::new(Counting::new(Arc::clone(&journal)));
        let file = Ours::start_on(
            Arc::<Counting<SqliteJournal>>::clone(&counting),
            &provider.base_url,
            &server,
        );
        let file = file.await?;
        let memory = Ours::start_on(
            Arc::new(MemoryJournal::default()),
            &provider.base_url,
            &server,
        );
        let memory = memory.await?;
        let beside = Plain::settled(&folder.path().join("plain.db"))?;
        let plain = Ours::start_on(
            Arc::new(Counting::beside(Arc::default(), beside)) as Arc<Counting<MemoryJournal>>,
            &provider.base_url,
            &server,
        );
        let plain = plain.await?;
        let mut took = Turns::default();
        let right = (ANSWER.to_owned(), 15);
        let warm_up = turns.div_ceil(10);
        for nth in 0..turns + warm_up {
            let before = counting.appends();
            let watch = begin();
            let ended = file.turn(Plan::COMPARED).await?;
            let in_file = watch();
            ensure!(ended == right, "with a file it ended so: {ended:?}");
            took.appends = counting.appends() - before;
            let watch = begin();
            let ended = memory.turn(Plan::COMPARED).await?;
            let in_memory = watch();
            ensure!(ended == right, "in memory it ended so: {ended:?}");
            let watch = begin();
            let ended = plain.turn(Plan::COMPARED).await?;
            let beside_plain = watch();
            ensure!(ended == right, "with a plain table it ended so: {ended:?}");
            if nth >= warm_up {
                took.plain.push(beside_plain);
                took.file.push(in_file);
                took.memory.push(in_memory);
            }
        }
        file.stop().await;
        memory.stop().await;
        plain.stop().await;
        journal.close().await;
        Ok(took)
    })
}
