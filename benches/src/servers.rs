//! Many servers, started at once: each takes its time, and they take it together.

use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::runtime::Runtime;

use crate::measure::{Series, begin};
use crate::ours::toolbox;
use crate::process::beside;

/// How long the slowest server sleeps before it says a word.
pub const SLOWEST: Duration = Duration::from_millis(500);
/// So many are started.
pub const SERVERS: usize = 50;

/// How long it took until servers ran.
#[derive(Clone, Debug, Default)]
pub struct Starts {
    /// All of them, started at once.
    pub all: Series,
    /// The slowest, started alone.
    pub slowest: Series,
}

/// Starts them so often.
///
/// # Errors
///
/// If one does not start.
pub fn measure(runtime: &Runtime, servers: usize, times: usize) -> anyhow::Result<Starts> {
    let program = beside("bench-echo")?.display().to_string();
    let mut starts = Starts::default();
    let last = servers.saturating_sub(1).max(1);
    runtime.block_on(async {
        for _ in 0..times {
            for (begin_with, series) in [(0, &mut starts.all), (last, &mut starts.slowest)] {
                let mut toolboxes = Vec::new();
                for nth in begin_with..=last {
                    let sleep = SLOWEST.as_millis() * nth as u128 / last as u128;
                    let command = [program.clone(), "--start-ms".to_owned(), sleep.to_string()];
                    toolboxes.push(toolbox(&format!("s{nth}"), &command)?);
                }
                let watch = begin();
                try_join_all(toolboxes.iter().map(|toolbox| toolbox.start())).await?;
                series.push(watch().wall);
                for toolbox in toolboxes {
                    toolbox.stop().await;
                }
            }
        }
        Ok(starts)
    })
}
