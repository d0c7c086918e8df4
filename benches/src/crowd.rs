//! A hundred turns at once, each with one round of five tools that take a while.

use std::sync::Arc;

use anyhow::ensure;
use futures_util::future::try_join_all;
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::floor::{Asker, Bare};
use crate::measure::{Samples, begin};
use crate::ours::Ours;
use crate::plan::Plan;
use crate::process::{Provider, beside};
use crate::provider::ANSWER;
use crate::turn::Turns;

/// Runs so many turns at once, so often.
///
/// # Errors
///
/// If anything fails.
pub fn measure(runtime: &Runtime, at_once: usize, times: usize) -> anyhow::Result<Turns> {
    let provider = Provider::start()?;
    let server = beside("bench-echo")?;
    let command = [server.display().to_string()];
    let plan = Plan::one_round(5, 200);
    let right = (ANSWER.to_owned(), 5);
    runtime.block_on(async {
        let ours = Arc::new(Ours::start(&provider.base_url, &command).await?);
        let bare = Arc::new(Bare::start(Command::new(&server)).await?);
        let (mut of_ours, mut of_floor) = (Samples::default(), Samples::default());
        for nth in 0..=times {
            let watch = begin();
            let turns = (0..at_once).map(|_| {
                let ours = Arc::clone(&ours);
                tokio::spawn(async move { ours.turn(plan).await })
            });
            for ended in try_join_all(turns).await? {
                ensure!(ended? == right, "one of ours did not end well");
            }
            let by_ours = watch();
            let watch = begin();
            let turns = (0..at_once).map(|_| {
                let (bare, base_url) = (Arc::clone(&bare), provider.base_url.clone());
                tokio::spawn(
                    async move { Asker::connect(&base_url).await?.turn(&bare, plan).await },
                )
            });
            for ended in try_join_all(turns).await? {
                ensure!(ended? == right, "one of the floor did not end well");
            }
            // The first time everything is new.
            if nth > 0 {
                of_ours.push(by_ours);
                of_floor.push(watch());
            }
        }
        if let Some(ours) = Arc::into_inner(ours) {
            ours.stop().await;
        }
        if let Some(bare) = Arc::into_inner(bare) {
            bare.stop().await?;
        }
        Ok(Turns {
            floor: of_floor,
            ours: of_ours,
        })
    })
}
