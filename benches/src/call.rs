//! One call of a tool, and many at once: ours against bare `rmcp`, on servers of the same kind.

use futures_util::future::try_join_all;
use serde_json::{Map, Value};
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::floor::Bare;
use crate::measure::{Samples, begin};
use crate::ours::Ours;
use crate::process::{Provider, beside};

/// What the calls took.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// By bare `rmcp`.
    pub bare: Samples,
    /// Through the engine, by name, which lists the tools first.
    pub named: Samples,
    /// Through the engine, of tools that were listed once.
    pub offered: Samples,
    /// Through the toolbox.
    pub toolbox: Samples,
}

/// So many at once.
pub const AT_ONCE: usize = 64;

/// Makes calls, `at_once` of them each time: so often, after some that are not counted.
///
/// # Errors
///
/// If anything fails.
pub fn measure(runtime: &Runtime, at_once: usize, times: usize) -> anyhow::Result<Calls> {
    let provider = Provider::start()?;
    let server = beside("bench-echo")?;
    let command = [server.display().to_string()];
    runtime.block_on(async {
        let ours = Ours::start(&provider.base_url, &command).await?;
        let bare = Bare::start(Command::new(&server)).await?;
        let offered = ours.engine.tools(&ours.options).await;
        let mut took = Calls::default();
        let warm_up = times.div_ceil(10);
        for nth in 0..times + warm_up {
            let watch = begin();
            try_join_all((0..at_once).map(|_| bare.call(arguments()))).await?;
            let by_bare = watch();
            let watch = begin();
            try_join_all((0..at_once).map(|_| ours.call(arguments()))).await?;
            let by_toolbox = watch();
            let watch = begin();
            try_join_all((0..at_once).map(|_| ours.call_offered(&offered, arguments()))).await?;
            let by_engine = watch();
            let watch = begin();
            try_join_all((0..at_once).map(|_| ours.call_by_name(arguments()))).await?;
            let by_name = watch();
            if nth >= warm_up {
                took.bare.push(by_bare);
                took.toolbox.push(by_toolbox);
                took.offered.push(by_engine);
                took.named.push(by_name);
            }
        }
        ours.stop().await;
        bare.stop().await?;
        Ok(took)
    })
}

fn arguments() -> Map<String, Value> {
    let text = Value::from("a call like any other");
    Map::from_iter([("text".to_owned(), text)])
}
