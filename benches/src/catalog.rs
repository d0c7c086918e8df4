//! A catalog of very many tools of one server.

use std::time::Duration;

use anyhow::ensure;
use tokio::runtime::Runtime;

use crate::measure::{Series, begin};
use crate::ours::Ours;
use crate::process::{Provider, beside};

/// So many tools.
pub const TOOLS: usize = 2000;

/// What the catalog took.
#[derive(Clone, Debug, Default)]
pub struct Catalogs {
    /// The first time, when the server is asked.
    pub first: Duration,
    /// Each later time, when what the server said is known.
    pub known: Series,
    /// Each later time, when the server is asked again, since it does not tell of changes.
    pub later: Series,
}

/// Builds the catalog so often.
///
/// # Errors
///
/// If a tool is missing.
pub fn measure(runtime: &Runtime, tools: usize, times: usize) -> anyhow::Result<Catalogs> {
    let provider = Provider::start()?;
    let server = beside("bench-echo")?.display().to_string();
    let command = [server, "--more-tools".to_owned(), (tools - 1).to_string()];
    runtime.block_on(async {
        let ours = Ours::start(&provider.base_url, &command).await?;
        let mut took = Catalogs::default();
        for nth in 0..=times {
            let watch = begin();
            let offered = ours.engine.tools(&ours.options).await;
            let wall = watch().wall;
            let found = offered.catalog.iter().count();
            ensure!(found == tools, "there are {found} tools");
            if nth == 0 {
                took.first = wall;
            } else {
                took.later.push(wall);
            }
        }
        let knowing = ours.remembering()?;
        for _ in 0..times {
            let watch = begin();
            let offered = knowing.tools(&ours.options).await;
            took.known.push(watch().wall);
            let found = offered.catalog.iter().count();
            ensure!(found == tools, "there are {found} tools");
        }
        ours.stop().await;
        Ok(took)
    })
}
