//! The turn that everyone can compare, warm: ours and the floor, turn about.

use std::sync::Arc;

use anyhow::ensure;
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::floor::{Asker, Bare};
use crate::measure::{Samples, begin};
use crate::ours::Ours;
use crate::plan::Plan;
use crate::process::{Provider, beside};
use crate::provider::ANSWER;

/// What the turns took.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// The floor.
    pub floor: Samples,
    /// Ours.
    pub ours: Samples,
}

/// How ours runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Manner {
    /// On the thread that waits for it.
    Here,
    /// As a task of a runtime with workers, as in a server.
    Spawned,
}

/// Runs so many turns of each, after some that are not counted.
///
/// # Errors
///
/// If anything fails.
pub fn measure(
    ours_on: &Runtime,
    floor_on: &Runtime,
    manner: Manner,
    turns: usize,
) -> anyhow::Result<Turns> {
    let provider = Provider::start()?;
    let server = beside("bench-echo")?;
    let command = [server.display().to_string()];
    let ours = Arc::new(ours_on.block_on(Ours::start(&provider.base_url, &command))?);
    let bare = floor_on.block_on(Bare::start(Command::new(&server)))?;
    let mut asker = floor_on.block_on(Asker::connect(&provider.base_url))?;
    let mut took = Turns::default();
    let right = (ANSWER.to_owned(), 15);
    let warm_up = turns.div_ceil(10);
    for nth in 0..turns + warm_up {
        let watch = begin();
        let ended = if manner == Manner::Spawned {
            let ours = Arc::clone(&ours);
            ours_on.block_on(ours_on.spawn(async move { ours.turn(Plan::COMPARED).await }))?
        } else {
            ours_on.block_on(ours.turn(Plan::COMPARED))
        };
        let ended = ended?;
        let ours = watch();
        ensure!(ended == right, "ours ended so: {ended:?}");
        let watch = begin();
        let ended = floor_on.block_on(asker.turn(&bare, Plan::COMPARED))?;
        let floor = watch();
        ensure!(ended == right, "the floor ended so: {ended:?}");
        if nth >= warm_up {
            took.ours.push(ours);
            took.floor.push(floor);
        }
    }
    if let Some(ours) = Arc::into_inner(ours) {
        ours_on.block_on(ours.stop());
    }
    floor_on.block_on(bare.stop())?;
    Ok(took)
}
